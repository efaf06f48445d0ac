//! `jetlag doctor --selftest` beside the doubles: plans of known duration, executed in every way. The doubles read networks of
//! their own form, which the embedded backend cannot execute: the ways' boxes are compared with each other.

use nvidia_doubles::cuda::Control;
use serde_json::Value;

use super::scene::Scene;

/// The report over the demo's small detectors, and the exit code.
fn selftest(scene: &Scene, control: &Control, more: &[&str]) -> Option<(Value, Option<i32>)> {
    scene.demo(1_000, 2_000);
    let scenario = scene.scenario("", "", "arrival: Closed");
    let mut arguments = vec![
        "doctor",
        "--selftest",
        // A machine that has more to do than these tests is no reason to fail.
        "--patience",
        "20",
        "--format",
        "json",
        "--out",
        "report.txt",
        "--force",
    ];
    arguments.extend(["--scenario", scenario.to_str().unwrap()]);
    arguments.extend(more);
    let output = scene.jetlag(control, &arguments)?;
    let report = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    Some((report, output.status.code()))
}

fn checks<'v>(report: &'v Value, group: &str) -> Vec<&'v Value> {
    let all = report["checks"].as_array().unwrap();
    all.iter().filter(|check| check["group"] == group).collect()
}

fn named<'v>(checks: &[&'v Value], name: &str) -> &'v Value {
    let found = checks.iter().find(|check| check["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {checks:#?}"))
}

#[test]
fn every_way_of_running_plans_is_tried_and_finds_the_same_and_what_the_driver_lacks_is_no_failure() {
    let Some(scene) = Scene::new() else { return };
    let groups = [
        "--only",
        "libraries",
        "--only",
        "tensorrt",
        "--only",
        "gpu-clock",
        "--within",
        "1h",
    ];
    // Without partitions.
    let control = Control::default().driver(12020);
    let Some((report, code)) = selftest(&scene, &control, &groups) else {
        return;
    };
    let libraries = checks(&report, "libraries");
    for library in ["cuda", "tensorrt", "nvrtc"] {
        assert_eq!(
            named(&libraries, library)["outcome"],
            "pass",
            "{}",
            named(&libraries, library)
        );
    }
    let ways = checks(&report, "tensorrt");
    let matrix = ways
        .iter()
        .filter(|check| check["name"].as_str().unwrap().starts_with("depth="));
    assert!(matrix.clone().count() >= 16);
    for way in matrix {
        let (name, seen) = (way["name"].as_str().unwrap(), way["seen"].as_str().unwrap());
        assert_eq!(way["outcome"], "pass", "{way}");
        assert!(
            seen.contains("camera: 24 frames") && seen.contains("lidar: 24 frames"),
            "{seen}"
        );
        assert!(!seen.contains("frames, 0 boxes"), "nothing is compared: {seen}");
        assert!(seen.contains("not compared with the cpu backend"), "{seen}");
        let plainest = name == "depth=1 transfer=Copy graph=Off";
        assert_eq!(seen.contains("as at depth 1"), !plainest, "{name}: {seen}");
    }
    for sharing in ["Streams", "SingleStream", "Priority", "Exclusive", "Processes"] {
        let way = named(&ways, &format!("sharing={sharing}"));
        assert_eq!(way["outcome"], "pass", "{way}");
    }
    let partition = named(&ways, "sharing=Partition");
    assert_eq!(partition["outcome"], "not_applicable", "{partition}");
    let seen = partition["seen"].as_str().unwrap();
    assert!(seen.contains("needs a driver for CUDA 12.5"), "{seen}");
    // How far off the clock is depends on how busy this machine is.
    assert_ne!(checks(&report, "gpu-clock")[0]["outcome"], "not_applicable");
    let all = report["checks"].as_array().unwrap().iter();
    let failed: Vec<&Value> = all
        .filter(|check| check["outcome"] == "fail" && check["group"] != "gpu-clock")
        .collect();
    assert_eq!(failed, [] as [&Value; 0]);
    assert!(matches!(code, Some(0 | 3)));
}

#[test]
fn a_device_that_fails_fails_a_way_and_not_the_report() {
    let Some(scene) = Scene::new() else { return };
    // No slot can be made: CUDA_ERROR_INVALID_VALUE.
    let control = Control::default().fail(&["cuMemHostAlloc:1+:1"]);
    let groups = ["--only", "tensorrt"];
    let Some((report, code)) = selftest(&scene, &control, &groups) else {
        return;
    };
    let ways = checks(&report, "tensorrt");
    let plainest = named(&ways, "depth=1 transfer=Copy graph=Off");
    assert_eq!(plainest["outcome"], "fail", "{plainest}");
    assert!(
        plainest["seen"].as_str().unwrap().contains("cuMemHostAlloc"),
        "{plainest}"
    );
    assert_eq!(code, Some(3));
}
