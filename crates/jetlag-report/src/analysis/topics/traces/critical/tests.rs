//! Frames with known critical paths, and properties that hold for any activities.

use proptest::prelude::*;

use super::path::Segment;
use super::recorded::{FINISHER, MAKER, Recorded, members, of, on};
use super::*;
use crate::analysis::summary::critical::Part;
use crate::record::FrameRecord;
use crate::record::activity::{Interface, MemoryKind, Owner, WaitKind, Work};

impl Recorded {
    fn critical(&mut self) -> CriticalPath {
        self.settle();
        critical(&self.phase, &self.names, &members())
    }

    /// Means of the first tenant's frames.
    fn steady(&mut self) -> Part {
        self.critical().tenants[0].steady.clone().unwrap()
    }
}

/// Time on the path and waiting time of a name, in nanoseconds.
fn row(part: &Part, name: &str) -> (i64, i64) {
    let ns = |ms: f64| (ms * 1e6).round() as i64;
    part.rows
        .iter()
        .find(|row| row.name == name)
        .map_or((0, 0), |row| (ns(row.path_ms), ns(row.waiting_ms)))
}

/// Copy in, two kernels, copy out, on one stream: the device is the limit.
fn serial(recorded: &mut Recorded) {
    let owner = of(0, 0);
    recorded.frame(owner, [0, 10, 400], (20, 30));
    let h2d = recorded.call(owner, MAKER, "cuMemcpyHtoDAsync", (35, 40));
    let a = recorded.call(owner, MAKER, "cuLaunchKernel", (42, 46));
    let b = recorded.call(owner, MAKER, "cuLaunchKernel", (46, 50));
    let d2h = recorded.call(owner, MAKER, "cuMemcpyDtoHAsync", (50, 55));
    let wait = recorded.call(owner, MAKER, "cuStreamSynchronize", (57, 360));
    recorded.copy(owner, 5, h2d, Direction::HostToDevice, (43, 63));
    recorded.kernel(owner, 5, a, "winograd", (64, 164));
    recorded.kernel(owner, 5, b, "relu", (165, 305));
    recorded.copy(owner, 5, d2h, Direction::DeviceToHost, (306, 340));
    recorded.wait(owner, wait, WaitKind::Stream, (5, 0), (57, 360));
}

#[test]
fn a_serial_stream_is_the_path_and_the_host_s_wait_is_not() {
    let mut recorded = Recorded::new();
    serial(&mut recorded);
    let part = recorded.steady();
    assert_eq!(row(&part, "winograd"), (100, 0));
    assert_eq!(row(&part, "relu"), (140, 0));
    assert_eq!(row(&part, "h2d"), (20, 0));
    assert_eq!(row(&part, "d2h"), (34, 0));
    // From the end of the work to the return of the call; it waited from 57 to 340.
    assert_eq!(row(&part, "cuStreamSynchronize"), (20, 283));
    assert_eq!(row(&part, "between works of the frame").0, 3);
    assert_eq!(row(&part, "from launch to begin").0, 3);
    assert_eq!(row(&part, "cuMemcpyHtoDAsync").0, 5);
    assert_eq!(row(&part, "cuLaunchKernel").0, 0, "the device had enough to do");
    assert_eq!(row(&part, "preprocess").0, 20);
    assert_eq!(row(&part, "postprocess").0, 30);
    assert_eq!(row(&part, "before the first call").0, 5);
    assert_eq!(row(&part, "after the device").0, 10);
    assert_eq!(row(&part, "wait for a free slot").0, 10);
    let shares: f64 = part.rows.iter().map(|row| row.share).sum();
    assert!((shares - 1.0).abs() < 1e-5, "{shares}");
    assert_eq!(part.calls[0].name, "cuStreamSynchronize");
    let launches = part
        .calls
        .iter()
        .find(|row| row.name == "cuLaunchKernel")
        .unwrap();
    assert_eq!((launches.calls, launches.calls_per_frame), (2, Some(2.0)));
}

