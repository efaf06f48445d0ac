//! Energy of a window by a counter, with the power of the same line beside it: pure arithmetic.
//!
//! A counter that is read as often as power is taken as it is. One that is read more seldom counts between its first
//! and its last reading in the window, and power is integrated over the two edges. Definitions are in
//! docs/measurement.md.

use super::energy::{area, longest, observed_refresh};
use super::track::Point;
use crate::units::{Nanos, Stamp};

/// A counter is read as often as power where its readings are at most this many times as far apart.
const AS_OFTEN: i64 = 2;
/// Of a normal distribution, this many standard deviations on either side hold 95 %.
const Z95: f64 = 1.96;

/// What a counter, and power beside it, say of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Counted {
    /// An energy.
    By(Metered),
    /// It went back within the window: it was reset, or wrapped.
    WentBack,
    /// It did not move, though there was power.
    StoodStill,
    /// Nothing that power alone would not say better.
    Unknown,
}

/// Energy of a window that was counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Metered {
    /// Energy, mJ.
    pub(super) mj: f64,
    /// Half of its 95 % interval, mJ.
    pub(super) half: f64,
    /// By what share integrated power is off the counter, over the time that the counter counted.
    pub(super) power_off: Option<f64>,
}

/// The power of the same line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beside<'a> {
    /// Its readings.
    pub(super) points: &'a [Point],
    /// The usual time between two of them.
    pub(super) spacing: Nanos,
    /// How long it may take until a change of the load is in a reading: the longest of refresh, window of the sensor's mean
    /// and distance of readings.
    pub(super) lag: Nanos,
    /// The sensor's smallest difference, mW.
    pub(super) step: f64,
}

/// Energy over a part of the window by power.
struct Part {
    /// Where power was read, mJ.
    mj: f64,
    /// Where it was not, seconds.
    missing_s: f64,
    /// Half of the 95 % interval of `mj`.
    half: f64,
}

/// Energy from `from` to `to` by the counter's readings, which usually are `every` apart.
pub(super) fn counted(
    counter: &[Point],
    every: Nanos,
    power: &Beside<'_>,
    window: (Stamp, Stamp),
) -> Counted {
    if every.0 <= power.spacing.0.saturating_mul(AS_OFTEN) {
        return alone(counter, power, window);
    }
    match with_edges(counter, power, window) {
        Some(found) => found,
        // A line between readings far outside of the window says less than power within it.
        None if power.missing(window) <= longest(power.spacing) => Counted::Unknown,
        None => alone(counter, power, window),
    }
}

/// By the counter alone. It is exact but for one of its steps, at the mean power.
fn alone(counter: &[Point], power: &Beside<'_>, (from, to): (Stamp, Stamp)) -> Counted {
    let mj = match growth(counter, (from, to)) {
        Growth::By(mj) if mj == 0.0 && power.is_on((from, to)) => return Counted::StoodStill,
        Growth::By(mj) => mj,
        Growth::WentBack => return Counted::WentBack,
        Growth::Unknown => return Counted::Unknown,
    };
    let mean_mw = mj / seconds(from, to);
    let step = observed_refresh(counter).unwrap_or(power.spacing);
    Counted::By(Metered {
        mj,
        half: mean_mw * step.as_secs_f64(),
        power_off: power.off(mean_mw, (from, to)),
    })
}

/// By the counter between its readings in the window, and by power before and after; none where there are no two
/// readings, or where power does not cover the edges.
fn with_edges(counter: &[Point], power: &Beside<'_>, (from, to): (Stamp, Stamp)) -> Option<Counted> {
    let inside = within(counter, (from, to));
    let (first, last) = (inside.first()?, inside.last()?);
    if first.at >= last.at {
        return None;
    }
    if inside.windows(2).any(|pair| pair[1].value < pair[0].value) {
        return Some(Counted::WentBack);
    }
    if first.value == last.value && power.is_on((first.at, last.at)) {
        return Some(Counted::StoodStill);
    }
    let (before, after) = (power.part((from, first.at))?, power.part((last.at, to))?);
    let grown = last.value - first.value;
    let mean_mw = grown / seconds(first.at, last.at);
    let power_off = power.off(mean_mw, (first.at, last.at));
    let by_power = before.mj + after.mj;
    let guessed = mean_mw * (before.missing_s + after.missing_s);
    // The counter was renewed at most so long before it was read, and both its readings may be behind by what the line took
    // since. Where readings are rarer than renewals these are not seen: a card counts what its sensor reads, so that it is not
    // behind power; and where two readings are the same it is behind by their distance.
    let behind = power.lag + stood_still(inside);
    let highest = power
        .near(first.at)
        .chain(power.near(last.at))
        .fold(mean_mw, f64::max);
    let step = highest * behind.as_secs_f64();
    let scatter = (step.powi(2) + before.half.powi(2) + after.half.powi(2)).sqrt();
    Some(Counted::By(Metered {
        mj: grown + by_power + guessed,
        half: scatter + power_off.unwrap_or(0.0).abs() * by_power + guessed,
        power_off,
    }))
}

