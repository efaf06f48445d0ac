//! What is built is what NVIDIA's own bindings build.

use std::path::Path;
use std::process::Command;

use nvidia_doubles::machine::shared;
use serde_json::Value;

use super::{CAMERA, both, build, jetlag, plans, rtx, stderr};

#[test]
fn a_detectors_networks_become_plans_with_the_shapes_that_it_feeds() {
    for library in both() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("lidar");
        let args = [
            "engines/lidar.ron",
            "--compute-capability",
            "8.9",
            "-o",
            output.to_str().unwrap(),
        ];
        let plans = plans(&build(&library, folder.path(), &args));
        assert_eq!(plans.len(), 2);
        let encoder = &plans[0]["manifest"];
        assert_eq!(
            encoder["options"]["profiles"][0]["pillar_points"]["max"],
            serde_json::json!([1, 4000, 16, 9])
        );
        assert_eq!(encoder["target"]["compute_capabilities"], serde_json::json!([89]));
        for plan in &plans {
            let file = Path::new(plan["file"].as_str().unwrap());
            assert_eq!(file.parent(), Some(output.as_path()));
            let bytes = std::fs::read(file).unwrap();
            assert_eq!(plan["manifest"]["plan_bytes"], bytes.len());
            assert_eq!(
                plan["manifest"]["plan_blake3"],
                blake3::hash(&bytes).to_hex().as_str()
            );
        }
    }
}

#[test]
fn a_plan_is_inspected_from_its_manifest_where_no_gpu_can_load_it() {
    for library in both() {
        let folder = tempfile::tempdir().unwrap();
        let plan = folder.path().join("camera.plan");
        let args = [
            "builtin:camera",
            "--compute-capability",
            "89",
            "-o",
            plan.to_str().unwrap(),
        ];
        plans(&build(&library, folder.path(), &args));
        let text = jetlag(&library, folder.path())
            .arg("inspect")
            .arg(&plan)
            .output()
            .unwrap();
        assert!(text.status.success(), "{}", stderr(&text));
        let text = String::from_utf8(text.stdout).unwrap();
        for phrase in [
            "built by   TensorRT-RTX 1.",
            "compute capability 8.9",
            "images",
            "float [1, 3, 384, 640]",
        ] {
            assert!(text.contains(phrase), "{phrase} in {text}");
        }
        let json = jetlag(&library, folder.path())
            .arg("inspect")
            .arg(&plan)
            .args(["--format", "json"])
            .output()
            .unwrap();
        let json: Value = serde_json::from_slice(&json.stdout).unwrap();
        assert_eq!(json["manifest"]["network_layers"], 128);
        if json["engine"].is_null() {
            assert!(
                json["engine_error"].as_str().unwrap().contains("CUDA driver"),
                "{json}"
            );
            assert!(text.contains("not loaded, so"), "{text}");
        }
    }
}

#[test]
fn a_plan_of_another_release_is_refused_with_both_named_and_the_command_that_builds_it() {
    let (Some(newer), Some(older)) = (rtx("1.7"), rtx("1.4")) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("camera.plan");
    let args = [CAMERA, "--compute-capability", "89", "-o", plan.to_str().unwrap()];
    plans(&build(&older, folder.path(), &args));
    let output = jetlag(&newer, folder.path())
        .arg("inspect")
        .arg(&plan)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains(
            "the plan was built by TensorRT-RTX 1.4.0.76, but this machine has TensorRT-RTX 1.7.1.116"
        ),
        "{text}"
    );
    // The command that is named does build it here.
    let command = text
        .split("build it here: jetlag ")
        .nth(1)
        .unwrap()
        .lines()
        .next()
        .unwrap();
    let mut again = jetlag(&newer, folder.path());
    let rebuilt = again
        .args(command.split(' ').map(|word| word.trim_matches('\'')))
        .output()
        .unwrap();
    assert!(rebuilt.status.success(), "{command}: {}", stderr(&rebuilt));
    let output = jetlag(&newer, folder.path())
        .arg("inspect")
        .arg(&plan)
        .output()
        .unwrap();
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("built by   TensorRT-RTX 1.7")
    );
}

