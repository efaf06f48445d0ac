//! Integrates power readings to energy: pure arithmetic on timestamps and values.
//!
//! mW × s = mJ. `counter` handles energy counters, `uncertainty` the interval of an energy, and `power` decides which
//! lines there are and which are added. Definitions are in docs/measurement.md.

use jetlag_stats::median::upper_median;

use crate::analysis::gathering::track::Point;
use crate::units::{Nanos, Stamp};

/// A gap is a distance between readings of more than this many times the usual one.
const GAP: f64 = 3.5;
/// How many distances on either side define the usual one.
const AROUND: usize = 5;

/// Power over a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::analysis) struct Integral {
    /// Mean over the covered time, mW.
    pub(in crate::analysis) mean_mw: f64,
    /// The highest reading, mW.
    pub(in crate::analysis) peak_mw: f64,
    /// Time in which readings followed one another without a gap (covered time).
    pub(in crate::analysis) covered: Nanos,
    /// Readings in the window.
    pub(in crate::analysis) count: usize,
}

/// Power integrated from `from` to `to` by the trapezoidal rule. Readings that are further apart than is usual around
/// them, and than `period`, leave a gap, which counts neither for the mean nor for the covered time. `None` if nothing
/// is covered.
pub(in crate::analysis) fn integrate(
    points: &[Point],
    period: Nanos,
    (from, to): (Stamp, Stamp),
) -> Option<Integral> {
    let (area, covered) = area(points, period, (from, to));
    let inside = points.iter().filter(|point| (from..=to).contains(&point.at));
    let peak_mw = inside.clone().map(|point| point.high).reduce(f64::max)?;
    (covered > Nanos::ZERO).then(|| Integral {
        mean_mw: area / covered.0 as f64,
        peak_mw,
        covered,
        count: inside.count(),
    })
}

/// The longest distance of two readings that is not a gap, where they usually are `spacing` apart.
pub(in crate::analysis) fn longest(spacing: Nanos) -> Nanos {
    Nanos((spacing.0 as f64 * GAP) as i64)
}

/// The usual distance around reading n: the median of the distances to the next reading and of the five before and
/// after. It is local to a place in the run, since the rate may change.
pub(in crate::analysis) fn usual(points: &[Point], n: usize) -> Nanos {
    let first = n.saturating_sub(AROUND);
    let last = (n + AROUND + 2).min(points.len());
    let mut gaps = [0i64; 2 * AROUND + 1];
    let around = points.get(first..last).unwrap_or_default().windows(2);
    let mut count = 0;
    for (gap, pair) in gaps.iter_mut().zip(around) {
        *gap = (pair[1].at - pair[0].at).0;
        count += 1;
    }
    upper_median(&mut gaps[..count], Ord::cmp).map_or(Nanos::ZERO, Nanos)
}

/// Whether there is no gap between reading n and the next.
pub(in crate::analysis) fn is_linked(points: &[Point], n: usize, period: Nanos) -> bool {
    let (Some(a), Some(b)) = (points.get(n), points.get(n + 1)) else {
        return false;
    };
    let length = b.at - a.at;
    // A quick answer for almost all readings.
    length <= longest(period) || length <= longest(usual(points, n))
}

/// A stretch of time in which a reading goes to the next in a straight line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::analysis) struct Segment {
    pub(in crate::analysis) from: Stamp,
    pub(in crate::analysis) to: Stamp,
    /// The value at its begin and at its end.
    pub(in crate::analysis) start: f64,
    pub(in crate::analysis) end: f64,
}

impl Segment {
    /// Its value at a time within it.
    pub(in crate::analysis) fn value_at(&self, at: Stamp) -> f64 {
        let length = (self.to - self.from).0 as f64;
        self.start + (self.end - self.start) * ((at - self.from).0 as f64 / length)
    }

    /// Its length.
    pub(in crate::analysis) fn length(&self) -> Nanos {
        self.to - self.from
    }
}

/// The area below the readings in a window, in mW × ns, and the time that it covers. The first and the last reading of
/// all stand for the usual distance before and after them too.
pub(in crate::analysis) fn area(points: &[Point], period: Nanos, window: (Stamp, Stamp)) -> (f64, Nanos) {
    let mut covered = Nanos::ZERO;
    let mut area = 0.0;
    for segment in between(points, period, window).chain(at_ends(points, window)) {
        area += (segment.start + segment.end) / 2.0 * segment.length().0 as f64;
        covered += segment.length();
    }
    (area, covered)
}

/// The same in segments, in order of time: what is between them is not covered.
pub(in crate::analysis) fn segments(points: &[Point], period: Nanos, window: (Stamp, Stamp)) -> Vec<Segment> {
    let mut all: Vec<Segment> = between(points, period, window)
        .chain(at_ends(points, window))
        .collect();
    all.sort_by_key(|segment| segment.from);
    all
}

