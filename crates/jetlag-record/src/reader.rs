//! Reads a run file: the manifest, then its events one after the other, as far as the file goes.
//!
//! A file that was cut off (a kill, a full disk, a copy that broke) is read up to the cut, and
//! [`RunReader::completeness`] says how much that was. Channels that a newer minor version added are
//! passed over and counted. Memory does not grow with the file.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use mcap::records::{Record, Statistics, op};

use crate::container::{Container, Item, Stop, read_up_to};
pub use crate::container::{Damage, Section};
use crate::files;
use crate::ledger::Ledger;
use crate::schema::{self, MessageKind, SCHEMA_MAJOR, SCHEMA_MINOR};
use crate::units::{Bytes, Stamp};
use crate::{Event, Manifest, message, newer, strings};

/// Message records start with channel (2), sequence (4), log time (8) and publish time (8).
const MESSAGE_HEADER: usize = 22;

/// Why a run file could not be read, or not completely.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system refused to open or to read the file.
    #[error("cannot read {}: {error}", path.display())]
    Io {
        /// The file that was to be read.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// The file has no bytes.
    #[error("{} is empty: the run ended before anything was recorded; run it again", path.display())]
    Empty {
        /// The file that was to be read.
        path: PathBuf,
    },
    /// The file is not an MCAP file.
    #[error(
        "{} is not a run file: it is not an MCAP file. Name a file that `jetlag run` wrote (*.mcap)",
        path.display()
    )]
    NotMcap {
        /// The file that was to be read.
        path: PathBuf,
    },
    /// The file is an MCAP file of another program.
    #[error(
        "{} is an MCAP file from another program: it has no jetlag manifest. Name a file that `jetlag run` wrote",
        path.display()
    )]
    NotARun {
        /// The file that was to be read.
        path: PathBuf,
    },
    /// The file ends before or within its manifest.
    #[error(
        "{} ends after {}, within its beginning: no run and no bag can be read from it. It was cut off, or the program that wrote it \
         failed: copy it again if the original is longer, or record it again",
        path.display(),
        Bytes(*bytes)
    )]
    NoManifest {
        /// The file that was to be read.
        path: PathBuf,
        /// The length of the file.
        bytes: u64,
    },
    /// The manifest cannot be parsed.
    #[error("the manifest of {} cannot be parsed: {problem}", path.display())]
    BadManifest {
        /// The file that was to be read.
        path: PathBuf,
        /// The field, and what is wrong with it.
        problem: String,
    },
    /// The file was written by a later, incompatible version.
    #[error(
        "{} is a run file of version {found}, but this jetlag reads only up to version {known}: update jetlag",
        path.display()
    )]
    Newer {
        /// The file that was to be read.
        path: PathBuf,
        /// The major version of the file's schemas.
        found: u32,
        /// The newest major version that this jetlag reads.
        known: u32,
    },
    /// The content is damaged; everything before is valid.
    #[error(
        "{} is damaged after {}: {error}. The data before is good; copy the file again if you have the original",
        path.display(),
        Bytes(*offset)
    )]
    Damaged {
        /// The file that was to be read.
        path: PathBuf,
        /// Offset of the end of the last valid record.
        offset: u64,
        /// What was found after that offset.
        error: Damage,
    },
}

/// How much of a run file could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// All of it, up to its closing index.
    Whole,
    /// It was cut off or damaged, or has not been read to its end.
    Truncated {
        /// Offset of the end of the last complete record.
        bytes_read: u64,
        /// Length of the file.
        bytes_total: u64,
        /// Number of complete chunks that were read.
        chunks: u64,
        /// Latest timestamp of any event.
        last: Option<Stamp>,
    },
}

/// A run file being read: an iterator of its events. After an error it yields no more.
pub struct RunReader<R: Read = File> {
    container: Container<R>,
    path: PathBuf,
    bytes_total: u64,
    manifest: Manifest,
    /// By schema number: what we know it as.
    schemas: Vec<Option<MessageKind>>,
    /// The channels that were described so far, by their number in the file.
    channels: Vec<Option<Channel>>,
    ledger: Ledger,
    /// As the closing index has them.
    statistics: Option<Statistics>,
    skipped: u64,
    last: Option<Stamp>,
    state: State,
}

/// A channel that the file describes.
#[derive(Clone)]
struct Channel {
    topic: String,
    /// What we know its messages as.
    kind: Option<MessageKind>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Reading,
    Whole,
    Stopped,
}

impl RunReader {
    /// Opens a run file and reads its manifest.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let io = |error| ReadError::Io {
            path: path.to_owned(),
            error,
        };
        let file = files::open(path).map_err(io)?;
        let bytes = file.metadata().map_err(io)?.len();
        RunReader::over(file, bytes, path)
    }
}

