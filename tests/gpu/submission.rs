//! Which of host and device *compute* waits for. The double's host sleeps before each launch and its device takes a stated
//! time over each kernel, so that which of the two is the slower one does not depend on the machine: one that is busy makes
//! the host slower still.

use nvidia_doubles::cuda::Control;
use serde_json::Value;

use super::scene::{Scene, camera, launches, number};

/// The summary of one camera over this network, with as many frames as the findings need.
fn run(scene: &Scene, network: &str, more: &str, fields: &str) -> Option<Value> {
    scene.plan("camera.plan", network);
    let scenario = scene.by_frames(scene.scenario(more, fields, ""), 60);
    scene.run(&Control::default(), &scenario)
}

fn findings(summary: &Value, code: &str) -> Vec<Value> {
    let all = summary["run"]["findings"].as_array().unwrap();
    all.iter()
        .filter(|finding| finding["code"] == code)
        .cloned()
        .collect()
}

fn share(summary: &Value) -> f64 {
    number(summary, "camera", "/submitting/share/p50")
}

#[test]
fn a_network_of_slow_launches_is_bound_by_the_host_at_every_depth() {
    let Some(scene) = Scene::new() else { return };
    for depth in [1, 2] {
        let fields = format!("arrival: Closed, depth: {depth}");
        let Some(summary) = run(&scene, &launches(120, 50, 2), "", &fields) else {
            return;
        };
        let found = findings(&summary, "host-bound");
        assert_eq!(
            found.len(),
            1,
            "depth {depth}: {} {}",
            summary["run"]["findings"],
            summary["tenants"][0]["submitting"]
        );
        assert_eq!(found[0]["tenant"], "camera");
        let advice = found[0]["advice"].as_str().unwrap();
        assert!(advice.contains("graph: On"), "{advice}");
        assert_eq!(summary["tenants"][0]["submitting"]["host_bound"], true);
        assert!(share(&summary) > 0.9, "{}", share(&summary));
        let least = number(&summary, "camera", "/submission_ms/min");
        assert!(
            least >= 120.0 * 0.05,
            "each launch takes the host 50 µs: {least} ms"
        );
    }
}

#[test]
fn as_a_graph_the_same_network_is_not() {
    let Some(scene) = Scene::new() else { return };
    let network = launches(120, 50, 40);
    let Some(summary) = run(&scene, &network, "", "arrival: Closed, graph: On") else {
        return;
    };
    assert_eq!(findings(&summary, "host-bound"), [] as [Value; 0]);
    assert_eq!(summary["tenants"][0]["submitting"]["host_bound"], false);
    assert!(share(&summary) < 0.5, "{}", share(&summary));
}

#[test]
fn a_network_of_one_long_kernel_is_bound_by_the_device_at_every_depth() {
    let Some(scene) = Scene::new() else { return };
    for depth in [1, 3] {
        let fields = format!("arrival: Closed, depth: {depth}");
        let Some(summary) = run(&scene, &camera(15_000), "", &fields) else {
            return;
        };
        for code in ["host-bound", "compute-unclear"] {
            assert_eq!(findings(&summary, code), [] as [Value; 0], "depth {depth}");
        }
        assert!(share(&summary) < 0.5, "depth {depth}: {}", share(&summary));
    }
}

#[test]
fn a_tenant_in_a_process_of_its_own_tells_the_same() {
    let Some(scene) = Scene::new() else { return };
    let more = "sharing: Processes, mps: Off,";
    let Some(summary) = run(&scene, &launches(120, 50, 2), more, "arrival: Closed") else {
        return;
    };
    assert_eq!(
        findings(&summary, "host-bound").len(),
        1,
        "{}",
        summary["run"]["findings"]
    );
}

#[test]
fn what_has_no_device_has_no_submission() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.ron");
    let text = "Scenario(duration: \"200ms\", warmup: \"0s\", tenants: [Tenant(name: \"camera\", backend: Null, source: Empty, \
                arrival: Periodic(200))])";
    std::fs::write(&path, text).unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_jetlag"))
        .current_dir(folder.path())
        .args(["run", path.to_str().unwrap(), "--quiet", "--format", "json"])
        .output()
        .unwrap();
    let summary: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
    let tenant = &summary["tenants"][0];
    assert!(
        tenant["submission_ms"].is_null() && tenant["submitting"].is_null(),
        "{tenant}"
    );
}
