//! Programs with CUDA, over the doubles of the driver and of CUPTI: each kernel, copy and call is found again, with its batch and the
//! range that it was launched in.

use jetlag::record::Activity;
use jetlag::record::activity::{Direction, Work};
use nvidia_doubles::cuda::Control;
use nvidia_doubles::cupti;

use super::{Run, traced_with};
use crate::common::output::stderr;

/// Lets the command find the driver's double, and CUPTI's of a release.
pub(super) fn beside(
    release: &'static str,
    driver: i32,
) -> Option<impl FnOnce(&mut std::process::Command) + use<>> {
    let double = cupti::release(release)?.double()?;
    let control = Control::default()
        .driver(driver)
        .variable("JETLAG_CUPTI", double.library);
    Some(move |command: &mut std::process::Command| {
        control.apply(command);
    })
}

fn kernels(run: &Run) -> Vec<Activity> {
    let all = run.activities.iter().map(|(_, activity)| *activity);
    all.filter(|activity| matches!(activity.work, Work::Kernel { .. }))
        .collect()
}

#[test]
fn kernels_copies_and_calls_have_their_batch_and_the_range_they_were_launched_in() {
    for (release, driver) in [("11.7", 11070), ("12.4", 12040), ("13.0", 13000), ("13.5", 13050)] {
        let Some(beside) = beside(release, driver) else {
            return;
        };
        let Some((output, found)) = traced_with(&[], "gpu 10", beside) else {
            return;
        };
        assert!(output.status.success(), "{release}: {}", stderr(&output));
        assert_eq!(
            found.codes(),
            ["traced-frames"],
            "{release}: {:?}",
            found.findings
        );
        let [trace] = found.traces.as_slice() else {
            panic!("{release}: {:?}", found.traces);
        };
        assert!(trace.is_whole() && trace.calls && trace.graph_nodes, "{trace:?}");
        assert!(
            trace.tracer.starts_with(&format!("CUPTI of CUDA {release}")),
            "{}",
            trace.tracer
        );
        assert_eq!((trace.devices.len(), trace.notes.len()), (1, 0), "{trace:?}");
        assert_eq!(trace.activities, found.activities.len() as u64);
        assert_eq!(found.frames.len(), 10);
        assert_eq!(kernels(&found).len(), 31, "{release}");
        for frame in &found.frames {
            let own: Vec<Activity> = (found.activities.iter().map(|(_, activity)| *activity))
                .filter(|activity| activity.owner.frame == Some(frame.sequence))
                .collect();
            let of_kernels: Vec<Option<&str>> = (own.iter())
                .filter(|activity| matches!(activity.work, Work::Kernel { .. }))
                .map(|activity| found.text(activity.owner.layer))
                .collect();
            assert_eq!(of_kernels, [None, Some("conv"), Some("conv")], "{release}");
            let copies: Vec<(Direction, u64)> = (own.iter())
                .filter_map(|activity| match activity.work {
                    Work::Copy { direction, bytes, .. } => Some((direction, bytes)),
                    _ => None,
                })
                .collect();
            assert_eq!(
                copies,
                [(Direction::HostToDevice, 4096), (Direction::DeviceToHost, 4096)]
            );
            let fills = own
                .iter()
                .filter(|a| matches!(a.work, Work::Fill { bytes: 1024, .. }));
            assert_eq!(fills.count(), 1);
            let waits = own.iter().filter(|a| matches!(a.work, Work::Wait { .. }));
            assert_eq!(waits.count(), 1);
            for activity in own.iter().filter(|activity| activity.work.on_device().is_some()) {
                assert!(
                    frame.started <= activity.from && activity.to <= frame.finished,
                    "{release}: {frame:?} {activity:?}"
                );
            }
        }
        let loose = kernels(&found)
            .into_iter()
            .filter(|kernel| kernel.owner.frame.is_none());
        assert_eq!(loose.count(), 1);
        assert!(
            found
                .activities
                .iter()
                .all(|(_, activity)| activity.owner.tenant == Some(0))
        );
    }
}

#[test]
fn nodes_of_a_graph_have_the_range_they_were_captured_in_and_the_batch_of_their_launch() {
    let Some(nodes) = beside("13.0", 13000) else {
        return;
    };
    let Some((output, found)) = traced_with(&[], "graph 5", nodes) else {
        return;
    };
    assert!(output.status.success(), "{}", stderr(&output));
    let all = kernels(&found);
    assert_eq!(all.len(), 10);
    for (place, kernel) in all.iter().enumerate() {
        assert_eq!(kernel.owner.frame, Some(place as u64 / 2));
        assert_eq!(found.text(kernel.owner.layer), Some("captured"));
    }
    let whole = beside("13.0", 13000).unwrap();
    let Some((_, found)) = traced_with(&["--graphs", "whole"], "graph 5", whole) else {
        return;
    };
    assert_eq!(kernels(&found).len(), 0);
    let graphs = found
        .activities
        .iter()
        .filter(|(_, a)| matches!(a.work, Work::Graph { .. }));
    assert_eq!(graphs.count(), 5);
    assert!(!found.traces[0].graph_nodes);
}

