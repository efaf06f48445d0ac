//! What integration tests have in common.

#[path = "../../crates/tensorrt-dyn/tests/common/machine.rs"]
#[allow(
    clippy::duplicate_mod,
    reason = "shared by test programs, and by modules that several of them include"
)]
pub mod machine;

#[allow(unreachable_pub, unused_imports, reason = "shared by test programs")]
pub use machine::shared;
