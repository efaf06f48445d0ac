//! Scenarios, networks and sources that are wrong: refused with the reason, or recorded as failed frames.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{DEMO, assert_refused, camera_scenario, run, scenario, stderr, stdout};

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
    assert_refused(
        &run(&["run", &path], folder.path()),
        2,
        &["images", "contains no"],
    );

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
        summary["run"]["findings"].to_string().contains("no-frames"),
        "{summary}"
    );
    assert_refused(&output, 1, &["error: camera completed no frame"]);

    // In the warm-up as well: nothing was produced, nothing is promised, and the reason is told.
    let set = [
        "--set",
        "warmup=20s",
        "--set",
        "duration=20s",
        "--set",
        "expect=[\"camera.failed == 0\"]",
    ];
    let output = run(
        &[&["run", &path, "--format", "json"], &set[..]].concat(),
        folder.path(),
    );
    assert_refused(&output, 1, &["error: camera completed no frame"]);
    let ended: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(ended["tenants"][0]["frames"]["failed"], 0);
    assert_eq!(ended["tenants"][0]["frames"]["failed_in_warmup"], 10);
    assert_eq!(ended["expectations"][0]["holds"], false);
    let findings = ended["run"]["findings"].as_array().unwrap();
    let none = findings
        .iter()
        .find(|found| found["code"] == "no-frames")
        .unwrap();
    assert!(none["message"].as_str().unwrap().contains("a.png"), "{none}");

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
            "Scenario(name: \"t\", duration: \"10min\", warmup: \"0s\", tenants: [Tenant(name: \"lidar\", detector: \
             \"builtin:lidar\", backend: Cpu(threads: 1), source: Points({points:?}), arrival: Closed, frames: 3)])"
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
    assert_eq!(frames["completed"], 3, "{}", stderr(&output));
    assert_eq!(frames["failed"], 0);
}
