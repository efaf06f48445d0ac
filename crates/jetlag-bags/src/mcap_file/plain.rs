//! Messages that are in the file as they are: outside of chunks, or in one that is not compressed.

use super::McapFile;
use crate::contents::Entry;
use crate::error::Damage;
use crate::pace::{Pace, SMALL};
use crate::positioned::{read_at, resize_for_overwriting};
use crate::{BagError, Limits};

/// Keeps a piece of the file that was last read from, if the messages wanted are small and follow each other.
#[derive(Debug)]
pub(crate) struct PlainReader {
    /// Which file the piece is of.
    held: Option<u32>,
    /// Where the piece begins.
    start: u64,
    piece: Vec<u8>,
    pace: Pace,
}

impl Default for PlainReader {
    fn default() -> Self {
        PlainReader {
            held: None,
            start: 0,
            piece: Vec::new(),
            pace: Pace::new(8 << 10, 128 << 10, 4 << 10),
        }
    }
}

impl PlainReader {
    /// Replaces what `into` holds by a message.
    ///
    /// # Errors
    /// It is longer than may be, or the file cannot be read or ends before it.
    pub(crate) fn message(
        &mut self,
        mcap: &McapFile,
        entry: &Entry,
        limits: &Limits,
        into: &mut Vec<u8>,
    ) -> Result<(), BagError> {
        let is_read = limits.check_message(&mcap.path, u64::from(entry.length));
        let is_read = is_read.and_then(|()| {
            let is_whole = match entry.length <= SMALL {
                true => self.small(mcap, entry, into),
                false => alone(mcap, entry, into),
            };
            match is_whole {
                Ok(true) => Ok(()),
                Ok(false) => Err(BagError::Damaged {
                    path: mcap.path.clone(),
                    at: entry.place,
                    damage: Damage::Cut,
                }),
                Err(error) => Err(BagError::Io {
                    path: mcap.path.clone(),
                    error,
                }),
            }
        });
        if is_read.is_err() {
            into.clear();
        }
        is_read
    }

    /// Whether the file has all of it.
    fn small(&mut self, mcap: &McapFile, entry: &Entry, into: &mut Vec<u8>) -> std::io::Result<bool> {
        if self.held != Some(entry.file) {
            *self = PlainReader {
                held: Some(entry.file),
                piece: std::mem::take(&mut self.piece),
                ..PlainReader::default()
            };
            self.piece.clear();
        }
        let end = entry.place.saturating_add(u64::from(entry.length));
        if self.of_piece(entry).is_none()
            && let Some(amount) = self.pace.piece(entry.place)
        {
            resize_for_overwriting(&mut self.piece, amount);
            self.start = entry.place;
            let got = read_at(&mcap.file, self.start, &mut self.piece);
            self.piece.truncate(got.as_ref().map_or(0, |got| *got));
            got?;
        }
        self.pace.wanted(end);
        match self.of_piece(entry) {
            Some(message) => {
                into.clear();
                into.extend_from_slice(message);
                Ok(true)
            }
            None => alone(mcap, entry, into),
        }
    }

    /// The message, if the piece has all of it.
    fn of_piece(&self, entry: &Entry) -> Option<&[u8]> {
        let from = usize::try_from(entry.place.checked_sub(self.start)?).ok()?;
        self.piece.get(from..)?.get(..entry.length as usize)
    }
}

fn alone(mcap: &McapFile, entry: &Entry, into: &mut Vec<u8>) -> std::io::Result<bool> {
    resize_for_overwriting(into, entry.length as usize);
    Ok(read_at(&mcap.file, entry.place, into)? == into.len())
}
