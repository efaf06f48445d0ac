//! Bags written here, read again: every storage and compression, parts of topics, several readers.

use std::io::Write;
use std::path::Path;

use jetlag_bags::message::{Image, kind};
use jetlag_bags::write::{ChunkCompression, Format};
use jetlag_bags::{Bag, BagError, BagWriter, By, Compression, Limits, Points, Reader, Select, Time, Want};
use jetlag_record::units::{Bytes, Nanos};

use crate::bags::{CLOUDS, FORMATS, IMAGES, START, content, messages, open, write, write_cloud, write_image};

#[test]
fn all_that_was_written_is_read_in_every_format() {
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        // Several chunks.
        write(&folder.path().join("bag"), format, 120);
        let bag = open(&folder.path().join("bag"));
        assert!(
            bag.completeness().is_whole(),
            "{format:?}: {:?}",
            bag.completeness()
        );
        let index = bag.index(IMAGES, Select::default()).unwrap();
        let (mut reader, mut message) = (bag.reader(), Vec::new());
        for (n, entry) in index.entries().iter().enumerate() {
            reader.read(entry, &mut message).unwrap();
            let image = Image::decode(&message).unwrap();
            assert_eq!(entry.log_time().0, START + n as i64 * 33_000_000);
            assert_eq!(image.header.stamp.0, entry.log_time().0 - 4_000_000);
            assert!(image.data == content(64 * 48 * 3, n), "{format:?}");
            let is_packed = format == Format::Sqlite3Zstd;
            assert!(is_packed || entry.bytes() >= message.len() as u64);
        }
        assert_eq!(index.entries().len(), 120);
        let index = bag.index(CLOUDS, Select::default()).unwrap();
        let mut points = Points::default();
        for (n, entry) in index.entries().iter().enumerate().rev() {
            reader.read(entry, &mut message).unwrap();
            points.decode(&message, Want::default()).unwrap();
            assert_eq!(points.xyzi, vec![[n as f32, 1.0, 2.0, 9.0]; 500]);
        }
    }
}

#[test]
fn the_summary_says_what_is_there() {
    for (format, compression) in FORMATS.into_iter().zip([
        Compression::None,
        Compression::ChunkZstd,
        Compression::ChunkLz4,
        Compression::None,
    ]) {
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join("bag"), format, 11);
        let summary = open(&folder.path().join("bag")).summary();
        assert_eq!((summary.messages, summary.metadata_version), (22, Some(5)));
        assert_eq!(summary.first, Some(Time(START)));
        assert_eq!(summary.duration, Some(Nanos(1_001_000_000)));
        let images = &summary.topics[0];
        assert_eq!(
            (images.name.as_str(), images.kind.as_str()),
            (IMAGES, kind::IMAGE)
        );
        assert_eq!((images.messages, images.serialization.as_str()), (11, "cdr"));
        assert!((images.rate_hz.unwrap() - 1000.0 / 33.0).abs() < 1e-9);
        assert_eq!(images.longest_gap, Some(Nanos::from_millis(33)));
        assert_eq!(images.compression, [compression]);
        let exact = 11 * (64 * 48 * 3 + 59);
        assert!(
            images.bytes.abs_diff(exact) < 2000,
            "{format:?}: {} bytes, not {exact}",
            images.bytes
        );
        let json = serde_json::to_value(&summary).unwrap();
        assert_eq!(json["topics"][1]["type"], kind::POINT_CLOUD);
        assert_eq!(json["topics"][0]["first_ns"], START);
        assert_eq!(json["topics"][0]["compression"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn a_part_of_a_topic_begins_and_ends_where_it_was_asked_to() {
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join("bag"), format, 10);
        let bag = open(&folder.path().join("bag"));
        let part = |from: Option<i64>, to: Option<i64>| {
            let select = Select {
                from: from.map(Nanos::from_millis),
                to: to.map(Nanos::from_millis),
                by: By::Log,
            };
            let index = bag.index(IMAGES, select).unwrap();
            index
                .entries()
                .iter()
                .map(|entry| (entry.log_time().0 - START) / 33_000_000)
                .collect::<Vec<_>>()
        };
        assert_eq!(part(Some(66), Some(132)), [2, 3]);
        assert_eq!(part(Some(67), Some(133)), [3, 4]);
        assert_eq!(part(None, Some(33)), [0]);
        assert_eq!(part(Some(297), None), [9]);
        assert!(part(Some(500), None).is_empty());
        assert!(part(Some(100), Some(50)).is_empty());
        assert!(part(Some(i64::MAX / 1_000_000), None).is_empty());
    }
}

#[test]
fn times_are_those_of_the_log_or_of_headers_as_asked() {
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = BagWriter::create(&folder.path().join("bag"), format).unwrap();
        // Stored out of order, with a gap.
        for ms in [0, 10, 30, 20, 40, 50, 300] {
            write_image(&mut writer, 0, Time(START + ms * 1_000_000));
        }
        writer.finish().unwrap();
        let bag = open(&folder.path().join("bag"));
        let [by_log, by_header] = [By::Log, By::Header].map(|by| {
            let select = Select {
                by,
                ..Select::default()
            };
            bag.index(IMAGES, select).unwrap()
        });
        let times: Vec<i64> = (0..7)
            .map(|n| (by_log.time(n).unwrap().0 - START) / 1_000_000)
            .collect();
        assert_eq!(times, [0, 10, 20, 30, 40, 50, 300]);
        for n in 0..7 {
            assert_eq!(
                by_header.time(n).unwrap().0,
                by_log.time(n).unwrap().0 - 4_000_000,
                "{format:?}"
            );
        }
        assert_eq!(by_log.time(7), None);
        assert_eq!(
            (by_log.order().backwards, by_log.order().largest_step_back),
            (1, Nanos::from_millis(10))
        );
        assert_eq!(
            (by_log.order().jumps, by_log.order().longest_gap),
            (1, Nanos::from_millis(250))
        );
        assert_eq!((by_header.order().backwards, by_header.order().jumps), (0, 1));
    }
}

