//! Reading messages: one reader a thread, each with its own buffers, over files that all share.

use std::sync::Arc;

use jetlag_record::units::Bytes;
use rusqlite::Connection;

use crate::compression::{ZSTD_MAGIC, Zstd};
use crate::contents::{Entry, NO_CHUNK};
use crate::db3::Database;
use crate::error::Damage;
use crate::mcap_file::{ChunkReader, McapFile};
use crate::positioned::{read_at, resize_for_overwriting};
use crate::store::{Store, Stored, StoredFile};
use crate::{BagError, Limits};

/// Reads messages of a bag, in any order; in the order of the index it is fastest, since the last chunk of a compressed file is
/// kept decompressed. Once its buffers are as large as the largest message and chunk, it allocates nothing; SQLite does, for
/// the rows of a database.
///
/// A reader can go to another thread, and several read the same bag at once.
pub struct Reader {
    store: Arc<Store>,
    chunk: ChunkReader,
    zstd: Zstd,
    /// A message that is compressed by itself.
    packed: Vec<u8>,
    /// The database that was last read from.
    database: Option<(u32, Connection)>,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("files", &self.store.files.len())
            .finish_non_exhaustive()
    }
}

impl Reader {
    pub(crate) fn new(store: Arc<Store>) -> Reader {
        Reader {
            store,
            chunk: ChunkReader::default(),
            zstd: Zstd::default(),
            packed: Vec::new(),
            database: None,
        }
    }

    /// Replaces what `into` holds by the message of an entry of this bag, decompressed.
    ///
    /// # Errors
    /// The file cannot be read, the message is longer than [`Limits::message_bytes`](crate::Limits), its chunk is damaged, or the file changed since
    /// it was opened. The next message can be read nevertheless.
    pub fn read(&mut self, entry: &Entry, into: &mut Vec<u8>) -> Result<(), BagError> {
        let store = Arc::clone(&self.store);
        let file = file_of(&store, entry)?;
        match &file.stored {
            Stored::Mcap(mcap) => self.read_mcap(mcap, entry, &store.limits, into)?,
            Stored::Database(database) => {
                into.clear();
                check_length(file, u64::from(entry.length), &store.limits)?;
                let connection = connection(&mut self.database, entry.file, database, &store.limits)?;
                database.message(connection, entry.place, into)?;
            }
        }
        if into.starts_with(&ZSTD_MAGIC) {
            std::mem::swap(into, &mut self.packed);
            let limit = usize::try_from(store.limits.message_bytes.0).unwrap_or(usize::MAX);
            self.zstd
                .decompress(&self.packed, limit, into)
                .map_err(|error| BagError::Message {
                    path: file.path.clone(),
                    error,
                })?;
        }
        Ok(())
    }

    /// Replaces what `into` holds by the first 12 bytes of a message, which hold the stamp of one that begins with a header, or
    /// by more; whether the message is compressed by itself.
    pub(crate) fn read_front(&mut self, entry: &Entry, into: &mut Vec<u8>) -> Result<bool, BagError> {
        let store = Arc::clone(&self.store);
        match &file_of(&store, entry)?.stored {
            Stored::Mcap(mcap) if entry.chunk == NO_CHUNK => {
                let front = Entry {
                    length: entry.length.min(12),
                    ..*entry
                };
                self.read_mcap(mcap, &front, &store.limits, into)?;
            }
            Stored::Mcap(mcap) => self.read_mcap(mcap, entry, &store.limits, into)?,
            Stored::Database(database) => {
                into.clear();
                let connection = connection(&mut self.database, entry.file, database, &store.limits)?;
                database.front(connection, entry.place, into)?;
            }
        }
        let is_packed = into.starts_with(&ZSTD_MAGIC);
        if is_packed {
            self.read(entry, into)?;
        }
        Ok(is_packed)
    }

    fn read_mcap(
        &mut self,
        mcap: &McapFile,
        entry: &Entry,
        limits: &Limits,
        into: &mut Vec<u8>,
    ) -> Result<(), BagError> {
        if entry.chunk != NO_CHUNK {
            let records = self.chunk.records(entry.file, mcap, entry.chunk, limits)?;
            let message = mcap.message(records, entry.chunk, entry.place, entry.log_time)?;
            into.clear();
            into.extend_from_slice(message);
            return Ok(());
        }
        let length = u64::from(entry.length);
        if length > limits.message_bytes.0 {
            into.clear();
            return Err(too_long(&mcap.path, length, limits));
        }
        resize_for_overwriting(into, entry.length as usize);
        let got = read_at(&mcap.file, entry.place, into);
        match got {
            Ok(got) if got == into.len() => Ok(()),
            Ok(_) => {
                into.clear();
                Err(BagError::Damaged {
                    path: mcap.path.clone(),
                    at: entry.place,
                    damage: Damage::Cut,
                })
            }
            Err(error) => {
                into.clear();
                Err(BagError::Io {
                    path: mcap.path.clone(),
                    error,
                })
            }
        }
    }
}

/// The connection to a database of the bag; that to another is given up.
fn connection<'a>(
    held: &'a mut Option<(u32, Connection)>,
    number: u32,
    database: &Database,
    limits: &Limits,
) -> Result<&'a Connection, BagError> {
    if held.as_ref().is_none_or(|(of, _)| *of != number) {
        *held = None;
    }
    Ok(match held {
        Some((_, connection)) => connection,
        none => &none.insert((number, database.connect(limits)?)).1,
    })
}

fn file_of<'a>(store: &'a Store, entry: &Entry) -> Result<&'a StoredFile, BagError> {
    store
        .files
        .get(entry.file as usize)
        .ok_or_else(|| BagError::Damaged {
            path: store
                .files
                .first()
                .map(|file| file.path.clone())
                .unwrap_or_default(),
            at: entry.place,
            damage: Damage::NoMessage,
        })
}

fn check_length(file: &StoredFile, length: u64, limits: &Limits) -> Result<(), BagError> {
    match length > limits.message_bytes.0 {
        true => Err(too_long(&file.path, length, limits)),
        false => Ok(()),
    }
}

fn too_long(path: &std::path::Path, length: u64, limits: &Limits) -> BagError {
    BagError::TooLong {
        path: path.to_owned(),
        what: "a message",
        found: Bytes(length),
        limit: limits.message_bytes,
        field: "message_bytes",
    }
}
