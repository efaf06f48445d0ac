//! What a sweep's table has: all figures, failures with their cause, and what other programs read of it.

use std::fs;
use std::process::{Command, Stdio};

use nvidia_doubles::machine::python;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{done, folder, json, table};
use crate::common::output::{assert_refused, jetlag, run, stderr};
use crate::common::under_way::wait_until;

const CAMERA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/engines/camera.onnx");
const TWO: &str = r#"Sweep(base: "base.ron", repeats: 3, order: Random(seed: 7), axes: [
    Axis(set: "tenants.camera.arrival.hz", values: [30, 150]),
    Axis(set: "tenants.camera.overload", values: ["DropOldest(queue: 1)", "Queue(capacity: 16)"]),
], without: [["tenants.camera.arrival.hz=150", "tenants.camera.overload=Queue(capacity: 16)"]])"#;

#[test]
fn many_axes_leave_room_for_figures_and_no_number_is_broken() {
    let axis = |set: &str, value: &str| format!("Axis(set: \"{set}\", values: [{value}])");
    let axes = [
        axis("tenants.camera.arrival.hz", "30, 60"),
        axis("tenants.camera.overload", "\"DropOldest(queue: 1)\""),
        axis(
            "tenants.camera.backend",
            "\"Sim(LogNormal(median: \\\"9ms\\\", sigma: 0.2))\"",
        ),
        axis("seed", "7"),
    ];
    let folder = folder(&format!("Sweep(base: \"base.ron\", axes: [{}])", axes.join(", ")));
    done(&["sweep", "s.ron", "-o", "s", "--quiet"], folder.path());
    let text = done(&["sweep", "s"], folder.path());
    for part in ["camera.response.p99_ms", "overload=DropOldest(queue: 1)"] {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
    let wide = jetlag(&["sweep", "s"], folder.path())
        .env("COLUMNS", "220")
        .output();
    let wide = crate::common::output::stdout(&wide.unwrap());
    assert!(
        !wide.contains("Settings:") && wide.contains("camera.response.p99_ms"),
        "{wide}"
    );
    let markdown = done(&["sweep", "s", "--format", "markdown"], folder.path());
    assert!(
        markdown.starts_with("#### Sweep\n") && markdown.contains("| point | camera.arrival.hz |"),
        "{markdown}"
    );
    let line = [
        "sweep",
        "s",
        "--pareto",
        "response.p50,response.p90,response.p95,response.p99",
    ];
    let narrow = jetlag(&line, folder.path()).env("COLUMNS", "60").output();
    let narrow = crate::common::output::stdout(&narrow.unwrap());
    let whole = narrow
        .lines()
        .filter(|line| line.matches('–').count() == 4)
        .count();
    assert_eq!(whole, 2, "{narrow}");
    // The axis over the seed is the table's one column of that name.
    let table = fs::read_to_string(folder.path().join("s/table.csv")).unwrap();
    let heads = table.lines().next().unwrap().split(',');
    assert_eq!(heads.filter(|head| *head == "seed").count(), 1);
}

#[test]
fn a_sweep_has_a_row_a_run_with_every_figure_and_answers_afterwards() {
    let folder = folder(TWO);
    let whole = json(
        &["sweep", "s.ron", "-o", "s", "--format", "json", "--quiet"],
        folder.path(),
    );
    assert_eq!(
        whole["runs"],
        json!({"done": 9, "failed": 0, "skipped": 0, "left": 0})
    );
    let first = &whole["rows"][0];
    assert_eq!(first["set"]["tenants.camera.arrival.hz"], "30");
    assert_eq!(first["seed"], 3);
    assert_eq!(whole["rows"][1]["seed"], 4);
    assert!(first["figures"]["camera.response.p50"]["ci95"].is_array());
    let run_file = folder.path().join("s").join(first["file"].as_str().unwrap());
    let report = json(
        &["report", run_file.to_str().unwrap(), "--format", "json"],
        folder.path(),
    );
    assert_eq!(
        report["tenants"][0]["response_ms"]["p99"],
        first["figures"]["camera.response.p99"]["value"]
    );
    // The same line makes nothing again, and the folder alone tells the same.
    let journal = fs::read(folder.path().join("s/journal.jsonl")).unwrap();
    let again = json(
        &["sweep", "s.ron", "-o", "s", "--format", "json", "--quiet"],
        folder.path(),
    );
    assert_eq!(again, whole);
    assert_eq!(json(&["sweep", "s", "--format", "json"], folder.path()), whole);
    assert_eq!(fs::read(folder.path().join("s/journal.jsonl")).unwrap(), journal);
    // 30 Hz with either queue is better than 150 Hz that drops, but for the throughput.
    let front = json(
        &[
            "sweep",
            "s",
            "--pareto",
            "response.p99,dropped",
            "--format",
            "json",
        ],
        folder.path(),
    );
    let standing: Vec<&str> = front["points"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| point["standing"].as_str().unwrap())
        .collect();
    assert_eq!(standing[2], "out", "{front}");
    let text = done(
        &["sweep", "s", "--pareto", "response.p99,throughput"],
        folder.path(),
    );
    assert!(text.contains("PARETO") && text.contains("front"), "{text}");
    // The table alone answers too.
    let of_csv = json(
        &[
            "sweep",
            "s/table.csv",
            "--pareto",
            "response.p99,dropped",
            "--format",
            "json",
        ],
        folder.path(),
    );
    assert_eq!(of_csv["points"][2]["standing"], "out");
}

#[test]
fn failed_points_are_rows_with_a_cause_and_stop_an_axis() {
    // Real time: either value takes longer than a run may, wherever it is when its time is over.
    let folder = folder(
        r#"Sweep(base: "real.ron", limit: "2s", axes: [
            Axis(set: "duration", values: ["1h", "2h"], till_first_fail: true)])"#,
    );
    let real =
        "Scenario(warmup: \"0s\", tenants: [Tenant(name: \"a\", backend: Null, arrival: Periodic(hz: 100))])";
    fs::write(folder.path().join("real.ron"), real).unwrap();
    let output = run(&["sweep", "s.ron", "-o", "s", "--yes"], folder.path());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("point 1 failed: time-limit (run)"),
        "{}",
        stderr(&output)
    );
    let whole = json(&["sweep", "s", "--format", "json"], folder.path());
    let rows = whole["rows"].as_array().unwrap();
    assert_eq!(rows[0]["failed"]["kind"], "time-limit");
    assert_eq!(
        (&rows[1]["state"], &rows[1]["after_point"]),
        (&json!("skipped"), &json!(1))
    );
    // A failed point is finished: nothing is made again.
    let again = run(&["sweep", "s.ron", "-o", "s", "--yes"], folder.path());
    assert!(!stderr(&again).contains("run 1 of 2"), "{}", stderr(&again));
}

