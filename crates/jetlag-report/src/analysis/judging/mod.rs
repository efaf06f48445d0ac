//! Whether promises are kept, runs differ, and what limits a run as a whole.

pub mod compare;
pub(in crate::analysis) mod findings;
pub(in crate::analysis) mod judge;
pub(in crate::analysis) mod protection;
