//! The ways of sharing, on kernels that really slow each other down in the double.

use nvidia_doubles::cuda::Control;

use super::scene::{Scene, number};

const BOTH: (&str, &str) = ("arrival: Closed, priority: 1", "arrival: Closed");

fn run(sharing: &str, control: &Control) -> Option<(f64, f64)> {
    let scene = Scene::new()?;
    scene.demo(10_000, 10_000);
    let scenario = scene.scenario(&format!("sharing: {sharing},"), BOTH.0, BOTH.1);
    let summary = scene.run(control, &scenario)?;
    // The least is what a frame takes when the double's own threads are not held up.
    let compute = |tenant| number(&summary, tenant, "/stages_ms/compute/min");
    Some((compute("camera"), compute("lidar")))
}

#[test]
fn on_streams_of_their_own_tenants_slow_each_other_down() {
    let slowed = |control: &Control| -> Option<f64> {
        let scene = Scene::new()?;
        scene.demo(10_000, 10_000);
        let summary = scene.run(control, &scene.scenario("", BOTH.0, BOTH.1))?;
        Some(number(&summary, "camera", "/stages_ms/compute/mean"))
    };
    let (Some(beside), Some(apart)) = (
        slowed(&Control::default()),
        slowed(&Control::default().without_interference()),
    ) else {
        return;
    };
    assert!(
        beside > apart * 1.1,
        "{apart} ms on a device with room for both, {beside} ms where they share it"
    );
}

#[test]
fn one_frame_at_a_time_takes_as_long_as_alone() {
    for sharing in ["Exclusive", "RoundRobin", "Edf"] {
        let Some((camera, lidar)) = run(sharing, &Control::default()) else {
            return;
        };
        assert!((camera - 10.0).abs() < 0.3, "{sharing}: {camera}");
        assert!((10.0..14.0).contains(&lidar), "{sharing}: {lidar}");
    }
}

#[test]
fn a_partition_keeps_kernels_on_their_multiprocessors() {
    let Some((camera, _)) = run("Partition", &Control::default()) else {
        return;
    };
    // Half of the multiprocessors, and nobody else on them.
    assert!((camera - 20.0).abs() < 0.5, "{camera}");
}

#[test]
fn the_urgent_tenant_is_served_first() {
    let Some((camera, lidar)) = run("Priority", &Control::default().with_priorities()) else {
        return;
    };
    assert!(
        (camera - 10.0).abs() < 0.5,
        "the urgent one as if alone: {camera}"
    );
    assert!(lidar >= 10.0, "the other waits: {lidar}");
}
