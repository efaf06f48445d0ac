//! Tenants on a GPU: the whole program over the doubles of the CUDA driver and of TensorRT, so that every call of the
//! driver is really made; and tenants in processes of their own, on any backend. What only a real device can show is measured by scripts/gpu.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "gpu/bad_input.rs"]
mod bad_input;
#[path = "common/boards.rs"]
mod boards;
#[path = "common/cuda.rs"]
mod cuda;
#[path = "gpu/device_steps.rs"]
mod device_steps;
#[path = "gpu/in_flight.rs"]
mod in_flight;
#[path = "gpu/kit.rs"]
mod kit;
#[path = "gpu/nvrtc.rs"]
mod nvrtc;
#[path = "gpu/processes.rs"]
mod processes;
#[path = "gpu/scene.rs"]
mod scene;
#[path = "gpu/selftest.rs"]
mod selftest;
#[path = "gpu/several_gpus.rs"]
mod several_gpus;
#[path = "gpu/sharing.rs"]
mod sharing;
#[path = "gpu/stages.rs"]
mod stages;
#[path = "gpu/stress.rs"]
mod stress;
#[path = "gpu/submission.rs"]
mod submission;
#[path = "common/under_way.rs"]
mod under_way;
