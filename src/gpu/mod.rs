//! CUDA, behind safe types: devices and their contexts, streams, events, memory, graphs, partitions, kernels
//! of our own compiled at run time, and where the device's moments lie on the host's line of time. Nothing of TensorRT here.
//!
//! The driver is loaded at run time through `cudarc`, built for CUDA 11.4; it panics where there is no driver,
//! so its presence is asked for first, in [`devices`] and nowhere else. Functions newer than 11.4 are asked for by name
//! and version, in [`Partition`] alone.
//!
//! # Who keeps whom alive
//! [`Gpu`] is the device's primary context; every stream, event, block of memory, graph, module and partition holds it. A
//! stream holds its partition, a kernel its module. Kernels are given [`Span`]s, which hold their memory. Memory waits for the
//! device before it is freed, so that whatever a stream still has under way finds its addresses (a graph is freed by the driver
//! when its last launch is done); a hanging device hangs there, and the run's watchdog leaves such a tenant alone.
//!
//! # Safe and unsafe
//! A safe function here cannot be misused into undefined behaviour: lengths are checked, and memory is kept by what uses it. What
//! cannot be seen here is `unsafe`, with what the caller owes: handing host memory to the device, which nobody may touch there
//! until the device is done ([`Stream::upload`], [`Stream::download`], [`Stream::lend`], [`PinnedAddress::span`]); launching work
//! that others captured ([`Graph::launch`]); and loading code ([`Module::load`]).
//!
//! # Threads
//! Everything here may move between threads and be shared. A thread binds the context ([`Gpu::bind`]) before it
//! records, copies or waits; constructors bind by themselves.
#![allow(
    unsafe_code,
    reason = "calls of the CUDA driver; each block states the fact that it relies on"
)]

mod blas;
mod clock_map;
mod context;
mod copies;
mod device;
mod driver;
mod event;
mod fit;
mod graph;
mod kernels;
mod load;
mod memory;
mod nvrtc;
mod partition;
mod pillars;
mod queues;
mod scatter;
mod span;
mod stream;
mod toolkit;

pub use blas::{Blas, BlasError, Numbers};
pub use clock_map::{Anchor, Calibration, Calibrator, ClockMap};
pub use context::Gpu;
pub use copies::{CopyLoad, Way};
pub use device::{Device, GpuError, devices, first, numbered};
pub use event::{Event, Sync};
pub use fit::Fit;
pub use graph::Graph;
pub use kernels::{FIT, KernelSource, LOAD, Module, PILLARS, SCATTER, SOURCES};
pub use load::{Load, LoadKernel};
pub use memory::{DeviceMemory, PinnedAddress, PinnedMemory, Reach, Uploads};
pub use nvrtc::{Nvrtc, NvrtcError};
pub use partition::Partition;
pub use pillars::Pillars;
pub use queues::{ask_for_all_queues, asked_queues};
pub use scatter::Scatter;
pub use span::Span;
pub use stream::Stream;