#[test]
fn an_event_between_two_streams_puts_the_other_stream_s_work_on_the_path() {
    let mut recorded = Recorded::new();
    let owner = of(0, 0);
    recorded.frame(owner, [0, 0, 300], (10, 0));
    let h2d = recorded.call(owner, MAKER, "cuMemcpyHtoDAsync", (10, 15));
    let mark = recorded.call(owner, MAKER, "cuEventRecord", (15, 17));
    let told = recorded.call(owner, MAKER, "cuStreamWaitEvent", (17, 19));
    let launch = recorded.call(owner, MAKER, "cuLaunchKernel", (19, 24));
    let end = recorded.call(owner, MAKER, "cuEventRecord", (24, 26));
    let wait = recorded.call(owner, MAKER, "cuEventSynchronize", (26, 290));
    recorded.copy(owner, 5, h2d, Direction::HostToDevice, (20, 120));
    recorded.event(owner, 5, mark, 77, 16);
    recorded.wait(owner, told, WaitKind::StreamForEvent, (6, 77), (17, 19));
    recorded.kernel(owner, 6, launch, "conv", (122, 280));
    recorded.event(owner, 6, end, 78, 25);
    // Of another frame, and later: the event before counts.
    recorded.event(of(0, 1), 5, 0, 77, 290);
    recorded.wait(owner, wait, WaitKind::Event, (0, 78), (26, 290));
    let part = recorded.steady();
    assert_eq!(row(&part, "conv"), (158, 0));
    assert_eq!(row(&part, "h2d").0, 100);
    assert_eq!(row(&part, "between works of the frame").0, 2);
    assert_eq!(row(&part, "cuEventSynchronize"), (10, 254));
    assert_eq!(row(&part, "cuLaunchKernel").0, 0);
}

#[test]
fn slow_launches_are_the_path_where_kernels_are_shorter() {
    let mut recorded = Recorded::new();
    let owner = of(0, 0);
    recorded.frame(owner, [0, 0, 600], (0, 0));
    for n in 0..10 {
        let from = n * 50;
        let launch = recorded.call(owner, MAKER, "cuLaunchKernel", (from, from + 40));
        recorded.kernel(owner, 5, launch, "small", (from + 42, from + 47));
    }
    let wait = recorded.call(owner, MAKER, "cuStreamSynchronize", (495, 505));
    recorded.wait(owner, wait, WaitKind::Stream, (5, 0), (495, 505));
    let part = recorded.steady();
    assert_eq!(row(&part, "cuLaunchKernel").0, 400);
    assert_eq!(row(&part, "between calls").0, 90);
    assert_eq!(row(&part, "small").0, 5, "only the last one");
}

#[test]
fn another_tenant_s_kernel_on_the_device_is_told_by_its_name() {
    let mut recorded = Recorded::new();
    let owner = of(0, 0);
    recorded.frame(owner, [0, 0, 500], (10, 0));
    let launch = recorded.call(owner, MAKER, "cuLaunchKernel", (10, 20));
    let wait = recorded.call(owner, MAKER, "cuStreamSynchronize", (20, 490));
    recorded.kernel(owner, 5, launch, "conv", (320, 480));
    recorded.wait(owner, wait, WaitKind::Stream, (5, 0), (20, 490));
    recorded.kernel(of(1, 0), 9, 0, "voxels", (15, 315));
    let part = recorded.steady();
    assert_eq!(row(&part, "lidar").0, 295);
    assert_eq!(row(&part, "from launch to begin").0, 5);
    assert_eq!(row(&part, "conv"), (160, 295));
}

