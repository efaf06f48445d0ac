//! The binary as a process: exit codes, what lies on stdout and stderr, signals, and inputs that are wrong.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/demo.ron");

fn jetlag(args: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jetlag"));
    command
        .args(args)
        .current_dir(folder)
        .env_remove("RUST_LOG")
        .env("NO_COLOR", "1");
    command
}

fn run(args: &[&str], folder: &Path) -> Output {
    jetlag(args, folder).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Writes a scenario and returns its path.
fn scenario(folder: &Path, text: &str) -> String {
    let path = folder.join("scenario.ron");
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn camera_scenario(folder: &Path, detector: &str, source: &str) -> String {
    scenario(
        folder,
        &format!(
            "Scenario(name: \"t\", duration: \"300ms\", warmup: \"0s\", tenants: [Tenant(name: \"camera\", \
             detector: {detector:?}, backend: Cpu(threads: 1), source: {source}, arrival: Periodic(hz: 50))])"
        ),
    )
}

/// The run must fail with this exit code and these phrases on stderr, and must not have panicked.
fn assert_refused(output: &Output, code: i32, phrases: &[&str]) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for phrase in phrases {
        assert!(said.contains(phrase), "`{phrase}` is not in: {said}");
    }
    assert!(!said.contains("panicked"), "{said}");
}

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
    let demo = run(
        &[
            "demo",
            "--set",
            "duration=2s",
            "--set",
            "warmup=200ms",
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
            tenant["stages_ms"]["compute"]["p50"].as_f64().unwrap() > 0.0,
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
    let profile = [
        "tenants.camera.backend=Cpu(profile: true)",
        "duration=1s",
        "warmup=100ms",
    ];
    let mut args = vec!["demo", "--out", "run.mcap", "--format", "json"];
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
    assert!(
        nodes[0]["operator"].as_str().unwrap().contains("Conv"),
        "{nodes:?}"
    );
    let shares: f64 = nodes.iter().map(|node| node["share"].as_f64().unwrap()).sum();
    assert!((shares - 1.0).abs() < 1e-3, "{shares}");
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
        report.contains("TIME PER NODE") && report.contains("Conv"),
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
            stderr(&output).contains("7 phases of 40 s: 280 s of simulated time"),
            "{}",
            stderr(&output)
        );
        for wanted in [
            "SLOWDOWN  sharing Streams",
            "with radar",
            "with all",
            "BESIDE EACH OTHER",
        ] {
            assert!(shown.contains(wanted), "{wanted}:\n{shown}");
        }
        shown.replace(name, "")
    };
    assert_eq!(matrix("first.mcap"), matrix("second.mcap"));
    let alone = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/null.ron");
    let output = run(&["run", alone, "--matrix"], folder.path());
    assert_refused(
        &output,
        2,
        &["--matrix runs every pair of tenants, and null has one"],
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

fn spawn_live(folder: &Path) -> (Child, PathBuf) {
    let path = scenario(
        folder,
        "Scenario(name: \"live\", duration: \"60s\", warmup: \"0s\", tenants: [\
         Tenant(name: \"a\", backend: Sim(Fixed(\"2ms\")), arrival: Periodic(hz: 100))])",
    );
    let out = folder.join("run.mcap");
    let child = jetlag(&["run", &path, "--out", "run.mcap", "--format", "json"], folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Long enough for a flush; how long depends on the machine, so it is seen and not assumed.
    let began = Instant::now();
    while fs::metadata(&out).map_or(0, |m| m.len()) < 4_096 && began.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(50));
    }
    (child, out)
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), signal).unwrap();
}

