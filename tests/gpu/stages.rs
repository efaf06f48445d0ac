//! What a GPU tenant's stages say, of copies and kernels of known duration.

use std::time::Duration;

use super::scene::{Scene, number};
use super::under_way;
use jetlag::units::Nanos;
use nvidia_doubles::cuda::{self, Control};

/// The camera's input and output, `f32 [1, 3, 64, 64]` and `[1, 7, 84]`.
const INPUT_BYTES: f64 = 49_152.0;
const OUTPUT_BYTES: f64 = 2_352.0;

#[test]
fn stages_are_those_of_the_device_in_every_era() {
    for era in ['A', 'B', 'C', 'D', 'E'] {
        let Some(scene) = Scene::of_era(era) else { continue };
        scene.demo(5_000, 8_000);
        let scenario = scene.by_frames(scene.scenario("", "arrival: Periodic(20)", ""), 20);
        let control = Control::default().copies((INPUT_BYTES * 500.0) as u64, (OUTPUT_BYTES * 1000.0) as u64);
        let Some(summary) = scene.run(&control, &scenario) else {
            return;
        };
        let stage = |pointer: &str| number(&summary, "camera", &format!("/stages_ms/{pointer}/min"));
        assert!(
            (stage("compute") - 5.0).abs() < 0.3,
            "{era}: {}",
            stage("compute")
        );
        assert!((stage("h2d") - 2.0).abs() < 0.3, "{era}: {}", stage("h2d"));
        assert!((stage("d2h") - 1.0).abs() < 0.3, "{era}: {}", stage("d2h"));
        assert_eq!(summary["tenants"][0]["backend"], "tensorrt", "{era}");
        assert!(number(&summary, "camera", "/frames/completed") > 0.0, "{era}");
    }
}

#[test]
fn a_detector_of_two_engines_runs_its_host_step_between_them() {
    let Some(scene) = Scene::new() else { return };
    scene.demo(1_000, 6_000);
    // So many frames that a busy host is not late between the engines of each.
    let scenario = scene.by_frames(scene.scenario("", "arrival: Periodic(40)", "arrival: Closed"), 60);
    let Some(summary) = scene.run(&Control::default(), &scenario) else {
        return;
    };
    let compute = number(&summary, "lidar", "/stages_ms/compute/min");
    assert!(
        (6.0..12.0).contains(&compute),
        "both engines and the scatter: {compute}"
    );
    assert_eq!(
        number(&summary, "lidar", "/frames/failed"),
        0.0,
        "every count of pillars fits"
    );
}

/// A Jetson's GPU does not cache pinned memory, so nothing but a scenario asks it to read there.
#[test]
fn a_device_that_shares_the_hosts_memory_copies_unless_it_is_told() {
    let Some(scene) = Scene::new() else { return };
    scene.demo(2_000, 2_000);
    let control = || {
        Control::default()
            .integrated()
            .copies((INPUT_BYTES * 500.0) as u64, 0)
    };
    let scenario = scene.by_frames(scene.scenario("", "arrival: Periodic(20)", ""), 20);
    let Some(summary) = scene.run(&control(), &scenario) else {
        return;
    };
    assert!((number(&summary, "camera", "/stages_ms/h2d/min") - 2.0).abs() < 0.3);
    for transfer in ["ZeroCopy", "Managed"] {
        // On an integrated device managed memory is the host's or the device's: at depth 3 the host fills one slot while the
        // device has another, and whoever touches what is not his ends the run.
        for camera in ["depth: 1", "depth: 3, graph: On"] {
            let camera = format!("arrival: Periodic(20), transfer: {transfer}, {camera}");
            let scenario = scene.scenario("", &camera, "arrival: Periodic(20), depth: 2, transfer: Managed");
            let scenario = scene.by_frames(scenario, 20);
            let summary = scene.run(&control(), &scenario).unwrap();
            for tenant in summary["tenants"].as_array().unwrap() {
                assert_eq!(tenant["frames"]["failed"], 0, "{transfer}: {}", tenant["name"]);
            }
            let tenant = &summary["tenants"][0];
            assert!(
                tenant["stages_ms"]["h2d"].is_null() && tenant["stages_ms"]["d2h"].is_null(),
                "{transfer}: {}",
                tenant["stages_ms"]
            );
            let compute = number(&summary, "camera", "/stages_ms/compute/min");
            assert!(
                (1.7..4.0).contains(&compute),
                "without the 2 ms of a copy: {compute}"
            );
        }
    }
}