#[test]
fn others_that_merely_run_during_a_usual_launch_hold_nothing_up() {
    let mut recorded = Recorded::new();
    for frame in 0..12 {
        // The last launch takes 2 ns longer than the others, and another tenant runs meanwhile.
        let (owner, at) = (of(0, frame), 1000 * frame as i64);
        let late = if frame == 11 { 6 } else { 4 };
        recorded.frame(owner, [at, at, at + 200], (10, 0));
        let launch = recorded.call(owner, MAKER, "cuLaunchKernel", (at + 10, at + 20));
        let wait = recorded.call(owner, MAKER, "cuStreamSynchronize", (at + 20, at + 190));
        recorded.kernel(owner, 5, launch, "conv", (at + 20 + late, at + 180));
        recorded.wait(owner, wait, WaitKind::Stream, (5, 0), (at + 20, at + 190));
    }
    recorded.kernel(of(1, 0), 9, 0, "voxels", (11_000, 11_300));
    recorded.phase.frames.rotate_right(1);
    recorded
        .phase
        .frames
        .iter_mut()
        .skip(1)
        .for_each(|frame| frame.warmup = true);
    let part = recorded.steady();
    assert_eq!(row(&part, "lidar").0, 2);
    assert_eq!(row(&part, "from launch to begin").0, 4);
    assert_eq!(row(&part, "conv"), (154, 2));
}

#[test]
fn work_of_others_on_a_shared_stream_holds_up_and_is_not_followed() {
    let mut recorded = Recorded::new();
    let (owner, other) = (of(0, 0), of(1, 0));
    recorded.frame(owner, [50, 50, 500], (10, 0));
    recorded.frame(other, [0, 0, 400], (0, 0));
    let theirs = recorded.call(other, FINISHER, "cuLaunchKernel", (0, 10));
    recorded.kernel(other, 5, theirs, "voxels", (15, 315));
    let launch = recorded.call(owner, MAKER, "cuLaunchKernel", (60, 70));
    recorded.kernel(owner, 5, launch, "conv", (316, 416));
    let wait = recorded.call(owner, MAKER, "cuCtxSynchronize", (70, 420));
    recorded.wait(owner, wait, WaitKind::Context, (0, 0), (70, 420));
    let part = recorded.steady();
    assert_eq!(row(&part, "lidar").0, 245);
    assert_eq!(row(&part, "conv"), (100, 245));
    assert_eq!(row(&part, "voxels").0, 0);
}

#[test]
fn a_graph_s_kernels_follow_its_one_launch() {
    let mut recorded = Recorded::new();
    let owner = of(0, 0);
    recorded.frame(owner, [0, 0, 500], (10, 0));
    let launch = recorded.call(owner, MAKER, "cuGraphLaunch", (10, 30));
    recorded.kernel_of(owner, 5, launch, 3, "first", (40, 140));
    // Beside the second, on a stream of the graph's own.
    recorded.kernel_of(owner, 8, launch, 3, "branch", (142, 200));
    recorded.kernel_of(owner, 5, launch, 3, "second", (141, 341));
    recorded.kernel_of(owner, 5, launch, 3, "third", (343, 443));
    let wait = recorded.call(owner, MAKER, "cuStreamSynchronize", (30, 450));
    recorded.wait(owner, wait, WaitKind::Stream, (5, 0), (30, 450));
    let part = recorded.steady();
    assert_eq!(row(&part, "third").0, 100);
    assert_eq!(row(&part, "second").0, 200);
    assert_eq!(row(&part, "branch").0, 0);
    assert_eq!(row(&part, "first").0, 100);
    assert_eq!(row(&part, "from launch to begin").0, 10);
    assert_eq!(row(&part, "cuGraphLaunch").0, 20);
}

#[test]
fn calls_that_ask_again_and_again_are_one_wait_and_calls_within_calls_are_part_of_them() {
    let mut recorded = Recorded::new();
    let owner = of(0, 0);
    recorded.frame(owner, [0, 0, 300], (10, 0));
    let outer = recorded.call(owner, MAKER, "cudaLaunchKernel", (10, 20));
    let inner = recorded.call(owner, MAKER, "cuLaunchKernel", (12, 19));
    recorded.kernel(owner, 5, inner, "conv", (25, 255));
    for from in [30, 80, 130, 180, 230, 256] {
        recorded.call(owner, MAKER, "cuEventQuery", (from, from + 10));
    }
    let part = recorded.steady();
    assert!(outer < inner);
    assert_eq!(row(&part, "cuLaunchKernel").0, 0);
    assert_eq!(row(&part, "cudaLaunchKernel").0, 10);
    assert_eq!(row(&part, "cuEventQuery"), (11, 225));
    assert_eq!(row(&part, "conv").0, 230);
}

