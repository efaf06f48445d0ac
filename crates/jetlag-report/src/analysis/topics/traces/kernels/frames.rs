//! What one frame consisted of on the GPU, and the figures of all frames of a tenant.
//!
//! The work of a frame is everything that the tracer attributed to it. Between the begin of its first work and the end of its
//! last lies the *turnaround*; the length of the union of its work is the *computation*, and the rest is the *wait*. What
//! else was on the GPU in the wait, and whether the host was still enqueuing, is told beside it.

use super::copies::{Side, side_of};
use super::gather::{Gathered, NOBODY, OfFrame, OnGpu, gpu_of};
use super::spans::Union;
use crate::analysis::gathering::series::Series;
use crate::analysis::stats::{ns_to_ms, six_decimals, stats};
use crate::analysis::summary::Stats;
use crate::analysis::summary::kernels::FrameTimes;
use crate::record::activity::{WaitKind, Work};
use crate::record::{Activity, FrameRecord};
use crate::units::Nanos;

/// A frame's time on the GPU, in nanoseconds.
pub(super) struct FrameTime<'a> {
    pub(super) record: &'a FrameRecord,
    /// The GPU of its first work.
    pub(super) gpu: u16,
    /// When its first work began.
    pub(super) first: i64,
    /// When its last work ended.
    pub(super) last: i64,
    /// Turnaround without own work.
    pub(super) gaps: Union,
    /// Length of the union of its kernels, fills and graphs.
    pub(super) kernels: i64,
    /// Time in which of its own work only copies ran.
    pub(super) copies: i64,
    pub(super) internal: Copied,
    pub(super) external: Copied,
    /// The part of the gaps that lies between two kernels of one launch of a graph.
    pub(super) graph_gaps: i64,
    /// The part of the gaps in which work of other tenants was on the GPU.
    pub(super) co_runners: i64,
    /// The part in which nothing was.
    pub(super) idle: i64,
    /// Own work that ran while work of other tenants did.
    pub(super) beside: i64,
    /// The part of `idle` in which the host was still enqueuing; none where its calls are not known.
    pub(super) launch_bound: Option<i64>,
    /// How long the host waited for the GPU; none where its calls are not known.
    pub(super) host_waits: Option<i64>,
}

/// Copies of one frame.
#[derive(Clone, Copy, Default)]
pub(super) struct Copied {
    ns: i64,
    bytes: u64,
}

impl FrameTime<'_> {
    pub(super) fn turnaround(&self) -> i64 {
        self.last.saturating_sub(self.first)
    }

    pub(super) fn wait(&self) -> i64 {
        self.gaps.length()
    }

    pub(super) fn computation(&self) -> i64 {
        self.turnaround().saturating_sub(self.wait())
    }

    /// The part of the wait in which only work of no tenant, or of the tenant's other frames, was on the GPU.
    pub(super) fn other(&self) -> i64 {
        self.wait()
            .saturating_sub(self.co_runners)
            .saturating_sub(self.idle)
    }
}

/// The times of a tenant's frames with work on a GPU, in order. `calls` is whether the host's calls were traced.
pub(super) fn times<'a>(gathered: &Gathered<'a>, tenant: u16, calls: bool) -> Vec<FrameTime<'a>> {
    let frames = gathered.frames.get(&tenant).map_or(&[][..], Vec::as_slice);
    let of = |frame: &OfFrame<'a>| time(frame, gathered, tenant, calls);
    frames.iter().filter_map(of).collect()
}

fn time<'a>(frame: &OfFrame<'a>, gathered: &Gathered<'a>, tenant: u16, calls: bool) -> Option<FrameTime<'a>> {
    let own = || {
        frame
            .activities
            .iter()
            .filter(|activity| gpu_of(&activity.work).is_some())
    };
    let (gpu, first) = own()
        .next()
        .and_then(|first| Some((gpu_of(&first.work)?, first.from.0)))?;
    let (mut all, mut kernels) = (Union::default(), Union::default());
    let (mut internal, mut external) = (Copied::default(), Copied::default());
    for activity in own() {
        all.push(activity.from.0, activity.to.0);
        match activity.work {
            Work::Copy { direction, bytes, .. } => {
                let copied = match side_of(direction) {
                    Some(Side::Internal) => &mut internal,
                    Some(Side::External) => &mut external,
                    None => continue,
                };
                copied.ns = copied.ns.saturating_add(activity.duration().0.max(0));
                copied.bytes = copied.bytes.saturating_add(bytes);
            }
            _ => kernels.push(activity.from.0, activity.to.0),
        }
    }
    let last = own().map(|activity| activity.to.0).max()?.max(first);
    let gaps = all.gaps(first, last);
    let on = gathered.gpus.get(&gpu)?;
    let (anybody, others) = company(on, tenant, first, last);
    let idle = anybody.gaps(first, last);
    let co_runners = gaps.common(&others).length();
    let host = calls.then(|| host(frame, &idle));
    Some(FrameTime {
        record: frame.record,
        gpu,
        first,
        last,
        kernels: kernels.length(),
        copies: all.length() - kernels.length(),
        internal,
        external,
        graph_gaps: graph_gaps(own()),
        co_runners,
        // Where its work is on several GPUs, another of them may work while this one is idle.
        idle: gaps.common(&idle).length(),
        beside: others.length() - co_runners,
        launch_bound: host.map(|host| host.launch_bound),
        host_waits: host.map(|host| host.waits),
        gaps,
    })
}

