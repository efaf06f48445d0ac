//! Run files as other programs and later versions meet them: whole, cut off anywhere, damaged, foreign.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "helpers of tests are tests, and say what they skip"
)]

use crate::common::run_bytes;

mod attacks;
mod compression;
mod edges;
pub(crate) mod made;

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Command;

use jetlag::detector::{Detection, Place};
use jetlag::record::activity::{OnStream, Work};
use jetlag::record::{
    Activity, ActivityBatch, Completeness, Event, FrameRecord, Manifest, OVERHEAD_TENANT, Part, Phase,
    ReadError, RecordError, RunReader, RunWriter, SCHEMA_MAJOR_WITHOUT_SCENARIO, SCHEMA_MINOR, Submission,
};
use jetlag::units::{Nanos, Stamp};
use nvidia_doubles::machine;
use proptest::prelude::*;
use serde_json::{Value, json};

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
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x41;
        if let Ok((got, completeness)) = read(&damaged) {
            assert!(events.starts_with(&got), "byte {at}");
            assert!(
                matches!(completeness, Completeness::Truncated { .. }),
                "byte {at}"
            );
        }
    }
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
        schema_major: SCHEMA_MAJOR_WITHOUT_SCENARIO + 1,
        ..made::manifest()
    };
    let words = problem(&written(&newer, &[]));
    assert!(words.contains("is a run file of version 3"), "{words}");
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

/// A disk with room for so many bytes.
struct SmallDisk {
    file: Cursor<Vec<u8>>,
    room: usize,
}