#[test]
fn without_cupti_ranges_come_and_the_run_says_why_there_are_no_kernels() {
    let nowhere = |command: &mut std::process::Command| {
        Control::default()
            .driver(13000)
            .variable("JETLAG_CUPTI", "/nowhere")
            .apply(command);
    };
    let Some((output, found)) = traced_with(&[], "gpu 3", nowhere) else {
        return;
    };
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!((found.frames.len(), found.activities.len()), (3, 0));
    assert_eq!(found.codes(), ["not-traced"]);
    assert!(
        found.findings[0].message.contains("/nowhere"),
        "{:?}",
        found.findings
    );
}

#[test]
fn ranges_alone_leave_the_gpu_untraced() {
    let Some(beside) = beside("13.0", 13000) else {
        return;
    };
    let Some((output, found)) = traced_with(&["--no-gpu"], "gpu 3", beside) else {
        return;
    };
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!((found.frames.len(), found.activities.len()), (3, 0));
    assert!(found.codes().is_empty(), "{:?}", found.findings);
}

#[test]
fn a_program_that_dies_leaves_its_kernels_and_how_they_were_traced() {
    let Some(beside) = beside("13.0", 13000) else {
        return;
    };
    let Some((output, found)) = traced_with(&[], "gpu 10 settle kill", beside) else {
        return;
    };
    assert_eq!(output.status.code(), Some(137), "{}", stderr(&output));
    assert_eq!(kernels(&found).len(), 31);
    assert_eq!((found.traces.len(), found.traces[0].devices.len()), (1, 1));
    assert!(found.codes().contains(&"trace-incomplete"), "{:?}", found.codes());
}

#[test]
fn processes_have_their_own_kernels_and_names() {
    let Some(beside) = beside("13.0", 13000) else {
        return;
    };
    let Some((output, found)) = traced_with(&[], "gpu 2 spawn gpu 3", beside) else {
        return;
    };
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(found.tenants(), ["app", "exe"]);
    let of = |tenant| {
        kernels(&found)
            .iter()
            .filter(|k| k.owner.tenant == Some(tenant))
            .count()
    };
    assert_eq!((of(0), of(1)), (7, 10));
    let mut numbers: Vec<u32> = found.names.iter().map(|known| known.number).collect();
    let all = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), all, "a number is given once");
}

#[test]
fn another_tool_that_holds_cupti_is_told_and_the_program_runs_on() {
    let Some(beside) = beside("13.0", 13000) else {
        return;
    };
    let Some((output, found)) = traced_with(&[], "held gpu 3", beside) else {
        return;
    };
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!((found.frames.len(), found.activities.len()), (3, 0));
    assert_eq!(found.codes(), ["not-traced"]);
    let message = &found.findings[0].message;
    assert!(
        message.contains("app") && message.contains("another"),
        "{message}"
    );
}

#[test]
fn what_cupti_drops_and_loses_is_counted() {
    let Some(beside) = beside("13.0", 13000) else {
        return;
    };
    let Some((output, found)) = traced_with(&[], "misbehave gpu 5", beside) else {
        return;
    };
    assert!(output.status.success(), "{}", stderr(&output));
    let trace = &found.traces[0];
    assert_eq!((trace.dropped, trace.lost_stamps), (3, 2), "{trace:?}");
    assert!(!trace.is_whole() && trace.activities == found.activities.len() as u64);
    assert_eq!(found.frames.len(), 5);
}

#[test]
fn stamps_of_a_release_without_our_clock_are_converted() {
    let Some(double) = cupti::release("11.7").and_then(|release| release.double_as_11_4()) else {
        return;
    };
    let control = Control::default()
        .driver(11040)
        .variable("JETLAG_CUPTI", double.library);
    let prepare = |command: &mut std::process::Command| {
        control.apply(command);
    };
    let Some((output, found)) = traced_with(&[], "gpu 10 settle", prepare) else {
        return;
    };
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(kernels(&found).len(), 31);
    assert!(found.traces[0].clock_residual.0 > 0, "{:?}", found.traces);
    let of_frame = |kernel: &&Activity| kernel.owner.frame == Some(9);
    let frame = found.frames[9];
    for kernel in kernels(&found).iter().filter(of_frame) {
        // Within what the two clocks are off by.
        let off = found.traces[0].clock_residual.0 + 1_000_000;
        assert!(kernel.from.0 + off >= frame.started.0, "{frame:?} {kernel:?}");
        assert!(kernel.to.0 <= frame.finished.0 + off, "{frame:?} {kernel:?}");
    }
}
