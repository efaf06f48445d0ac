//! Scores against other people's evaluators, and against geometry.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