/// The parts within a window of what lies between linked readings.
fn between(
    points: &[Point],
    period: Nanos,
    (from, to): (Stamp, Stamp),
) -> impl Iterator<Item = Segment> + '_ {
    // The pairs around the window: from the last reading before it to the first after it.
    let first = points.partition_point(|point| point.at <= from).max(1) - 1;
    let pairs = points.windows(2).enumerate().skip(first);
    pairs
        .take_while(move |(_, pair)| pair[0].at < to)
        .filter_map(move |(n, pair)| {
            let (a, b) = (pair[0], pair[1]);
            let (start, end) = (a.at.max(from), b.at.min(to));
            if b.at <= a.at || end <= start || !is_linked(points, n, period) {
                return None;
            }
            let whole = Segment {
                from: a.at,
                to: b.at,
                start: a.value,
                end: b.value,
            };
            Some(Segment {
                from: start,
                to: end,
                start: whole.value_at(start),
                end: whole.value_at(end),
            })
        })
}

/// What the first and the last reading of all stand for besides.
fn at_ends(points: &[Point], (from, to): (Stamp, Stamp)) -> impl Iterator<Item = Segment> {
    let ends = match points {
        [first, .., last] => {
            let before = (first.at - usual(points, 0)).max(from)..first.at.min(to);
            let after = last.at.max(from)..(last.at + usual(points, points.len() - 2)).min(to);
            [Some((before, first.value)), Some((after, last.value))]
        }
        _ => [None, None],
    };
    let level = |(stretch, value): (std::ops::Range<Stamp>, f64)| {
        (stretch.start < stretch.end).then_some(Segment {
            from: stretch.start,
            to: stretch.end,
            start: value,
            end: value,
        })
    };
    ends.into_iter().flatten().filter_map(level)
}

