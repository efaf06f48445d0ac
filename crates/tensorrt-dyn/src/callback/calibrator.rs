//! `nvinfer1::IInt8EntropyCalibrator2` (TensorRT 8 to 10): representative inputs for INT8 without Q/DQ nodes.

use std::ffi::{c_char, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Callback, Function, Table, api_language, destructor, function, guarded, interface_info, text};
use crate::sys::method::This;
use crate::version::Era;

/// `CalibrationAlgoType::kENTROPY_CALIBRATION_2`, 2 in every release that has calibrators.
const ENTROPY_CALIBRATION_2: i32 = 2;

/// Supplies batches for calibration, from the thread that builds.
pub trait Calibrator: Send {
    /// Samples in a batch; networks with an explicit batch dimension take 1.
    fn batch_size(&self) -> i32 {
        1
    }
    /// Fills `addresses` with the device address of each input in `names`; `false` when there is no more.
    fn next_batch(&mut self, names: &[&str], addresses: &mut [*mut c_void]) -> bool;
    /// A cache of an earlier calibration, which makes batches needless.
    fn read_cache(&mut self) -> Option<Vec<u8>> {
        None
    }
    /// The result of this calibration.
    fn write_cache(&mut self, cache: &[u8]);
}

/// A calibrator and the cache that it lent out, which must stay until the next call.
pub(crate) struct Calibration {
    calibrator: Box<dyn Calibrator>,
    cache: Option<Vec<u8>>,
}

/// A calibrator as C++ sees it.
pub(crate) type Entropy = Callback<Mutex<Calibration>>;

interface_info!(interface_info, c"IInt8EntropyCalibrator2");

static SHORT: Table<7> = Table::new([
    function!(batch_size),
    function!(next_batch),
    function!(read_cache),
    function!(write_cache),
    function!(algorithm),
    function!(destructor),
    function!(destructor),
]);
static WITH_HEAD: Table<9> = Table::new([
    function!(api_language),
    function!(interface_info),
    function!(destructor),
    function!(destructor),
    function!(batch_size),
    function!(next_batch),
    function!(read_cache),
    function!(write_cache),
    function!(algorithm),
]);

pub(crate) fn entropy(era: Era, calibrator: Box<dyn Calibrator>) -> Box<Entropy> {
    let vtable: *const Function = if era.callbacks_have_interface_head() {
        WITH_HEAD.address_point()
    } else {
        SHORT.address_point()
    };
    Box::new(Callback::new(
        vtable,
        Mutex::new(Calibration {
            calibrator,
            cache: None,
        }),
    ))
}

/// # Safety
/// `this` is a calibrator whose configuration is alive.
unsafe fn body<'a>(this: This) -> MutexGuard<'a, Calibration> {
    // SAFETY: the caller vouches for it; the configuration owns the calibrator and outlives the build.
    unsafe { Entropy::from_this(this) }
        .body()
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

extern "C" fn batch_size(this: This) -> i32 {
    guarded("a calibrator", 0, || {
        // SAFETY: see `body`.
        unsafe { body(this) }.calibrator.batch_size()
    })
}

extern "C" fn next_batch(
    this: This,
    addresses: *mut *mut c_void,
    names: *const *const c_char,
    count: i32,
) -> bool {
    guarded("a calibrator", false, || {
        let count = usize::try_from(count).unwrap_or(0);
        if count == 0 || addresses.is_null() || names.is_null() {
            return false;
        }
        // SAFETY: the library passes two arrays of `count` entries, the names being C strings.
        let (names, addresses) = unsafe {
            let names = std::slice::from_raw_parts(names, count)
                .iter()
                .map(|name| text(*name));
            (
                names.collect::<Vec<_>>(),
                std::slice::from_raw_parts_mut(addresses, count),
            )
        };
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        // SAFETY: see `body`.
        unsafe { body(this) }.calibrator.next_batch(&names, addresses)
    })
}

extern "C" fn read_cache(this: This, length: *mut u64) -> *const c_void {
    guarded("a calibrator", std::ptr::null(), || {
        // SAFETY: see `body`.
        let mut calibration = unsafe { body(this) };
        calibration.cache = calibration.calibrator.read_cache();
        let bytes = calibration.cache.as_deref().unwrap_or_default();
        // SAFETY: a reference in C++, so not null.
        unsafe { *length = bytes.len() as u64 };
        if bytes.is_empty() {
            std::ptr::null()
        } else {
            bytes.as_ptr().cast()
        }
    })
}

extern "C" fn write_cache(this: This, bytes: *const c_void, length: u64) {
    guarded("a calibrator", (), || {
        let length = usize::try_from(length).unwrap_or(0);
        if bytes.is_null() || length == 0 {
            return;
        }
        // SAFETY: the library passes `length` readable bytes.
        let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), length) };
        // SAFETY: see `body`.
        unsafe { body(this) }.calibrator.write_cache(bytes);
    });
}

extern "C" fn algorithm(_this: This) -> i32 {
    ENTROPY_CALIBRATION_2
}
