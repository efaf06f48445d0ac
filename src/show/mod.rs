//! What is shown that is not of a run file: plans and networks, boards, clocks, the self-test, the dashboard.

#[cfg(feature = "recordings")]
pub mod bag;
pub mod clocks;
pub mod dashboard;
pub mod doctor;
pub mod graph;
pub mod inspect;
pub mod plan;
pub mod selftest;
