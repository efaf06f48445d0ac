//! What TensorRT and the driver ask of a tenant with several frames in flight: one writer in shared memory, one capture at a
//! time on a stream, a profile each, branches within the tenant's part of the device, and no wait for other tenants.

use super::scene::{Scene, number};
use super::under_way::PATIENCE;
use jetlag::gpu::{Event, Gpu, GpuError, Graph, Stream, Sync};
use jetlag::record::{QUEUES_FACT, RunReader};
use nvidia_doubles::cuda::{self, Control};
use serde_json::Value;

/// Two engines of many small launches, each of which takes the host a while: threads that enqueue at the same time meet.
pub(super) const MANY: &str = "launches 12\nlaunch_us 300\nkernel_us 20\n";

/// No frame failed, and nothing was given up.
fn no_failures(summary: &Value) {
    let findings = summary["run"]["findings"].as_array().unwrap();
    let told: Vec<&Value> = findings
        .iter()
        .filter(|finding| ["no-graph", "failed-frames"].contains(&finding["code"].as_str().unwrap()))
        .collect();
    assert!(told.is_empty(), "{told:#?}");
    for tenant in summary["tenants"].as_array().unwrap() {
        assert_eq!(tenant["frames"]["failed"], 0, "{}", tenant["name"]);
    }
}

/// What the process that did most on the device called.
fn calls(log: &std::path::Path) -> Value {
    cuda::read_log(log)
        .into_iter()
        .max_by_key(|entry| entry["operations"].as_u64())
        .unwrap()
}

/// The pair of a LiDAR detector, which leaves nothing to a camera.
fn lidar(scene: &Scene, more: &str) -> std::path::PathBuf {
    scene
        .demo(0, 0)
        .plan("encoder.plan", &(super::scene::encoder(0) + MANY))
        .plan("backbone.plan", &(super::scene::backbone(0) + MANY));
    let scenario = scene.scenario("", "arrival: Periodic(20)", &format!("arrival: Closed, {more}"));
    scene.by_frames(scenario, 40)
}

#[test]
fn engines_in_one_memory_are_enqueued_one_after_another() {
    let Some(scene) = Scene::new() else { return };
    let scenario = lidar(&scene, "depth: 3, context_memory: Shared, graph: Off");
    let Some(summary) = scene.run(&Control::default(), &scenario) else {
        return;
    };
    no_failures(&summary);
    assert!(number(&summary, "lidar", "/frames/completed") > 4.0);
}

#[test]
fn the_captures_of_a_tenant_begin_one_after_another() {
    let Some(scene) = Scene::new() else { return };
    let scenario = lidar(&scene, "depth: 3, context_memory: Shared, graph: On");
    let log = scene.path("cuda.log");
    let Some(summary) = scene.run(&Control::default().log(&log), &scenario) else {
        return;
    };
    no_failures(&summary);
    let run = calls(&log);
    assert!(run["calls"]["cuGraphLaunch"].as_u64().unwrap() > 4, "{run}");
    assert_eq!(run["live"]["graphs"], 0, "{run}");
}

/// Two tenants whose captures take the host long, begun at the same time: neither is in the other's stream.
#[test]
fn tenants_capture_side_by_side() {
    let Some(scene) = Scene::new() else { return };
    let slow = "launches 30\nlaunch_us 2000\nkernel_us 20\n";
    scene
        .demo(0, 0)
        .plan("camera.plan", &(super::scene::camera(0) + slow))
        .plan("backbone.plan", &(super::scene::backbone(0) + slow));
    let graph = "arrival: Closed, graph: On";
    let scenario = scene.by_frames(scene.scenario("", graph, graph), 10);
    let log = scene.path("cuda.log");
    let Some(summary) = scene.run(&Control::default().log(&log), &scenario) else {
        return;
    };
    no_failures(&summary);
    let run = calls(&log);
    assert!(run["calls"]["cuGraphLaunch"].as_u64().unwrap() > 4, "{run}");
}

/// TensorRT-RTX compiles kernels for new shapes beside their first frames, and refuses to be captured until then.
#[test]
fn rtx_is_asked_before_a_capture() {
    let Some(scene) = Scene::of_era('E') else { return };
    let scenario = lidar(&scene, "depth: 2, graph: On");
    let log = scene.path("cuda.log");
    let Some(summary) = scene.run(&Control::default().log(&log), &scenario) else {
        return;
    };
    no_failures(&summary);
    let run = calls(&log);
    assert!(run["calls"]["cuGraphLaunch"].as_u64().unwrap() > 0, "{run}");
}

