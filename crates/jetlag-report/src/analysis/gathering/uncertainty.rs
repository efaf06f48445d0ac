//! The 95 % interval of the energy of a window, from its sensors and readings, or the reason why there is none.
//!
//! Readings are a sample of the power. A sample has a known error only if it was taken at random times, or if it
//! covers the whole time. A sensor that looks only part of the time, at a fixed interval, sees a load that repeats in
//! step with it always at the same point of its cycle: its readings agree with each other and are all wrong. In that
//! case there is no interval. Definitions, and the measured coverage of the intervals, are in docs/measurement.md.

use std::borrow::Cow;
use std::fmt;

use jetlag_stats::normal::WITHIN_95;
use serde::{Serialize, Serializer};

use crate::analysis::gathering::energy::{integrate, is_linked, usual};
use crate::analysis::gathering::track::Point;
use crate::units::{Nanos, Stamp};

/// Renewals of the slowest sensor in a window, at least.
const RENEWALS: i64 = 10;
/// A window of averaging that is as many renewals long makes readings that follow each other smoothly.
const SMOOTH: f64 = 2.0;
/// Share of the window that may lie in gaps.
pub(in crate::analysis) const UNSEEN: f64 = 0.01;
/// A sensor whose averaging window covers this share of the reading interval counts as covering all of it.
const ALL: f64 = 0.95;
/// Coefficient of variation of the reading intervals from which readings count as taken at random times: it is 0.41 if
/// each is uniformly distributed within its own period.
const AT_RANDOM: f64 = 0.3;
/// Rule of three: something that all of `n` readings missed fills at most this ÷ n of the time, with 95 % confidence.
const RULE_OF_THREE: f64 = 3.0;
/// Readings that a window must hold if they are a sample in time: fewer say too little about short bursts.
const SAMPLE: usize = 300;

/// Why an energy has no interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoInterval {
    /// There were no readings for too long.
    Gaps,
    /// Evenly spaced readings cover only part of the time.
    Blind,
    /// The averaging window of a reading is unknown.
    Window,
    /// A sensor of unknown resolution always returned the same value.
    Step,
    /// The window contains too few renewals.
    Short,
}

impl fmt::Display for NoInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoInterval::Gaps => "power was not read for more than 1 % of the time",
            NoInterval::Blind => "evenly spaced readings cover only part of the time",
            NoInterval::Window => "the averaging time of a reading is unknown",
            NoInterval::Step => "the readings never change, and the sensor's resolution is unknown",
            NoInterval::Short => "the measured time is too short",
        })
    }
}

impl Serialize for NoInterval {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What a reading stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analysis) enum Sight {
    /// The mean over this time before it.
    Mean(Nanos),
    /// An exponentially weighted mean of all of the past with this time constant: a first-order filter.
    Filter(Nanos),
    /// The value at the moment of the reading.
    Moment,
    /// The source does not say.
    Unknown,
}

/// The readings of one line, and the properties of its sensor.
#[derive(Clone, Debug)]
pub(in crate::analysis) struct Line<'a> {
    pub(in crate::analysis) points: Cow<'a, [Point]>,
    /// Planned reading interval; zero if unknown.
    pub(in crate::analysis) period: Nanos,
    /// Readings that each point is made of.
    pub(in crate::analysis) each: u32,
    /// Stated refresh interval of the sensor; zero if unknown.
    pub(in crate::analysis) refresh: Nanos,
    /// Stated refresh interval, else the observed one.
    pub(in crate::analysis) renewed: Nanos,
    pub(in crate::analysis) sight: Sight,
    /// The sensor's resolution, mW.
    pub(in crate::analysis) step: Option<f64>,
}

