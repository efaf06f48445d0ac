//! Stressors: bursts of the stated length at the stated level, what they do to a detector, and what is in their way.

use nvidia_doubles::cuda::Control;
use serde_json::Value;

use super::scene::{Scene, number};

/// A scenario of stressors alone.
fn stressors(scene: &Scene, tenants: &[(&str, &str)]) -> std::path::PathBuf {
    let tenant =
        |(name, load): &(&str, &str)| format!("Tenant(name: \"{name}\", backend: Stress({load})),\n");
    let tenants: String = tenants.iter().map(tenant).collect();
    let path = scene.path("stress.ron");
    let text = format!("Scenario(duration: \"1s\", warmup: \"200ms\", tenants: [\n{tenants}])");
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn each_load_takes_its_burst_alone_and_comes_as_often_as_its_level_says() {
    let Some(scene) = Scene::new() else { return };
    for (resource, stage) in [
        ("Compute", "compute"),
        ("Dram", "compute"),
        ("L2", "compute"),
        ("HostToDevice", "h2d"),
    ] {
        let load = format!("resource: {resource}, level: 0.5, burst: \"10ms\"");
        let scenario = stressors(&scene, &[("load", &load)]);
        let control = Control::default().copies(2_000_000_000, 2_000_000_000);
        let Some(summary) = scene.run(&control, &scenario) else {
            return;
        };
        let took = number(&summary, "load", &format!("/stages_ms/{stage}/min"));
        assert!((took - 10.0).abs() < 1.0, "{resource}: {took} ms");
        assert!(
            number(&summary, "load", "/frames/completed") > 0.0,
            "{resource}: {summary}"
        );
        // Each second 50 bursts of 10 ms are due, however many the machine comes to; one may be under way at the end.
        let unfinished = summary["phases"][0]["tenants"][0]["frames"]["unfinished"].as_f64();
        assert_eq!(
            number(&summary, "load", "/frames/offered") + unfinished.unwrap_or_default(),
            50.0,
            "{resource}: {summary}"
        );
        assert_eq!(summary["tenants"][0]["backend"], "stress");
    }
}

#[test]
fn at_level_one_bursts_follow_each_other_without_a_gap() {
    let Some(scene) = Scene::new() else { return };
    let scenario = stressors(
        &scene,
        &[("load", "resource: Compute, level: 1, burst: \"10ms\"")],
    );
    let Some(summary) = scene.run(&Control::default(), &scenario) else {
        return;
    };
    let rate = number(&summary, "load", "/throughput_fps");
    assert!((1.0..104.0).contains(&rate), "{rate} bursts of 10 ms each second");
}

#[test]
fn a_matrix_tells_how_a_detector_takes_each_load() {
    let Some(scene) = Scene::new() else { return };
    scene.demo(20_000, 1_000);
    let stress = |name: &str, level: f64| {
        format!(
            "Tenant(name: \"{name}\", backend: Stress(resource: Compute, level: {level}, burst: \"5ms\")),"
        )
    };
    let text = format!(
        "Scenario(duration: \"1s\", warmup: \"200ms\", matrix: (), tenants: [Tenant(name: \"camera\", detector: \
         \"camera.ron\", source: Synthetic(sensor: Camera, scenes: 1), record_detections: false, backend: \
         TensorRt(plans: [\"camera.plan\"]), arrival: Periodic(20)), {}{}])",
        stress("third", 0.3),
        stress("full", 1.0)
    );
    let scenario = scene.path("matrix.ron");
    std::fs::write(&scenario, text).unwrap();
    let Some(summary) = scene.run(&Control::default(), &scenario) else {
        return;
    };
    let sensitivity = summary
        .pointer("/interference/sensitivity")
        .and_then(Value::as_array)
        .unwrap_or_else(|| panic!("{summary}"));
    assert_eq!(sensitivity.len(), 1, "{sensitivity:?}");
    assert_eq!(sensitivity[0]["tenant"], "camera");
    assert_eq!(sensitivity[0]["resource"], "Compute");
    let points = sensitivity[0]["points"].as_array().unwrap();
    let levels: Vec<f64> = points.iter().map(|p| p["level"].as_f64().unwrap()).collect();
    assert_eq!(levels, [0.3, 1.0]);
    // How much slower is for a machine's own time to say, and on a busy one the frames may be too few to: `sim` tests that.
    for point in points {
        let slowdown = &point["slowdown"];
        assert!(slowdown["alone_count"].as_u64().unwrap() > 0, "{point}");
        let (value, why) = (&slowdown["p50"], &slowdown["withheld"]["message"]);
        assert!(
            value.as_f64().is_some_and(|p50| p50 > 0.0) || why.is_string(),
            "a slowdown, or why there is none: {point}"
        );
    }
}

#[test]
fn loads_of_the_host_need_no_gpu() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("host.ron");
    let text = "Scenario(duration: \"10min\", warmup: \"0s\", tenants: [
        Tenant(name: \"cpu\", frames: 60, backend: Stress(resource: HostCpu, level: 0.2, burst: \"2ms\")),
        Tenant(name: \"memory\", frames: 24, backend: Stress(resource: HostMemory, level: 0.2, burst: \"5ms\"))])";
    std::fs::write(&path, text).unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_jetlag"))
        .current_dir(folder.path())
        .args(["run", "host.ron", "--quiet", "--format", "json"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
    assert!(number(&summary, "cpu", "/stages_ms/compute/min") >= 2.0);
    assert!(number(&summary, "memory", "/stages_ms/compute/min") >= 2.0);
    assert!(number(&summary, "cpu", "/frames/completed") > 0.0);
}

#[test]
fn kernels_are_compiled_once_and_again_where_their_file_is_damaged() {
    let Some(scene) = Scene::new() else { return };
    let scenario = stressors(&scene, &[("load", "resource: L2, level: 0.5")]);
    let kept = || {
        let files = std::fs::read_dir(scene.path("cache/kernels")).unwrap();
        let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files.remove(0)
    };
    if scene.run(&Control::default(), &scenario).is_none() {
        return;
    }
    let (path, content) = (kept(), std::fs::read(kept()).unwrap());
    assert!(path.to_str().unwrap().ends_with("-sm_90.kernels"), "{path:?}");
    let made = |path: &std::path::Path| std::fs::metadata(path).unwrap().modified().unwrap();
    let first = made(&path);
    scene.run(&Control::default(), &scenario);
    assert_eq!(made(&kept()), first, "found, and not made again");
    std::fs::write(&path, &content[..content.len() / 2]).unwrap();
    scene.run(&Control::default(), &scenario);
    assert_eq!(std::fs::read(kept()).unwrap(), content);
}

#[test]
fn a_device_newer_than_nvrtc_gets_ptx_and_an_older_one_an_error() {
    let Some(scene) = Scene::new() else { return };
    let scenario = stressors(&scene, &[("load", "resource: Compute, level: 0.5")]);
    if scene
        .run(&Control::default().capability(103), &scenario)
        .is_none()
    {
        return;
    }
    let kept = std::fs::read_dir(scene.path("cache/kernels"))
        .unwrap()
        .next()
        .unwrap();
    let name = kept.unwrap().file_name().into_string().unwrap();
    assert!(name.ends_with("-compute_90.kernels"), "{name}");
    let old = Control::default().capability(53);
    let output = scene
        .jetlag(&old, &["run", scenario.to_str().unwrap(), "--quiet"])
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("no longer supports compute capability 5.3"),
        "{said}"
    );
}

#[test]
fn without_nvrtc_the_run_says_where_it_was_looked_for_and_where_it_comes_from() {
    let Some(scene) = Scene::new() else { return };
    let scenario = stressors(&scene, &[("load", "resource: Dram, level: 0.5")]);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_jetlag"));
    if Control::default().apply(&mut command).is_none() {
        return;
    }
    let output = command
        .env("JETLAG_NVRTC", "/nowhere/libnvrtc.so.12")
        .env("JETLAG_CACHE", scene.path("cache"))
        .args(["run", scenario.to_str().unwrap(), "--quiet"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    for part in [
        "tenant load: ",
        "the load of Dram",
        "/nowhere/libnvrtc.so.12",
        "CUDA toolkit",
        "nvidia-jetpack",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}
