//! Journals that end anywhere.

use std::collections::BTreeMap;
use std::io::Cursor;

use jetlag_figure::Unit;
use jetlag_sweep::difference::Difference;
use jetlag_sweep::journal::{Entry, FORMAT, Header, Journal, JournalError, JournalFile, RunEntry, encode};
use jetlag_sweep::{Axis, Column, Estimate, Failure, FailureKind, FailureStage, Plan, Setting};
use proptest::prelude::*;

pub(crate) fn header(plan: Plan) -> Header {
    Header {
        format: FORMAT,
        jetlag: "0.1.0".to_owned(),
        base: "base.ron".to_owned(),
        base_hash: "b".to_owned(),
        plan,
        files: BTreeMap::new(),
        limit_s: None,
        knee: None,
    }
}

pub(crate) fn run(settings: &[(&str, &str)], repeat: u32) -> RunEntry {
    let settings: Vec<Setting> = settings
        .iter()
        .map(|(path, value)| Setting::new(*path, *value))
        .collect();
    let plan = Plan {
        choice: jetlag_sweep::Choice::Points(vec![settings.clone()]),
        ..Plan::default()
    };
    RunEntry {
        point: plan.points().unwrap()[0].id(),
        settings,
        repeat,
        seed: Some(7),
        began_unix_s: 1e9,
        took_s: 0.5,
        file: Some("runs/x.mcap".to_owned()),
        failed: None,
        findings: vec!["overload".to_owned()],
        networks: BTreeMap::new(),
        columns: None,
        figures: Vec::new(),
    }
}

fn whole() -> Vec<u8> {
    let mut text = encode(&Entry::Sweep(header(Plan::default()))).unwrap();
    text += &encode(&Entry::Columns {
        id: 0,
        columns: vec![Column::new("camera.response.p99", Unit::Ms)],
    })
    .unwrap();
    for repeat in 0..5 {
        let mut run = run(&[("a", "1\n\"é")], repeat);
        run.columns = Some(0);
        run.figures = vec![Estimate::with(7.5, 7.0, 8.0)];
        if repeat == 3 {
            run.failed = Some(Failure {
                stage: FailureStage::Run,
                kind: FailureKind::Hang,
                tenant: None,
                message: "it hangs".to_owned(),
            });
        }
        text += &encode(&Entry::Run(run)).unwrap();
    }
    text.into_bytes()
}

#[test]
fn a_whole_journal_is_read_as_it_was_written() {
    let bytes = whole();
    let journal = Journal::read(Cursor::new(&bytes)).unwrap();
    assert_eq!(
        (journal.runs.len(), journal.rest, journal.whole),
        (5, 0, bytes.len() as u64)
    );
    assert_eq!(journal.runs[0].figures, [Estimate::with(7.5, 7.0, 8.0)]);
    assert_eq!(journal.runs[0].settings[0].value, "1\n\"é");
    assert_eq!(journal.done().len(), 5);
    // Other programs read it as JSON Lines.
    for line in std::str::from_utf8(&bytes).unwrap().lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(value["crc32"].is_u64() && value["entry"].is_object());
    }
}

#[test]
fn cut_anywhere_it_has_all_whole_lines_and_nothing_else() {
    let bytes = whole();
    let ends: Vec<usize> = bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(at, _)| at + 1)
        .collect();
    for cut in 0..=bytes.len() {
        let journal = Journal::read(Cursor::new(&bytes[..cut])).unwrap();
        let lines = ends.iter().filter(|end| **end <= cut).count();
        // The first two lines are no runs. The last byte of a line is its end: without it the line is not counted.
        assert_eq!(journal.runs.len(), lines.saturating_sub(2), "cut at {cut}");
        assert_eq!(
            journal.whole as usize,
            ends.iter().copied().filter(|end| *end <= cut).max().unwrap_or(0)
        );
        assert!(journal.damaged.is_empty());
    }
}