impl<'a> Beside<'a> {
    /// The power of a part of the window; none where it was not read for longer than from one reading to the next.
    fn part(&self, (from, to): (Stamp, Stamp)) -> Option<Part> {
        let longest = longest(self.spacing);
        let (area, covered) = area(self.points, longest, (from, to));
        let missing = to - from - covered;
        (missing <= longest).then(|| Part {
            mj: area / 1e9,
            missing_s: missing.as_secs_f64(),
            half: self.half((from, to)),
        })
    }

    /// Half of the 95 % interval of power integrated over a time that is too short for means over blocks. A reading stands
    /// for the time until the next is renewed, and is off by what two neighbours differ by: the variance of one is half of
    /// the mean square of these differences. Half a step of the sensor is added.
    fn half(&self, (from, to): (Stamp, Stamp)) -> f64 {
        let mut squares = 0.0;
        let mut last: Option<Point> = None;
        for point in within(self.points, (from - self.lag, to + self.lag)) {
            match last {
                // Readings that are closer than renewals repeat each other.
                Some(before) if (point.at - before.at).0 < self.lag.0 - self.spacing.0 / 2 => {}
                Some(before) => {
                    squares += (point.value - before.value).powi(2) / 2.0;
                    last = Some(*point);
                }
                None => last = Some(*point),
            }
        }
        let stands_for = self.lag.min(to - from).as_secs_f64();
        Z95 * stands_for * squares.sqrt() + self.step / 2.0 * seconds(from, to)
    }

    /// By what share the mean power is off another; none where there is neither.
    fn off(&self, mean_mw: f64, window: (Stamp, Stamp)) -> Option<f64> {
        let (area, covered) = area(self.points, longest(self.spacing), window);
        (covered > Nanos::ZERO && mean_mw > 0.0).then(|| area / covered.0 as f64 / mean_mw - 1.0)
    }

    /// For how long of a window power was not read.
    fn missing(&self, (from, to): (Stamp, Stamp)) -> Nanos {
        to - from - area(self.points, longest(self.spacing), (from, to)).1
    }

    /// Readings that may tell of the time in which a counter's reading was renewed.
    fn near(&self, at: Stamp) -> impl Iterator<Item = f64> + 'a {
        let reach = self.lag + self.spacing;
        within(self.points, (at - reach, at + reach))
            .iter()
            .map(|point| point.value)
    }

    /// Whether most readings of a window show power.
    fn is_on(&self, window: (Stamp, Stamp)) -> bool {
        let readings = within(self.points, window);
        readings.iter().filter(|point| point.value > 0.0).count() * 2 > readings.len()
    }
}

/// The longest time in which a counter's readings were the same.
fn stood_still(readings: &[Point]) -> Nanos {
    let runs = readings.chunk_by(|a, b| a.value == b.value);
    let length = |run: &[Point]| Some(run.last()?.at - run.first()?.at);
    runs.filter_map(length).max().unwrap_or(Nanos::ZERO)
}

fn within(points: &[Point], (from, to): (Stamp, Stamp)) -> &[Point] {
    let first = points.partition_point(|point| point.at < from);
    let last = points.partition_point(|point| point.at <= to);
    points.get(first..last).unwrap_or_default()
}

fn seconds(from: Stamp, to: Stamp) -> f64 {
    (to - from).as_secs_f64().max(f64::MIN_POSITIVE)
}

