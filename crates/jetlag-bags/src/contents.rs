//! What the search through one file found: its topics and where each of their messages is.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::BagError;
use crate::completeness::Loss;
use crate::compression::Compression;
use crate::definition::Definition;
use crate::limits::{DEFINITIONS, TOPICS};
use crate::time::Time;

/// Where a message is, and when it was logged. It belongs to the bag that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub(crate) log_time: Time,
    /// Of a message of its own: its first byte in the file. In a compressed chunk: of its record, in the decompressed chunk. In
    /// a database: its row number.
    pub(crate) place: u64,
    /// Of the message in the file; in a compressed chunk, at most that.
    pub(crate) length: u32,
    /// Which file of the bag.
    pub(crate) file: u32,
    /// Which chunk of the file; [`NO_CHUNK`] for a message that is read directly.
    pub(crate) chunk: u32,
}

/// For messages in no chunk, or in one that is not compressed.
pub(crate) const NO_CHUNK: u32 = u32::MAX;

impl Entry {
    /// When the recorder received the message.
    pub fn log_time(&self) -> Time {
        self.log_time
    }

    /// Bytes of the message as stored. In a compressed chunk of an indexed MCAP file this is taken from the distance to the next
    /// message: descriptions of topics between two messages count with the first.
    pub fn bytes(&self) -> u64 {
        u64::from(self.length)
    }
}

/// A topic in one file.
#[derive(Debug)]
pub(crate) struct TopicContents {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) serialization: String,
    /// What its messages are, where the file tells.
    pub(crate) definition: Option<Arc<Definition>>,
    /// `offered_qos_profiles` as stored.
    pub(crate) qos: String,
    pub(crate) entries: Vec<Entry>,
    pub(crate) compression: Vec<Compression>,
}

impl TopicContents {
    pub(crate) fn note(&mut self, compression: Compression) {
        if !self.compression.contains(&compression) {
            self.compression.push(compression);
        }
    }
}

/// What is in one file.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// By the number that the file gives each: a channel's, or that of a row of `topics`.
    pub(crate) topics: BTreeMap<i64, TopicContents>,
    pub(crate) losses: Vec<Loss>,
    pub(crate) messages: u64,
    /// Files whose checksums were not looked at, since they are too long for that: this one, or none.
    pub(crate) unchecked: u64,
    /// How many more messages may come.
    left: u64,
    limit: u64,
    /// Bytes of definitions that were kept.
    definitions: usize,
}

impl Contents {
    /// Of a bag in which `before` messages were found before this file, of at most `limit`.
    pub(crate) fn new(limit: u64, before: u64) -> Contents {
        Contents {
            left: limit.saturating_sub(before),
            limit,
            ..Contents::default()
        }
    }

    /// A definition to be kept, unless those before it take too much memory already.
    pub(crate) fn definition(&mut self, encoding: &[u8], text: &[u8]) -> Option<Arc<Definition>> {
        let together = self.definitions.saturating_add(text.len());
        if text.is_empty() || together > DEFINITIONS {
            return None;
        }
        self.definitions = together;
        Some(Arc::new(Definition {
            encoding: String::from_utf8_lossy(encoding).into_owned(),
            text: text.to_owned(),
        }))
    }

    /// Notes a topic; a second description of the same number changes nothing.
    pub(crate) fn describe(
        &mut self,
        path: &Path,
        number: i64,
        topic: impl FnOnce() -> TopicContents,
    ) -> Result<(), BagError> {
        if self.topics.len() >= TOPICS && !self.topics.contains_key(&number) {
            return Err(BagError::TooMany {
                path: path.to_owned(),
                what: "topics",
                limit: TOPICS,
            });
        }
        self.topics.entry(number).or_insert_with(topic);
        Ok(())
    }

    /// Notes a message; whether its topic is known.
    pub(crate) fn add(
        &mut self,
        path: &Path,
        number: i64,
        entry: Entry,
        compression: Compression,
    ) -> Result<bool, BagError> {
        let Some(topic) = self.topics.get_mut(&number) else {
            return Ok(false);
        };
        if self.messages >= self.left {
            return Err(BagError::TooManyMessages {
                path: path.to_owned(),
                limit: self.limit,
            });
        }
        self.messages += 1;
        topic.note(compression);
        topic.entries.push(entry);
        Ok(true)
    }
}
