//! Held against measurements beside the repository, NumPy and scikit-learn; and folders that are wrong, and made ones.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod independent;
mod made;
mod malformed;
mod real;
