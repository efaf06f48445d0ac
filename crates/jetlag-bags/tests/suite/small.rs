//! Messages of a few bytes, which are read several at a time: in any order, beside large ones, while somebody writes.

use jetlag_bags::message::{Encoding, Image};
use jetlag_bags::write::{Format, Message};
use jetlag_bags::{Bag, BagWriter, By, Entry, Reader, Select, Time};
use proptest::collection::vec;
use proptest::prelude::{any, prop_assert, proptest};
use rusqlite::Connection;

use crate::bags::{FORMATS, IMAGES, START, content, header, open, write_image};

const SMALL: &str = "/small";
const OTHER: &str = "/other";
const COUNT: usize = 3000;

fn write_small(writer: &mut BagWriter, topic: &str, n: usize) {
    let time = Time(START + n as i64 * 1_000_000);
    let data = content(20 + n % 180, n);
    let image = Image {
        header: header(time),
        width: data.len() as u32,
        height: 1,
        encoding: Encoding::Mono8,
        is_big_endian: false,
        step: data.len() as u32,
        data: &data,
    };
    writer.write(topic, time, &Message::Image(image)).unwrap();
}

/// Small messages of two topics, and an image now and then.
fn bag(folder: &std::path::Path, format: Format) -> Bag {
    let mut writer = BagWriter::create(&folder.join("bag"), format).unwrap();
    for n in 0..COUNT {
        write_small(&mut writer, SMALL, n);
        if n % 3 == 0 {
            write_small(&mut writer, OTHER, n);
        }
        if n % 500 == 7 {
            write_image(&mut writer, n, Time(START + n as i64 * 1_000_000));
        }
    }
    writer.finish().unwrap();
    open(&folder.join("bag"))
}

fn is_right(reader: &mut Reader, entry: &Entry, message: &mut Vec<u8>) -> bool {
    reader.read(entry, message).unwrap();
    let image = Image::decode(message).unwrap();
    let n = ((entry.log_time().0 - START) / 1_000_000) as usize;
    image.header.stamp == entry.log_time() && image.data == content(20 + n % 180, n)
}

#[test]
fn they_come_in_order_in_turns_and_by_either_time() {
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let bag = bag(folder.path(), format);
        let (mut reader, mut message) = (bag.reader(), Vec::new());
        let [small, other, images] =
            [SMALL, OTHER, IMAGES].map(|topic| bag.index(topic, Select::default()).unwrap());
        for topic in [&small, &other] {
            for entry in topic.entries() {
                assert!(is_right(&mut reader, entry, &mut message), "{format:?}");
            }
        }
        // By time, as a copy takes them.
        let mut all: Vec<&Entry> = small.entries().iter().chain(other.entries()).collect();
        all.extend(images.entries());
        all.sort_by_key(|entry| entry.log_time());
        for entry in all {
            reader.read(entry, &mut message).unwrap();
            let image = Image::decode(&message).unwrap();
            let n = ((entry.log_time().0 - START) / 1_000_000) as usize;
            let length = if image.height == 48 {
                64 * 48 * 3
            } else {
                20 + n % 180
            };
            assert!(image.data == content(length, n), "{format:?}");
        }
        let stamps = Select {
            by: By::Header,
            ..Select::default()
        };
        let by_header = bag.index(SMALL, stamps).unwrap();
        let is_equal = (0..COUNT).all(|n| by_header.time(n) == small.time(n));
        assert!(is_equal, "{format:?}");
    }
}

proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(12))]

    #[test]
    fn they_come_in_any_order(
        format in 0..FORMATS.len(),
        jumps in vec((0..COUNT, 0..60usize, any::<bool>()), 1..60),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let bag = bag(folder.path(), FORMATS[format]);
        let topics = [SMALL, OTHER].map(|topic| bag.index(topic, Select::default()).unwrap());
        let (mut reader, mut message) = (bag.reader(), Vec::new());
        for (at, length, is_other) in jumps {
            let entries = topics[usize::from(is_other)].entries();
            let at = at % entries.len();
            for entry in entries.iter().skip(at).take(length) {
                prop_assert!(is_right(&mut reader, entry, &mut message));
            }
        }
    }
}

#[test]
fn whoever_writes_a_database_is_not_kept_from_it_between_two_messages() {
    let folder = tempfile::tempdir().unwrap();
    let bag = bag(folder.path(), Format::Sqlite3);
    let writer = Connection::open(&bag.summary().files[0].path).unwrap();
    writer.busy_timeout(std::time::Duration::ZERO).unwrap();
    let index = bag.index(SMALL, Select::default()).unwrap();
    let (mut reader, mut message) = (bag.reader(), Vec::new());
    for (n, entry) in index.entries().iter().enumerate() {
        assert!(is_right(&mut reader, entry, &mut message));
        if n % 700 == 300 {
            let insert = "INSERT INTO messages (topic_id, timestamp, data) VALUES (1, 2, x'00010000')";
            assert_eq!(writer.execute(insert, []), Ok(1));
        }
    }
}

#[test]
fn rows_that_are_gone_or_of_other_kinds_are_errors_and_those_around_them_come() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.db3");
    let writer = Connection::open(&path).unwrap();
    let table = "CREATE TABLE topics(id INTEGER PRIMARY KEY, name, type, serialization_format);
        CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id, timestamp, data);
        INSERT INTO topics VALUES (7, '/a', 'x/msg/Y', 'cdr');
        WITH RECURSIVE n(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM n WHERE x < 99)
        INSERT INTO messages SELECT x - 50, 7, x, CASE
            WHEN x % 10 = 3 THEN 'text' WHEN x % 10 = 5 THEN 1234 WHEN x % 10 = 7 THEN zeroblob(5000) ELSE x'00010000' END FROM n";
    writer.execute_batch(table).unwrap();
    let bag = open(&path);
    writer
        .execute_batch("DELETE FROM messages WHERE id % 10 = 0")
        .unwrap();
    let (mut reader, mut message) = (bag.reader(), Vec::new());
    for (n, entry) in bag.topics()[0].entries().iter().enumerate() {
        let length = reader.read(entry, &mut message).ok().map(|()| message.len());
        let wanted = match n % 10 {
            0 | 5 => None,
            7 => Some(5000),
            _ => Some(4),
        };
        assert_eq!(length, wanted, "{n}");
    }
}