/// JetPack 5's TensorRT: a profile for each slot, of a plan that says so, and a sentence where it has too few.
#[test]
fn every_slot_has_a_profile_of_its_own_where_they_are_not_shared() {
    let Some(scene) = Scene::of_version("trt 8.5") else {
        return;
    };
    scene.demo(0, 0);
    let depth = |depth: u32| {
        let lidar = format!("arrival: Periodic(20), depth: {depth}");
        scene.by_frames(scene.scenario("", "arrival: Periodic(20)", &lidar), 20)
    };
    let Some(summary) = scene.run(&Control::default(), &depth(1)) else {
        return;
    };
    no_failures(&summary);
    let said = scene.jetlag(
        &Control::default(),
        &["run", depth(2).to_str().unwrap(), "--out", "two.mcap"],
    );
    let said = String::from_utf8_lossy(&said.unwrap().stderr).into_owned();
    assert!(
        said.contains("has 1 profile of these shapes")
            && said.contains("`--contexts 2`")
            && said.contains("`depth: 1`"),
        "{said}"
    );
    scene.profiles(3).demo(0, 0);
    let summary = scene.run(&Control::default(), &depth(3)).unwrap();
    no_failures(&summary);
    assert!(number(&summary, "lidar", "/frames/completed") > 0.0);
}

/// 8.6.1 to 9.x share profiles where the plan was built so.
#[test]
fn a_plan_that_shares_its_profile_serves_every_slot() {
    let Some(scene) = Scene::of_version("trt 8.6") else {
        return;
    };
    scene.sharing_profiles().demo(0, 0);
    let scenario = scene.scenario("", "arrival: Periodic(20)", "arrival: Periodic(20), depth: 3");
    let scenario = scene.by_frames(scenario, 20);
    let Some(summary) = scene.run(&Control::default(), &scenario) else {
        return;
    };
    no_failures(&summary);
}

/// Branches of a network stay within the tenant's priority and part of the device: the library makes no streams itself.
#[test]
fn branches_run_on_streams_of_the_tenant() {
    for (sharing, created) in [
        ("Priority", "cuStreamCreateWithPriority"),
        ("Partition", "cuGreenCtxStreamCreate"),
    ] {
        let Some(scene) = Scene::new() else { return };
        scene.branches(2).demo(1_000, 1_000);
        let camera = "arrival: Periodic(20), priority: 1";
        let more = format!("sharing: {sharing},");
        let scenario = scene.scenario(&more, camera, "arrival: Periodic(20), depth: 2, graph: On");
        let scenario = scene.by_frames(scenario, 20);
        let log = scene.path("cuda.log");
        let Some(summary) = scene.run(&Control::default().log(&log), &scenario) else {
            return;
        };
        no_failures(&summary);
        let run = calls(&log);
        assert!(run["calls"]["cuStreamCreate"].is_null(), "{sharing}: {run}");
        assert!(run["calls"][created].as_u64().unwrap() >= 4, "{sharing}: {run}");
        assert_eq!(run["crossings"], 0, "{sharing}: {run}");
        assert_eq!(run["live"]["streams"], 0, "{sharing}: {run}");
    }
}

/// Also when the way of sharing changes in the middle of a run, as graphs and frame by frame.
#[test]
fn branches_change_over_with_the_way_of_sharing() {
    for (ways, graph) in [("Streams, Priority", "Off"), ("Streams, Partition", "On")] {
        let Some(scene) = Scene::new() else { return };
        scene.branches(2).demo(1_000, 1_000);
        let camera = format!("arrival: Periodic(20), priority: 1, graph: {graph}");
        let lidar = format!("arrival: Periodic(20), depth: 2, graph: {graph}");
        let scenario = scene.scenario(&format!("matrix: (sharing: [{ways}]),"), &camera, &lidar);
        let scenario = scene.by_frames(scenario, 20);
        let log = scene.path("cuda.log");
        let Some(summary) = scene.run(&Control::default().log(&log), &scenario) else {
            return;
        };
        no_failures(&summary);
        let run = calls(&log);
        assert_eq!(run["crossings"], 0, "{ways}: {run}");
    }
}