/// What a counter says by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Growth {
    /// It grew by this, mJ.
    By(f64),
    /// It went back within the window: it was reset, or wrapped.
    WentBack,
    /// It has no two values around the window.
    Unknown,
}

/// The growth of a counter from `from` to `to`. A counter moves in steps; what it says is true when it moves, so
/// values in between lie on the line between the moves around them.
fn growth(points: &[Point], (from, to): (Stamp, Stamp)) -> Growth {
    let mut moves: Vec<(Stamp, f64)> = Vec::new();
    for point in points {
        match moves.last() {
            Some(&(_, value)) if value == point.value => {}
            _ => moves.push((point.at, point.value)),
        }
    }
    // One that stands still has grown by nothing, as far as it has been seen.
    if let ([first, ..], [(_, value)]) = (points, moves.as_slice())
        && let Some(last) = points.last()
        && first.at < last.at
        && first.at <= from
        && last.at >= to
    {
        debug_assert!(value.is_finite());
        return Growth::By(0.0);
    }
    let around = |pair: &&[(Stamp, f64)]| pair[1].0 > from && pair[0].0 < to;
    if moves.windows(2).filter(around).any(|pair| pair[1].1 < pair[0].1) {
        return Growth::WentBack;
    }
    match value_at(&moves, from).zip(value_at(&moves, to)) {
        Some((start, end)) => Growth::By(end - start),
        None => Growth::Unknown,
    }
}

