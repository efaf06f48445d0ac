//! The calls that the tests make again and again.

use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::time::Duration;

use cudarc::driver::{result, sys};

pub(crate) use sys::cudaError_enum as Code;

pub(crate) const NON_BLOCKING: u32 = 1;

/// How long a stream is kept busy while more is enqueued behind it: longer than a busy machine takes for that.
pub(crate) const GATE_MS: u64 = 1_500;

/// What the double's module says of itself; its kernels are found by name.
const PTX: &str = ".version 6.0\n.target sm_50\n.address_size 64\n\
     .visible .entry double_busy(.param .u64 nanos) { ret; }\n\
     .visible .entry double_add(.param .u64 address, .param .u32 n) { ret; }\n\
     .visible .entry unknown_to_the_double() { ret; }\n";

/// A context on the first device, current in this thread, and the double's kernels.
pub(crate) struct Gpu {
    pub(crate) context: sys::CUcontext,
    pub(crate) module: sys::CUmodule,
    busy: sys::CUfunction,
    add: sys::CUfunction,
}

pub(crate) fn ok(code: sys::CUresult) {
    assert_eq!(code, Code::CUDA_SUCCESS);
}

impl Gpu {
    pub(crate) fn open() -> Self {
        result::init().unwrap();
        let mut context = null_mut();
        let mut module = null_mut();
        let text = CString::new(PTX).unwrap();
        unsafe {
            ok(sys::cuDevicePrimaryCtxRetain(&raw mut context, 0));
            ok(sys::cuCtxSetCurrent(context));
            ok(sys::cuModuleLoadData(&raw mut module, text.as_ptr().cast()));
        }
        let function = |name: &str| unsafe {
            result::module::get_function(module, CString::new(name).unwrap()).unwrap()
        };
        Self {
            context,
            module,
            busy: function("double_busy"),
            add: function("double_add"),
        }
    }

    /// Frees everything that it allocated.
    pub(crate) fn close(self) {
        unsafe {
            ok(sys::cuModuleUnload(self.module));
            ok(sys::cuDevicePrimaryCtxRelease_v2(0));
        }
    }

    fn launch(&self, function: sys::CUfunction, stream: sys::CUstream, parameters: &mut [*mut c_void]) {
        let to = parameters.as_mut_ptr();
        ok(unsafe { sys::cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, to, null_mut()) });
    }

    /// A kernel that keeps the device busy for so long, if it is alone.
    pub(crate) fn busy(&self, stream: sys::CUstream, milliseconds: u64) {
        let mut nanos = milliseconds * 1_000_000;
        self.launch(self.busy, stream, &mut [(&raw mut nanos).cast()]);
    }

    /// A kernel that adds to a word.
    pub(crate) fn add(&self, stream: sys::CUstream, mut address: u64, mut n: u32) {
        let mut parameters = [(&raw mut address).cast(), (&raw mut n).cast()];
        self.launch(self.add, stream, &mut parameters);
    }
}

pub(crate) fn stream(flags: u32) -> sys::CUstream {
    let mut stream = null_mut();
    ok(unsafe { sys::cuStreamCreate(&raw mut stream, flags) });
    stream
}

pub(crate) fn wait(stream: sys::CUstream) {
    ok(unsafe { sys::cuStreamSynchronize(stream) });
}

/// An event, recorded on the stream just now.
pub(crate) fn stamp(stream: sys::CUstream) -> sys::CUevent {
    let mut event = null_mut();
    unsafe {
        ok(sys::cuEventCreate(&raw mut event, 0));
        ok(sys::cuEventRecord(event, stream));
    }
    event
}

pub(crate) fn wait_event(stream: sys::CUstream, event: sys::CUevent) {
    ok(unsafe { sys::cuStreamWaitEvent(stream, event, 0) });
}

/// Milliseconds from one event to another.
pub(crate) fn between(begin: sys::CUevent, end: sys::CUevent) -> f32 {
    let mut milliseconds = 0.0;
    ok(unsafe { sys::cuEventElapsedTime(&raw mut milliseconds, begin, end) });
    milliseconds
}

pub(crate) fn allocate(bytes: usize) -> u64 {
    let mut address = 0;
    ok(unsafe { sys::cuMemAlloc_v2(&raw mut address, bytes) });
    address
}

/// A word of device memory that holds 0.
pub(crate) fn word() -> u64 {
    let address = allocate(4);
    ok(unsafe { sys::cuMemsetD8_v2(address, 0, 4) });
    address
}

pub(crate) fn read(address: u64) -> u32 {
    let mut value = u32::MAX;
    ok(unsafe { sys::cuMemcpyDtoH_v2((&raw mut value).cast(), address, 4) });
    value
}

/// Page-locked host memory.
pub(crate) fn pinned(bytes: usize) -> *mut c_void {
    let mut address = null_mut();
    ok(unsafe { sys::cuMemHostAlloc(&raw mut address, bytes, 0) });
    address
}

/// Longer than any thread is late.
pub(crate) fn a_while() {
    std::thread::sleep(Duration::from_millis(60));
}

/// Within a microsecond, and what a float of milliseconds cannot tell.
pub(crate) fn assert_exact(found: f32, wanted: f32) {
    assert!((found - wanted).abs() < 0.002, "{found} ms, wanted {wanted} ms");
}
