//! How much of a bag may be held at once, so that a damaged or hostile one cannot take all memory.

use std::path::Path;

use jetlag_record::units::{Bytes, Nanos};

use crate::BagError;

/// Limits of one bag. The defaults suit recordings of hours; each error that names a limit names its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most messages of all topics: their index takes 32 bytes each.
    pub messages: u64,
    /// Longest message, decompressed.
    pub message_bytes: Bytes,
    /// Longest chunk of an MCAP file, stored or decompressed; each reader holds one. Also the longest index of a file.
    pub chunk_bytes: Bytes,
    /// Most bytes that files compressed as a whole may have when unpacked, together. They go to temporary files.
    pub unpacked_bytes: Bytes,
    /// Longest file whose checksums are held against what is there when it is opened, for which all of it is read.
    pub checked_bytes: Bytes,
    /// How long to wait for a database that another process has locked.
    pub wait: Nanos,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            messages: 20_000_000,
            message_bytes: Bytes(256 << 20),
            chunk_bytes: Bytes(512 << 20),
            unpacked_bytes: Bytes(64 << 30),
            checked_bytes: Bytes(4 << 30),
            wait: Nanos::from_millis(1000),
        }
    }
}

impl Limits {
    /// Refuses a message of a file that is longer than may be.
    pub(crate) fn check_message(&self, path: &Path, length: u64) -> Result<(), BagError> {
        if length <= self.message_bytes.0 {
            return Ok(());
        }
        Err(BagError::TooLong {
            path: path.to_owned(),
            what: "a message",
            found: Bytes(length),
            limit: self.message_bytes,
            field: "message_bytes",
        })
    }
}

/// Most topics of a file; an MCAP file cannot have more.
pub(crate) const TOPICS: usize = 1 << 16;
/// Most bytes of the definitions of types that are kept of a file.
pub(crate) const DEFINITIONS: usize = 64 << 20;
/// Most files of a bag.
pub(crate) const FILES: usize = 10_000;
