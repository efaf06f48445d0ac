//! A bag that is written: a folder with one file and `metadata.yaml`, or the file alone.

use jetlag_record::whole;
use std::collections::HashMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use super::container::{ChunkCompression, McapWriter};
use super::encode::{Message, encode};
use super::metadata::{self, Written};
use super::sqlite::{Refused, SqliteWriter};
use super::topic::RawTopic;
use crate::time::Time;

/// How a bag is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// As MCAP.
    Mcap(ChunkCompression),
    /// As a database of SQLite.
    Sqlite3,
    /// As a database of SQLite whose messages are each compressed by Zstandard: a folder, whose `metadata.yaml` says so.
    Sqlite3Zstd,
}

impl Format {
    /// How names of its files end, without the dot.
    pub fn ending(self) -> &'static str {
        match self {
            Format::Mcap(_) => "mcap",
            Format::Sqlite3 | Format::Sqlite3Zstd => "db3",
        }
    }
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
        known: String,
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
    /// A file that would not say that its messages are compressed.
    #[error("{} would not say that its messages are compressed, as a bag in a folder does: write a folder, or do not compress", .0.display())]
    Unsaid(PathBuf),
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
    /// Of a bag that is more than its file.
    folder: Option<PathBuf>,
    path: PathBuf,
    format: Format,
    out: Out,
    topics: Vec<Written>,
    /// Topics with messages that were encoded here, by name.
    numbers: HashMap<String, TopicNumber>,
    span: Option<(Time, Time)>,
    buffer: Vec<u8>,
}

