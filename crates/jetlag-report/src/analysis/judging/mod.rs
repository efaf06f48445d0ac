//! Whether promises are kept, runs differ, and what limits a run as a whole.

mod case;
pub mod compare;
pub(in crate::analysis) mod findings;
pub(in crate::analysis) mod judge;
mod overload;
pub(in crate::analysis) mod protection;
