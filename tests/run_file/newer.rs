//! Files of versions to come: a scenario with words that this one does not know.

use std::collections::BTreeMap;

use jetlag::record::{Event, SCHEMA_MINOR};
use jetlag::scenario::{Arrival, SourceSpec};
use mcap::records::op;
use serde_json::{Value, json};

use super::{NAME, made, opened, run_bytes, written};

/// Of each tenant, the warm-up among them.
const FRAMES: u64 = 40;

/// A run whose manifest was changed as a newer version would write it, without a closing index.
fn of_version(minor: u32, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut manifest = serde_json::to_value(made::manifest()).unwrap();
    change(&mut manifest);
    manifest["schema_minor"] = minor.into();
    let mut entries: BTreeMap<String, String> = [
        ("schema_major", manifest["schema_major"].to_string()),
        ("schema_minor", minor.to_string()),
        ("manifest", manifest.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    let hashed = ["schema_major", "schema_minor", "manifest"].map(|name| format!("{}\n", entries[name]));
    let checksum = crc32fast::hash(hashed.concat().as_bytes());
    entries.insert("crc32".to_owned(), format!("{checksum:08x}"));
    let mut newer = mcap::Writer::new(std::io::Cursor::new(Vec::new())).unwrap();
    newer
        .write_metadata(&mcap::records::Metadata {
            name: "jetlag.manifest".to_owned(),
            metadata: entries,
        })
        .unwrap();
    newer.finish().unwrap();
    let newer = newer.into_inner().into_inner();
    // Its manifest in the place of ours.
    let ours = written(&made::manifest(), &made::events(FRAMES));
    let place = run_bytes::of(&ours, op::METADATA)[0].clone();
    let end = run_bytes::of(&ours, op::DATA_END)[0].start;
    let manifest = run_bytes::of(&newer, op::METADATA)[0].clone();
    [&ours[..place.start], &newer[manifest], &ours[place.end..end]].concat()
}

fn source_of_tomorrow(manifest: &mut Value) {
    manifest["scenario"]["tenants"][0]["source"] = json!({"Radar": {"device": "/dev/radar0"}});
    manifest["scenario"]["tenants"][1]["arrival"] = json!("Whenever");
    manifest["scenario"]["sharing"] = json!({"Slices": {"of": "5ms"}});
    manifest["scenario"]["tenants"][0]["colour"] = json!("red");
}

#[test]
fn words_of_a_newer_scenario_are_kept_as_text_and_its_frames_are_read() {
    let bytes = of_version(SCHEMA_MINOR + 1, source_of_tomorrow);
    let mut reader = opened(&bytes).unwrap();
    let unknown: Vec<(String, String)> = reader
        .manifest()
        .unknown
        .iter()
        .map(|word| (word.field.clone(), word.text.clone()))
        .collect();
    let wanted = [
        ("sharing", r#"{"Slices":{"of":"5ms"}}"#),
        ("tenants.camera.source", r#"{"Radar":{"device":"/dev/radar0"}}"#),
        ("tenants.lidar.arrival", r#""Whenever""#),
    ];
    assert_eq!(
        unknown,
        wanted.map(|(field, text)| (field.to_owned(), text.to_owned()))
    );
    let tenants = &reader.manifest().scenario().unwrap().tenants;
    assert_eq!(tenants[0].source, SourceSpec::Empty);
    assert_eq!(tenants[1].arrival, Arrival::Replay { speed: 1.0 });
    let events: Vec<Event> = reader.by_ref().map(Result::unwrap).collect();
    assert_eq!(events, made::events(FRAMES));
}

#[test]
fn a_report_of_it_says_what_it_could_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(NAME);
    std::fs::write(&path, of_version(SCHEMA_MINOR + 1, source_of_tomorrow)).unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_jetlag"))
        .args(["report", path.to_str().unwrap(), "--format", "json"])
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report["run"]["findings"].as_array().unwrap();
    let told = findings
        .iter()
        .find(|finding| finding["code"] == "newer-scenario")
        .unwrap();
    let message = told["message"].as_str().unwrap();
    assert!(
        message.contains("`tenants.camera.source` is `{\"Radar\""),
        "{message}"
    );
    assert!(report["tenants"][0]["frames"]["completed"].as_u64().unwrap() > 0);
}

#[test]
fn in_a_file_of_this_version_such_a_word_is_damage() {
    let bytes = of_version(SCHEMA_MINOR, source_of_tomorrow);
    let error = opened(&bytes)
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    assert!(
        error.contains("the manifest of made.mcap cannot be parsed"),
        "{error:?}"
    );
}

#[test]
fn what_is_no_manifest_in_a_newer_version_either_is_refused() {
    let bytes = of_version(SCHEMA_MINOR + 1, |manifest| manifest["tenants"] = json!(7));
    assert!(opened(&bytes).is_err());
}
