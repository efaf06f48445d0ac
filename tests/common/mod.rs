//! What integration tests have in common.

pub mod boards;
pub mod pipeline;
pub mod run_bytes;
pub mod under_way;
