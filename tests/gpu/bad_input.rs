//! What cannot be: each said before the run starts, or recorded while the others go on.

use nvidia_doubles::cuda::Control;

use super::scene::{Scene, camera, number};

fn refused(scene: &Scene, control: &Control, scenario: &std::path::Path) -> Option<String> {
    let output = scene.jetlag(control, &["run", scenario.to_str().unwrap(), "--quiet"])?;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    Some(String::from_utf8(output.stderr).unwrap())
}

#[test]
fn without_a_driver_or_a_device_the_run_does_not_start() {
    let Some(scene) = Scene::new() else { return };
    scene.demo(1_000, 1_000);
    let scenario = scene.scenario("", "", "");
    let mut bare = std::process::Command::new(env!("CARGO_BIN_EXE_jetlag"));
    let output = bare.arg("run").arg(&scenario).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    if !said.contains("TensorRT") {
        assert!(
            said.contains("tenant camera: there is no CUDA driver (libcuda.so.1)"),
            "{said}"
        );
        assert_eq!(output.status.code(), Some(2));
    }
    let Some(said) = refused(&scene, &Control::default(), &scene.scenario("", "gpu: 3", "")) else {
        return;
    };
    assert!(
        said.contains("GPU 3 does not exist: the driver lists 1, numbered from 0"),
        "{said}"
    );
}

#[test]
fn a_plan_for_a_gpu_that_is_not_there_is_not_built() {
    let Some(scene) = Scene::new() else { return };
    let network = concat!(env!("CARGO_MANIFEST_DIR"), "/engines/camera.onnx");
    let arguments = ["build", network, "--gpu", "2", "--no-cache"];
    let Some(output) = scene.jetlag(&Control::default().devices(2), &arguments) else {
        return;
    };
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("GPU 2 does not exist: the driver lists 2, numbered from 0"),
        "{said}"
    );
}

#[test]
fn a_driver_too_old_for_partitions_is_told() {
    let Some(scene) = Scene::new() else { return };
    scene.demo(1_000, 1_000);
    let scenario = scene.scenario("sharing: Partition,", "", "");
    let Some(said) = refused(&scene, &Control::default().driver(12020), &scenario) else {
        return;
    };
    assert!(
        said.contains("needs a driver for CUDA 12.5, but this one supports 12.2"),
        "{said}"
    );
}

#[test]
fn an_engine_that_does_not_fit_the_detector_is_told_with_both_shapes() {
    let Some(scene) = Scene::new() else { return };
    scene.plan("camera.plan", &camera(0).replace("1x3x64x64", "1x3x32x32"));
    let Some(said) = refused(&scene, &Control::default(), &scene.scenario("", "", "")) else {
        return;
    };
    assert!(
        said.contains(
            "its input `images` has shape [1, 3, 32, 32], but the detector produces [1, 3, 64, 64]"
        ),
        "{said}"
    );
    scene.plan(
        "camera.plan",
        &camera(0).replace("input images", "input pictures"),
    );
    let said = refused(&scene, &Control::default(), &scene.scenario("", "", "")).unwrap();
    assert!(
        said.contains(
            "the network's input is `pictures`, the spec says `images`; set `tensor: \"pictures\"`"
        ),
        "{said}"
    );
}

#[test]
fn a_tenant_that_finds_the_memory_full_fails_alone() {
    let Some(scene) = Scene::new() else { return };
    scene.demo(1_000, 1_000);
    let scenario = scene.scenario("", "arrival: Periodic(20)", "arrival: Periodic(10), depth: 4");
    let scenario = scene.by_frames(scenario, 20);
    let control = Control::default().memory_bytes(96 << 10);
    let output = scene.jetlag(
        &control,
        &[
            "run",
            scenario.to_str().unwrap(),
            "--quiet",
            "--format",
            "json",
            "--out",
            "run.mcap",
        ],
    );
    let Some(output) = output else { return };
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    assert!(number(&summary, "camera", "/frames/completed") > 0.0);
    assert_eq!(number(&summary, "lidar", "/frames/completed"), 0.0);
    let findings = summary["run"]["findings"].to_string();
    assert!(findings.contains("not enough GPU memory"), "{findings}");
    assert_eq!(summary["run"]["verdict"], "limited");
}