/// Layers, inputs, outputs and plan size of every network that the parser accepts, against the same build through
/// NVIDIA's Python bindings; what the one refuses the other refuses too. By the newest release; by the others the demo's networks, since each
/// build of them all takes half a minute and how we call the builder is the same.
#[test]
#[allow(clippy::print_stderr, reason = "the comparison is shown")]
fn every_network_comes_out_as_nvidias_own_bindings_build_it() {
    let mut networks = vec![
        CAMERA.to_owned(),
        CAMERA.replace("camera", "lidar_encoder"),
        CAMERA.replace("camera", "lidar_backbone"),
    ];
    if let Some(folder) = shared("data/models") {
        collect(&folder, &mut networks);
        assert!(networks.len() > 20);
    }
    for (nth, library) in both().iter().enumerate() {
        let networks = if nth == 0 { &networks[..] } else { &networks[..3] };
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/build_plans.py");
        let reference = Command::new(library.join("bin/python"))
            .args([script, "89"])
            .args(networks)
            .output()
            .unwrap();
        assert!(reference.status.success(), "{}", stderr(&reference));
        let reference: Vec<Value> = String::from_utf8(reference.stdout)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(reference.len(), networks.len());
        let (mut built, mut refused) = (0, 0);
        for theirs in &reference {
            let network = theirs["network"].as_str().unwrap();
            let folder = tempfile::tempdir().unwrap();
            let output = build(library, folder.path(), &arguments(network, theirs));
            if let Some(errors) = theirs["errors"].as_array() {
                assert!(
                    !output.status.success(),
                    "{network} is refused by NVIDIA's bindings: {errors:?}"
                );
                assert!(
                    stderr(&output).contains(&file_name(network)),
                    "{}",
                    stderr(&output)
                );
                refused += 1;
                continue;
            }
            let ours = &plans(&output)[0]["manifest"];
            assert_eq!(ours["network_layers"], theirs["layers"], "{network}");
            let tensors = ours["tensors"].as_array().unwrap();
            assert_eq!(
                tensors.len(),
                theirs["tensors"].as_array().unwrap().len(),
                "{network}"
            );
            for (ours, theirs) in tensors.iter().zip(theirs["tensors"].as_array().unwrap()) {
                for field in ["mode", "name", "data_type", "shape"] {
                    assert_eq!(ours[field], theirs[field], "{network}");
                }
            }
            let (ours, theirs) = (
                ours["plan_bytes"].as_f64().unwrap(),
                theirs["bytes"].as_f64().unwrap(),
            );
            assert!(
                (ours - theirs).abs() / theirs < 0.02,
                "{network}: {ours} and {theirs} bytes"
            );
            built += 1;
        }
        eprintln!(
            "{}: {built} networks built alike, {refused} refused by both",
            library.display()
        );
        assert!(built >= 3);
    }
}

fn collect(folder: &Path, networks: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, networks);
        } else if path.extension().is_some_and(|extension| extension == "onnx") {
            networks.push(path.display().to_string());
        }
    }
}

fn file_name(network: &str) -> String {
    Path::new(network)
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned()
}

/// The build's arguments, with an extent of 2 wherever the network leaves one open.
fn arguments<'a>(network: &'a str, reference: &'a Value) -> Vec<&'a str> {
    let mut arguments = vec![network, "--compute-capability", "89"];
    let tensors = reference["tensors"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let shapes: Vec<String> = tensors
        .iter()
        .filter(|tensor| tensor["mode"] == "input")
        .filter_map(|tensor| {
            let shape: Vec<i64> = tensor["shape"]
                .as_array()?
                .iter()
                .filter_map(Value::as_i64)
                .collect();
            let fixed: Vec<String> = shape
                .iter()
                .map(|extent| if *extent < 0 { 2 } else { *extent })
                .map(|extent| extent.to_string())
                .collect();
            shape.contains(&-1).then(|| {
                format!(
                    "{}:{}",
                    tensor["name"].as_str().unwrap_or_default(),
                    fixed.join("x")
                )
            })
        })
        .collect();
    if !shapes.is_empty() {
        arguments.extend(["--opt-shapes", Box::leak(shapes.join(",").into_boxed_str())]);
    }
    arguments
}
