//! Bags that are cut off or damaged: whatever is read is right, and nothing panics.

use std::path::Path;

use jetlag_bags::message::{CameraInfo, Image, transforms};
use jetlag_bags::pixels::to_rgb;
use jetlag_bags::write::{ChunkCompression, Format};
use jetlag_bags::{Bag, By, Limits, Points, Select, Want};
use jetlag_record::units::{Bytes, Nanos};
use nvidia_doubles::machine;

use crate::bags::{FORMATS, messages, open, write};

fn limits() -> Limits {
    Limits {
        messages: 100_000,
        message_bytes: Bytes(4 << 20),
        chunk_bytes: Bytes(8 << 20),
        unpacked_bytes: Bytes(64 << 20),
        checked_bytes: Bytes(64 << 20),
        wait: Nanos::ZERO,
    }
}

/// Reads all that can be read in every way; how many messages that were.
fn exhaust(path: &Path) -> Option<usize> {
    let bag = Bag::open(path, &limits()).ok()?;
    let (read, _) = messages(&bag);
    for (_, _, message) in &read {
        let _ = Points::default().decode(
            message,
            Want {
                ring: true,
                time: true,
            },
        );
        let _ = Image::decode(message).map(|image| to_rgb(&image, &mut Vec::new()));
        let _ = CameraInfo::decode(message);
        let _ = transforms(message);
    }
    for topic in bag.topics() {
        let by_header = Select {
            by: By::Header,
            ..Select::default()
        };
        let _ = bag.index(topic.name(), by_header);
    }
    assert!(!serde_json::to_string(&bag.summary()).unwrap().is_empty());
    Some(read.len())
}

#[test]
fn of_a_file_that_is_cut_anywhere_whole_messages_are_read() {
    for compression in [
        ChunkCompression::None,
        ChunkCompression::Zstd,
        ChunkCompression::Lz4,
    ] {
        let folder = tempfile::tempdir().unwrap();
        let file = write(&folder.path().join("bag"), Format::Mcap(compression), 150);
        let bytes = std::fs::read(&file).unwrap();
        let (mut all, _) = messages(&open(&file));
        all.sort();
        let path = folder.path().join("cut.mcap");
        let mut before = 0;
        let cuts = (0..200)
            .map(|n| bytes.len() * n / 200)
            .chain(bytes.len() - 60..bytes.len());
        for cut in cuts {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let Ok(bag) = Bag::open(&path, &limits()) else {
                assert!(cut < 8, "{compression:?} at {cut}");
                continue;
            };
            let (read, refused) = messages(&bag);
            assert_eq!(refused, 0, "{compression:?} at {cut}");
            assert!(read.iter().all(|message| all.binary_search(message).is_ok()));
            assert!(
                read.len() >= before,
                "{compression:?} at {cut}: {} after {before}",
                read.len()
            );
            before = read.len();
            if before < all.len() {
                let text = bag.completeness().losses.first().map(ToString::to_string);
                assert!(
                    text.is_some_and(|text| text.contains("cut off or not closed")),
                    "{compression:?} at {cut}"
                );
            }
        }
        assert_eq!(before, all.len(), "{compression:?}");
        // The last chunk is salvaged as far as it decompresses.
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        let half = exhaust(&path).unwrap();
        assert!(half > all.len() / 3, "{compression:?}: {half} of {}", all.len());
    }
}

#[test]
fn a_database_that_is_cut_anywhere_gives_what_is_there_or_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(&folder.path().join("bag"), Format::Sqlite3, 60);
    let bytes = std::fs::read(&file).unwrap();
    let path = folder.path().join("cut.db3");
    let mut most = 0;
    for cut in (0..bytes.len()).step_by(bytes.len() / 150) {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        if let Ok(bag) = Bag::open(&path, &limits()) {
            let (read, _) = messages(&bag);
            assert!(!bag.completeness().is_whole(), "{cut} of {}", bytes.len());
            most = most.max(read.len());
        }
    }
    assert!(
        most > 60,
        "of 120 messages, {most} are read from most of the file"
    );
}

#[test]
fn bytes_that_are_changed_give_messages_or_errors() {
    let mut random = 1u64;
    let mut next = |below: usize| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let file = write(&folder.path().join("bag"), format, 12);
        let bytes = std::fs::read(&file).unwrap();
        let path = folder.path().join("changed.bag");
        for round in 0..300 {
            let mut changed = bytes.clone();
            for _ in 0..=next(4) {
                // Where the structure is: at the ends, and anywhere.
                let at = match round % 3 {
                    0 => next(600.min(changed.len())),
                    1 => changed.len() - 1 - next(900.min(changed.len())),
                    _ => next(changed.len()),
                };
                changed[at] = [0, 1, 0x7f, 0xff, next(256) as u8][next(5)];
            }
            std::fs::write(&path, &changed).unwrap();
            exhaust(&path);
        }
    }
}

