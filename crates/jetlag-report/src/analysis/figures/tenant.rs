//! Where a tenant's summary has each of its figures.

use jetlag_figure::key::{Plain, Series, Statistic};
use jetlag_figure::{Key, Support};

use super::super::lack::Lack;
use super::super::summary::{
    Interpolated, MemorySummary, Slowdown, SlowdownIntervals, Stats, TenantSummary, Trimmed, Wander,
};
use super::{Absent, Found};
use jetlag_stats::quantile::Quantile;

/// A figure of this tenant.
pub(super) fn read(key: &Key, tenant: &TenantSummary) -> Result<Found, Absent> {
    if let (Some(statistic), Some(stats)) = (key.statistic(), series(key, tenant)) {
        return of_series(stats, statistic);
    }
    match key {
        Key::Plain(_, plain) => of_tenant(*plain, tenant),
        Key::TimeShare(_, part) => {
            let share = tenant.time_share.iter().find(|(name, _)| *name == part.name());
            share
                .map(|(_, share)| Found::of_run(*share))
                .ok_or(Absent::Nothing)
        }
        _ => Err(Absent::Nothing),
    }
}

/// The series of durations that a key is of.
pub(super) fn series<'t>(key: &Key, tenant: &'t TenantSummary) -> Option<&'t Stats> {
    match key {
        Key::Time(_, Series::Response, _) => Some(&tenant.response_ms),
        Key::Time(_, Series::Service, _) => Some(&tenant.service_ms),
        Key::Time(_, Series::Lateness, _) => Some(&tenant.lateness_ms),
        Key::Time(_, Series::Age, _) => tenant.age_ms.as_ref(),
        Key::Time(_, Series::Submission, _) => tenant.submission_ms.as_ref(),
        Key::Time(_, Series::Skew, _) => tenant.synchronised.as_ref()?.skew_ms.as_ref(),
        Key::Stage(_, stage, _) => {
            let mut stages = tenant.stages_ms.iter();
            stages
                .find(|(name, _)| *name == stage.name())
                .map(|(_, stats)| stats)
        }
        _ => None,
    }
}

/// Which quantile a statistic is.
pub(in super::super) fn quantile(statistic: Statistic) -> Option<Quantile> {
    match statistic {
        Statistic::P50 => Some(Quantile::P50),
        Statistic::P90 => Some(Quantile::P90),
        Statistic::P95 => Some(Quantile::P95),
        Statistic::P99 => Some(Quantile::P99),
        Statistic::P99_9 => Some(Quantile::P99_9),
        Statistic::Count | Statistic::Mean | Statistic::Sd | Statistic::Min | Statistic::Max => None,
    }
}

/// What the frames lack for the interval of a quantile.
pub(super) fn lacking(stats: &Stats, quantile: Quantile) -> Option<Lack> {
    match quantile {
        Quantile::P50 => stats.lacks.p50,
        Quantile::P90 => stats.lacks.p90,
        Quantile::P95 => stats.lacks.p95,
        Quantile::P99 => stats.lacks.p99,
        Quantile::P99_9 => stats.lacks.p99_9,
        _ => None,
    }
}

/// Means and deviations have no interval yet: that of dependent frames would need the dependence of the values themselves, and a summary
/// has that of its quantiles.
fn of_series(stats: &Stats, statistic: Statistic) -> Result<Found, Absent> {
    let estimate = |value: Option<f64>, ci95: Option<[f64; 2]>| {
        let found = value.map(|value| Found::with(value, Support::estimate(ci95)));
        found.ok_or_else(|| {
            Absent::of_frames(quantile(statistic).and_then(|quantile| lacking(stats, quantile)))
        })
    };
    let of_run = |value: Option<f64>| value.map(Found::of_run).ok_or(Absent::Nothing);
    match statistic {
        Statistic::Count => Ok(Found::exact(stats.count)),
        Statistic::Mean => of_run(stats.mean),
        Statistic::Sd => of_run(stats.sd),
        Statistic::Min => of_run(stats.min),
        Statistic::Max => of_run(stats.max),
        Statistic::P50 => estimate(stats.p50, stats.ci95.p50),
        Statistic::P90 => estimate(stats.p90, stats.ci95.p90),
        Statistic::P95 => estimate(stats.p95, stats.ci95.p95),
        Statistic::P99 => estimate(stats.p99, stats.ci95.p99),
        Statistic::P99_9 => estimate(stats.p99_9, stats.ci95.p99_9),
    }
}

