//! The ways of sharing, on kernels that really slow each other down in the double.

use std::ops::Range;

use jetlag::record::{FrameRecord, Stage};
use nvidia_doubles::cuda::Control;

use super::scene::{Scene, number};
use super::under_way::frames;

const BOTH: (&str, &str) = ("arrival: Closed, priority: 1", "arrival: Closed");

fn run(sharing: &str, control: &Control) -> Option<(f64, f64)> {
    let scene = Scene::new()?;
    scene.demo(10_000, 10_000);
    let scenario = scene.by_frames(
        scene.scenario(&format!("sharing: {sharing},"), BOTH.0, BOTH.1),
        40,
    );
    let summary = scene.run(control, &scenario)?;
    // The least is what a frame takes when the double's own threads are not held up.
    let compute = |tenant| number(&summary, tenant, "/stages_ms/compute/min");
    Some((compute("camera"), compute("lidar")))
}

/// When a frame was computing, as nanoseconds on the run's clock.
fn computing(frame: &FrameRecord) -> Option<Range<i64>> {
    let at = Stage::ALL.iter().position(|stage| *stage == Stage::Compute)?;
    let before: i64 = frame.stages[..at].iter().flatten().map(|stage| stage.0).sum();
    let begun = frame.started.0 + before;
    Some(begun..begun + frame.stages[at]?.0)
}

/// The median of compute over the frames that had the other tenant beside them for at least half of it.
fn median_beside(frames: &[FrameRecord], others: &[FrameRecord]) -> f64 {
    let others: Vec<_> = others.iter().filter_map(computing).collect();
    let shared = |mine: &Range<i64>| -> i64 {
        let with = |other: &Range<i64>| (mine.end.min(other.end) - mine.start.max(other.start)).max(0);
        others.iter().map(with).sum()
    };
    let beside = |mine: &Range<i64>| 2 * shared(mine) >= mine.end - mine.start;
    let mut taken: Vec<_> = frames
        .iter()
        .filter_map(computing)
        .filter(beside)
        .map(|mine| mine.end - mine.start)
        .collect();
    assert!(taken.len() >= 5, "{} frames beside the other tenant", taken.len());
    taken.sort_unstable();
    taken[taken.len() / 2] as f64 / 1e6
}

#[test]
fn on_streams_of_their_own_tenants_slow_each_other_down() {
    let slowed = |control: &Control| -> Option<f64> {
        let scene = Scene::new()?;
        scene.demo(10_000, 10_000);
        // How often they meet depends on how late a busy host submits: only frames that met are compared.
        let scenario = scene.by_frames(scene.scenario("", BOTH.0, BOTH.1), 100);
        scene.run(control, &scenario)?;
        let file = scene.path("run.mcap");
        Some(median_beside(&frames(&file, 0), &frames(&file, 1)))
    };
    let (Some(beside), Some(apart)) = (
        slowed(&Control::default()),
        slowed(&Control::default().without_interference()),
    ) else {
        return;
    };
    println!("{apart} ms on a device with room for both, {beside} ms where they share it");
    assert!(beside > apart * 1.1);
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
