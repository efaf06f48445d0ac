//! `nvinfer1::IOutputAllocator`: memory for outputs whose size the data decides (non-zero, NMS).

use std::ffi::{c_char, c_void};
use std::sync::{Mutex, PoisonError};

use super::{Callback, Function, Table, api_language, destructor, function, guarded, interface_info, text};
use crate::shape::{Dims, from_dims32, from_dims64};
use crate::sys::layout::{Dims32, Dims64};
use crate::sys::method::{Stream, This};
use crate::version::{Era, Version};

/// Lends memory for one or more outputs of a context.
pub trait OutputAllocator: Send {
    /// At least `bytes` of device memory, aligned to `alignment`, for `tensor`, to be used on `stream` (null where
    /// the release does not tell); `current` is the address in use. Null refuses, and the enqueue fails.
    fn reallocate(
        &mut self,
        tensor: &str,
        current: *mut c_void,
        bytes: u64,
        alignment: u64,
        stream: Stream,
    ) -> *mut c_void;
    /// The shape that the output has come to.
    fn shape(&mut self, tensor: &str, shape: &Dims);
}

/// An allocator as C++ sees it.
pub(crate) type Lender = Callback<Mutex<Box<dyn OutputAllocator>>>;

interface_info!(interface_info, c"IOutputAllocator");

static A: Table<5> = Table::new([
    function!(interface_version),
    function!(reallocate),
    function!(notify_shape_8),
    function!(destructor),
    function!(destructor),
]);
static B_C: Table<7> = Table::new([
    function!(api_language),
    function!(interface_info),
    function!(destructor),
    function!(destructor),
    function!(reallocate),
    function!(reallocate_async),
    function!(notify_shape),
]);
/// TensorRT-RTX has no synchronous form.
static D_E: Table<6> = Table::new([
    function!(api_language),
    function!(interface_info),
    function!(destructor),
    function!(destructor),
    function!(reallocate_async),
    function!(notify_shape),
]);

pub(crate) fn lender(version: Version, allocator: Box<dyn OutputAllocator>) -> Box<Lender> {
    let vtable: *const Function = match version.era() {
        Era::A => A.address_point(),
        Era::B | Era::C => B_C.address_point(),
        Era::D | Era::E => D_E.address_point(),
    };
    Box::new(Callback::new(vtable, Mutex::new(allocator)))
}

extern "C" fn interface_version(_this: This) -> i32 {
    1
}

extern "C" fn reallocate(
    this: This,
    tensor: *const c_char,
    current: *mut c_void,
    bytes: u64,
    alignment: u64,
) -> *mut c_void {
    reallocate_async(this, tensor, current, bytes, alignment, std::ptr::null_mut())
}

extern "C" fn reallocate_async(
    this: This,
    tensor: *const c_char,
    current: *mut c_void,
    bytes: u64,
    alignment: u64,
    stream: Stream,
) -> *mut c_void {
    guarded("an output allocator", std::ptr::null_mut(), || {
        // SAFETY: the context owns the allocator and is alive during enqueue; the name is a C string that is valid
        // during the call.
        let (lender, tensor) = unsafe { (Lender::from_this(this), text(tensor)) };
        let mut allocator = lender.body().lock().unwrap_or_else(PoisonError::into_inner);
        allocator.reallocate(&tensor, current, bytes, alignment, stream)
    })
}

fn notify(this: This, tensor: *const c_char, shape: &Dims) {
    // SAFETY: as in `reallocate_async`.
    let (lender, tensor) = unsafe { (Lender::from_this(this), text(tensor)) };
    lender
        .body()
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .shape(&tensor, shape);
}

extern "C" fn notify_shape_8(this: This, tensor: *const c_char, shape: *const Dims32) {
    guarded("an output allocator", (), || {
        // SAFETY: a reference in C++, so it points to a valid Dims.
        let shape = from_dims32(unsafe { *shape });
        notify(this, tensor, &shape);
    });
}

extern "C" fn notify_shape(this: This, tensor: *const c_char, shape: *const Dims64) {
    guarded("an output allocator", (), || {
        // SAFETY: a reference in C++, so it points to a valid Dims.
        let shape = from_dims64(unsafe { *shape });
        notify(this, tensor, &shape);
    });
}
