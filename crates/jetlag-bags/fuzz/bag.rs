//! Reads a bag in every way.

use std::io::Write;

use jetlag_bags::{Bag, By, Limits, Select};
use jetlag_record::units::{Bytes, Nanos};

/// Of a file that begins with `magic`, whether or not the content does.
pub fn read(magic: &[u8], content: &[u8]) {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    let content = content.strip_prefix(magic).unwrap_or(content);
    file.write_all(magic)
        .and_then(|()| file.write_all(content))
        .expect("room for it");
    let limits = Limits {
        messages: 10_000,
        message_bytes: Bytes(1 << 20),
        chunk_bytes: Bytes(1 << 20),
        unpacked_bytes: Bytes(1 << 20),
        wait: Nanos::ZERO,
    };
    let Ok(bag) = Bag::open(file.path(), &limits) else {
        return;
    };
    let _ = bag.summary();
    let (mut reader, mut message) = (bag.reader(), Vec::new());
    for topic in bag.topics() {
        for entry in topic.entries() {
            let _ = reader.read(entry, &mut message);
            assert!(message.len() <= 2 << 20);
        }
        let _ = bag.index(
            topic.name(),
            Select {
                by: By::Header,
                ..Select::default()
            },
        );
    }
}
