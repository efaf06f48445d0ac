//! A journal as a file: opened where it was left, and synced after each line.

use jetlag_record::whole;
use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::entry::{Entry, RunEntry};
use super::line::encode;
use super::read::Journal;
use crate::figures::{Column, Figures};

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be read or written.
    #[error("{}: {error}; what was finished before is kept", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A pipe, a folder or a device has its name: reading it might never end.
    #[error("{} is no regular file, so it is no journal of a sweep; move it away, or name another folder", path.display())]
    NoFile {
        /// The name.
        path: PathBuf,
    },
    /// Something in it is no journal's.
    #[error(
        "{} is no journal of a sweep, or the line that a sweep begins with is damaged; nothing in it was changed: move it away, or name another folder",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// It is of a later version.
    #[error("{} is of version {found} of the journal, and this jetlag knows version {known}: use the newer jetlag", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// A figure that JSON cannot hold.
    #[error("a figure cannot be written: {0}")]
    Estimate(serde_json::Error),
}

/// A journal that grows.
#[derive(Debug)]
pub struct JournalFile {
    path: PathBuf,
    file: File,
    /// Number of each set of names that the file has.
    sets: Vec<(u32, Vec<Column>)>,
}

impl JournalFile {
    /// Reads the journal of this name without changing it.
    ///
    /// # Errors
    /// It cannot be read, or is of a later version.
    pub fn read(path: &Path) -> Result<Journal, JournalError> {
        regular(path)?;
        let file = File::open(path).map_err(|error| at(path, error))?;
        let journal = Journal::read(BufReader::new(file)).map_err(|error| at(path, error))?;
        known(path, journal)
    }

    /// Opens the journal of this name, or makes an empty one. What a sudden end left of a line is cut off.
    ///
    /// # Errors
    /// It cannot be read or written, or is of a later version.
    pub fn open(path: &Path) -> Result<(JournalFile, Journal), JournalError> {
        let is_new = !path.exists();
        if !is_new {
            regular(path)?;
        }
        let mut file = whole::shared(path).map_err(|error| at(path, error))?;
        let journal = Journal::read(BufReader::new(&file)).map_err(|error| at(path, error))?;
        let journal = known(path, journal)?;
        let ready = || -> io::Result<()> {
            if journal.rest > 0 {
                file.set_len(journal.whole)?;
                file.sync_all()?;
            }
            file.seek(SeekFrom::Start(journal.whole))?;
            if is_new {
                file.sync_all()?;
                // The name is on disk only once its folder is.
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
            }
            Ok(())
        };
        let mut ready = ready;
        ready().map_err(|error| at(path, error))?;
        let sets = journal
            .columns
            .iter()
            .map(|(id, columns)| (*id, columns.to_vec()))
            .collect();
        let file = JournalFile {
            path: path.to_owned(),
            file,
            sets,
        };
        Ok((file, journal))
    }

    /// Appends an entry; it is on disk when this returns.
    ///
    /// # Errors
    /// The disk is full, or fails. A half line is cut off again, so that the file stays whole.
    pub fn append(&mut self, entry: &Entry) -> Result<(), JournalError> {
        let line = encode(entry).map_err(JournalError::Estimate)?;
        let before = self
            .file
            .stream_position()
            .map_err(|error| at(&self.path, error))?;
        let written = self
            .file
            .write_all(line.as_bytes())
            .and_then(|()| self.file.sync_data());
        written.map_err(|error| {
            // Where this fails too, the next reader sees a half line, and cuts it off.
            let _ = self.file.set_len(before);
            let _ = self.file.seek(SeekFrom::Start(before));
            at(&self.path, error)
        })
    }

    /// Appends a finished run with its figures, and their names where the file does not have them yet.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn finished(&mut self, mut run: RunEntry, figures: Figures) -> Result<RunEntry, JournalError> {
        let (columns, figures) = RunEntry::split(figures);
        if !columns.is_empty() {
            run.columns = Some(self.set(columns)?);
            run.figures = figures;
        }
        self.append(&Entry::Run(run.clone()))?;
        Ok(run)
    }

    /// Names of figures by number, as the file has them by now.
    pub fn sets(&self) -> impl Iterator<Item = (u32, &[Column])> {
        self.sets.iter().map(|(id, columns)| (*id, columns.as_slice()))
    }

    fn set(&mut self, columns: Vec<Column>) -> Result<u32, JournalError> {
        if let Some((id, _)) = self.sets.iter().find(|(_, known)| *known == columns) {
            return Ok(*id);
        }
        let id = self.sets.iter().map(|(id, _)| id + 1).max().unwrap_or(0);
        self.append(&Entry::Columns {
            id,
            columns: columns.clone(),
        })?;
        self.sets.push((id, columns));
        Ok(id)
    }
}

fn regular(path: &Path) -> Result<(), JournalError> {
    let facts = path.metadata().map_err(|error| at(path, error))?;
    match facts.is_file() {
        true => Ok(()),
        false => Err(JournalError::NoFile {
            path: path.to_owned(),
        }),
    }
}

fn at(path: &Path, error: io::Error) -> JournalError {
    JournalError::Io {
        path: path.to_owned(),
        error,
    }
}

fn known(path: &Path, journal: Journal) -> Result<Journal, JournalError> {
    match &journal.header {
        _ if journal.is_foreign => Err(JournalError::Foreign {
            path: path.to_owned(),
        }),
        Some(header) if header.format > super::FORMAT => Err(JournalError::Newer {
            path: path.to_owned(),
            found: header.format,
            known: super::FORMAT,
        }),
        _ => Ok(journal),
    }
}