impl Write for SmallDisk {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let left = self.room - self.file.get_ref().len().min(self.room);
        if left == 0 && !data.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.file.write(&data[..data.len().min(left)])
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for SmallDisk {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

#[test]
fn a_full_disk_stops_the_recording_and_spares_what_is_written() {
    let events = made::events(300);
    let size = written(&made::manifest(), &events).len();
    let mut readable = Vec::new();
    for room in [size / 4, size / 2, size - 30] {
        let mut disk = SmallDisk {
            file: Cursor::new(Vec::new()),
            room,
        };
        let mut writer = RunWriter::over(&mut disk, Path::new(NAME), &made::manifest()).unwrap();
        let failure = events.iter().find_map(|e| writer.write(e).err());
        if let Some(failure) = failure {
            assert!(matches!(failure, RecordError::Write { .. }), "{failure}");
            let words = failure.to_string();
            assert!(
                words.contains("made.mcap") && words.contains("Free some space"),
                "{words}"
            );
            assert!(matches!(
                writer.write(&events[0]),
                Err(RecordError::Stopped { .. })
            ));
            assert!(matches!(writer.finish(), Err(RecordError::Stopped { .. })));
        } else {
            assert!(
                matches!(writer.finish(), Err(RecordError::Write { .. })),
                "{room} of {size}"
            );
        }
        let (got, completeness) = read(disk.file.get_ref()).unwrap();
        assert!(events.starts_with(&got), "room for {room}");
        assert!(matches!(completeness, Completeness::Truncated { .. }));
        readable.push(got.len());
    }
    assert!(readable[0] > 0 && readable.is_sorted(), "{readable:?}");
    assert_eq!(readable[2], events.len(), "only the index did not fit");
}

#[test]
fn a_disk_without_any_room_is_an_error_at_once() {
    let disk = SmallDisk {
        file: Cursor::new(Vec::new()),
        room: 100,
    };
    let refused = RunWriter::over(disk, Path::new(NAME), &made::manifest())
        .err()
        .unwrap();
    assert!(
        refused
            .to_string()
            .contains("cannot write to the run file made.mcap"),
        "{refused}"
    );
    let folder = tempfile::tempdir().unwrap();
    let refused = RunWriter::create(folder.path(), &made::manifest()).err().unwrap();
    assert!(
        refused.to_string().contains("Name a file, not a folder"),
        "{refused}"
    );
}

#[test]
fn what_is_older_than_a_second_is_in_the_file_before_it_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("killed.mcap");
    let mut writer = RunWriter::create(&path, &made::manifest()).unwrap();
    assert_eq!(
        RunReader::open(&path).unwrap().count(),
        0,
        "the manifest is there from the start"
    );
    for n in 0..100 {
        let record = made::frame(0, n);
        writer.frame(&record).unwrap();
        let oldest_missing = RunReader::open(&path).unwrap().count() as u64;
        let missing = record.finished - made::frame(0, oldest_missing.min(n)).finished;
        assert!(
            missing < Nanos::from_secs(1),
            "at frame {n}, {missing} are missing"
        );
    }
    // With no further record, time alone brings the rest out.
    let now = made::frame(0, 99).finished;
    writer.tick(now + Nanos::from_millis(2500)).unwrap();
    assert_eq!(RunReader::open(&path).unwrap().count(), 100);
    // A process that is killed runs no destructors.
    std::mem::forget(writer);
    let mut reader = RunReader::open(&path).unwrap();
    assert_eq!(reader.by_ref().filter(Result::is_ok).count(), 100);
    assert!(matches!(reader.completeness(), Completeness::Truncated { .. }));
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

/// The records of all versions, each made once by the test below and never again.
const RECORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records");

#[test]
fn the_records_of_all_versions_stay_readable() {
    for (name, minor) in [
        ("v1.mcap", 0),
        ("v1.1.mcap", 1),
        ("v1.2.mcap", 2),
        ("v1.3.mcap", 3),
        ("v1.4.mcap", 4),
        ("v1.5.mcap", 5),
        ("v1.6.mcap", 6),
        ("v1.7.mcap", 7),
        ("v1.8.mcap", 8),
    ] {
        let mut reader = RunReader::open(&Path::new(RECORDS).join(name)).unwrap();
        assert_eq!(reader.manifest().name(), "made", "{name}");
        assert_eq!(reader.manifest().schema_minor, minor, "{name}");
        let got: Vec<Event> = reader.by_ref().map(Result::unwrap).collect();
        let mut wanted = made::events(20);
        // Version 1.0 had no time per node.
        wanted.retain(|event| minor >= 1 || !matches!(event, Event::Node(_)));
        // Version 1.1 did not say what signals mean, and had no windows.
        wanted.retain(|event| minor >= 2 || !matches!(event, Event::Signal(_) | Event::Window(_)));
        // Version 1.2 knew three phases, did not say what they are, and had no ranges.
        wanted.retain(|event| minor >= 3 || !(of_other_phases(event) || matches!(event, Event::Range(_))));
        // Version 1.7 knew no tracer.
        wanted.retain(|event| minor >= 8 || !of_a_tracer(event));
        // Version 1.3 did not set nodes against the response time.
        for event in &mut wanted {
            if let Event::Node(node) = event
                && minor < 4
            {
                node.with_response = None;
            }
            // Version 1.4 did not tell submission.
            if let Event::Frame(frame) = event
                && minor < 5
            {
                frame.submission = None;
            }
        }
        assert_eq!(got, wanted, "{name}");
        assert_eq!(reader.completeness(), Completeness::Whole, "{name}");
        assert_eq!(reader.skipped(), 0, "{name}");
    }
}

fn of_other_phases(event: &Event) -> bool {
    match event {
        Event::PhaseSpec(_) => true,
        Event::Frame(frame) => matches!(frame.phase, Phase::Other(_)),
        Event::Phase(phase) => matches!(phase.phase, Phase::Other(_)),
        _ => false,
    }
}

#[test]
fn a_record_without_a_scenario_has_a_name_and_what_the_application_said() {
    for minor in [7, 8] {
        let mut reader = RunReader::open(&Path::new(RECORDS).join(format!("v2.{minor}.mcap"))).unwrap();
        let wanted = Manifest {
            schema_minor: minor,
            ..made::of_an_application()
        };
        assert_eq!(*reader.manifest(), wanted);
        assert_eq!(
            (reader.manifest().name(), reader.manifest().scenario()),
            ("app", None)
        );
        let got: Vec<Event> = reader.by_ref().map(Result::unwrap).collect();
        let mut wanted = made::events(20);
        wanted.retain(|event| minor >= 8 || !of_a_tracer(event));
        assert_eq!(got, wanted);
        assert_eq!(reader.completeness(), Completeness::Whole);
        let text = serde_json::to_string(reader.manifest()).unwrap();
        assert!(
            text.contains(r#""name":"app""#) && !text.contains("scenario"),
            "{text}"
        );
    }
}

#[test]
#[ignore = "writes the records of this version; a new version gets new files, the old ones stay"]
fn make_the_records_of_this_version() {
    for manifest in [made::manifest(), made::of_an_application()] {
        let path = Path::new(RECORDS).join(format!("v{}.{SCHEMA_MINOR}.mcap", manifest.schema_major));
        std::fs::write(path, written(&manifest, &made::events(20))).unwrap();
    }
}

#[test]
fn python_decodes_every_message_to_the_values_that_were_written() {
    let Some(python) = machine::python("mcap, mcap_ros2") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.mcap");
    let events = made::events(70);
    std::fs::write(&path, written(&made::manifest(), &events)).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/decode_run.py");
    let output = Command::new(python).arg(script).arg(&path).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let lines: Vec<Value> = output
        .stdout
        .split(|b| *b == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();

    let stored: Manifest = serde_json::from_value(lines[0]["manifest"].clone()).unwrap();
    assert_eq!(stored, made::manifest());
    assert_eq!(lines.len() - 1, events.len(), "messages");
    let mut latest = made::ANCHOR;
    for (line, event) in lines[1..].iter().zip(&events) {
        let (topic, at, fields) = expected(event, latest);
        latest = latest.max(at);
        let unix = made::ANCHOR_UNIX_NS + (at - made::ANCHOR).0;
        assert_eq!(line["topic"], topic);
        assert_eq!(line["log_time"], unix, "{topic}");
        assert_eq!(line["publish_time"], unix, "{topic}");
        let mut message = line["message"].clone();
        let stamp = message.as_object_mut().unwrap().remove("stamp").unwrap();
        let wanted = json!({ "sec": unix / 1_000_000_000, "nanosec": unix % 1_000_000_000 });
        assert_eq!(stamp, wanted, "{topic}");
        assert_eq!(message, fields, "{topic}");
    }
}

/// Topic, stamp and fields of the message that an event should be.
fn expected(event: &Event, latest: Stamp) -> (String, Stamp, Value) {
    let ns = |d: Option<Nanos>| d.map_or(-1, |d| d.0);
    let tenant = |t: u16| match t {
        0 => "camera",
        1 => "lidar",
        _ => "overhead",
    };
    match event {
        Event::Frame(r) => {
            let (what, number) = numbered(r.phase, "frame");
            let [acquire, decode, preprocess, h2d, queue, compute, d2h, postprocess] = r.stages.map(ns);
            let mut fields = json!({
                "sequence": r.sequence, "source_index": r.source_index, "released_ns": r.released.0,
                "started_ns": r.started.0, "finished_ns": r.finished.0, "response_ns": r.response().0,
                "lateness_ns": r.lateness.0, "acquire_ns": acquire, "decode_ns": decode,
                "preprocess_ns": preprocess, "h2d_ns": h2d, "queue_ns": queue, "compute_ns": compute,
                "d2h_ns": d2h, "postprocess_ns": postprocess, "deadline_ns": ns(r.deadline),
                "detections": r.detections, "input_size": r.input_size, "tenant": r.tenant,
                "phase": r.phase.code(), "outcome": r.outcome as u8, "warmup": r.warmup,
                "submission_ns": ns(r.submission.map(|s| s.took)),
                "submission_in_compute_ns": ns(r.submission.and_then(|s| s.in_compute)),
            });
            merge(&mut fields, number);
            (format!("/jetlag/{}/{what}", tenant(r.tenant)), r.finished, fields)
        }
        Event::Detections(r) => {
            let detections: Vec<Value> = r.detections.iter().map(detection).collect();
            let fields = json!({
                "sequence": r.sequence, "source_index": r.source_index, "at_ns": r.at.0, "tenant": r.tenant,
                "detections": detections,
            });
            (format!("/jetlag/{}/detections", tenant(r.tenant)), r.at, fields)
        }
        Event::Sample(r) => {
            // The script writes NaN as null: JSON has no NaN.
            let fields = json!({
                "at_ns": r.at.0, "value": r.value, "source": r.source, "signal": r.signal, "unit": r.unit,
            });
            (
                format!("/jetlag/telemetry/{}/{}", r.source, r.signal),
                r.at,
                fields,
            )
        }
        Event::Phase(r) => {
            let (what, number) = numbered(r.phase, "phase");
            let mut fields = json!({
                "epoch_ns": r.epoch.0, "measured_from_ns": r.measured_from.0,
                "measured_to_ns": r.measured_to.0, "lost_records": r.lost_records, "tenant": r.tenant,
                "phase": r.phase.code(), "reason": r.reason as u8,
            });
            merge(&mut fields, number);
            (
                format!("/jetlag/{}/{what}", tenant(r.tenant)),
                r.measured_to,
                fields,
            )
        }
        Event::PhaseSpec(r) => {
            let (_, number) = numbered(r.phase, "");
            // The script writes NaN as null.
            let fields = json!({
                "at_ns": r.at.0, "rate_hz": r.rate.and_then(|rate| rate.hz),
                "rate_tenant": r.rate.map_or(65535, |rate| rate.tenant), "number": number.unwrap_or(0),
                "phase": r.phase.code(), "label": r.label, "sharing": r.sharing, "members": r.members,
                "traced": r.traced,
            });
            ("/jetlag/phases".into(), r.at, fields)
        }
        Event::Node(r) => {
            let fields = json!({
                "count": r.count, "mean_ns": r.mean.0, "max_ns": r.max.0, "tenant": r.tenant,
                "phase": r.phase.code(), "name": r.name, "operator_name": r.operator,
                "variance_ns2": r.with_response.map(|with| with.variance),
                "response_variance_ns2": r.with_response.map(|with| with.response_variance),
                "response_covariance_ns2": r.with_response.map(|with| with.covariance),
            });
            (format!("/jetlag/{}/nodes", tenant(r.tenant)), latest, fields)
        }
        Event::Finding(r) => {
            let fields = json!({
                "code": r.code, "tenant": r.tenant.clone().unwrap_or_default(), "message": r.message,
                "advice": r.advice,
            });
            ("/jetlag/finding".into(), latest, fields)
        }
        Event::Log(r) => {
            let fields = json!({ "at_ns": r.at.0, "level": r.level, "message": r.message });
            ("/jetlag/log".into(), r.at, fields)
        }
        Event::Signal(r) => {
            let ns = |duration: Option<Nanos>| duration.map_or(-1, |d| d.0);
            // As Signal.msg numbers them; the made-up events have no others.
            let part = match r.measurand.part {
                Part::Board => 1,
                Part::Processors => 2,
                other => panic!("{other:?}"),
            };
            let fields = json!({
                "quantity": r.measurand.quantity as u8, "part": part, "number": u32::MAX, "period_ns": ns(r.period), "refresh_ns": ns(r.refresh), "window_ns": ns(r.window), "step": r.step,
                "averaging": r.averaging as u8, "role": r.role as u8, "source": r.source, "signal": r.signal,
                "unit": r.unit, "within": r.within.clone().unwrap_or_default(), "origin": r.origin,
            });
            ("/jetlag/telemetry/signals".into(), latest, fields)
        }
        Event::Range(r) => {
            let or_none = |count: Option<u64>| count.map_or(-1, |count| count as i64);
            let fields = json!({
                "from_ns": r.from.0, "to_ns": r.to.0, "batch": or_none(r.batch), "items": or_none(r.items),
                "path": r.path, "tenant": r.tenant, "track": r.track,
            });
            (format!("/jetlag/{}/ranges", tenant(r.tenant)), r.to, fields)
        }
        Event::Activities(r) => {
            let base = r.activities.iter().map(|activity| activity.from).min().unwrap();
            ("/jetlag/gpu/activity".into(), base, columns(r))
        }
        Event::Definition(r) => {
            let launch = r.launch.map(|l| {
                json!({
                    "grid": l.grid, "block": l.block, "cluster": l.cluster, "registers": l.registers,
                    "static_shared_bytes": l.static_shared_bytes, "dynamic_shared_bytes": l.dynamic_shared_bytes,
                    "local_bytes": l.local_bytes,
                })
            });
            let launch: Vec<Value> = launch.into_iter().collect();
            let fields = json!({ "number": r.number, "text": r.text, "launch": launch });
            ("/jetlag/gpu/names".into(), latest, fields)
        }
        Event::Trace(r) => {
            let devices: Vec<Value> = r
                .devices
                .iter()
                .map(|d| {
                    json!({
                        "capability": d.capability, "multiprocessors": d.multiprocessors, "most_warps": d.most_warps,
                        "most_blocks": d.most_blocks, "registers": d.registers, "shared_bytes": d.shared_bytes,
                        "warp_threads": d.warp_threads, "device": d.device, "name": d.name,
                    })
                })
                .collect();
            let (_, number) = r.phase.map_or((String::new(), None), |phase| numbered(phase, ""));
            let fields = json!({
                "from_ns": r.from.0, "to_ns": r.to.0, "clock_residual_ns": r.clock_residual.0,
                "activities": r.activities, "dropped": r.dropped, "lost_stamps": r.lost_stamps, "not_kept": r.not_kept,
                "process": r.process, "number": number.unwrap_or(0), "phase": r.phase.map_or(255, Phase::code),
                "graph_nodes": r.graph_nodes, "calls": r.calls, "tracer": r.tracer, "notes": r.notes,
                "devices": devices, "calls_left_out": r.calls_left_out,
            });
            ("/jetlag/gpu/trace".into(), r.to, fields)
        }
        Event::Window(r) => {
            let fields = json!({ "from_ns": r.from.0, "to_ns": r.to.0, "name": r.name });
            ("/jetlag/telemetry/windows".into(), r.to, fields)
        }
    }
}

/// A batch as columns, which is how it is stored.
fn columns(batch: &ActivityBatch) -> Value {
    let base = batch
        .activities
        .iter()
        .map(|activity| activity.from)
        .min()
        .unwrap();
    let all = &batch.activities;
    let column = |of: &dyn Fn(&Activity) -> i128| -> Vec<i128> { all.iter().map(of).collect() };
    let name = |name: Option<u32>| i128::from(name.unwrap_or(u32::MAX));
    let on = |work: &Work| match *work {
        Work::Wait { on, .. } | Work::Event { on, .. } => on,
        Work::Slice { device, .. } => OnStream {
            device,
            ..OnStream::default()
        },
        _ => work.on_device().unwrap_or_default(),
    };
    // kind, thread, graph, value, detail, source, destination; as Activities.msg has them.
    let row = |work: &Work| -> [i128; 7] {
        match *work {
            Work::Kernel { graph, .. } => [1, 0, graph.into(), 0, 0, 0, 0],
            Work::Copy {
                graph,
                direction,
                source,
                destination,
                bytes,
                ..
            } => {
                let [detail, source, destination] = [direction as i128, source as i128, destination as i128];
                [2, 0, graph.into(), bytes.into(), detail, source, destination]
            }
            Work::Fill {
                graph, memory, bytes, ..
            } => [3, 0, graph.into(), bytes.into(), memory as i128, 0, 0],
            Work::Graph { graph, .. } => [4, 0, graph.into(), 0, 0, 0, 0],
            Work::Call {
                thread, interface, ..
            } => [5, thread.into(), 0, 0, interface as i128, 0, 0],
            Work::Wait { how, event, .. } => [6, 0, 0, event.into(), how as i128, 0, 0],
            Work::Event { event, .. } => [7, 0, 0, event.into(), 0, 0, 0],
            Work::Range {
                thread,
                domain,
                payload,
            } => {
                let domain = domain.map_or(0, |domain| i128::from(domain) + 1);
                let value = i128::from(payload.unwrap_or(0) as u64);
                [
                    8,
                    thread.into(),
                    domain,
                    value,
                    i128::from(payload.is_some()),
                    0,
                    0,
                ]
            }
            Work::Overhead { thread } => [9, thread.into(), 0, 0, 0, 0, 0],
            Work::Slice { process, .. } => [10, process.into(), 0, 0, 0, 0, 0],
        }
    };
    let (_, number) = numbered(batch.phase, "");
    json!({
        "base_ns": base.0, "process": batch.process, "phase": batch.phase.code(), "number": number.unwrap_or(0),
        "kind": column(&|a| row(&a.work)[0]),
        "from_ns": column(&|a| (a.from - base).0.into()),
        "duration_ns": column(&|a| a.duration().0.into()),
        "name": column(&|a| name(a.name)),
        "layer": column(&|a| name(a.owner.layer)),
        "tenant": column(&|a| a.owner.tenant.unwrap_or(u16::MAX).into()),
        "frame": column(&|a| a.owner.frame.map_or(-1, i128::from)),
        "device": column(&|a| on(&a.work).device.into()),
        "context": column(&|a| on(&a.work).context.into()),
        "stream": column(&|a| on(&a.work).stream.into()),
        "thread": column(&|a| row(&a.work)[1]),
        "correlation": column(&|a| a.work.correlation().unwrap_or(0).into()),
        "graph": column(&|a| row(&a.work)[2]),
        "value": column(&|a| row(&a.work)[3]),
        "detail": column(&|a| row(&a.work)[4]),
        "source": column(&|a| row(&a.work)[5]),
        "destination": column(&|a| row(&a.work)[6]),
    })
}

fn of_a_tracer(event: &Event) -> bool {
    match event {
        Event::PhaseSpec(spec) => spec.traced,
        Event::Activities(_) | Event::Definition(_) | Event::Trace(_) => true,
        _ => false,
    }
}

/// The topic's last part, and the number that the message then has.
fn numbered(phase: Phase, what: &str) -> (String, Option<u16>) {
    match phase {
        Phase::Other(number) => (format!("other/{what}"), Some(number)),
        _ => (what.to_owned(), None),
    }
}

fn merge(fields: &mut Value, number: Option<u16>) {
    if let (Some(number), Some(fields)) = (number, fields.as_object_mut()) {
        fields.insert("number".into(), number.into());
    }
}

/// Floats of 32 bits widen exactly, here as in Python.
fn detection(d: &Detection) -> Value {
    let wide = |values: &[f32]| values.iter().map(|v| f64::from(*v)).collect::<Vec<f64>>();
    let (image, space) = match d.place {
        Place::Image(b) => (vec![wide(&[b.x1, b.y1, b.x2, b.y2])], vec![]),
        Place::Space(b) => (vec![], vec![wide(&[b.x, b.y, b.z, b.l, b.w, b.h, b.yaw])]),
    };
    let named = |names: &[&str], boxes: Vec<Vec<f64>>| -> Vec<Value> {
        let one = |values: Vec<f64>| {
            names
                .iter()
                .map(|n| n.to_string())
                .zip(values.into_iter().map(Value::from))
        };
        boxes
            .into_iter()
            .map(|values| Value::Object(one(values).collect()))
            .collect()
    };
    json!({
        "class_index": d.class,
        "score": f64::from(d.score),
        "image": named(&["x1", "y1", "x2", "y2"], image),
        "space": named(&["x", "y", "z", "l", "w", "h", "yaw"], space),
    })
}
