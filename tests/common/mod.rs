//! What integration tests have in common.

pub mod boards;
#[cfg(feature = "gpu")]
pub mod cuda;
pub mod mistakes;
pub mod pipeline;
pub mod run_bytes;
pub mod under_way;

#[path = "../../crates/tensorrt-dyn/tests/common/machine.rs"]
#[allow(
    clippy::duplicate_mod,
    reason = "shared by test programs, and by modules that several of them include"
)]
pub mod machine;

#[allow(unreachable_pub, unused_imports, reason = "shared by test programs")]
pub use machine::shared;