#[test]
fn a_copy_that_blocks_is_the_copy_s_time() {
    let mut recorded = Recorded::new();
    let owner = of(0, 0);
    recorded.frame(owner, [0, 0, 200], (10, 0));
    let copy = recorded.call(owner, MAKER, "cuMemcpyHtoD", (10, 180));
    recorded.copy(owner, 5, copy, Direction::HostToDevice, (30, 170));
    let part = recorded.steady();
    assert_eq!(row(&part, "h2d").0, 140);
    assert_eq!(row(&part, "cuMemcpyHtoD"), (10, 160));
    assert_eq!(row(&part, "from launch to begin").0, 20);
}

#[test]
fn without_calls_the_path_is_inferred_from_the_work() {
    let mut recorded = Recorded::new();
    serial(&mut recorded);
    recorded.phase.traces[0].calls = false;
    for activities in recorded.phase.processes.values_mut() {
        activities.retain(|activity| activity.work.on_device().is_some());
    }
    let found = recorded.critical();
    let part = found.tenants[0].steady.clone().unwrap();
    assert_eq!(row(&part, "relu").0, 140);
    assert_eq!(row(&part, "h2d").0, 20);
    assert_eq!(row(&part, "submitting").0, 13);
    assert_eq!(row(&part, "after the device").0, 30);
    assert!(found.notes[0].contains("not traced"), "{:?}", found.notes);
    assert_eq!(part.without_calls, 1);
}

#[test]
fn a_frame_without_activities_is_its_stages_and_the_rest_is_said_to_be_untold() {
    let mut recorded = Recorded::new();
    recorded.frame(of(0, 0), [0, 5, 100], (20, 10));
    let part = recorded.steady();
    assert_eq!(row(&part, "preprocess").0, 20);
    assert_eq!(row(&part, "postprocess").0, 10);
    assert_eq!(row(&part, "in no call and no stage").0, 65);
    assert_eq!((part.without_work, part.without_calls), (1, 1));
    assert!(Recorded::new().critical().tenants.is_empty());
}

#[test]
fn warm_up_and_calls_outside_of_frames_are_told_apart() {
    let mut recorded = Recorded::new();
    serial(&mut recorded);
    recorded.frame(of(0, 1), [1000, 1000, 1100], (20, 10));
    recorded.phase.frames[0].warmup = true;
    let unowned = Owner {
        tenant: Some(0),
        ..Owner::default()
    };
    for span in [(-50, -10), (500, 520), (2000, 2070)] {
        recorded.call(unowned, MAKER, "cuMemAlloc", span);
    }
    let found = recorded.critical();
    let camera = &found.tenants[0];
    assert_eq!(camera.start_up.as_ref().unwrap().frames, 1);
    assert_eq!(camera.steady.as_ref().unwrap().frames, 1);
    let total = |rows: &[crate::analysis::summary::critical::CallRow]| rows[0].total_ms;
    assert_eq!(total(&camera.calls_before), 40e-6);
    assert_eq!(total(&camera.calls_between), 20e-6);
    assert_eq!(total(&camera.calls_after), 70e-6);
}

