//! The blocks of docs/python.md, run on exported tables, give the figures of the report; and which frames the tables have.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jetlag::record::{Event, FrameRecord, Manifest, OVERHEAD_TENANT, Outcome, Phase, RailRole};
use jetlag::scenario::{BackendChoice, Resource, Stress};
use jetlag::units::Nanos;
use nvidia_doubles::machine::python;

use crate::common::output::run;
use crate::common::planned::Planned as _;
use crate::summary::export::{ended, text, write_run};
use crate::summary::made_up::{self, ms};
use crate::summary::power::{line, record};

const SECONDS: i64 = 70;
const LOAD: u16 = 2;

/// The demo with power of a card and of a processor, a load beside the tenants, and frames of every outcome; among them
/// those that no figure counts.
fn every_kind() -> (Manifest, Vec<Event>) {
    let (mut manifest, mut events) = made_up::demo(SECONDS);
    manifest.tenants[0].backend = "tensorrt".to_owned();
    let load = BackendChoice::Stress(Stress {
        resource: Resource::HostCpu,
        level: 0.5,
        burst: ms(2.0),
    });
    let mut tenant = made_up::tenant("load", 250.0, 0.0);
    (tenant.backend, tenant.deadline) = (load, None);
    manifest.plan().tenants.push(tenant);
    let mut of_load = manifest.tenants[1].clone();
    (of_load.name, of_load.backend, of_load.detector) = ("load".to_owned(), "stress".to_owned(), None);
    manifest.tenants.push(of_load);
    manifest.plan().expect.clear();
    manifest.plan().baseline.idle = Some(Nanos::from_secs(4));
    let mut add = |number: u64, change: fn(&mut FrameRecord)| {
        let at = Nanos::from_secs(SECONDS) - Nanos::from_millis(number as i64);
        let mut frame = made_up::frame(30 * SECONDS as u64 + number, at, ms(0.2), ms(8.0));
        frame.deadline = Some(ms(33.0));
        change(&mut frame);
        events.push(Event::Frame(frame));
    };
    for number in 0..9 {
        add(number, |frame| frame.outcome = Outcome::Dropped);
    }
    for number in 10..15 {
        add(number, |frame| frame.outcome = Outcome::Failed);
    }
    // Within its deadline at the end, and overdue.
    add(20, |frame| frame.outcome = Outcome::Unfinished);
    add(21, |frame| {
        frame.outcome = Outcome::Unfinished;
        frame.deadline = Some(ms(1.0));
    });
    for number in 30..60 {
        add(number, |frame| {
            frame.warmup = true;
            frame.finished = frame.finished + Nanos::from_secs(1);
        });
    }
    add(60, |frame| frame.phase = Phase::Other(3));
    for number in 100..400 {
        add(number, |frame| {
            (frame.tenant, frame.deadline) = (LOAD, None);
            frame.stages[jetlag::record::Stage::Compute as usize] = Some(ms(2.0));
        });
    }
    events.push(Event::Phase(made_up::end(LOAD, Phase::Together, SECONDS)));
    events.extend(record(
        &[
            line("nvml", "gpu0_power_instant", RailRole::Total, |t| {
                Some(if t < -0.5 { 20_000.0 } else { 61_234.0 })
            }),
            line("rapl", "package-0", RailRole::Total, |t| {
                Some(if t < -0.5 { 9_000.0 } else { 31_415.0 })
            }),
        ],
        SECONDS,
    ));
    (manifest, events)
}

fn exported(folder: &Path, args: &[&str]) -> String {
    let (manifest, events) = every_kind();
    write_run(&folder.join("run.mcap"), &manifest, &events);
    let mut all = vec!["export", "run.mcap", "-o", "tables"];
    all.extend(args);
    ended(&run(&all, folder), 0)
}

fn table(folder: &Path, name: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(folder.join("tables").join(name)).expect("a table");
    text.lines()
        .map(|line| line.split(',').map(str::to_owned).collect())
        .collect()
}