impl<R: Read> RunReader<R> {
    /// Reads from `input` of `bytes_total` bytes instead of a file; `path` is what messages call it.
    pub fn over(mut input: R, bytes_total: u64, path: &Path) -> Result<Self, ReadError> {
        let path = path.to_owned();
        let mut magic = [0; mcap::MAGIC.len()];
        let got = match read_up_to(&mut input, &mut magic) {
            Ok(got) => got,
            Err(error) => return Err(ReadError::Io { path, error }),
        };
        if got == 0 {
            return Err(ReadError::Empty { path });
        }
        if magic[..got] != mcap::MAGIC[..got] {
            return Err(ReadError::NotMcap { path });
        }
        let mut container = Container::new(input);
        let manifest = read_manifest(&mut container, &path, bytes_total)?;
        Ok(RunReader {
            container,
            path,
            bytes_total,
            manifest,
            schemas: Vec::new(),
            channels: Vec::new(),
            ledger: Ledger::default(),
            statistics: None,
            skipped: 0,
            last: None,
            state: State::Reading,
        })
    }

    /// What was run, on what.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// How much of the file could be read; to be asked after the last event.
    pub fn completeness(&self) -> Completeness {
        match self.state {
            State::Whole => Completeness::Whole,
            _ => Completeness::Truncated {
                bytes_read: self.container.offset,
                bytes_total: self.bytes_total,
                chunks: self.container.chunks,
                last: self.last,
            },
        }
    }

    /// Number of messages that were skipped, because a newer jetlag or another program added them.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The next event goes to `take`; none where the file ends.
    #[inline]
    fn read_event<T>(&mut self, take: impl FnOnce(Event) -> T) -> Result<Option<T>, Stop> {
        loop {
            let (section, opcode, body) = match self.container.next()? {
                Item::Record {
                    section,
                    opcode,
                    body,
                } => (section, opcode, body),
                Item::End { whole: true } => {
                    self.state = State::Stopped;
                    let chunks = self.container.chunks;
                    self.ledger.compare(chunks, self.statistics.as_ref())?;
                    self.state = State::Whole;
                    return Ok(None);
                }
                Item::End { whole: false } => {
                    self.state = State::Stopped;
                    return Ok(None);
                }
            };
            match (section, opcode) {
                (Section::Chunk, op::MESSAGE) => {
                    let Some((header, data)) = body.split_first_chunk::<MESSAGE_HEADER>() else {
                        return Err(Damage::Short.into());
                    };
                    let id = u16::from_le_bytes([header[0], header[1]]);
                    let sequence = u32::from_le_bytes([header[2], header[3], header[4], header[5]]);
                    let Some(Some(channel)) = self.channels.get(usize::from(id)) else {
                        return Err(Damage::Channel(id).into());
                    };
                    if let Err(wanted) = self.ledger.count(id, sequence) {
                        return Err(Damage::Sequence {
                            topic: channel.topic.clone(),
                            wanted,
                            found: sequence,
                        }
                        .into());
                    }
                    let Some(kind) = channel.kind else {
                        self.skipped += 1;
                        continue;
                    };
                    return match message::decode(kind, data) {
                        Ok(event) => {
                            self.last = self.last.max(stamp(&event));
                            Ok(Some(take(event)))
                        }
                        Err(error) => Err(Damage::Message {
                            topic: channel.topic.clone(),
                            error,
                        }
                        .into()),
                    };
                }
                (Section::Chunk, op::SCHEMA) => {
                    if let Record::Schema { header, .. } = parse(opcode, body)? {
                        set(&mut self.schemas, header.id, MessageKind::of_name(&header.name));
                    }
                }
                (Section::Chunk, op::CHANNEL) => {
                    if let Record::Channel(channel) = parse(opcode, body)? {
                        let schema = self.schemas.get(usize::from(channel.schema_id));
                        let kind = schema.copied().flatten();
                        let described = Channel {
                            topic: channel.topic,
                            kind: kind.filter(|_| channel.message_encoding == "cdr"),
                        };
                        set(&mut self.channels, channel.id, Some(described));
                    }
                }
                (Section::Index, op::STATISTICS) => {
                    if let Record::Statistics(statistics) = parse(opcode, body)? {
                        self.statistics = Some(statistics);
                    }
                }
                // For those who seek; but what cannot be read as one is something else that lost its name.
                (Section::Data, op::MESSAGE_INDEX) => drop(parse(opcode, body)?),
                (Section::Data, op::METADATA | op::ATTACHMENT | op::DATA_END) => {}
                (
                    Section::Index,
                    op::SCHEMA
                    | op::CHANNEL
                    | op::CHUNK_INDEX
                    | op::ATTACHMENT_INDEX
                    | op::METADATA_INDEX
                    | op::SUMMARY_OFFSET,
                ) => {}
                (_, 0) => return Err(Damage::Zeros.into()),
                (section, opcode) => return Err(Damage::Misplaced { opcode, section }.into()),
            }
        }
    }
}

