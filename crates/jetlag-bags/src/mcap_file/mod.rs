//! MCAP files: where their messages are, by their index or, without one, by walking over them; and the content of chunks.
//!
//! <https://mcap.dev/spec> describes the format. The `mcap` crate's readers own the order in which a file is read, copy each
//! message once more and give up where a file is cut off; here messages are read by position, by several readers at once.

mod check;
mod chunk;
mod indexed;
mod plain;
mod record;
mod scan;

use std::fs::File;
use std::path::{Path, PathBuf};

pub(crate) use chunk::ChunkReader;
pub(crate) use plain::PlainReader;

use crate::contents::Contents;
use crate::{BagError, Limits};

/// Bytes of a record's operation code and length.
const PREFIX: u64 = 9;
/// Bytes of a message record before the message: channel, sequence number, log time, publish time.
const MESSAGE_HEADER: u64 = 22;
/// Longest description of a topic or a type.
const DESCRIPTION: u64 = 16 << 20;

/// An MCAP file whose messages were found.
#[derive(Debug)]
pub(crate) struct McapFile {
    /// As messages of errors name it.
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    /// Its compressed chunks with messages.
    pub(crate) chunks: Vec<ChunkPlace>,
}

/// Where a compressed chunk is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkPlace {
    /// The beginning of its record.
    at: u64,
    /// Bytes of the record without [`PREFIX`]; where the file is cut off in it, of what there is.
    length: u64,
    /// Whether the file ends within it.
    is_cut: bool,
}

/// Finds the messages of an MCAP file.
///
/// # Errors
/// The file cannot be read, or has more than may be read. Damage is no error: what can be read is found, and the contents say
/// what cannot.
pub(crate) fn open(
    path: &Path,
    file: File,
    number: u32,
    limits: &Limits,
    before: u64,
) -> Result<(McapFile, Contents), BagError> {
    let io = |error| BagError::Io {
        path: path.to_owned(),
        error,
    };
    let length = file.metadata().map_err(io)?.len();
    let subject = Subject {
        path,
        file: &file,
        length,
        number,
        limits,
    };
    let is_checked = length <= limits.checked_bytes.0;
    let indexed = match indexed::find(&subject, before)? {
        Some(mut found) if is_checked => {
            check::compressed(&subject, &found.compressed, &mut found.contents)?.then_some(found)
        }
        found => found,
    };
    let mut found = match indexed {
        Some(found) => found,
        // Compressed chunks are opened for that, and their checksums held against what is there.
        None => scan::find(&subject, before)?,
    };
    match is_checked {
        true => check::plain(&subject, &found.plain, &mut found.contents)?,
        false => found.contents.unchecked = 1,
    }
    let (chunks, contents) = (found.compressed, found.contents);
    let file = McapFile {
        path: path.to_owned(),
        file,
        chunks,
    };
    Ok((file, contents))
}

/// A chunk that is not compressed and has a checksum.
#[derive(Clone, Copy, Debug)]
struct PlainChunk {
    /// Where its record begins.
    at: u64,
    /// Where its records begin and end in the file.
    from: u64,
    to: u64,
    crc: u32,
}

/// What the search through a file found.
struct Found {
    compressed: Vec<ChunkPlace>,
    /// Those with a checksum.
    plain: Vec<PlainChunk>,
    contents: Contents,
}

/// The file that is searched.
struct Subject<'a> {
    path: &'a Path,
    file: &'a File,
    /// Its length when it was opened.
    length: u64,
    /// Which file of the bag it is.
    number: u32,
    limits: &'a Limits,
}

impl Subject<'_> {
    fn io(&self, error: std::io::Error) -> BagError {
        BagError::Io {
            path: self.path.to_owned(),
            error,
        }
    }
}
