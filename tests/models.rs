//! Static work of networks and predictions, through the program. What they say is tested in their crates.

use std::path::PathBuf;

use nvidia_doubles::machine;
use serde_json::Value;

use crate::common::output::{assert_refused, run, stderr, stdout};

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn json(arguments: &[&str]) -> Value {
    let output = run(arguments, &repository());
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_work_of_a_network_and_of_a_detector() {
    let network = json(&["inspect", "--work", "engines/camera.onnx", "--format", "json"]);
    let flops = network["totals"]["flops"].as_u64().unwrap();
    assert!(flops > 1_000_000, "{network}");
    let half = json(&[
        "inspect",
        "--work",
        "engines/camera.onnx",
        "--as",
        "fp16",
        "--format",
        "json",
    ]);
    assert_eq!(half["totals"]["flops"], flops);
    let bytes = |work: &Value| work["totals"]["round_trip_bytes"].as_u64().unwrap();
    assert!(bytes(&half) < bytes(&network));
    let training = json(&[
        "inspect",
        "--work",
        "engines/camera.onnx",
        "--training",
        "adam",
        "--format",
        "json",
    ]);
    assert!(
        training["training"]["flops"].as_u64().unwrap() > 2 * flops,
        "{}",
        training["training"]
    );
    // A detector's sizes are those that it feeds.
    let detector = json(&["inspect", "--work", "engines/lidar.ron", "--format", "json"]);
    assert_eq!(detector.as_object().unwrap().len(), 2, "{detector}");
    let text = stdout(&run(&["inspect", "--work", "engines/camera.onnx"], &repository()));
    assert!(text.contains("Conv"), "{text}");
}

/// A plan does not hold its network; its manifest says which that was.
#[test]
fn the_work_of_a_plan_is_that_of_the_network_it_was_built_of() {
    let folder = tempfile::tempdir().unwrap();
    let network = folder.path().join("camera.onnx");
    let bytes = std::fs::read(repository().join("engines/camera.onnx")).unwrap();
    std::fs::write(&network, &bytes).unwrap();
    let plan = folder.path().join("camera.plan");
    std::fs::write(&plan, "a plan").unwrap();
    let inspect = || {
        run(
            &["inspect", "--work", plan.to_str().unwrap(), "--format", "json"],
            folder.path(),
        )
    };
    assert_refused(
        &inspect(),
        2,
        &[
            "does not hold the network",
            "camera.plan.json",
            "name its ONNX file",
        ],
    );
    let manifest = serde_json::json!({
        "schema": 1, "jetlag": "0.1.0", "options": jetlag::engine::options::BuildOptions::default(), "arguments": [],
        "network": { "name": network, "blake3": blake3::hash(&bytes).to_hex().as_str(), "bytes": bytes.len() },
        "builder": { "flavour": "TensorRT", "version": "10.3.0.30" },
        "target": { "compute_capabilities": [87] },
        "built_unix_s": 0, "build_seconds": 1.0, "plan_blake3": "00", "plan_bytes": 6, "network_layers": 3,
        "tensors": [{ "name": "images", "mode": "input", "data_type": "float", "shape": [1, 3, 384, 640] }],
    });
    std::fs::write(folder.path().join("camera.plan.json"), manifest.to_string()).unwrap();
    let output = inspect();
    assert!(output.status.success(), "{}", stderr(&output));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let wanted = json(&["inspect", "--work", "engines/camera.onnx", "--format", "json"]);
    assert_eq!(found, wanted);
    std::fs::write(&network, "another").unwrap();
    assert_refused(&inspect(), 2, &["camera.onnx, which"]);
}

#[test]
fn sizes_that_a_network_leaves_open_are_asked_for_in_one_message() {
    let encoder = ["inspect", "--work", "engines/lidar_encoder.onnx"];
    let output = run(&encoder, &repository());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("--dim"), "{}", stderr(&output));
    assert_refused(
        &run(&["inspect", "--work", "README.md"], &repository()),
        2,
        &["--work reads networks (.onnx), plans with their manifest, and detector specs (.ron)"],
    );
    assert_refused(
        &run(
            &["inspect", "--work", "engines/camera.onnx", "--shape", "images"],
            &repository(),
        ),
        2,
        &["images:4x3x224x224"],
    );
}

#[test]
fn a_model_is_fitted_written_and_applied() {
    let (Some(data), Some(graphs)) = (
        machine::shared("data/perf4sight"),
        machine::shared("data/models/graphs"),
    ) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("tx2.model").display().to_string();
    let data = data.display().to_string();
    let fitted = run(&["predict", "fit", &data, "-o", &model], &repository());
    assert!(fitted.status.success(), "{}", stderr(&fitted));
    assert_refused(
        &run(&["predict", "fit", &data, "-o", &model], &repository()),
        2,
        &["exists; choose another name, or --force"],
    );
    let network = graphs.join("light_resnet50.onnx").display().to_string();
    let shape = ["--shape", "gpu_0/data_0:8x3x224x224"];
    let apply = [
        &["predict", "apply", &model, &network, "--format", "json"],
        &shape[..],
    ]
    .concat();
    let answer = json(&apply);
    assert_eq!(answer["batch"], 8, "{answer}");
    let predictions = answer["predictions"].as_array().unwrap();
    assert!(
        predictions.iter().all(|one| one["value"].as_f64().unwrap() > 0.0),
        "{answer}"
    );
    let late = run(&[&apply[..], &["--deadline", "1us"]].concat(), &repository());
    assert_eq!(late.status.code(), Some(3), "{}", stderr(&late));
    assert_refused(
        &run(&["predict", "apply", "README.md", &network], &repository()),
        2,
        &["README.md"],
    );
}
