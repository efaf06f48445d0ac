//! A machine with two kinds of GPU: each plan, its key and its timings are those of the GPU that its tenant uses.

use std::path::Path;

use nvidia_doubles::cuda::Control;

use super::scene::{DEMO_CAMERA, Scene, number};

const FIRST: &str = "First GPU";
const SECOND: &str = "Second GPU";

fn two_kinds() -> Control {
    Control::default().mixed(&[(FIRST, 75), (SECOND, 86)])
}

fn succeeds(scene: &Scene, arguments: &[&str]) -> Option<()> {
    let output = scene.jetlag(&two_kinds(), arguments)?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        matches!(output.status.code(), Some(0 | 3)),
        "{arguments:?}: {said}"
    );
    Some(())
}

/// The names of the files of a folder that end so.
fn files(folder: &Path, extension: &str) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(extension))
        .collect();
    names.sort();
    names
}

/// What the double's builder wrote into a plan: the GPU that was current.
fn built_on(plan: &Path) -> &'static str {
    let bytes = std::fs::read(plan).unwrap();
    let holds = |name: &str| {
        let option = format!("option Gpu {name}\n");
        bytes
            .windows(option.len())
            .any(|window| window == option.as_bytes())
    };
    match (holds(FIRST), holds(SECOND)) {
        (true, false) => FIRST,
        (false, true) => SECOND,
        other => panic!("{}: {other:?}", plan.display()),
    }
}

#[test]
fn a_plan_is_built_on_the_gpu_that_was_asked_for() {
    let Some(scene) = Scene::new() else { return };
    let network = scene.onnx("camera", DEMO_CAMERA);
    for (gpu, name) in [("0", FIRST), ("1", SECOND)] {
        let plan = scene.path("out.plan");
        let arguments = [
            "build",
            network.to_str().unwrap(),
            "--gpu",
            gpu,
            "--output",
            plan.to_str().unwrap(),
        ];
        let Some(()) = succeeds(&scene, &arguments) else {
            return;
        };
        assert_eq!(built_on(&plan), name);
        let manifest = std::fs::read_to_string(scene.path("out.plan.json")).unwrap();
        assert!(manifest.contains(name), "{manifest}");
    }
    // Neither took the other's plan or timings.
    let cache = scene.path("cache");
    assert_eq!(files(&cache, ".plan").len(), 2, "{:?}", files(&cache, ""));
    let timings = files(&cache, ".timing");
    assert!(
        timings.len() == 2 && timings[0].contains("first-gpu") && timings[1].contains("second-gpu"),
        "{timings:?}"
    );
}

#[test]
fn each_tenants_plan_is_of_its_own_gpu() {
    let Some(scene) = Scene::new() else { return };
    scene.onnx("camera", DEMO_CAMERA);
    let spec = include_str!("../../engines/camera.ron");
    std::fs::write(scene.path("camera.ron"), spec).unwrap();
    let tenant = |name: &str, gpu: u16| {
        format!(
            "Tenant(name: \"{name}\", detector: \"camera.ron\", gpu: {gpu}, arrival: Periodic(20), backend: TensorRt(), \
             source: Synthetic(sensor: Camera, scenes: 1), record_detections: false, frames: 5),"
        )
    };
    let text = format!(
        "Scenario(duration: \"900s\", warmup: \"200ms\", tenants: [{}{}])",
        tenant("front", 1),
        tenant("rear", 0)
    );
    let scenario = scene.path("scenario.ron");
    std::fs::write(&scenario, text).unwrap();
    // The double's runtime loads no plan of another compute capability.
    let Some(summary) = scene.run(&two_kinds(), &scenario) else {
        return;
    };
    for tenant in ["front", "rear"] {
        assert!(number(&summary, tenant, "/frames/completed") > 0.0, "{summary}");
    }
    let cache = scene.path("cache");
    let mut on: Vec<_> = files(&cache, ".plan")
        .iter()
        .map(|plan| built_on(&cache.join(plan)))
        .collect();
    on.sort_unstable();
    assert_eq!(on, [FIRST, SECOND]);
}

/// The library reads calibration frames on the GPU that it builds on.
#[test]
fn calibration_frames_are_on_the_gpu_that_is_built_on() {
    let Some(scene) = Scene::of_era('B') else { return };
    scene.onnx("camera", DEMO_CAMERA);
    std::fs::write(scene.path("camera.ron"), include_str!("../../engines/camera.ron")).unwrap();
    let plan = scene.path("out.plan");
    let arguments = [
        "build",
        "camera.ron",
        "--precision",
        "int8",
        "--calibrate",
        "synthetic",
        "--calibration-frames",
        "2",
        "--gpu",
        "1",
        "--output",
        plan.to_str().unwrap(),
    ];
    let Some(()) = succeeds(&scene, &arguments) else {
        return;
    };
    assert_eq!(built_on(&plan), SECOND);
}