/// The sensor's observed refresh interval: the median time between two changes of its value. If readings are less
/// frequent than changes, this is the reading interval, and the true refresh interval is shorter.
pub(in crate::analysis) fn observed_refresh(points: &[Point]) -> Option<Nanos> {
    let mut changes = Vec::new();
    let mut last: Option<Point> = None;
    for point in points {
        match last {
            Some(before) if before.value == point.value => {}
            Some(before) => {
                changes.push((point.at - before.at).0);
                last = Some(*point);
            }
            None => last = Some(*point),
        }
    }
    // The first value had been there for an unknown time before.
    let mut changes: Vec<i64> = changes.into_iter().skip(1).collect();
    let enough = changes.len() >= 5;
    upper_median(&mut changes, Ord::cmp).filter(|_| enough).map(Nanos)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: i64 = 1_000_000;

    fn points(values: impl IntoIterator<Item = (i64, f64)>) -> Vec<Point> {
        let point = |(ms, value)| Point {
            at: Stamp(ms * MS),
            value,
            low: value,
            high: value,
        };
        values.into_iter().map(point).collect()
    }

    fn window(from: i64, to: i64) -> (Stamp, Stamp) {
        (Stamp(from * MS), Stamp(to * MS))
    }

    const TENTH: Nanos = Nanos(100 * MS);

    #[test]
    fn a_ramp_integrates_to_its_area_also_where_the_window_cuts_it() {
        let ramp = points((0..=100).map(|i| (i * 100, i as f64 * 100.0)));
        // P(t) = 1000 mW/s × t: from 2.05 s to 4.05 s the mean is 3050 mW.
        let found = integrate(&ramp, TENTH, window(2050, 4050)).unwrap();
        assert!((found.mean_mw - 3050.0).abs() < 1e-9, "{found:?}");
        assert_eq!(found.covered, Nanos(2000 * MS));
        assert_eq!(found.peak_mw, 4000.0, "a reading, not an interpolated value");
        assert_eq!(found.count, 20);
    }

    #[test]
    fn a_gap_is_in_neither_the_mean_nor_the_covered_time() {
        let readings = (0..=10)
            .map(|i| (i * 100, 1000.0))
            .chain((30..=40).map(|i| (i * 100, 3000.0)));
        let found = integrate(&points(readings), TENTH, window(0, 4000)).unwrap();
        assert_eq!(found.covered, Nanos(2000 * MS));
        assert!((found.mean_mw - 2000.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_read_is_nothing_known_and_zero_is_zero() {
        assert_eq!(integrate(&[], TENTH, window(0, 1000)), None);
        assert_eq!(
            integrate(&points([(50, 5.0)]), TENTH, window(0, 1000)),
            None,
            "one reading"
        );
        assert_eq!(
            integrate(&points([(0, 5.0), (100, 5.0)]), TENTH, window(500, 900)),
            None
        );
        let zero = integrate(&points((0..10).map(|i| (i * 100, 0.0))), TENTH, window(0, 900)).unwrap();
        assert_eq!((zero.mean_mw, zero.peak_mw), (0.0, 0.0));
    }

    #[test]
    fn the_refresh_is_seen_from_the_values() {
        let seen = points((0..500).map(|i| (i * 10, ((i * 10) / 100 % 7) as f64)));
        assert_eq!(observed_refresh(&seen), Some(TENTH));
        assert_eq!(observed_refresh(&points((0..500).map(|i| (i * 10, 4.0)))), None);
    }

    #[test]
    fn a_rate_that_changes_is_no_gap_and_a_gap_is_one_at_either_rate() {
        // 10 W for 60 s; from the middle on one reading a second, and a load of twice that.
        let quick = (0..300).map(|i| (i * 100, 10_000.0));
        let slow = (0..=30).map(|i| (30_000 + i * 1_000, 20_000.0));
        for (early, late) in [(true, false), (false, true), (true, true)] {
            let kept = |&(ms, _): &(i64, f64)| {
                (early || !(10_000..15_000).contains(&ms)) && (late || !(40_000..46_500).contains(&ms))
            };
            let readings = points(quick.clone().chain(slow.clone()).filter(kept));
            for period in [TENTH, Nanos::ZERO] {
                let found = integrate(&readings, period, window(0, 60_000)).unwrap();
                let missing = i64::from(!early) * 5_100 + i64::from(!late) * 8_000;
                assert_eq!(found.covered, Nanos((60_000 - missing) * MS), "{period}");
                if early && late {
                    // But for the trapezium of the step.
                    let mj = found.mean_mw * 60.0;
                    assert!((mj - 900_000.0).abs() < 1_000.0, "{mj}");
                }
            }
        }
    }

    #[test]
    fn the_last_reading_stands_for_the_usual_time_after_it() {
        let readings = points((0..=98).map(|i| (i * 100, 5_000.0)));
        let covered = |to| integrate(&readings, TENTH, window(0, to)).unwrap().covered;
        assert_eq!(covered(9_890), Nanos(9_890 * MS));
        assert_eq!(covered(12_000), Nanos(9_900 * MS));
    }

    proptest! {
        #[test]
        fn the_mean_lies_between_the_least_and_the_highest_reading(
            values in proptest::collection::vec(-1e5f64..1e6, 2..200),
            from in 0i64..5000, length in 1i64..20_000,
        ) {
            let readings = points(values.iter().enumerate().map(|(i, v)| (i as i64 * 100, *v)));
            if let Some(found) = integrate(&readings, TENTH, window(from, from + length)) {
                let least = values.iter().copied().fold(f64::MAX, f64::min);
                let most = values.iter().copied().fold(f64::MIN, f64::max);
                prop_assert!(found.mean_mw >= least - 1e-6 && found.mean_mw <= most + 1e-6);
                prop_assert!(found.covered.0 <= length * MS);
            }
        }

        #[test]
        fn two_halves_add_up_to_the_whole(cut in 1i64..9_899) {
            let readings = points((0..100).map(|i| (i * 100, ((i * 37) % 11) as f64 * 100.0)));
            let energy = |w| {
                let found: Option<Integral> = integrate(&readings, TENTH, w);
                found.map_or(0.0, |i| i.mean_mw * i.covered.as_secs_f64())
            };
            let whole = energy(window(0, 9_900));
            prop_assert!((energy(window(0, cut)) + energy(window(cut, 9_900)) - whole).abs() < 1e-6);
        }
    }

    #[test]
    fn the_usual_distance_is_the_median_of_those_around() {
        // Distances of 10, 20, 30, … ms.
        let rarer: Vec<Point> = points((0..30).map(|i| (i * (i + 1) * 5, 1_000.0)));
        for (n, ms) in [(0, 40), (2, 50), (5, 60), (10, 110), (23, 240), (28, 270)] {
            assert_eq!(usual(&rarer, n), Nanos(ms * MS), "{n}");
        }
    }

    #[test]
    fn after_its_last_reading_power_stands_for_the_distance_that_was_usual_there() {
        let mut at = 0;
        let distances = [100; 20].into_iter().chain([1_000; 8]).chain([100; 2]);
        let later = distances.map(|distance| {
            at += distance;
            (at, 2_000.0)
        });
        let readings = points(std::iter::once((0, 2_000.0)).chain(later.collect::<Vec<_>>()));
        let end = readings[readings.len() - 1].at.0 / MS;
        let (sum, covered) = area(&readings, TENTH, window(end, end + 5_000));
        assert_eq!((sum, covered), (2_000.0 * 1e9, Nanos(1_000 * MS)));
    }

    #[test]
    fn a_sensor_renews_its_value_after_the_median_time_between_changes() {
        let mut at = 0;
        let changes = [7, 50, 10, 40, 20, 30].into_iter().enumerate();
        let later = changes.map(|(n, distance)| {
            at += distance;
            (at, n as f64)
        });
        let readings = points(std::iter::once((0, -1.0)).chain(later.collect::<Vec<_>>()));
        assert_eq!(observed_refresh(&readings), Some(Nanos(30 * MS)));
    }

    #[test]
    fn three_and_a_half_distances_are_no_gap_and_more_is_one() {
        let once_late = |usual: i64, late: i64| {
            let after = (0..8).map(move |n| (7 * usual + late + n * usual, 1_000.0));
            points((0..8).map(|n| (n * usual, 1_000.0)).chain(after))
        };
        for (usual, period) in [(10, TENTH), (100, Nanos::ZERO), (100, TENTH)] {
            assert!(is_linked(&once_late(usual, 350), 7, period), "{usual}, {period}");
            assert!(!is_linked(&once_late(usual, 351), 7, period), "{usual}, {period}");
        }
    }
}