impl Line<'_> {
    /// The longest usual distance of two readings in a window.
    pub(in crate::analysis) fn spacing(&self, (from, to): (Stamp, Stamp)) -> Nanos {
        let inside = |n: &usize| {
            let (a, b) = (self.points[*n].at, self.points[*n + 1].at);
            b >= from && a <= to
        };
        let pairs = 0..self.points.len().saturating_sub(1);
        pairs
            .filter(inside)
            .map(|n| usual(&self.points, n))
            .max()
            .unwrap_or(self.period)
    }

    /// Whether readings were taken at random within their periods.
    fn at_random(&self, (from, to): (Stamp, Stamp)) -> bool {
        let (mut count, mut sum, mut squares) = (0.0f64, 0.0f64, 0.0f64);
        for n in 0..self.points.len().saturating_sub(1) {
            let (a, b) = (self.points[n].at, self.points[n + 1].at);
            let usual = usual(&self.points, n);
            if a < from || b > to || usual <= Nanos::ZERO || !is_linked(&self.points, n, self.period) {
                continue;
            }
            // Compared with the usual distance nearby, since the rate may change.
            let gap = (b - a).0 as f64 / usual.0 as f64;
            count += 1.0;
            sum += gap;
            squares += gap * gap;
        }
        let mean = sum / count;
        // Distances of points that stand for k merged readings vary less.
        let least = AT_RANDOM / f64::from(self.each).powf(1.5);
        count > 2.0 && (squares / count - mean * mean).max(0.0).sqrt() >= least * mean
    }

    /// Whether means over this time leave no gap between two readings.
    fn covers(&self, over: Nanos, window: (Stamp, Stamp)) -> bool {
        over.0 as f64 * f64::from(self.each) >= self.spacing(window).0 as f64 * ALL
    }

    /// Whether no part of a load can stay hidden from the readings of a window.
    fn sees(&self, window: (Stamp, Stamp)) -> Result<(), NoInterval> {
        let over = match self.sight {
            Sight::Mean(over) | Sight::Filter(over) => over,
            Sight::Moment => Nanos::ZERO,
            Sight::Unknown => return Err(NoInterval::Window),
        };
        // The sensor's own rhythm cannot be changed by sampling.
        let by_itself = self.sight == Sight::Moment || over.0 as f64 >= self.refresh.0 as f64 * ALL;
        match by_itself && (self.covers(over, window) || self.at_random(window)) {
            true => Ok(()),
            false => Err(NoInterval::Blind),
        }
    }

    /// The sensor's resolution: as stated, else as observed.
    fn resolution(&self) -> Result<f64, NoInterval> {
        let seen = || {
            let steps = self
                .points
                .windows(2)
                .map(|pair| (pair[1].value - pair[0].value).abs());
            steps.filter(|step| *step > 0.0).reduce(f64::min)
        };
        self.step
            .filter(|step| *step > 0.0)
            .or_else(seen)
            .ok_or(NoInterval::Step)
    }

    /// Power at a moment, interpolated between two readings; none in a gap.
    fn at(&self, at: Stamp) -> Option<f64> {
        let after = self.points.partition_point(|point| point.at < at);
        let b = self.points.get(after)?;
        if b.at == at {
            return Some(b.value);
        }
        let n = after.checked_sub(1)?;
        let a = self.points.get(n)?;
        let along = (at - a.at).0 as f64 / (b.at - a.at).0.max(1) as f64;
        is_linked(&self.points, n, self.period).then_some(a.value + (b.value - a.value) * along)
    }
}

/// What a filter's lag removes from a window's energy or adds to it, mW × ns. For power P the filter shows y, with lag
/// × y′ = P − y, so ∫ P = ∫ y + lag × (y at the end − y at the start). Only an upper bound of the lag is known, so all
/// of this is an uncertainty and not a correction.
fn lagged(line: &Line<'_>, (from, to): (Stamp, Stamp)) -> f64 {
    let Sight::Filter(lag) = line.sight else {
        return 0.0;
    };
    let at = |at: Stamp| {
        let nearest = || line.points.iter().min_by_key(|point| (point.at - at).0.abs());
        line.at(at).or_else(|| Some(nearest()?.value))
    };
    match (at(from), at(to)) {
        (Some(first), Some(last)) => lag.0 as f64 * (last - first).abs(),
        _ => 0.0,
    }
}