#[test]
fn what_keeps_a_run_from_starting_is_told_by_stage_and_kind() {
    let folder = folder(
        r#"Sweep(base: "real.ron", axes: [Axis(set: "tenants.a.source", till_first_fail: true,
            values: ["Empty", "Images(\"pictures\")", "Images(\"others\")"])])"#,
    );
    for pictures in ["pictures", "others"] {
        fs::create_dir(folder.path().join(pictures)).unwrap();
        fs::write(folder.path().join(pictures).join("a.png"), "no picture").unwrap();
    }
    // Ended by its frames, the first run is a good one on any machine.
    let real = "Scenario(duration: \"1h\", warmup: \"0s\", tenants: [Tenant(name: \"a\", backend: Null, arrival: Periodic(hz: 1000), frames: 10)])";
    fs::write(folder.path().join("real.ron"), real).unwrap();
    let whole = json(
        &[
            "sweep", "s.ron", "-o", "s", "--format", "json", "--quiet", "--yes",
        ],
        folder.path(),
    );
    assert_eq!(
        whole["runs"],
        json!({"done": 1, "failed": 1, "skipped": 1, "left": 0})
    );
    let failed = &whole["rows"][1]["failed"];
    assert_eq!(failed["tenant"], "a", "{whole}");
    assert!(failed["kind"] == "load" || failed["kind"] == "frames", "{failed}");
}

