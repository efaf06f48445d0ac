//! What breaks a promise where its own figure is withheld.
//!
//! Where a queue never empties, all frames wait for the same backlog: too few of them are independent, and every quantile is withheld. The
//! value is broken all the same, and the search has to know that, or it looks for the knee among values that are far beyond it.

use jetlag_report::analysis::figures::key::Statistic;

use super::Promise;
use crate::figures::Estimate;

/// Whether a figure of this name is a quantile.
pub(crate) fn is_quantile(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    Statistic::named(last).is_some_and(Statistic::is_quantile)
}

/// The figure by which a promise of a quantile is broken, where that quantile itself is not known; `figure` finds others of the run.
///
/// A quantile is never below the least value, nor below a lower quantile. Only a promise of *less* can be broken so, and none is kept so. In
/// this order: the least value, where the quantile is so high that a single frame counts; a lower quantile with its interval; the median
/// (or the least value) of the run's own frames, without an interval, which breaks it only if three runs agree.
pub fn broken_by_less(
    name: &str,
    promise: Promise<'_>,
    figure: impl Fn(&str) -> Estimate,
) -> Option<Estimate> {
    let (series, quantile) = name.rsplit_once('.')?;
    let quantile = Statistic::named(quantile).filter(|one| one.is_quantile())?;
    if !promise(0.0) {
        return None;
    }
    let of = |statistic: &str| figure(&format!("{series}.{statistic}"));
    let breaks = |value: &f64| !promise(*value);
    let least = of("min").value.filter(breaks);
    // Even one frame that is above is at odds with it: one in twenty or fewer may be.
    let is_high = quantile >= Statistic::P95;
    if let Some(least) = least.filter(|_| is_high) {
        return Some(Estimate::with(least, least, least));
    }
    let lower = Statistic::QUANTILES
        .into_iter()
        .rev()
        .filter(|one| *one < quantile);
    let certain = lower.map(Statistic::name).find_map(|lower| {
        let lower = of(lower);
        let [low, high] = lower.ci95?;
        let all = [lower.value?, low, high];
        all.iter().all(breaks).then_some(lower)
    });
    let median = || of("p50").value.filter(breaks).or(least).map(Estimate::plain);
    certain.or_else(median)
}
