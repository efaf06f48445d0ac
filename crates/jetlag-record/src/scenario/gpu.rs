//! How a tenant uses the GPU.

use serde::{Deserialize, Serialize};

/// How a tenant uses the GPU; ignored on other backends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GpuUse {
    /// How inputs and outputs get to and from the device.
    pub transfer: Transfer,
    /// Whether the work of a frame is captured as a CUDA graph.
    pub graph: Graph,
    /// How its threads wait for the device.
    pub sync: Sync,
    /// Whether the frames in flight have working memory of their own.
    pub context_memory: ContextMemory,
    /// Under `Partition`, its share of the multiprocessors; tenants without one divide the rest evenly.
    pub share: Option<f64>,
    /// The device's number, as CUDA counts: 0 is the first.
    pub gpu: u16,
    /// Where the steps before and between engines are done.
    pub preprocess: Preprocess,
}

/// Where the steps are done that a device can do as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Preprocess {
    /// The host does them.
    #[default]
    Host,
    /// The GPU does those that there are kernels for: the resize of images, voxelisation, PointPillars' scatter.
    Gpu,
}

/// How inputs and outputs get to and from the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Transfer {
    /// As `Copy`. A Jetson's GPU does not cache pinned memory, so that a copy is the safe choice there too; `jetlag doctor
    /// --measure` compares them on the board at hand.
    #[default]
    Auto,
    /// Copied to and from device memory.
    Copy,
    /// Kernels read and write the pinned host memory.
    ZeroCopy,
    /// Kernels and host read and write managed memory, which belongs to one of them at a time.
    Managed,
}

/// Whether the work of a frame is captured as a CUDA graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Graph {
    /// Enqueued anew for each frame.
    #[default]
    Off,
    /// Captured once per shape of the inputs; what cannot be captured is enqueued, and a finding says so.
    On,
    /// As `On` for networks of fixed shapes, as `Off` for others.
    Auto,
}

/// How a thread waits for the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sync {
    /// It sleeps until the driver wakes it.
    #[default]
    Block,
    /// It polls all the time.
    Spin,
    /// It polls, and yields the processor in between.
    Yield,
}

/// Working memory of an engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContextMemory {
    /// Each frame in flight has its own.
    #[default]
    Separate,
    /// One block for all frames in flight, which then execute one after another (as they do on one stream anyway).
    Shared,
}

/// Where an ONNX Runtime session executes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Provider {
    /// ONNX Runtime's CUDA provider, on the GPU.
    #[default]
    Cuda,
    /// ONNX Runtime's own kernels, on the processor.
    Cpu,
}
