//! Records of the format, made once and readable ever since.

use std::path::Path;

use jetlag::record::{Completeness, Event, Manifest, RunReader};

use nvidia_doubles::machine::shared;

use super::{made, written};

/// Made by the test below and never again.
const RECORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records");

/// A run of a scenario, and a recording without one.
fn kept() -> [(&'static str, Manifest); 2] {
    [
        ("run.mcap", made::manifest()),
        ("recording.mcap", made::of_an_application()),
    ]
}

#[test]
fn the_records_stay_readable() {
    for (name, manifest) in kept() {
        let mut reader = RunReader::open(&Path::new(RECORDS).join(name)).unwrap();
        assert_eq!(*reader.manifest(), manifest, "{name}");
        let got: Vec<Event> = reader.by_ref().map(Result::unwrap).collect();
        assert_eq!(got, made::events(20), "{name}");
        assert_eq!(reader.completeness(), Completeness::Whole, "{name}");
        assert_eq!(reader.skipped(), 0, "{name}");
    }
}

#[test]
fn a_recording_without_a_scenario_has_a_name() {
    let (_, manifest) = &kept()[1];
    assert_eq!((manifest.name(), manifest.scenario()), ("app", None));
    let text = serde_json::to_string(manifest).unwrap();
    assert!(
        text.contains(r#""name":"app""#) && !text.contains("scenario"),
        "{text}"
    );
}

/// As they were measured before the first release, beside the repository where they are at hand.
#[test]
fn recordings_from_before_the_first_release_are_read() {
    let Some(runs) = shared("data/runs") else {
        return;
    };
    for (name, frames) in [("gpu_alone_40s.mcap", 4_000), ("gpu_two_40s.mcap", 4_000)] {
        let path = runs.join(name);
        let mut reader = RunReader::open(&path).unwrap();
        let events: Vec<Event> = reader.by_ref().map(Result::unwrap).collect();
        let of_it = events
            .iter()
            .filter(|event| matches!(event, Event::Frame(_)))
            .count();
        assert!(of_it >= frames, "{name}: {of_it}");
        assert_eq!(reader.completeness(), Completeness::Whole, "{name}");
    }
}

#[test]
#[ignore = "writes the records; a new version gets new files, the old ones stay"]
fn make_the_records() {
    for (name, manifest) in kept() {
        std::fs::write(
            Path::new(RECORDS).join(name),
            written(&manifest, &made::events(20)),
        )
        .unwrap();
    }
}
