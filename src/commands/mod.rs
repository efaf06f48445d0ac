//! To come.

pub mod eval;
