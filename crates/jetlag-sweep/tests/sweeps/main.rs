//! The crate's tests: plans, journals that were cut, knees and fronts of known truth.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fronts;
mod journals;
mod knees;
mod plans;
mod tables;
