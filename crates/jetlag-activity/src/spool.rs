//! What a process that is traced from within (`jetlag-inject`) passes on to `jetlag trace`: a file of its own, which it only adds to.
//!
//! The file holds the messages of [`jetlag_record::wire`], each with its length before it: records as run files have them, not yet
//! attributed, and between them [`Note`]s as text. Whatever was written before the process died is good. The first message is
//! [`Began`], and the last one of a process that ended in order is [`Note::Ended`]. Both ends have to be of one version.
//!
//! Bytes of a spool are read as a stranger's: anything may be in it, and memory stays bounded.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::Arc;

use cupti_dyn::NodeEvent;
use jetlag_record::activity::Work;
use jetlag_record::units::Stamp;
use jetlag_record::wire::{HEAD, Inbox, Message, Outbox};
use jetlag_record::{ActivityBatch, Definition, Event, Phase, TraceRecord};
use serde::{Deserialize, Serialize};

use crate::gather::{Gathered, Raw};

/// Names the folder that spools are written into.
pub const FOLDER: &str = "JETLAG_SPOOL";
/// Says whether graphs are traced as a whole (`whole`), else their nodes.
pub const GRAPHS: &str = "JETLAG_SPOOL_GRAPHS";
/// How names of spools end.
pub const EXTENSION: &str = "spool";
/// Only a library and a program of one version understand each other.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The name of a mark whose payload becomes that of the range around it: the items of a batch, which are known at its end.
pub const ITEMS: &str = "jetlag.items";

/// Digits of [`Began::not_written`]: those of the largest number.
const DIGITS: usize = 20;
/// What stands before them in the first message.
const BEFORE_DIGITS: &str = "\"not_written\":\"";

/// A number of ranges as it stands in the first message.
pub fn not_written(ranges: u64) -> String {
    format!("{ranges:0DIGITS$}")
}

/// Activities of one message.
const BATCH: usize = 4096;
/// Ranges that are kept of a process, and notes of graphs' nodes.
const MOST: usize = 3_000_000;
/// The latest moment that is believed: 73 years after a machine has started.
const LATEST: i64 = i64::MAX / 4;

/// Who writes a spool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Began {
    /// [`VERSION`] of the library.
    pub version: String,
    /// The process, by its number in the system.
    pub process: u32,
    /// The process that started it.
    pub parent: u32,
    /// Its arguments, the program first; what is not UTF-8 is replaced.
    pub arguments: Vec<String>,
    /// When, in the run's clock.
    pub at_ns: i64,
    /// How many ranges could not be written once the disk was full, in 20 digits: where nothing can be added to the file any
    /// more, a number of the same length can still take the place of another.
    pub not_written: String,
}

impl Began {
    /// [`Began::not_written`] as a number, and as none where it is no number.
    fn ranges_not_written(&self) -> u64 {
        self.not_written.parse().unwrap_or(0)
    }
}

/// What went wrong with ranges so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Ranges that found a thread's queue full.
    pub lost: u64,
    /// Ends of ranges that had not begun, and ranges that had no end.
    pub unbalanced: u64,
    /// Ranges beyond what is kept of a process.
    pub not_kept: u64,
    /// Ranges of children of a fork, which have no file of their own.
    pub of_children: u64,
    /// Ranges that came when the disk was full, or the file as long as a file may be.
    pub not_written: u64,
}

/// What happened to a node of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Node {
    /// Made: its number, the thread, the moment.
    Made(u64, u32, u64),
    /// Made as a clone: its number, and that of the other.
    Cloned(u64, u64),
}

impl From<NodeEvent> for Node {
    fn from(event: NodeEvent) -> Self {
        match event {
            NodeEvent::Created {
                node, thread, at_ns, ..
            } => Node::Made(node, thread, at_ns),
            NodeEvent::Cloned { node, of } => Node::Cloned(node, of),
        }
    }
}

impl From<Node> for NodeEvent {
    fn from(node: Node) -> Self {
        match node {
            Node::Made(node, thread, at_ns) => NodeEvent::Created {
                node,
                tag: None,
                thread,
                at_ns,
            },
            Node::Cloned(node, of) => NodeEvent::Cloned { node, of },
        }
    }
}

