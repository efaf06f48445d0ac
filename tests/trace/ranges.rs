//! Programs without CUDA: their ranges become ranges, and those with the batches' name frames.

use jetlag::record::Stage;
use serde_json::Value;

use super::{library, trace, traced, traced_with};
use crate::common::output::{assert_refused, run, stderr, stdout};

#[test]
fn batches_are_frames_with_items_and_stages_and_every_report_reads_them() {
    let Some((output, found)) = traced("batches 21") else {
        return;
    };
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(found.tenants(), ["app"]);
    assert_eq!(found.frames.len(), 20, "the empty one marks the end");
    for (frame, index) in found.frames.iter().zip(0..) {
        assert_eq!((frame.sequence, frame.tenant), (index, 0));
        assert!(frame.released == frame.started && frame.started <= frame.finished);
        assert!(frame.stages[Stage::Decode as usize].is_some(), "{frame:?}");
        assert!(frame.stages[Stage::Compute as usize].is_some(), "{frame:?}");
    }
    let batches: Vec<(Option<u64>, Option<u64>)> = (found.ranges.iter())
        .filter(|range| range.path == "run/batch")
        .map(|range| (range.batch, range.items))
        .collect();
    assert_eq!(batches.len(), 21);
    assert_eq!(
        (batches[0], batches[20]),
        ((Some(0), Some(4)), (Some(20), Some(0)))
    );
    assert_eq!(found.codes(), Vec::<&str>::new());
    assert!(stderr(&output).contains("20 batches"), "{}", stderr(&output));
    assert!(stderr(&output).contains("no kernels"), "{}", stderr(&output));
    assert!(output.stdout.is_empty());
}

#[test]
fn reports_and_exports_read_it_as_any_other_run() {
    let Some(app) = super::app() else { return };
    let folder = tempfile::tempdir().unwrap();
    let words = ["batches", "21"].map(std::ffi::OsStr::new);
    let command = [&[app.as_os_str()], &words[..]].concat();
    let output = trace(folder.path(), &["-w", "2"], &command).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let report = run(&["report", "app.mcap", "--format", "json"], folder.path());
    let summary: Value = serde_json::from_str(&stdout(&report)).unwrap();
    let tenant = &summary["tenants"][0];
    assert_eq!(tenant["name"], "app", "{summary}");
    assert_eq!(tenant["frames"]["completed"], 18, "two are of the warm-up");
    assert!(summary["kernels"].is_null());
    let kernels = run(&["report", "app.mcap", "--kernels"], folder.path());
    assert!(kernels.status.success(), "{}", stderr(&kernels));
    for (format, out) in [("perfetto", "app.pftrace"), ("csv", "tables"), ("cvcuda", "cv")] {
        let export = run(
            &["export", "app.mcap", "--format", format, "-o", out],
            folder.path(),
        );
        assert!(export.status.success(), "{format}: {}", stderr(&export));
    }
    let file = folder.path().join("cv/app/proc_0_gpu_0/benchmark.json");
    let benchmark: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let run_of = &benchmark["data"]["app"]["run"];
    assert_eq!(run_of["total_items"], 80, "{benchmark}");
    assert_eq!(benchmark["meta"]["total_batches"]["app/run"], 20);
    assert_eq!(run_of["batch_3"]["total_items"], 4);
    assert!(run_of["batch_3"]["compute"]["cpu_time"].is_number());
}

/// Nothing is called a cause because nothing else is left: see docs/measurement.md.
#[test]
fn a_program_s_own_ranges_are_its_parts_and_the_rest_is_unattributed() {
    let Some(app) = super::app() else { return };
    let folder = tempfile::tempdir().unwrap();
    let words = ["parts", "20"].map(std::ffi::OsStr::new);
    let command = [&[app.as_os_str()], &words[..]].concat();
    let output = trace(folder.path(), &[], &command).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let report = run(&["report", "app.mcap", "--format", "json"], folder.path());
    let summary: Value = serde_json::from_str(&stdout(&report)).unwrap();
    let tenant = &summary["tenants"][0];
    let parts = tenant["waterfall"]["parts"].as_array().unwrap();
    let names: Vec<&str> = parts.iter().map(|part| part["part"].as_str().unwrap()).collect();
    assert_eq!(names, ["body", "extra", "unattributed"], "{tenant}");
    let sum: f64 = parts.iter().map(|part| part["mean_ms"].as_f64().unwrap()).sum();
    let mean = tenant["response_ms"]["mean"].as_f64().unwrap();
    assert!((sum - mean).abs() < 1e-5, "{sum} {mean}");
    // A millisecond of sleep is at least that.
    assert!(
        parts.iter().all(|part| part["mean_ms"].as_f64().unwrap() >= 1.0),
        "{tenant}"
    );
    let text = stdout(&run(&["report", "app.mcap"], folder.path()));
    for (name, is_there) in [("unattributed", true), ("body", true), ("wakeup", false)] {
        assert_eq!(text.contains(name), is_there, "{name}: {text}");
    }
}

