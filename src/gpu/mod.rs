//! CUDA, behind safe types: what devices there are, and memory that the host fills. (Contexts, streams, rings and ways of sharing come with the
//! tenants that run on them.) Nothing of TensorRT here.
//!
//! The driver is loaded at run time through `cudarc`, built for CUDA 11.4; it panics where there is no driver,
//! so its presence is asked for first, here and nowhere else.
#![allow(
    unsafe_code,
    reason = "calls of the CUDA driver; each block states the fact that it relies on"
)]

mod device;
mod memory;

pub use device::{Device, GpuError, devices, first};
pub use memory::Uploads;
