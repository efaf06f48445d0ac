//! What was on the GPU in the gaps of a tenant's frames: of those that waited longer than the median, beside the others.
//!
//! This is an accounting of overlap. A longer gap has more of everything in it that runs at all, so beside each kernel stands
//! how much of the time it ran anyway; that it made the frame wait is never said.

use std::collections::HashMap;

use jetlag_stats::quantile::Quantile;

use super::frames::FrameTime;
use super::gather::{Gathered, NOBODY};
use super::spans::sum;
use crate::analysis::stats::{ns_to_ms, six_decimals};
use crate::analysis::summary::kernels::{WaitParts, Waits, WhileRan};

/// Kernels listed at most.
const MOST: usize = 20;

/// Time of one kernel of one tenant over some frames.
#[derive(Clone, Copy, Default)]
pub(super) struct Ran {
    /// In their gaps.
    pub(super) in_gaps: i64,
    /// Beside their own work.
    beside: i64,
}

/// Whose, and what it is called.
pub(super) type Kernel = (u16, u32);

/// How long each kernel of others ran while these frames of a tenant had the GPU.
pub(super) fn account<'f>(
    frames: impl Iterator<Item = &'f FrameTime<'f>>,
    gathered: &Gathered<'_>,
    tenant: u16,
) -> HashMap<Kernel, Ran> {
    let mut ran: HashMap<Kernel, Ran> = HashMap::new();
    for frame in frames {
        let Some(on) = gathered.gpus.get(&frame.gpu) else {
            continue;
        };
        for span in on
            .between(frame.first, frame.last)
            .filter(|span| span.tenant != tenant)
        {
            let (from, to) = (span.from.max(frame.first), span.to.min(frame.last));
            let in_gaps = frame.gaps.within(from, to);
            let kernel = ran.entry((span.tenant, span.called)).or_default();
            kernel.in_gaps = kernel.in_gaps.saturating_add(in_gaps);
            let beside = to.saturating_sub(from).saturating_sub(in_gaps);
            kernel.beside = kernel.beside.saturating_add(beside);
        }
    }
    ran
}

/// The waits of a tenant's frames; none without co-runners, or with too few frames for two medians.
pub(super) fn waits(
    times: &[FrameTime<'_>],
    gathered: &Gathered<'_>,
    tenant: u16,
    name: impl Fn(u16) -> Option<String>,
) -> Option<Waits> {
    let mut sorted: Vec<i64> = times.iter().map(FrameTime::wait).collect();
    sorted.sort_unstable();
    let count = sorted.len() as u64;
    let median = *sorted.get((Quantile::P50.rank(count) as usize).checked_sub(1)?)?;
    let is_longer = |time: &&FrameTime<'_>| time.wait() > median;
    let (longer, shorter): (Vec<&FrameTime<'_>>, Vec<&FrameTime<'_>>) = times.iter().partition(is_longer);
    let enough = |half: &Vec<&FrameTime<'_>>| Quantile::P50.supported_by(half.len() as u64);
    let accompanied = times.iter().any(|time| time.co_runners > 0 || time.beside > 0);
    if !accompanied || !enough(&longer) || !enough(&shorter) {
        return None;
    }
    let of_longer = account(longer.iter().copied(), gathered, tenant);
    let of_shorter = account(shorter.iter().copied(), gathered, tenant);
    let [in_longer, in_shorter] = [longer.len(), shorter.len()].map(|frames| frames as f64);
    let waited = sum(longer.iter().map(|time| time.wait()));
    let busy = shares_of_time(gathered);
    let mut all: Vec<Kernel> = of_longer.keys().chain(of_shorter.keys()).copied().collect();
    all.sort_unstable();
    all.dedup();
    let mut while_ran: Vec<WhileRan> = all
        .into_iter()
        .map(|kernel| {
            let of = |ran: &HashMap<Kernel, Ran>| ran.get(&kernel).copied().unwrap_or_default();
            let (long, short) = (of(&of_longer), of(&of_shorter));
            let (longer_ns, shorter_ns) =
                (long.in_gaps as f64 / in_longer, short.in_gaps as f64 / in_shorter);
            WhileRan {
                tenant: whose(kernel, &name),
                kernel: called(kernel, gathered),
                longer_ms: ns_to_ms(longer_ns),
                shorter_ms: ns_to_ms(shorter_ns),
                more_ms: ns_to_ms(longer_ns - shorter_ns),
                share_of_wait: six_decimals(long.in_gaps as f64 / waited.max(1) as f64),
                share_of_time: busy.get(&kernel).copied().map_or(0.0, six_decimals),
                beside_longer_ms: ns_to_ms(long.beside as f64 / in_longer),
                beside_shorter_ms: ns_to_ms(short.beside as f64 / in_shorter),
            }
        })
        .collect();
    while_ran.sort_by(|a, b| {
        let longer = || b.longer_ms.total_cmp(&a.longer_ms);
        b.more_ms.total_cmp(&a.more_ms).then_with(longer)
    });
    while_ran.truncate(MOST);
    let (longer, shorter) = (parts(&longer), parts(&shorter));
    Some(Waits {
        median_ms: ns_to_ms(median as f64),
        more_ms: six_decimals(longer.wait_ms - shorter.wait_ms),
        longer,
        shorter,
        while_ran,
    })
}

fn parts(frames: &[&FrameTime<'_>]) -> WaitParts {
    let mean = |value: fn(&FrameTime<'_>) -> i64| {
        let all = sum(frames.iter().map(|time| value(time)));
        ns_to_ms(all as f64 / frames.len().max(1) as f64)
    };
    WaitParts {
        frames: frames.len() as u64,
        wait_ms: mean(|time| time.wait()),
        co_runners_ms: mean(|time| time.co_runners),
        other_ms: mean(|time| time.other()),
        idle_ms: mean(|time| time.idle),
        beside_ms: mean(|time| time.beside),
    }
}

/// How long each kernel ran in the measured time, as a share of it.
fn shares_of_time(gathered: &Gathered<'_>) -> HashMap<Kernel, f64> {
    let mut shares = HashMap::new();
    let Some((from, to)) = gathered.window.filter(|(from, to)| to > from) else {
        return shares;
    };
    for span in gathered.gpus.values().flat_map(|on| on.between(from.0, to.0)) {
        let ran = span.to.min(to.0).saturating_sub(span.from.max(from.0));
        *shares.entry((span.tenant, span.called)).or_default() += ran as f64 / (to - from).0 as f64;
    }
    shares
}

/// The tenant of a kernel.
pub(super) fn whose((tenant, _): Kernel, name: impl Fn(u16) -> Option<String>) -> Option<String> {
    (tenant != NOBODY).then(|| name(tenant)).flatten()
}

/// The name of a kernel.
pub(super) fn called((_, called): Kernel, gathered: &Gathered<'_>) -> String {
    gathered
        .called
        .get(called as usize)
        .copied()
        .unwrap_or_default()
        .to_owned()
}
