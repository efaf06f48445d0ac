//! A whole run of the demo on ONNX Runtime.

use serde_json::Value;

use super::{environment, jetlag, stderr};

#[test]
fn the_demo_runs_on_it_and_finds_what_the_embedded_backend_finds() {
    let Some(library) = environment() else { return };
    let folder = tempfile::tempdir().unwrap();
    let detections = |backend: &str, name: &str| -> Vec<u64> {
        let out = folder.path().join(format!("{name}.mcap")).display().to_string();
        let sets: Vec<String> = ["camera", "lidar"]
            .iter()
            .flat_map(|tenant| {
                [
                    format!("tenants.{tenant}.backend={backend}"),
                    // Frame by frame, so that every frame is served and both backends see the same ones.
                    format!("tenants.{tenant}.arrival=Closed"),
                    format!("tenants.{tenant}.frames=12"),
                    format!("tenants.{tenant}.depth=2"),
                ]
            })
            .chain([
                "warmup=0s".to_owned(),
                "duration=60s".to_owned(),
                "expect=[]".to_owned(),
            ])
            .collect();
        let mut args = vec!["run", "configs/demo.ron", "--out", &out, "--format", "json"];
        args.extend(sets.iter().flat_map(|set| ["--set", set.as_str()]));
        let output = jetlag(&library, &args);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
        let tenants = summary["tenants"].as_array().unwrap();
        tenants
            .iter()
            .map(|tenant| {
                assert_eq!(tenant["backend"], name, "{tenant}");
                tenant["detections"].as_u64().unwrap()
            })
            .collect()
    };
    let theirs = detections("OnnxRuntime(provider: Cpu)", "onnxruntime-cpu");
    let ours = detections("Cpu(threads: 1)", "cpu");
    assert!(ours.iter().all(|count| *count > 0), "{ours:?}");
    for (a, b) in ours.iter().zip(&theirs) {
        // A score on its threshold may round to either side.
        assert!(a.abs_diff(*b) <= 2, "{ours:?} and {theirs:?}");
    }
}

#[test]
fn a_bare_network_runs_on_it_with_integers_of_its_own_size() {
    use rten_onnx::onnx::DataType;
    let Some(library) = environment() else { return };
    let folder = tempfile::tempdir().unwrap();
    let inputs: [(&str, DataType, &[&str]); 3] = [
        ("x", DataType::FLOAT, &["batch", "8"]),
        ("ids", DataType::INT64, &["1", "4"]),
        ("flags", DataType::BOOL, &["5"]),
    ];
    let network = crate::init::network(folder.path(), "net.onnx", &inputs);
    let out = folder.path().join("run.mcap").display().to_string();
    let sets = [
        "tenants.net.backend=OnnxRuntime(provider: Cpu)",
        "tenants.net.frames=6",
        "tenants.net.depth=2",
        "duration=60s",
        "warmup=0s",
    ];
    let mut arguments = vec![
        "run", &network, "--shapes", "x:2x8", "--out", &out, "--format", "json",
    ];
    arguments.extend(sets.iter().flat_map(|set| ["--set", set]));
    let output = jetlag(&library, &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["tenants"][0]["backend"], "onnxruntime-cpu");
    assert_eq!(summary["tenants"][0]["frames"]["completed"], 6, "{summary}");
}
