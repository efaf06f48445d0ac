//! Held against measurements beside the repository, NumPy and scikit-learn, and against folders that are wrong.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
