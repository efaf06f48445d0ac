//! Made-up traces with known answers.

pub(in crate::analysis) mod made;
mod observed;
mod properties;

use crate::analysis::Summary;
use crate::analysis::summary::kernels::{KernelPhase, SlowFramePart, TenantKernels};
use crate::record::Outcome;
use crate::record::activity::{Direction, Owner, TracedDevice};
use made::Made;

fn phase(summary: &Summary) -> &KernelPhase {
    &summary.kernels.as_ref().expect("a traced phase").phases[0]
}

fn tenant<'a>(summary: &'a Summary, name: &str) -> &'a TenantKernels {
    let mut tenants = phase(summary).tenants.iter();
    tenants.find(|tenant| tenant.tenant == name).expect(name)
}

/// Frames of 1 ms: copy in (100 µs, 4000 bytes), two convolutions of 200 µs with a gap of 50, copy within (20), copy out (30).
fn frames(made: &mut Made, tenant: u16, count: u64) {
    for number in 0..count {
        let at = number as i64 * 1000;
        made.frame(tenant, number, at, at + 900);
        let owner = made.owner(tenant, number, "backbone");
        made.copy(owner, Direction::HostToDevice, 4000, (at + 100, 100));
        made.kernel(owner, "conv", at + 200, 200);
        made.kernel(owner, "conv", at + 450, 200);
        let owner = made.owner(tenant, number, "head");
        made.copy(owner, Direction::DeviceToDevice, 1000, (at + 650, 20));
        made.kernel(owner, "topk", at + 700, 80);
        made.copy(owner, Direction::DeviceToHost, 300, (at + 780, 30));
    }
}

#[test]
fn kernels_layers_copies_and_frames_of_a_known_trace() {
    let mut made = Made::new(&["camera"], 20_000);
    frames(&mut made, 0, 20);
    let summary = made.summary();
    let camera = tenant(&summary, "camera");
    assert_eq!(
        (camera.frames, camera.frames_with_work, camera.device_ms),
        (20, 20, 0.63)
    );
    let layers: Vec<(Option<&str>, f64, f64)> = camera
        .layers
        .iter()
        .map(|layer| (layer.layer.as_deref(), layer.calls_per_frame, layer.ms))
        .collect();
    assert_eq!(layers, [(Some("backbone"), 3.0, 0.5), (Some("head"), 3.0, 0.13)]);
    let conv = &camera.kernels[0];
    assert_eq!(
        (conv.name.as_deref(), conv.kind, conv.count),
        (Some("conv"), "kernel", 40)
    );
    assert_eq!((conv.calls_per_frame, conv.ms, conv.mean_us), (2.0, 0.4, 200.0));
    // 40 calls support a median and no p99.
    assert_eq!((conv.p50_us, conv.p99_us), (Some(200.0), None));
    assert_eq!(
        conv.launch.map(|launch| (launch.grid, launch.occupancy)),
        Some(([64, 1, 1], None))
    );
    assert!(
        camera
            .occupancy_needs
            .as_ref()
            .unwrap()
            .contains("description of GPU 0")
    );
    let copies: Vec<_> = camera
        .copies
        .iter()
        .map(|copy| {
            (
                copy.direction,
                copy.source,
                copy.destination,
                copy.kind,
                copy.bytes,
                copy.gb_per_s,
            )
        })
        .collect();
    assert_eq!(
        copies,
        [
            (
                "host to device",
                "pinned",
                "device",
                Some("external"),
                4000.0,
                Some(0.04)
            ),
            (
                "device to host",
                "device",
                "pinned",
                Some("external"),
                300.0,
                Some(0.01)
            ),
            (
                "device to device",
                "device",
                "device",
                Some("internal"),
                1000.0,
                Some(0.05)
            ),
        ]
    );
    let per_frame = camera.per_frame.as_ref().unwrap();
    let p50 = |stats: &crate::analysis::summary::Stats| stats.p50.value.unwrap();
    // From 100 to 810, less 630 of work.
    assert_eq!(p50(&per_frame.turnaround_ms), 0.71);
    assert_eq!(p50(&per_frame.computation_ms), 0.63);
    assert_eq!(p50(&per_frame.wait_ms), 0.08);
    assert_eq!(
        (p50(&per_frame.internal_ms), per_frame.internal_bytes),
        (0.02, 1000.0)
    );
    assert_eq!(
        (p50(&per_frame.external_ms), per_frame.external_bytes),
        (0.13, 4300.0)
    );
    assert_eq!(
        (per_frame.graph_gaps_ms, per_frame.launch_bound_share),
        (0.0, None)
    );
    // Alone there is nobody to account for, and 20 frames have no p95.
    assert_eq!((camera.waits.is_none(), camera.slow_needs), (true, Some(130)));
    let gpu = &phase(&summary).gpus[0];
    assert_eq!((gpu.busy_ms, gpu.idle_ms, gpu.overlap_ms), (12.6, 7.4, 0.0));
    assert_eq!(phase(&summary).measured_s, Some(0.02));
}