/// Three stages of 10 ms each on the device: at depth 3 they overlap, at depth 1 they do not.
#[test]
fn a_deep_ring_overlaps_copies_and_execution() {
    let Some(scene) = Scene::new() else { return };
    scene.demo(10_000, 1_000);
    let control = Control::default().copies((INPUT_BYTES * 100.0) as u64, (OUTPUT_BYTES * 100.0) as u64);
    // The shortest time from one result to the next.
    let shortest = |depth: u32| {
        let scenario = scene.scenario("", &format!("arrival: Closed, depth: {depth}"), "");
        let scenario = scene.by_frames(scenario, 40);
        let run = scene.path("run.mcap");
        let _ = std::fs::remove_file(&run);
        scene.run(&control, &scenario)?;
        let frames = under_way::frames(&run, 0);
        let gaps = frames.windows(2).map(|pair| pair[1].finished - pair[0].finished);
        gaps.min()
    };
    let (Some(serial), Some(deep)) = (shortest(1), shortest(4)) else {
        return;
    };
    // However late the host is, it is not early: 30 ms one after another, and less only where frames are side by side.
    assert!(serial >= Nanos::from_millis(29), "{serial}");
    assert!(deep < Nanos::from_millis(25), "{deep}");
}

#[test]
fn captured_frames_take_as_long_and_give_back_everything() {
    let Some(scene) = Scene::new() else { return };
    scene.demo(3_000, 4_000);
    let log = scene.path("cuda.log");
    let camera = "arrival: Closed, graph: On, depth: 2";
    let scenario = scene.scenario(
        "",
        camera,
        "arrival: Periodic(20), graph: On, context_memory: Shared",
    );
    let scenario = scene.by_frames(scenario, 20);
    let Some(summary) = scene.run(&Control::default().without_interference().log(&log), &scenario) else {
        return;
    };
    let compute = number(&summary, "camera", "/stages_ms/compute/min");
    assert!((compute - 3.0).abs() < 0.3, "{compute}");
    assert_eq!(number(&summary, "lidar", "/frames/failed"), 0.0);
    let log = cuda::read_log(&log);
    let run = log
        .iter()
        .max_by_key(|entry| entry["operations"].as_u64())
        .unwrap();
    assert!(run["calls"]["cuGraphLaunch"].as_u64().unwrap() > 2, "{run}");
    let captured = run["calls"]["cuGraphInstantiateWithFlags"].as_u64().unwrap();
    assert!(captured >= 2, "one a slot of the camera: {run}");
    for kind in [
        "allocations",
        "host_allocations",
        "streams",
        "events",
        "graphs",
        "executable_graphs",
    ] {
        assert_eq!(run["live"][kind], 0, "{kind}: {run}");
    }
}

#[test]
fn work_that_cannot_be_captured_is_enqueued_frame_by_frame_and_said() {
    let Some(scene) = Scene::new() else { return };
    scene.demo(3_000, 4_000);
    let scenario = scene.scenario("", "arrival: Periodic(30), graph: On", "arrival: Periodic(20)");
    let scenario = scene.by_frames(scenario, 20);
    // CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED.
    let control = Control::default()
        .without_interference()
        .fail(&["cuStreamBeginCapture_v2:1+:900"]);
    let Some(summary) = scene.run(&control, &scenario) else {
        return;
    };
    let findings = summary["run"]["findings"].as_array().unwrap();
    let told = findings.iter().filter(|finding| finding["code"] == "no-graph");
    assert_eq!(told.clone().count(), 1, "{findings:?}");
    assert!(
        told.clone().all(|finding| finding["tenant"] == "camera"),
        "{findings:?}"
    );
    assert_eq!(number(&summary, "camera", "/frames/failed"), 0.0);
    let compute = number(&summary, "camera", "/stages_ms/compute/min");
    assert!((compute - 3.0).abs() < 0.3, "{compute}");
}