#[test]
fn ctrl_c_and_sigterm_end_the_run_with_its_results_and_code_130() {
    for kind in [Signal::INT, Signal::TERM] {
        let folder = tempfile::tempdir().unwrap();
        let (child, _) = spawn_live(folder.path());
        signal(&child, kind);
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

    for absent in ["absent.mcap", "."] {
        let output = run(&["report", absent], folder.path());
        assert_refused(&output, 1, &[absent, "runs/*.mcap"]);
    }
}

#[test]
fn every_problem_of_a_scenario_is_told_at_once_with_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let path = scenario(
        folder.path(),
        "Scenario(name: \"x\", tenants: [\n  Tenant(name: \"a\", backend: Null, arival: Closed),\n  \
         Tenant(name: \"a\", backend: Null, deadline: \"0ms\"),\n])",
    );
    let output = run(&["run", &path], folder.path());
    assert_refused(
        &output,
        2,
        &[
            "scenario.ron:2:",
            "`arival`",
            "`arrival`",
            "scenario.ron:3:",
            "deadline",
        ],
    );
    assert!(!folder.path().join("runs").exists(), "nothing was started");
    assert_refused(&run(&["run", "absent.ron"], folder.path()), 2, &["absent.ron"]);
    assert_refused(
        &run(&["run", DEMO, "--set", "tenants.camra.depth=1"], folder.path()),
        2,
        &["camra", "camera"],
    );
}

/// A detector spec over a network of this content.
fn detector(folder: &Path, network: &[u8]) -> String {
    fs::write(folder.join("network.onnx"), network).unwrap();
    let path = folder.join("detector.ron");
    fs::write(
        &path,
        "Camera(name: \"t\", classes: [\"Car\"], network: \"network.onnx\", \
         input: (tensor: \"images\", width: 64, height: 64), head: YoloAnchorFree(output: \"output0\"))",
    )
    .unwrap();
    path.display().to_string()
}

#[test]
fn a_network_that_cannot_be_executed_is_refused_with_the_reason() {
    use rten_onnx::onnx::{GraphProto, ModelProto, NodeProto, OperatorSetIdProto};
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/engines/camera.onnx")).unwrap();
    let cut = detector(folder.path(), &whole[..whole.len() / 2]);
    let path = camera_scenario(folder.path(), &cut, "Synthetic(Camera)");
    assert_refused(
        &run(&["run", &path], folder.path()),
        2,
        &["tenant camera", "network.onnx"],
    );

    let node = NodeProto {
        domain: None,
        name: Some("strange".to_owned()),
        input: vec!["images".to_owned()],
        output: vec!["output0".to_owned()],
        op_type: Some("Frobnicate".to_owned()),
        attribute: Vec::new(),
    };
    let graph = GraphProto {
        node: vec![node],
        ..GraphProto::default()
    };
    let opset = OperatorSetIdProto {
        domain: None,
        version: Some(17),
    };
    let model = ModelProto {
        graph: Some(graph),
        opset_import: vec![opset],
        ir_version: Some(8),
        ..ModelProto::default()
    };
    let unknown = detector(folder.path(), &model.write_buf().unwrap());
    let path = camera_scenario(folder.path(), &unknown, "Synthetic(Camera)");
    assert_refused(
        &run(&["run", &path], folder.path()),
        2,
        &["Frobnicate", "cpu backend"],
    );

    let absent = folder.path().join("gone.ron").display().to_string();
    let path = camera_scenario(folder.path(), &absent, "Synthetic(Camera)");
    assert_refused(&run(&["run", &path], folder.path()), 2, &["gone.ron"]);
}

#[test]
fn sources_that_hold_nothing_usable_are_refused_or_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let images = folder.path().join("images");
    fs::create_dir(&images).unwrap();
    let path = camera_scenario(folder.path(), "builtin:camera", &format!("Images({images:?})"));
    assert_refused(&run(&["run", &path], folder.path()), 2, &["images", "holds no"]);

    // An image of no size and one that is cut off: frames that fail, and a run that says so.
    fs::write(images.join("a.png"), b"").unwrap();
    fs::write(images.join("b.jpg"), b"\xff\xd8\xff\xe0 and then nothing").unwrap();
    let output = run(&["run", &path, "--format", "json"], folder.path());
    let said = stderr(&output);
    assert!(
        said.contains("a.png") && said.contains("b.jpg") && !said.contains("panicked"),
        "{said}"
    );
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(
        summary["tenants"][0]["frames"]["failed"].as_u64().unwrap() > 0,
        "{summary}"
    );
    assert!(
        summary["run"]["findings"].to_string().contains("failed-frames"),
        "{summary}"
    );

    // The findings send people to the log: inspect has it, each line once.
    let file = summary["run"]["file"].as_str().unwrap();
    let inspected = run(&["inspect", file, "--format", "json"], folder.path());
    let value: Value = serde_json::from_slice(&inspected.stdout).unwrap();
    let log = value["log"].as_array().unwrap();
    for name in ["a.png", "b.jpg"] {
        let lines = log
            .iter()
            .filter(|line| line["message"].as_str().unwrap().contains(name));
        assert!(
            lines.map(|line| line["count"].as_u64().unwrap()).sum::<u64>() > 0,
            "{name}: {value}"
        );
    }
    let text = stdout(&run(&["inspect", file], folder.path()));
    assert!(text.contains("LOG") && text.contains("a.png"), "{text}");
}

