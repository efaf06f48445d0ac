//! The binary as a process: exit codes, what lies on stdout and stderr, signals, and inputs that are wrong.

use crate::common::output::{assert_refused, jetlag, run, stderr, stdout};
use crate::common::under_way;

mod bad_input;
mod codes;
mod critical;
mod ends;
mod files;
mod gate;
mod hostile;
mod limits;
mod output;
#[cfg(feature = "recordings")]
mod programs;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/demo.ron");

/// Writes a scenario and returns its path.
fn scenario(folder: &Path, text: &str) -> String {
    let path = folder.join("scenario.ron");
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Ended by its frames, or by ten failures in a row: a busy machine comes to all of them, in their order.
fn camera_scenario(folder: &Path, detector: &str, source: &str) -> String {
    scenario(
        folder,
        &format!(
            "Scenario(name: \"t\", duration: \"10min\", warmup: \"0s\", tenants: [Tenant(name: \"camera\", \
             detector: {detector:?}, backend: Cpu(threads: 1), source: {source}, arrival: Closed, frames: 20)])"
        ),
    )
}

/// The run must fail with this exit code and these phrases on stderr, and must not have panicked.
#[test]
fn help_and_version_go_to_stdout_and_wrong_use_to_stderr_with_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let help = run(&["--help"], folder.path());
    assert!(help.status.success() && stdout(&help).contains("jetlag demo"));
    assert!(stdout(&run(&["--version"], folder.path())).starts_with("jetlag "));
    let wrong = run(&["rnu"], folder.path());
    assert_refused(&wrong, 2, &["rnu"]);
    assert!(wrong.stdout.is_empty());
    for verb in ["run", "demo", "report", "inspect", "eval", "data", "doctor"] {
        let text = stdout(&run(&[verb, "--help"], folder.path()));
        assert!(text.contains("Usage"), "{verb}: {text}");
    }
}

