//! Sweeps of tenants on TensorRT: their plans are built before the runs, each once.

use std::fs;

use nvidia_doubles::cuda::Control;
use serde_json::Value;

use super::scene::{DEMO_CAMERA, Scene};
use crate::common::boards;
use crate::common::output::{stderr, stdout};

/// The words after `jetlag` of who built each plan in the cache.
fn builders(scene: &Scene) -> Vec<Vec<String>> {
    let entries = fs::read_dir(scene.path("cache")).unwrap().flatten();
    let manifests = entries.filter(|entry| entry.file_name().to_str().unwrap().ends_with(".plan.json"));
    manifests
        .map(|manifest| {
            let manifest: Value = serde_json::from_slice(&fs::read(manifest.path()).unwrap()).unwrap();
            let words = manifest["arguments"].as_array().unwrap().iter();
            words.map(|word| word.as_str().unwrap().to_owned()).collect()
        })
        .collect()
}

#[test]
fn plans_are_built_before_the_runs_and_once_for_all_points_that_share_them() {
    // Later releases take the precision from the network.
    let Some(scene) = Scene::of_era('B') else { return };
    scene.onnx("camera", DEMO_CAMERA);
    let base = "Scenario(duration: \"900s\", warmup: \"0s\", tenants: [Tenant(name: \"camera\", frames: 2, backend: TensorRt(), \
                detector: Network(network: \"camera.onnx\"), arrival: Periodic(hz: 100))])";
    fs::write(scene.path("base.ron"), base).unwrap();
    let sweep = r#"Sweep(base: "base.ron", repeats: 2, limit: "10min", axes: [
        Axis(set: "tenants.camera.backend", values: ["TensorRt()", "TensorRt(build: \"--precision int8\")", "TensorRt(build: \"--precision fp16\")"]),
        Axis(set: "tenants.camera.arrival.hz", values: [100, 200])])"#;
    fs::write(scene.path("s.ron"), sweep).unwrap();
    let control = Control::default();
    let line = ["sweep", "s.ron", "-o", "s", "--format", "json"];
    let Some(output) = scene.jetlag(&control, &line) else {
        return;
    };
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    // Progress: three builds, of which one fails, and all of them before the first run.
    let builds: Vec<usize> = said.match_indices("building plans ").map(|(at, _)| at).collect();
    assert_eq!(builds.len(), 3, "{said}");
    assert!(said.contains("building plans 3 of 3"), "{said}");
    let first_run = said.find("run 1 of 12").unwrap();
    assert!(builds.iter().all(|at| *at < first_run), "{said}");
    assert!(said.contains("plans of camera: cannot be built: "), "{said}");
    let built = builders(&scene);
    assert_eq!(built.len(), 2, "{built:?}");
    assert!(
        built
            .iter()
            .all(|words| words.iter().any(|word| word == "--build-only")),
        "no run built any: {built:?}"
    );

    let whole: Value = serde_json::from_str(&stdout(&output)).unwrap();
    for row in whole["rows"].as_array().unwrap() {
        let set = row["set"]["tenants.camera.backend"].as_str().unwrap();
        match set.contains("int8") {
            true => {
                assert_eq!(row["state"], "failed", "{row}");
                assert_eq!(
                    (&row["failed"]["kind"], &row["failed"]["tenant"]),
                    (&"build".into(), &"camera".into()),
                    "{row}"
                );
                assert!(
                    row["failed"]["message"]
                        .as_str()
                        .unwrap()
                        .contains("int8 needs scales"),
                    "{row}"
                );
            }
            false => assert_eq!(row["state"], "done", "{row}"),
        }
    }
    // What is finished is not built again either.
    fs::remove_dir_all(scene.path("cache")).unwrap();
    let again = scene.jetlag(&control, &line).unwrap();
    assert!(!stderr(&again).contains("building plans"), "{}", stderr(&again));
    assert!(!scene.path("cache").exists());
}

