//! TensorRT, whatever release the machine has: finding it, building plans, looking into them.
//!
//! The only place that sees the crate `tensorrt-dyn`. What to build is [`crate::engine::options`]; where plans are
//! kept is [`crate::engine::cache`]. (The tenants' side, running engines on streams, comes with them.)

pub mod build;
pub mod calibrate;
pub mod inspect;
mod library;
mod matching;
mod options;
mod progress;

pub use library::{describe, find};
pub use matching::{mismatch, rebuild_command};
pub use progress::BuildProgress;
pub use tensorrt_dyn::{Calibrator, Error, Library, Version};
