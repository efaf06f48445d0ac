//! What breaks a promise where its own figure is withheld.
//!
//! Where a queue never empties, all frames wait for the same backlog: too few of them are independent, and every quantile is withheld. The
//! value is broken all the same, and the search has to know that, or it looks for the knee among values that are far beyond it.

use super::Promise;
use crate::figures::Figure;

/// Quantiles from high to low, and whether even one frame that is above is at odds with a promise of it: one in twenty or fewer may be.
const QUANTILES: [(&str, bool); 5] = [
    ("p99_9", true),
    ("p99", true),
    ("p95", true),
    ("p90", false),
    ("p50", false),
];

/// Whether a figure of this name is a quantile.
pub(crate) fn is_quantile(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    QUANTILES.iter().any(|(known, _)| *known == last)
}

/// The figure by which a promise of a quantile is broken, where that quantile itself is not known; `figure` finds others of the run.
///
/// A quantile is never below the least value, nor below a lower quantile. Only a promise of *less* can be broken so, and none is kept so. In
/// this order: the least value, where the quantile is so high that a single frame counts; a lower quantile with its interval; the median
/// (or the least value) of the run's own frames, without an interval, which breaks it only if three runs agree.
pub fn broken_by_less(name: &str, promise: Promise<'_>, figure: impl Fn(&str) -> Figure) -> Option<Figure> {
    let name = name.replace("p99.9", "p99_9");
    let (series, quantile) = name.rsplit_once('.')?;
    let place = QUANTILES.iter().position(|(known, _)| *known == quantile)?;
    if !promise(0.0) {
        return None;
    }
    let of = |statistic: &str| figure(&format!("{series}.{statistic}"));
    let breaks = |value: &f64| !promise(*value);
    let least = of("min").value.filter(breaks);
    let is_high = QUANTILES.get(place).is_some_and(|(_, is_high)| *is_high);
    if let Some(least) = least.filter(|_| is_high) {
        return Some(Figure::with(least, least, least));
    }
    let certain = QUANTILES.iter().skip(place + 1).find_map(|(lower, _)| {
        let lower = of(lower);
        let [low, high] = lower.ci95?;
        let all = [lower.value?, low, high];
        all.iter().all(breaks).then_some(lower)
    });
    let median = || of("p50").value.filter(breaks).or(least).map(Figure::plain);
    certain.or_else(median)
}