#[test]
fn what_no_sweep_wrote_is_refused_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    let ours = whole();
    let half = &ours[..30];
    for foreign in [
        b"dear diary\n".to_vec(),
        b"dear diary".to_vec(),
        b"{\"time\": 1}\n{\"time\": 2}\n".to_vec(),
        // A line of ours whose checksum does not hold, and nothing else.
        [half, b"\n"].concat(),
        [ours.as_slice(), b"dear diary"].concat(),
        [half, b"\ndear"].concat(),
    ] {
        std::fs::write(&path, &foreign).unwrap();
        for refused in [
            JournalFile::open(&path).map(|(_, journal)| journal),
            JournalFile::read(&path),
        ] {
            assert!(
                matches!(refused, Err(JournalError::Foreign { .. })),
                "{refused:?}"
            );
        }
        assert_eq!(std::fs::read(&path).unwrap(), foreign);
    }
    // A damaged line at the end is told and stays, as one in the middle does.
    let damaged = [ours.as_slice(), b"dear diary\n"].concat();
    std::fs::write(&path, &damaged).unwrap();
    let (_, journal) = JournalFile::open(&path).unwrap();
    assert_eq!(
        (journal.runs.len(), journal.damaged.len(), journal.rest),
        (5, 1, 0)
    );
    assert_eq!(std::fs::read(&path).unwrap(), damaged);
}

#[test]
fn a_file_is_gone_on_with_after_half_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    std::fs::write(&path, &whole()[..whole().len() - 10]).unwrap();
    let (mut file, journal) = JournalFile::open(&path).unwrap();
    assert_eq!(journal.runs.len(), 4);
    let figures = vec![(Column::new("camera.response.p99", Unit::Ms), Estimate::plain(9.0))];
    file.finished(run(&[("a", "2")], 0), figures.clone()).unwrap();
    file.finished(
        run(&[("a", "3")], 0),
        vec![(Column::new("other", Unit::Factor), Estimate::default())],
    )
    .unwrap();
    drop(file);
    let journal = JournalFile::read(&path).unwrap();
    assert_eq!((journal.runs.len(), journal.rest), (6, 0));
    // The names were there already, and new ones have a number of their own.
    assert_eq!(
        (journal.runs[4].columns, journal.runs[5].columns),
        (Some(0), Some(1))
    );
}

#[test]
fn a_journal_of_a_later_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    let later = Header {
        format: FORMAT + 1,
        ..header(Plan::default())
    };
    std::fs::write(&path, encode(&Entry::Sweep(later)).unwrap()).unwrap();
    assert!(matches!(
        JournalFile::read(&path),
        Err(JournalError::Newer { .. })
    ));
}

#[test]
fn differences_are_told_point_by_point() {
    let plan = |values| Plan {
        axes: vec![values],
        ..Plan::default()
    };
    let (before, now) = (
        plan(Axis::of("a", ["1", "2", "3"])),
        plan(Axis::of("a", ["2", "3", "4"])),
    );
    let mut asked = header(now.clone());
    let of = |asked: &Header| {
        Difference::between(
            &header(before.clone()),
            &before.points().unwrap(),
            asked,
            &now.points().unwrap(),
        )
    };
    let difference = of(&asked);
    assert!(difference.keeps_runs() && !difference.is_none());
    assert_eq!(
        difference.to_string(),
        "new: a=4\n       gone: a=1\n       as before: 2 points"
    );
    asked.base_hash = "other".to_owned();
    assert!(!of(&asked).keeps_runs());
    let same = Difference::between(
        &header(before.clone()),
        &before.points().unwrap(),
        &header(before.clone()),
        &before.points().unwrap(),
    );
    assert!(same.is_none());
}

proptest! {
    /// One changed byte costs at most the lines that it is in, and never makes a run of anything.
    #[test]
    fn a_changed_byte_costs_its_line(at in 0_usize..1000, byte: u8) {
        let mut bytes = whole();
        let at = at % bytes.len();
        prop_assume!(bytes[at] != byte);
        bytes[at] = byte;
        let journal = Journal::read(Cursor::new(&bytes)).unwrap();
        let original = Journal::read(Cursor::new(&whole())).unwrap();
        prop_assert!(journal.runs.iter().all(|run| original.runs.contains(run)));
        // Without the line of names, no run has any.
        let names = whole().iter().position(|byte| *byte == b'\n').unwrap();
        let second = whole().iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0;
        if at > second {
            prop_assert!(journal.runs.len() >= 3, "{} {}", names, journal.runs.len());
        }
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
        prop_assert!(Journal::read(Cursor::new(&bytes)).unwrap().runs.is_empty());
    }
}

#[test]
fn what_is_no_regular_file_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    for error in [
        JournalFile::read(folder.path()).unwrap_err(),
        JournalFile::open(folder.path()).unwrap_err(),
    ] {
        assert!(matches!(error, JournalError::NoFile { .. }), "{error}");
    }
}
