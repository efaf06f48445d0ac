//! `control.h` for Rust.

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;

use libloading::{Library, Symbol};

/// What one of the double's libraries can be told and asked. Methods are named as `IRuntime::deserializeCudaEngine`,
/// entry points as `createInferRuntime_INTERNAL`.
pub struct Control {
    library: Library,
}

impl Control {
    /// Opens the library (again: it is one per path and process).
    pub fn open(path: &Path) -> Self {
        // SAFETY: the double has no initialisers that could harm; it was compiled by these tests.
        let library = unsafe { Library::new(path) }.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Self { library }
    }

    fn get<T>(&self, name: &str) -> Symbol<'_, T> {
        // SAFETY: each caller below asks for the type that control.h declares.
        unsafe { self.library.get(name.as_bytes()) }.unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    fn tell(&self, name: &str) {
        // SAFETY: `void f()` in control.h.
        unsafe { self.get::<unsafe extern "C" fn()>(name)() }
    }

    fn set(&self, name: &str, value: i32) {
        // SAFETY: `void f(int32_t)` in control.h.
        unsafe { self.get::<unsafe extern "C" fn(i32)>(name)(value) }
    }

    fn text(&self, name: &str) -> String {
        // SAFETY: `char const* f()` in control.h; the text is copied before the next call of this thread.
        unsafe { CStr::from_ptr(self.get::<unsafe extern "C" fn() -> *const c_char>(name)()) }
            .to_string_lossy()
            .into_owned()
    }

    fn lines(&self, name: &str) -> Vec<String> {
        self.text(name).lines().map(str::to_owned).collect()
    }

    /// Starts or stops the call log (off at first).
    pub fn record(&self, on: bool) {
        self.set("double_record", on.into());
    }

    /// The calls recorded, as `IRuntime#1::setMaxThreads(3) -> true`.
    pub fn calls(&self) -> Vec<String> {
        self.lines("double_calls")
    }

    /// Forgets the calls recorded.
    pub fn clear_calls(&self) {
        self.tell("double_clear_calls");
    }

    /// Calls of this method while recording or while a failure was ordered.
    pub fn count(&self, method: &str) -> u64 {
        let method = CString::new(method).unwrap();
        // SAFETY: `uint64_t f(char const*)` in control.h.
        unsafe { self.get::<unsafe extern "C" fn(*const c_char) -> u64>("double_count")(method.as_ptr()) }
    }

    /// What the caller did that TensorRT forbids.
    pub fn violations(&self) -> Vec<String> {
        self.lines("double_violations")
    }

    /// Living objects of this class.
    pub fn live(&self, class: &str) -> u64 {
        let class = CString::new(class).unwrap();
        // SAFETY: `uint64_t f(char const*)` in control.h.
        unsafe { self.get::<unsafe extern "C" fn(*const c_char) -> u64>("double_live")(class.as_ptr()) }
    }

    /// Classes with living objects, as `ICudaEngine 2`.
    pub fn live_objects(&self) -> Vec<String> {
        self.lines("double_live_objects")
    }

    /// All methods of the headers: `1 IRuntime::setMaxThreads`, or `0 ...` for one that does nothing.
    pub fn methods(&self) -> Vec<String> {
        self.lines("double_methods")
    }

    /// Flavour and version of the headers: `trt 11.4.0.106`.
    pub fn flavour(&self) -> String {
        self.text("double_flavour")
    }

    /// How many frames were enqueued since the start or the last [`Control::reset`].
    pub fn enqueued(&self) -> u64 {
        // SAFETY: `uint64_t f()` in control.h.
        unsafe { self.get::<unsafe extern "C" fn() -> u64>("double_enqueued")() }
    }

    /// The nth call from now of this method fails, with null, false or 0.
    pub fn fail(&self, method: &str, nth: u64) {
        self.fail_with(method, nth, 0);
    }

