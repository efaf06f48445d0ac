//! Time per layer of a TensorRT tenant, and the operators that it is of.

use std::path::Path;

use serde_json::Value;

use super::scene::{Scene, camera};
use nvidia_doubles::cuda::Control;

/// Operators and their layers, of a camera that is profiled.
fn operators(scene: &Scene) -> Option<Vec<(String, u64)>> {
    let scenario = scene.by_frames(scene.scenario("", "arrival: Periodic(20)", ""), 20);
    let text = std::fs::read_to_string(&scenario).unwrap();
    let profiled = text.replace("[\"camera.plan\"]", "[\"camera.plan\"], profile: true");
    std::fs::write(&scenario, profiled).unwrap();
    let summary = scene.run(&Control::default(), &scenario)?;
    let tenant = &summary["tenants"][0];
    assert_eq!(tenant["node_time"], "execution");
    assert!(!tenant["nodes"].as_array().unwrap().is_empty(), "{tenant}");
    let of = |row: &Value| {
        let operator = row["operator"].as_str().unwrap().to_owned();
        (operator, row["layers"].as_u64().unwrap())
    };
    let mut found: Vec<_> = tenant["operators"].as_array().unwrap().iter().map(of).collect();
    found.sort();
    Some(found)
}

/// `only` is the camera's own.
const LAYERS: &str =
    "layer Conv_1 Convolution\nlayer Conv_3 Convolution\nlayer Add_7 Softmax\nlayer own Reshape\n";

fn rows(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
    let row = |(name, layers): &(&str, u64)| ((*name).to_owned(), *layers);
    expected.iter().map(row).collect()
}

/// A plan as it is built by default holds names alone, and the network knows the operators of its nodes.
#[test]
fn layers_have_the_operators_of_the_nodes_that_they_are_named_after() {
    let Some(scene) = Scene::new() else { return };
    scene.plan("camera.plan", &(camera(1_000) + LAYERS));
    let network = Path::new(env!("CARGO_MANIFEST_DIR")).join("engines/camera.onnx");
    std::fs::copy(network, scene.path("camera.onnx")).unwrap();
    let Some(found) = operators(&scene) else { return };
    assert_eq!(found, rows(&[("", 2), ("Add", 1), ("Conv", 2)]));
}

/// The scene's network is no ONNX file that can be read, so what the plan keeps is all that there is.
#[test]
fn layers_of_a_plan_with_details_have_at_least_a_type() {
    let Some(scene) = Scene::new() else { return };
    scene.detailed().plan("camera.plan", &(camera(1_000) + LAYERS));
    let Some(found) = operators(&scene) else { return };
    let expected = [("Convolution", 3), ("Shuffle", 1), ("SoftMax", 1)];
    assert_eq!(found, rows(&expected));
}

/// The tactic, the formats and the memory go into the run file, and are read there without the plan.
#[test]
fn what_the_inspector_tells_of_timed_layers_is_in_the_run_and_its_reports() {
    let Some(scene) = Scene::new() else { return };
    let plan = |scene: &Scene| {
        scene.plan("camera.plan", &(camera(1_000) + LAYERS));
    };
    plan(scene.detailed());
    if operators(&scene).is_none() {
        return;
    }
    std::fs::remove_file(scene.path("camera.plan")).unwrap();
    let report = |arguments: &[&str]| {
        let output = scene.jetlag(&Control::default(), arguments).unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let roofline = report(&["roofline", "run.mcap", "--format", "json"]);
    let roofline: Value = serde_json::from_str(&roofline).unwrap();
    let tenant = &roofline["runs"][0]["tenants"][0];
    assert_eq!(tenant["why_not_told"], Value::Null, "{tenant}");
    let layer = tenant["layers"]
        .as_array()
        .unwrap()
        .iter()
        .find(|layer| layer["name"] == "Conv_1")
        .unwrap();
    // 1x3x64x64 in, 1x7x84 out.
    let tensors = 4 * (3 * 64 * 64 + 7 * 84);
    for (field, value) in [
        ("tactic", Value::from("double_Convolution")),
        ("precision", "fp32".into()),
        ("input_shape", "1x3x64x64".into()),
        ("output_shape", "1x7x84".into()),
        ("tensors_bytes", tensors.into()),
        ("weights_bytes", 144.into()),
        ("network", 0.into()),
    ] {
        assert_eq!(layer[field], value, "{field}: {layer}");
    }
    let text = report(&["report", "run.mcap", "--layers"]);
    for said in [
        "tactics, and bytes",
        "double_Convolution",
        "double_SoftMax",
        "unaligned-convolutions",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(!text.contains("no tactics"), "{text}");
    report(&["report", "run.mcap", "--html", "run.html"]);
    let page = std::fs::read_to_string(scene.path("run.html")).unwrap();
    for said in ["Work of camera", "double_Convolution", ">144</td>"] {
        assert!(page.contains(said), "{said}");
    }

    // A plan as it is built by default tells names alone, which is said once.
    let Some(scene) = Scene::new() else { return };
    plan(&scene);
    if operators(&scene).is_none() {
        return;
    }
    let output = scene
        .jetlag(&Control::default(), &["roofline", "run.mcap", "--format", "json"])
        .unwrap();
    let roofline: Value = serde_json::from_slice(&output.stdout).unwrap();
    let tenant = &roofline["runs"][0]["tenants"][0];
    let why = tenant["why_not_told"].as_str().unwrap();
    assert!(why.contains("--profiling-verbosity detailed"), "{why}");
    assert_eq!(tenant["layers"][0]["tactic"], Value::Null);
}

#[test]
fn a_plan_is_drawn_with_a_box_for_each_layer() {
    let Some(scene) = Scene::new() else { return };
    scene.detailed().plan("camera.plan", &(camera(1_000) + LAYERS));
    let arguments = ["inspect", "camera.plan", "--graph", "camera.svg"];
    let Some(output) = scene.jetlag(&Control::default(), &arguments) else {
        return;
    };
    assert!(output.status.success(), "{output:?}");
    let picture = std::fs::read_to_string(scene.path("camera.svg")).unwrap();
    for said in ["<svg", ">Conv_1</text>", "Convolution", ">Add_7</text>"] {
        assert!(picture.contains(said), "{said}: {picture}");
    }
    // The same again is the same picture, and none is replaced unasked.
    let refused = scene.jetlag(&Control::default(), &arguments).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let again = scene
        .jetlag(&Control::default(), &[&arguments[..], &["--force"]].concat())
        .unwrap();
    assert!(again.status.success(), "{again:?}");
    assert_eq!(
        std::fs::read_to_string(scene.path("camera.svg")).unwrap(),
        picture
    );
}
