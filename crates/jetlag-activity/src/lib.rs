//! What CUPTI and NVTX tell of a process, as run files have it.
//!
//! [`find`] looks for the library, [`Gathered`] makes activities of its records, [`attribute`] says whom they belong to, and
//! [`spool`] is how a process that somebody else wrote passes them on to `jetlag trace`. Whoever traces its own process
//! (`jetlag run --trace`) and the library that is loaded into others (`jetlag-inject`) both stand on this.

mod attribute;
mod gather;
mod left_out;
mod library;
mod names;
mod notes;
pub mod spool;

pub use attribute::{LayerSpan, attribute, number};
pub use gather::{FRAMES, Gathered, Raw};
pub use left_out::leave_out;
pub use library::{Found, Refused, at, find};
pub use names::Names;
pub use notes::notes;