/// The value at a moment, between two moves or, by at most one usual step, beyond the last or before the first.
fn value_at(moves: &[(Stamp, f64)], at: Stamp) -> Option<f64> {
    let after = moves
        .partition_point(|(stamp, _)| *stamp < at)
        .clamp(1, moves.len().max(2) - 1);
    let (a, b) = (moves.get(after - 1)?, moves.get(after)?);
    let length = (b.0 - a.0).0;
    let along = (at - a.0).0 as f64 / length.max(1) as f64;
    (length > 0 && (-2.0..=3.0).contains(&along)).then_some(a.1 + (b.1 - a.1) * along)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    const TENTH: Nanos = Nanos(100 * MS);
    const FIVE_SECONDS: Nanos = Nanos(5_000 * MS);

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

    fn beside(points: &[Point]) -> Beside<'_> {
        Beside {
            points,
            spacing: TENTH,
            lag: TENTH,
            step: 1.0,
        }
    }

    fn by(found: Counted) -> Metered {
        match found {
            Counted::By(metered) => metered,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_counter_in_steps_is_read_between_its_moves() {
        // 10 W: 1000 mJ each 100 ms, read each 30 ms.
        let stairs = points((0..200).map(|i| (i * 30, ((i * 30) / 100) as f64 * 1000.0)));
        let Growth::By(mj) = growth(&stairs, window(1010, 5010)) else {
            panic!("it grew")
        };
        assert!((mj - 40_000.0).abs() < 400.0, "{mj}");
    }

    #[test]
    fn a_counter_that_goes_back_says_nothing_of_the_window_around_it() {
        let reset = points([(0, 500.0), (100, 600.0), (200, 5.0), (300, 105.0), (400, 205.0)]);
        assert_eq!(growth(&reset, window(50, 350)), Growth::WentBack);
        assert_eq!(growth(&reset, window(200, 400)), Growth::By(200.0));
        assert_eq!(growth(&points([(0, 5.0)]), window(0, 100)), Growth::Unknown);
        assert_eq!(growth(&[], window(0, 100)), Growth::Unknown);
        assert_eq!(
            growth(&points([(0, 7.0), (100, 7.0)]), window(0, 100)),
            Growth::By(0.0)
        );
        assert_eq!(
            growth(&points([(0, 1.0), (100, 2.0)]), window(0, 5000)),
            Growth::Unknown,
            "it was seen for a fiftieth of the window"
        );
    }

    /// Power read each 100 ms from -10 s to 70 s, and the counter of the same at these moments: the load is a function of
    /// milliseconds that changes at whole tenths of a second.
    fn read(load: impl Fn(i64) -> f64, moments: impl IntoIterator<Item = i64>) -> (Vec<Point>, Vec<Point>) {
        let power = points((-100..=700).map(|i| (i * 100, load(i * 100))));
        let counted = |to: i64| 1e9 + (-100..to / 100).map(|i| load(i * 100) / 10.0).sum::<f64>();
        (power, points(moments.into_iter().map(|ms| (ms, counted(ms)))))
    }

    #[test]
    fn constant_power_is_counted_to_the_millijoule_and_its_interval_is_the_counters_step() {
        let (power, counter) = read(|_| 300_000.0, (0..14).map(|n| n * 5_000 + 1_700));
        let found = by(counted(
            &counter,
            FIVE_SECONDS,
            &beside(&power),
            window(30, 20_030),
        ));
        assert!((found.mj - 6_000_000.0).abs() < 1e-3, "{found:?}");
        // 300 W for 100 ms are 30 J; half a milliwatt over both edges is next to nothing.
        assert!((found.half - 30_000.0).abs() < 10.0, "{found:?}");
        assert!(found.power_off.unwrap().abs() < 1e-9);
    }

    #[test]
    fn a_change_between_two_readings_of_the_counter_goes_to_the_phase_that_it_is_of() {
        // 100 W before and after, 700 W for 20 s; the counter is read 2.5 s from both changes.
        let load = |ms: i64| {
            if (0..20_000).contains(&ms) {
                700_000.0
            } else {
                100_000.0
            }
        };
        let (power, counter) = read(load, (-1..13).map(|n| n * 5_000 + 2_500));
        let measured = window(0, 20_000);
        let truth = 14_000_000.0;
        let Growth::By(line) = growth(&counter, measured) else {
            panic!("it grew")
        };
        // Half of each of both changes' five seconds is taken for a mean of 400 W: 750 J short, twice.
        assert_eq!(line, truth - 1_500_000.0, "on a line it is 10.7 % short");
        let found = by(counted(&counter, FIVE_SECONDS, &beside(&power), measured));
        // What is left is the trapezium of a single reading.
        assert!((found.mj - truth).abs() <= 30_000.0, "{found:?}");
        assert!(
            (found.mj - truth).abs() <= found.half && found.half < 0.02 * truth,
            "{found:?}"
        );
        // The idle seconds before it are nobody else's.
        let idle = by(counted(
            &counter,
            FIVE_SECONDS,
            &beside(&power),
            window(40_000, 55_000),
        ));
        assert!((idle.mj - 1_500_000.0).abs() < 1e-3, "{idle:?}");
    }

    #[test]
    fn a_load_that_changes_within_an_edge_widens_the_interval_and_is_in_the_figure() {
        let load = |ms: i64| if ms < 2_000 { 100_000.0 } else { 500_000.0 };
        let (power, counter) = read(load, (0..12).map(|n| n * 5_000 + 4_000));
        let found = by(counted(
            &counter,
            FIVE_SECONDS,
            &beside(&power),
            window(0, 20_000),
        ));
        let truth = 2.0 * 100_000.0 + 18.0 * 500_000.0;
        assert!((found.mj - truth).abs() <= found.half, "{found:?}");
        // 1.96 × 100 ms × 400 W ÷ √2, beside the counter's step of 50 J.
        let edge = 1.96 * 0.1 * 400_000.0 / 2f64.sqrt();
        assert!((found.half - edge.hypot(50_000.0)).abs() < 10.0, "{found:?}");
        let (steady, counter) = read(|_| 500_000.0, (0..12).map(|n| n * 5_000 + 4_000));
        let steady = by(counted(
            &counter,
            FIVE_SECONDS,
            &beside(&steady),
            window(0, 20_000),
        ));
        assert!(steady.half < found.half);
    }

    #[test]
    fn power_that_is_off_the_counter_is_said_and_widens_the_interval() {
        let (mut power, counter) = read(|_| 300_000.0, (0..14).map(|n| n * 5_000 + 2_000));
        power.iter_mut().for_each(|point| point.value *= 1.1);
        let found = by(counted(
            &counter,
            FIVE_SECONDS,
            &beside(&power),
            window(0, 20_000),
        ));
        assert!((found.power_off.unwrap() - 0.1).abs() < 1e-9);
        // 15 s by the counter, 5 s by power.
        assert!((found.mj - (4_500_000.0 + 1_650_000.0)).abs() < 1e-3, "{found:?}");
        assert!((found.mj - 6_000_000.0).abs() < found.half);
    }

    #[test]
    fn a_counter_that_went_back_or_stood_still_says_nothing() {
        let (power, mut counter) = read(|_| 300_000.0, (0..14).map(|n| n * 5_000 + 2_000));
        let said = |counter: &[Point]| counted(counter, FIVE_SECONDS, &beside(&power), window(0, 30_000));
        for point in counter.iter_mut().skip(3) {
            point.value -= 1e9;
        }
        assert_eq!(said(&counter), Counted::WentBack);
        for point in &mut counter {
            point.value = 7.0;
        }
        assert_eq!(said(&counter), Counted::StoodStill);
        // Nothing counted of no power is a measured nothing; and so it is of a counter that is read as often.
        let off = points((0..=300).map(|i| (i * 100, 0.0)));
        let none = counted(&counter, FIVE_SECONDS, &beside(&off), window(0, 30_000));
        assert_eq!(by(none).mj, 0.0);
        let often = points((0..=300).map(|i| (i * 100, 7.0)));
        assert_eq!(
            by(counted(&often, TENTH, &beside(&off), window(0, 30_000))).mj,
            0.0
        );
        assert_eq!(
            counted(&often, TENTH, &beside(&power), window(0, 30_000)),
            Counted::StoodStill
        );
    }

    #[test]
    fn a_counter_that_moves_more_seldom_than_it_is_read_has_the_interval_of_its_step() {
        let (power, mut counter) = read(|_| 300_000.0, (0..60).map(|n| n * 1_000));
        // It is renewed each 4 s.
        for n in 0..counter.len() {
            counter[n].value = counter[n - n % 4].value;
        }
        let found = by(counted(
            &counter,
            Nanos(1_000 * MS),
            &beside(&power),
            window(1_500, 21_500),
        ));
        assert!((found.mj - 6_000_000.0).abs() <= found.half, "{found:?}");
        // 3 s that it stood still and 100 ms; it seems to have counted 20 s in 19, and to be off power by 5 % of the edges.
        assert!(
            (found.half - (6e6 / 19.0 * 3.1 + 0.05 * 0.3e6)).abs() < 100.0,
            "{found:?}"
        );
    }

    #[test]
    fn without_two_readings_power_is_taken_and_without_power_the_line_between_readings() {
        let (power, counter) = read(|_| 300_000.0, (0..14).map(|n| n * 5_000 + 2_000));
        let short = window(3_000, 8_000);
        assert_eq!(
            counted(&counter, FIVE_SECONDS, &beside(&power), short),
            Counted::Unknown
        );
        let unread = beside(&[]);
        let found = by(counted(&counter, FIVE_SECONDS, &unread, short));
        assert!((found.mj - 1_500_000.0).abs() < 1e-3, "{found:?}");
        assert_eq!(found.power_off, None);
        // An edge of which power says nothing.
        let late = points((100..=700).map(|i| (i * 100, 300_000.0)));
        let (_, counter) = read(|_| 300_000.0, (-2..14).map(|n| n * 5_000 + 4_000));
        let found = by(counted(&counter, FIVE_SECONDS, &beside(&late), window(0, 30_000)));
        assert!((found.mj - 9_000_000.0).abs() < 1e-3, "{found:?}");
        assert!(found.half >= 0.3e6 * 5.0, "as far as it is known: {found:?}");
        // An end that the last reading of power misses by less than a gap.
        let ends = points((0..=199).map(|i| (i * 100, 300_000.0)));
        let found = by(counted(&counter, FIVE_SECONDS, &beside(&ends), window(0, 20_000)));
        assert!((found.mj - 6_000_000.0).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn a_counter_that_is_read_as_often_as_power_is_taken_by_itself() {
        let (power, counter) = read(|ms| 1_000.0 * (ms % 700) as f64, (0..400).map(|n| n * 100));
        let lagging: Vec<Point> = power
            .iter()
            .map(|p| Point {
                value: p.value / 2.0,
                ..*p
            })
            .collect();
        let found = by(counted(&counter, TENTH, &beside(&lagging), window(1_234, 30_567)));
        let Growth::By(mj) = growth(&counter, window(1_234, 30_567)) else {
            panic!("it grew")
        };
        assert_eq!(found.mj, mj, "whatever power says");
    }

    /// A card as they are: a load that jumps every half second to eight, with noise upon it; a sensor that averages over
    /// 25 ms of each 100 ms and is off by half a percent (one standard deviation); a counter that is renewed each 100 ms at
    /// another moment; both read by a program that is late by up to 5 ms, power each 100 ms and the counter each 5 s.
    struct Card {
        /// Energy since the start at each 5 ms, mJ.
        truth: Vec<f64>,
        power: Vec<Point>,
        counter: Vec<Point>,
    }

    fn card(seed: u64) -> Card {
        use rand_distr::{Distribution, Normal, Uniform};
        use rand_pcg::rand_core::SeedableRng;
        let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
        let mut uniform = |from: f64, to: f64| Uniform::new(from, to).unwrap().sample(&mut random);
        let (sensor_phase, counter_phase, read_phase) = (
            uniform(0.0, 20.0) as usize,
            uniform(0.0, 20.0) as usize,
            uniform(0.0, 5_000.0) as i64,
        );
        let mut truth = vec![0.0];
        let (mut level, mut until, mut wander) = (100e3, 0.0, 0.0);
        let mut noise_of = rand_pcg::Pcg64::seed_from_u64(seed + 1_000_000);
        let noise = Normal::new(0.0, 8e3).unwrap();
        for n in 0..18_000 {
            if n as f64 * 5.0 >= until {
                level = uniform(80e3, 700e3);
                until = n as f64 * 5.0 + uniform(500.0, 8_000.0);
            }
            wander = 0.9 * wander + noise.sample(&mut noise_of);
            truth.push(truth[n] + (level + wander) * 0.005);
        }
        let gain = 1.0 + Normal::new(0.0, 0.005).unwrap().sample(&mut noise_of);
        let renewed = |n: usize, phase: usize| n - (n + 20 - phase) % 20;
        let read = |random: &mut dyn FnMut(f64, f64) -> f64, ms: i64, value: &dyn Fn(usize) -> f64| {
            let ns = ms * MS + (random(0.0, 5.0) * MS as f64) as i64;
            let value = value((ns / (5 * MS)) as usize);
            Point {
                at: Stamp(ns),
                value,
                high: value,
            }
        };
        let sensor = |n: usize| {
            let n = renewed(n, sensor_phase);
            (gain * (truth[n] - truth[n - 5]) / 0.025).round()
        };
        let count = |n: usize| truth[renewed(n, counter_phase)].round();
        let power = (2..890).map(|n| read(&mut uniform, n * 100, &sensor)).collect();
        let counter = (0..17)
            .map(|n| read(&mut uniform, n * 5_000 + read_phase + 200, &count))
            .collect();
        Card {
            truth,
            power,
            counter,
        }
    }

    #[test]
    fn the_interval_holds_the_true_energy_in_most_of_many_runs() {
        for (seconds, narrow) in [(12, 0.025), (60, 0.005)] {
            let (mut held, mut widths, mut errors, mut lines) = (0u32, 0.0, 0.0, 0.0);
            for seed in 0..400 {
                let card = card(seed);
                let (from, to) = (10_000, 10_000 + seconds * 1_000);
                let at = |ms: i64| card.truth[(ms / 5) as usize];
                let truth = at(to) - at(from);
                let found = by(counted(
                    &card.counter,
                    FIVE_SECONDS,
                    &beside(&card.power),
                    window(from, to),
                ));
                let Growth::By(line) = growth(&card.counter, window(from, to)) else {
                    panic!("it grew")
                };
                held += u32::from((found.mj - truth).abs() <= found.half);
                widths += found.half / truth / 400.0;
                errors += (found.mj / truth - 1.0).abs() / 400.0;
                lines += (line / truth - 1.0).abs() / 400.0;
            }
            println!("{seconds} s: {held} of 400, half {widths:.4}, error {errors:.4}, on a line {lines:.4}");
            assert!(held >= 368, "{seconds} s: {held} of 400");
            assert!(widths < narrow, "{seconds} s: {widths}");
            assert!(errors < lines / 5.0, "{seconds} s: {errors}, on a line {lines}");
        }
    }
}
