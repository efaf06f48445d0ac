//! Reads a journal as far as it is whole.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead, Read};
use std::sync::Arc;

use super::entry::{Entry, Header, RunEntry};
use super::line::decode;
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
}

impl Journal {
    /// Reads all whole lines.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(mut from: impl BufRead) -> io::Result<Journal> {
        let mut journal = Journal::default();
        let (mut seen, mut place, mut number) = (HashSet::new(), 0_u64, 0_u64);
        let mut bad: Vec<u64> = Vec::new();
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = from.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)?;
            if read == 0 {
                break;
            }
            place += read as u64;
            number += 1;
            let entry = line.strip_suffix(b"\n").and_then(decode);
            let Some(entry) = entry else {
                bad.push(number);
                continue;
            };
            // A whole line after bad ones: those were no half line at the end.
            journal.damaged.append(&mut bad);
            journal.whole = place;
            journal.take(entry, &mut seen);
        }
        journal.rest = place - journal.whole;
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
