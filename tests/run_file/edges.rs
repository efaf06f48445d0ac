//! What a run file holds seldom: metadata and files of other programs, manifests with and without a checksum, chunks whose
//! header contradicts itself, chunks that were cut off, and the second after which a chunk goes out.

use std::collections::BTreeMap;
use std::io::Cursor;

use jetlag::record::{Completeness, Event, Manifest, ReadError, RunReader, RunWriter};
use jetlag::units::Nanos;
use mcap::records::{Metadata, op};

use super::run_bytes::{of, without, zeroed};
use super::{made, opened, problem, read, written};

/// A record outside of chunks.
fn record(opcode: u8, body: &[u8]) -> Vec<u8> {
    [&[opcode], &(body.len() as u64).to_le_bytes()[..], body].concat()
}

/// A chunk without times and checksum.
fn chunk(uncompressed: u64, compression: &str, compressed: u64, records: &[u8]) -> Vec<u8> {
    let body = [
        &[0; 16][..],
        &uncompressed.to_le_bytes(),
        &0u32.to_le_bytes(),
        &(compression.len() as u32).to_le_bytes(),
        compression.as_bytes(),
        &compressed.to_le_bytes(),
        records,
    ];
    record(op::CHUNK, &body.concat())
}

/// What is said of a file that was not closed and has this at its end.
fn said_of(end: &[u8]) -> String {
    let bytes = written(&made::manifest(), &made::events(20));
    let whole = &bytes[..of(&bytes, op::DATA_END)[0].start];
    read(&[whole, end].concat()).unwrap_err().to_string()
}

#[test]
fn a_chunk_whose_header_contradicts_it_is_damaged() {
    for (end, words) in [
        (record(op::CHUNK, &[0; 10]), "is shorter than its fields"),
        (chunk(0, "", 5, b""), "is shorter than its fields"),
        (chunk(0, "", 0, b"more"), "is shorter than its fields"),
        // Before memory is taken for it.
        (chunk(65 << 20, "", 0, b""), "a record claims 68157440 bytes"),
        (chunk(9, "zstd", 4, b"none"), "a chunk cannot be decompressed"),
        (
            chunk(9, "lz4", 4, b"none"),
            "a chunk is compressed by `lz4`, which is not supported",
        ),
    ] {
        let said = said_of(&end);
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn a_chunk_that_was_cut_off_gives_what_can_be_decompressed() {
    // All within a second, so that they are one chunk, and more than one block of its compression.
    let frame = |n| {
        Event::Frame(jetlag::record::FrameRecord {
            finished: made::ANCHOR,
            ..made::frame(0, n)
        })
    };
    let events: Vec<Event> = (0..4000).map(frame).collect();
    let bytes = written(&made::manifest(), &events);
    let chunks = of(&bytes, op::CHUNK);
    assert_eq!(chunks.len(), 1);
    let cut = chunks[0].start + (chunks[0].end - chunks[0].start) * 9 / 10;
    let (got, completeness) = read(&bytes[..cut]).unwrap();
    assert!(got.len() > 1000 && got.len() < events.len(), "{}", got.len());
    assert!(events.starts_with(&got));
    assert!(matches!(completeness, Completeness::Truncated { chunks: 0, .. }));
}

#[test]
fn a_count_that_is_wrong_is_told_at_the_files_end() {
    let bytes = written(&made::manifest(), &made::events(200));
    let end = of(&bytes, op::DATA_END)[0].clone();
    let unchecked = zeroed(&bytes, end.start + 9..end.end);
    let last = of(&bytes, op::CHUNK).pop().unwrap().start;
    let short = without(&unchecked, last..end.start);
    match read(&short) {
        Err(ReadError::Damaged { offset, .. }) => assert_eq!(offset, short.len() as u64),
        other => panic!("{other:?}"),
    }
}

#[test]
fn metadata_of_another_program_is_passed_over() {
    let bytes = written(&made::manifest(), &made::events(3));
    let at = of(&bytes, op::METADATA)[0].start;
    let name = [&11u32.to_le_bytes()[..], b"calibration", &0u32.to_le_bytes()].concat();
    let bytes = [&bytes[..at], &record(op::METADATA, &name), &bytes[at..]].concat();
    assert_eq!(*opened(&bytes).unwrap().manifest(), made::manifest());
}

#[test]
fn another_programs_file_is_told_from_a_cut_one_by_its_first_channel() {
    let mut foreign = mcap::Writer::new(Cursor::new(Vec::new())).unwrap();
    let channel = foreign
        .add_channel(0, "/camera", "json", &BTreeMap::new())
        .unwrap();
    let header = mcap::records::MessageHeader {
        channel_id: channel,
        sequence: 0,
        log_time: 1,
        publish_time: 1,
    };
    foreign.write_to_known_channel(&header, b"{}").unwrap();
    foreign.finish().unwrap();
    let bytes = foreign.into_inner().into_inner();
    let unclosed = &bytes[..of(&bytes, op::DATA_END)[0].start];
    let said = problem(unclosed);
    assert!(said.contains("an MCAP file from another program"), "{said}");
}

/// A file with nothing but a manifest that has no checksum.
fn without_checksum(minor: u32) -> Vec<u8> {
    let manifest = Manifest {
        schema_minor: minor,
        ..made::manifest()
    };
    let entries = [
        ("schema_major", manifest.schema_major.to_string()),
        ("schema_minor", minor.to_string()),
        ("manifest", serde_json::to_string(&manifest).unwrap()),
    ];
    let mut file = mcap::Writer::new(Cursor::new(Vec::new())).unwrap();
    let metadata = Metadata {
        name: "jetlag.manifest".to_owned(),
        metadata: entries.map(|(name, value)| (name.to_owned(), value)).into(),
    };
    file.write_metadata(&metadata).unwrap();
    file.finish().unwrap();
    file.into_inner().into_inner()
}

#[test]
fn a_manifest_without_a_checksum_is_refused() {
    for minor in [0, 7, 70] {
        let said = problem(&without_checksum(minor));
        assert!(said.contains("it has no checksum"), "{minor}: {said}");
    }
}

#[test]
fn a_manifest_that_is_not_what_was_written_is_refused_though_it_can_be_read() {
    let mut bytes = written(&made::manifest(), &[]);
    let manifest = of(&bytes, op::METADATA)[0].clone();
    let name = bytes[manifest.clone()]
        .windows(8)
        .position(|window| window == b"\"camera\"")
        .unwrap();
    bytes[manifest.start + name + 1] = b'k';
    // Nothing else can tell where the file was not closed.
    let said = problem(&bytes[..of(&bytes, op::DATA_END)[0].start]);
    assert!(said.contains("it has the checksum"), "{said}");
}

#[test]
fn a_chunk_goes_out_a_second_after_its_first_record_and_not_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.mcap");
    let mut writer = RunWriter::create(&path, &made::manifest()).unwrap();
    let record = made::frame(0, 0);
    writer.frame(&record).unwrap();
    for (after, events) in [(Nanos(999_999_999), 0), (Nanos(1_000_000_000), 1)] {
        writer.tick(record.finished + after).unwrap();
        assert_eq!(RunReader::open(&path).unwrap().count(), events, "{after}");
    }
}
