//! TensorRT, whatever release the machine has: finding it, building plans, looking into them, executing them.
//!
//! The only place that sees the crate `tensorrt-dyn`. What to build is [`crate::engine::options`]; where plans are
//! kept is [`crate::engine::cache`]; slots, streams and stamps are [`crate::backend::gpu`]'s.

#![allow(
    unsafe_code,
    reason = "memory that TensorRT is lent; each block states the fact that it relies on"
)]

pub mod build;
pub mod calibrate;
mod execute;
pub mod inspect;
mod library;
mod matching;
mod options;
mod profiles;
mod progress;

pub use execute::{TensorRtBackend, WrongPlans, over_plans};
pub use library::{describe, find};
pub use matching::{mismatch, rebuild_command};
pub use progress::BuildProgress;
pub use tensorrt_dyn::{Error, Library, Version};
