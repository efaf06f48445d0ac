//! As much of the CUDA driver as it takes to have something to trace: a kernel of known duration, copies, fills, events, a graph.
//!
//! The crate itself calls no CUDA. Handles live as long as the process.

#![allow(dead_code, reason = "who includes this uses a part")]
// For tests and examples: a call that fails ends them.
#![allow(clippy::missing_panics_doc, reason = "as above")]

use std::ffi::{CString, c_char, c_int, c_uint, c_void};

use libloading::os::unix::Library;

/// A stream; null is the context's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stream(pub(crate) *mut c_void);
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event(*mut c_void);
#[derive(Clone, Copy, Debug)]
pub(crate) struct Executable(*mut c_void);

/// Device memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    address: u64,
    bytes: usize,
}

impl Memory {
    /// As other libraries take it.
    pub(crate) fn address(self) -> *mut c_void {
        std::ptr::without_provenance_mut(usize::try_from(self.address).expect("an address"))
    }
}

/// Host memory that the device reads and writes by itself.
#[derive(Debug)]
pub(crate) struct Pinned {
    address: *mut c_void,
    bytes: usize,
}

/// A kernel that is busy for so many nanoseconds as it is told. The driver's double knows one of this name.
pub(crate) const KERNEL: &str = "double_busy";
const PTX: &str = "
.version 6.4
.target sm_75
.address_size 64
.visible .entry double_busy(.param .u64 nanoseconds)
{
    .reg .u64 %t<4>;
    .reg .pred %p;
    ld.param.u64 %t0, [nanoseconds];
    mov.u64 %t1, %globaltimer;
AGAIN:
    mov.u64 %t2, %globaltimer;
    sub.u64 %t3, %t2, %t1;
    setp.lt.u64 %p, %t3, %t0;
    @%p bra AGAIN;
    ret;
}
";

/// The first device, with its primary context current on the thread that made this.
#[derive(Debug)]
pub(crate) struct Cuda {
    library: Library,
    pub(crate) context: *mut c_void,
    kernel: *mut c_void,
}

// SAFETY: the driver takes its handles from any thread.
unsafe impl Sync for Cuda {}

/// Calls a function of the driver by its name and types; anything but success is a panic.
macro_rules! cu {
    ($cuda:expr, $name:literal ($($type:ty: $value:expr),* $(,)?)) => {{
        type Function = unsafe extern "C" fn($($type),*) -> c_int;
        // SAFETY: the function has this type in every driver.
        let function = unsafe { $cuda.get::<Function>($name.as_bytes()) };
        let function = *function.unwrap_or_else(|error| panic!("{}: {error}", $name));
        // SAFETY: pointers among the arguments live through the call, and handles are the driver's.
        let answer = unsafe { function($($value),*) };
        assert_eq!(answer, 0, "{}", $name);
    }};
}

impl Cuda {
    pub(crate) fn new() -> Self {
        Self::on(0)
    }

    /// The same of another device.
    pub(crate) fn on(ordinal: i32) -> Self {
        // SAFETY: every CUDA program loads it.
        let library = unsafe { Library::new("libcuda.so.1") }.expect("the driver");
        let mut device = 0;
        let mut context = std::ptr::null_mut();
        let mut module = std::ptr::null_mut();
        let mut kernel = std::ptr::null_mut();
        cu!(library, "cuInit"(c_uint: 0));
        cu!(library, "cuDeviceGet"(*mut c_int: &mut device, c_int: ordinal));
        cu!(library, "cuDevicePrimaryCtxRetain"(*mut *mut c_void: &mut context, c_int: device));
        cu!(library, "cuCtxSetCurrent"(*mut c_void: context));
        let text = CString::new(PTX).expect("no NUL");
        cu!(library, "cuModuleLoadData"(*mut *mut c_void: &mut module, *const c_char: text.as_ptr()));
        let name = CString::new(KERNEL).expect("no NUL");
        let name = name.as_ptr();
        cu!(library, "cuModuleGetFunction"(*mut *mut c_void: &mut kernel, *mut c_void: module, *const c_char: name));
        Self {
            library,
            context,
            kernel,
        }
    }

