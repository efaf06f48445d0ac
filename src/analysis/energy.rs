//! From readings of power to energy: pure arithmetic on stamps and values.
//!
//! mW × s = mJ. What counters say is in `counter`; which line is what, and what is added to what, is `power`'s affair;
//! definitions are in docs/measurement.md.

use super::track::Point;
use crate::units::{Nanos, Stamp};

/// A gap is longer than this many times the usual distance of readings.
const GAP: f64 = 3.5;
/// Blocks that a mean's interval is made from, and the least that it takes.
const BLOCKS: (usize, usize) = (20, 5);
/// Student's t, two-sided 95 %, for 4 to 19 degrees of freedom.
const T95: [f64; 16] = [
    2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101,
    2.093,
];

/// Power over a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Integral {
    /// Mean over the time that is covered, mW.
    pub(super) mean_mw: f64,
    /// The highest reading, mW.
    pub(super) peak_mw: f64,
    /// Time in which readings followed one another without a gap.
    pub(super) covered: Nanos,
    /// Readings in the window.
    pub(super) count: usize,
}

/// Power integrated from `from` to `to` by the trapezoidal rule; readings further apart than `spacing` allows
/// leave a gap, which is in neither the mean nor the covered time. `None` where nothing is covered.
pub(super) fn integrate(points: &[Point], spacing: Nanos, (from, to): (Stamp, Stamp)) -> Option<Integral> {
    let (area, covered) = area(points, longest(spacing), (from, to));
    let inside = points.iter().filter(|point| (from..=to).contains(&point.at));
    let peak_mw = inside.clone().map(|point| point.high).reduce(f64::max)?;
    (covered > Nanos::ZERO).then(|| Integral {
        mean_mw: area / covered.0 as f64,
        peak_mw,
        covered,
        count: inside.count(),
    })
}

/// The longest time between two readings that leaves no gap, where they usually are `spacing` apart.
pub(super) fn longest(spacing: Nanos) -> Nanos {
    Nanos((spacing.0 as f64 * GAP) as i64)
}

/// The area below the readings in a window, in mW × ns, and the time that it covers.
pub(super) fn area(points: &[Point], longest: Nanos, (from, to): (Stamp, Stamp)) -> (f64, Nanos) {
    let mut covered = Nanos::ZERO;
    let mut area = 0.0;
    // The pairs around the window: from the last reading before it to the first after it.
    let first = points.partition_point(|point| point.at <= from).max(1) - 1;
    for pair in points.get(first..).unwrap_or_default().windows(2) {
        let (a, b) = (pair[0], pair[1]);
        if a.at >= to {
            break;
        }
        let length = (b.at - a.at).0;
        let (start, end) = (a.at.max(from), b.at.min(to));
        if length <= 0 || length > longest.0 || end <= start {
            continue;
        }
        let value_at = |at: Stamp| a.value + (b.value - a.value) * ((at - a.at).0 as f64 / length as f64);
        let part = end - start;
        area += (value_at(start) + value_at(end)) / 2.0 * part.0 as f64;
        covered += part;
    }
    (area, covered)
}

/// How often a sensor is seen to renew its value: the median time between two changes. Where readings are rarer
/// than changes this is the distance of readings, and the true refresh is shorter.
pub(super) fn observed_refresh(points: &[Point]) -> Option<Nanos> {
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
    // The first change is seen from somewhere within a value's life.
    let mut changes: Vec<i64> = changes.into_iter().skip(1).collect();
    let middle = changes.len() / 2;
    (changes.len() >= 5).then(|| Nanos(*changes.select_nth_unstable(middle).1))
}

/// Half of the 95 % interval of a mean power: from the scatter of means over blocks of at least ten refreshes
/// each (Student's t), and half a step of the sensor. `None` where the window holds fewer than five such blocks.
pub(super) fn half_interval(
    points: &[Point],
    spacing: Nanos,
    refresh: Nanos,
    step: Option<f64>,
    (from, to): (Stamp, Stamp),
) -> Option<f64> {
    let (most, least) = BLOCKS;
    let window = (to - from).0;
    let block = (refresh.0.max(spacing.0))
        .checked_mul(10)
        .filter(|block| *block > 0)?;
    let blocks = usize::try_from(window / block).ok()?.min(most);
    if blocks < least {
        return None;
    }
    let edge = |n: usize| Stamp(from.0 + (i128::from(window) * n as i128 / blocks as i128) as i64);
    let means: Vec<f64> = (0..blocks)
        .filter_map(|n| integrate(points, spacing, (edge(n), edge(n + 1))))
        .map(|block| block.mean_mw)
        .collect();
    if means.len() < least {
        return None;
    }
    let n = means.len() as f64;
    let mean = means.iter().sum::<f64>() / n;
    let variance = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let t = T95.get(means.len() - least).copied()?;
    Some(t * (variance / n).sqrt() + step.unwrap_or(0.0) / 2.0)
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
    fn the_interval_holds_the_mean_of_noise_and_widens_by_the_sensors_step() {
        let noise = |i: i64| ((i * 7919) % 101) as f64 - 50.0;
        let readings = points((0..3000).map(|i| (i * 100, 5000.0 + noise(i))));
        let all = window(0, 299_900);
        let half = half_interval(&readings, TENTH, TENTH, None, all).unwrap();
        assert!(half > 0.0 && half < 10.0, "{half}");
        let stepped = half_interval(&readings, TENTH, TENTH, Some(152.0), all).unwrap();
        assert!((stepped - half - 76.0).abs() < 1e-9);
        assert_eq!(
            half_interval(&readings, TENTH, TENTH, None, window(0, 4000)),
            None
        );
    }

    /// A sensor that renews its value every 100 ms, rounds it to steps of 152 mW, and is read every 30 ms, over a load
    /// whose power wanders (each renewal keeps 0.8 of the last one's deviation) around 9 W.
    #[test]
    fn the_interval_holds_the_true_mean_in_most_of_many_runs() {
        use rand_distr::{Distribution, Normal};
        use rand_pcg::rand_core::SeedableRng;
        let noise = Normal::new(0.0, 300.0).unwrap();
        let all = window(0, 59_900);
        let spacing = Nanos(30 * MS);
        // Whole, and with a third of the window unread.
        let (mut held, mut widths) = ([0u32; 2], [0.0; 2]);
        for seed in 0..400 {
            let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
            let mut deviation = 0.0f64;
            let renewed: Vec<f64> = (0..700)
                .map(|_| {
                    deviation = 0.8 * deviation + noise.sample(&mut random);
                    ((9_000.0 + deviation) / 152.0).round() * 152.0
                })
                .collect();
            let whole = (0..2_000).map(|i| (i * 30, renewed[(i * 30 / 100) as usize]));
            let gap = |&(ms, _): &(i64, f64)| !(20_000..40_000).contains(&ms);
            let both = [points(whole.clone()), points(whole.filter(gap))];
            for (n, readings) in both.iter().enumerate() {
                let mean = integrate(readings, spacing, all).unwrap().mean_mw;
                let half = half_interval(readings, spacing, TENTH, Some(152.0), all).unwrap();
                held[n] += u32::from((mean - 9_000.0).abs() <= half);
                widths[n] += half;
            }
        }
        // 95 % promised; blocks of ten renewals still depend on each other a little, and half a step makes up for it.
        assert!(
            held.iter().all(|held| (368..=400).contains(held)),
            "{held:?} of 400"
        );
        assert!(
            widths[1] > 1.1 * widths[0],
            "what was not seen widens it: {widths:?}"
        );
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
}
