//! `nvinfer1::IProfiler`: the time of each layer of one inference.

use std::ffi::c_char;
use std::sync::{Mutex, PoisonError};

use super::{Callback, Function, Table, api_language, destructor, function, guarded, interface_info, text};
use crate::sys::method::This;
use crate::version::Era;

/// Receives layer times. Called by `enqueue` (or by `report_to_profiler`), once a layer and inference.
pub trait Profiler: Send {
    /// A layer's name in the plan, and its time on the GPU in milliseconds.
    fn layer_time(&mut self, layer: &str, milliseconds: f32);
}

/// A profiler as C++ sees it.
pub(crate) type Reporter = Callback<Mutex<Box<dyn Profiler>>>;

interface_info!(interface_info, c"IProfiler");

static SHORT: Table<3> = Table::new([
    function!(report_layer_time),
    function!(destructor),
    function!(destructor),
]);
static WITH_HEAD: Table<5> = Table::new([
    function!(api_language),
    function!(interface_info),
    function!(destructor),
    function!(destructor),
    function!(report_layer_time),
]);

pub(crate) fn reporter(era: Era, profiler: Box<dyn Profiler>) -> Box<Reporter> {
    let vtable: *const Function = if era.logger_has_interface_head() {
        WITH_HEAD.address_point()
    } else {
        SHORT.address_point()
    };
    Box::new(Callback::new(vtable, Mutex::new(profiler)))
}

extern "C" fn report_layer_time(this: This, layer: *const c_char, milliseconds: f32) {
    guarded("a profiler", (), || {
        // SAFETY: the context that owns the profiler is alive while it reports; the name is a C string that is
        // valid during the call.
        let (reporter, layer) = unsafe { (Reporter::from_this(this), text(layer)) };
        reporter
            .body()
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .layer_time(&layer, milliseconds);
    });
}