#[test]
fn an_absent_topic_is_answered_with_the_nearest_one() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("bag"), FORMATS[0], 1);
    let bag = open(&folder.path().join("bag"));
    let refused = |name: &str| bag.index(name, Select::default()).unwrap_err().to_string();
    assert_eq!(
        refused("/camera/imageraw"),
        "the bag has no topic `/camera/imageraw`; did you mean `/camera/image_raw`?"
    );
    assert_eq!(
        refused("/odom"),
        "the bag has no topic `/odom`; it has /camera/image_raw, /lidar/points"
    );
}

#[test]
fn several_readers_read_one_bag_from_different_threads() {
    fn is_send<T: Send>() {}
    is_send::<Reader>();
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join("bag"), format, 60);
        let bag = open(&folder.path().join("bag"));
        let threads: Vec<_> = [IMAGES, CLOUDS, IMAGES, CLOUDS]
            .into_iter()
            .map(|topic| {
                let bag = bag.clone();
                std::thread::spawn(move || {
                    let index = bag.index(topic, Select::default()).unwrap();
                    let (mut reader, mut message, mut bytes) = (bag.reader(), Vec::new(), 0);
                    for entry in index.entries() {
                        reader.read(entry, &mut message).unwrap();
                        bytes += message.len();
                    }
                    bytes
                })
            })
            .collect();
        let bytes: Vec<usize> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert_eq!((bytes[0], bytes[1]), (bytes[2], bytes[3]));
        assert!(bytes[0] > 60 * 64 * 48 * 3);
    }
}

fn compress(from: &Path, to: &Path) {
    std::fs::write(
        to,
        zstd::bulk::compress(&std::fs::read(from).unwrap(), 1).unwrap(),
    )
    .unwrap();
}

#[test]
fn files_compressed_as_a_whole_are_unpacked_within_the_limit_and_removed_again() {
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let file = write(&folder.path().join("bag"), format, 20);
        let wanted = messages(&open(&file));
        let mut packed = file.clone().into_os_string();
        packed.push(".zstd");
        compress(&file, packed.as_ref());
        std::fs::remove_file(&file).unwrap();
        for path in [folder.path().join("bag"), packed.clone().into()] {
            let bag = open(&path);
            assert!(messages(&bag) == wanted, "{format:?}");
            let summary = bag.summary();
            assert!(summary.files[0].unpacked_bytes.unwrap() > summary.files[0].bytes);
            assert!(summary.topics[0].compression.contains(&Compression::FileZstd));
        }
        let limits = Limits {
            unpacked_bytes: Bytes(1000),
            ..Limits::default()
        };
        let refused = Bag::open(packed.as_ref(), &limits).unwrap_err().to_string();
        assert!(refused.contains("`unpacked_bytes`"), "{refused}");
        // Cut off: what comes out is read.
        let bytes = std::fs::read(&packed).unwrap();
        std::fs::write(&packed, &bytes[..bytes.len() * 3 / 4]).unwrap();
        let bag = Bag::open(packed.as_ref(), &Limits::default());
        if let Ok(bag) = bag {
            assert!(!bag.completeness().is_whole());
            assert!(
                bag.completeness().losses[0].to_string().contains("cut off"),
                "{:?}",
                bag.completeness()
            );
        }
    }
}

