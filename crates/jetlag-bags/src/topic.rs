//! A topic of a bag: what its messages are, how many and how often.

use std::sync::Arc;

use jetlag_record::units::Nanos;
use serde::Serialize;

use crate::compression::Compression;
use crate::contents::{Entry, TopicContents};
use crate::definition::Definition;
use crate::order::{Gap, Order};
use crate::time::Time;

/// Messages within less than this have no rate: a recorder's own delays are as long.
const LEAST_SPAN: Nanos = Nanos::from_millis(10);
/// Fewer gaps between messages than this are no rate.
const LEAST_GAPS: usize = 2;

/// A topic of a bag.
#[derive(Debug)]
pub struct Topic {
    name: String,
    kind: String,
    serialization: String,
    definition: Option<Arc<Definition>>,
    qos: String,
    compression: Vec<Compression>,
    /// By log time.
    entries: Vec<Entry>,
    /// Of the log times as they were stored.
    stored_order: Order,
    bytes: u64,
}

impl Topic {
    pub(crate) fn of(contents: TopicContents) -> Topic {
        let mut entries = contents.entries;
        entries.shrink_to_fit();
        let mut stored_order = Order::of(entries.iter().map(|entry| entry.log_time));
        if stored_order.backwards > 0 {
            // Stable: messages of one time stay in the order in which they were stored.
            entries.sort_by_key(|entry| entry.log_time);
            let sorted = Order::of(entries.iter().map(|entry| entry.log_time));
            (stored_order.jumps, stored_order.longest_gap) = (sorted.jumps, sorted.longest_gap);
        }
        let kind = match contents.serialization.as_str() {
            "cdr" => of_ros_2(contents.kind),
            _ => contents.kind,
        };
        Topic {
            name: contents.name,
            kind,
            serialization: contents.serialization,
            definition: contents.definition,
            qos: contents.qos,
            compression: contents.compression,
            bytes: entries.iter().map(Entry::bytes).sum(),
            entries,
            stored_order,
        }
    }

    pub(crate) fn note(&mut self, compression: Compression) {
        if !self.compression.contains(&compression) {
            self.compression.push(compression);
        }
        if self.compression.len() > 1 {
            self.compression
                .retain(|compression| *compression != Compression::None);
        }
        self.compression.sort_unstable();
    }

    /// The topic's name, such as `/camera/image_raw`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of its messages, such as `sensor_msgs/msg/Image`; empty where the file does not say.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// How the messages are serialised: `cdr` in bags of ROS 2.
    pub fn serialization(&self) -> &str {
        &self.serialization
    }

    /// What its messages are, where the file tells; SQLite's tell since ROS 2 Iron.
    pub fn definition(&self) -> Option<&Definition> {
        self.definition.as_deref()
    }

    /// `offered_qos_profiles`, as the bag has it: YAML, or empty.
    pub fn qos(&self) -> &str {
        &self.qos
    }

    /// All messages by log time; those of one time in the order in which they were stored.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// How its log times follow each other: steps back as they were stored, gaps once they are sorted.
    pub fn order(&self) -> Order {
        self.stored_order
    }

    /// Log times of the first and the last message.
    pub fn span(&self) -> Option<(Time, Time)> {
        Some((self.entries.first()?.log_time, self.entries.last()?.log_time))
    }

    /// Where its messages lie so far apart that a clock was set between them.
    pub fn gap(&self) -> Option<Gap> {
        Gap::of(self.entries.iter().map(|entry| entry.log_time))
    }

    /// What `inspect` shows of it.
    pub fn summary(&self) -> TopicSummary {
        let span = self.span();
        let steps = self.entries.len().saturating_sub(1);
        let lasts = span.map_or(Nanos::ZERO, |(first, last)| last.since(first));
        // A clock that was not set yet is no part of a rate.
        let unset = self.gap().map_or(Nanos::ZERO, |gap| gap.length);
        let steps_of_rate = steps - usize::from(unset > Nanos::ZERO);
        TopicSummary {
            name: self.name.clone(),
            kind: self.kind.clone(),
            serialization: self.serialization.clone(),
            messages: self.entries.len() as u64,
            bytes: self.bytes,
            compression: self.compression.clone(),
            first: span.map(|(first, _)| first),
            last: span.map(|(_, last)| last),
            rate_hz: rate_hz(steps_of_rate, lasts - unset),
            longest_gap: (steps > 0).then_some(self.stored_order.longest_gap),
            jumps: self.stored_order.jumps,
            backwards: self.stored_order.backwards,
            largest_step_back: self.stored_order.largest_step_back,
        }
    }
}

/// `sensor_msgs/Image`, as ROS 1 and some writers of MCAP have it, is `sensor_msgs/msg/Image`.
fn of_ros_2(kind: String) -> String {
    match kind.split_once('/') {
        Some((package, name)) if !name.contains('/') => format!("{package}/msg/{name}"),
        _ => kind,
    }
}

/// A second, of so many gaps within a time.
fn rate_hz(gaps: usize, lasts: Nanos) -> Option<f64> {
    (lasts >= LEAST_SPAN && gaps >= LEAST_GAPS).then(|| gaps as f64 / lasts.as_secs_f64())
}

/// What there is to say of a topic. Times are those of the log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TopicSummary {
    /// The topic's name.
    pub name: String,
    /// The type of its messages; empty where the file does not say.
    #[serde(rename = "type")]
    pub kind: String,
    /// How the messages are serialised.
    pub serialization: String,
    /// How many messages it has.
    pub messages: u64,
    /// Bytes of all messages as stored; see [`Entry::bytes`] for compressed MCAP files.
    pub bytes: u64,
    /// How they are compressed; several where files differ or compression is nested.
    pub compression: Vec<Compression>,
    /// When the first message was logged.
    #[serde(rename = "first_ns")]
    pub first: Option<Time>,
    /// When the last message was logged.
    #[serde(rename = "last_ns")]
    pub last: Option<Time>,
    /// Messages a second between the first and the last. None for fewer than three, since one gap is no rate, and where all lie
    /// within 10 ms: such times are those of whoever wrote the bag, and not of a sensor.
    pub rate_hz: Option<f64>,
    /// The longest time between two messages; none for fewer than two.
    #[serde(rename = "longest_gap_ns")]
    pub longest_gap: Option<Nanos>,
    /// How many times between two messages are longer than five times the median.
    pub jumps: u64,
    /// How many messages are stored behind one that was logged later.
    pub backwards: u64,
    /// The most that one of them is earlier.
    #[serde(rename = "largest_step_back_ns")]
    pub largest_step_back: Nanos,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_shown_where_times_support_one() {
        assert_eq!(rate_hz(2, Nanos::from_millis(200)), Some(10.0));
        assert_eq!(rate_hz(1, Nanos::from_millis(100)), None, "one gap");
        assert_eq!(rate_hz(165, Nanos(411)), None, "written at once");
        assert_eq!(rate_hz(0, Nanos::ZERO), None);
    }
}
