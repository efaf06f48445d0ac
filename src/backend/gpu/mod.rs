//! The pipeline of a GPU tenant: pinned slots, copies, execution and stamps on CUDA streams, whoever executes.
//!
//! [`SharedGpu`] is one device as all tenants of a run see it; a [`Lender`] lends a tenant its streams under the way of
//! sharing in force ([`Lanes`]). [`Layout`] decides from the program and the engines' own words which tensor is copied when. A slot
//! ([`open`]) is one frame in flight. What executes an engine is a [`Network`]: TensorRT in `backend/tensorrt`,
//! ONNX Runtime in `backend/onnxruntime`. Whose turn it is, where tenants take turns, is decided before submission
//! (`tenant::gate`).
//!
//! # Whose turn it is with the memory
//! The host fills and reads a slot's tensors, and the device copies them, or reads and writes them directly, in between. The
//! slot sees to it that it is never both at once: from `submit` to the end of `wait` it shows its caller tensors without
//! memory, and before it puts anything on a stream it makes sure that its tensors still lie where the streams and engines
//! were told (`slot::GpuSlot`).
#![allow(
    unsafe_code,
    reason = "memory that the device is lent; each block states the fact that it relies on"
)]

mod device_steps;
mod fallback;
mod kernels;
mod lanes;
mod layout;
mod shared;
mod slot;
mod stretch;
mod taken;

use crate::backend::{BackendError, LateTimes, NodeSpan, NodeTime};
use crate::gpu::{GpuError, Stream};
use crate::record::{Amount, Finding};
use crate::scenario::GpuUse;
use crate::tensor::{ElementType, Shape};
use crate::units::Stamp;

use device_steps::fold;

pub use kernels::{KernelError, kernels};
pub use lanes::{Lanes, Lender, Wanted};
pub use layout::{EngineUse, Layout, Location, Segment, Tensor, Work};
pub use shared::{Claim, SharedGpu};
pub use slot::open;
pub use taken::FreeMemory;

/// An input or output as an engine tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Name, as the network has it.
    pub name: String,
    /// Type of its elements.
    pub element: ElementType,
    /// Dimensions; `None` where they are dynamic.
    pub shape: Vec<Option<usize>>,
    /// Whether the engine wants it in host memory (shapes, mostly).
    pub is_on_host: bool,
}

/// What an engine reads and writes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ports {
    /// The network's name, for messages.
    pub network: String,
    /// Inputs, in the engine's order.
    pub inputs: Vec<Port>,
    /// Outputs, in the engine's order.
    pub outputs: Vec<Port>,
}

/// A loaded network as a [`Layout`] needs it.
pub trait Described {
    /// What it reads and writes.
    fn ports(&self) -> &Ports;
    /// The shapes of its outputs for inputs of these shapes, in the order of the ports; a size that only the data decide
    /// is an error that says so.
    fn output_shapes(&self, inputs: &[Shape]) -> Result<Vec<Shape>, BackendError>;
}

/// A loaded network, from which slots make what executes for them.
pub trait Network: Described {
    /// Streams beside the one that it is enqueued on.
    fn branches(&self) -> usize {
        0
    }
    /// Working memory of the context of one execution; `None` where it has no context of its own.
    fn context_memory(&self) -> Option<Amount> {
        None
    }
    /// An execution of its own for one slot, over this memory (inputs, then outputs, in the order of the ports), which the
    /// execution keeps alive.
    fn bind(&self, memory: &[Location]) -> Result<Box<dyn Execution>, BackendError>;
}

/// A network bound to one slot's memory. Used by one thread at a time, with the device's context bound.
pub trait Execution: Send {
    /// The shapes of this frame's inputs, and room for those of its outputs, in the order of the ports. Called only
    /// where an input is dynamic, and when a shape differs from the frame before.
    fn reshape(&mut self, inputs: &[Shape], outputs: &mut [Shape]) -> Result<(), BackendError>;
    /// Puts one inference on the stream, which is one of those that the slots were opened with, and returns.
    ///
    /// # Safety
    /// Until the device is done with it, the execution is kept, nobody touches the memory that it was bound to on the host, and
    /// no other execution of the tenant is enqueued on another stream.
    unsafe fn enqueue(&mut self, stream: &Stream) -> Result<(), BackendError>;
    /// Whether its enqueueing can be captured as a CUDA graph.
    fn can_be_captured(&self) -> bool {
        true
    }
    /// Whether what `enqueue` would put on `stream` now can be captured. Asked before each capture.
    fn is_ready_for_capture(&self, _stream: &Stream) -> bool {
        true
    }
    /// Streams for branches that run side by side, from now on: as many as [`Network::branches`] asked for, or more.
    fn lend_branches(&mut self, _streams: &[std::sync::Arc<Stream>]) -> Result<(), BackendError> {
        Ok(())
    }
    /// Whether `enqueue` may wait for the device before it returns.
    fn may_wait(&self) -> bool {
        false
    }
    /// Whether what it enqueued once serves frames of every shape, because its kernels read the shape from the frame's own
    /// memory: a graph with it stays as it is.
    fn serves_every_shape(&self) -> bool {
        false
    }
    /// Time per layer of the frame that just ended, where that was asked for; added to `into`.
    fn layer_times(&mut self, _into: &mut Vec<NodeTime>) {}
    /// As [`Slot::number_frame`](super::Slot::number_frame).
    fn number_frame(&mut self, _number: u64) -> bool {
        false
    }
    /// As [`Slot::late_node_times`](super::Slot::late_node_times), of every execution of its network; added to `into`. Answers
    /// what is in the way of it.
    fn late_layer_times(&mut self, _into: &mut LateTimes) -> Vec<Finding> {
        Vec::new()
    }
    /// As [`Slot::node_spans`](super::Slot::node_spans).
    fn layer_spans(&mut self, _from: Stamp, _to: Stamp) -> Vec<NodeSpan> {
        Vec::new()
    }
}

/// What a tenant is opened with on its device.
pub struct OnDevice {
    /// The device, as all tenants of the run share it.
    pub shared: std::sync::Arc<SharedGpu>,
    /// What the tenant brings to the sharing.
    pub claim: Claim,
    /// How its slots work.
    pub options: Options,
}

impl OnDevice {
    /// The GPU that it runs on.
    pub fn device(&self) -> crate::record::Device {
        crate::record::Device::Gpu(self.options.gpu.gpu)
    }
}

/// How a tenant's slots work.
#[derive(Clone, Debug)]
pub struct Options {
    /// The word of the backend: `tensorrt`.
    pub backend: &'static str,
    /// As in the scenario.
    pub gpu: GpuUse,
    /// The longest that a frame may take.
    pub watchdog: std::time::Duration,
    /// What limits the tenant from the start; told by its first slot.
    pub findings: Vec<crate::record::Finding>,
}

/// A failure of the device as a backend's.
pub(crate) fn failed(backend: &'static str, what: &str, error: GpuError) -> BackendError {
    match error {
        GpuError::OutOfMemory { .. } | GpuError::PinnedFull { .. } => BackendError::OutOfMemory {
            backend,
            problem: format!("{what}: {error}"),
        },
        GpuError::Hangs { .. } => BackendError::Hangs {
            backend,
            problem: error.to_string(),
        },
        _ => BackendError::Execute {
            network: what.to_owned(),
            backend,
            problem: error.to_string(),
        },
    }
}