/// When anything was on the GPU between two moments, and when work of other tenants was.
fn company(on: &OnGpu, tenant: u16, first: i64, last: i64) -> (Union, Union) {
    let (mut anybody, mut others) = (Union::default(), Union::default());
    for span in on.between(first, last) {
        let (from, to) = (span.from.max(first), span.to.min(last));
        anybody.push(from, to);
        if span.tenant != tenant && span.tenant != NOBODY {
            others.push(from, to);
        }
    }
    (anybody, others)
}

/// Gaps between two pieces of work of one launch of a graph.
fn graph_gaps<'b, 'a: 'b>(own: impl Iterator<Item = &'b &'a Activity>) -> i64 {
    let launch_of = |work: &Work| match *work {
        Work::Kernel {
            graph, correlation, ..
        }
        | Work::Copy {
            graph, correlation, ..
        }
        | Work::Fill {
            graph, correlation, ..
        } => (graph != 0).then_some((graph, correlation)),
        _ => None,
    };
    let (mut total, mut end, mut before) = (0, i64::MAX, None);
    for activity in own {
        let launch = launch_of(&activity.work);
        if activity.from.0 > end && launch.is_some() && launch == before {
            total = i64::saturating_add(total, activity.from.0.saturating_sub(end));
        }
        if end == i64::MAX || activity.to.0 >= end {
            (end, before) = (activity.to.0, launch);
        }
    }
    total
}

#[derive(Clone, Copy)]
struct Host {
    launch_bound: i64,
    waits: i64,
}

/// What the host did for a frame while the GPU was idle.
fn host(frame: &OfFrame<'_>, idle: &Union) -> Host {
    let on_gpu = frame
        .activities
        .iter()
        .filter(|activity| gpu_of(&activity.work).is_some());
    let mut asked: Vec<u32> = on_gpu
        .filter_map(|activity| activity.work.correlation())
        .collect();
    asked.sort_unstable();
    let (mut begin, mut end) = (i64::MAX, i64::MIN);
    let mut waits = Union::default();
    for activity in &frame.activities {
        match activity.work {
            Work::Call { correlation, .. } if asked.binary_search(&correlation).is_ok() => {
                begin = begin.min(activity.from.0);
                end = end.max(activity.to.0);
            }
            Work::Wait {
                how: WaitKind::Event | WaitKind::Stream | WaitKind::Context,
                ..
            } => waits.push(activity.from.0, activity.to.0),
            _ => {}
        }
    }
    let launch_bound = if begin < end {
        let idle = idle.cut(begin, end);
        idle.length() - idle.common(&waits).length()
    } else {
        0
    };
    Host {
        launch_bound,
        waits: waits.length(),
    }
}

/// The figures of all frames; none without frames.
pub(super) fn summarize(times: &[FrameTime<'_>]) -> Option<FrameTimes> {
    if times.is_empty() {
        return None;
    }
    let all = |value: fn(&FrameTime<'_>) -> i64| stats_of(times.iter().map(value));
    let mean = |value: fn(&FrameTime<'_>) -> u64| {
        let sum: u128 = times.iter().map(|time| u128::from(value(time))).sum();
        sum as f64 / times.len() as f64
    };
    let bound: Option<Vec<i64>> = times.iter().map(|time| time.launch_bound).collect();
    let turnaround: i128 = times.iter().map(|time| i128::from(time.turnaround())).sum();
    let share = |bound: &Vec<i64>| {
        let sum: i128 = bound.iter().map(|&ns| i128::from(ns)).sum();
        (turnaround > 0).then(|| six_decimals(sum as f64 / turnaround as f64))
    };
    Some(FrameTimes {
        turnaround_ms: all(|time| time.turnaround()),
        computation_ms: all(|time| time.computation()),
        wait_ms: all(|time| time.wait()),
        internal_ms: all(|time| time.internal.ns),
        internal_bytes: six_decimals(mean(|time| time.internal.bytes)),
        external_ms: all(|time| time.external.ns),
        external_bytes: six_decimals(mean(|time| time.external.bytes)),
        graph_gaps_ms: ns_to_ms(mean(|time| time.graph_gaps.max(0) as u64)),
        launch_bound_share: bound.as_ref().and_then(share),
        launch_bound_ms: bound.map(|bound| stats_of(bound.into_iter())),
    })
}

/// The house's statistics of durations in order of time.
fn stats_of(durations: impl Iterator<Item = i64>) -> Stats {
    let in_order: Vec<i64> = durations.collect();
    let mut series = Series::default();
    in_order.iter().for_each(|&ns| series.push(Nanos(ns), true));
    let distribution = series.finish();
    stats(&distribution, &distribution.dependence(&in_order))
}

/// Whether calls of the host were traced in any of these frames.
pub(super) fn has_calls(frames: &[OfFrame<'_>]) -> bool {
    let mut all = frames.iter().flat_map(|frame| &frame.activities);
    all.any(|activity| matches!(activity.work, Work::Call { .. }))
}
