//! A signal as a curve over the time that its readings cover: quantiles of time, and the time above a limit.
//!
//! Between two readings that follow one another without a gap the curve is a straight line, as for the mean
//! (`energy`); in a gap there is no curve, and that time counts in nothing here. Which curves there are, and how many
//! readings a figure needs, is decided by `power`, `sensors` and `budget`; definitions are in docs/measurement.md.

use crate::analysis::gathering::energy::{Segment, segments};
use crate::analysis::gathering::track::Point;
use crate::units::{Nanos, Stamp};

/// Straight lines in order of time that do not overlap.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::analysis) struct Curve {
    segments: Vec<Segment>,
}

impl Curve {
    /// The curve of readings within a window.
    pub(in crate::analysis) fn of(points: &[Point], period: Nanos, window: (Stamp, Stamp)) -> Curve {
        Curve {
            segments: segments(points, period, window),
        }
    }

    /// A curve of these segments, which are in order and do not overlap.
    pub(in crate::analysis) fn of_segments(segments: &[Segment]) -> Curve {
        Curve {
            segments: segments.to_vec(),
        }
    }

    /// Without the time at zero: a clock at zero is a unit that is switched off. Between a reading and a zero it is taken to be switched
    /// halfway, and to keep its value until then.
    pub(in crate::analysis) fn above_zero(self) -> Curve {
        let on = |segment: Segment| {
            let Segment { from, to, start, end } = segment;
            let middle = from + Nanos((to - from).0 / 2);
            match (start > 0.0, end > 0.0) {
                (true, true) => Some(segment),
                (true, false) => Some(Segment {
                    to: middle,
                    end: start,
                    ..segment
                }),
                (false, true) => Some(Segment {
                    from: middle,
                    start: end,
                    ..segment
                }),
                (false, false) => None,
            }
        };
        Curve {
            segments: self.segments.into_iter().filter_map(on).collect(),
        }
    }

    /// The sum of curves, where all of them are.
    pub(in crate::analysis) fn sum(curves: &[&Curve]) -> Curve {
        if let [one] = curves {
            return (*one).clone();
        }
        let ends = |segment: &Segment| [segment.from, segment.to];
        let all = curves.iter().flat_map(|curve| &curve.segments);
        let mut cuts: Vec<Stamp> = all.flat_map(ends).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let mut rest: Vec<&[Segment]> = curves.iter().map(|curve| &curve.segments[..]).collect();
        let mut sum = Vec::new();
        for cut in cuts.windows(2) {
            let (from, to) = (cut[0], cut[1]);
            let mut whole = Segment {
                from,
                to,
                start: 0.0,
                end: 0.0,
            };
            let everywhere = rest.iter_mut().all(|rest| {
                while let [first, after @ ..] = *rest
                    && first.to <= from
                {
                    *rest = after;
                }
                // Between two cuts no segment begins or ends.
                let here = rest.first().filter(|first| first.from <= from);
                here.is_some_and(|here| {
                    whole.start += here.value_at(from);
                    whole.end += here.value_at(to);
                    true
                })
            });
            if everywhere {
                sum.push(whole);
            }
        }
        Curve { segments: sum }
    }

    /// The time in which there is a curve.
    pub(in crate::analysis) fn covered(&self) -> Nanos {
        self.segments
            .iter()
            .fold(Nanos::ZERO, |sum, segment| sum + segment.length())
    }

    /// The mean over that time.
    pub(in crate::analysis) fn mean(&self) -> Option<f64> {
        let covered = self.covered().0;
        let area = |segment: &Segment| (segment.start + segment.end) / 2.0 * segment.length().0 as f64;
        (covered > 0).then(|| self.segments.iter().map(area).sum::<f64>() / covered as f64)
    }

    /// The highest value.
    pub(in crate::analysis) fn highest(&self) -> Option<f64> {
        let ends = self
            .segments
            .iter()
            .flat_map(|segment| [segment.start, segment.end]);
        ends.reduce(f64::max)
    }

    /// The smallest value that is not exceeded in this share of the time.
    pub(in crate::analysis) fn quantile(&self, share: f64) -> Option<f64> {
        let mut values: Vec<f64> = self
            .segments
            .iter()
            .flat_map(|segment| [segment.start, segment.end])
            .collect();
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        let wanted = share * self.covered().0 as f64;
        let place = values.partition_point(|&value| self.time_up_to(value) < wanted);
        let high = *values.get(place).or(values.last())?;
        let Some(&low) = place.checked_sub(1).and_then(|before| values.get(before)) else {
            return Some(high);
        };
        // Between two values that occur as ends, the time grows evenly; at a value that lasts, it leaps.
        let (begin, end) = (self.time_up_to(low), self.time_below(high));
        match end > begin && wanted < end {
            true => Some(low + (high - low) * ((wanted - begin) / (end - begin)).clamp(0.0, 1.0)),
            false => Some(high),
        }
    }