/// Changes one bit at many places; each is told, or all messages are what they were.
#[test]
fn no_change_of_a_bag_with_checksums_is_silent() {
    for compression in [
        ChunkCompression::None,
        ChunkCompression::Zstd,
        ChunkCompression::Lz4,
    ] {
        let folder = tempfile::tempdir().unwrap();
        let file = write(&folder.path().join("bag"), Format::Mcap(compression), 12);
        let bytes = std::fs::read(&file).unwrap();
        let (all, _) = messages(&open(&file));
        let path = folder.path().join("changed.mcap");
        let mut told = 0;
        for n in 0..240 {
            let mut changed = bytes.clone();
            // The ends have the structure.
            let at = match n % 3 {
                0 => 8 + n * 3,
                1 => bytes.len() - 9 - n * 3,
                _ => 8 + (bytes.len() - 17) * n / 240,
            };
            changed[at] ^= 1 << (n % 8);
            std::fs::write(&path, &changed).unwrap();
            let Ok(bag) = Bag::open(&path, &limits()) else {
                told += 1;
                continue;
            };
            let (read, refused) = messages(&bag);
            let is_told = refused > 0 || !bag.completeness().is_whole();
            told += usize::from(is_told);
            let messages = |of: &[(String, jetlag_bags::Time, Vec<u8>)]| -> Vec<Vec<u8>> {
                of.iter().map(|(_, _, message)| message.clone()).collect()
            };
            assert!(
                is_told || messages(&read) == messages(&all),
                "{compression:?}: a changed bit at byte {at} of {}",
                bytes.len()
            );
        }
        assert!(told > 80, "{compression:?}: {told} of 240");
    }
}

#[test]
fn no_message_of_a_database_is_lost_in_silence() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(&folder.path().join("bag"), Format::Sqlite3, 20);
    // Small messages, many in a page.
    let writer = rusqlite::Connection::open(&file).unwrap();
    let insert = "INSERT INTO messages (topic_id, timestamp, data) \
                  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500) \
                  SELECT 1, 2000000000000000000 + i, zeroblob(60) FROM n";
    writer.execute_batch(insert).unwrap();
    drop(writer);
    let bytes = std::fs::read(&file).unwrap();
    let all = messages(&open(&file)).0.len();
    let path = folder.path().join("changed.db3");
    let page = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    let pages = bytes.len() / page;
    assert!(pages > 20, "{pages}");
    let (mut lossy, mut silent) = (0, Vec::new());
    for n in 0..600 {
        let mut changed = bytes.clone();
        let (one, other) = (n * 7 % pages * page, (n * 13 + 1) % pages * page);
        let (place, bit) = (n / 6, 1 << (n / 6 % 8));
        let what = match n % 6 {
            // The head of a page has how many rows it holds, or how many pages are below it.
            0 => {
                changed[one + 4] = changed[one + 4].saturating_sub(1);
                "a row less"
            }
            1 => {
                changed[one + place % 8] ^= 1 << (n / 48 % 8);
                "a bit of a page's head"
            }
            2 => {
                changed[one + 8 + place] ^= bit;
                "a bit of where a page's rows are"
            }
            3 => {
                changed[one..one + page].fill(0);
                "a page of zeros"
            }
            4 => {
                changed.copy_within(one..one + page, other);
                "a page twice"
            }
            _ => {
                let at = n * 4_099 % bytes.len();
                changed[at] ^= bit;
                "a bit anywhere"
            }
        };
        std::fs::write(&path, &changed).unwrap();
        let Ok(bag) = Bag::open(&path, &limits()) else {
            continue;
        };
        let (read, refused) = messages(&bag);
        if read.len() < all {
            lossy += 1;
            if refused == 0 && bag.completeness().is_whole() {
                silent.push((n, what, read.len()));
            }
        }
    }
    assert!(lossy > 100, "{lossy}");
    assert!(
        silent.is_empty(),
        "{} of {lossy} of {all} messages: {silent:?}",
        silent.len()
    );
}

#[test]
fn a_chunk_whose_length_is_wrong_is_told() {
    for compression in [ChunkCompression::None, ChunkCompression::Zstd] {
        let folder = tempfile::tempdir().unwrap();
        let file = write(&folder.path().join("bag"), Format::Mcap(compression), 150);
        let mut bytes = std::fs::read(&file).unwrap();
        let summary = mcap::Summary::read(&bytes).unwrap().unwrap();
        let second = &summary.chunk_indexes[1];
        let name = second.compression.len();
        // Prefix, times, size, checksum and the compression's name come before it.
        let at = second.chunk_start_offset as usize + 9 + 16 + 8 + 4 + 4 + name;
        bytes[at..at + 8].fill(0xff);
        let path = folder.path().join("changed.mcap");
        std::fs::write(&path, &bytes).unwrap();
        let bag = open(&path);
        assert!(!bag.completeness().is_whole(), "{compression:?}");
    }
}

#[test]
fn a_file_that_is_too_long_to_be_checked_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(
        &folder.path().join("bag"),
        Format::Mcap(ChunkCompression::None),
        12,
    );
    let short = Limits {
        checked_bytes: Bytes(1000),
        ..Limits::default()
    };
    assert_eq!(Bag::open(&file, &short).unwrap().summary().unchecked_files, 1);
    assert_eq!(open(&file).summary().unchecked_files, 0);
}

