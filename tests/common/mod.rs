//! What integration tests have in common.

pub mod boards;
pub mod browser;
#[cfg(feature = "cpu")]
pub mod guide;
pub mod mistakes;
pub mod onnx;
pub mod output;
pub mod pipeline;
pub mod planned;
#[cfg(feature = "gpu")]
pub mod plans;
pub mod run_bytes;
pub mod under_way;