/// The wait between submission and the device's begin is queue, and no stage takes another's time.
#[test]
fn stages_and_queue_add_up_to_the_service() {
    let Some(scene) = Scene::new() else { return };
    // Whichever comes to the stream finds the other's frame on it, however late the host is.
    scene.demo(20_000, 20_000);
    let scenario = scene.scenario("sharing: SingleStream,", "arrival: Closed", "arrival: Closed");
    let scenario = scene.by_frames(scenario, 50);
    let Some(summary) = scene.run(&Control::default(), &scenario) else {
        return;
    };
    let waited = number(&summary, "camera", "/stages_ms/queue/mean").max(number(
        &summary,
        "lidar",
        "/stages_ms/queue/mean",
    ));
    assert!(
        waited > 0.1,
        "one of them waits for the other on the one stream: {waited} ms"
    );
    for tenant in summary["tenants"].as_array().unwrap() {
        let stages = tenant["stages_ms"].as_object().unwrap();
        let sum: f64 = stages.values().filter_map(|stage| stage["mean"].as_f64()).sum();
        let service = tenant["service_ms"]["mean"].as_f64().unwrap();
        assert!(sum <= service + 0.05, "{sum} of {service}: {tenant}");
    }
}

/// A device that is busy answering: an anchor that is set now is off by half of what it took to set, and the one before is better.
#[test]
fn a_wide_anchor_of_the_clock_does_not_replace_a_close_one() {
    let Some(scene) = Scene::new() else { return };
    scene.demo(1_000, 1_000);
    // The first anchor is the closest of five looks; the host learns of all that follows 400 ms late.
    let control = Control::default().late(6..=u64::MAX, Duration::from_millis(400));
    let scenario = scene.scenario("", "arrival: Closed, sync: Spin", "");
    let text = std::fs::read_to_string(&scenario).unwrap();
    // Long enough for a new anchor before frames are measured.
    let text = text.replace(
        "duration: \"1s\", warmup: \"200ms\"",
        "duration: \"4s\", warmup: \"4s\"",
    );
    std::fs::write(&scenario, text).unwrap();
    let Some(summary) = scene.run(&control, &scenario) else {
        return;
    };
    // From the submission to the device's first stamp, as the anchor places that on the host's line.
    let queue = number(&summary, "camera", "/stages_ms/queue/min");
    assert!(
        queue < 100.0,
        "placed {queue} ms late: half of 400 ms is the newest anchor's"
    );
}

/// The first anchor of a host that is busy is off by 20 ms, until the next one half a second later: each frame still begins after
/// it was submitted and ends before the host saw that.
#[test]
fn a_wide_first_anchor_moves_no_frame_out_of_what_the_host_saw() {
    let Some(scene) = Scene::new() else { return };
    scene.demo(1_000, 1_000);
    let control = Control::default().late(1..=5, Duration::from_millis(40));
    let scenario = scene.by_frames(scene.scenario("", "arrival: Closed", ""), 20);
    let text = std::fs::read_to_string(&scenario).unwrap();
    std::fs::write(&scenario, text.replace("warmup: \"200ms\"", "warmup: \"0s\"")).unwrap();
    let Some(summary) = scene.run(&control, &scenario) else {
        return;
    };
    let stages = summary["tenants"][0]["stages_ms"].as_object().unwrap();
    let sum: f64 = stages.values().filter_map(|stage| stage["mean"].as_f64()).sum();
    let service = number(&summary, "camera", "/service_ms/mean");
    assert!(sum <= service + 0.05, "{sum} of {service}");
}

/// `jetlag doctor --measure` runs the tenants with each transfer in turns and compares them with copying.
#[test]
fn doctor_compares_the_ways_to_get_across() {
    let Some(scene) = Scene::new() else { return };
    scene.demo(2_000, 2_000);
    let scenario = scene.scenario("", "arrival: Closed, frames: 15", "");
    let text = std::fs::read_to_string(&scenario).unwrap();
    // It ends after its frames, however long a busy machine takes for them.
    let text = text.replace(
        "duration: \"1s\", warmup: \"200ms\"",
        "duration: \"10min\", warmup: \"0s\"",
    );
    std::fs::write(&scenario, text).unwrap();
    let arguments = ["doctor", "--measure", "scenario.ron", "--format", "json"];
    let Some(output) = scene.jetlag(&Control::default().integrated(), &arguments) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let comparison: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = comparison.to_string();
    for way in ["transfer: Copy", "transfer: ZeroCopy", "transfer: Managed"] {
        assert!(text.contains(way), "{way}: {text}");
    }
    // A scenario without a GPU has nothing to compare.
    std::fs::write(
        &scenario,
        "Scenario(tenants: [Tenant(name: \"a\", backend: Null)])",
    )
    .unwrap();
    let output = scene.jetlag(&Control::default(), &arguments).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no tenant of this scenario runs on a GPU"));
}
