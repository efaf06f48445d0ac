//! A bag: its files opened, its messages found, its topics.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jetlag_record::nearest::nearest;
use jetlag_record::units::Nanos;
use serde::Serialize;

use crate::cdr::Decoder;
use crate::completeness::{Completeness, Loss};
use crate::compression::Compression;
use crate::contents::Entry;
use crate::message;
use crate::order::Order;
use crate::reader::Reader;
use crate::store::{self, Store};
use crate::time::{By, Time};
use crate::topic::{Topic, TopicSummary};
use crate::unpack::Storage;
use crate::{BagError, Limits, discover};

/// An opened bag. Cloning shares the files and the index.
#[derive(Clone, Debug)]
pub struct Bag {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    store: Arc<Store>,
    /// By name.
    topics: Vec<Topic>,
    completeness: Completeness,
    span: Option<(Time, Time)>,
    metadata_version: Option<u32>,
    ros_distro: Option<String>,
}

/// Which messages of a topic are wanted: those that were logged from `from` on and before `to`, counted from the first message of
/// the bag, of whichever topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Select {
    /// Where to begin; none for the beginning.
    pub from: Option<Nanos>,
    /// Where to end; none for the end.
    pub to: Option<Nanos>,
    /// Which of a message's times is its time. Messages are sorted and selected by log time in any case.
    pub by: By,
}

/// Messages of one topic by log time, with their times.
#[derive(Clone, Debug)]
pub struct Index {
    /// Of which bag: it has the messages, and they are not copied.
    bag: Arc<Inner>,
    /// Which of its topics.
    topic: usize,
    /// Which of the topic's messages.
    range: Range<usize>,
    /// Stamps of headers, where those are wanted.
    stamps: Option<Vec<Time>>,
    order: Order,
}

impl Index {
    /// The messages, by log time.
    pub fn entries(&self) -> &[Entry] {
        let topic = self.bag.topics.get(self.topic);
        topic
            .and_then(|topic| topic.entries().get(self.range.clone()))
            .unwrap_or_default()
    }

    /// The time of a message, by which the index was asked for.
    pub fn time(&self, n: usize) -> Option<Time> {
        match &self.stamps {
            Some(stamps) => stamps.get(n).copied(),
            None => self.entries().get(n).map(|entry| entry.log_time),
        }
    }

    /// How these times follow each other. By log time, steps back are those in the order in which the whole topic was stored.
    pub fn order(&self) -> Order {
        self.order
    }
}

impl Bag {
    /// Opens a bag: a folder with or without `metadata.yaml`, or one file, and finds every message in it.
    ///
    /// An MCAP file without index is walked over. Checksums of chunks are held against what is there, for which a file is read once,
    /// unless it is longer than [`Limits::checked_bytes`]. Files that are compressed as a whole are unpacked to temporary files, which are
    /// removed with the last user of the bag.
    ///
    /// # Errors
    /// There is no bag of ROS 2 under this name, none of its files can be read, or it has more than the limits allow. Files that
    /// are damaged or cut off are read as far as they go: see [`Bag::completeness`].
    pub fn open(path: &Path, limits: &Limits) -> Result<Bag, BagError> {
        let mut completeness = Completeness::default();
        let files = discover::files(path, &mut completeness)?;
        let (store, contents) = store::open(&files.paths, limits, &mut completeness)?;
        let store = Arc::new(store);
        let mut topics: Vec<Topic> = contents.into_iter().map(Topic::of).collect();
        topics.sort_by(|a, b| (a.name(), a.kind()).cmp(&(b.name(), b.kind())));
        note_packed_messages(&store, &mut topics);
        let found: u64 = topics.iter().map(|topic| topic.entries().len() as u64).sum();
        let wanted = files
            .metadata
            .as_ref()
            .and_then(|metadata| metadata.message_count);
        if let Some(wanted) = wanted.filter(|wanted| *wanted > found) {
            completeness.add(Loss::Count { wanted, found });
        }
        let spans = || topics.iter().filter_map(Topic::span);
        let first = spans().map(|(first, _)| first).min();
        let last = spans().map(|(_, last)| last).max();
        let inner = Inner {
            path: path.to_owned(),
            store,
            completeness,
            span: first.zip(last),
            topics,
            metadata_version: files.metadata.as_ref().map(|metadata| metadata.version),
            ros_distro: files.metadata.and_then(|metadata| metadata.ros_distro),
        };
        Ok(Bag {
            inner: Arc::new(inner),
        })
    }

    /// All topics, by name.
    pub fn topics(&self) -> &[Topic] {
        &self.inner.topics
    }

    /// A topic by its name.
    ///
    /// # Errors
    /// There is none of this name, or its messages are of two types.
    pub fn topic(&self, name: &str) -> Result<&Topic, BagError> {
        self.numbered(name).map(|(_, topic)| topic)
    }

