//! Ranges that an application marks: what comes of them in the run file, in reports and in exports.

use std::path::Path;
use std::time::Duration;

use jetlag::analysis::Summary;
use jetlag::range::{RangeError, Recording, Tenant, now};
use jetlag::record::{Completeness, Event, Outcome, RunReader, Stage};
use jetlag::units::Nanos;
use nvidia_doubles::machine::python;
use serde_json::Value;

use crate::common::output::run;
use crate::summary::export::{ended, judge, judge_trace};
use crate::summary::made_up;

fn read(path: &Path) -> (Vec<Event>, Summary) {
    let mut reader = RunReader::open(path).expect("a run file");
    let events: Vec<Event> = reader.by_ref().map(|event| event.expect("whole")).collect();
    assert_eq!(reader.completeness(), Completeness::Whole);
    let summary = made_up::summarize(reader.manifest(), &events);
    (events, summary)
}

/// Two threads of one tenant, ten batches each, and a tenant that pushes and pops by hand.
fn record(path: &Path) {
    let tenants = [
        Tenant::new("camera").deadline(Duration::from_millis(1)).warmup(2),
        Tenant::new("by-hand"),
    ];
    let recording = Recording::create(path, "app", &tenants).expect("a file");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let mut track = recording.track("camera").expect("a tenant");
            scope.spawn(move || {
                let mut run = track.range("run");
                for i in 0..10 {
                    let mut batch = run.batch_due("batch", now() - Nanos::from_millis(2));
                    batch.set_items(4);
                    if i == 5 {
                        batch.fail();
                    }
                    drop(batch.range("preprocess"));
                    let mut compute = batch.range("compute");
                    // Not directly within the batch: no stage.
                    drop(compute.range("postprocess"));
                    std::thread::sleep(Duration::from_micros(200));
                    drop(compute);
                    drop(batch.range("compute"));
                }
            });
        }
        let mut track = recording.track("by-hand").expect("a tenant");
        scope.spawn(move || {
            for items in [3, 3, 0] {
                track.push_batch("batch");
                track.push("decode");
                track.pop();
                track.pop_items(items);
            }
            track.pop();
            track.push("never popped");
        });
    });
    recording.finish().expect("room");
}

#[test]
fn batches_become_frames_and_ranges_named_like_stages_their_stages() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("app.mcap");
    record(&path);
    let (events, summary) = read(&path);
    let camera = &summary.tenants[0];
    assert_eq!(
        (camera.backend.as_str(), camera.frames.offered),
        ("application", 18)
    );
    assert_eq!(camera.frames.failed + camera.frames.completed, 18);
    assert_eq!(
        camera.frames.missed, 18,
        "due 2 ms before they began, promised within 1 ms"
    );
    let names: Vec<&str> = camera.stages_ms.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["preprocess", "compute"]);
    let mut sequences = Vec::new();
    for event in &events {
        let Event::Frame(frame) = event else { continue };
        if frame.tenant != 0 {
            continue;
        }
        sequences.push(frame.sequence);
        // What one batch says twice adds up.
        let ranges = events.iter().filter_map(|event| match event {
            Event::Range(range) if range.tenant == 0 && range.batch == Some(frame.sequence) => Some(range),
            _ => None,
        });
        let compute = ranges
            .filter(|range| range.path == "run/batch/compute")
            .fold(Nanos::ZERO, |sum, range| sum + range.duration());
        assert_eq!(frame.stages[Stage::Compute as usize], Some(compute));
        assert!(compute >= Nanos::from_micros(200) && frame.service() >= compute);
        assert!(frame.queueing() >= Nanos::from_millis(2));
    }
    sequences.sort_unstable();
    assert_eq!(
        sequences,
        (0..20).collect::<Vec<_>>(),
        "indices count the tenant's batches"
    );
    let failed = |event: &&Event| matches!(event, Event::Frame(f) if f.outcome == Outcome::Failed);
    assert_eq!(events.iter().filter(failed).count(), 2);

    let by_hand = &summary.tenants[1];
    assert_eq!(by_hand.frames.offered, 2, "the end of the stream is no frame");
    // One pop and one push too many.
    let mut findings = summary.run.findings.iter();
    assert!(findings.any(|finding| finding.code == "unbalanced-ranges"));
}

#[test]
fn an_applications_run_is_reported_and_exported_like_any_other() {
    let folder = tempfile::tempdir().expect("a folder");
    record(&folder.path().join("app.mcap"));
    ended(&run(&["report", "app.mcap"], folder.path()), 0);
    for args in [
        &["--format", "csv", "-o", "tables", "--all-frames"][..],
        &["--format", "perfetto", "-o", "t.trace"],
        &["--format", "cvcuda", "-o", "bench"],
    ] {
        let all = [&["export", "app.mcap"], args].concat();
        ended(&run(&all, folder.path()), 0);
    }
    let file = folder.path().join("bench/camera/proc_0_gpu_0/benchmark.json");
    let benchmark: Value =
        serde_json::from_str(&std::fs::read_to_string(file).expect("a file")).expect("JSON");
    let level = &benchmark["data"]["camera"]["run"];
    assert_eq!(level["total_items"], 80);
    assert_eq!(level["total_items_minus_warmup"], 72);
    assert!(level["batch_19"]["compute"]["cpu_time"].as_f64().expect("a time") > 0.0);
    assert_eq!(level["batch_3"]["compute"]["postprocess"]["total_items"], 4);
    assert_eq!(benchmark["meta"]["total_batches"]["camera/run"], 20);
    judge_trace(&["app.mcap", "t.trace"].map(|name| folder.path().join(name)));
    if let Some(python) = python("mcap_ros2") {
        let files = ["app.mcap", "tables"].map(|name| folder.path().join(name));
        judge(&python, "csv_judge.py", &files);
    }
}

#[test]
fn what_cannot_be_recorded_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("app.mcap");
    let said = |tenants: &[Tenant]| match Recording::create(&path, "app", tenants) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    };
    assert!(said(&[]).contains("at least one tenant"));
    assert!(said(&[Tenant::new("a"), Tenant::new("a")]).contains("`a` exists twice"));
    let nowhere = Recording::create(&path.join("x"), "app", &[Tenant::new("a")]);
    assert!(matches!(nowhere, Err(RangeError::Record(_))));
    let recording = Recording::create(&path, "app", &[Tenant::new("a")]).expect("a file");
    match recording.track("b") {
        Err(error) => assert!(
            error
                .to_string()
                .contains("unknown tenant `b`; the recording has a")
        ),
        Ok(_) => panic!("there is no such tenant"),
    }
    recording.finish().expect("room");
    // A run in which nothing happened.
    let report = run(&["report", "app.mcap"], folder.path());
    ended(&report, 0);
}

#[test]
fn a_queue_that_runs_over_loses_ranges_and_the_run_says_how_many() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("app.mcap");
    let recording = Recording::create(&path, "app", &[Tenant::new("fast")]).expect("a file");
    let mut track = recording.track("fast").expect("a tenant");
    const RANGES: u64 = 2_000_000;
    for _ in 0..RANGES {
        drop(track.batch("batch"));
    }
    drop(track);
    recording.finish().expect("room");
    let (events, summary) = read(&path);
    let kept = events
        .iter()
        .filter(|event| matches!(event, Event::Range(_)))
        .count() as u64;
    assert_eq!(kept + summary.tenants[0].frames.lost_records, RANGES);
    assert_eq!(kept, summary.tenants[0].frames.completed);
}