    /// Makes the context current on this thread, too.
    pub(crate) fn enter(&self) {
        cu!(self.library, "cuCtxSetCurrent"(*mut c_void: self.context));
    }

    pub(crate) fn stream(&self) -> Stream {
        let mut stream = std::ptr::null_mut();
        cu!(self.library, "cuStreamCreate"(*mut *mut c_void: &mut stream, c_uint: 1));
        Stream(stream)
    }

    /// A stream whose kernels go before those of others: the less, the more.
    pub(crate) fn stream_of_priority(&self, priority: i32) -> Stream {
        let mut stream = std::ptr::null_mut();
        cu!(self.library, "cuStreamCreateWithPriority"(*mut *mut c_void: &mut stream, c_uint: 1, c_int: priority));
        Stream(stream)
    }

    /// A green context of the first multiprocessors of the first device, so many at least, and a stream of it.
    pub(crate) fn green(&self, multiprocessors: u32) -> (*mut c_void, Stream) {
        // As long as the driver's struct, of which nothing here is looked into.
        let (mut all, mut part) = ([0u64; 18], [0u64; 18]);
        let (mut groups, mut description) = (1, std::ptr::null_mut());
        let (mut green, mut context, mut stream) =
            (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
        let none = std::ptr::null_mut::<u64>();
        cu!(self.library, "cuDeviceGetDevResource"(c_int: 0, *mut u64: all.as_mut_ptr(), c_uint: 1));
        cu!(
            self.library,
            "cuDevSmResourceSplitByCount"(
                *mut u64: part.as_mut_ptr(),
                *mut c_uint: &mut groups,
                *const u64: all.as_ptr(),
                *mut u64: none,
                c_uint: 0,
                c_uint: multiprocessors,
            )
        );
        cu!(self.library, "cuDevResourceGenerateDesc"(*mut *mut c_void: &mut description, *mut u64: part.as_mut_ptr(), c_uint: 1));
        cu!(self.library, "cuGreenCtxCreate"(*mut *mut c_void: &mut green, *mut c_void: description, c_int: 0, c_uint: 1));
        cu!(self.library, "cuCtxFromGreenCtx"(*mut *mut c_void: &mut context, *mut c_void: green));
        cu!(self.library, "cuGreenCtxStreamCreate"(*mut *mut c_void: &mut stream, *mut c_void: green, c_uint: 1, c_int: 0));
        (context, Stream(stream))
    }

    /// Host memory that copies need not wait for.
    pub(crate) fn pinned(&self, bytes: usize) -> Pinned {
        let mut address = std::ptr::null_mut();
        cu!(self.library, "cuMemHostAlloc"(*mut *mut c_void: &mut address, usize: bytes, c_uint: 0));
        Pinned { address, bytes }
    }

    /// Does not wait.
    pub(crate) fn copy_from_pinned(&self, stream: Stream, memory: Memory, from: &Pinned) {
        let bytes = from.bytes.min(memory.bytes);
        cu!(self.library, "cuMemcpyHtoDAsync_v2"(u64: memory.address, *const c_void: from.address, usize: bytes, *mut c_void: stream.0));
    }

    /// Waits: a call without Async.
    pub(crate) fn copy_within(&self, to: Memory, from: Memory) {
        let bytes = from.bytes.min(to.bytes);
        cu!(self.library, "cuMemcpyDtoD_v2"(u64: to.address, u64: from.address, usize: bytes));
    }

    /// Whether everything in the stream is done.
    pub(crate) fn is_done(&self, stream: Stream) -> bool {
        // SAFETY: the function has this type in every driver.
        let query = unsafe {
            self.library
                .get::<unsafe extern "C" fn(*mut c_void) -> c_int>(b"cuStreamQuery")
        };
        let query = query.expect("every driver has it");
        // SAFETY: a live stream.
        match unsafe { query(stream.0) } {
            0 => true,
            600 => false,
            answer => panic!("cuStreamQuery: {answer}"),
        }
    }

    pub(crate) fn synchronize_event(&self, event: Event) {
        cu!(self.library, "cuEventSynchronize"(*mut c_void: event.0));
    }

    pub(crate) fn event(&self) -> Event {
        let mut event = std::ptr::null_mut();
        cu!(self.library, "cuEventCreate"(*mut *mut c_void: &mut event, c_uint: 0));
        Event(event)
    }

    pub(crate) fn memory(&self, bytes: usize) -> Memory {
        let mut address = 0;
        cu!(self.library, "cuMemAlloc_v2"(*mut u64: &mut address, usize: bytes));
        Memory { address, bytes }
    }

    /// A kernel that is busy so long, on `blocks` blocks of 64 threads.
    pub(crate) fn busy(&self, stream: Stream, nanos: u64, blocks: u32) {
        let mut nanos = nanos;
        let mut parameters = [std::ptr::from_mut(&mut nanos).cast::<c_void>()];
        cu!(
            self.library,
            "cuLaunchKernel"(
                *mut c_void: self.kernel,
                c_uint: blocks,
                c_uint: 1,
                c_uint: 1,
                c_uint: 64,
                c_uint: 1,
                c_uint: 1,
                c_uint: 0,
                *mut c_void: stream.0,
                *mut *mut c_void: parameters.as_mut_ptr(),
                *mut *mut c_void: std::ptr::null_mut(),
            )
        );
    }

    /// Waits for the copy before it goes on: the bytes are the caller's.
    pub(crate) fn copy_to(&self, stream: Stream, memory: Memory, from: &[u8]) {
        let bytes = from.len().min(memory.bytes);
        let from = from.as_ptr().cast::<c_void>();
        cu!(self.library, "cuMemcpyHtoDAsync_v2"(u64: memory.address, *const c_void: from, usize: bytes, *mut c_void: stream.0));
        self.synchronize(stream);
    }

    /// As [`Cuda::copy_to`], back.
    pub(crate) fn copy_from(&self, stream: Stream, memory: Memory, to: &mut [u8]) {
        let bytes = to.len().min(memory.bytes);
        let to = to.as_mut_ptr().cast::<c_void>();
        cu!(self.library, "cuMemcpyDtoHAsync_v2"(*mut c_void: to, u64: memory.address, usize: bytes, *mut c_void: stream.0));
        self.synchronize(stream);
    }

    pub(crate) fn fill(&self, stream: Stream, memory: Memory) {
        cu!(self.library, "cuMemsetD8Async"(u64: memory.address, u8: 7, usize: memory.bytes, *mut c_void: stream.0));
    }

    pub(crate) fn record(&self, event: Event, stream: Stream) {
        cu!(self.library, "cuEventRecord"(*mut c_void: event.0, *mut c_void: stream.0));
    }

    pub(crate) fn wait_for(&self, stream: Stream, event: Event) {
        cu!(self.library, "cuStreamWaitEvent"(*mut c_void: stream.0, *mut c_void: event.0, c_uint: 0));
    }

    pub(crate) fn synchronize(&self, stream: Stream) {
        cu!(self.library, "cuStreamSynchronize"(*mut c_void: stream.0));
    }

    pub(crate) fn synchronize_all(&self) {
        cu!(self.library, "cuCtxSynchronize"());
    }

    /// What `work` puts into the stream, as a graph.
    pub(crate) fn capture(&self, stream: Stream, work: impl FnOnce()) -> Executable {
        let (mut graph, mut executable) = (std::ptr::null_mut(), std::ptr::null_mut());
        cu!(self.library, "cuStreamBeginCapture_v2"(*mut c_void: stream.0, c_int: 1));
        work();
        cu!(self.library, "cuStreamEndCapture"(*mut c_void: stream.0, *mut *mut c_void: &mut graph));
        cu!(self.library, "cuGraphInstantiateWithFlags"(*mut *mut c_void: &mut executable, *mut c_void: graph, u64: 0));
        Executable(executable)
    }

    pub(crate) fn launch(&self, executable: Executable, stream: Stream) {
        cu!(self.library, "cuGraphLaunch"(*mut c_void: executable.0, *mut c_void: stream.0));
    }
}