    /// A topic, and which of all it is.
    fn numbered(&self, name: &str) -> Result<(usize, &Topic), BagError> {
        let topics = self.inner.topics.iter().enumerate();
        let mut found = topics.filter(|(_, topic)| topic.name() == name);
        match (found.next(), found.next()) {
            (Some(topic), None) => Ok(topic),
            (Some((_, one)), Some((_, other))) => Err(BagError::TwoTypes {
                topic: name.to_owned(),
                types: [one.kind().to_owned(), other.kind().to_owned()],
            }),
            (None, _) => {
                let known: Vec<String> = self
                    .topics()
                    .iter()
                    .map(|topic| topic.name().to_owned())
                    .collect();
                Err(BagError::NoTopic {
                    topic: name.to_owned(),
                    nearest: nearest(name, known.iter().map(String::as_str)).map(str::to_owned),
                    known,
                })
            }
        }
    }

    /// Whether all of the bag was found.
    pub fn completeness(&self) -> &Completeness {
        &self.inner.completeness
    }

    /// Log times of the first and the last message of all topics.
    pub fn span(&self) -> Option<(Time, Time)> {
        self.inner.span
    }

    /// A reader of this bag's messages, for one thread.
    pub fn reader(&self) -> Reader {
        Reader::new(Arc::clone(&self.inner.store))
    }

    /// The messages of a topic that are wanted, with their times. By [`By::Header`], the front of each is read for that.
    ///
    /// # Errors
    /// There is no such topic; or, by [`By::Header`], its messages have no header or cannot be read.
    pub fn index(&self, topic: &str, select: Select) -> Result<Index, BagError> {
        let (number, topic) = self.numbered(topic)?;
        let all = topic.entries();
        let start = self.inner.span.map_or(Time(0), |(first, _)| first);
        let position = |offset: Nanos| {
            let time = start.after(offset);
            all.partition_point(|entry| entry.log_time < time)
        };
        let from = select.from.map_or(0, position);
        let to = select.to.map_or(all.len(), position);
        let entries = all.get(from..to).unwrap_or_default();
        let stamps = match select.by {
            By::Log => None,
            By::Header => Some(self.stamps(topic, entries)?),
        };
        let order = match &stamps {
            Some(stamps) => Order::of(stamps.iter().copied()),
            None if entries.len() == all.len() => topic.order(),
            None => Order {
                backwards: topic.order().backwards,
                largest_step_back: topic.order().largest_step_back,
                ..Order::of(entries.iter().map(|entry| entry.log_time))
            },
        };
        Ok(Index {
            bag: Arc::clone(&self.inner),
            topic: number,
            range: from..to,
            stamps,
            order,
        })
    }

    fn stamps(&self, topic: &Topic, entries: &[Entry]) -> Result<Vec<Time>, BagError> {
        if !message::begins_with_header(topic.kind()) || topic.serialization() != "cdr" {
            return Err(BagError::NoHeader {
                topic: topic.name().to_owned(),
                kind: topic.kind().to_owned(),
            });
        }
        let mut reader = self.reader();
        let mut front = Vec::new();
        let stamp = |entry: &Entry| {
            match reader.read_front(entry, &mut front) {
                Ok(_) => {}
                // It fails when it is its turn, and the others do not.
                Err(error) if error.is_of_one_message() => return Ok(entry.log_time),
                Err(error) => return Err(error),
            }
            Decoder::new(&front)
                .and_then(|mut decoder| decoder.time())
                .map_err(|error| BagError::BadHeader {
                    topic: topic.name().to_owned(),
                    error,
                })
        };
        entries.iter().map(stamp).collect()
    }

    /// Messages of databases that are found and cannot be read, topic by topic: a damaged page shows only there. Reads them all.
    pub fn unreadable(&self) -> Vec<Loss> {
        let mut reader = self.reader();
        let mut message = Vec::new();
        let mut losses = Vec::new();
        for topic in self.topics() {
            let mut problems = topic
                .entries()
                .iter()
                .filter(|entry| self.inner.store.is_database(entry.file))
                .filter_map(|entry| reader.read(entry, &mut message).err());
            if let Some(first) = problems.next() {
                losses.push(Loss::Messages {
                    topic: topic.name().to_owned(),
                    count: 1 + problems.count() as u64,
                    of: topic.entries().len() as u64,
                    problem: first.to_string(),
                });
            }
        }
        losses
    }

    /// Whether it has databases of no more than so many bytes together.
    pub fn has_databases_up_to(&self, bytes: u64) -> bool {
        let files = self.inner.store.files.iter();
        let databases = files.filter(|file| file.storage() == Storage::Sqlite3);
        let total: u64 = databases
            .map(|file| file.unpacked_bytes.unwrap_or(file.bytes))
            .sum();
        total > 0 && total <= bytes
    }

