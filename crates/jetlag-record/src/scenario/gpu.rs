//! How a tenant uses the GPU.

use serde::{Deserialize, Serialize};

use crate::{fields, words};

fields! {
    /// How a tenant uses the GPU; ignored on other backends.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default)]
    pub struct GpuUse {
        /// How inputs and outputs are transferred: copied to and from device memory, accessed by kernels in pinned host memory
        /// (`ZeroCopy`), or in managed memory, which host and device use in turns (`Managed`). `Auto` copies, also on a Jetson,
        /// whose GPU does not cache pinned memory; [sharing.md](sharing.md#what-a-gpu-tenants-stages-mean) says when the others
        /// are worth a try.
        pub transfer: Transfer = Transfer::Auto;
        /// Whether the work of a frame is captured as a CUDA graph, once per shape of its inputs, and launched with one call.
        /// What cannot be captured is enqueued frame by frame, and a finding says so. `Auto` does so only for networks with fixed
        /// shapes.
        pub graph: Graph = Graph::Off;
        /// How a thread waits for the device: asleep until the driver wakes it, polling (fastest, but uses a core), or polling
        /// and yielding to others.
        pub sync: Sync = Sync::Block;
        /// Whether each frame in flight has its own working memory, or all frames of a tenant share one block. Either way they
        /// are enqueued and executed one after another on one stream.
        pub context_memory: ContextMemory = ContextMemory::Separate;
        /// Under `Partition`, the tenant's share of the multiprocessors.
        pub share: Option<f64> = None, usually "an equal part of the rest",
            if |share| share.is_none_or(|share| share > 0.0 && share <= 1.0)
                => "above 0 and at most 1: a share of the GPU's multiprocessors";
        /// The device, as the driver numbers them.
        pub gpu: u16 = 0, if |&gpu| is_device(gpu) => "from 0 to 63: a device's number";
        /// Where preprocessing and the steps between engines run. `Gpu`: on the device, as far as there are kernels: the resize,
        /// normalising and layout of images, voxelisation, PointPillars' scatter ([detectors.md](detectors.md#on-the-device)), on
        /// `TensorRt` and `OnnxRuntime(provider: Cuda)`. The finding `step-on-host` reports what stays on the host: everything
        /// without NVRTC, and whole networks of pillars or points.
        pub preprocess: Preprocess = Preprocess::Host;
    }
}

/// Whether a device may have this number: no machine has more than 64.
pub fn is_device(number: u16) -> bool {
    number < 64
}

words! {
    Transfer: "transfer";
    Graph: "graph";
    Sync: "sync";
    ContextMemory: "context memory";
    Preprocess: "preprocess";
    Provider: "provider";
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
