//! How a run ends that does not come to its end: signals, SIGKILL, a full disk.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::under_way::{completed, wait_until};
use super::{assert_refused, run, scenario, stderr};

fn spawn_live(folder: &Path) -> (Child, PathBuf) {
    let path = scenario(
        folder,
        "Scenario(name: \"live\", duration: \"10min\", warmup: \"0s\", tenants: [\
         Tenant(name: \"a\", backend: Sim(Fixed(\"2ms\")), arrival: Periodic(hz: 100))])",
    );
    let out = folder.join("run.mcap");
    // The tests themselves may have been started with `nohup`.
    let child = Command::new("env")
        .args(["--default-signal=HUP", env!("CARGO_BIN_EXE_jetlag")])
        .args(["run", &path, "--out", "run.mcap", "--format", "json"])
        .current_dir(folder)
        .env_remove("RUST_LOG")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // When frames are in the file depends on the machine, so it is seen and not assumed.
    wait_until("frames are in the file", || completed(&out, 0) > 10);
    (child, out)
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), signal).unwrap();
}

#[test]
fn ctrl_c_sigterm_and_a_terminal_that_goes_away_end_the_run_with_its_results_and_code_130() {
    for kind in [Signal::INT, Signal::TERM, Signal::HUP] {
        let folder = tempfile::tempdir().unwrap();
        let (child, _) = spawn_live(folder.path());
        signal(&child, kind);
        if kind == Signal::HUP {
            // The kernel and the shell both send one; the second must not end what the first began.
            signal(&child, kind);
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(summary["tenants"][0]["frames"]["completed"].as_u64().unwrap() > 10);
        assert_eq!(summary["run"]["verdict"], "limited");
        assert!(
            summary["run"]["findings"].to_string().contains("short-run"),
            "{summary}"
        );
    }
}

#[test]
fn a_run_that_is_to_outlive_its_terminal_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = scenario(
        folder.path(),
        "Scenario(name: \"live\", duration: \"10min\", warmup: \"0s\", tenants: [\
         Tenant(name: \"a\", backend: Sim(Fixed(\"2ms\")), arrival: Periodic(hz: 100))])",
    );
    let out = folder.path().join("run.mcap");
    // What `nohup` does.
    let mut child = Command::new("sh")
        .args([
            "-c",
            "trap '' HUP; exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_jetlag"),
        ])
        .args(["run", &path, "--quiet", "--out"])
        .arg(&out)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("frames are in the file", || completed(&out, 0) > 10);
    signal(&child, Signal::HUP);
    let before = completed(&out, 0);
    wait_until("more frames are in the file", || {
        completed(&out, 0) > before + 200
    });
    signal(&child, Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_run_killed_in_the_middle_can_still_be_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, out) = spawn_live(folder.path());
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    let report = run(
        &["report", &out.display().to_string(), "--format", "json"],
        folder.path(),
    );
    assert_eq!(
        report.status.code(),
        Some(4),
        "a record with gaps: {}",
        stderr(&report)
    );
    let summary: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert!(
        summary["tenants"][0]["frames"]["completed"].as_u64().unwrap() > 10,
        "{summary}"
    );
    assert!(
        summary["run"]["findings"].to_string().contains("truncated-file"),
        "{summary}"
    );
}

#[test]
fn a_full_disk_ends_the_run_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let path = scenario(
        folder.path(),
        "Scenario(name: \"full\", duration: \"20s\", tenants: [\
         Tenant(name: \"a\", backend: Sim(Fixed(\"1ms\")), arrival: Periodic(hz: 500))])",
    );
    let output = run(&["run", &path, "--out", "/dev/full"], folder.path());
    assert_refused(&output, 1, &["/dev/full", "No space left"]);
    let said = stderr(&output);
    assert_eq!(
        said.matches("No space left").count(),
        1,
        "the cause is said once: {said}"
    );

    let absent = run(&["report", "absent.mcap"], folder.path());
    assert_refused(&absent, 2, &["absent.mcap", "runs/*.mcap"]);
    // A folder is not taken for a misspelt one; the run in it is named.
    std::fs::create_dir(folder.path().join("kept")).unwrap();
    let empty = run(&["report", "kept"], folder.path());
    assert_refused(&empty, 2, &["kept is a folder, and no run file (.mcap) is in it"]);
    assert!(!stderr(&empty).contains("did you mean"), "{}", stderr(&empty));
    std::fs::write(folder.path().join("kept/a.mcap"), "").unwrap();
    let full = run(&["report", "kept"], folder.path());
    assert_refused(&full, 2, &["kept is a folder", "the newest is kept/a.mcap"]);
}