#[test]
fn real_bags_are_cut_and_changed_without_a_panic() {
    let Some(folder) = machine::shared("data/sensors/bags") else {
        return;
    };
    let copies = tempfile::tempdir().unwrap();
    let copy = copies.path().join("bag");
    for name in [
        "nuscenes_zstd.mcap",
        "nuscenes_mcap/nuscenes_mcap.mcap",
        "kitti_sqlite3/kitti_sqlite3.db3",
        "public_rosbag2/cdr_test_mcap/cdr_test_0.mcap",
        "public_rosbag2/cdr_test_sqlite3/cdr_test_0.db3",
        "public_rosbag2/wbag_mcap/wbag_0.mcap",
        "public_rosbag2/wbag_sqlite3/wbag_0.db3",
        "public_rosbags_rs/test_bag_mcap/test_bag_mcap.mcap",
        "public_rosbags_rs/test_bag_sqlite3/test_bag_sqlite3.db3",
    ] {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        for n in 0..60 {
            std::fs::write(&copy, &bytes[..bytes.len() * n / 60]).unwrap();
            exhaust(&copy);
            let mut changed = bytes.clone();
            let at = bytes.len() * n / 60;
            changed[at] ^= 0xff;
            std::fs::write(&copy, &changed).unwrap();
            exhaust(&copy);
        }
    }
}

#[test]
fn a_damaged_chunk_is_passed_over_and_the_rest_is_read() {
    for compression in [ChunkCompression::Zstd, ChunkCompression::Lz4] {
        let folder = tempfile::tempdir().unwrap();
        let file = write(&folder.path().join("bag"), Format::Mcap(compression), 150);
        let mut bytes = std::fs::read(&file).unwrap();
        let (all, _) = messages(&open(&file));
        // Within the second chunk: the first one describes the topics.
        let summary = mcap::Summary::read(&bytes).unwrap().unwrap();
        let second = summary.chunk_indexes[1].chunk_start_offset as usize;
        bytes[second + 2000..second + 2100].fill(0x55);
        let path = folder.path().join("damaged.mcap");
        std::fs::write(&path, &bytes).unwrap();
        let bag = open(&path);
        let (read, refused) = messages(&bag);
        let text = bag.completeness().losses[0].to_string();
        let lost = all.len() - read.len();
        assert!(
            refused == 0 && text.contains(&format!("{lost} messages there are left out")),
            "with its index, the messages are counted: {text}"
        );
        // Without the index.
        std::fs::write(&path, &bytes[..bytes.len() - 30]).unwrap();
        let bag = open(&path);
        let (read, refused) = messages(&bag);
        assert!(!read.is_empty() && read.len() < all.len() && refused == 0);
        let text = bag.completeness().losses[0].to_string();
        assert!(
            text.contains("is damaged at byte") && text.contains("passed over"),
            "{text}"
        );
    }
}

#[test]
fn a_split_bag_with_a_file_missing_says_so_and_reads_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let bag = folder.path().join("bag");
    let one = write(&bag, FORMATS[0], 5);
    std::fs::copy(&one, bag.join("bag_1.mcap")).unwrap();
    std::fs::write(bag.join("bag_2.mcap"), "").unwrap();
    let yaml = bag.join("metadata.yaml");
    let text = std::fs::read_to_string(&yaml).unwrap();
    let text = text.replace(
        "    - \"bag_0.mcap\"\n",
        "    - bag_0.mcap\n    - bag_1.mcap\n    - bag_2.mcap\n    - bag_3.mcap\n",
    );
    std::fs::write(
        &yaml,
        text.replace("message_count: 10\n  topics", "message_count: 40\n  topics"),
    )
    .unwrap();
    let opened = open(&bag);
    assert_eq!(messages(&opened).0.len(), 20);
    let losses: Vec<String> = opened
        .completeness()
        .losses
        .iter()
        .map(ToString::to_string)
        .collect();
    let has = |part: &str| losses.iter().any(|loss| loss.contains(part));
    assert!(
        has("bag_2.mcap") && has("bag_3.mcap") && has("counts 40 messages, and 20 are there"),
        "{losses:?}"
    );
    std::fs::remove_file(one).unwrap();
    std::fs::remove_file(bag.join("bag_1.mcap")).unwrap();
    let refused = Bag::open(&bag, &limits()).unwrap_err().to_string();
    assert!(refused.contains("bag_0.mcap"), "{refused}");
}

#[test]
fn a_file_that_becomes_shorter_while_it_is_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(&folder.path().join("bag"), FORMATS[0], 20);
    let bag = open(&file);
    let length = std::fs::metadata(&file).unwrap().len();
    std::fs::File::options()
        .write(true)
        .open(&file)
        .unwrap()
        .set_len(length / 2)
        .unwrap();
    let (read, refused) = messages(&bag);
    assert!(!read.is_empty() && refused > 0);
}

#[test]
fn a_pipe_and_a_device_are_not_waited_for() {
    let refused = Bag::open("/dev/zero".as_ref(), &limits())
        .unwrap_err()
        .to_string();
    assert!(refused.contains("a device"), "{refused}");
}
