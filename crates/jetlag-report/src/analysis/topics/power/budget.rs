//! The time above a power budget, and the moments in which it was exceeded.
//!
//! The arithmetic on the curve is in `curve`; the curve of the total is `total`'s.

use crate::analysis::gathering::curve::Curve;
use crate::analysis::gathering::energy::Segment;
use crate::analysis::stats::six_decimals;
use crate::analysis::summary::{PowerBudget, PowerMoment};
use crate::analysis::topics::power::total::Total;
use crate::units::{Nanos, Stamp};

/// Moments that are told, the longest first.
const MOST_MOMENTS: usize = 10;

/// Holds the total against a budget in mW; `why` is what to say where there is no total.
pub(in crate::analysis) fn judge(
    limit_mw: f64,
    total: Option<&Total>,
    window: Option<(Stamp, Stamp)>,
    why: &str,
) -> PowerBudget {
    let unknown = PowerBudget {
        limit_mw: six_decimals(limit_mw),
        of: None,
        share_above: None,
        above_s: None,
        covered: None,
        moments: Vec::new(),
        more_moments: 0,
        withheld: Some(why.to_owned()),
    };
    let Some((total, (from, to))) = total.zip(window) else {
        return unknown;
    };
    let covered = total.curve.covered();
    if covered <= Nanos::ZERO || to <= from {
        return unknown;
    }
    let above = total.curve.above(limit_mw);
    let time = above.iter().fold(Nanos::ZERO, |sum, part| sum + part.length());
    let mut moments: Vec<PowerMoment> = together(&above, total.refresh)
        .into_iter()
        .map(|parts| moment(parts, from))
        .collect();
    // The longest first; of equally long ones the earlier.
    moments.sort_by(|a, b| b.length_s.total_cmp(&a.length_s));
    let more_moments = moments.len().saturating_sub(MOST_MOMENTS) as u64;
    moments.truncate(MOST_MOMENTS);
    PowerBudget {
        of: Some(total.of),
        share_above: Some(six_decimals(time.0 as f64 / covered.0 as f64)),
        above_s: Some(six_decimals(time.as_secs_f64())),
        covered: Some(six_decimals(covered.0 as f64 / (to - from).0 as f64)),
        moments,
        more_moments,
        withheld: None,
        ..unknown
    }
}

/// Parts that follow each other, or are no further apart than the sensor renews its value, are one moment.
fn together(parts: &[Segment], refresh: Nanos) -> Vec<&[Segment]> {
    parts
        .chunk_by(|before, after| after.from - before.to <= refresh)
        .collect()
}

fn moment(parts: &[Segment], start: Stamp) -> PowerMoment {
    let (from, to) = match parts {
        [first, .., last] => (first.from, last.to),
        [one] => (one.from, one.to),
        [] => (start, start),
    };
    let curve = Curve::of_segments(parts);
    PowerMoment {
        at_s: six_decimals((from - start).as_secs_f64()),
        length_s: six_decimals((to - from).as_secs_f64()),
        mean_mw: six_decimals(curve.mean().unwrap_or_default()),
        peak_mw: six_decimals(curve.highest().unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::gathering::track::Point;

    const MS: i64 = 1_000_000;

    fn total(readings: impl IntoIterator<Item = (i64, f64)>, seconds: i64) -> (Total, (Stamp, Stamp)) {
        let point = |(ms, value)| Point {
            at: Stamp(ms * MS),
            value,
            low: value,
            high: value,
        };
        let points: Vec<Point> = readings.into_iter().map(point).collect();
        let window = (Stamp(0), Stamp(seconds * 1_000 * MS));
        let total = Total {
            of: "module",
            curve: Curve::of(&points, Nanos(100 * MS), window),
            refresh: Nanos(100 * MS),
        };
        (total, window)
    }

    fn judged(limit: f64, (total, window): &(Total, (Stamp, Stamp))) -> PowerBudget {
        judge(limit, Some(total), Some(*window), "no total")
    }

    #[test]
    fn moments_come_longest_first_and_what_touches_is_one() {
        // 20 W from 1 s to 2 s and from 4 s to 7 s, with a dip of one reading at 5 s; else 10 W.
        let watts = |i: i64| match i {
            50 => 14_000.0,
            10..=20 | 40..=70 => 20_000.0,
            _ => 10_000.0,
        };
        let found = judged(15_000.0, &total((0..=100).map(|i| (i * 100, watts(i))), 10));
        assert_eq!((found.of, found.covered), (Some("module"), Some(1.0)));
        // Up to the crossings: half a tenth of a second before and after each, and a sixth of two tenths less in the dip.
        let times: Vec<(f64, f64)> = found.moments.iter().map(|m| (m.at_s, m.length_s)).collect();
        assert_eq!(times, [(3.95, 3.1), (0.95, 1.1)]);
        let above = 3.1 + 1.1 - 0.2 / 6.0;
        assert!((found.above_s.unwrap() - above).abs() < 1e-6, "{found:?}");
        assert!((found.share_above.unwrap() - above / 10.0).abs() < 1e-6);
        assert_eq!(found.moments[0].peak_mw, 20_000.0);
        assert!((15_000.0..20_000.0).contains(&found.moments[0].mean_mw));
    }

    #[test]
    fn a_budget_that_is_kept_or_never_kept_says_so() {
        let level = total((0..=100).map(|i| (i * 100, 10_000.0)), 10);
        let kept = judged(10_000.0, &level);
        assert_eq!(
            (kept.share_above, kept.moments.len()),
            (Some(0.0), 0),
            "at the limit"
        );
        let never = judged(9_999.0, &level);
        assert_eq!((never.share_above, never.moments.len()), (Some(1.0), 1));
    }

    #[test]
    fn moments_are_bounded_and_the_rest_is_counted() {
        let busy = |i: i64| if i % 10 < 5 { 20_000.0 } else { 10_000.0 };
        let found = judged(15_000.0, &total((0..=1_000).map(|i| (i * 100, busy(i))), 100));
        assert_eq!(found.moments.len(), MOST_MOMENTS);
        assert!(found.more_moments > 80, "{}", found.more_moments);
    }

    #[test]
    fn a_gap_is_neither_above_nor_below_and_nothing_is_known_without_a_total() {
        let halves = (0..=40).chain(60..=100).map(|i| (i * 100, 20_000.0));
        let found = judged(15_000.0, &total(halves, 10));
        assert_eq!(found.share_above, Some(1.0), "of the time that was measured");
        assert_eq!((found.covered, found.moments.len()), (Some(0.8), 2));
        let unknown = judge(15_000.0, None, Some((Stamp(0), Stamp(5))), "no total");
        assert_eq!(
            (unknown.share_above, unknown.withheld.as_deref()),
            (None, Some("no total"))
        );
        let empty = judged(15_000.0, &total([], 10));
        assert_eq!(empty.share_above, None);
    }
}
