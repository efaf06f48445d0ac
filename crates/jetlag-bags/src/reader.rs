//! Reading messages: one reader a thread, each with its own buffers, over files that all share.

use std::sync::Arc;

use crate::BagError;
use crate::compression::{ZSTD_MAGIC, Zstd};
use crate::contents::{Entry, NO_CHUNK};
use crate::db3::RowReader;
use crate::error::Damage;
use crate::mcap_file::{ChunkReader, PlainReader};
use crate::store::{Store, Stored, StoredFile};

/// Reads messages of a bag, in any order; in the order of the index it is fastest, since the last chunk of a compressed file is
/// kept decompressed, and small messages that follow each other are read several at a time. Once its buffers are as large as the
/// largest message and chunk, it allocates nothing; SQLite does, for the rows of a database.
///
/// A reader can go to another thread, and several read the same bag at once.
pub struct Reader {
    store: Arc<Store>,
    chunk: ChunkReader,
    plain: PlainReader,
    rows: RowReader,
    zstd: Zstd,
    /// A message that is compressed by itself.
    packed: Vec<u8>,
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
            plain: PlainReader::default(),
            rows: RowReader::default(),
            zstd: Zstd::default(),
            packed: Vec::new(),
        }
    }

    /// Replaces what `into` holds by the message of an entry of this bag, decompressed.
    ///
    /// # Errors
    /// The file cannot be read, the message is longer than [`Limits::message_bytes`](crate::Limits), its chunk is damaged, or the file changed since
    /// it was opened. The next message can be read nevertheless.
    pub fn read(&mut self, entry: &Entry, into: &mut Vec<u8>) -> Result<(), BagError> {
        self.read_stored(entry, into)?;
        if into.starts_with(&ZSTD_MAGIC) {
            std::mem::swap(into, &mut self.packed);
            let limit = usize::try_from(self.store.limits.message_bytes.0).unwrap_or(usize::MAX);
            self.zstd.decompress(&self.packed, limit, into).map_err(|error| {
                match file_of(&self.store, entry) {
                    Ok(file) => BagError::Message {
                        path: file.path.clone(),
                        error,
                    },
                    Err(other) => other,
                }
            })?;
        }
        Ok(())
    }

    /// Replaces what `into` holds by the first 12 bytes of a message, which hold the stamp of one that begins with a header, or
    /// by more; whether the message is compressed by itself.
    pub(crate) fn read_front(&mut self, entry: &Entry, into: &mut Vec<u8>) -> Result<bool, BagError> {
        match &file_of(&self.store, entry)?.stored {
            Stored::Mcap(_) if entry.chunk == NO_CHUNK => {
                let front = Entry {
                    length: entry.length.min(12),
                    ..*entry
                };
                self.read_stored(&front, into)?;
            }
            Stored::Mcap(_) => self.read_stored(entry, into)?,
            Stored::Database(database) => self.rows.front(database, entry, &self.store.limits, into)?,
        }
        let is_packed = into.starts_with(&ZSTD_MAGIC);
        if is_packed {
            self.read(entry, into)?;
        }
        Ok(is_packed)
    }

    /// As [`Reader::read`], without decompressing what is compressed by itself.
    fn read_stored(&mut self, entry: &Entry, into: &mut Vec<u8>) -> Result<(), BagError> {
        let limits = &self.store.limits;
        match &file_of(&self.store, entry)?.stored {
            Stored::Mcap(mcap) if entry.chunk == NO_CHUNK => self.plain.message(mcap, entry, limits, into),
            Stored::Mcap(mcap) => {
                let records = self.chunk.records(entry.file, mcap, entry.chunk, limits)?;
                let message = mcap.message(records, entry.chunk, entry.place, entry.log_time)?;
                into.clear();
                into.extend_from_slice(message);
                Ok(())
            }
            Stored::Database(database) => self.rows.message(database, entry, limits, into),
        }
    }
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