#[test]
fn a_search_builds_its_plan_once_too() {
    let Some(scene) = Scene::new() else { return };
    scene.onnx("camera", DEMO_CAMERA);
    let base = "Scenario(duration: \"900s\", warmup: \"0s\", tenants: [Tenant(name: \"camera\", frames: 3, backend: TensorRt(), \
                detector: Network(network: \"camera.onnx\"), arrival: Periodic(hz: 100))])";
    fs::write(scene.path("base.ron"), base).unwrap();
    let line = [
        "sweep",
        "base.ron",
        "--knee",
        "tenants.camera.arrival.hz in 10..20",
        "--while",
        "camera.frames.completed >= 1",
        "-o",
        "k",
        "--format",
        "json",
    ];
    let Some(output) = scene.jetlag(&Control::default(), &line) else {
        return;
    };
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(said.matches("plans of camera: there after").count(), 1, "{said}");
    let built = builders(&scene);
    assert_eq!(built.len(), 1);
    assert!(built[0].iter().any(|word| word == "--build-only"), "{built:?}");
}

#[test]
fn a_power_mode_has_plans_of_its_own_which_are_built_under_it() {
    let Some(scene) = Scene::new() else { return };
    scene.onnx("camera", DEMO_CAMERA);
    let base = "Scenario(duration: \"900s\", warmup: \"0s\", tenants: [Tenant(name: \"camera\", frames: 2, backend: TensorRt(), \
                detector: Network(network: \"camera.onnx\"), arrival: Periodic(hz: 100))])";
    fs::write(scene.path("base.ron"), base).unwrap();
    let sweep = "Sweep(base: \"base.ron\", axes: [Axis(set: \"power_mode\", values: [0, 1]), Axis(set: \
                 \"tenants.camera.arrival.hz\", values: [100, 200])])";
    fs::write(scene.path("s.ron"), sweep).unwrap();
    // The mode decides which clusters are off, as nvpmodel does.
    let board = boards::board("agx-orin-r36");
    let (status, mask) = (
        board.path().join("var/lib/nvpmodel/status"),
        board.path().join("sys/devices/gpu.0/tpc_pg_mask"),
    );
    fs::create_dir_all(mask.parent().unwrap()).unwrap();
    fs::write(&mask, "2").unwrap();
    let script = format!(
        "printf 'pmode:%04d' \"$2\" > '{}'; echo \"$2\" > '{}'",
        status.display(),
        mask.display()
    );
    nvidia_doubles::script(&board.path().join("usr/bin/nvpmodel"), &script);
    let control = Control::default()
        .integrated()
        .name("Orin")
        .variable("JETLAG_ROOT", board.path());
    let line = ["sweep", "s.ron", "-o", "s", "--format", "json"];
    let Some(output) = scene.jetlag(&control, &line) else {
        return;
    };
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("building plans 2 of 2"), "{said}");
    let built = builders(&scene);
    assert_eq!(
        built.len(),
        2,
        "one for each mode, none for the mode in force: {built:?}"
    );
    assert!(
        built
            .iter()
            .all(|words| words.iter().any(|word| word == "--build-only")),
        "no run built any: {built:?}"
    );
    assert_eq!(fs::read_to_string(&status).unwrap(), "pmode:0002");
}

#[test]
fn plans_that_are_not_built_are_said_so_and_each_tenant_s_are_tried_once() {
    // Later releases take the precision from the network.
    let Some(scene) = Scene::of_era('B') else { return };
    scene.onnx("camera", DEMO_CAMERA);
    let tenant = |name: &str, build: &str| {
        format!(
            "Tenant(name: \"{name}\", frames: 2, backend: TensorRt({build}), detector: Network(network: \"camera.onnx\"), arrival: \
             Periodic(hz: 100))"
        )
    };
    let int8 = "build: \"--precision int8\"";
    let base = format!(
        "Scenario(duration: \"900s\", warmup: \"0s\", tenants: [{}, {}])",
        tenant("unscaled", int8),
        tenant("camera", "")
    );
    fs::write(scene.path("base.ron"), base).unwrap();
    let sweep = r#"Sweep(base: "base.ron", axes: [Axis(set: "tenants.camera.backend", values: [
        "TensorRt()", "TensorRt(build: \"--precision fp16\")", "TensorRt(build: \"--presicion int8\")"])])"#;
    fs::write(scene.path("s.ron"), sweep).unwrap();
    let line = ["sweep", "s.ron", "-o", "s", "--format", "json"];
    let Some(output) = scene.jetlag(&Control::default(), &line) else {
        return;
    };
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(said.matches("plans of unscaled: ").count(), 1, "{said}");
    assert!(said.contains("plans of unscaled: cannot be built: "), "{said}");
    assert_eq!(said.matches("plans of camera: there after ").count(), 2, "{said}");
    assert_eq!(
        said.matches("plans of camera: not built: `build: \"--presicion int8\"`")
            .count(),
        1,
        "{said}"
    );
}
