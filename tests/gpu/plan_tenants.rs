//! Plans by themselves as tenants: on made inputs, as their manifests have them or else TensorRT itself.

use std::fs;

use nvidia_doubles::cuda::Control;
use serde_json::Value;

use super::scene::Scene;
use crate::common::output::{stderr, stdout};

/// The demo's encoder, which takes any number of pillars.
const OPEN: &str = "double-network\ninput pillar_points f32 1xpillarsx16x9\noutput pillar_features f32 1xpillarsx32 only\n\
                    layer only Conv\n";
const SHAPE: &str = "pillar_points:1x100x16x9";

fn json(output: &std::process::Output) -> Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_str(&stdout(output)).unwrap()
}

#[test]
fn a_plan_runs_with_its_manifest_and_without() {
    let Some(scene) = Scene::of_era('C') else { return };
    let control = Control::default();
    let network = scene.onnx("lidar_encoder", OPEN);
    let network = network.to_str().unwrap();
    let build = [
        "build",
        network,
        "--min-shapes",
        SHAPE,
        "--opt-shapes",
        SHAPE,
        "--max-shapes",
        "pillar_points:1x200x16x9",
        "-o",
        "net.plan",
    ];
    let Some(built) = scene.jetlag(&control, &build) else {
        return;
    };
    assert!(built.status.success(), "{}", stderr(&built));
    let run = |more: &[&str]| {
        let line = [
            "run",
            "net.plan",
            "--set",
            "tenants.0.frames=5",
            "--force",
            "--quiet",
        ];
        let words = [&line[..], &["--out", "run.mcap", "--format", "json"], more].concat();
        scene.jetlag(&control, &words).unwrap()
    };
    let told = run(&[]);
    assert_eq!(told.status.code(), Some(2));
    // No dimension is silently 1.
    assert!(
        stderr(&told).contains("--shapes pillar_points:1x"),
        "{}",
        stderr(&told)
    );
    for manifest in [true, false] {
        if !manifest {
            fs::remove_file(scene.path("net.plan.json")).unwrap();
        }
        let summary = json(&run(&["--shape", SHAPE]));
        let tenant = &summary["tenants"][0];
        assert_eq!(tenant["backend"], "tensorrt", "{summary}");
        assert_eq!(tenant["frames"]["completed"], 5, "{summary}");
    }
    let elsewhere = run(&["--shape", SHAPE, "--set", "tenants.0.backend=Cpu()"]);
    assert_eq!(elsewhere.status.code(), Some(2));
    assert!(
        stderr(&elsewhere).contains("net.plan is a plan, which TensorRT alone executes, not cpu"),
        "{}",
        stderr(&elsewhere)
    );
}

/// What a plan gives is kept by one run, and compared by the next.
#[test]
fn outputs_of_a_plan_are_kept_and_compared() {
    let Some(scene) = Scene::of_era('C') else { return };
    let control = Control::default();
    scene.onnx("lidar_encoder", OPEN);
    let run = |outputs: &str| {
        let text = format!(
            "Scenario(duration: \"10min\", warmup: \"0s\", tenants: [Tenant(name: \"net\", backend: TensorRt(), frames: 3, detector: \
             Network(network: \"lidar_encoder.onnx\", shapes: \"{SHAPE}\", record_outputs: ({outputs})))])"
        );
        fs::write(scene.path("s.ron"), text).unwrap();
        let line = [
            "run", "s.ron", "--quiet", "--force", "--out", "run.mcap", "--format", "json",
        ];
        scene.jetlag(&control, &line)
    };
    let Some(kept) = run("keep: \"kept\"") else { return };
    let kept = json(&kept);
    let output = &kept["tenants"][0]["outputs"][0];
    assert_eq!(output["name"], "pillar_features", "{kept}");
    assert_eq!(output["shape"], serde_json::json!([1, 100, 32]), "{kept}");
    let compared = json(&run("reference: \"kept\"").unwrap());
    let output = &compared["tenants"][0]["outputs"][0];
    assert_eq!(
        (&output["differing"], &output["within"]),
        (&0.into(), &true.into()),
        "{compared}"
    );
    let path = scene.path("kept/pillar_features.npy");
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 4;
    bytes[last..].copy_from_slice(&1e9_f32.to_le_bytes());
    fs::write(&path, bytes).unwrap();
    let differs = run("reference: \"kept\"").unwrap();
    assert_eq!(differs.status.code(), Some(3), "{}", stderr(&differs));
}