/// A device with few hardware queues: what a tenant does not use takes none.
#[test]
fn a_tenant_has_the_streams_of_the_way_of_sharing_in_force_alone() {
    let Some(scene) = Scene::new() else { return };
    scene.demo(1_000, 1_000);
    let log = scene.path("cuda.log");
    let more = "matrix: (sharing: [Streams, Edf]),";
    let scenario = scene.scenario(
        more,
        "arrival: Periodic(20), graph: Off",
        "arrival: Periodic(20), graph: Off",
    );
    let scenario = scene.by_frames(scenario, 20);
    let Some(_) = scene.run(&Control::default().log(&log), &scenario) else {
        return;
    };
    let run = calls(&log);
    // The clock's, one of each tenant, and two for the profile of the encoder's contexts.
    let made = run["calls"]["cuStreamCreateWithPriority"].as_u64().unwrap();
    assert!(made <= 5, "ways that lend the same streams lend the same: {run}");
}

/// As many as the driver opens, if nobody said how many; and the run file says what was asked for.
#[test]
fn the_driver_is_asked_for_all_of_its_hardware_queues() {
    for (said, wanted) in [(None, 32), (Some("12"), 12)] {
        let Some(scene) = Scene::new() else { return };
        scene.demo(1_000, 1_000);
        let log = scene.path("cuda.log");
        let mut control = Control::default().log(&log);
        if let Some(said) = said {
            control = control.variable("CUDA_DEVICE_MAX_CONNECTIONS", said);
        }
        let scenario = scene.scenario("", "arrival: Periodic(20)", "arrival: Periodic(20)");
        let scenario = scene.by_frames(scenario, 10);
        let Some(_) = scene.run(&control, &scenario) else {
            return;
        };
        assert_eq!(calls(&log)["hardware_queues"], wanted, "{said:?}");
        let run = RunReader::open(&scene.path("run.mcap")).unwrap();
        let kept = run.manifest().machine.get(QUEUES_FACT);
        assert_eq!(kept, Some(&wanted.to_string()), "{said:?}");
    }
}

const FULL_NAME: &str = "gpu::in_flight::";

#[test]
#[allow(unsafe_code, reason = "launches what it captured")]
fn a_graph_is_dropped_without_a_wait_for_others() {
    let name = format!("{FULL_NAME}a_graph_is_dropped_without_a_wait_for_others");
    // Operations: the graph's launch, its stream's stamp, and the other stream's stamp, which never comes.
    let control = Control::default().hang(3);
    cuda::beside(&name, &control, || {
        let gpu = Gpu::open(0).unwrap();
        let (own, other) = (Stream::new(&gpu, 0).unwrap(), Stream::new(&gpu, 0).unwrap());
        let (event, never) = (Event::new(&gpu).unwrap(), Event::new(&gpu).unwrap());
        let mut graph = Graph::capture(&own, || own.record(&event), |error| error).unwrap();
        // SAFETY: a stamp of an event that is alive to the end.
        unsafe { graph.launch(&own) }.unwrap();
        own.record(&event).unwrap();
        event.wait(Sync::Yield, PATIENCE).unwrap();
        other.record(&never).unwrap();
        drop(graph);
    });
}

#[test]
fn what_was_captured_before_a_failure_is_given_back() {
    let name = format!("{FULL_NAME}what_was_captured_before_a_failure_is_given_back");
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("cuda.log");
    cuda::beside(&name, &Control::default().log(&log), || {
        let gpu = Gpu::open(0).unwrap();
        let own = Stream::new(&gpu, 0).unwrap();
        let event = Event::new(&gpu).unwrap();
        let failing = || {
            own.record(&event)?;
            Err(GpuError::NoDevice)
        };
        assert_eq!(
            Graph::capture(&own, failing, |error| error).unwrap_err(),
            GpuError::NoDevice
        );
        // The stream is no longer captured.
        own.record(&event).unwrap();
        event.wait(Sync::Yield, PATIENCE).unwrap();
    });
    if log.exists() {
        for entry in cuda::read_log(&log) {
            assert_eq!(entry["live"]["graphs"], 0, "{entry}");
        }
    }
}