/// What is said between records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Note {
    /// The first message.
    Began(Began),
    /// Nodes of graphs, in order.
    Nodes(Vec<Node>),
    /// Of the activities that come next: the node of a graph that each was, 0 for none.
    Of(Vec<u64>),
    /// The ranges that come next were started and ended by number, and need not nest.
    Started,
    /// Why the GPU is not traced, in a sentence.
    Untraced(String),
    /// What went wrong so far.
    Counts(Counts),
    /// The process ended in order, and everything is there.
    Ended,
}

/// Writes a spool. What it is told is gathered until [`flush`](Writer::flush).
#[derive(Debug)]
pub struct Writer<W: Write> {
    to: W,
    process: u32,
    outbox: Outbox,
    /// Where the number of ranges that were not written stands in the file.
    digits_at: Option<u64>,
}

impl<W: Write> Writer<W> {
    /// Of this process.
    pub fn new(to: W, began: &Began) -> Self {
        let mut writer = Writer {
            to,
            process: began.process,
            outbox: Outbox::default(),
            digits_at: None,
        };
        let began = Note::Began(Began {
            not_written: not_written(0),
            ..began.clone()
        });
        writer.note(&began);
        let text = serde_json::to_string(&began).unwrap_or_default();
        let place = text
            .rfind(BEFORE_DIGITS)
            .map(|at| HEAD + at + BEFORE_DIGITS.len());
        writer.digits_at = place.and_then(|place| u64::try_from(place).ok());
        writer
    }

    /// Where in the file the number of ranges stands that were not written, in as many bytes as [`not_written`] gives.
    pub fn digits_at(&self) -> Option<u64> {
        self.digits_at
    }

    /// Adds a note.
    pub fn note(&mut self, note: &Note) {
        // Numbers and texts cannot fail to be written.
        if let Ok(text) = serde_json::to_string(note) {
            self.outbox.text(&text);
        }
    }

    /// Adds texts that activities refer to; before them.
    pub fn names(&mut self, names: Vec<Definition>) {
        for name in names {
            self.outbox.event(&Event::Definition(name));
        }
    }

    /// Adds activities.
    pub fn activities(&mut self, all: &[Raw]) {
        for raws in all.chunks(BATCH) {
            if raws.iter().any(|raw| raw.node != 0) {
                self.note(&Note::Of(raws.iter().map(|raw| raw.node).collect()));
            }
            self.outbox.event(&Event::Activities(ActivityBatch {
                phase: Phase::Together,
                process: self.process,
                activities: raws.iter().map(|raw| raw.activity).collect(),
            }));
        }
    }

    /// Adds how it is traced; what was told of it before holds no more.
    pub fn trace(&mut self, trace: &TraceRecord) {
        self.outbox.event(&Event::Trace(trace.clone()));
    }

    /// Writes what was gathered.
    ///
    /// # Errors
    /// The system refuses, as on a disk that is full. What was gathered is gone, and a part of it may have been written.
    pub fn flush(&mut self) -> std::io::Result<()> {
        self.outbox.send(&mut self.to)
    }

    /// Where it writes to.
    pub fn get_ref(&self) -> &W {
        &self.to
    }
}

/// A range, as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The thread that began it.
    pub thread: u32,
    /// When it began.
    pub from: Stamp,
    /// When it ended.
    pub to: Stamp,
    /// Number of its name; none where it has none.
    pub name: Option<u32>,
    /// Number of its domain's name.
    pub domain: Option<u32>,
    /// What it carries.
    pub payload: Option<i64>,
    /// Whether it was started and ended by number, and not pushed and popped.
    pub started: bool,
}

/// What is in a spool, as far as it goes.
#[derive(Debug, Default)]
pub struct Spooled {
    /// Who wrote it.
    pub began: Began,
    /// What was traced of the GPU; names of everything.
    pub gathered: Gathered,
    /// Ranges, in the order in which they ended.
    pub ranges: Vec<Range>,
    /// How it was traced; none where it was not.
    pub trace: Option<TraceRecord>,
    /// Why the GPU was not traced.
    pub untraced: Option<String>,
    /// What went wrong with ranges.
    pub counts: Counts,
    /// Whether it ended in order.
    pub ended: bool,
    /// Why nothing more could be read, where it is not the end.
    pub broken: Option<String>,
}

