//! Messages that are written as another bag has them: types that are not known here keep their definitions.

use jetlag_bags::write::{ChunkCompression, Format, RawTopic, WriteError};
use jetlag_bags::{BagWriter, Compression, Definition, Time};

use crate::bags::{FORMATS, START, content, open};

fn definition() -> Definition {
    Definition {
        encoding: "ros2msg".to_owned(),
        text: b"uint8[] what\n".to_vec(),
    }
}

#[test]
fn a_topic_of_any_type_comes_back_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let definition = definition();
    let qos = "- history: 1\n  depth: 10\n";
    for (n, format) in FORMATS.into_iter().enumerate() {
        let path = folder.path().join(format!("bag{n}"));
        let mut writer = BagWriter::create(&path, format).unwrap();
        let topic = RawTopic {
            name: "/made",
            kind: "mine/msg/Thing",
            serialization: "cdr",
            definition: Some(&definition),
            qos,
        };
        let made = writer.describe(&topic).unwrap();
        // Of the same name, with another type.
        let other = writer
            .describe(&RawTopic {
                kind: "mine/msg/Other",
                definition: None,
                qos: "",
                ..topic
            })
            .unwrap();
        assert_ne!(made, other);
        for k in 0..20 {
            let message = content(100_000, k);
            writer.write_raw(made, Time(START + k as i64), &message).unwrap();
        }
        writer.write_raw(other, Time(START), &[]).unwrap();
        writer.finish().unwrap();
        let bag = open(&path);
        assert!(bag.completeness().is_whole(), "{:?}", bag.completeness());
        let [other, made] = bag.topics() else {
            panic!("{:?}", bag.summary().topics)
        };
        assert_eq!((other.kind(), made.kind()), ("mine/msg/Other", "mine/msg/Thing"));
        assert_eq!(made.definition(), Some(&definition), "{format:?}");
        assert_eq!((made.qos(), other.qos()), (qos, ""), "{format:?}");
        assert_eq!(made.serialization(), "cdr");
        let (mut reader, mut message) = (bag.reader(), Vec::new());
        for (k, entry) in made.entries().iter().enumerate() {
            reader.read(entry, &mut message).unwrap();
            assert_eq!(message, content(100_000, k));
        }
        assert_eq!(made.entries().len(), 20);
        let told = &bag.summary().topics[1].compression;
        assert_eq!(
            told.contains(&Compression::MessageZstd),
            format == Format::Sqlite3Zstd
        );
    }
}

#[test]
fn one_file_is_a_bag_too_and_nothing_is_written_over() {
    let folder = tempfile::tempdir().unwrap();
    for format in [Format::Mcap(ChunkCompression::Lz4), Format::Sqlite3] {
        let path = folder.path().join("bag").with_extension(format.ending());
        let writer = BagWriter::create_file(&path, format).unwrap();
        assert_eq!(writer.finish().unwrap(), path);
        assert_eq!(open(&path).topics().len(), 0);
        let error = BagWriter::create_file(&path, format).unwrap_err();
        assert!(matches!(error, WriteError::Io { .. }), "{error}");
    }
    let path = folder.path().join("packed.db3");
    let error = BagWriter::create_file(&path, Format::Sqlite3Zstd).unwrap_err();
    assert!(error.to_string().contains("write a folder"), "{error}");
    assert!(!path.exists());
}
