//! Where a tenant's summary has the statistics of its series.

use jetlag_figure::Support;

use super::Key;
use super::key::found::{Absent, Found, Reading, exact, of_run};
use super::key::{Series, Statistic};
use crate::analysis::summary::{Stats, TenantSummary};
use jetlag_stats::quantile::Quantile;

/// A figure of this tenant.
pub(super) fn read(key: &Key, tenant: &TenantSummary) -> Reading {
    if let (Some(statistic), Some(stats)) = (key.statistic(), series(key, tenant)) {
        return of_series(stats, statistic);
    }
    match key {
        Key::Plain(_, plain) => plain.read(tenant),
        Key::TimeShare(_, part) => {
            let share = tenant.time_share.iter().find(|(name, _)| *name == part.name());
            of_run(share.map(|(_, share)| *share))
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

/// Means and quantiles are estimates; the others describe this run.
fn of_series(stats: &Stats, statistic: Statistic) -> Reading {
    let estimate = match statistic {
        Statistic::Mean => Some(&stats.mean),
        _ => quantile(statistic).and_then(|quantile| stats.at(quantile)),
    };
    if let Some(estimate) = estimate {
        let value = estimate.value.ok_or_else(|| Absent::of_frames(estimate.lack))?;
        return Ok(Found::with(value, Support::estimate(estimate.ci95)));
    }
    match statistic {
        Statistic::Count => exact(stats.count),
        Statistic::Sd => of_run(stats.sd),
        Statistic::Min => of_run(stats.min),
        Statistic::Max => of_run(stats.max),
        _ => Err(Absent::Nothing),
    }
}