#[test]
fn where_all_batches_are_warm_up_that_is_said() {
    let Some(app) = super::app() else { return };
    let folder = tempfile::tempdir().unwrap();
    let words = ["batches", "21"].map(std::ffi::OsStr::new);
    let command = [&[app.as_os_str()], &words[..]].concat();
    let output = trace(folder.path(), &["-w", "50"], &command).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("20 batches (all warm-up)"),
        "{}",
        stderr(&output)
    );
    let text = stdout(&run(&["report", "app.mcap"], folder.path()));
    let flowing = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flowing.contains("All 20 batches of app were warm-up"), "{text}");
    assert!(!text.contains("marked no batches"), "{text}");
}

#[test]
fn advice_is_what_a_trace_can_follow() {
    let Some(app) = super::app() else { return };
    let folder = tempfile::tempdir().unwrap();
    let words = ["batches", "4"].map(std::ffi::OsStr::new);
    let command = [&[app.as_os_str()], &words[..]].concat();
    let output = trace(folder.path(), &[], &command).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    for (view, said) in [
        (&[][..], "Record for"),
        (&["--kernels"], "`jetlag trace` traces it"),
        (&["--critical-path"], "the first batch alone is known"),
    ] {
        let report = run(&[&["report", "app.mcap"], view].concat(), folder.path());
        assert!(report.status.success(), "{}", stderr(&report));
        let text = stdout(&report);
        let flowing = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flowing.contains(said), "{view:?}: {text}");
        for of_a_scenario in ["--set", "jetlag run", "version 1.8"] {
            assert!(!flowing.contains(of_a_scenario), "{view:?}: {text}");
        }
    }
    // Beside another trace, and beside one of nothing.
    let compared = run(&["compare", "app.mcap", "app.mcap", "--kernels"], folder.path());
    assert_eq!(compared.status.code(), Some(2), "{}", stderr(&compared));
    let text = stdout(&compared);
    let flowing = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flowing.contains("A has a run whose GPU was not traced: record it with `jetlag trace`"),
        "{text}"
    );
    assert!(
        flowing.contains("joined with commas") && !flowing.contains("--ab"),
        "{text}"
    );
    let mut nothing = trace(folder.path(), &[], &["true".as_ref()]);
    std::fs::rename(folder.path().join("app.mcap"), folder.path().join("with.mcap")).unwrap();
    assert!(nothing.output().unwrap().status.success());
    let refused = run(&["compare", "with.mcap", "app.mcap"], folder.path());
    assert_refused(&refused, 2, &["`jetlag trace` saw no process"]);
    assert!(!stderr(&refused).contains("monitor"), "{}", stderr(&refused));
}

#[test]
fn without_its_library_it_cannot_trace_and_says_where_it_looked() {
    let folder = tempfile::tempdir().unwrap();
    let bin = folder.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    // Beside the program, where it is looked for, there is none.
    let alone = bin.join("jetlag");
    // By another process: a test that starts a program meanwhile would inherit the open file, and it could not be run ("text file busy").
    let copied = std::process::Command::new("cp")
        .args([env!("CARGO_BIN_EXE_jetlag").as_ref(), alone.as_os_str()])
        .status();
    assert!(copied.unwrap().success());
    let jetlag = |arguments: &[&str]| {
        let mut jetlag = std::process::Command::new(&alone);
        jetlag.args(arguments).current_dir(folder.path());
        for variable in [
            "JETLAG_INJECTION",
            "CUDA_INJECTION64_PATH",
            "NVTX_INJECTION64_PATH",
        ] {
            jetlag.env_remove(variable);
        }
        jetlag
    };
    let output = jetlag(&["trace", "-o", "x.mcap", "--", "true"]).output().unwrap();
    let place = bin.canonicalize().unwrap().join("libjetlag_inject.so");
    let place = place.display().to_string();
    assert_refused(
        &output,
        125,
        &["libjetlag_inject.so", &place, "../lib/jetlag", "cargo build"],
    );
    let doctor = |named: Option<&std::path::Path>| {
        let mut doctor = jetlag(&["doctor", "--format", "json"]);
        doctor.envs(named.map(|path| ("JETLAG_INJECTION", path)));
        let output = doctor.output().unwrap();
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        let checks = json["checks"].as_array().unwrap();
        let found = checks.iter().find(|check| check["subject"] == "jetlag trace");
        found.unwrap_or_else(|| panic!("{json}")).clone()
    };
    let missing = doctor(None);
    assert_eq!(
        (&missing["status"], &missing["found"]),
        (&"note".into(), &Value::Null)
    );
    assert!(missing["from"].as_str().unwrap().contains(&place), "{missing}");
    assert!(
        missing["fix"].as_str().unwrap().contains("JETLAG_INJECTION"),
        "{missing}"
    );
    let wrong = doctor(Some("/nowhere.so".as_ref()));
    assert_eq!(wrong["status"], "gap", "{wrong}");
    let library = library();
    let found = doctor(Some(&library));
    assert_eq!(
        (&found["status"], &found["from"]),
        (&"good".into(), &library.display().to_string().into())
    );
}

