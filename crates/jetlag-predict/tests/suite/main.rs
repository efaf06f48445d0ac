//! Held against measurements beside the repository, NumPy and scikit-learn; and folders that are wrong, and made ones.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    clippy::print_stdout,
    reason = "figures of docs/predict.md are printed with --nocapture"
)]

mod board;
mod independent;
mod made;
mod malformed;
mod pairs;
mod real;
mod recorded;
