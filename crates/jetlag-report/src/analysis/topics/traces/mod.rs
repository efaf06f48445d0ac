//! What a tracer saw of the device: kernels, layers, critical paths, predictions from them, counters of others' profilers.

pub mod counters;
pub mod critical;
pub(in crate::analysis) mod drawn;
pub(in crate::analysis) mod kernels;
pub mod layers;
pub(in crate::analysis) mod observer;
pub mod what_if;
