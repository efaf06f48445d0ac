//! The same runs give the same answers: every figure and sentence of runs of many kinds, so that no change alters one unseen.
//! `JETLAG_BLESS=1` takes over a change that is meant.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use jetlag::analysis::Summary;
use jetlag::analysis::compare::{Side, compare};
use jetlag::record::Manifest;
use jetlag::report::html::{self, Reported};
use jetlag::report::{Style, text};
use serde_json::Value;

use crate::summary::{drawn, made_up};

const KINDS: u64 = 60;

/// An answer: of which run, which part of it, and what it says.
type Answer = (String, String);

/// A number to six digits: the last bits of a logarithm are the system's.
fn rounded(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(number) = number.as_f64().filter(|_| number.is_f64()) {
                *value = Value::String(format!("{number:.5e}"));
            }
        }
        Value::Array(values) => values.iter_mut().for_each(rounded),
        Value::Object(fields) => fields.values_mut().for_each(rounded),
        _ => {}
    }
}

fn document(part: &impl serde::Serialize) -> Value {
    let mut document = serde_json::to_value(part).expect("JSON");
    rounded(&mut document);
    document
}

fn of_summary(run: &str, summary: &Summary, answers: &mut Vec<Answer>) {
    let Value::Object(parts) = document(summary) else {
        panic!("a summary is an object")
    };
    for (part, value) in parts {
        match value {
            Value::Array(tenants) if part == "tenants" => {
                for (place, tenant) in tenants.iter().enumerate() {
                    answers.push((format!("{run}.tenant{place}"), format!("{tenant:#}")));
                }
            }
            value => answers.push((format!("{run}.{part}"), format!("{value:#}"))),
        }
    }
    for width in [80, 120] {
        let style = Style { colour: false, width };
        let mut out = Vec::new();
        text::write(summary, &mut out, &style).expect("writing to memory");
        let text = String::from_utf8(out).expect("text");
        answers.push((format!("{run}.text{width}"), text));
    }
}

fn page(manifest: Manifest, summary: Summary) -> String {
    let mut out = Vec::new();
    html::write(
        &[Reported {
            manifest,
            summary,
            roofline: None,
        }],
        None,
        &mut out,
    )
    .expect("writing to memory");
    String::from_utf8(out).expect("text")
}

fn side(name: &str, kind: u64, numbers: std::ops::Range<u64>, slower: f64) -> Side {
    let run = |number| {
        let (manifest, events) = drawn::run(kind, number, slower);
        made_up::sample(&manifest, &events)
    };
    Side {
        in_turns: false,
        repeated: Vec::new(),
        name: name.to_owned(),
        files: Vec::new(),
        runs: numbers.map(run).collect(),
    }
}

fn all() -> Vec<Answer> {
    let mut answers = Vec::new();
    for kind in 0..KINDS {
        let run = format!("{kind:02}");
        let (manifest, events) = drawn::run(kind, 0, 1.0);
        let summary = made_up::summarize(&manifest, &events);
        of_summary(&run, &summary, &mut answers);
        if kind % 3 == 0 {
            answers.push((format!("{run}.page"), page(manifest, summary)));
            let rounds = 1 + kind / 3 % 4;
            let slower = [1.0, 1.02, 1.2][(kind / 3 % 3) as usize];
            let sides = [
                side("a", kind, 0..rounds, 1.0),
                side("b", kind, 10..10 + rounds, slower),
            ];
            let said = match compare(&sides, &[]) {
                Ok(comparison) => format!("{:#}", document(&comparison)),
                Err(why) => why.to_string(),
            };
            answers.push((format!("{run}.compared"), said));
        }
    }
    answers
}

/// Writes each answer to a file of its own, where `JETLAG_ANSWERS` names a folder.
fn write(answers: &[Answer], folder: &Path) {
    std::fs::create_dir_all(folder).expect("a folder for the answers");
    for (name, said) in answers {
        std::fs::write(folder.join(name), said).expect("the answer is written");
    }
}

#[test]
fn the_same_runs_give_the_same_answers() {
    let answers = all();
    if let Some(folder) = std::env::var_os("JETLAG_ANSWERS") {
        write(&answers, Path::new(&folder));
    }
    let mut found = String::new();
    for (name, said) in &answers {
        writeln!(found, "{name} {:08x}", crc32fast::hash(said.as_bytes())).expect("writing to memory");
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/answers.txt");
    if std::env::var_os("JETLAG_BLESS").is_some() {
        std::fs::write(&path, &found).expect("golden file is writable");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let known: std::collections::BTreeSet<&str> = expected.lines().collect();
    let changed: Vec<&str> = found.lines().filter(|line| !known.contains(line)).collect();
    assert!(
        changed.is_empty() && expected.lines().count() == answers.len(),
        "{} of {} answers are others than before, the first of them {:?}. With JETLAG_ANSWERS=FOLDER this test writes them all \
         there: compare the folders of before and after the change. JETLAG_BLESS=1 takes the new ones over.",
        changed.len(),
        answers.len(),
        &changed[..changed.len().min(5)]
    );
}