    /// The nth call from now of this method fails and returns this number (or address).
    pub fn fail_with(&self, method: &str, nth: u64, value: i64) {
        let method = CString::new(method).unwrap();
        // SAFETY: `void f(char const*, uint64_t, int64_t)` in control.h.
        unsafe {
            self.get::<unsafe extern "C" fn(*const c_char, u64, i64)>("double_fail")(
                method.as_ptr(),
                nth,
                value,
            )
        }
    }

    /// The library says that it is this version; 0: its own.
    pub fn set_version(&self, version: i32) {
        self.set("double_set_version", version);
    }

    /// 0: a GPU is there. 1: no runtime can be made (0x228). 2: no plan can be read.
    pub fn set_gpu_absent(&self, mode: i32) {
        self.set("double_set_gpu_absent", mode);
    }

    /// How many DLA cores the library says there are; 0 at first.
    pub fn set_dla_cores(&self, cores: i32) {
        self.set("double_set_dla_cores", cores);
    }

    /// Milliseconds of each step of a build.
    pub fn set_build_step_ms(&self, ms: i32) {
        self.set("double_set_build_step_ms", ms);
    }

    /// Whether `enqueueV3` computes outputs (it does at first) or returns at once.
    pub fn set_compute(&self, on: bool) {
        self.set("double_set_compute", on.into());
    }

    /// Sends a message to the logger in force; severity 0 (internal error) to 4 (verbose).
    pub fn log(&self, severity: i32, text: &str) {
        let text = CString::new(text).unwrap();
        // SAFETY: `void f(int32_t, char const*)` in control.h.
        unsafe { self.get::<unsafe extern "C" fn(i32, *const c_char)>("double_log")(severity, text.as_ptr()) }
    }

    /// Log, counts, orders, violations and pretences as at start.
    pub fn reset(&self) {
        self.tell("double_reset");
    }

    /// Nanoseconds for n calls of `enqueueV3(stream)` from C++; `None` if one failed.
    ///
    /// # Safety
    /// `context` is a living IExecutionContext of this library.
    pub unsafe fn bench_enqueue(&self, context: *mut c_void, stream: *mut c_void, n: u64) -> Option<u64> {
        type Bench = unsafe extern "C" fn(*mut c_void, *mut c_void, u64) -> i64;
        // SAFETY: the type is control.h's, the context the caller's promise.
        u64::try_from(unsafe { self.get::<Bench>("double_bench_enqueue")(context, stream, n) }).ok()
    }

    /// Nanoseconds for n calls of `setTensorAddress(name, address)` from C++; `None` if one failed.
    ///
    /// # Safety
    /// `context` is a living IExecutionContext of this library.
    pub unsafe fn bench_address(
        &self,
        context: *mut c_void,
        name: &CStr,
        address: *mut c_void,
        n: u64,
    ) -> Option<u64> {
        type Bench = unsafe extern "C" fn(*mut c_void, *const c_char, *mut c_void, u64) -> i64;
        // SAFETY: the type is control.h's, the context the caller's promise.
        u64::try_from(unsafe {
            self.get::<Bench>("double_bench_address")(context, name.as_ptr(), address, n)
        })
        .ok()
    }

    /// Nanoseconds for n frames in a closed loop in the current device context, and of those until each was enqueued;
    /// `None` if a call failed. An input and an output, each with its bytes.
    ///
    /// # Safety
    /// `context` is a living IExecutionContext of this library, and a device context is current.
    pub unsafe fn bench_frames(
        &self,
        context: *mut c_void,
        input: (&CStr, u64),
        output: (&CStr, u64),
        n: u64,
    ) -> Option<(u64, u64)> {
        type Bench =
            unsafe extern "C" fn(*mut c_void, *const c_char, u64, *const c_char, u64, u64, *mut i64) -> i64;
        let bench = self.get::<Bench>("double_bench_frames");
        let (mut submitting, [from, to]) = (0, [input.0.as_ptr(), output.0.as_ptr()]);
        // SAFETY: the type is control.h's, the contexts the caller's promise.
        let took = unsafe { bench(context, from, input.1, to, output.1, n, &raw mut submitting) };
        u64::try_from(took).ok().zip(u64::try_from(submitting).ok())
    }
}
