//! `nvinfer1::IProgressMonitor` (TensorRT 9.1 and later, RTX): the phases of a build, and a way to stop it.

use std::ffi::c_char;
use std::ops::ControlFlow;

use super::{Callback, Function, Table, api_language, destructor, function, guarded, interface_info, text};
use crate::sys::method::This;
use crate::version::Era;

/// Watches a build. Phases nest; steps of one phase come in order. Called from the builder's threads.
pub trait ProgressMonitor: Send + Sync {
    /// A phase of `steps` steps begins, inside `parent` if it has one.
    fn phase_started(&self, phase: &str, parent: Option<&str>, steps: i32);
    /// A step of a phase is done. [`ControlFlow::Break`] cancels the build, which then fails.
    fn step_completed(&self, phase: &str, step: i32) -> ControlFlow<()>;
    /// A phase is over (a cancelled build also ends its phases).
    fn phase_finished(&self, phase: &str);
}

/// A monitor as C++ sees it.
pub(crate) type Monitor = Callback<Box<dyn ProgressMonitor>>;

interface_info!(interface_info, c"IProgressMonitor");

static SHORT: Table<5> = Table::new([
    function!(destructor),
    function!(destructor),
    function!(phase_start),
    function!(step_complete),
    function!(phase_finish),
]);
static WITH_HEAD: Table<7> = Table::new([
    function!(api_language),
    function!(interface_info),
    function!(destructor),
    function!(destructor),
    function!(phase_start),
    function!(step_complete),
    function!(phase_finish),
]);

pub(crate) fn monitor(era: Era, monitor: Box<dyn ProgressMonitor>) -> Box<Monitor> {
    let vtable: *const Function = if era.callbacks_have_interface_head() {
        WITH_HEAD.address_point()
    } else {
        SHORT.address_point()
    };
    Box::new(Callback::new(vtable, monitor))
}

extern "C" fn phase_start(this: This, phase: *const c_char, parent: *const c_char, steps: i32) {
    guarded("a progress monitor", (), || {
        // SAFETY: the configuration that owns the monitor outlives the build; the names are C strings that are
        // valid during the call, the parent's may be null.
        let (monitor, phase, name) = unsafe { (Monitor::from_this(this), text(phase), text(parent)) };
        monitor
            .body()
            .phase_started(&phase, (!parent.is_null()).then_some(&*name), steps);
    });
}

extern "C" fn step_complete(this: This, phase: *const c_char, step: i32) -> bool {
    guarded("a progress monitor", false, || {
        // SAFETY: as in `phase_start`.
        let (monitor, phase) = unsafe { (Monitor::from_this(this), text(phase)) };
        monitor.body().step_completed(&phase, step).is_continue()
    })
}

extern "C" fn phase_finish(this: This, phase: *const c_char) {
    guarded("a progress monitor", (), || {
        // SAFETY: as in `phase_start`.
        let (monitor, phase) = unsafe { (Monitor::from_this(this), text(phase)) };
        monitor.body().phase_finished(&phase);
    });
}
