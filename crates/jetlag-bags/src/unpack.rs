//! What a file is by its first bytes, and unpacking one that is compressed as a whole.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use jetlag_record::units::Bytes;
use tempfile::NamedTempFile;

use crate::completeness::Loss;
use crate::compression::{LZ4_MAGIC, ZSTD_MAGIC};
use crate::error::Foreign;
use crate::positioned::read_at;
use crate::{BagError, Limits};

/// How a file stores messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Storage {
    /// MCAP.
    Mcap,
    /// A database of SQLite, `.db3`.
    Sqlite3,
}

/// What a file begins with.
enum Kind {
    Storage(Storage),
    Zstd,
    Foreign(Foreign),
}

impl Kind {
    fn of(file: &File) -> std::io::Result<Kind> {
        let mut head = [0; 16];
        let got = read_at(file, 0, &mut head)?;
        Ok(match &head[..got] {
            [] => Kind::Foreign(Foreign::Empty),
            head if head.starts_with(mcap::MAGIC) => Kind::Storage(Storage::Mcap),
            head if head.starts_with(b"SQLite format 3\0") => Kind::Storage(Storage::Sqlite3),
            head if head.starts_with(&ZSTD_MAGIC) => Kind::Zstd,
            head if head.starts_with(&LZ4_MAGIC) => Kind::Foreign(Foreign::Lz4),
            head if head.starts_with(b"#ROSBAG V") => Kind::Foreign(Foreign::Ros1),
            _ => Kind::Foreign(Foreign::Other),
        })
    }
}

/// A file that can be read by position.
pub(crate) struct Opened {
    pub(crate) file: File,
    pub(crate) storage: Storage,
    /// Where it was unpacked to; gone with this.
    pub(crate) unpacked: Option<NamedTempFile>,
    /// How many bytes that were.
    pub(crate) unpacked_bytes: u64,
    pub(crate) loss: Option<Loss>,
}

/// Opens a file of a bag, and unpacks it if need be; `before` bytes of the bag were unpacked before.
///
/// # Errors
/// It cannot be read, is no file of a bag, or is too long when unpacked.
pub(crate) fn open(path: &Path, limits: &Limits, before: u64) -> Result<Opened, BagError> {
    let io = |error| BagError::Io {
        path: path.to_owned(),
        error,
    };
    let foreign = |found| BagError::NotABag {
        path: path.to_owned(),
        found,
    };
    let file = jetlag_record::files::open(path).map_err(io)?;
    match Kind::of(&file).map_err(io)? {
        Kind::Storage(storage) => Ok(Opened {
            file,
            storage,
            unpacked: None,
            unpacked_bytes: 0,
            loss: None,
        }),
        Kind::Foreign(found) => Err(foreign(found)),
        Kind::Zstd => {
            let (copy, bytes, loss) = unpack(path, file, limits, before)?;
            let file = copy.reopen().map_err(io)?;
            match Kind::of(&file).map_err(io)? {
                Kind::Storage(storage) => Ok(Opened {
                    file,
                    storage,
                    unpacked: Some(copy),
                    unpacked_bytes: bytes,
                    loss,
                }),
                _ => Err(foreign(Foreign::Zstd)),
            }
        }
    }
}

fn unpack(
    path: &Path,
    file: File,
    limits: &Limits,
    before: u64,
) -> Result<(NamedTempFile, u64, Option<Loss>), BagError> {
    let cannot = |error| BagError::Unpack {
        path: path.to_owned(),
        error,
    };
    let mut copy = NamedTempFile::with_prefix("jetlag-bag-").map_err(cannot)?;
    let mut decoder = zstd::stream::read::Decoder::new(file).map_err(cannot)?;
    let left = limits.unpacked_bytes.0.saturating_sub(before);
    let mut buffer = vec![0; 1 << 18];
    let mut bytes = 0;
    let problem = loop {
        match decoder.read(&mut buffer) {
            Ok(0) => break None,
            Ok(got) => {
                bytes += got as u64;
                if bytes > left {
                    return Err(BagError::TooLong {
                        path: path.to_owned(),
                        what: "the unpacked file",
                        found: Bytes(before + bytes),
                        limit: limits.unpacked_bytes,
                        field: "unpacked_bytes",
                    });
                }
                copy.write_all(&buffer[..got]).map_err(cannot)?;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => break Some(error.to_string()),
        }
    };
    let loss = problem.map(|problem| Loss::Unpacked {
        path: path.to_owned(),
        problem,
        bytes,
    });
    Ok((copy, bytes, loss))
}
