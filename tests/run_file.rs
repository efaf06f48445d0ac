//! Run files as other programs and later versions meet them: whole, cut off anywhere, damaged, foreign.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "helpers of tests are tests, and say what they skip"
)]

use crate::common::run_bytes;

mod attacks;
mod compression;
mod disk;
mod edges;
pub(crate) mod made;
mod newer;
mod python;
mod versions;

use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::path::Path;

use jetlag::record::{
    Completeness, Event, FrameRecord, Manifest, OVERHEAD_TENANT, Phase, ReadError, RunReader, RunWriter,
    SCHEMA_MAJOR, Submission,
};
use jetlag::units::{Nanos, Stamp};
use proptest::prelude::*;

const NAME: &str = "made.mcap";

fn written(manifest: &Manifest, events: &[Event]) -> Vec<u8> {
    let mut writer = RunWriter::over(Cursor::new(Vec::new()), Path::new(NAME), manifest).unwrap();
    for event in events {
        writer.write(event).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn opened(bytes: &[u8]) -> Result<RunReader<&[u8]>, ReadError> {
    RunReader::over(bytes, bytes.len() as u64, Path::new(NAME))
}

/// All events, and how much of the file there was.
fn read(bytes: &[u8]) -> Result<(Vec<Event>, Completeness), ReadError> {
    let mut reader = opened(bytes)?;
    let events = reader.by_ref().collect::<Result<_, _>>()?;
    Ok((events, reader.completeness()))
}

fn problem(bytes: &[u8]) -> String {
    match opened(bytes) {
        Ok(_) => panic!("the file was accepted"),
        Err(e) => e.to_string(),
    }
}

#[test]
fn every_field_of_every_record_comes_back_as_it_was() {
    let manifest = made::manifest();
    let events = made::events(200);
    let bytes = written(&manifest, &events);
    let mut reader = opened(&bytes).unwrap();
    assert_eq!(reader.manifest(), &manifest);
    let back: Vec<Event> = reader.by_ref().map(Result::unwrap).collect();
    assert_eq!(back, events);
    assert_eq!(reader.completeness(), Completeness::Whole);
    assert_eq!(reader.skipped(), 0);
    assert!(reader.next().is_none(), "the end stays the end");
}

proptest! {
    #[test]
    fn extreme_values_survive(
        numbers in any::<(u64, u64, i64, i64, i64, i64, u32, u32)>(),
        durations in proptest::array::uniform11(proptest::option::of(0..i64::MAX)),
        flags in (0usize..3, any::<bool>()),
    ) {
        let record = FrameRecord {
            tenant: [0, 1, OVERHEAD_TENANT][flags.0],
            phase: [Phase::Together, Phase::Alone, Phase::Overhead][flags.0],
            warmup: flags.1,
            sequence: numbers.0,
            source_index: numbers.1,
            released: Stamp(numbers.2),
            started: Stamp(numbers.3),
            finished: Stamp(numbers.4),
            lateness: Nanos(numbers.5),
            stages: std::array::from_fn(|i| durations[i].map(Nanos)),
            deadline: durations[8].map(Nanos),
            detections: numbers.6,
            input_size: numbers.7,
            submission: durations[9].map(|took| Submission {
                took: Nanos(took),
                in_compute: durations[10].map(Nanos),
            }),
            ..made::frame(0, 0)
        };
        let bytes = written(&made::manifest(), &[Event::Frame(record)]);
        prop_assert_eq!(read(&bytes).unwrap().0, vec![Event::Frame(record)]);
    }
}

#[test]
fn equal_input_gives_equal_bytes() {
    let (manifest, events) = (made::manifest(), made::events(100));
    assert!(written(&manifest, &events) == written(&manifest, &events));
}

#[test]
fn a_file_cut_anywhere_gives_the_events_before_the_cut() {
    let events = made::events(150);
    let bytes = written(&made::manifest(), &events);
    let mut most = 0;
    for cut in (0..bytes.len()).step_by(97).chain(bytes.len() - 20..bytes.len()) {
        match read(&bytes[..cut]) {
            Ok((got, completeness)) => {
                assert!(events.starts_with(&got), "cut at {cut}: not a prefix");
                let Completeness::Truncated {
                    bytes_read,
                    bytes_total,
                    chunks,
                    ..
                } = completeness
                else {
                    panic!("cut at {cut}, and called whole");
                };
                assert!(bytes_read <= bytes_total && bytes_total == cut as u64);
                assert!(
                    chunks <= 6 && got.len() >= most,
                    "cut at {cut}: fewer than from a shorter file"
                );
                most = got.len();
            }
            Err(ReadError::Empty { .. }) => assert_eq!(cut, 0),
            Err(ReadError::NoManifest { .. }) => assert_eq!(most, 0, "cut at {cut}"),
            Err(other) => panic!("cut at {cut}: {other}"),
        }
    }
    assert_eq!(most, events.len(), "only the index is missing from the longest");
}

#[test]
fn a_cut_file_says_how_much_of_it_was_read_and_up_to_when() {
    let bytes = written(&made::manifest(), &made::events(150));
    let cut = &bytes[..bytes.len() / 2];
    let (events, completeness) = read(cut).unwrap();
    let Completeness::Truncated {
        bytes_read,
        bytes_total,
        chunks,
        last,
    } = completeness
    else {
        panic!("a cut file is not whole");
    };
    assert_eq!(bytes_total, cut.len() as u64);
    assert!(0 < bytes_read && bytes_read <= bytes_total);
    assert!(chunks >= 1);
    let latest = events.iter().filter_map(|e| match e {
        Event::Frame(r) => Some(r.finished),
        _ => None,
    });
    assert!(last >= latest.max());
}

#[test]
fn any_flipped_byte_is_found_and_never_a_panic() {
    let events = made::events(60);
    let bytes = written(&made::manifest(), &events);
    let check = |at: usize| {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x41;
        if let Ok((got, completeness)) = read(&damaged) {
            assert!(events.starts_with(&got), "byte {at}");
            assert!(
                matches!(completeness, Completeness::Truncated { .. }),
                "byte {at}"
            );
        }
    };
    // Half a minute of one processor, and by its name among the last tests: on all of them.
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for first in 0..threads {
            let (check, len) = (&check, bytes.len());
            scope.spawn(move || (first..len).step_by(threads).for_each(check));
        }
    });
}