    /// What is odd about the times of the log, a sentence a topic, with what works nevertheless.
    pub fn clocks(&self) -> Vec<String> {
        let start = self.span().map_or(Time(0), |(first, _)| first);
        let mut all = Vec::new();
        for topic in self.topics() {
            let name = topic.name();
            if let (Some(gap), Some((first, _))) = (topic.gap(), topic.span()) {
                let from = first.after(gap.behind_from).since(start);
                let early = match gap.before <= gap.behind {
                    true => format!(
                        "{} messages of {name} are logged {} before the others",
                        gap.before,
                        long(gap.length)
                    ),
                    false => format!(
                        "{} messages of {name} are logged {} behind the others",
                        gap.behind,
                        long(gap.length)
                    ),
                };
                all.push(format!(
                    "{early}: before a simulation's /clock came, or before a clock was set; a source with `from: \"{}s\"` begins \
                     behind the gap",
                    from.0.div_euclid(1_000_000_000)
                ));
            }
            let order = topic.order();
            if order.largest_step_back >= STEP_BACK {
                all.push(format!(
                    "the clock of the log steps back by {:.1} s among the messages of {name}, {} of which are stored behind a later \
                     one: by log time they lie between each other; a source with `by: Header` takes the sensor's stamps",
                    order.largest_step_back.as_secs_f64(),
                    order.backwards
                ));
            }
        }
        all
    }

    /// What `inspect` shows of the bag.
    pub fn summary(&self) -> BagSummary {
        let inner = &self.inner;
        let file = |file: &store::StoredFile| FileSummary {
            path: file.path.clone(),
            storage: file.storage(),
            bytes: file.bytes,
            unpacked_bytes: file.unpacked_bytes,
            messages: file.messages,
        };
        let topics: Vec<TopicSummary> = self.topics().iter().map(Topic::summary).collect();
        BagSummary {
            path: inner.path.clone(),
            metadata_version: inner.metadata_version,
            ros_distro: inner.ros_distro.clone(),
            files: inner.store.files.iter().map(file).collect(),
            first: inner.span.map(|(first, _)| first),
            last: inner.span.map(|(_, last)| last),
            duration: inner.span.map(|(first, last)| last.since(first)),
            messages: topics.iter().map(|topic| topic.messages).sum(),
            topics,
            losses: inner.completeness.losses.iter().map(Loss::to_string).collect(),
            untold_losses: inner.completeness.untold,
            unchecked_files: inner.completeness.unchecked,
            clocks: self.clocks(),
        }
    }
}

/// A step that writers in several threads do not make.
const STEP_BACK: Nanos = Nanos::from_millis(500);

/// In the unit that fits.
fn long(time: Nanos) -> String {
    const DAY: f64 = 86_400.0;
    match time.as_secs_f64() {
        seconds if seconds > 730.0 * DAY => format!("{:.0} years", seconds / (365.25 * DAY)),
        seconds if seconds > 2.0 * DAY => format!("{:.0} days", seconds / DAY),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}

/// Whether messages are compressed one by one is seen at the first of each topic; `metadata.yaml` may be missing. One that cannot be
/// read is told when it is wanted.
fn note_packed_messages(store: &Arc<Store>, topics: &mut [Topic]) {
    let mut reader = Reader::new(Arc::clone(store));
    let mut front = Vec::new();
    for topic in topics {
        let is_packed = match topic.entries().first() {
            Some(first) => reader.read_front(first, &mut front).unwrap_or(false),
            None => false,
        };
        if is_packed {
            topic.note(Compression::MessageZstd);
        }
    }
}

/// What there is to say of a bag. Times are those of the log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BagSummary {
    /// The path under which it was opened.
    pub path: PathBuf,
    /// The version that `metadata.yaml` states; none without it.
    pub metadata_version: Option<u32>,
    /// The distribution of ROS that recorded it, where `metadata.yaml` says so.
    pub ros_distro: Option<String>,
    /// Its files, in their order.
    pub files: Vec<FileSummary>,
    /// When the first message was logged.
    #[serde(rename = "first_ns")]
    pub first: Option<Time>,
    /// When the last message was logged.
    #[serde(rename = "last_ns")]
    pub last: Option<Time>,
    /// The time between them.
    #[serde(rename = "duration_ns")]
    pub duration: Option<Nanos>,
    /// How many messages all topics have.
    pub messages: u64,
    /// Its topics, by name.
    pub topics: Vec<TopicSummary>,
    /// What is missing or damaged, a sentence each.
    pub losses: Vec<String>,
    /// How many more losses there are.
    pub untold_losses: u64,
    /// Files whose checksums were not looked at, since they are too long for that.
    pub unchecked_files: u64,
    /// What its clocks did, a sentence each.
    pub clocks: Vec<String>,
}

impl BagSummary {
    /// What is missing or damaged, a sentence each; the last says how much more there is.
    pub fn missing(&self) -> Vec<String> {
        let more = (self.untold_losses > 0).then(|| format!("and {} more", self.untold_losses));
        self.losses.iter().cloned().chain(more).collect()
    }
}

/// What there is to say of a file of a bag.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileSummary {
    /// The file.
    pub path: PathBuf,
    /// How it stores messages.
    pub storage: Storage,
    /// How long it is.
    pub bytes: u64,
    /// How long its temporary copy is, if it is compressed as a whole.
    pub unpacked_bytes: Option<u64>,
    /// How many messages it has.
    pub messages: u64,
}
