//! What a promise of a tenant's figure needs, beyond the figure: which say nothing of their tenant, and which frames are behind them.

use super::Key;
use super::key::{Plain, Series, Statistic};

use super::key::for_quartiles;
use super::series::{quantile, series};
use crate::analysis::gathering::lack::Lack;
use crate::analysis::gathering::missed;
use crate::analysis::summary::TenantSummary;
use jetlag_stats::quantile::Quantile;

/// Quantiles of one series whose intervals are known.
pub(in super::super) type Intervals = Vec<(Quantile, [f64; 2])>;

/// Why a figure would be as good as any other, whatever the tenant did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum SaysNothing {
    /// Misses of a tenant that has no deadline to miss.
    NoDeadline,
    /// Lateness of releases that nothing but the tenant itself was waiting for.
    ClosedLoop,
}

/// The quantile and the sample behind a value, to say what is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct QuantileSupport {
    pub(in super::super) quantile: Quantile,
    pub(in super::super) count: u64,
    /// What the frames lack for its interval.
    pub(in super::super) lacks: Option<Lack>,
}

impl QuantileSupport {
    /// Whether it lacks an interval because frames depend on each other, and not because independent ones would be too few.
    pub(in super::super) fn depends(self) -> bool {
        self.lacks > Some(Lack::Frames(self.quantile.needs()))
    }
}

/// Why its value cannot show that all is well with this tenant, where it cannot.
pub(in super::super) fn says_nothing(key: &Key, tenant: &TenantSummary) -> Option<SaysNothing> {
    match key {
        Key::Plain(_, Plain::Missed | Plain::MissRate) => {
            tenant.deadline_ms.is_none().then_some(SaysNothing::NoDeadline)
        }
        Key::Time(_, Series::Lateness, _) => tenant.closed_loop.then_some(SaysNothing::ClosedLoop),
        _ => None,
    }
}

/// Frames that a limit on it needs, where it is a share of frames that the run's are too few for.
pub(in super::super) fn needs(key: &Key, limit: f64, tenant: &TenantSummary) -> Option<u64> {
    let Key::Plain(_, Plain::MissRate) = key else {
        return None;
    };
    let needs = missed::needs(limit)?;
    let worth = tenant.miss_rate_frames;
    (worth < needs).then(|| (tenant.frames.offered as f64 * needs / worth.max(1.0)).ceil() as u64)
}

/// Whether it compares a tenant with itself alone.
pub(in super::super) fn is_slowdown(key: &Key) -> bool {
    matches!(
        key,
        Key::Plain(_, Plain::SlowdownP50 | Plain::SlowdownP90 | Plain::SlowdownP99)
    )
}

/// Which quantile it is, and those of the same series that have an interval; none if it is no quantile.
pub(in super::super) fn quantiles(key: &Key, tenant: &TenantSummary) -> Option<(Quantile, Intervals)> {
    let own = quantile(key.statistic()?)?;
    let of = series(key, tenant)?;
    let all = Statistic::QUANTILES.into_iter().filter_map(quantile);
    let known = all.filter_map(|one| Some((one, of.at(one)?.ci95?)));
    Some((own, known.collect()))
}

/// The quantile that it is made of, and the number of frames for it; none if it is not made of a quantile.
pub(in super::super) fn sample(key: &Key, tenant: &TenantSummary) -> Option<QuantileSupport> {
    let sample = |quantile, count, lacks| QuantileSupport {
        quantile,
        count,
        lacks,
    };
    let response = &tenant.response_ms;
    let of_response = |quantile| Some(sample(quantile, response.count, response.at(quantile)?.lack));
    match key {
        Key::Plain(_, Plain::Jitter) => of_response(Quantile::P99),
        Key::Plain(_, Plain::InterquartileRange) => {
            let withheld = tenant.iqr_ms.is_none().then(|| for_quartiles(tenant));
            Some(sample(Quantile::P75, response.count, withheld))
        }
        Key::Plain(_, Plain::WorstOverMedian) => of_response(Quantile::P50),
        key => {
            let quantile = quantile(key.statistic()?)?;
            let stats = series(key, tenant)?;
            Some(sample(quantile, stats.count, stats.at(quantile)?.lack))
        }
    }
}
