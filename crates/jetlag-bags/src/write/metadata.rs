//! `metadata.yaml` of the fifth version, as ROS 2 Humble writes it.

use std::fmt::Write;

use crate::time::Time;

/// The version of the file.
pub(super) const VERSION: u32 = 5;

/// A topic that was written.
pub(super) struct Written {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) serialization: String,
    pub(super) qos: String,
    pub(super) count: u64,
}

/// The content below `rosbag2_bagfile_information`; `is_packed` where each message is compressed by itself.
pub(super) fn text(
    storage: &str,
    is_packed: bool,
    file: &str,
    topics: &[Written],
    span: Option<(Time, Time)>,
) -> String {
    let (first, last) = span.unwrap_or_default();
    let (start, duration) = (first.0, last.since(first).0);
    let messages: u64 = topics.iter().map(|topic| topic.count).sum();
    let mut text = format!(
        "version: {VERSION}\nstorage_identifier: {storage}\nduration:\n  nanoseconds: {duration}\nstarting_time:\n  \
         nanoseconds_since_epoch: {start}\nmessage_count: {messages}\n"
    );
    text += if topics.is_empty() {
        "topics_with_message_count: []\n"
    } else {
        "topics_with_message_count:\n"
    };
    for topic in topics {
        let [name, kind, serialization, qos] =
            [&topic.name, &topic.kind, &topic.serialization, &topic.qos].map(|text| quoted(text));
        let count = topic.count;
        // Writing to a text does not fail.
        let _ = write!(
            text,
            "  - topic_metadata:\n      name: {name}\n      type: {kind}\n      serialization_format: {serialization}\n      \
             offered_qos_profiles: {qos}\n    message_count: {count}\n"
        );
    }
    let file = quoted(file);
    let (format, mode) = if is_packed { ("zstd", "MESSAGE") } else { ("", "") };
    let _ = write!(
        text,
        "compression_format: \"{format}\"\ncompression_mode: \"{mode}\"\nrelative_file_paths:\n  - {file}\nfiles:\n  - path: {file}\n    \
         starting_time:\n      nanoseconds_since_epoch: {start}\n    duration:\n      nanoseconds: {duration}\n    \
         message_count: {messages}\n"
    );
    text
}

/// The whole file.
pub(super) fn file(content: &str) -> String {
    let lines = content.lines().map(|line| format!("  {line}\n"));
    format!("rosbag2_bagfile_information:\n{}", lines.collect::<String>())
}

/// As YAML quotes text that may hold anything.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            control if control.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted + "\""
}