#[test]
fn a_damaged_chunk_ends_the_events_and_says_where() {
    let events = made::events(150);
    let mut bytes = written(&made::manifest(), &events);
    let index = mcap::Summary::read(&bytes).unwrap().unwrap().chunk_indexes;
    let third = &index[2];
    bytes[(third.chunk_start_offset + third.chunk_length / 2) as usize] ^= 0xff;
    let mut reader = opened(&bytes).unwrap();
    let mut got = Vec::new();
    let mut error = None;
    for event in reader.by_ref() {
        match event {
            Ok(event) => got.push(event),
            Err(e) => error = Some(e.to_string()),
        }
    }
    assert!(!got.is_empty() && got.len() < events.len() && events.starts_with(&got));
    let error = error.expect("the damage is reported");
    assert!(error.contains("made.mcap is damaged after"), "{error}");
    assert!(matches!(reader.completeness(), Completeness::Truncated { .. }));
}

#[test]
fn what_is_no_run_file_is_refused_in_plain_words() {
    assert!(problem(b"").contains("is empty"));
    assert!(problem(b"not an mcap file at all").contains("it is not an MCAP file"));
    assert!(problem(&mcap::MAGIC[..5]).contains("ends after 5 B"));

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
    let foreign = foreign.into_inner().into_inner();
    assert!(problem(&foreign).contains("an MCAP file from another program"));

    let newer = Manifest {
        schema_major: SCHEMA_MAJOR + 1,
        ..made::manifest()
    };
    let words = problem(&written(&newer, &[]));
    assert!(words.contains("is a run file of version 2"), "{words}");
    assert!(words.contains("update jetlag"), "{words}");

    let missing = RunReader::open(Path::new("no/such/run.mcap"))
        .err()
        .unwrap()
        .to_string();
    assert!(missing.contains("no/such/run.mcap"), "{missing}");
}

#[test]
fn channels_of_a_newer_minor_version_are_passed_over_and_counted() {
    // A file with our manifest, one known message with a field appended, and a channel that we do not know.
    let events = [Event::Frame(made::frame(0, 5))];
    let ours = written(&made::manifest(), &events);
    let mut newer = mcap::Writer::new(Cursor::new(Vec::new())).unwrap();
    let mut file = mcap::sans_io::LinearReader::new();
    let mut input = ours.as_slice();
    while let Some(event) = file.next_event() {
        match event.unwrap() {
            mcap::sans_io::LinearReadEvent::ReadRequest(n) => {
                let got = input.read(file.insert(n)).unwrap();
                file.notify_read(got);
            }
            mcap::sans_io::LinearReadEvent::Record { opcode, data } => {
                match mcap::parse_record(opcode, data).unwrap() {
                    mcap::records::Record::Metadata(m) => newer.write_metadata(&m).unwrap(),
                    mcap::records::Record::Schema { header, data } => {
                        let id = newer.add_schema(&header.name, &header.encoding, &data).unwrap();
                        assert_eq!(id, header.id);
                    }
                    mcap::records::Record::Channel(c) => {
                        newer
                            .add_channel(c.schema_id, &c.topic, &c.message_encoding, &c.metadata)
                            .unwrap();
                    }
                    mcap::records::Record::Message { header, data } => {
                        let longer = [&data[..], &[0, 0, 0, 1, 2, 3, 4]].concat();
                        newer.write_to_known_channel(&header, &longer).unwrap();
                        let schema = newer
                            .add_schema("jetlag_msgs/msg/GpuActivity", "ros2msg", b"uint8 x")
                            .unwrap();
                        let unknown = newer
                            .add_channel(schema, "/jetlag/gpu/activity", "cdr", &BTreeMap::new())
                            .unwrap();
                        let header = mcap::records::MessageHeader {
                            channel_id: unknown,
                            ..header
                        };
                        newer.write_to_known_channel(&header, &[0, 1, 0, 0, 9]).unwrap();
                    }
                    _ => {}
                }
            }
        }
    }
    newer.finish().unwrap();
    let newer = newer.into_inner().into_inner();
    let mut reader = opened(&newer).unwrap();
    let got: Vec<Event> = reader.by_ref().map(Result::unwrap).collect();
    assert_eq!(got, events);
    assert_eq!(reader.skipped(), 1);
    assert_eq!(reader.completeness(), Completeness::Whole);
}

#[test]
fn a_record_of_a_tenant_that_the_manifest_lacks_is_refused() {
    let mut writer = RunWriter::over(Cursor::new(Vec::new()), Path::new(NAME), &made::manifest()).unwrap();
    let refused = writer.frame(&made::frame(2, 0)).unwrap_err().to_string();
    assert!(
        refused.contains("to tenant 2") && refused.contains("lists 2 tenants"),
        "{refused}"
    );
    writer.frame(&made::frame(1, 0)).unwrap();
}
