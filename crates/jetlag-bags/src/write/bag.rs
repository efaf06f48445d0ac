//! A bag that is written: a folder with one file and `metadata.yaml`.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use super::container::{ChunkCompression, McapWriter};
use super::encode::{Message, encode};
use super::metadata::{self, Written};
use super::sqlite::SqliteWriter;
use crate::time::Time;

/// How a bag is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// As MCAP.
    Mcap(ChunkCompression),
    /// As a database of SQLite.
    Sqlite3,
}

/// Why a bag could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The system refused.
    #[error("cannot write {}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// SQLite refused.
    #[error("cannot write the database {}: {error}", path.display())]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// What it said.
        error: rusqlite::Error,
    },
    /// A topic with messages of two types.
    #[error("the topic `{topic}` has messages of the type {known}; one of {kind} needs another topic")]
    TwoTypes {
        /// The topic.
        topic: String,
        /// The type of its first message.
        known: &'static str,
        /// That of the message that was to be written.
        kind: &'static str,
    },
    /// A time before 1970, which MCAP does not have.
    #[error("a message of `{topic}` has the log time {time} ns, which is before 1970: MCAP has no such times", time = time.0)]
    Time {
        /// The topic.
        topic: String,
        /// The time.
        time: Time,
    },
    /// More topics than a file can have.
    #[error("a bag has at most {MOST_TOPICS} topics")]
    TooManyTopics,
}

/// An MCAP file numbers its types from 1 to 65 535.
const MOST_TOPICS: usize = 65_000;

enum Out {
    Mcap(McapWriter<BufWriter<File>>),
    Sqlite(SqliteWriter),
}

/// Writes a bag. Without [`BagWriter::finish`], it is like one whose recorder was killed.
pub struct BagWriter {
    folder: PathBuf,
    /// Of the file in the folder.
    name: String,
    path: PathBuf,
    out: Out,
    topics: Vec<Written>,
    span: Option<(Time, Time)>,
    buffer: Vec<u8>,
}

impl std::fmt::Debug for BagWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BagWriter")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl BagWriter {
    /// Begins a bag: makes the folder, and in it a file of its name.
    ///
    /// # Errors
    /// The folder exists, or cannot be written.
    pub fn create(folder: &Path, format: Format) -> Result<BagWriter, WriteError> {
        let io = |path: &Path, error| WriteError::Io {
            path: path.to_owned(),
            error,
        };
        std::fs::create_dir(folder).map_err(|error| io(folder, error))?;
        let stem = folder.file_name().unwrap_or_default().to_string_lossy();
        let ending = match format {
            Format::Mcap(_) => "mcap",
            Format::Sqlite3 => "db3",
        };
        let name = format!("{stem}_0.{ending}");
        let path = folder.join(&name);
        let out = match format {
            Format::Mcap(compression) => {
                let file = File::create_new(&path).map_err(|error| io(&path, error))?;
                let writer = McapWriter::new(BufWriter::new(file), compression);
                Out::Mcap(writer.map_err(|error| io(&path, error))?)
            }
            Format::Sqlite3 => Out::Sqlite(SqliteWriter::new(&path).map_err(|error| WriteError::Sqlite {
                path: path.clone(),
                error,
            })?),
        };
        Ok(BagWriter {
            folder: folder.to_owned(),
            name,
            path,
            out,
            topics: Vec::new(),
            span: None,
            buffer: Vec::new(),
        })
    }

    /// Writes a message to a topic, which is described with its first one.
    ///
    /// # Errors
    /// The file cannot be written, the topic has messages of another type, or MCAP cannot hold the time.
    pub fn write(&mut self, topic: &str, log_time: Time, message: &Message<'_>) -> Result<(), WriteError> {
        let mut buffer = std::mem::take(&mut self.buffer);
        encode(message, &mut buffer);
        let written = self.write_encoded(topic, log_time, message.kind(), &buffer);
        self.buffer = buffer;
        written
    }

    fn write_encoded(
        &mut self,
        topic: &str,
        log_time: Time,
        kind: &'static str,
        message: &[u8],
    ) -> Result<(), WriteError> {
        if log_time < Time(0) && matches!(self.out, Out::Mcap(_)) {
            return Err(WriteError::Time {
                topic: topic.to_owned(),
                time: log_time,
            });
        }
        let number = self.number(topic, kind)?;
        let result = match &mut self.out {
            Out::Mcap(out) => out.message(number, log_time, message).map_err(Cause::Io),
            Out::Sqlite(out) => out.message(number, log_time, message).map_err(Cause::Sqlite),
        };
        result.map_err(|cause| cause.at(&self.path))?;
        self.topics[usize::from(number)].count += 1;
        let (first, last) = self.span.unwrap_or((log_time, log_time));
        self.span = Some((first.min(log_time), last.max(log_time)));
        Ok(())
    }

    /// The number of a topic, which is described if it is new.
    fn number(&mut self, topic: &str, kind: &'static str) -> Result<u16, WriteError> {
        if let Some(number) = self.topics.iter().position(|known| known.name == topic) {
            let known = self.topics[number].kind;
            return match known == kind {
                true => Ok(number as u16), // Fewer than MOST_TOPICS.
                false => Err(WriteError::TwoTypes {
                    topic: topic.to_owned(),
                    known,
                    kind,
                }),
            };
        }
        if self.topics.len() >= MOST_TOPICS {
            return Err(WriteError::TooManyTopics);
        }
        let number = self.topics.len() as u16;
        let result = match &mut self.out {
            Out::Mcap(out) => out.topic(topic, kind).map_err(Cause::Io),
            Out::Sqlite(out) => out.topic(number, topic, kind).map_err(Cause::Sqlite),
        };
        result.map_err(|cause| cause.at(&self.path))?;
        self.topics.push(Written {
            name: topic.to_owned(),
            kind,
            count: 0,
        });
        Ok(number)
    }

    /// Closes the file and writes `metadata.yaml`; the path of the file.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn finish(self) -> Result<PathBuf, WriteError> {
        let storage = match &self.out {
            Out::Mcap(_) => "mcap",
            Out::Sqlite(_) => "sqlite3",
        };
        let text = metadata::text(storage, &self.name, &self.topics, self.span);
        let result = match self.out {
            Out::Mcap(out) => out.finish().map_err(Cause::Io),
            Out::Sqlite(out) => out.finish(metadata::VERSION, &text).map_err(Cause::Sqlite),
        };
        result.map_err(|cause| cause.at(&self.path))?;
        let path = self.folder.join("metadata.yaml");
        std::fs::write(&path, metadata::file(&text)).map_err(|error| WriteError::Io { path, error })?;
        Ok(self.path)
    }
}

enum Cause {
    Io(std::io::Error),
    Sqlite(rusqlite::Error),
}

impl Cause {
    fn at(self, path: &Path) -> WriteError {
        let path = path.to_owned();
        match self {
            Cause::Io(error) => WriteError::Io { path, error },
            Cause::Sqlite(error) => WriteError::Sqlite { path, error },
        }
    }
}
