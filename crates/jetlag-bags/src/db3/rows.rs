//! Messages of databases by their row numbers: small ones that follow each other several at a time, any other by a query of its own.
//!
//! No query is left open between two messages: as long as one is, the program that records cannot write a database without
//! write-ahead log.

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::{Database, is_damage};
use crate::contents::Entry;
use crate::pace::{Pace, SMALL};
use crate::{BagError, Limits};

/// Longer messages are told by their length alone, without their pages being read.
const MESSAGES: &str = "SELECT rowid, CASE WHEN octet_length(data) <= ?2 THEN data END FROM messages WHERE rowid >= ?1 ORDER BY rowid";
/// Most bytes that are kept.
const BYTES: usize = 256 << 10;

/// Keeps a connection to the database that was last read from, and the rows that were read ahead.
pub(crate) struct RowReader {
    held: Option<(u32, Connection)>,
    /// Numbers of rows, ascending, and where their messages end in `bytes`.
    rows: Vec<(i64, usize)>,
    bytes: Vec<u8>,
    /// Which of them is likely to be wanted next.
    next: usize,
    pace: Pace,
}

impl Default for RowReader {
    fn default() -> Self {
        RowReader {
            held: None,
            rows: Vec::new(),
            bytes: Vec::new(),
            next: 0,
            pace: Pace::new(8, 1 << 10, 16),
        }
    }
}

impl RowReader {
    /// Replaces what `into` holds by a message.
    ///
    /// # Errors
    /// It is longer than may be, there is no such message, or it cannot be read.
    pub(crate) fn message(
        &mut self,
        database: &Database,
        entry: &Entry,
        limits: &Limits,
        into: &mut Vec<u8>,
    ) -> Result<(), BagError> {
        into.clear();
        limits.check_message(&database.path, u64::from(entry.length))?;
        if entry.length <= SMALL && self.small(database, entry, limits, into)? {
            return Ok(());
        }
        database.message(self.connection(database, entry, limits)?, entry.place, into)
    }

    /// Replaces what `into` holds by the first 12 bytes of a message or more, or by all of a shorter one.
    ///
    /// # Errors
    /// There is no such message, or it cannot be read.
    pub(crate) fn front(
        &mut self,
        database: &Database,
        entry: &Entry,
        limits: &Limits,
        into: &mut Vec<u8>,
    ) -> Result<(), BagError> {
        into.clear();
        if entry.length <= SMALL && self.small(database, entry, limits, into)? {
            return Ok(());
        }
        database.front(self.connection(database, entry, limits)?, entry.place, into)
    }

    /// Whether the message was among those read ahead, or is now.
    fn small(
        &mut self,
        database: &Database,
        entry: &Entry,
        limits: &Limits,
        into: &mut Vec<u8>,
    ) -> Result<bool, BagError> {
        self.connection(database, entry, limits)?;
        let row = entry.place as i64; // As it was noted.
        // Row numbers as positions: the smallest is 0.
        let position = (row as u64) ^ (1 << 63);
        let mut found = self.find(row);
        if found.is_none()
            && let Some(amount) = self.pace.piece(position)
        {
            self.fill(database, row, amount)?;
            found = self.find(row);
        }
        self.pace.wanted(position.saturating_add(1));
        let Some(n) = found else {
            return Ok(false);
        };
        self.next = n + 1;
        let from = n.checked_sub(1).map_or(0, |before| self.rows[before].1);
        into.extend_from_slice(&self.bytes[from..self.rows[n].1]);
        Ok(true)
    }

    /// Which of the rows that were read ahead it is.
    fn find(&self, row: i64) -> Option<usize> {
        match self.rows.get(self.next) {
            Some((number, _)) if *number == row => Some(self.next),
            _ => self.rows.binary_search_by_key(&row, |(number, _)| *number).ok(),
        }
    }

    /// Reads rows ahead. Where the database is damaged, they end there: whoever wants the next one is told.
    fn fill(&mut self, database: &Database, from: i64, amount: usize) -> Result<(), BagError> {
        self.rows.clear();
        self.bytes.clear();
        let Some((_, connection)) = &self.held else {
            return Ok(());
        };
        let mut read = || {
            let mut statement = connection.prepare_cached(MESSAGES)?;
            let mut rows = statement.query((from, SMALL))?;
            for _ in 0..amount {
                let Some(row) = rows.next()? else { break };
                let (ValueRef::Integer(number), ValueRef::Blob(message) | ValueRef::Text(message)) =
                    (row.get_ref(0)?, row.get_ref(1)?)
                else {
                    continue;
                };
                self.bytes.extend_from_slice(message);
                self.rows.push((number, self.bytes.len()));
                if self.bytes.len() >= BYTES {
                    break;
                }
            }
            Ok(())
        };
        match read() {
            Err(error) if !is_damage(&error) => Err(database.refused(error)),
            _ => Ok(()),
        }
    }

    /// The connection to a database of the bag; that to another is given up.
    fn connection(
        &mut self,
        database: &Database,
        entry: &Entry,
        limits: &Limits,
    ) -> Result<&Connection, BagError> {
        if self.held.as_ref().is_none_or(|(of, _)| *of != entry.file) {
            *self = RowReader {
                rows: std::mem::take(&mut self.rows),
                bytes: std::mem::take(&mut self.bytes),
                ..RowReader::default()
            };
            self.rows.clear();
        }
        Ok(match &mut self.held {
            Some((_, connection)) => connection,
            none => &none.insert((entry.file, database.connect(limits)?)).1,
        })
    }
}