/// Any activities at all, of two tenants, with stamps that contradict each other.
fn anything() -> impl Strategy<Value = Recorded> {
    let activity = (
        0u8..8,
        -50i64..1100,
        -5i64..300,
        0u16..3,
        0u64..4,
        0u32..4,
        1u32..30,
        0u64..3,
    );
    let frames = proptest::collection::vec((0i64..300, -10i64..300, -20i64..500, 0i64..200, 0i64..200), 1..5);
    (proptest::collection::vec(activity, 0..120), frames).prop_map(|(activities, frames)| {
        let mut recorded = Recorded::new();
        for ((at, wait, took, pre, post), n) in frames.into_iter().zip(0u64..) {
            let released = at + 200 * n as i64;
            let started = released + wait;
            recorded.frame(
                of((n % 2) as u16, n / 2),
                [released, started, started + took],
                (pre, post),
            );
        }
        for (kind, from, took, tenant, frame, stream, correlation, event) in activities {
            let owner = Owner {
                tenant: (tenant < 2).then_some(tenant),
                frame: (frame < 3).then_some(frame),
                layer: None,
            };
            let on = on(stream);
            let how = [
                WaitKind::Event,
                WaitKind::StreamForEvent,
                WaitKind::Stream,
                WaitKind::Context,
            ][event as usize % 4];
            let (name, work) = match kind {
                0 | 1 => (
                    "conv",
                    Work::Kernel {
                        on,
                        correlation,
                        graph: correlation % 3,
                    },
                ),
                2 => (
                    "copy",
                    Work::Copy {
                        on,
                        correlation,
                        graph: 0,
                        direction: Direction::HostToDevice,
                        source: MemoryKind::Pinned,
                        destination: MemoryKind::Device,
                        bytes: 5,
                    },
                ),
                3 | 4 => (
                    [
                        "cuLaunchKernel",
                        "cuEventQuery",
                        "cuStreamSynchronize",
                        "cuMemcpyHtoD",
                    ][event as usize % 4],
                    Work::Call {
                        thread: stream,
                        correlation,
                        interface: Interface::Driver,
                    },
                ),
                5 => (
                    "wait",
                    Work::Wait {
                        on,
                        correlation,
                        how,
                        event,
                    },
                ),
                6 => (
                    "event",
                    Work::Event {
                        on,
                        correlation,
                        event,
                    },
                ),
                _ => (
                    "graph",
                    Work::Graph {
                        on,
                        correlation,
                        graph: 1,
                    },
                ),
            };
            recorded.push((from, from + took), Some(name), owner, work);
        }
        recorded.settle();
        recorded
    })
}

/// Segments touch, from the result back to the release.
pub(in crate::analysis) fn tiles(segments: &[Segment], frame: &FrameRecord) -> bool {
    let mut at = frame.finished.0;
    for segment in segments {
        if segment.to != at || segment.from >= segment.to {
            return false;
        }
        at = segment.from;
    }
    at == frame.released.0
}

proptest! {
    #[test]
    fn whatever_was_recorded_the_segments_of_every_frame_tile_its_response(recorded in anything()) {
        let (graph, _) = build(&recorded.phase, &recorded.names, &members());
        for (frame, place) in graph.frames.iter().zip(0u32..) {
            let segments = path(&graph, place);
            prop_assert!(tiles(&segments, &frame.record), "{:?} {:?}", segments, frame.record);
        }
        for at in 0..graph.nodes.len() as u32 {
            prop_assert!(graph.edges(at).iter().all(|edge| edge.pred < at));
        }
        let found = critical(&recorded.phase, &recorded.names, &members());
        for part in found.tenants.iter().filter_map(|tenant| tenant.steady.as_ref()) {
            let sum: f64 = part.rows.iter().map(|row| row.path_ms).sum();
            prop_assert!((sum - part.response_ms).abs() < 1e-6 * part.rows.len() as f64);
        }
    }
}

#[test]
fn absurd_stamps_overflow_nothing() {
    let mut recorded = Recorded::new();
    recorded.frame(of(0, 0), [i64::MIN, 0, i64::MAX], (20, 10));
    recorded.frame(of(0, 1), [0, 0, 1000], (i64::MAX, i64::MAX));
    let launch = recorded.call(of(0, 1), MAKER, "cuLaunchKernel", (i64::MIN, i64::MAX));
    recorded.kernel(of(0, 1), 5, launch, "conv", (i64::MAX, i64::MIN));
    recorded.kernel(of(0, 0), 5, 0, "conv", (i64::MIN, i64::MAX));
    recorded.kernel(of(0, 0), 5, 0, "conv", (i64::MIN, i64::MAX));
    assert_eq!(recorded.critical().tenants.len(), 1);
}