/// Sum of the lines at the reading times of the one that is read least often. The sum keeps what they have in common:
/// a load that all of them follow moves it by the sum of their changes.
fn added<'a>(lines: &'a [Line<'a>]) -> Option<Cow<'a, [Point]>> {
    let (first, others) = lines.split_first()?;
    if others.is_empty() {
        return Some(Cow::Borrowed(&*first.points));
    }
    let slowest = lines.iter().min_by_key(|line| line.points.len())?;
    let sum = |point: &Point| -> Option<Point> {
        let value: Option<f64> = lines.iter().map(|line| line.at(point.at)).sum();
        value.map(|value| Point {
            at: point.at,
            value,
            low: value,
            high: value,
        })
    };
    Some(slowest.points.iter().filter_map(sum).collect())
}

/// Half of the 95 % interval of the mean power of all lines together over a window, mW:
///
/// - what lies between readings ([`between`]); of lines that follow one load it adds up;
/// - at the ends what the readings around the two differ by, for as long as what was drawn may not be in a reading yet: the time
///   that it averages over, and a renewal. That much of the end is left out, and as much from before the window is in;
/// - for a filter, its time constant × the difference of its readings at both ends;
/// - half a step of each sensor;
/// - for time without readings anything from nothing to twice the highest reading of all;
/// - where readings are a sample in time, what none of them may have met: the highest reading of all, for 3 ÷ n of the time.
///
/// How much the load scatters is no error of its integral: what is read is known, however much it changes.
pub(in crate::analysis) fn half_mw(lines: &[Line<'_>], window: (Stamp, Stamp)) -> Result<f64, NoInterval> {
    let (from, to) = window;
    let length = (to - from).0;
    let (mut step, mut highest, mut unmet, mut missed) = (0.0f64, 0.0f64, 0.0f64, 0.0f64);
    let (mut slowest, mut around, mut late, mut lag) = (Nanos::ZERO, Nanos::ZERO, 0.0f64, 0.0f64);
    for line in lines {
        line.sees(window)?;
        let spacing = line.spacing(window);
        let over = match line.sight {
            Sight::Mean(over) | Sight::Filter(over) => over,
            Sight::Moment | Sight::Unknown => Nanos::ZERO,
        };
        let covers = line.covers(over, window);
        if !covers {
            let inside = line.points.iter().filter(|point| (from..=to).contains(&point.at));
            let count = inside.count() * line.each as usize;
            if count < SAMPLE {
                return Err(NoInterval::Short);
            }
            unmet = unmet.max(RULE_OF_THREE / count as f64);
        }
        missed += between(line, covers, window);
        step += line.resolution()?;
        highest += line.points.iter().map(|point| point.high).fold(0.0, f64::max);
        slowest = slowest.max(spacing).max(line.renewed);
        lag += lagged(line, window);
        // A filter's own lag is told above.
        let over = match line.sight {
            Sight::Mean(over) => over,
            Sight::Filter(_) | Sight::Moment | Sight::Unknown => Nanos::ZERO,
        };
        around = around.max(over + line.renewed).max(spacing);
        late = late.max((over + line.renewed).0 as f64);
    }
    let enough = slowest.0.checked_mul(RENEWALS).filter(|least| *least > 0);
    if enough.is_none_or(|least| length < least) {
        return Err(NoInterval::Short);
    }
    let period = lines.iter().map(|line| line.period).max().unwrap_or(Nanos::ZERO);
    let points = added(lines).ok_or(NoInterval::Short)?;
    let whole = integrate(&points, period, window).ok_or(NoInterval::Gaps)?;
    let unseen = 1.0 - whole.covered.0 as f64 / length.max(1) as f64;
    if unseen > UNSEEN {
        return Err(NoInterval::Gaps);
    }
    let mean = whole.mean_mw;
    let ends = range(&points, [from, to].map(|end| (end - around, end + around)));
    let half = (missed + ends * late + lag) / length as f64
        + step / 2.0
        + unseen.max(0.0) * (2.0 * highest - mean).max(mean)
        + unmet * (highest - mean).max(0.0);
    // Absurd readings.
    half.is_finite().then_some(half).ok_or(NoInterval::Step)
}

/// Half of the 95 % interval of what a line's integral misses between its readings, mW × ns. From one reading to the next power
/// changed by their difference, nobody knows when: the error of this stretch is the difference × a time, and errors of stretches
/// are independent. That time is, as a standard deviation,
///
/// - of readings that are a sample in time, and of filters, whose readings are samples of what they show: the stretch ÷ √2, since
///   each reading is a draw from what was around it, and their difference is that of two draws;
/// - of means over several renewals: the stretch ÷ √12, as of a step anywhere within it;
/// - of means over the time since the reading before, which tile the time: what the stretch is longer or shorter than such a
///   mean; and for a sensor with a rhythm of its own, the chance that it renewed its value not once since the reading before,
///   but twice or not at all. At most that of a sample.
fn between(line: &Line<'_>, covers: bool, window: (Stamp, Stamp)) -> f64 {
    let squares = match line.sight {
        Sight::Mean(_) if covers => squares(line, covers, window, 1),
        // Draws that follow each other may resemble each other, where a load repeats in step with them: those of every second
        // count as well.
        _ => squares(line, covers, window, 1).max(squares(line, covers, window, 2)),
    };
    WITHIN_95 * squares.sqrt()
}

/// The variance of that, from the differences of readings that are so many apart.
fn squares(line: &Line<'_>, covers: bool, (from, to): (Stamp, Stamp), apart: usize) -> f64 {
    let each = f64::from(line.each);
    let renewed = line.renewed.0 as f64;
    let pairs = line.points.iter().zip(line.points.iter().skip(apart)).enumerate();
    pairs
        .filter(|(n, (a, b))| {
            let is_linked = (*n..n + apart).all(|n| is_linked(&line.points, n, line.period));
            is_linked && b.at > from && a.at < to
        })
        .map(|(_, (a, b))| {
            let stretch = (b.at - a.at).0 as f64 / apart as f64;
            let sample = stretch * stretch / 2.0;
            let time = match line.sight {
                Sight::Mean(over) if covers && over.0 as f64 >= SMOOTH * renewed.max(stretch) => {
                    stretch.max(renewed).powi(2) / 12.0
                }
                Sight::Mean(over) if covers => {
                    let (over, renewed) = (over.0 as f64 * each, renewed * each);
                    (stretch - over).powi(2) + renewed * (stretch - renewed).abs()
                }
                _ => sample,
            };
            (b.value - a.value).powi(2) * time.min(sample)
        })
        .sum()
}

/// Range of the readings of these windows.
fn range(points: &[Point], windows: [(Stamp, Stamp); 2]) -> f64 {
    let of = |(from, to): (Stamp, Stamp)| {
        let first = points.partition_point(|point| point.at < from);
        let last = points.partition_point(|point| point.at <= to);
        points.get(first..last).unwrap_or_default().iter()
    };
    let inside = windows.into_iter().flat_map(of).map(|point| point.value);
    let (low, high) = inside.fold((f64::MAX, f64::MIN), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    (high - low).max(0.0)
}

#[cfg(test)]
mod tests;
