//! A bag as another: every message, type and definition as it is. Messages come in the order in which they were logged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use jetlag_bags::write::{BagWriter, RawTopic};
use jetlag_bags::{Bag, Topic};

use super::{ConvertError, Converted, Progress};

/// How many messages that cannot be read are told one by one.
const TOLD: u64 = 5;

/// Copies these topics, or all where none is named.
///
/// # Errors
/// The bag cannot be written. Messages that cannot be read are told, counted and left out.
pub(super) fn copy(
    from: &Bag,
    topics: &[String],
    mut to: BagWriter,
    progress: Progress<'_>,
) -> Result<Converted, ConvertError> {
    let wanted = |topic: &&Topic| topics.is_empty() || topics.iter().any(|name| name == topic.name());
    let chosen: Vec<&Topic> = from.topics().iter().filter(wanted).collect();
    let mut numbers = Vec::with_capacity(chosen.len());
    for topic in &chosen {
        numbers.push(to.describe(&RawTopic {
            name: topic.name(),
            kind: topic.kind(),
            serialization: topic.serialization(),
            definition: topic.definition(),
            qos: topic.qos(),
        })?);
    }
    let of = chosen.iter().map(|topic| topic.entries().len() as u64).sum();
    // The next message of each topic: they are sorted, and of one time the topics' order counts.
    let next = |topic: usize, entry: usize| {
        let time = chosen[topic].entries().get(entry)?.log_time();
        Some(Reverse((time, topic, entry)))
    };
    let mut heads: BinaryHeap<_> = (0..chosen.len()).filter_map(|topic| next(topic, 0)).collect();
    let (mut reader, mut message) = (from.reader(), Vec::new());
    let mut done = Converted {
        topics: chosen.len() as u64,
        missing: from.summary().missing(),
        ..Converted::default()
    };
    while let Some(Reverse((time, topic, entry))) = heads.pop() {
        heads.extend(next(topic, entry + 1));
        match reader.read(&chosen[topic].entries()[entry], &mut message) {
            Ok(()) => {
                to.write_raw(numbers[topic], time, &message)?;
                done.messages += 1;
            }
            Err(error) => {
                done.lost += 1;
                if done.lost <= TOLD {
                    log::warn!("message {entry} of {} is left out: {error}", chosen[topic].name());
                }
            }
        }
        progress(done.messages + done.lost, of);
    }
    to.finish()?;
    Ok(done)
}