#[test]
fn a_second_sweep_is_refused_and_an_interrupted_one_goes_on() {
    // Ended by its frames, the first run is a good one on any machine.
    let folder =
        folder(r#"Sweep(base: "real.ron", axes: [Axis(set: "tenants.a.frames", values: [2, 1000000])])"#);
    let real = "Scenario(warmup: \"0s\", duration: \"1h\", tenants: [\
                Tenant(name: \"a\", backend: Null, arrival: Periodic(hz: 100), frames: 1)])";
    fs::write(folder.path().join("real.ron"), real).unwrap();
    let mut sweep = jetlag(&["sweep", "s.ron", "-o", "s", "--yes"], folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let journal = folder.path().join("s/journal.jsonl");
    wait_until("the first run is finished", || {
        fs::read_to_string(&journal).is_ok_and(|text| text.contains("{\"run\":{"))
    });
    assert_refused(
        &run(&["sweep", "s.ron", "-o", "s", "--yes"], folder.path()),
        2,
        &["another sweep (process", "runs in s"],
    );
    kill_process(Pid::from_child(&sweep), Signal::INT).unwrap();
    assert_eq!(sweep.wait().unwrap().code(), Some(130));
    let whole = json(&["sweep", "s", "--format", "json"], folder.path());
    assert_eq!(
        whole["runs"],
        json!({"done": 1, "failed": 0, "skipped": 0, "left": 1})
    );
}

#[test]
fn the_configuration_runs_and_pandas_and_duckdb_read_its_table() {
    let folder = tempfile::tempdir().unwrap();
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/sweep.ron");
    let text = done(&["sweep", config, "-o", "s", "--quiet"], folder.path());
    assert!(
        text.contains("12 points of") && text.contains("24 runs done"),
        "{text}"
    );
    assert_eq!(table(&folder.path().join("s")).len(), 25);
    let Some(python) = python("pandas, duckdb") else {
        return;
    };
    let judge = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/sweep_judge.py");
    let output = Command::new(python)
        .arg(judge)
        .arg(folder.path().join("s"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success() && said.contains("24 rows agree"),
        "{said}{}",
        stderr(&output)
    );
}

/// A limit on the length of files stands for a disk without room: the system refuses the same writes, in other words.
#[test]
fn a_network_that_changes_between_runs_is_told_and_one_of_an_axis_ends_the_sweep() {
    let base = "Scenario(duration: \"600s\", warmup: \"0s\", tenants: [\
                Tenant(name: \"net\", detector: \"one.onnx\", backend: Cpu(threads: 1), frames: 2)])";
    let folder = super::folder("Sweep(base: \"net.ron\", repeats: 2, points: [[\"duration=500s\"]])");
    let path = |name: &str| folder.path().join(name);
    fs::write(path("net.ron"), base).unwrap();
    fs::copy(CAMERA, path("one.onnx")).unwrap();
    let variants = ["data", "variants", "one.onnx", "--prune", "50", "-o", "v"];
    done(&variants, folder.path());
    done(&["sweep", "s.ron", "-o", "s", "-q"], folder.path());
    // As if it had been ended after the first run, and the file replaced before it went on.
    let journal = path("s/journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let kept = lines.iter().rposition(|line| line.contains("\"run\":")).unwrap();
    fs::write(&journal, lines[..kept].join("\n") + "\n").unwrap();
    fs::copy(path("v/one_random_50.onnx"), path("one.onnx")).unwrap();
    let table = json(
        &["sweep", "s.ron", "-o", "s", "-q", "--format", "json"],
        folder.path(),
    );
    let findings = |row: usize| table["rows"][row]["findings"].to_string();
    assert!(!findings(0).contains("networks-changed"), "{table}");
    assert!(findings(1).contains("networks-changed-between-runs"), "{table}");
    let text = done(&["sweep", "s"], folder.path());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("different networks (column networks): point 1"),
        "{text}"
    );

    // The file of an axis: the first run replaces it.
    // So many runs that it is replaced before the last of them, however slow this thread is.
    let lengths: Vec<String> = (400..600).map(|seconds| format!("\"{seconds}s\"")).collect();
    let watched = format!(
        "Sweep(base: \"net.ron\", axes: [Axis(set: \"tenants.net.detector\", files: \"v/*.onnx\"), Axis(set: \"duration\", values: [{}])])",
        lengths.join(", ")
    );
    fs::write(path("w.ron"), watched).unwrap();
    let sweep = jetlag(&["sweep", "w.ron", "-o", "w", "--yes"], folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("a first run", || {
        fs::read_dir(path("w/runs")).is_ok_and(|all| all.count() > 0)
    });
    fs::copy(CAMERA, path("v/one_random_50.onnx")).unwrap();
    let output = sweep.wait_with_output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("one_random_50.onnx has changed while the sweep ran"),
        "{said}"
    );
}

#[test]
fn a_point_whose_file_is_too_large_is_a_row_and_the_others_are_run() {
    let folder = folder(
        "Sweep(base: \"base.ron\", axes: [Axis(set: \"tenants.camera.arrival.hz\", values: [60, 1])])",
    );
    let base = super::BASE.replace("60s", "600s");
    fs::write(folder.path().join("base.ron"), base).unwrap();
    // 512 KiB: the frames of 60 Hz take 2 MB, those of 1 Hz 0.1 MB.
    let line = "trap '' XFSZ; ulimit -f 1024; exec \"$0\" sweep s.ron -o s --quiet --format json";
    let output = Command::new("sh")
        .args(["-c", line, env!("CARGO_BIN_EXE_jetlag")])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let whole: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = whole["rows"].as_array().unwrap();
    let failed = &rows[0]["failed"];
    assert_eq!(
        (&failed["stage"], &failed["kind"]),
        (&json!("save"), &json!("disk-full")),
        "{whole}"
    );
    let message = failed["message"].as_str().unwrap();
    assert!(message.starts_with("cannot write to the run file"), "{message}");
    assert_eq!(rows[1]["state"], "done", "{whole}");
    // The journal needs the room that the half file took.
    assert_eq!(fs::read_dir(folder.path().join("s/runs")).unwrap().count(), 1);
}

#[test]
fn a_full_disk_stops_a_sweep_and_it_goes_on_where_there_is_room() {
    let folder = folder(
        "Sweep(base: \"base.ron\", axes: [Axis(set: \"tenants.camera.arrival.hz\", values: [1, 60, 2])])",
    );
    let base = super::BASE.replace("60s", "600s");
    fs::write(folder.path().join("base.ron"), base).unwrap();
    let disk = folder.path().join("s");
    fs::create_dir(&disk).unwrap();
    let mount = |options: &str| {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(&disk)
            .output();
        mounted.is_ok_and(|output| output.status.success())
    };
    if !mount("size=1m") {
        return nvidia_doubles::machine::skip("only root can mount a small disk");
    }
    let sweep = || {
        jetlag(&["sweep", "s.ron", "-o", "s", "--format", "json"], folder.path())
            .output()
            .unwrap()
    };
    let (full, stopped) = (sweep(), fs::read_to_string(disk.join("journal.jsonl")));
    let more = mount("remount,size=64m");
    let whole = sweep();
    let gone = Command::new("umount").arg(&disk).status();
    assert!(gone.unwrap().success() && more);
    let said = stderr(&full);
    assert_eq!(full.status.code(), Some(1), "{said}");
    assert!(
        said.contains("cannot write to the run file") && said.contains("goes on from there"),
        "{said}"
    );
    // The frames of 60 Hz take 2 MB; what is finished is the point before.
    assert_eq!(stopped.unwrap().matches("{\"run\":{").count(), 1);
    let said = stderr(&whole);
    assert_eq!(whole.status.code(), Some(0), "{said}");
    assert!(said.contains("going on: 1 of 3 runs are finished"), "{said}");
    let whole: serde_json::Value = serde_json::from_slice(&whole.stdout).unwrap();
    let rows = whole["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["state"] == "done"), "{whole}");
}
