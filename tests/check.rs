//! What is told before anything runs: `jetlag run --dry-run` and `jetlag inspect SPEC`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::output::{assert_refused, jetlag, run, stderr, stdout};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The demo's camera spec with this changed, beside its network, and a scenario of it.
fn camera(folder: &Path, from: &str, to: &str) {
    let spec = fs::read_to_string(Path::new(ROOT).join("engines/camera.ron")).unwrap();
    assert!(spec.contains(from), "{from}");
    fs::write(folder.join("camera.ron"), spec.replacen(from, to, 1)).unwrap();
    fs::copy(
        Path::new(ROOT).join("engines/camera.onnx"),
        folder.join("camera.onnx"),
    )
    .unwrap();
    let scenario = "Scenario(tenants: [Tenant(name: \"camera\", detector: \"camera.ron\", backend: Cpu(), \
                    source: Synthetic(sensor: Camera, scenes: 1))])";
    fs::write(folder.join("s.ron"), scenario).unwrap();
}

#[test]
fn a_dry_run_prints_a_scenario_that_runs_again_to_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let again = folder.path().join("again.ron").display().to_string();
    let dry = |scenario: &str, format: &str| {
        let output = jetlag(
            &["run", scenario, "--dry-run", "--format", format],
            Path::new(ROOT),
        )
        .output()
        .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    fs::write(&again, dry("configs/demo.ron", "text")).unwrap();
    let parsed = |text: String| -> Value {
        let mut value: Value = serde_json::from_str(&text).unwrap();
        for tenant in value["tenants"].as_array_mut().unwrap() {
            tenant["backend_reason"] = Value::Null;
        }
        value
    };
    assert_eq!(
        parsed(dry("configs/demo.ron", "json")),
        parsed(dry(&again, "json"))
    );
    let out = folder.path().join("run.mcap").display().to_string();
    let sets = [
        "--set",
        "duration=10min",
        "--set",
        "warmup=0s",
        "--set",
        "expect=[]",
        "--set",
        "tenants.camera.frames=2",
        "--set",
        "tenants.lidar.frames=2",
    ];
    let arguments = [&["run", &again, "--out", &out, "--format", "json"], &sets[..]].concat();
    let output = jetlag(&arguments, Path::new(ROOT)).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn a_network_that_does_not_fit_its_spec_is_told_before_the_run() {
    for (from, to, phrases) in [
        (
            "\"Cyclist\"]",
            "\"Cyclist\", \"Tram\"]",
            &[
                "the head does not fit the network",
                "output `output0` has shape [1, 7, 5040]",
                "check classes",
            ][..],
        ),
        (
            "output: \"output0\"",
            "output: \"output\"",
            &["no tensor is named `output`; there are: ", "output0"],
        ),
        (
            "tensor: \"images\"",
            "tensor: \"image\"",
            &[
                "its input is `images`, and the spec's tensors are image; the spec's `image` is probably meant",
            ],
        ),
        (
            "height: 384",
            "height: 640",
            &["its input `images` is [1, 3, 384, 640], and the spec makes [1, 3, 640, 640]"],
        ),
        (
            "height: 384",
            "height: 384, layout: Nhwc",
            &["and the spec makes [1, 384, 640, 3]"],
        ),
        (
            "YoloAnchorFree(output: \"output0\")",
            "YoloxGrid(output: \"output0\")",
            &["the head does not fit the network"],
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        camera(folder.path(), from, to);
        let dry = run(&["run", "s.ron", "--dry-run"], folder.path());
        assert_refused(&dry, 2, &[&["tenant camera: "], phrases].concat());
        assert!(dry.stdout.is_empty());
        let inspected = run(&["inspect", "camera.ron"], folder.path());
        assert_eq!(inspected.status.code(), Some(2), "{to}");
        for phrase in [&["problem: "], phrases].concat() {
            assert!(
                stdout(&inspected).contains(phrase),
                "{phrase}: {}",
                stdout(&inspected)
            );
        }
        let json = run(&["inspect", "camera.ron", "--format", "json"], folder.path());
        let value: Value = serde_json::from_slice(&json.stdout).unwrap();
        assert_eq!(value["problems"].as_array().unwrap().len(), 1, "{value}");
    }
}

#[test]
fn what_fits_is_said_to_fit_as_far_as_the_files_tell() {
    let folder = tempfile::tempdir().unwrap();
    for spec in ["camera", "lidar"] {
        let path = format!("{ROOT}/engines/{spec}.ron");
        let output = run(&["inspect", &path], folder.path());
        assert!(output.status.success(), "{}", stdout(&output));
        assert!(
            stdout(&output).contains("inputs, outputs and head go together"),
            "{}",
            stdout(&output)
        );
    }
}

#[test]
fn all_that_keeps_a_scenario_from_running_is_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    camera(folder.path(), "\"Cyclist\"]", "\"Cyclist\", \"Tram\"]");
    fs::create_dir(folder.path().join("images")).unwrap();
    fs::write(folder.path().join("images/a.png"), "no picture").unwrap();
    let scenario = "Scenario(sharing: Priority, tenants: [\
                    Tenant(name: \"a\", detector: \"camera.ron\", backend: Cpu(), source: Synthetic(sensor: Camera, scenes: 1)), \
                    Tenant(name: \"b\", detector: \"builtin:camera\", backend: Cpu(), source: Images(\"images\")), \
                    Tenant(name: \"c\", detector: \"builtin:camera\", backend: Cpu(), source: Synthetic(sensor: Camera, scenes: 1)), \
                    Tenant(name: \"d\", detector: \"camera.ron\", backend: Null, source: Synthetic(sensor: Camera, scenes: 1))])";
    fs::write(folder.path().join("s.ron"), scenario).unwrap();
    let dry = run(&["run", "s.ron", "--dry-run"], folder.path());
    assert_refused(
        &dry,
        2,
        &[
            "sharing Priority",
            "tenant a: the head does not fit",
            "tenant b: ",
            "a.png",
        ],
    );
    for fine in ["tenant c", "tenant d"] {
        assert!(!stderr(&dry).contains(fine), "{}", stderr(&dry));
    }
}

#[test]
fn a_network_that_does_not_fit_its_spec_fails_when_it_is_loaded_and_not_frame_by_frame() {
    let folder = tempfile::tempdir().unwrap();
    camera(folder.path(), "Camera(", "Camera(");
    fs::copy(folder.path().join("camera.onnx"), folder.path().join("same.onnx")).unwrap();
    fs::write(folder.path().join("empty.onnx"), "").unwrap();
    let of = |network: &str| {
        let set = format!("tenants.camera.network={network}");
        run(
            &[
                "run",
                "s.ron",
                "--duration",
                "600s",
                "--set",
                "warmup=0s",
                "--set",
                "tenants.camera.frames=2",
                "--set",
                &set,
                "--out",
                "r.mcap",
                "--force",
            ],
            folder.path(),
        )
    };
    let fits = of("same.onnx");
    assert_eq!(fits.status.code(), Some(0), "{}", stderr(&fits));
    assert_refused(&of("empty.onnx"), 2, &["empty.onnx"]);
    // A network of other outputs.
    let other = Path::new(ROOT)
        .join("engines/lidar_backbone.onnx")
        .display()
        .to_string();
    assert_refused(
        &of(&other),
        2,
        &[
            "lidar_backbone.onnx does not fit the detector's spec",
            "choose another `network`",
        ],
    );
}