#[test]
fn messages_compressed_one_by_one_are_decompressed() {
    // As rosbag2 stores them, in a database and in MCAP by the crate of its makers.
    let folder = tempfile::tempdir().unwrap();
    let file = write(&folder.path().join("bag"), Format::Sqlite3, 5);
    let (plain, _) = messages(&open(&file));
    let connection = rusqlite::Connection::open(&file).unwrap();
    let rows: Vec<(i64, Vec<u8>)> = connection
        .prepare("SELECT id, data FROM messages")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for (id, data) in rows {
        let packed = zstd::bulk::compress(&data, 1).unwrap();
        connection
            .execute(
                "UPDATE messages SET data = ?2 WHERE id = ?1",
                rusqlite::params![id, packed],
            )
            .unwrap();
    }
    drop(connection);
    let yaml = folder.path().join("bag/metadata.yaml");
    let text = std::fs::read_to_string(&yaml).unwrap();
    let text = text.replace("compression_mode: \"\"", "compression_mode: MESSAGE");
    std::fs::write(
        &yaml,
        text.replace("compression_format: \"\"", "compression_format: zstd"),
    )
    .unwrap();
    let mcap_file = folder.path().join("bag.mcap");
    let mut writer = mcap::Writer::new(std::io::BufWriter::new(
        std::fs::File::create(&mcap_file).unwrap(),
    ))
    .unwrap();
    for (topic, kind) in [(IMAGES, kind::IMAGE), (CLOUDS, kind::POINT_CLOUD)] {
        let schema = writer.add_schema(kind, "ros2msg", b"").unwrap();
        let channel = writer
            .add_channel(schema, topic, "cdr", &Default::default())
            .unwrap();
        for (_, time, data) in plain.iter().filter(|(of, ..)| of == topic) {
            let header = mcap::records::MessageHeader {
                channel_id: channel,
                sequence: 0,
                log_time: time.0 as u64,
                publish_time: 0,
            };
            writer
                .write_to_known_channel(&header, &zstd::bulk::compress(data, 1).unwrap())
                .unwrap();
        }
    }
    writer.finish().unwrap();
    drop(writer);
    for path in [folder.path().join("bag"), mcap_file] {
        let bag = open(&path);
        let (mut found, refused) = messages(&bag);
        found.sort();
        let mut wanted = plain.clone();
        wanted.sort();
        assert!(found == wanted && refused == 0, "{}", path.display());
        let summary = bag.summary();
        assert!(
            summary.topics[0].compression.contains(&Compression::MessageZstd),
            "{summary:?}"
        );
        let by_header = Select {
            by: By::Header,
            ..Select::default()
        };
        let index = bag.index(IMAGES, by_header).unwrap();
        assert_eq!(index.time(0), Some(Time(START - 4_000_000)));
    }
}

#[test]
fn limits_are_kept_and_named() {
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join("bag"), format, 10);
        let path = folder.path().join("bag");
        let few = Limits {
            messages: 19,
            ..Limits::default()
        };
        let refused = Bag::open(&path, &few).unwrap_err();
        assert!(
            matches!(refused, BagError::TooManyMessages { limit: 19, .. }),
            "{refused}"
        );
        let short = Limits {
            message_bytes: Bytes(5000),
            ..Limits::default()
        };
        let Ok(bag) = Bag::open(&path, &short) else {
            continue;
        };
        let index = bag.index(IMAGES, Select::default()).unwrap();
        let mut message = Vec::new();
        if let Err(refused) = bag.reader().read(&index.entries()[0], &mut message) {
            let words = match format {
                Format::Sqlite3Zstd => "more than 5000 bytes come out of it",
                _ => "`message_bytes`",
            };
            assert!(refused.to_string().contains(words), "{refused}");
            assert!(message.capacity() < 10_000);
        }
    }
}

#[test]
fn what_is_no_bag_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |content: &[u8]| {
        let path = folder.path().join("file.mcap");
        std::fs::File::create(&path).unwrap().write_all(content).unwrap();
        Bag::open(&path, &Limits::default()).unwrap_err().to_string()
    };
    assert!(refused(b"").contains("it is empty"));
    assert!(refused(b"#ROSBAG V2.0\n").contains("rosbags-convert"));
    assert!(refused(b"hello").contains("neither an MCAP nor an SQLite file"));
    assert!(refused(&[4, 0x22, 0x4d, 0x18, 0]).contains("lz4 -d"));
    let packed = zstd::bulk::compress(b"hello", 1).unwrap();
    assert!(refused(&packed).contains("a zstd file that contains neither"));
}

