//! How much of a bag could be read.

use std::path::PathBuf;

use serde::{Serialize, Serializer};

use crate::error::Damage;

/// Most losses that are told one by one.
const TOLD: usize = 64;

/// Whether all of a bag was found, and if not, what is missing.
#[derive(Debug, Default, Serialize)]
pub struct Completeness {
    /// What is missing or damaged, in the order of the files; at most 64.
    pub losses: Vec<Loss>,
    /// How many more there are.
    pub untold: u64,
    /// Files that are longer than [`Limits::checked_bytes`](crate::Limits): their checksums were not held against what is there, or, of
    /// databases, whether their parts fit together.
    pub unchecked: u64,
}

impl Completeness {
    /// Whether nothing is missing, as far as the files tell.
    pub fn is_whole(&self) -> bool {
        self.losses.is_empty()
    }

    pub(crate) fn add(&mut self, loss: Loss) {
        if self.losses.len() < TOLD {
            self.losses.push(loss);
        } else {
            self.untold += 1;
        }
    }
}

/// One thing that is missing or damaged; as text, a sentence that says what was read nevertheless.
#[derive(Debug, thiserror::Error)]
pub enum Loss {
    /// An MCAP file that was not closed, or was cut off.
    #[error("{} was cut off or not closed: it is read up to byte {at} of {bytes}", path.display())]
    Cut {
        /// The file.
        path: PathBuf,
        /// How far whole records go.
        at: u64,
        /// How long it is.
        bytes: u64,
    },
    /// A piece of an MCAP file that is passed over.
    #[error("{} is damaged at byte {at} ({damage}): what cannot be read there is passed over", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where.
        at: u64,
        /// What is wrong.
        damage: Damage,
    },
    /// A chunk of an MCAP file that cannot be read, or is not what its checksum was made of.
    #[error("{} is damaged at byte {at} ({damage}): {messages} messages there are left out", path.display())]
    Chunk {
        /// The file.
        path: PathBuf,
        /// Where the chunk begins.
        at: u64,
        /// What is wrong.
        damage: Damage,
        /// How many messages the chunk has.
        messages: u64,
    },
    /// A database that is damaged or cut off.
    #[error(
        "{} is damaged or cut off ({problem}): {messages} messages are found, of which the last may end in zeros",
        path.display()
    )]
    Database {
        /// The database.
        path: PathBuf,
        /// What SQLite says.
        problem: String,
        /// How many messages were found.
        messages: u64,
    },
    /// A database whose parts do not fit together.
    #[error("{} is damaged ({problem}): {messages} messages are found, and others may be missing or damaged", path.display())]
    Unsound {
        /// The database.
        path: PathBuf,
        /// What SQLite says.
        problem: String,
        /// How many messages were found.
        messages: u64,
    },
    /// Rows that are no messages.
    #[error("{} has {rows} rows without topic or time, which are passed over", path.display())]
    Rows {
        /// The database.
        path: PathBuf,
        /// How many.
        rows: u64,
    },
    /// A database with changes beside it: somebody is writing it, or was killed doing so.
    #[error("{} is being written, or was not closed: what is committed is read", path.display())]
    BeingWritten {
        /// The database.
        path: PathBuf,
    },
    /// A file compressed as a whole that ends too early.
    #[error("{} is cut off or damaged ({problem}): {bytes} bytes of it were unpacked and are read", path.display())]
    Unpacked {
        /// The file.
        path: PathBuf,
        /// What the decompressor says.
        problem: String,
        /// How much came out.
        bytes: u64,
    },
    /// A file of the bag that cannot be read at all.
    #[error("a file of the bag is left out: {error}")]
    LeftOut {
        /// The file.
        path: PathBuf,
        /// Why.
        error: Box<crate::BagError>,
    },
    /// A `metadata.yaml` that cannot be read: the files of the folder are taken in the order of their names.
    #[error("{} cannot be read ({problem}): the files beside it are taken in the order of their names", path.display())]
    Metadata {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Splits that `metadata.yaml` does not name.
    #[error(
        "metadata.yaml does not list {}, which lie beside it and are not read; `ros2 bag reindex` lists them, and without \
         metadata.yaml all are read",
        names(files)
    )]
    Unlisted {
        /// The files.
        files: Vec<PathBuf>,
    },
    /// Messages that are found and cannot be read.
    #[error("{count} of {of} messages of `{topic}` cannot be read ({problem})")]
    Messages {
        /// Their topic.
        topic: String,
        /// How many.
        count: u64,
        /// Of how many.
        of: u64,
        /// What is wrong with the first.
        problem: String,
    },
    /// Fewer messages than `metadata.yaml` counts.
    #[error("metadata.yaml counts {wanted} messages, and {found} are there")]
    Count {
        /// How many it counts.
        wanted: u64,
        /// How many there are.
        found: u64,
    },
}

fn names(files: &[PathBuf]) -> String {
    const SHOWN: usize = 8;
    let name = |path: &PathBuf| {
        path.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    let mut names: Vec<String> = files.iter().take(SHOWN).map(name).collect();
    if files.len() > SHOWN {
        names.push(format!("{} more", files.len() - SHOWN));
    }
    names.join(", ")
}

impl Serialize for Loss {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
