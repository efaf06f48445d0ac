//! Reads a journal as far as it is whole.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead, Read};
use std::sync::Arc;

use super::entry::{Entry, Header, RunEntry};
use super::line::{decode, is_half};
use crate::figures::Column;

/// A line of more than this is none of ours.
const LONGEST_LINE: u64 = 64 << 20;

/// What a journal has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Journal {
    /// What is to be run, as it was said last.
    pub header: Option<Header>,
    /// Finished runs in the order in which they ended, each once.
    pub runs: Vec<RunEntry>,
    /// Names of figures by number.
    pub columns: HashMap<u32, Arc<[Column]>>,
    /// Bytes up to the end of the last whole line: what comes after is half a line.
    pub whole: u64,
    /// Bytes after that.
    pub rest: u64,
    /// Numbers of damaged lines before that, from 1: their runs count as not made.
    pub damaged: Vec<u64>,
    /// Whether it holds anything that no journal does: it ends in something else than a line or the beginning of one, or there are
    /// lines and none is a journal's.
    pub is_foreign: bool,
}

impl Journal {
    /// Reads all whole lines.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(mut from: impl BufRead) -> io::Result<Journal> {
        let mut journal = Journal::default();
        let (mut seen, mut number) = (HashSet::new(), 0_u64);
        let (mut line, mut has_ours) = (Vec::new(), false);
        loop {
            line.clear();
            let read = from.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)?;
            if read == 0 {
                break;
            }
            number += 1;
            // Only the last line has no end, and one that is too long to be ours.
            let Some(whole) = line.strip_suffix(b"\n") else {
                match is_half(&line) && from.fill_buf()?.is_empty() {
                    true => journal.rest = read as u64,
                    false => journal.is_foreign = true,
                }
                break;
            };
            journal.whole += read as u64;
            match decode(whole) {
                Some(entry) => {
                    has_ours = true;
                    journal.take(entry, &mut seen);
                }
                None => journal.damaged.push(number),
            }
        }
        journal.is_foreign |= !has_ours && journal.whole > 0;
        Ok(journal)
    }

    fn take(&mut self, entry: Entry, seen: &mut HashSet<(String, u32)>) {
        match entry {
            Entry::Sweep(header) => self.header = Some(header),
            Entry::Columns { id, columns } => {
                self.columns.insert(id, columns.into());
            }
            Entry::Run(run) => {
                let known = match run.columns {
                    None => true,
                    // Without the names its figures mean nothing.
                    Some(id) => self
                        .columns
                        .get(&id)
                        .is_some_and(|columns| columns.len() == run.figures.len()),
                };
                if known && seen.insert((run.point.clone(), run.repeat)) {
                    self.runs.push(run);
                }
            }
        }
    }

    /// The finished runs, as point and repeat.
    pub fn done(&self) -> HashSet<(&str, u32)> {
        self.runs
            .iter()
            .map(|run| (run.point.as_str(), run.repeat))
            .collect()
    }
}
