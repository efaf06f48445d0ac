//! CUDA graphs: what was enqueued once, launched again with one call.

use std::sync::Arc;

use cudarc::driver::{result, sys};

use super::device::driver_failed;
use super::stream::Stream;
use super::{Gpu, GpuError};

/// Captured work, ready to launch. It holds the addresses that it was captured with, and nothing that keeps them alive.
#[derive(Debug)]
pub struct Graph {
    raw: sys::CUgraphExec,
    gpu: Arc<Gpu>,
}

// SAFETY: the driver lets any thread launch a graph, one at a time; `launch` takes it mutably.
unsafe impl Send for Graph {}

impl Graph {
    /// Captures what `enqueue` puts on `stream`. Nothing of it is executed.
    ///
    /// # Errors
    /// What `enqueue` says, or (through `of_driver`) that something in it cannot be captured (a synchronisation, an allocation).
    pub fn capture<E>(
        stream: &Stream,
        enqueue: impl FnOnce() -> Result<(), E>,
        of_driver: impl Fn(GpuError) -> E,
    ) -> Result<Self, E> {
        let raw_stream: sys::CUstream = stream.raw().cast();
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is alive; the driver refuses one that is being captured.
        unsafe { result::stream::begin_capture(raw_stream, mode) }
            .map_err(|error| of_driver(driver_failed("cuStreamBeginCapture")(error)))?;
        let enqueued = enqueue();
        // SAFETY: ends what was begun above, also where enqueueing failed.
        let graph =
            unsafe { result::stream::end_capture(raw_stream) }.map_err(driver_failed("cuStreamEndCapture"));
        if let (Err(_), Ok(part)) = (&enqueued, &graph) {
            // SAFETY: ours; what was captured before the failure is of no use.
            let _ = unsafe { result::graph::destroy(*part) };
        }
        enqueued?;
        let graph = graph.map_err(&of_driver)?;
        if graph.is_null() {
            return Err(of_driver(GpuError::Driver {
                call: "cuStreamEndCapture",
                problem: "the capture was given up".to_owned(),
            }));
        }
        // SAFETY: the graph is ours; what is instantiated of it does not need it any more.
        let made = unsafe {
            let made = result::graph::instantiate(graph, sys::CUgraphInstantiate_flags_enum(0));
            let _ = result::graph::destroy(graph);
            made
        };
        Ok(Self {
            raw: made.map_err(|error| of_driver(driver_failed("cuGraphInstantiate")(error)))?,
            gpu: Arc::clone(stream.gpu()),
        })
    }

    /// Enqueues it.
    ///
    /// # Safety
    /// What the captured work reads and writes is alive, and so are the kernels and libraries that it is of, until the launch
    /// is done; and what was asked of whoever enqueued it while it was captured holds for this launch too.
    ///
    /// # Errors
    /// The driver fails.
    pub unsafe fn launch(&mut self, stream: &Stream) -> Result<(), GpuError> {
        // SAFETY: both are alive; what the work needs is, as the caller vouches.
        unsafe { result::graph::launch(self.raw, stream.raw().cast()) }
            .map_err(driver_failed("cuGraphLaunch"))
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let _ = self.gpu.bind();
        // SAFETY: made by us. A launch that is under way goes on, and the driver frees it at its end; waiting for the whole
        // device here would make one tenant wait for all others.
        let _ = unsafe { result::graph::exec_destroy(self.raw) };
    }
}
