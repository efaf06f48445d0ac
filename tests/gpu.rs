//! Tenants on a GPU: the whole program over the doubles of the CUDA driver and of TensorRT, so that every call of the
//! driver is really made; and tenants in processes of their own, on any backend. What only a real device can show is measured by scripts/gpu.

use crate::common::under_way;

mod bad_input;
mod batches;
mod building;
mod ceilings;
mod device_steps;
mod driver;
mod in_flight;
mod inputs;
mod kit;
mod layers;
mod memory;
mod nvrtc;
mod plan_tenants;
mod processes;
pub(crate) mod scene;
mod selftest;
mod several_gpus;
mod sharing;
mod stages;
mod stress;
mod submission;
mod sweeps;
#[cfg(feature = "trace")]
mod traced;
mod tracer_misbehaves;