#[test]
fn a_traced_phase_is_in_no_other_figure() {
    let run = |traced: bool| {
        let mut made = Made::new(&["camera", "load"], 20_000);
        (0..20).for_each(|number| made.untraced(0, number, number as i64 * 1000, number as i64 * 1000 + 900));
        if traced {
            frames(&mut made, 0, 20);
            frames(&mut made, 1, 20);
            made.last_frame().outcome = Outcome::Failed;
        }
        let mut summary = made.summary();
        let (kernels, observer) = (summary.kernels.take(), summary.observer.take());
        assert!(kernels.is_some() && observer.is_some());
        summary
            .run
            .findings
            .retain(|finding| finding.code != "trace-incomplete");
        serde_json::to_string(&summary).unwrap()
    };
    assert_eq!(run(true), run(false));
    assert!(!run(true).contains("\"kernels\"") && !run(true).contains("\"observer\""));
}

#[test]
fn only_measured_frames_count_and_what_is_nobodys_is_shown_as_such() {
    let mut made = Made::new(&["camera"], 10_000);
    frames(&mut made, 0, 5);
    for (number, change) in [(5, Outcome::Completed), (6, Outcome::Failed)] {
        let at = number as i64 * 1000;
        made.frame(0, number, at, at + 900);
        made.last_frame().outcome = change;
        made.last_frame().warmup = change == Outcome::Completed;
        let owner = made.owner(0, number, "backbone");
        made.kernel(owner, "conv", at + 200, 300);
    }
    made.kernel(Owner::default(), "stranger", 8000, 500);
    made.copy(Owner::default(), Direction::HostToDevice, 10, (8600, 5));
    // Before the measured time.
    made.kernel(Owner::default(), "stranger", -3000, 500);
    let summary = made.summary();
    let camera = tenant(&summary, "camera");
    assert_eq!((camera.frames, camera.device_ms), (5, 0.63));
    let outside = camera.outside_frames.as_ref().unwrap();
    assert_eq!((outside.count, outside.ms), (2, 0.6));
    let unowned: Vec<_> = phase(&summary)
        .unowned
        .iter()
        .map(|work| (work.kind.unwrap(), work.count, work.ms, work.bytes))
        .collect();
    assert_eq!(unowned, [("copy", 1, 0.005, 10), ("kernel", 1, 0.5, 0)]);
    let busy: Vec<(Option<&str>, f64)> = phase(&summary).gpus[0]
        .tenants
        .iter()
        .map(|busy| (busy.tenant.as_deref(), busy.busy_ms))
        .collect();
    assert_eq!(busy, [(Some("camera"), 3.75), (None, 0.505)]);
}

#[test]
fn gaps_within_one_launch_of_a_graph_are_marked_and_those_between_launches_are_not() {
    let mut made = Made::new(&["camera"], 2000);
    made.frame(0, 0, 0, 900);
    let owner = made.owner(0, 0, "all");
    for (launch, from) in [(8, 100), (8, 210), (9, 330), (9, 440)] {
        made.in_graph(owner, "conv", (from, 100), launch);
    }
    made.kernel(owner, "topk", 600, 10);
    let summary = made.summary();
    let per_frame = tenant(&summary, "camera").per_frame.clone().unwrap();
    assert_eq!(
        (per_frame.graph_gaps_ms, per_frame.wait_ms.mean.value),
        (0.02, Some(0.1))
    );
}

#[test]
fn idle_time_of_the_gpu_while_the_host_enqueues_is_launch_bound() {
    let mut made = Made::new(&["camera"], 2000);
    made.frame(0, 0, 0, 900);
    let owner = made.owner(0, 0, "all");
    // Kernels at 100–150, 300–350 and 500–550; launched at 90, 280 and 400 to 420.
    for (from, call) in [(100, 90), (300, 280), (500, 400)] {
        let correlation = made.kernel(owner, "conv", from, 50);
        made.call(owner, correlation, call, 20);
    }
    // The host waited at 200–240, and somebody else had the GPU at 160–180.
    made.wait(owner, 200, 40);
    made.kernel(Owner::default(), "stranger", 160, 20);
    let summary = made.summary();
    let per_frame = tenant(&summary, "camera").per_frame.clone().unwrap();
    // 150–300 and 350–420 are idle in the time of enqueuing, less 20 and 40.
    assert_eq!(per_frame.launch_bound_ms.unwrap().mean.value, Some(0.16));
    assert_eq!(per_frame.launch_bound_share, Some(0.355_556));
}

/// Every second frame of the camera has a gap of 400 µs instead of 100, in which `conv` of the load runs for 300.
fn contended(count: u64) -> Made {
    let mut made = Made::new(&["camera", "load"], count as i64 * 1000);
    for number in 0..count {
        let (at, slow) = (number as i64 * 1000, number % 2 == 1);
        let gap = if slow { 400 } else { 100 };
        made.frame(0, number, at, at + 500 + gap);
        let owner = made.owner(0, number, "all");
        made.kernel(owner, "conv", at + 100, 200);
        made.kernel(owner, "topk", at + 300 + gap, 100);
        made.frame(1, number, at, at + 900);
        let owner = made.owner(1, number, "all");
        if slow {
            made.kernel(owner, "load_conv", at + 350, 300);
        } else {
            made.kernel(owner, "load_conv", at + 700, 300);
        }
        made.kernel(owner, "small", at + 250, 100);
    }
    made
}