/// A topic of a bag that is written. It belongs to the writer that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicNumber(u16);

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
        std::fs::create_dir(folder).map_err(|error| WriteError::Io {
            path: folder.to_owned(),
            error,
        })?;
        let stem = folder.file_name().unwrap_or_default().to_string_lossy();
        let path = folder.join(format!("{stem}_0.{}", format.ending()));
        BagWriter::open(Some(folder.to_owned()), path, format)
    }

    /// Begins a bag that is one file, which readers take for a bag too, though it has no `metadata.yaml`.
    ///
    /// # Errors
    /// The file exists, or cannot be written; the format is one that a file does not tell.
    pub fn create_file(path: &Path, format: Format) -> Result<BagWriter, WriteError> {
        if format == Format::Sqlite3Zstd {
            return Err(WriteError::Unsaid(path.to_owned()));
        }
        BagWriter::open(None, path.to_owned(), format)
    }

    fn open(folder: Option<PathBuf>, path: PathBuf, format: Format) -> Result<BagWriter, WriteError> {
        let io = |error| WriteError::Io {
            path: path.clone(),
            error,
        };
        // SQLite would take up a file that is there.
        let file = File::create_new(&path).map_err(io)?;
        let out = match format {
            Format::Mcap(compression) => {
                Out::Mcap(McapWriter::new(BufWriter::new(file), compression).map_err(io)?)
            }
            Format::Sqlite3 | Format::Sqlite3Zstd => {
                let writer = SqliteWriter::new(&path, format == Format::Sqlite3Zstd);
                Out::Sqlite(writer.map_err(|refused| Cause::from(refused).at(&path))?)
            }
        };
        Ok(BagWriter {
            folder,
            path,
            format,
            out,
            topics: Vec::new(),
            numbers: HashMap::new(),
            span: None,
            buffer: Vec::new(),
        })
    }

    /// Writes a message to a topic, which is described with its first one.
    ///
    /// # Errors
    /// The file cannot be written, the topic has messages of another type, or MCAP cannot hold the time.
    pub fn write(&mut self, topic: &str, log_time: Time, message: &Message<'_>) -> Result<(), WriteError> {
        let number = self.number(topic, message.kind())?;
        let mut buffer = std::mem::take(&mut self.buffer);
        encode(message, &mut buffer);
        let written = self.write_raw(number, log_time, &buffer);
        self.buffer = buffer;
        written
    }

    /// Writes a message as it is to a topic that was described.
    ///
    /// # Errors
    /// The file cannot be written, or MCAP cannot hold the time.
    pub fn write_raw(
        &mut self,
        TopicNumber(number): TopicNumber,
        log_time: Time,
        message: &[u8],
    ) -> Result<(), WriteError> {
        let topic = &mut self.topics[usize::from(number)];
        if log_time < Time(0) && matches!(self.out, Out::Mcap(_)) {
            return Err(WriteError::Time {
                topic: topic.name.clone(),
                time: log_time,
            });
        }
        let result = match &mut self.out {
            Out::Mcap(out) => out.message(number, log_time, message).map_err(Cause::Io),
            Out::Sqlite(out) => out.message(number, log_time, message).map_err(Cause::from),
        };
        result.map_err(|cause| cause.at(&self.path))?;
        topic.count += 1;
        let (first, last) = self.span.unwrap_or((log_time, log_time));
        self.span = Some((first.min(log_time), last.max(log_time)));
        Ok(())
    }

    /// The number of a topic whose messages are encoded here, which is described if it is new.
    fn number(&mut self, topic: &str, kind: &'static str) -> Result<TopicNumber, WriteError> {
        if let Some(number) = self.numbers.get(topic) {
            let known = &self.topics[usize::from(number.0)].kind;
            return match known == kind {
                true => Ok(*number),
                false => Err(WriteError::TwoTypes {
                    topic: topic.to_owned(),
                    known: known.clone(),
                    kind,
                }),
            };
        }
        let number = self.describe(&RawTopic {
            name: topic,
            kind,
            serialization: "cdr",
            definition: None,
            qos: "",
        })?;
        self.numbers.insert(topic.to_owned(), number);
        Ok(number)
    }

    /// Begins a topic whose messages come as they are. Each call begins another, also of the same name.
    ///
    /// # Errors
    /// The file cannot be written, or has too many topics.
    pub fn describe(&mut self, topic: &RawTopic<'_>) -> Result<TopicNumber, WriteError> {
        if self.topics.len() >= MOST_TOPICS {
            return Err(WriteError::TooManyTopics);
        }
        let number = self.topics.len() as u16;
        let result = topic.described(|topic| match &mut self.out {
            Out::Mcap(out) => out.topic(topic).map_err(Cause::Io),
            Out::Sqlite(out) => out.topic(number, topic).map_err(Cause::from),
        });
        result.map_err(|cause| cause.at(&self.path))?;
        self.topics.push(Written {
            name: topic.name.to_owned(),
            kind: topic.kind.to_owned(),
            serialization: topic.serialization.to_owned(),
            qos: topic.qos.to_owned(),
            count: 0,
        });
        Ok(TopicNumber(number))
    }

    /// Closes the file, and writes `metadata.yaml` into a folder; the path of the file.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn finish(self) -> Result<PathBuf, WriteError> {
        let (storage, is_packed) = match self.format {
            Format::Mcap(_) => ("mcap", false),
            Format::Sqlite3 => ("sqlite3", false),
            Format::Sqlite3Zstd => ("sqlite3", true),
        };
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let text = metadata::text(storage, is_packed, &name, &self.topics, self.span);
        let result = match self.out {
            Out::Mcap(out) => out.finish().map_err(Cause::Io),
            Out::Sqlite(out) => out.finish(metadata::VERSION, &text).map_err(Cause::Sqlite),
        };
        result.map_err(|cause| cause.at(&self.path))?;
        if let Some(folder) = &self.folder {
            let path = folder.join("metadata.yaml");
            let written = whole::write(&path, metadata::file(&text), false);
            written.map_err(|error| WriteError::Io { path, error })?;
        }
        Ok(self.path)
    }
}

enum Cause {
    Io(std::io::Error),
    Sqlite(rusqlite::Error),
}

impl From<Refused> for Cause {
    fn from(refused: Refused) -> Cause {
        match refused {
            Refused::Sqlite(error) => Cause::Sqlite(error),
            Refused::Packing(error) => Cause::Io(error),
        }
    }
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
