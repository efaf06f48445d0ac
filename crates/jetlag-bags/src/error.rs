//! Why a bag, or a message of it, could not be read.

use std::path::PathBuf;

use jetlag_record::units::Bytes;

use crate::compression::DecompressError;

/// Why a bag could not be read.
#[derive(Debug, thiserror::Error)]
pub enum BagError {
    /// The system refused to open or to read a file.
    #[error("cannot read {}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// A file that is no bag.
    #[error(
        "{} is not a bag of ROS 2: it is {found}. Name a folder that `ros2 bag record` wrote, or a .mcap or .db3 file",
        path.display()
    )]
    NotABag {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        found: Foreign,
    },
    /// A folder with no file of a bag.
    #[error("{} contains no .mcap or .db3 file, so it is not a bag", path.display())]
    EmptyFolder {
        /// The folder.
        path: PathBuf,
    },
    /// More files or topics than any bag has.
    #[error("{} has more than {limit} {what}, the most that are read", path.display())]
    TooMany {
        /// The file or folder.
        path: PathBuf,
        /// `files` or `topics`.
        what: &'static str,
        /// The most that are read.
        limit: usize,
    },
    /// More messages than are indexed.
    #[error(
        "{} has more than {limit} messages, the most that are indexed: record fewer topics, or raise the limit \
        `messages`",
        path.display()
    )]
    TooManyMessages {
        /// The file.
        path: PathBuf,
        /// The limit.
        limit: u64,
    },
    /// A length beyond its limit.
    #[error("{}: {what} has {found}, more than {limit}: it is damaged, or raise the limit `{field}`", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// What is too long.
        what: &'static str,
        /// How long it is, or says that it is.
        found: Bytes,
        /// How long it may be.
        limit: Bytes,
        /// The field of [`Limits`](crate::Limits).
        field: &'static str,
    },
    /// A file compressed as a whole that cannot be unpacked to a temporary file.
    #[error("cannot unpack {} to a temporary file (TMPDIR says where): {error}", path.display())]
    Unpack {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        error: std::io::Error,
    },
    /// A database that another process keeps locked.
    #[error(
        "{} is locked by another process, which is writing it: stop the recording, or copy the bag when it has ended",
        path.display()
    )]
    Locked {
        /// The database.
        path: PathBuf,
    },
    /// A database whose recorder was killed, and which only somebody who may write can put in order.
    #[error(
        "{} was not closed, and its journal cannot be applied by reading alone: make a copy of the bag where you may \
        write, and open it once with `sqlite3 FILE .schema`",
        path.display()
    )]
    Unclosed {
        /// The database.
        path: PathBuf,
    },
    /// A database that SQLite cannot read.
    #[error("cannot read the database {}: {error}", path.display())]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// What SQLite says.
        error: rusqlite::Error,
    },
    /// A database of another program.
    #[error("{} is a database, but not of a bag: it has no table `{table}` as rosbag2 makes it", path.display())]
    NoTable {
        /// The database.
        path: PathBuf,
        /// The table.
        table: &'static str,
    },
    /// A piece of a file that is not what it should be.
    #[error("{} is damaged at byte {at}: {damage}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in it.
        at: u64,
        /// What is wrong.
        damage: Damage,
    },
    /// A message of a database that is not there as it was when the bag was opened.
    #[error("{} has no message with the row number {row}, or not whole: a page of the file is damaged, or the bag was changed", path.display())]
    NoRow {
        /// The database.
        path: PathBuf,
        /// The row number.
        row: i64,
    },
    /// A message that is compressed by itself and cannot be decompressed.
    #[error("a message of {} cannot be read: {error}", path.display())]
    Message {
        /// The file.
        path: PathBuf,
        /// Why.
        error: DecompressError,
    },
    /// A topic that the bag does not have.
    #[error("the bag has no topic `{topic}`; {}", candidates(nearest.as_deref(), known))]
    NoTopic {
        /// The topic that was wanted.
        topic: String,
        /// The topic that was probably meant.
        nearest: Option<String>,
        /// The topics that there are.
        known: Vec<String>,
    },
    /// A topic with messages of two types.
    #[error("the topic `{topic}` has messages of two types, {} and {}: it cannot be replayed as one", types[0], types[1])]
    TwoTypes {
        /// The topic.
        topic: String,
        /// The first two types.
        types: [String; 2],
    },
    /// A topic whose messages have no header to take times from.
    #[error(
        "messages of `{topic}` ({kind}) have no header that could be read, so their times cannot be its stamps: take \
        the times of the log"
    )]
    NoHeader {
        /// The topic.
        topic: String,
        /// The type of its messages.
        kind: String,
    },
    /// A header that is needed for its stamp and cannot be decoded.
    #[error("a message of `{topic}` has no header that can be read: {error}")]
    BadHeader {
        /// The topic.
        topic: String,
        /// Why.
        error: crate::cdr::CdrError,
    },
}

impl BagError {
    /// Whether one message is at fault, and others can be read.
    pub(crate) fn is_of_one_message(&self) -> bool {
        matches!(
            self,
            BagError::NoRow { .. } | BagError::Damaged { .. } | BagError::Message { .. }
        )
    }
}

/// What a file is that is no bag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Foreign {
    /// No bytes.
    #[error("empty")]
    Empty,
    /// A bag of ROS 1.
    #[error("a bag of ROS 1, which `rosbags-convert` (PyPI: rosbags) turns into one of ROS 2")]
    Ros1,
    /// A file compressed whole by LZ4.
    #[error("a file compressed by lz4, which `lz4 -d` unpacks")]
    Lz4,
    /// A compressed file with something else in it.
    #[error("a zstd file that contains neither MCAP nor SQLite")]
    Zstd,
    /// Anything else.
    #[error("neither an MCAP nor an SQLite file")]
    Other,
}

/// What is wrong with a piece of a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The file ends within it.
    #[error("the file ends there")]
    Cut,
    /// A chunk whose content cannot be decompressed.
    #[error("a chunk cannot be read: {0}")]
    Chunk(#[from] DecompressError),
    /// A chunk compressed in a way that the format does not know.
    #[error("a chunk is compressed by `{0}`; none, zstd and lz4 are supported")]
    Compression(String),
    /// A chunk that is not what its checksum was made of.
    #[error("a chunk has the checksum {found:08x}, not {wanted:08x}")]
    Checksum {
        /// The checksum beside it.
        wanted: u32,
        /// The checksum of what is there.
        found: u32,
    },
    /// A chunk longer or shorter than it says.
    #[error("a chunk has {found} bytes, not {wanted}")]
    Size {
        /// The length that it states.
        wanted: u64,
        /// The length that it has.
        found: u64,
    },
    /// A record whose fields are longer than it is.
    #[error("a record is shorter than its fields")]
    Short,
    /// Something else than a message where the index has one.
    #[error("there is no message of the topic, though the index says so")]
    NoMessage,
    /// A message on a channel that was not described before.
    #[error("there is a message on channel {0}, which was not described before it")]
    Channel(u16),
    /// Something that is no record.
    #[error("there is no record")]
    NoRecord,
}

fn candidates(nearest: Option<&str>, known: &[String]) -> String {
    if let Some(nearest) = nearest {
        return format!("did you mean `{nearest}`?");
    }
    if known.is_empty() {
        return "it has none at all".to_owned();
    }
    const SHOWN: usize = 20;
    let names: Vec<&str> = known.iter().take(SHOWN).map(String::as_str).collect();
    let more = known.len().saturating_sub(SHOWN);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!("it has {}{more}", names.join(", "))
}
