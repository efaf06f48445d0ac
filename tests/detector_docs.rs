//! docs/detectors.md against the specs that are really read.

use std::path::Path;
use std::sync::Arc;

use jetlag::backend::NetworkSource;
use jetlag::detector::{Detector, DetectorError, spec};

const DOCS: &str = include_str!("../docs/detectors.md");

/// A spec whose networks are all there.
fn build(text: &str) -> Result<Detector, DetectorError> {
    spec::from_str(text, "docs/detectors.md", Path::new(""), &|_| {
        Some(NetworkSource::Embedded {
            name: "network",
            bytes: Arc::from([]),
        })
    })
}

#[test]
fn every_spec_in_the_documentation_builds_a_detector() {
    let examples: Vec<&str> = DOCS
        .split("```ron\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    for kind in ["Camera(", "Lidar(", "Network("] {
        assert!(examples.iter().any(|example| example.starts_with(kind)), "{kind}");
    }
    for example in examples {
        // A bare network is built of what its file says, and there is none.
        if example.starts_with("Network(") {
            spec::read(example, "docs/detectors.md").unwrap();
            continue;
        }
        if let Err(problem) = build(example) {
            panic!("{problem}\nin\n{example}");
        }
    }
}

#[test]
fn every_field_and_choice_of_a_lidar_spec_is_documented() {
    let example = DOCS
        .split("```ron\n")
        .find(|text| text.starts_with("Lidar("))
        .unwrap();
    let example = example.split("```").next().unwrap();
    // Each change asks for a name that does not exist, and the complaint lists those that do.
    for (from, to) in [
        ("range: (", "x: 1, range: ("),
        ("range: (", "when_full: X, range: ("),
        ("encoder: (", "encoder: (x: 1, "),
        ("encoder: (", "encoder: (output_layout: X, "),
        ("PillarsPointsFeatures(", "X("),
        ("PillarsPointsFeatures(", "PillarsPointsFeatures(unknown: 1, "),
        ("PillarsPointsFeatures(", "Planes(t: 1, "),
        ("[X, Y,", "[W, Y,"),
        ("scatter: (", "whole: (network: \"n\", input: X), scatter: ("),
        (
            "scatter: (",
            "whole: (network: \"n\", input: Pillars(x: 1)), scatter: (",
        ),
        (
            "scatter: (",
            "whole: (network: \"n\", input: Points(x: 1)), scatter: (",
        ),
        ("scatter: (", "cameras: (x: 1), scatter: ("),
        ("scatter: (", "cameras: (images: X), scatter: ("),
        ("scatter: (", "cameras: (calibration: [(x: 1)]), scatter: ("),
        (
            "scatter: (",
            "cameras: (calibration: [(tensor: \"t\", matrix: X)]), scatter: (",
        ),
        ("Anchors(", "X("),
        ("Anchors(", "Anchors(x: 1, "),
        ("Anchors(", "Anchors(direction_rule: X, "),
        ("Anchors(", "Anchors(layout: X, "),
        ("Anchors(", "Anchors(scores: X, "),
        ("Anchors(", "Anchors(activation: X, "),
        ("Anchors(", "Anchors(convention: X, "),
        ("Anchors(", "Anchors(placement: X, "),
        ("(class: 0,", "(x: 0,"),
        ("nms: (", "nms: (x: 0,"),
    ] {
        assert!(example.contains(from), "{from}");
        let told = build(&example.replacen(from, to, 1)).err().unwrap().to_string();
        let listed = told.lines().find_map(|line| {
            let fields = line.split_once(" fields here: ");
            fields.or(line.split_once(" choices: ")).map(|(_, names)| names)
        });
        let listed = listed.unwrap_or_else(|| panic!("`{to}` said: {told}"));
        for name in listed.split(", ") {
            let mentions = DOCS.match_indices(name).any(|(at, _)| {
                let edge = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '_');
                edge(DOCS[..at].chars().next_back()) && edge(DOCS[at + name.len()..].chars().next())
            });
            assert!(mentions, "{name} is not in docs/detectors.md: {told}");
        }
    }
}