/// Reads a spool as far as it goes. Its names are numbered as those of the process at this place. `None` where nothing in it was
/// written by a library of this version.
///
/// # Errors
/// The library is of another version: which.
pub fn read(from: impl Read, place: u16) -> Result<Option<Spooled>, String> {
    let mut inbox = Inbox::new(from);
    let began = match inbox.receive() {
        Ok(Some(Message::Text(text))) => match serde_json::from_str(&text) {
            Ok(Note::Began(began)) => began,
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    if began.version != VERSION {
        return Err(began.version);
    }
    let mut reading = Reading {
        found: Spooled {
            began,
            gathered: Gathered::of_process(place),
            ..Spooled::default()
        },
        numbers: HashMap::new(),
        nodes: None,
        started: false,
    };
    loop {
        match inbox.receive() {
            Ok(Some(message)) => reading.take(message),
            Ok(None) => break,
            Err(error) => {
                reading.found.broken = Some(error.to_string());
                break;
            }
        }
    }
    reading.found.counts.not_written = reading.found.began.ranges_not_written();
    Ok(Some(reading.found))
}

struct Reading {
    found: Spooled,
    /// Our number of each name, by the spool's; none beyond what is kept.
    numbers: HashMap<u32, Option<u32>>,
    /// Nodes of the activities that come next.
    nodes: Option<Vec<u64>>,
    /// Whether the ranges that come next were started.
    started: bool,
}

impl Reading {
    fn take(&mut self, message: Message) {
        match message {
            Message::Text(text) => match serde_json::from_str(&text) {
                Ok(note) => self.note(note),
                Err(error) => self.found.broken = Some(format!("an unknown note ({error})")),
            },
            Message::Event(Event::Definition(known)) => self.definition(known),
            Message::Event(Event::Activities(batch)) => self.activities(batch),
            Message::Event(Event::Trace(trace)) => self.found.trace = Some(trace),
            Message::Event(_) => {}
        }
    }

    fn note(&mut self, note: Note) {
        let found = &mut self.found;
        match note {
            Note::Began(_) => {}
            Note::Nodes(nodes) => {
                let room = MOST.saturating_sub(found.gathered.nodes.len());
                let nodes = nodes.into_iter().take(room).map(NodeEvent::from);
                found.gathered.nodes.extend(nodes);
            }
            Note::Of(nodes) => self.nodes = Some(nodes),
            Note::Started => self.started = true,
            Note::Untraced(why) => found.untraced = Some(why),
            Note::Counts(counts) => found.counts = counts,
            Note::Ended => found.ended = true,
        }
    }

    fn definition(&mut self, known: Definition) {
        // As many as a process has names, from two tables.
        if self.numbers.len() < 2 << 20 {
            let number = self.found.gathered.names.number(&known.text.into(), known.launch);
            self.numbers.insert(known.number, number);
        }
    }

    fn number(&self, number: Option<u32>) -> Option<u32> {
        self.numbers.get(&number?).copied().flatten()
    }

    fn activities(&mut self, batch: ActivityBatch) {
        let nodes = self.nodes.take().unwrap_or_default();
        let started = std::mem::take(&mut self.started);
        let nodes = nodes.into_iter().chain(std::iter::repeat(0));
        for (mut activity, node) in batch.activities.into_iter().zip(nodes) {
            activity.name = self.number(activity.name);
            activity.owner = Default::default();
            // Since the machine started: whatever the bytes say, differences of stamps and their sums are numbers.
            activity.from = Stamp(activity.from.0.clamp(0, LATEST));
            activity.to = Stamp(activity.to.0.clamp(activity.from.0, LATEST));
            match activity.work {
                Work::Range {
                    thread,
                    domain,
                    payload,
                } => {
                    if self.found.ranges.len() >= MOST {
                        self.found.counts.not_kept += 1;
                        continue;
                    }
                    let domain = self.number(domain);
                    self.found.ranges.push(Range {
                        thread,
                        from: activity.from,
                        to: activity.to,
                        name: activity.name,
                        domain,
                        payload,
                        started,
                    });
                }
                _ => self.found.gathered.keep(Raw { activity, node }),
            }
        }
    }
}

/// The bytes of a name as a text: what is not UTF-8 is replaced, and what is longer than [`cupti_dyn::text::MOST_BYTES`] cut.
pub fn text(bytes: &[u8]) -> Arc<str> {
    let most = cupti_dyn::text::MOST_BYTES;
    match bytes.len() > most {
        true => {
            let mut text = String::from_utf8_lossy(&bytes[..most]).into_owned();
            text.push('…');
            text.into()
        }
        false => String::from_utf8_lossy(bytes).into(),
    }
}

#[cfg(test)]
mod tests;
