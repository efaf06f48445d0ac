//! What the slow frames of a traced phase consisted of, beside the usual ones.
//!
//! Slow are those from p95 of the response time on; usual are those of the middle fifth. The parts of a frame follow each
//! other or exclude each other, so that they add up to its response time.

use jetlag_stats::quantile::Quantile;

use super::frames::FrameTime;
use super::gather::Gathered;
use super::spans::sum;
use super::waits::{self, Kernel};
use crate::analysis::stats::ns_to_ms;
use crate::analysis::summary::kernels::{SlowFramePart, SlowFrames, SlowWhileRan};

/// Kernels listed at most.
const MOST: usize = 10;

/// A part: its name and its length in a frame, none where it was not traced.
type Part = (&'static str, fn(&FrameTime<'_>) -> Option<i64>);

const PARTS: [Part; 8] = [
    ("before", |time| {
        Some(time.first.saturating_sub(time.record.released.0))
    }),
    ("kernels", |time| Some(time.kernels)),
    ("copies", |time| Some(time.copies)),
    ("co-runners", |time| Some(time.co_runners)),
    ("other work", |time| Some(time.other())),
    ("launch-bound", |time| time.launch_bound),
    ("idle", |time| Some(time.idle - time.launch_bound.unwrap_or(0))),
    ("after", |time| {
        Some(time.record.finished.0.saturating_sub(time.last))
    }),
];
const HOST_WAITS: Part = ("host waits", |time| time.host_waits);

/// The slow frames, else the number of frames that they need.
pub(super) fn slow(
    times: &[FrameTime<'_>],
    gathered: &Gathered<'_>,
    tenant: u16,
    name: impl Fn(u16) -> Option<String>,
) -> Result<SlowFrames, u64> {
    let count = times.len() as u64;
    if !Quantile::P95.supported_by(count) {
        return Err(Quantile::P95.needs());
    }
    let mut sorted: Vec<&FrameTime<'_>> = times.iter().collect();
    sorted.sort_by_key(|time| (time.record.response(), time.record.sequence));
    let slow = &sorted[Quantile::P95.rank(count) as usize - 1..];
    let usual = &sorted[sorted.len() * 2 / 5..sorted.len() * 3 / 5];
    let groups = Groups { slow, usual };
    let response: Part = ("response", |time| Some(time.record.response().0));
    let whole = groups.part(response).ok_or(0u64)?;
    Ok(SlowFrames {
        from_ms: slow
            .first()
            .map_or(0.0, |time| time.record.response().as_millis_f64()),
        frames: slow.len() as u64,
        usual_frames: usual.len() as u64,
        slow_ms: whole.slow_ms,
        usual_ms: whole.usual_ms,
        parts: PARTS.into_iter().filter_map(|part| groups.part(part)).collect(),
        host_waits: groups.part(HOST_WAITS),
        while_ran: groups.while_ran(gathered, tenant, name),
    })
}

struct Groups<'a> {
    slow: &'a [&'a FrameTime<'a>],
    usual: &'a [&'a FrameTime<'a>],
}

impl Groups<'_> {
    fn part(&self, (name, length): Part) -> Option<SlowFramePart> {
        let mean = |frames: &[&FrameTime<'_>]| {
            let all: Option<Vec<i64>> = frames.iter().map(|time| length(time)).collect();
            Some(sum(all?.into_iter()) as f64 / frames.len().max(1) as f64)
        };
        let (slow, usual) = (mean(self.slow)?, mean(self.usual)?);
        Some(SlowFramePart {
            part: name,
            slow_ms: ns_to_ms(slow),
            usual_ms: ns_to_ms(usual),
            more_ms: ns_to_ms(slow - usual),
        })
    }

    fn while_ran(
        &self,
        gathered: &Gathered<'_>,
        tenant: u16,
        name: impl Fn(u16) -> Option<String>,
    ) -> Vec<SlowWhileRan> {
        let [slow, usual] =
            [self.slow, self.usual].map(|frames| waits::account(frames.iter().copied(), gathered, tenant));
        let mut all: Vec<Kernel> = slow.keys().chain(usual.keys()).copied().collect();
        all.sort_unstable();
        all.dedup();
        let row = |kernel: Kernel| {
            let of = |ran: &std::collections::HashMap<Kernel, waits::Ran>, frames: usize| {
                ran.get(&kernel)
                    .map_or(0.0, |ran| ran.in_gaps as f64 / frames.max(1) as f64)
            };
            let (slow, usual) = (of(&slow, self.slow.len()), of(&usual, self.usual.len()));
            SlowWhileRan {
                tenant: waits::whose(kernel, &name),
                kernel: waits::called(kernel, gathered),
                slow_ms: ns_to_ms(slow),
                usual_ms: ns_to_ms(usual),
                more_ms: ns_to_ms(slow - usual),
            }
        };
        let mut rows: Vec<SlowWhileRan> = all.into_iter().map(row).collect();
        rows.sort_by(|a, b| b.more_ms.total_cmp(&a.more_ms));
        rows.truncate(MOST);
        rows
    }
}
