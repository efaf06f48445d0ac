//! The crate's tests: plans, journals that were cut, knees and fronts of known truth.

mod fronts;
mod journals;
mod knees;
mod plans;
mod tables;
