//! How tenants had a GPU in turns: time slices of their contexts, where the tracer tells them.

use std::collections::{BTreeMap, BTreeSet};

use super::spans::{Union, sum};
use crate::analysis::quantile::Quantile;
use crate::analysis::stats::six_decimals;
use crate::analysis::summary::kernels::{SliceTime, TraceSlices};
use crate::analysis::traced::TracedPhase;
use crate::record::activity::Work;
use crate::record::{Activity, TracedSlices};
use crate::units::Stamp;

/// The slices of a phase, or why there are none where they would say something.
pub(super) fn slices(
    phase: &TracedPhase,
    window: Option<(Stamp, Stamp)>,
    name: impl Fn(u16) -> Option<String>,
) -> Result<Vec<SliceTime>, Option<String>> {
    let told = || phase.traces.iter().filter_map(|trace| trace.slices.as_ref());
    if told().next().is_none() {
        let needs = "records of switches between contexts, which CUPTI of CUDA 13.1 and later has";
        return Err(share_a_gpu(phase).then(|| needs.to_owned()));
    }
    if told().any(TracedSlices::contradict) {
        return Err(Some(
            "slices that agree with kernels: here kernels ran outside them, wherever they are placed"
                .to_owned(),
        ));
    }
    let mut rows: BTreeMap<(u16, u16), Vec<(i64, i64)>> = BTreeMap::new();
    for activity in phase.processes.values().flatten() {
        if let Work::Slice { device, .. } = activity.work {
            // No tenant comes last.
            let tenant = activity.owner.tenant.unwrap_or(u16::MAX);
            let span = (activity.from.0, activity.to.0.max(activity.from.0));
            rows.entry((device, tenant)).or_default().push(span);
        }
    }
    let Some((from, to)) = window.filter(|(from, to)| to > from) else {
        return Err(Some("measured time".to_owned()));
    };
    let rows: Vec<SliceTime> = rows
        .into_iter()
        .filter_map(|((gpu, tenant), spans)| {
            let row = row(spans, (from.0, to.0))?;
            let tenant = name(tenant);
            Some(SliceTime { gpu, tenant, ..row })
        })
        .collect();
    match rows.is_empty() && share_a_gpu(phase) {
        true => Err(Some(
            "slices: the tracer recorded none in the measured time".to_owned(),
        )),
        false => Ok(rows),
    }
}

/// Whether several contexts had work on one GPU.
fn share_a_gpu(phase: &TracedPhase) -> bool {
    let mut contexts: BTreeMap<u16, BTreeSet<(u32, u32)>> = BTreeMap::new();
    for (process, activities) in &phase.processes {
        let on = |activity: &Activity| activity.work.on_device();
        for on in activities.iter().filter_map(on) {
            contexts
                .entry(on.device)
                .or_default()
                .insert((*process, on.context));
        }
    }
    contexts.values().any(|contexts| contexts.len() > 1)
}

/// The figures of one tenant's slices; none where none began in the measured time.
fn row(mut spans: Vec<(i64, i64)>, (from, to): (i64, i64)) -> Option<SliceTime> {
    spans.sort_unstable();
    let had: Union = spans.iter().copied().collect();
    spans.retain(|(begin, _)| (from..to).contains(begin));
    let mut lengths: Vec<i64> = spans.iter().map(|(from, to)| to.saturating_sub(*from)).collect();
    let gaps = spans.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].1));
    let mut gaps: Vec<i64> = gaps.map(|gap| gap.max(0)).collect();
    let share = had.within(from, to) as f64 / to.saturating_sub(from) as f64;
    Some(SliceTime {
        gpu: 0,
        tenant: None,
        slices: lengths.len() as u64,
        share: six_decimals(share),
        mean_us: mean_us(&lengths)?,
        p99_us: p99_us(&mut lengths),
        gap_mean_us: mean_us(&gaps),
        gap_p99_us: p99_us(&mut gaps),
    })
}

fn mean_us(all: &[i64]) -> Option<f64> {
    let mean = sum(all.iter().copied()) as f64 / all.len() as f64;
    (!all.is_empty()).then(|| mean.round() / 1e3)
}

fn p99_us(all: &mut [i64]) -> Option<f64> {
    all.sort_unstable();
    let (p99, count) = (Quantile::P99, all.len() as u64);
    let rank = p99.supported_by(count).then(|| p99.rank(count))?;
    let ns = all.get((rank as usize).checked_sub(1)?)?;
    Some(*ns as f64 / 1e3)
}

/// What is known of a trace's slices.
pub(super) fn told(slices: &TracedSlices) -> TraceSlices {
    let placed = |us: f64| slices.are_placed().then_some(us);
    TraceSlices {
        unpaired: slices.unpaired,
        unknown: slices.unknown,
        stamps: slices.stamps,
        inside: slices.inside,
        moved_us: placed(slices.moved.as_micros_f64()),
        within_us: placed(slices.within.as_micros_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_counts_slices_their_lengths_and_what_is_between_them() {
        // 100 slices of 10 µs every 40 µs; the measured time begins in the middle of the first.
        let spans = || (0..100i64).map(|n| (n * 40_000, n * 40_000 + 10_000));
        let found = row(spans().collect(), (5_000, 4_000_000)).unwrap();
        assert_eq!((found.slices, found.mean_us, found.p99_us), (99, 10.0, None));
        assert_eq!(found.gap_mean_us, Some(30.0));
        assert_eq!(found.share, six_decimals(995.0 / 3_995.0));
        assert_eq!(row(spans().collect(), (4_000_000, 5_000_000)), None);
        let one = row(vec![(0, 7_000)], (0, 10_000)).unwrap();
        assert_eq!((one.mean_us, one.gap_mean_us), (7.0, None));
    }

    #[test]
    fn p99_comes_with_enough_slices() {
        let spans: Vec<(i64, i64)> = (0..700).map(|n| (n * 1_000, n * 1_000 + n)).collect();
        let found = row(spans, (0, 700_000)).unwrap();
        assert_eq!(found.p99_us, Some(0.692));
    }
}