#[test]
fn the_page_computes_what_the_report_says() {
    let folder = tempfile::tempdir().expect("a folder");
    exported(folder.path(), &["--format", "csv"]);
    if cfg!(feature = "parquet") {
        exported(folder.path(), &["--format", "parquet"]);
    }
    let report = run(&["report", "run.mcap", "--format", "json"], folder.path());
    ended(&report, 0);
    fs::write(folder.path().join("report.json"), text(&report.stdout)).expect("room");
    let Some(python) = python("pandas, polars, duckdb, pyarrow") else {
        return;
    };
    let repository = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(python)
        .arg(repository.join("tests/python/page_judge.py"))
        .arg(repository.join("docs/python.md"))
        .arg("report.json")
        .current_dir(folder.path())
        .output()
        .expect("Python starts");
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    assert!(said.contains("3 blocks on csv"), "{said}");
    assert_eq!(said.contains("and parquet"), cfg!(feature = "parquet"), "{said}");
}

#[test]
fn the_table_of_frames_has_the_measured_ones_unless_all_are_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = exported(folder.path(), &["--format", "csv"]);
    let measured = table(folder.path(), "frames.csv");
    assert!(
        measured[1..]
            .iter()
            .all(|row| row[0] != "load" && row[0] != "overhead" && row[1] == "together" && row[2] == "false")
    );
    let all_said = exported(folder.path(), &["--format", "csv", "--all-frames", "--force"]);
    let all = table(folder.path(), "frames.csv");
    let (_, events) = every_kind();
    let frames = events.iter().filter_map(|event| match event {
        Event::Frame(frame) => Some(frame),
        _ => None,
    });
    let counted = frames
        .clone()
        .filter(|frame| frame.phase == Phase::Together && !frame.warmup && frame.tenant < LOAD);
    assert_eq!(measured.len() - 1, counted.count());
    assert_eq!(all.len() - 1, frames.clone().count());
    assert!(frames.clone().any(|frame| frame.tenant == OVERHEAD_TENANT));
    let left_out = all.len() - measured.len();
    assert!(
        said.contains(&format!(
            "{left_out} more, of warm-up, other phases and loads, need --all-frames"
        )),
        "{said}"
    );
    assert!(!all_said.contains("--all-frames"), "{all_said}");
    let refused = run(
        &["export", "run.mcap", "--format", "json", "--all-frames"],
        folder.path(),
    );
    assert!(ended(&refused, 2).contains("csv and parquet"));
}

#[test]
fn the_table_of_energy_adds_up_by_rail_and_by_tenant() {
    let folder = tempfile::tempdir().expect("a folder");
    exported(folder.path(), &["--format", "csv"]);
    let rows = table(folder.path(), "energy.csv");
    let at = |name: &str| {
        rows[0]
            .iter()
            .position(|heading| heading == name)
            .expect("a column")
    };
    let number = |row: &[String], name: &str| row[at(name)].parse::<f64>().expect("a number");
    let of = |tenant: &str, total: bool| -> Vec<&Vec<String>> {
        let rows = rows[1..].iter();
        rows.filter(|row| row[0] == tenant && (row[at("rail")] == "total") == total)
            .collect()
    };
    let sum = |rows: &[&Vec<String>]| rows.iter().map(|row| number(row, "energy_mj")).sum::<f64>();
    // The rails add up to the total, and each tenant's parts to its own; all that was drawn was charged.
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-5 * b, "{a} {b}");
    let total = of("", true)[0];
    near(sum(&of("", false)), number(total, "energy_mj"));
    let mut charged = 0.0;
    for (tenant, rails) in [("camera", 2), ("lidar", 1), ("load", 1)] {
        assert_eq!(of(tenant, false).len(), rails, "{tenant}");
        let whole = of(tenant, true)[0];
        near(sum(&of(tenant, false)), number(whole, "energy_mj"));
        charged += number(whole, "energy_mj");
        let [low, middle, high] =
            ["per_frame_low_mj", "per_frame_mj", "per_frame_high_mj"].map(|name| number(whole, name));
        assert!(low < middle && middle < high, "{low} {middle} {high}");
    }
    near(charged, number(total, "energy_mj"));
    // Without power there is nothing to say.
    let (manifest, events) = made_up::demo(4);
    write_run(&folder.path().join("bare.mcap"), &manifest, &events);
    let output = run(
        &["export", "bare.mcap", "--format", "csv", "-o", "bare"],
        folder.path(),
    );
    ended(&output, 0);
    let bare = fs::read_to_string(folder.path().join("bare/energy.csv")).expect("a table");
    assert_eq!(bare.lines().count(), 1, "{bare}");
}