impl<R: Read> RunReader<R> {
    /// Reads up to `count` events into `events`: what the iterator does, but that an event, 250 bytes, is not handed back
    /// through every call. `false` where there are no more.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn read_batch(&mut self, events: &mut Vec<Event>, count: usize) -> Result<bool, ReadError> {
        for _ in 0..count {
            if self.state != State::Reading {
                return Ok(false);
            }
            match self.read_event(|event| events.push(event)) {
                Ok(_) => {}
                Err(stop) => return Err(self.stop(stop)),
            }
        }
        Ok(true)
    }

    fn stop(&mut self, stop: Stop) -> ReadError {
        self.state = State::Stopped;
        stopped(stop, &self.path, self.container.offset)
    }
}

impl<R: Read> Iterator for RunReader<R> {
    type Item = Result<Event, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.state != State::Reading {
            return None;
        }
        match self.read_event(|event| event) {
            Ok(event) => event.map(Ok),
            Err(stop) => Some(Err(self.stop(stop))),
        }
    }
}

/// The manifest must come before anything that is in a chunk.
fn read_manifest<R: Read>(
    container: &mut Container<R>,
    path: &Path,
    bytes_total: u64,
) -> Result<Manifest, ReadError> {
    let not_a_run = || ReadError::NotARun {
        path: path.to_owned(),
    };
    loop {
        let item = match container.next() {
            Ok(item) => item,
            Err(stop) => return Err(stopped(stop, path, container.offset)),
        };
        let (opcode, body) = match item {
            Item::Record { opcode, body, .. } => (opcode, body),
            Item::End { whole: true } => return Err(not_a_run()),
            Item::End { whole: false } => {
                return Err(ReadError::NoManifest {
                    path: path.to_owned(),
                    bytes: bytes_total,
                });
            }
        };
        match opcode {
            op::METADATA => match parse(opcode, body) {
                Ok(Record::Metadata(metadata)) if metadata.name == schema::MANIFEST => {
                    return manifest(&metadata.metadata, path);
                }
                _ => {}
            },
            op::SCHEMA | op::CHANNEL | op::MESSAGE | op::DATA_END => return Err(not_a_run()),
            _ => {}
        }
    }
}

fn manifest(
    entries: &std::collections::BTreeMap<String, String>,
    path: &Path,
) -> Result<Manifest, ReadError> {
    let bad = |problem: String| ReadError::BadManifest {
        path: path.to_owned(),
        problem,
    };
    let entry = |name: &str| {
        entries
            .get(name)
            .ok_or_else(|| bad(format!("it has no entry `{name}`")))
    };
    // Before the JSON is looked at: a newer version may have another.
    let major = entry(schema::MANIFEST_MAJOR)?;
    let found: u32 = major
        .parse()
        .map_err(|_| bad(format!("its version `{major}` is not a number")))?;
    if found > SCHEMA_MAJOR {
        return Err(ReadError::Newer {
            path: path.to_owned(),
            found,
            known: SCHEMA_MAJOR,
        });
    }
    let (minor, json) = (entry(schema::MANIFEST_MINOR)?, entry(schema::MANIFEST_JSON)?);
    let found = schema::manifest_checksum(major, minor, json);
    match entries.get(schema::MANIFEST_CHECKSUM) {
        Some(wanted) if *wanted != found => {
            return Err(bad(format!("it has the checksum {found}, not {wanted}")));
        }
        Some(_) => {}
        None => return Err(bad("it has no checksum".to_owned())),
    }
    match serde_json::from_str(json) {
        Ok(manifest) => Ok(manifest),
        Err(_) if minor.parse().is_ok_and(|minor: u32| minor > SCHEMA_MINOR) => newer::manifest(json),
        Err(error) => Err(error),
    }
    .map_err(|error| bad(error.to_string()))
}

fn parse(opcode: u8, body: &[u8]) -> Result<Record<'_>, Damage> {
    strings::check(opcode, body)?;
    Ok(mcap::parse_record(opcode, body)?)
}

fn set<T: Clone>(table: &mut Vec<Option<T>>, id: u16, value: Option<T>) {
    let position = usize::from(id);
    if table.len() <= position {
        table.resize(position + 1, None);
    }
    table[position] = value;
}

fn stopped(stop: Stop, path: &Path, offset: u64) -> ReadError {
    let path = path.to_owned();
    match stop {
        Stop::Io(error) => ReadError::Io { path, error },
        Stop::Damage(error) => ReadError::Damaged { path, offset, error },
    }
}

/// When an event happened, where it says.
fn stamp(event: &Event) -> Option<Stamp> {
    match event {
        Event::Frame(r) => Some(r.finished),
        Event::Detections(r) => Some(r.at),
        Event::Sample(r) => Some(r.at),
        Event::Phase(r) => Some(r.measured_to),
        Event::PhaseSpec(r) => Some(r.at),
        Event::Log(r) => Some(r.at),
        Event::Window(r) => Some(r.to),
        Event::Range(r) => Some(r.to),
        Event::Activities(r) => r.activities.iter().map(|activity| activity.to).max(),
        Event::Trace(r) => Some(r.to),
        Event::Node(_)
        | Event::Finding(_)
        | Event::Signal(_)
        | Event::Definition(_)
        | Event::Work(_)
        | Event::Output(_) => None,
    }
}