#[test]
fn the_demo_needs_no_file_and_leaves_a_run_that_can_be_reported_again() {
    let folder = tempfile::tempdir().unwrap();
    // So many frames, however long a busy machine takes.
    let demo = run(
        &[
            "demo",
            "--set",
            "duration=10min",
            "--set",
            "warmup=200ms",
            "--set",
            "tenants.camera.frames=20",
            "--set",
            "tenants.camera.overload=Queue(capacity: 100)",
            "--set",
            "tenants.lidar.frames=10",
            "--set",
            "tenants.lidar.overload=Queue(capacity: 100)",
            "--format",
            "json",
        ],
        folder.path(),
    );
    let code = demo.status.code().unwrap();
    assert!(code == 0 || code == 3, "{}", stderr(&demo));
    let summary: Value = serde_json::from_slice(&demo.stdout).unwrap();
    assert_eq!(summary["schema"], 1);
    let tenants = summary["tenants"].as_array().unwrap();
    assert_eq!(tenants.len(), 2);
    for tenant in tenants {
        assert!(tenant["frames"]["completed"].as_u64().unwrap() > 0, "{tenant}");
        assert!(
            tenant["detections"].as_u64().unwrap() > 0,
            "the networks see the scenes: {tenant}"
        );
        assert!(
            tenant["stages_ms"]["compute"]["mean"].as_f64().unwrap() > 0.0,
            "{tenant}"
        );
    }
    let runs: Vec<PathBuf> = fs::read_dir(folder.path().join("runs"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    assert_eq!(runs.len(), 1);
    let again = run(
        &["report", &runs[0].display().to_string(), "--format", "json"],
        folder.path(),
    );
    let mut repeated: Value = serde_json::from_slice(&again.stdout).unwrap();
    repeated["run"]["file"] = summary["run"]["file"].clone();
    assert_eq!(repeated, summary, "one path from record to number");
}

#[test]
fn a_profiled_tenant_shows_where_its_networks_time_goes() {
    let folder = tempfile::tempdir().unwrap();
    // So many frames, however long a busy machine takes.
    let profile = [
        "tenants.camera.backend=Cpu(profile: true)",
        "tenants.camera.arrival=Closed",
        "tenants.camera.frames=12",
        "tenants.lidar.arrival=Closed",
        "tenants.lidar.frames=4",
        "duration=10min",
        "warmup=0s",
    ];
    let mut args = vec!["demo", "--out", "run.mcap", "--force", "--format", "json"];
    args.extend(profile.iter().flat_map(|set| ["--set", set]));
    let demo = run(&args, folder.path());
    let code = demo.status.code().unwrap();
    assert!(code == 0 || code == 3, "{}", stderr(&demo));
    let summary: Value = serde_json::from_slice(&demo.stdout).unwrap();
    let tenant = |name: &str| {
        let tenants = summary["tenants"].as_array().unwrap();
        tenants.iter().find(|t| t["name"] == name).unwrap()
    };
    let nodes = tenant("camera")["nodes"].as_array().unwrap();
    // Which node is the largest is the machine's to say: one of a moment's pause may be.
    let operators: Vec<&str> = nodes
        .iter()
        .map(|node| node["operator"].as_str().unwrap())
        .collect();
    assert!(operators.contains(&"Conv"), "{operators:?}");
    let shares: Vec<f64> = nodes.iter().map(|node| node["share"].as_f64().unwrap()).collect();
    assert!(shares.is_sorted_by(|a, b| a >= b), "{shares:?}");
    let sum: f64 = shares.iter().sum();
    assert!((sum - 1.0).abs() < 1e-3, "{sum}");
    for node in nodes {
        assert_eq!(node["count"], tenant("camera")["frames"]["completed"], "{node}");
        assert!(
            node["mean_ms"].as_f64().unwrap() <= node["max_ms"].as_f64().unwrap(),
            "{node}"
        );
    }
    // Nodes are parts of compute.
    let in_nodes: f64 = nodes.iter().map(|node| node["mean_ms"].as_f64().unwrap()).sum();
    let compute = tenant("camera")["stages_ms"]["compute"]["mean"].as_f64().unwrap();
    assert!(
        0.0 < in_nodes && in_nodes <= compute,
        "{in_nodes} of {compute} ms"
    );
    assert_eq!(tenant("lidar")["nodes"], Value::Array(Vec::new()));
    let findings = summary["run"]["findings"].as_array().unwrap();
    assert!(
        findings
            .iter()
            .any(|f| f["code"] == "profiled" && f["tenant"] == "camera"),
        "{findings:?}"
    );
    let report = stdout(&run(&["report", "run.mcap"], folder.path()));
    assert!(
        report.contains("TIME PER LAYER") && report.contains(operators[0]),
        "{report}"
    );
}

#[test]
fn the_virtual_clock_makes_identical_files_in_well_under_real_time() {
    let folder = tempfile::tempdir().unwrap();
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/sim.ron");
    let mut files = Vec::new();
    for name in ["a", "b"] {
        let place = folder.path().join(name);
        fs::create_dir(&place).unwrap();
        let output = run(&["run", config, "--out", "run.mcap", "--format", "json"], &place);
        assert!(output.status.success(), "{}", stderr(&output));
        let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(summary["tenants"].as_array().unwrap().len(), 3);
        assert!(
            summary["run"]["duration_s"].as_f64().unwrap() >= 590.0,
            "ten minutes of simulated time"
        );
        files.push(fs::read(place.join("run.mcap")).unwrap());
    }
    assert!(files[0] == files[1], "equal seeds give equal files");
}

#[test]
fn a_matrix_says_beforehand_how_long_it_takes_and_is_the_same_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/sim.ron");
    let matrix = |name: &str| {
        let args = ["run", config, "--matrix", "--set", "duration=30s", "--out", name];
        let output = run(&args, folder.path());
        assert!(output.status.success(), "{}", stderr(&output));
        let shown = stdout(&output);
        assert!(
            stderr(&output)
                .contains("10 rounds of 7 turns of 2 s and 1 phase of 40 s: 269.3 s of simulated time"),
            "{}",
            stderr(&output)
        );
        for wanted in ["sharing Streams", "with radar", "with all", "OVERLAP"] {
            assert!(shown.contains(wanted), "{wanted}:\n{shown}");
        }
        shown.replace(name.trim_end_matches(".mcap"), "")
    };
    assert_eq!(matrix("first.mcap"), matrix("second.mcap"));
    let alone = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/null.ron");
    let output = run(&["run", alone, "--matrix"], folder.path());
    assert_refused(
        &output,
        2,
        &["--matrix runs every pair of tenants, but null has one"],
    );
}

#[test]
fn an_expectation_that_does_not_hold_is_exit_code_3() {
    let folder = tempfile::tempdir().unwrap();
    let text = |bound: &str| {
        format!(
            "Scenario(name: \"e\", duration: \"60s\", clock: Virtual, expect: [\"a.response.p90 < {bound}\"], tenants: [\
             Tenant(name: \"a\", backend: Sim(Fixed(\"5ms\")), arrival: Periodic(hz: 50))])"
        )
    };
    let held = run(&["run", &scenario(folder.path(), &text("6ms"))], folder.path());
    assert_eq!(held.status.code(), Some(0), "{}{}", stdout(&held), stderr(&held));
    let broken = run(&["run", &scenario(folder.path(), &text("4ms"))], folder.path());
    assert_eq!(broken.status.code(), Some(3), "{}", stderr(&broken));
}

#[test]
fn doctor_says_what_it_found_in_words_and_in_json() {
    let folder = tempfile::tempdir().unwrap();
    let text = run(&["doctor"], folder.path());
    assert!(
        stdout(&text).contains("CPU") && stdout(&text).lines().all(|l| l.chars().count() <= 100),
        "{}",
        stdout(&text)
    );
    let json = run(&["doctor", "--format", "json"], folder.path());
    serde_json::from_slice::<Value>(&json.stdout).unwrap();
}

#[test]
fn a_run_overwrites_neither_another_run_nor_a_file_that_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = scenario(
        folder.path(),
        "Scenario(name: \"s\", duration: \"10s\", clock: Virtual, tenants: [\
         Tenant(name: \"a\", backend: Sim(Fixed(\"5ms\")), arrival: Periodic(hz: 50)), \
         Tenant(name: \"n\", backend: Null, arrival: Periodic(hz: 20))])",
    );
    for _ in 0..3 {
        let output = run(&["run", &path, "--format", "json"], folder.path());
        let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            summary["tenants"][1]["frames"]["completed"], 200,
            "Null runs under the virtual clock too"
        );
    }
    assert_eq!(fs::read_dir(folder.path().join("runs")).unwrap().count(), 3);
    let kept = fs::read(&path).unwrap();
    assert_refused(
        &run(&["run", &path, "--out", &path], folder.path()),
        2,
        &["not a run file", "--out"],
    );
    assert_eq!(fs::read(&path).unwrap(), kept);
    let below_a_file = format!("{path}/run.mcap");
    assert_refused(
        &run(&["run", &path, "--out", &below_a_file], folder.path()),
        2,
        &["cannot create the folder"],
    );
}