fn of_tenant(plain: Plain, tenant: &TenantSummary) -> Result<Found, Absent> {
    let frames = &tenant.frames;
    let lacks = &tenant.response_ms.lacks;
    let predictability = &tenant.predictability;
    let (effective, steady) = (&predictability.effective_frames, &predictability.steady);
    let count = |count: Option<u64>| count.map(Found::exact).ok_or(Absent::Nothing);
    let of_run = |value: Option<f64>| value.map(Found::of_run).ok_or(Absent::Nothing);
    let lacking = |value: Option<f64>, lack| value.map(Found::of_run).ok_or_else(|| Absent::of_frames(lack));
    let sampled = tenant.sampled.as_ref();
    let sets = tenant.synchronised.as_ref();
    let submitting = tenant.submitting.as_ref();
    let wander = |of: fn(&Wander) -> f64| of_run(predictability.wander.as_ref().map(of));
    let interpolated =
        |of: fn(&Interpolated) -> Option<f64>| of_run(predictability.interpolated.as_ref().and_then(of));
    let trimmed = |of: fn(&Trimmed) -> Option<f64>| {
        let rest = predictability
            .interpolated
            .as_ref()
            .and_then(|all| all.trimmed.as_ref());
        of_run(rest.and_then(of))
    };
    let memory = |of: fn(&MemorySummary) -> Option<u64>| {
        let bytes = tenant.memory.as_ref().and_then(of);
        of_run(bytes.map(|bytes| bytes as f64))
    };
    match plain {
        Plain::Offered => Ok(Found::exact(frames.offered)),
        Plain::Completed => Ok(Found::exact(frames.completed)),
        Plain::Dropped => Ok(Found::exact(frames.dropped)),
        Plain::Missed => Ok(Found::exact(frames.missed)),
        // Also before the measured time: a detector that failed at first has failed.
        Plain::Failed => Ok(Found::exact(frames.failed + frames.failed_in_warmup)),
        Plain::LostRecords => Ok(Found::exact(frames.lost_records)),
        Plain::Overdue => Ok(Found::exact(frames.overdue)),
        Plain::Unfinished => Ok(Found::exact(frames.unfinished)),
        Plain::FailedInWarmup => Ok(Found::exact(frames.failed_in_warmup)),
        Plain::Detections => count(tenant.detections),
        Plain::Throughput => of_run(tenant.throughput_fps),
        Plain::MissRate => tenant
            .miss_rate
            .map(|rate| Found::between(rate, tenant.miss_rate_ci95))
            .ok_or(Absent::Nothing),
        Plain::Jitter => lacking(tenant.jitter_ms, lacks.p99),
        Plain::InterquartileRange => lacking(tenant.iqr_ms, Some(for_quartiles(tenant))),
        Plain::Cv => of_run(tenant.cv),
        Plain::WorstOverMedian => lacking(tenant.worst_over_median, lacks.p50),
        Plain::SlowdownP50 => slowdown(tenant, |of| of.p50, |of| of.p50),
        Plain::SlowdownP90 => slowdown(tenant, |of| of.p90, |of| of.p90),
        Plain::SlowdownP99 => slowdown(tenant, |of| of.p99, |of| of.p99),
        Plain::SlowdownRounds => count(tenant.slowdown.as_ref().map(|ratio| ratio.rounds)),
        Plain::SlowdownLeftOut => of_run(tenant.slowdown.as_ref().map(|ratio| ratio.left_out_share)),
        Plain::SlowdownAlone => count(tenant.slowdown.as_ref().map(|ratio| ratio.alone_count)),
        Plain::Batch => count(tenant.batch),
        Plain::ThroughputItems => of_run(tenant.throughput_items),
        Plain::SampledRepeated => count(sampled.map(|sampled| sampled.repeated)),
        Plain::SampledSkipped => count(sampled.map(|sampled| sampled.skipped)),
        Plain::SetsComplete => count(sets.map(|sets| sets.complete)),
        Plain::SetsIncomplete => count(sets.map(|sets| sets.incomplete)),
        Plain::SetsIncompleteShare => of_run(sets.and_then(|sets| sets.incomplete_share)),
        Plain::SetsRate => of_run(sets.and_then(|sets| sets.rate_hz)),
        Plain::SubmittingMean => of_run(submitting.map(|one| one.mean_ms)),
        Plain::SubmittingP25 => of_run(submitting.and_then(|one| one.share.p25)),
        Plain::SubmittingP50 => of_run(submitting.and_then(|one| one.share.p50)),
        Plain::SubmittingP75 => of_run(submitting.and_then(|one| one.share.p75)),
        Plain::SubmittingBound => of_run(submitting.map(|one| one.bound_frames)),
        Plain::MemoryNetworks => memory(|memory| memory.networks_bytes),
        Plain::MemoryContexts => memory(|memory| memory.contexts_bytes),
        Plain::MemoryDeviceTensors => memory(|memory| memory.device_tensors_bytes),
        Plain::MemoryPinned => memory(|memory| memory.pinned_bytes),
        Plain::MemoryHostTensors => memory(|memory| memory.host_tensors_bytes),
        Plain::MemoryDevice => memory(|memory| memory.device_bytes),
        Plain::MemoryDevicePeak => memory(|memory| memory.device_peak_bytes),
        Plain::MemoryProcessPeak => memory(|memory| memory.process_peak_bytes),
        Plain::RelativeSpread => lacking(predictability.relative_spread, lacks.p99),
        Plain::LongestMissStreak => Ok(Found::exact(predictability.longest_miss_streak)),
        Plain::Autocorrelation => of_run(predictability.autocorrelation),
        Plain::EffectiveP50 => of_run(effective.p50.map(|frames| frames as f64)),
        Plain::EffectiveP90 => of_run(effective.p90.map(|frames| frames as f64)),
        Plain::EffectiveP99 => of_run(effective.p99.map(|frames| frames as f64)),
        Plain::SettledAfter => of_run(steady.settled_after_s),
        Plain::Settling => of_run(steady.settling),
        Plain::Drift => of_run(steady.drift),
        Plain::WanderSlot => wander(|wander| wander.slot_s),
        Plain::WanderSlots => count(predictability.wander.as_ref().map(|wander| wander.slots)),
        Plain::WanderLow => wander(|wander| wander.low_ms),
        Plain::WanderHigh => wander(|wander| wander.high_ms),
        Plain::WanderFirst => wander(|wander| wander.first_ms),
        Plain::WanderLast => wander(|wander| wander.last_ms),
        Plain::WanderBetween => wander(|wander| wander.between),
        Plain::WanderWithin => wander(|wander| wander.within),
        Plain::InterpolatedP1 => interpolated(|all| Some(all.p1_ms)),
        Plain::InterpolatedP5 => interpolated(|all| Some(all.p5_ms)),
        Plain::InterpolatedP25 => interpolated(|all| Some(all.p25_ms)),
        Plain::InterpolatedP50 => interpolated(|all| Some(all.p50_ms)),
        Plain::InterpolatedP75 => interpolated(|all| Some(all.p75_ms)),
        Plain::InterpolatedP95 => interpolated(|all| Some(all.p95_ms)),
        Plain::InterpolatedP99 => interpolated(|all| all.p99_ms),
        Plain::InterpolatedIqr => interpolated(|all| Some(all.iqr_ms)),
        Plain::InterpolatedRange => interpolated(|all| all.p0_p99_range_ms),
        Plain::NormalizedRange => interpolated(|all| all.normalized_range),
        Plain::InterpolatedSpread => interpolated(|all| all.spread_ms),
        Plain::InterpolatedRelative => interpolated(|all| all.relative_spread),
        Plain::TrimmedLow => trimmed(|rest| Some(rest.low_ms)),
        Plain::TrimmedHigh => trimmed(|rest| Some(rest.high_ms)),
        Plain::TrimmedFrames => trimmed(|rest| Some(rest.frames as f64)),
        Plain::TrimmedP50 => trimmed(|rest| Some(rest.p50_ms)),
        Plain::TrimmedP99 => trimmed(|rest| rest.p99_ms),
        Plain::TrimmedSpread => trimmed(|rest| rest.spread_ms),
        Plain::TrimmedRelative => trimmed(|rest| rest.relative_spread),
    }
}

/// The interquartile range needs what the median needs, and in addition enough independent frames for the quartiles.
pub(super) fn for_quartiles(tenant: &TenantSummary) -> Lack {
    let quartiles = Lack::Frames(Quantile::P75.needs());
    tenant.response_ms.lacks.p50.unwrap_or(quartiles).max(quartiles)
}

fn slowdown(
    tenant: &TenantSummary,
    ratio: fn(&Slowdown) -> Option<f64>,
    interval: fn(&SlowdownIntervals) -> Option<[f64; 2]>,
) -> Result<Found, Absent> {
    let slowdown = tenant.slowdown.as_ref().ok_or(Absent::Nothing)?;
    let withheld = || match &slowdown.withheld {
        Some(withheld) => Absent::Withheld(withheld.message.clone()),
        None => Absent::Nothing,
    };
    let ratio = ratio(slowdown).ok_or_else(withheld)?;
    Ok(Found::between(ratio, interval(&slowdown.ci95)))
}