#[test]
fn a_run_file_is_never_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = scenario(
        folder.path(),
        "Scenario(name: \"kept\", duration: \"2s\", clock: Virtual, tenants: [\
         Tenant(name: \"a\", backend: Sim(Fixed(\"1ms\")), arrival: Periodic(hz: 100))])",
    );
    run(&["run", &path, "--out", "a.mcap"], folder.path());
    let before = std::fs::read(folder.path().join("a.mcap")).unwrap();
    for arguments in [
        ["report", "a.mcap", "--html", "a.mcap"].as_slice(),
        &["export", "a.mcap", "--format", "perfetto", "-o", "a.mcap"],
        &["export", "a.mcap", "--format", "markdown", "-o", "a.mcap"],
    ] {
        let output = run(arguments, folder.path());
        assert_refused(&output, 2, &["a.mcap is a run file", "name another file"]);
        let after = std::fs::read(folder.path().join("a.mcap")).unwrap();
        assert!(after == before, "{arguments:?}");
    }
}

#[test]
fn a_run_that_is_interrupted_while_it_is_prepared_leaves_no_empty_file() {
    for kind in [Signal::INT, Signal::TERM, Signal::HUP] {
        let folder = tempfile::tempdir().unwrap();
        let path = scenario(
            folder.path(),
            "Scenario(name: \"slow\", duration: \"10min\", warmup: \"0s\", tenants: [Tenant(name: \"camera\", detector: \
             \"builtin:camera\", source: Synthetic(sensor: Camera, scenes: 400), backend: Cpu(threads: 1), arrival: Periodic(1))])",
        );
        let child = Command::new("env")
            .args(["--default-signal=HUP", env!("CARGO_BIN_EXE_jetlag")])
            .args(["run", &path, "--quiet"])
            .current_dir(folder.path())
            .env_remove("RUST_LOG")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let files = || -> Vec<PathBuf> {
            let entries = std::fs::read_dir(folder.path().join("runs"));
            entries
                .into_iter()
                .flatten()
                .map(|entry| entry.unwrap().path())
                .collect()
        };
        wait_until("the name is taken", || !files().is_empty());
        signal(&child, kind);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        // Where the machine was so slow to tell it that the run had begun, there is a run.
        for file in files() {
            assert!(std::fs::metadata(&file).unwrap().len() > 0, "{file:?} is empty");
        }
    }
}

#[test]
fn a_monitor_whose_reader_has_gone_ends() {
    use std::io::BufRead;
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_jetlag"))
        .args(["monitor", "--format", "json", "--interval", "20ms"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap());
    lines.read_line(&mut String::new()).unwrap();
    drop(lines);
    let mut status = None;
    wait_until("the monitor ends", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.unwrap().code(), Some(0));
}

#[test]
fn a_recording_is_closed_although_its_lines_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_jetlag"))
        .args([
            "monitor",
            "--format",
            "json",
            "--interval",
            "20ms",
            "--record",
            "r.mcap",
        ])
        .current_dir(folder.path())
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let mut reader = jetlag::record::RunReader::open(&folder.path().join("r.mcap")).unwrap();
    assert!(reader.by_ref().all(|event| event.is_ok()));
    assert_eq!(reader.completeness(), jetlag::record::Completeness::Whole);
}