fn lidar_scenario(folder: &Path, points: &Path) -> String {
    scenario(
        folder,
        &format!(
            "Scenario(name: \"t\", duration: \"400ms\", warmup: \"0s\", tenants: [Tenant(name: \"lidar\", detector: \
             \"builtin:lidar\", backend: Cpu(threads: 1), source: Points({points:?}), arrival: Periodic(hz: 20))])"
        ),
    )
}

#[test]
fn broken_sweeps_fail_as_frames_and_points_that_are_not_numbers_are_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let points = folder.path().join("points");
    fs::create_dir(&points).unwrap();
    fs::write(points.join("odd.bin"), [0u8; 33]).unwrap();
    let path = lidar_scenario(folder.path(), &points);
    let output = run(&["run", &path, "--format", "json"], folder.path());
    assert!(
        stderr(&output).contains("odd.bin") && stderr(&output).contains("16"),
        "{}",
        stderr(&output)
    );

    fs::remove_file(points.join("odd.bin")).unwrap();
    let nan: Vec<u8> = [
        f32::NAN,
        1.0,
        0.0,
        0.5,
        10.0,
        f32::INFINITY,
        0.0,
        0.5,
        10.0,
        1.0,
        0.0,
        0.5,
    ]
    .iter()
    .flat_map(|v| v.to_le_bytes())
    .collect();
    fs::write(points.join("nan.bin"), nan).unwrap();
    let output = run(&["run", &path, "--format", "json"], folder.path());
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let frames = &summary["tenants"][0]["frames"];
    assert!(frames["completed"].as_u64().unwrap() > 0, "{}", stderr(&output));
    assert_eq!(frames["failed"], 0);
}

