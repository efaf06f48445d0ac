//! A file per mistake in a detector spec and the phrase that the user will read; specs that ship; and texts that nobody would write.

use std::path::{Path, PathBuf};

use crate::common::mistakes::{files, wrongly_told};
use crate::scenarios::token;
use jetlag::detector::DetectorError;
use jetlag::detector::spec::{load, read};
use jetlag::written::Problems;
use proptest::prelude::*;

fn problems_of(path: &Path) -> Option<Problems> {
    match load(path) {
        Ok(_) => None,
        Err(DetectorError::WrongSpec(problems)) => Some(problems),
        Err(other) => panic!("{}: {other}", path.display()),
    }
}

#[test]
fn every_mistake_in_a_spec_is_reported_with_its_place_and_the_phrase_that_helps() {
    let wrong = wrongly_told("tests/detectors/invalid", 30, problems_of);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_spec_of_ours_is_read() {
    let specs: Vec<PathBuf> = ["engines", "tests/specs"].map(files).concat();
    assert!(specs.len() >= 6);
    for path in specs {
        let text = std::fs::read_to_string(&path).unwrap();
        if let Err(problems) = read(&text, &path.display().to_string()) {
            panic!("{problems}");
        }
    }
}

const SAMPLE: &str = include_str!("../engines/lidar.ron");

/// Reads a text and shows what is wrong with it; neither may panic.
fn survives(text: &str) {
    if let Err(problems) = read(text, "any.ron") {
        assert!(!problems.list().is_empty());
        assert!(!problems.to_string().is_empty());
    }
}

#[test]
fn nesting_without_end_and_text_without_end_are_refused() {
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("Some(", ")"),
        ("A(b:", ")"),
        ("{1:", "}"),
    ] {
        let text = format!("{}{}", open.repeat(50_000), close.repeat(50_000));
        assert!(read(&text, "deep.ron").is_err());
        survives(&SAMPLE.replace("[X, Y,", &format!("{}X, Y,", open.repeat(50_000))));
    }
    let long = read(&" ".repeat(5 << 20), "long.ron").unwrap_err().to_string();
    assert!(
        long.starts_with("long.ron: cannot read the detector spec: 5242880 bytes is too large"),
        "{long}"
    );
    let many = format!("Camera(classes: [{}])", "\"a\",".repeat(100_000));
    let told = read(&many, "many.ron").unwrap_err();
    assert!(told.to_string().contains("a camera detector has no `network`"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_slip_in_a_good_spec_makes_the_reader_panic(
        slips in prop::collection::vec((any::<prop::sample::Index>(), 0usize..8, token()), 1..6),
    ) {
        let mut characters: Vec<char> = SAMPLE.chars().collect();
        for (at, cut, put) in slips {
            let at = at.index(characters.len() + 1);
            let end = (at + cut).min(characters.len());
            characters.splice(at..end, put.chars());
        }
        survives(&characters.into_iter().collect::<String>());
    }
}