#[test]
fn a_tenant_that_finds_no_more_memory_to_pin_fails_alone() {
    let Some(scene) = Scene::new() else { return };
    scene.demo(1_000, 1_000);
    let scenario = scene.scenario("", "arrival: Periodic(20)", "arrival: Periodic(10), depth: 4");
    let scenario = scene.by_frames(scenario, 20);
    // Shared with the processor, so that host memory is the device's: the camera has its two blocks by then.
    let control = Control::default().integrated().fail(&["cuMemHostAlloc:3+:2"]);
    let arguments = ["run", scenario.to_str().unwrap(), "--quiet", "--format", "json"];
    let Some(output) = scene.jetlag(&control, &arguments) else {
        return;
    };
    // A run in which a tenant produced nothing has failed, and tells what the others did.
    assert_eq!(output.status.code(), Some(1));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(number(&summary, "camera", "/frames/completed") > 0.0, "{summary}");
    assert_eq!(number(&summary, "lidar", "/frames/completed"), 0.0);
    let findings = summary["run"]["findings"].to_string();
    assert!(findings.contains("of pinned memory"), "{findings}");
}

#[test]
fn a_device_that_fails_in_the_middle_ends_its_tenants_and_keeps_what_was_measured() {
    let Some(scene) = Scene::new() else { return };
    scene.demo(1_000, 1_000);
    // It ends when the device fails, however long a busy machine takes to come to that operation.
    let scenario = scene.by_frames(scene.scenario("", "arrival: Periodic(50)", ""), 10_000);
    // CUDA_ERROR_ILLEGAL_ADDRESS, as of a kernel that strayed.
    let control = Control::default().fault(120, 700);
    let Some(output) = scene.jetlag(
        &control,
        &["run", scenario.to_str().unwrap(), "--quiet", "--format", "json"],
    ) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let summary: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
    let text = summary.to_string();
    assert!(
        text.contains("ILLEGAL_ADDRESS") || said.contains("ILLEGAL_ADDRESS"),
        "{said} {text}"
    );
    assert_eq!(summary["run"]["verdict"], "limited");
}

/// The thread sleeps in the driver and never comes back: the run ends all the same, with what it measured.
#[test]
fn a_device_that_hangs_ends_the_run_within_the_watchdogs_time() {
    let Some(scene) = Scene::new() else { return };
    scene.demo(1_000, 1_000);
    // Makes the doubles, which takes longer than any run.
    if scene.jetlag(&Control::default(), &["--version"]).is_none() {
        return;
    }
    // Nothing is dropped when it ends: clocks are given back all the same.
    let board = crate::common::boards::board("agx-orin-r36");
    let clock = board.path().join("sys/class/devfreq/17000000.gpu/min_freq");
    let lowest = std::fs::read_to_string(&clock).unwrap();
    for sync in ["Block", "Spin"] {
        let tenant = format!("arrival: Periodic(50), sync: {sync}");
        let scenario = scene.scenario("watchdog: \"300ms\", clocks: Max,", &tenant, "");
        let arguments = [
            "run",
            scenario.to_str().unwrap(),
            "--quiet",
            "--force",
            "--out",
            "hung.mcap",
            // It ends when the device hangs, however long a busy machine takes to come to that operation.
            "--set",
            "duration=20s",
        ];
        let run = |nth| {
            let control = Control::default()
                .hang(nth)
                .variable("JETLAG_ROOT", board.path())
                .variable("RUST_LOG", "info");
            scene.jetlag(&control, &arguments)
        };
        let Some(mut output) = run(120) else { return };
        // One operation in twenty, and more on a busy machine, is of the clock that places moments of the device, which no frame
        // waits for.
        for nth in [127, 133, 141, 146, 152, 158, 163] {
            let said = String::from_utf8_lossy(&output.stderr);
            if !said.contains("the device was not released") {
                break;
            }
            assert_eq!(output.status.code(), Some(1), "{said}");
            output = run(nth).unwrap();
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{sync}: {said}");
        assert!(
            said.contains("camera: the device had not finished frame"),
            "{sync}: {said}"
        );
        assert!(said.contains("clock settings changed"), "{sync}: {said}");
        assert_eq!(
            std::fs::read_to_string(&clock).unwrap().trim(),
            lowest.trim(),
            "{sync}"
        );
        assert!(!board.path().join("run/jetlag/clocks.json").exists(), "{sync}");
        let report = ["report", "hung.mcap", "--format", "json"];
        let output = scene.jetlag(&Control::default(), &report).unwrap();
        let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(
            number(&summary, "camera", "/frames/failed") >= 1.0,
            "{sync}: {summary}"
        );
        assert!(
            summary["run"]["findings"].to_string().contains("device-hangs"),
            "{sync}"
        );
    }
}