#[test]
fn inspect_tells_runs_networks_and_detectors_apart() {
    let folder = tempfile::tempdir().unwrap();
    let engines = concat!(env!("CARGO_MANIFEST_DIR"), "/engines");
    let network = run(&["inspect", &format!("{engines}/camera.onnx")], folder.path());
    let text = stdout(&network);
    assert!(
        text.contains("images") && text.contains("output0") && text.contains("Conv"),
        "{text}"
    );
    let detector = run(
        &["inspect", &format!("{engines}/lidar.ron"), "--format", "json"],
        folder.path(),
    );
    let value: Value = serde_json::from_slice(&detector.stdout).unwrap();
    assert_eq!(value["engines"].as_array().unwrap().len(), 2, "{value}");
    let profiled = run(
        &[
            "inspect",
            &format!("{engines}/camera.onnx"),
            "--profile",
            "2",
            "--format",
            "json",
        ],
        folder.path(),
    );
    let value: Value = serde_json::from_slice(&profiled.stdout).unwrap();
    assert!(
        value["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .any(|n| n["operator"].as_str().unwrap().contains("Conv"))
    );
    assert_refused(
        &run(
            &["inspect", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock")],
            folder.path(),
        ),
        2,
        &[".mcap", ".onnx", ".ron"],
    );
    for absent in ["absent.onnx", "absent.txt"] {
        let output = run(&["inspect", absent], folder.path());
        assert_refused(&output, 1, &[absent, "no such file"]);
    }
}

#[test]
fn inspect_refuses_scenarios_and_options_that_the_file_does_not_take() {
    let folder = tempfile::tempdir().unwrap();
    let network = concat!(env!("CARGO_MANIFEST_DIR"), "/engines/camera.onnx");
    let spec = concat!(env!("CARGO_MANIFEST_DIR"), "/engines/camera.ron");
    for (args, phrases) in [
        (&[DEMO][..], &["this is a scenario", "jetlag run"][..]),
        (&[spec, "--profile", "3"], &["--profile", ".onnx"]),
        (&[spec, "--dim", "batch=1"], &["--dim", ".onnx"]),
        (&[network, "--profile", "0"], &["--profile 0"]),
        (&[network, "--dim", "batch=1"], &["--profile TIMES"]),
        (
            &[network, "--profile", "1", "--dim", "nothing=1"],
            &["--dim nothing"],
        ),
    ] {
        let output = run(&[&["inspect"], args].concat(), folder.path());
        assert_refused(&output, 2, phrases);
    }
}

#[test]
fn synthetic_data_is_written_and_a_detector_is_evaluated_on_it() {
    let folder = tempfile::tempdir().unwrap();
    let synth = run(
        &[
            "data", "synth", "--out", "scenes", "--count", "12", "--seed", "77",
        ],
        folder.path(),
    );
    assert!(synth.status.success(), "{}", stderr(&synth));
    let said = stdout(&synth);
    assert!(
        said.starts_with("12 scenes written to scenes")
            && said.contains("--data scenes")
            && said.lines().count() == 1,
        "{said}"
    );
    for detector in ["builtin:camera", "builtin:lidar"] {
        let eval = run(
            &["eval", detector, "--data", "scenes", "--format", "json"],
            folder.path(),
        );
        assert!(eval.status.success(), "{}", stderr(&eval));
        let table: Value = serde_json::from_slice(&eval.stdout).unwrap();
        assert!(table.to_string().contains("recall"), "{table}");
    }
    assert_refused(
        &run(&["eval", "builtin:camera", "--data", "nowhere"], folder.path()),
        2,
        &["nowhere", "KITTI's layout"],
    );
    for (args, phrase) in [
        (["builtin:camera", "--iou", "0"], "--iou 0"),
        (["builtin:camera", "--iou", "-0.5"], "--iou -0.5"),
        (["builtin:camera", "--iou", "NaN"], "--iou NaN"),
        (["builtin:camera", "--threshold", "1.5"], "--threshold 1.5"),
        (["builtin:camera", "--threshold", "-1"], "--threshold -1"),
        (["builtin:camera", "--limit", "0"], "--limit 0"),
        (["builtin:radar", "--limit", "1"], "camera, lidar"),
        (["absent.ron", "--limit", "1"], "absent.ron"),
    ] {
        let eval = [&["eval"], &args[..], &["--data", "scenes"]].concat();
        assert_refused(&run(&eval, folder.path()), 2, &[phrase]);
    }
    for name in ["label_2/000003.txt", "calib/000001.txt"] {
        fs::remove_file(folder.path().join("scenes").join(name)).unwrap();
        let eval = run(&["eval", "builtin:lidar", "--data", "scenes"], folder.path());
        assert_refused(&eval, 2, &[name, "is expected", "KITTI's layout"]);
    }
}

#[test]
fn scenes_that_cannot_be_numbered_or_written_are_refused_with_words() {
    let folder = tempfile::tempdir().unwrap();
    let synth = |more: &[&str]| {
        let args = [&["data", "synth", "--out", "scenes"], more].concat();
        run(&args, folder.path())
    };
    assert_refused(
        &synth(&["--start", "18446744073709551615", "--count", "1"]),
        2,
        &["--start 18446744073709551615", "start lower"],
    );
    assert_refused(&synth(&["--count", "0"]), 2, &["--count 0"]);
    assert!(!folder.path().join("scenes").exists());

    // The last scene there is, and no other.
    let last = synth(&["--start", "18446744073709551614", "--count", "1"]);
    assert!(last.status.success(), "{}", stderr(&last));
    assert_eq!(
        fs::read_dir(folder.path().join("scenes/image_2"))
            .unwrap()
            .count(),
        1
    );

    fs::write(folder.path().join("file"), "").unwrap();
    let output = run(&["data", "synth", "--out", "file", "--count", "1"], folder.path());
    assert_refused(&output, 1, &["cannot write file/image_2"]);
    assert!(!stderr(&output).contains("cannot read"), "{}", stderr(&output));
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
        &["no run file", "--out"],
    );
    assert_eq!(fs::read(&path).unwrap(), kept);
    let below_a_file = format!("{path}/run.mcap");
    assert_refused(
        &run(&["run", &path, "--out", &below_a_file], folder.path()),
        2,
        &["cannot make the folder"],
    );
}