#[test]
fn the_gaps_of_frames_that_waited_longer_are_accounted_to_what_ran_in_them() {
    let made = contended(60);
    let summary = made.summary();
    let waits = tenant(&summary, "camera").waits.clone().unwrap();
    assert_eq!(
        (waits.median_ms, waits.longer.frames, waits.shorter.frames),
        (0.1, 30, 30)
    );
    let parts = |of: &crate::analysis::summary::kernels::WaitParts| {
        (
            of.wait_ms,
            of.co_runners_ms,
            of.other_ms,
            of.idle_ms,
            of.beside_ms,
        )
    };
    // `small` runs for 50 of the gap, and for 50 beside the first kernel.
    assert_eq!(parts(&waits.longer), (0.4, 0.35, 0.0, 0.05, 0.05));
    assert_eq!(parts(&waits.shorter), (0.1, 0.05, 0.0, 0.05, 0.05));
    let ran = &waits.while_ran[0];
    assert_eq!(
        (ran.tenant.as_deref(), ran.kernel.as_str()),
        (Some("load"), "load_conv")
    );
    assert_eq!((ran.longer_ms, ran.shorter_ms, ran.more_ms), (0.3, 0.0, 0.3));
    assert_eq!((ran.share_of_wait, ran.share_of_time), (0.75, 0.3));
    assert_eq!(waits.while_ran[1].more_ms, 0.0);
}

#[test]
fn slow_frames_are_told_part_by_part() {
    let mut made = Made::new(&["camera", "load"], 200_000);
    for number in 0..200u64 {
        let at = number as i64 * 1000;
        let slow = number % 20 == 7;
        let more = if slow { 250 } else { 0 };
        made.frame(0, number, at, at + 500 + more);
        let owner = made.owner(0, number, "all");
        made.copy(owner, Direction::HostToDevice, 4000, (at + 100, 50));
        let first = made.kernel(owner, "conv", at + 150, 100);
        made.call(owner, first, at + 140, 10);
        let last = made.kernel(owner, "topk", at + 300 + more, 100);
        made.call(owner, last, at + 150, 120);
        made.wait(owner, at + 280, 120 + more);
        if slow {
            let owner = made.owner(1, number, "all");
            made.kernel(owner, "load_conv", at + 300, 200);
        }
    }
    let summary = made.summary();
    let slow = tenant(&summary, "camera").slow.clone().unwrap();
    assert_eq!((slow.from_ms, slow.frames, slow.usual_frames), (0.5, 11, 40));
    let part = |name: &str| {
        let found = slow.parts.iter().find(|part| part.part == name);
        found.map(|part| (part.slow_ms, part.usual_ms)).unwrap()
    };
    // Ten of the eleven are slow; one of 0.5 ms is at p95 itself.
    let of_ten = |ms: f64| (ms * 10.0 / 11.0 * 1e6).round() / 1e6;
    assert_eq!(part("before"), (0.1, 0.1));
    assert_eq!(part("kernels"), (0.2, 0.2));
    assert_eq!(part("copies"), (0.05, 0.05));
    assert_eq!(part("co-runners"), (of_ten(0.2), 0.0));
    // From 250 to 270 the second launch was still under way.
    assert_eq!(part("launch-bound"), (0.02, 0.02));
    assert_eq!(part("idle"), ((of_ten(0.05) + 0.03), 0.03));
    assert_eq!(part("after"), (0.1, 0.1));
    let sum = |of: fn(&SlowFramePart) -> f64| slow.parts.iter().map(of).sum::<f64>();
    assert!((sum(|part| part.slow_ms) - slow.slow_ms).abs() < 1e-5);
    assert!((sum(|part| part.usual_ms) - slow.usual_ms).abs() < 1e-5);
    assert_eq!(slow.host_waits.unwrap().usual_ms, 0.12);
    assert_eq!(slow.while_ran[0].kernel, "load_conv");
}

#[test]
fn with_the_tracer_s_description_of_the_gpu_kernels_have_an_occupancy_and_waves() {
    let mut made = Made::new(&["camera"], 20_000);
    frames(&mut made, 0, 2);
    made.trace.devices.push(TracedDevice {
        name: "Orin".to_owned(),
        capability: 87,
        multiprocessors: 8,
        ..TracedDevice::default()
    });
    let summary = made.summary();
    let camera = tenant(&summary, "camera");
    let launch = camera.kernels[0].launch.unwrap();
    // 12 blocks of 4 warps on each of 8: 64 of 96.
    assert_eq!((launch.occupancy, launch.limited_by), (Some(1.0), Some("warps")));
    assert_eq!(
        (launch.waves, camera.occupancy_needs.as_ref()),
        (Some(0.666_667), None)
    );
    assert_eq!(phase(&summary).gpus[0].name.as_deref(), Some("Orin"));
}
