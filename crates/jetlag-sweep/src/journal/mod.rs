//! What is done, on disk: a file that only grows, a line a finished run, each with a checksum and synced before the next run starts.
//!
//! An end at any moment (SIGKILL, power) leaves at most one half line, which counts as nothing: that run is made again. A line is
//! JSON, so that other programs read the file as JSON Lines:
//!
//! ```json
//! {"crc32":2893047201,"entry":{"run":{"point":"5c1f0a9be2d4","repeat":0, …}}}
//! ```
//!
//! The checksum is of the entry's text as it stands there. Names of figures are written once, in an entry of their own, to which
//! runs refer by its number.

mod entry;
mod file;
mod line;
mod read;

pub use entry::{Entry, FORMAT, Header, KneeHeader, RunEntry};
pub use file::{JournalError, JournalFile};
pub use line::{decode, encode};
pub use read::Journal;
