//! To come.
pub mod data;
