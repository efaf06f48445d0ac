//! What tenants on TensorRT take of a device whose double knows what was allocated.

use std::process::Command;

use nvidia_doubles::cuda::Control;
use nvidia_doubles::nvml;
use serde_json::Value;

use super::scene::{Scene, camera};

/// Whole pages, in which the driver's double counts.
const WEIGHTS: u64 = 4 << 20;
const CONTEXT: u64 = 1 << 20;
/// The camera's input, 1x3x64x64 of f32: 12 pages.
const INPUT: u64 = 3 * 64 * 64 * 4;
/// Its output, 1x7x84 of f32: less than a page.
const OUTPUT: u64 = 7 * 84 * 4;
const PAGE: u64 = 4096;

/// A run of the camera with two frames in flight.
fn ran(
    scene: &Scene,
    control: &Control,
    tenant: &str,
    more: &str,
    set: impl Fn(&mut Command),
) -> Option<Value> {
    let network = camera(100) + &format!("weights_bytes {WEIGHTS}\ndevice_memory {CONTEXT}\n");
    scene.plan("camera.plan", &network);
    let fields = format!("arrival: Periodic(20), depth: 2, graph: Off, {tenant}");
    let scenario = scene.by_frames(scene.scenario(more, &fields, ""), 10);
    let arguments = [
        "run",
        scenario.to_str().unwrap(),
        "--quiet",
        "--format",
        "json",
        "--out",
        "run.mcap",
        "--force",
    ];
    let mut command = scene.command(control, &arguments)?;
    set(&mut command);
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    Some(summary["tenants"][0]["memory"].clone())
}

fn reason<'a>(memory: &'a Value, part: &str) -> &'a str {
    let unknown = memory["unknown"].as_array().unwrap();
    let found = unknown.iter().find(|unknown| unknown["part"] == part);
    found
        .and_then(|unknown| unknown["reason"].as_str())
        .unwrap_or_else(|| panic!("{part}: {memory}"))
}

#[test]
fn each_part_has_the_bytes_that_the_driver_gave() {
    let Some(scene) = Scene::new() else { return };
    for (context_memory, contexts) in [("Shared", CONTEXT), ("Separate", 2 * CONTEXT)] {
        let tenant = format!("context_memory: {context_memory}");
        let Some(memory) = ran(&scene, &Control::default(), &tenant, "", |_| {}) else {
            return;
        };
        assert_eq!(memory["networks_bytes"], WEIGHTS, "{context_memory}: {memory}");
        assert_eq!(memory["contexts_bytes"], contexts, "{context_memory}: {memory}");
        assert_eq!(memory["device_tensors_bytes"], 2 * (INPUT + OUTPUT), "{memory}");
        assert_eq!(memory["pinned_bytes"], 2 * (INPUT + OUTPUT), "{memory}");
        assert!(memory["host_tensors_bytes"].is_null(), "{memory}");
        // The double's contexts take nothing for themselves.
        let of_contexts = if context_memory == "Shared" { CONTEXT } else { 0 };
        assert_eq!(
            memory["device_bytes"],
            WEIGHTS + of_contexts + 2 * (INPUT + PAGE),
            "{context_memory}: {memory}"
        );
        assert!(
            memory["process_peak_bytes"].as_u64().unwrap() > 1 << 20,
            "{memory}"
        );
        assert!(
            reason(&memory, "device_peak").contains("no reading of the memory of gpu0 in the measurement"),
            "{memory}"
        );
    }
}

#[test]
fn the_device_s_peak_is_nvml_s() {
    let Some(scene) = Scene::new() else { return };
    let Some(library) = nvml::library(&scene.path("nvml"), "count 1\nmemory_used 987654321\n") else {
        return;
    };
    let more = "telemetry: (sources: [Nvml]),";
    let Some(memory) = ran(&scene, &Control::default(), "", more, |command| {
        command.env("JETLAG_NVML", &library);
    }) else {
        return;
    };
    assert_eq!(memory["device_peak_bytes"], 987_654_321_u64, "{memory}");
    assert_eq!(memory["unknown"], serde_json::json!([]), "{memory}");
}

/// The free memory of a Jetson also sinks by what others have the kernel cache.
#[test]
fn an_integrated_device_s_free_memory_tells_nothing_of_one_tenant() {
    let Some(scene) = Scene::new() else { return };
    let control = Control::default().integrated();
    let Some(memory) = ran(&scene, &control, "context_memory: Shared", "", |_| {}) else {
        return;
    };
    for part in ["networks", "device"] {
        assert!(
            reason(&memory, part).contains("shares the machine's memory"),
            "{memory}"
        );
    }
    assert!(memory["networks_bytes"].is_null() && memory["device_bytes"].is_null());
    assert_eq!(memory["contexts_bytes"], CONTEXT, "{memory}");
    assert_eq!(memory["pinned_bytes"], 2 * (INPUT + OUTPUT), "{memory}");
}
