//! The content of a chunk: read from the file, decompressed and checked.

use std::fs::File;

use super::record::ChunkHeader;
use super::{ChunkPlace, McapFile, PREFIX};
use crate::compression::{Compression, DecompressError, Zstd, lz4};
use crate::error::Damage;
use crate::positioned::{read_at, resize_for_overwriting};
use crate::{BagError, Limits};

/// Why a chunk could not be opened.
pub(super) enum Trouble {
    /// The system refused to read.
    Io(std::io::Error),
    /// It is damaged, or too large.
    Damage(Damage),
}

impl<E: Into<Damage>> From<E> for Trouble {
    fn from(damage: E) -> Self {
        Trouble::Damage(damage.into())
    }
}

/// Buffers for one chunk, used again for the next.
#[derive(Default)]
pub(super) struct Chunk {
    stored: Vec<u8>,
    /// Its records.
    pub(super) records: Vec<u8>,
    zstd: Zstd,
}

impl Chunk {
    /// Reads and decompresses a chunk; of one that is cut off, as much as there is. How it is compressed.
    pub(super) fn open(
        &mut self,
        file: &File,
        place: &ChunkPlace,
        limits: &Limits,
    ) -> Result<Compression, Trouble> {
        self.records.clear();
        let limit = usize::try_from(limits.chunk_bytes.0).unwrap_or(usize::MAX);
        let length = usize::try_from(place.length).unwrap_or(usize::MAX);
        if length > limit {
            return Err(DecompressError::TooLong { limit }.into());
        }
        resize_for_overwriting(&mut self.stored, length);
        let got = read_at(file, place.at + PREFIX, &mut self.stored).map_err(Trouble::Io)?;
        if got < length && !place.is_cut {
            return Err(Damage::Cut.into());
        }
        let header = ChunkHeader::of(&self.stored[..got]).ok_or(Damage::Short)?;
        let rest = &self.stored[header.records_at..got];
        let stored = usize::try_from(header.stored)
            .ok()
            .and_then(|stored| rest.get(..stored));
        let stored = match stored {
            Some(stored) => stored,
            None if place.is_cut => rest,
            None => return Err(Damage::Short.into()),
        };
        let size = usize::try_from(header.size).unwrap_or(usize::MAX);
        if size > limit {
            return Err(DecompressError::TooLong { limit }.into());
        }
        let compression = header.compression.map_err(Damage::Compression)?;
        let result = match compression {
            Compression::ChunkZstd => self.zstd.decompress(stored, size, &mut self.records),
            Compression::ChunkLz4 => lz4(stored, size, &mut self.records),
            _ => {
                self.records.extend_from_slice(stored);
                Ok(())
            }
        };
        if place.is_cut {
            return Ok(compression); // The error is the cut.
        }
        result?;
        let found = self.records.len() as u64;
        if found != header.size {
            return Err(Damage::Size {
                wanted: header.size,
                found,
            }
            .into());
        }
        if header.crc != 0 {
            let found = crc32fast::hash(&self.records);
            if found != header.crc {
                return Err(Damage::Checksum {
                    wanted: header.crc,
                    found,
                }
                .into());
            }
        }
        Ok(compression)
    }
}

/// Keeps the chunk that was last read from.
#[derive(Default)]
pub(crate) struct ChunkReader {
    chunk: Chunk,
    /// The file and the chunk.
    held: Option<(u32, u32)>,
}

impl ChunkReader {
    /// The records of a chunk of a file.
    ///
    /// # Errors
    /// The file cannot be read, or the chunk is damaged.
    pub(crate) fn records(
        &mut self,
        number: u32,
        mcap: &McapFile,
        chunk: u32,
        limits: &Limits,
    ) -> Result<&[u8], BagError> {
        if self.held != Some((number, chunk)) {
            self.held = None;
            let damaged = |at, damage| BagError::Damaged {
                path: mcap.path.clone(),
                at,
                damage,
            };
            let place = usize::try_from(chunk)
                .ok()
                .and_then(|chunk| mcap.chunks.get(chunk));
            let place = place.ok_or_else(|| damaged(0, Damage::NoMessage))?;
            self.chunk
                .open(&mcap.file, place, limits)
                .map_err(|trouble| match trouble {
                    Trouble::Io(error) => BagError::Io {
                        path: mcap.path.clone(),
                        error,
                    },
                    Trouble::Damage(damage) => damaged(place.at, damage),
                })?;
            self.held = Some((number, chunk));
        }
        Ok(&self.chunk.records)
    }
}

impl McapFile {
    /// The message whose record begins at `place` among a chunk's records.
    ///
    /// # Errors
    /// There is no message, or not of that time.
    pub(crate) fn message<'a>(
        &self,
        records: &'a [u8],
        chunk: u32,
        place: u64,
        log_time: crate::Time,
    ) -> Result<&'a [u8], BagError> {
        let record = || {
            let rest = records.get(usize::try_from(place).ok()?..)?;
            let (length, header) = super::indexed::message_front(rest)?;
            let from = (PREFIX + super::MESSAGE_HEADER) as usize;
            let message = rest.get(from..)?.get(..usize::try_from(length).ok()?)?;
            (header.log_time == log_time).then_some(message)
        };
        record().ok_or_else(|| BagError::Damaged {
            path: self.path.clone(),
            at: self.chunks.get(chunk as usize).map_or(0, |chunk| chunk.at),
            damage: Damage::NoMessage,
        })
    }
}
