//! Records of all versions, each made once and readable ever since.

use std::path::Path;

use jetlag::record::{Completeness, Event, Manifest, Phase, RunReader, SCHEMA_MINOR, Stage};

use super::{made, written};

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
        ("v1.9.mcap", 9),
        ("v1.10.mcap", 10),
        ("v1.11.mcap", 11),
        ("v1.12.mcap", 12),
        ("v1.13.mcap", 13),
        ("v1.14.mcap", 14),
        ("v1.15.mcap", 15),
        ("v1.16.mcap", 16),
        ("v1.17.mcap", 17),
        ("v1.18.mcap", 18),
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
        // Version 1.10 did not tell the work of networks.
        wanted.retain(|event| minor >= 11 || !matches!(event, Event::Work(_)));
        // Version 1.15 did not tell what became of outputs.
        wanted.retain(|event| minor >= 16 || !matches!(event, Event::Output(_)));
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
            before_1_9(event, minor);
            before_1_10(event, minor);
            before_1_11(event, minor);
            before_1_12(event, minor);
            before_1_13(event, minor);
            before_1_14(event, minor);
            before_1_15(event, minor);
            before_1_18(event, minor);
        }
        assert_eq!(got, wanted, "{name}");
        assert_eq!(reader.completeness(), Completeness::Whole, "{name}");
        assert_eq!(reader.skipped(), 0, "{name}");
    }
}

/// Version 1.8 did not tell when a frame's content was captured, and knew no timer that takes the newest.
fn before_1_9(event: &mut Event, minor: u32) {
    match event {
        Event::Frame(frame) if minor < 9 => frame.captured = None,
        Event::Phase(phase) if minor < 9 => phase.sampled = None,
        _ => {}
    }
}

/// Version 1.9 had no velocities.
fn before_1_10(event: &mut Event, minor: u32) {
    if let Event::Detections(found) = event
        && minor < 10
    {
        found.detections.iter_mut().for_each(|one| one.velocity = None);
    }
}

/// Version 1.10 knew no batches.
fn before_1_11(event: &mut Event, minor: u32) {
    if let Event::Frame(frame) = event
        && minor < 11
    {
        frame.batch = None;
    }
}

/// Version 1.11 knew no sets of sensors.
fn before_1_12(event: &mut Event, minor: u32) {
    if let Event::Frame(frame) = event
        && minor < 12
    {
        frame.stages[Stage::Synchronise as usize] = None;
        frame.skew = None;
    }
}

/// Version 1.12 did not tell the peak of a process.
fn before_1_13(event: &mut Event, minor: u32) {
    if let Event::Phase(phase) = event
        && minor < 13
    {
        phase.process_peak = None;
    }
}

/// Version 1.13 did not tell in whose image a box is.
fn before_1_14(event: &mut Event, minor: u32) {
    if let Event::Detections(found) = event
        && minor < 14
    {
        found.detections.iter_mut().for_each(|one| one.camera = 0);
    }
}

/// Version 1.14 did not tell whose image a frame is.
fn before_1_15(event: &mut Event, minor: u32) {
    if let Event::Frame(frame) = event
        && minor < 15
    {
        frame.camera = None;
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
    for minor in 7..=SCHEMA_MINOR {
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
        wanted.retain(|event| minor >= 11 || !matches!(event, Event::Work(_)));
        // Version 1.15 did not tell what became of outputs.
        wanted.retain(|event| minor >= 16 || !matches!(event, Event::Output(_)));
        wanted.iter_mut().for_each(|event| {
            before_1_9(event, minor);
            before_1_10(event, minor);
            before_1_11(event, minor);
            before_1_12(event, minor);
            before_1_13(event, minor);
            before_1_14(event, minor);
            before_1_15(event, minor);
            before_1_18(event, minor);
        });
        assert_eq!(got, wanted);
        assert_eq!(reader.completeness(), Completeness::Whole);
        let text = serde_json::to_string(reader.manifest()).unwrap();
        assert!(
            text.contains(r#""name":"app""#) && !text.contains("scenario"),
            "{text}"
        );
    }
}

/// Version 1.17 knew no turns.
fn before_1_18(event: &mut Event, minor: u32) {
    if let Event::PhaseSpec(spec) = event
        && minor < 18
    {
        spec.round = None;
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

fn of_a_tracer(event: &Event) -> bool {
    match event {
        Event::PhaseSpec(spec) => spec.traced,
        Event::Activities(_) | Event::Definition(_) | Event::Trace(_) => true,
        _ => false,
    }
}