#[test]
fn a_bag_may_be_named_as_it_likes_and_mix_storages() {
    let folder = tempfile::tempdir().unwrap();
    let one = write(&folder.path().join("one"), FORMATS[1], 3);
    let two = write(&folder.path().join("two"), Format::Sqlite3, 4);
    let both = folder.path().join("both # 100%?x=1&");
    std::fs::create_dir(&both).unwrap();
    // The endings say the opposite.
    std::fs::copy(one, both.join("a_0.db3")).unwrap();
    std::fs::copy(two, both.join("a_1.mcap")).unwrap();
    let bag = open(&both);
    assert_eq!(bag.topic(IMAGES).unwrap().entries().len(), 7);
    assert_eq!(messages(&bag).0.len(), 14);
}

#[test]
fn files_without_index_or_chunks_are_walked_over() {
    for (use_chunks, indexes) in [(false, true), (true, false), (true, true), (false, false)] {
        for compression in [None, Some(mcap::Compression::Zstd)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("bag.mcap");
            let out = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
            let options = mcap::WriteOptions::new()
                .use_chunks(use_chunks)
                .emit_message_indexes(indexes)
                .emit_chunk_indexes(indexes)
                .emit_statistics(indexes)
                .chunk_size(Some(1000))
                .compression(compression);
            let mut writer = options.create(out).unwrap();
            let schema = writer
                .add_schema("std_msgs/msg/String", "ros2msg", b"string data")
                .unwrap();
            let channel = writer
                .add_channel(schema, "/chatter", "cdr", &Default::default())
                .unwrap();
            for n in 0..100u64 {
                let header = mcap::records::MessageHeader {
                    channel_id: channel,
                    sequence: 0,
                    log_time: n,
                    publish_time: n,
                };
                writer
                    .write_to_known_channel(&header, &content(50, n as usize))
                    .unwrap();
            }
            writer.finish().unwrap();
            drop(writer);
            let bag = open(&path);
            assert!(bag.completeness().is_whole(), "{:?}", bag.completeness());
            let (found, refused) = messages(&bag);
            assert_eq!(
                (found.len(), refused),
                (100, 0),
                "{use_chunks} {indexes} {compression:?}"
            );
            for (n, (_, time, message)) in found.iter().enumerate() {
                assert_eq!((time.0, message), (n as i64, &content(50, n)));
            }
            let by_header = Select {
                by: By::Header,
                ..Select::default()
            };
            let refused = bag.index("/chatter", by_header).unwrap_err().to_string();
            assert!(
                refused.contains("std_msgs/msg/String") && refused.contains("times of the log"),
                "{refused}"
            );
        }
    }
}

#[test]
fn what_is_written_here_is_read_by_the_mcap_crate() {
    let folder = tempfile::tempdir().unwrap();
    for (n, compression) in [ChunkCompression::None, ChunkCompression::Zstd]
        .into_iter()
        .enumerate()
    {
        let file = write(&folder.path().join(n.to_string()), Format::Mcap(compression), 120);
        let bytes = std::fs::read(file).unwrap();
        let count = mcap::MessageStream::new(&bytes)
            .unwrap()
            .map(Result::unwrap)
            .count();
        assert_eq!(count, 240);
        let summary = mcap::Summary::read(&bytes).unwrap().unwrap();
        assert_eq!(summary.stats.unwrap().message_count, 240);
        assert!(summary.chunk_indexes.len() > 1);
        assert_eq!((summary.channels.len(), summary.schemas.len()), (2, 2));
    }
}

#[test]
fn a_bag_is_not_written_over_another_and_a_topic_has_one_type() {
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bag");
        let mut writer = BagWriter::create(&path, format).unwrap();
        assert!(BagWriter::create(&path, format).is_err());
        write_cloud(&mut writer, 0, Time(5));
        let image = jetlag_bags::message::CompressedImage {
            header: crate::bags::header(Time(0)),
            format: "jpeg",
            data: &[],
        };
        let message = jetlag_bags::write::Message::CompressedImage(image);
        let refused = writer.write(CLOUDS, Time(6), &message).unwrap_err().to_string();
        assert!(refused.contains("needs another topic"), "{refused}");
        if let Format::Mcap(_) = format {
            let refused = writer.write("/c", Time(-1), &message).unwrap_err().to_string();
            assert!(refused.contains("before 1970"), "{refused}");
        }
        writer.finish().unwrap();
        assert_eq!(open(&path).summary().messages, 1);
        // One without messages.
        let empty = folder.path().join("empty");
        BagWriter::create(&empty, format).unwrap().finish().unwrap();
        let bag = open(&empty);
        assert_eq!((bag.span(), bag.topics().len()), (None, 0));
        let refused = bag.topic("/x").unwrap_err().to_string();
        assert!(refused.contains("it has none at all"), "{refused}");
    }
}