#[test]
fn ranges_of_domains_threads_registered_and_wide_names_are_there() {
    let Some((output, found)) = traced("domains") else {
        return;
    };
    assert!(output.status.success(), "{}", stderr(&output));
    let mut paths = found.paths();
    paths.sort_unstable();
    let four = |path: &'static str| [path; 4];
    let expected = [
        four("in the wide domain"),
        four("outer"),
        four("outer/registered"),
        four("outer/registered/größe"),
    ];
    assert_eq!(paths, expected.concat());
    let mut tracks: Vec<u16> = found.ranges.iter().map(|range| range.track).collect();
    tracks.sort_unstable();
    tracks.dedup();
    assert_eq!(tracks.len(), 8, "four threads, and what they started");
    assert!(
        found.frames.is_empty() && found.codes().is_empty(),
        "{:?}",
        found.findings
    );
}

#[test]
fn names_that_are_no_text_are_shown_and_endless_ones_cut() {
    let Some((output, found)) = traced("names") else {
        return;
    };
    assert!(output.status.success(), "{}", stderr(&output));
    let paths = found.paths();
    assert_eq!(paths.len(), 5, "{}", paths.len());
    assert_eq!(paths[0], "not \u{fffd} utf-8");
    assert!(paths[1].len() < 17_000 && paths[1].ends_with("x…"));
    assert_eq!(paths[2..], ["(no name)", "", "(no name)"]);
}

#[test]
fn ends_without_a_begin_and_ranges_without_an_end_are_counted() {
    let Some((output, found)) = traced("unbalanced batches 3") else {
        return;
    };
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(found.frames.len(), 2);
    assert_eq!(found.codes(), ["unbalanced-ranges"]);
    assert!(
        found.findings[0].message.starts_with("3 ranges"),
        "{:?}",
        found.findings
    );
}

#[test]
fn another_name_of_batches_is_theirs() {
    let Some((_, found)) = traced_with(&["--batch", "decode"], "batches 3", |_| {}) else {
        return;
    };
    assert_eq!(found.frames.len(), 3);
    assert_eq!(found.paths()[0], "run/batch_0/decode");
}

#[test]
fn processes_of_a_command_are_told_apart() {
    let Some((output, found)) = traced("batches 3 spawn batches 5 exit 6") else {
        return;
    };
    assert_eq!(output.status.code(), Some(6), "{}", stderr(&output));
    assert_eq!(found.tenants(), ["app", "exe"]);
    let of = |tenant| found.frames.iter().filter(|frame| frame.tenant == tenant).count();
    assert_eq!((of(0), of(1)), (2, 4));
}

#[test]
fn standard_input_and_output_are_the_commands() {
    let Some(app) = super::app() else { return };
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("input");
    std::fs::write(&input, "one\ntwo\n").unwrap();
    let command = [app.as_os_str(), "echo".as_ref(), "exit".as_ref(), "3".as_ref()];
    let output = trace(folder.path(), &[], &command)
        .stdin(std::fs::File::open(&input).unwrap())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(stdout(&output), "one\ntwo\n");
}

#[test]
fn what_cannot_be_done_is_said_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let of = |command: &str| trace(folder.path(), &[], &[command.as_ref()]);
    for name in ["CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"] {
        let output = of("true").env(name, "/other.so").output().unwrap();
        assert_refused(&output, 2, &[name, "/other.so", "unset it"]);
    }
    let output = of("true")
        .env("JETLAG_INJECTION", "/nowhere.so")
        .output()
        .unwrap();
    assert_refused(&output, 2, &["JETLAG_INJECTION", "/nowhere.so"]);
    assert_refused(&of("no-such-program-here").output().unwrap(), 127, &["PATH"]);
    assert_refused(&of("/").output().unwrap(), 126, &["cannot start /"]);
    let nothing = run(&["trace", "-o", "x.mcap"], folder.path());
    assert_refused(&nothing, 2, &["COMMAND"]);
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        0,
        "no file is left"
    );
    assert!(library().is_file());
}

#[test]
fn a_command_that_loads_nothing_leaves_a_run_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let output = trace(folder.path(), &[], &["true".as_ref()]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("Nothing came from any process of true"),
        "{}",
        stderr(&output)
    );
    let report = run(&["report", "app.mcap"], folder.path());
    assert!(
        stdout(&report).contains("not-traced") || stdout(&report).contains("No process"),
        "{}",
        stdout(&report)
    );
}