    /// The parts of it that are above a limit, in order of time.
    pub(in crate::analysis) fn above(&self, limit: f64) -> Vec<Segment> {
        self.segments
            .iter()
            .filter_map(|segment| part_above(segment, limit))
            .collect()
    }

    /// The time in which it is at most this value, ns.
    fn time_up_to(&self, value: f64) -> f64 {
        self.time(value, |level| level <= value)
    }

    /// The time in which it is below this value, ns.
    fn time_below(&self, value: f64) -> f64 {
        self.time(value, |level| level < value)
    }

    fn time(&self, value: f64, level_counts: impl Fn(f64) -> bool) -> f64 {
        let of = |segment: &Segment| {
            let (low, high) = (segment.start.min(segment.end), segment.start.max(segment.end));
            let share = match low < high {
                true => ((value - low) / (high - low)).clamp(0.0, 1.0),
                false => f64::from(u8::from(level_counts(low))),
            };
            share * segment.length().0 as f64
        };
        self.segments.iter().map(of).sum()
    }
}

/// The part of a line above a limit; none if that has no length.
fn part_above(segment: &Segment, limit: f64) -> Option<Segment> {
    let crossing = || {
        let share = (limit - segment.start) / (segment.end - segment.start);
        segment.from + Nanos((segment.length().0 as f64 * share) as i64)
    };
    let part = match (segment.start > limit, segment.end > limit) {
        (true, true) => *segment,
        (true, false) => Segment {
            to: crossing(),
            end: limit,
            ..*segment
        },
        (false, true) => Segment {
            from: crossing(),
            start: limit,
            ..*segment
        },
        (false, false) => return None,
    };
    (part.from < part.to).then_some(part)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: i64 = 1_000_000;
    const TENTH: Nanos = Nanos(100 * MS);

    fn points(values: impl IntoIterator<Item = (i64, f64)>) -> Vec<Point> {
        let point = |(ms, value)| Point {
            at: Stamp(ms * MS),
            value,
            low: value,
            high: value,
        };
        values.into_iter().map(point).collect()
    }

    fn curve(values: impl IntoIterator<Item = (i64, f64)>, to: i64) -> Curve {
        Curve::of(&points(values), TENTH, (Stamp(0), Stamp(to * MS)))
    }

    #[test]
    fn quantiles_are_of_time_and_not_of_readings() {
        // Two seconds at 5 W in few readings, then half a second at 10 W in many.
        let rare = (0..20).map(|i| (i * 100, 5_000.0));
        let often = (0..=50).map(|i| (2_000 + i * 10, 10_000.0));
        let found = curve(rare.chain(often), 2_500);
        assert_eq!(found.covered(), Nanos(2_500 * MS));
        assert_eq!(found.quantile(0.5), Some(5_000.0));
        assert_eq!(found.quantile(0.95), Some(10_000.0));
        // Half of the step, which takes a tenth of a second.
        let middle = found.quantile(1_950.0 / 2_500.0).unwrap();
        assert!((middle - 7_500.0).abs() < 1e-6, "{middle}");
    }

    #[test]
    fn of_a_ramp_each_share_of_time_is_that_share_of_its_height() {
        let ramp = curve((0..=100).map(|i| (i * 100, i as f64 * 10.0)), 10_000);
        for share in [0.0, 0.25, 0.5, 0.95, 1.0] {
            let found = ramp.quantile(share).unwrap();
            assert!((found - share * 1_000.0).abs() < 1e-6, "{share}: {found}");
        }
        assert_eq!(ramp.highest(), Some(1_000.0));
        assert!((ramp.mean().unwrap() - 500.0).abs() < 1e-9);
    }

    #[test]
    fn what_was_not_read_counts_in_nothing() {
        let before = (0..=10).map(|i| (i * 100, 1_000.0));
        let after = (30..=40).map(|i| (i * 100, 3_000.0));
        let found = curve(before.chain(after), 4_000);
        assert_eq!(found.covered(), Nanos(2_000 * MS));
        assert_eq!(found.quantile(0.5), Some(1_000.0));
        assert_eq!(found.quantile(0.51), Some(3_000.0));
        let above: i64 = found.above(2_000.0).iter().map(|part| part.length().0).sum();
        assert_eq!(above, 1_000 * MS);
        assert_eq!(curve([], 1_000).quantile(0.5), None);
        assert_eq!(curve([], 1_000).mean(), None);
    }

    #[test]
    fn a_limit_is_crossed_where_the_line_meets_it() {
        let triangle = curve([(0, 0.0), (100, 10.0), (200, 0.0)], 200);
        let above = triangle.above(5.0);
        let times: Vec<(i64, i64)> = above
            .iter()
            .map(|part| (part.from.0 / MS, part.to.0 / MS))
            .collect();
        assert_eq!(times, [(50, 100), (100, 150)]);
        assert!(triangle.above(10.0).is_empty(), "a limit that is met is kept");
        assert_eq!(triangle.above(-1.0).len(), 2);
    }

    #[test]
    fn a_clock_that_is_off_counts_in_nothing() {
        let clock = [(0, 900.0), (100, 900.0), (200, 0.0), (300, 900.0), (400, 900.0)];
        let on = curve(clock, 400).above_zero();
        assert_eq!((on.covered(), on.quantile(0.0)), (Nanos(300 * MS), Some(900.0)));
        // Off in every other reading, and lower in the second half.
        let clock = (0..=40).map(|i| {
            let mhz = if i < 20 { 1_200.0 } else { 600.0 };
            (i * 100, if i % 2 == 0 { 0.0 } else { mhz })
        });
        let on = curve(clock, 4_000).above_zero();
        assert_eq!(on.covered(), Nanos(2_000 * MS));
        assert_eq!((on.mean(), on.highest()), (Some(900.0), Some(1_200.0)));
    }

    #[test]
    fn a_sum_is_where_all_of_its_curves_are() {
        let long = curve((0..=40).map(|i| (i * 100, 1_000.0)), 4_000);
        let short = Curve::of(
            &points((0..=80).map(|i| (1_030 + i * 25, i as f64))),
            TENTH,
            (Stamp(1_030 * MS), Stamp(3_030 * MS)),
        );
        let sum = Curve::sum(&[&long, &short]);
        assert_eq!(sum.covered(), Nanos(2_000 * MS));
        assert_eq!(sum.highest(), Some(1_080.0));
        assert!((sum.mean().unwrap() - 1_040.0).abs() < 1e-9);
        assert_eq!(Curve::sum(&[&long]), long);
        assert_eq!(Curve::sum(&[]).covered(), Nanos::ZERO);
    }

    /// Readings at uneven times, some of them in a gap.
    fn readings() -> impl Strategy<Value = Vec<(i64, f64)>> {
        let steps = proptest::collection::vec((1i64..120, prop_oneof![Just(7.0), -50.0f64..50.0]), 2..60);
        steps.prop_map(|steps| {
            let mut at = 0;
            steps
                .into_iter()
                .map(|(step, value)| {
                    at += if step > 115 { step * 30 } else { step };
                    (at, value)
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn a_quantile_leaves_its_share_of_the_time_at_or_below_it(readings in readings(), share in 0.0f64..=1.0) {
            let found = curve(readings, 100_000);
            let covered = found.covered().0 as f64;
            let value = found.quantile(share).unwrap();
            let slack = covered * 1e-9 + 1.0;
            prop_assert!(found.time_up_to(value) + slack >= share * covered);
            prop_assert!(found.time_below(value) - slack <= share * covered);
            prop_assert!(value <= found.highest().unwrap());
        }

        #[test]
        fn time_above_and_time_up_to_a_limit_are_all_of_the_time(readings in readings(), limit in -60.0f64..60.0) {
            let found = curve(readings, 100_000);
            let parts = found.above(limit);
            let above: i64 = parts.iter().map(|part| part.length().0).sum();
            let all = above as f64 + found.time_up_to(limit);
            // Each crossing is cut to whole nanoseconds.
            prop_assert!((all - found.covered().0 as f64).abs() <= 130.0, "{all}");
            prop_assert!(parts.windows(2).all(|pair| pair[0].to <= pair[1].from));
            prop_assert!(parts.iter().all(|part| part.start >= limit && part.end >= limit));
        }

        #[test]
        fn a_curve_and_itself_are_twice_the_curve(readings in readings(), share in 0.0f64..=1.0) {
            let found = curve(readings, 100_000);
            let twice = Curve::sum(&[&found, &found]);
            prop_assert_eq!(twice.covered(), found.covered());
            let (one, two) = (found.quantile(share).unwrap(), twice.quantile(share).unwrap());
            prop_assert!((two - 2.0 * one).abs() < 1e-6, "{one} and {two}");
        }
    }
}
