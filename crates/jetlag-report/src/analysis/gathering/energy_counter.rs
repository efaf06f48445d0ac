//! Energy of a window from an energy counter and the power of the same line: pure arithmetic.
//!
//! A counter that is read as often as power is used alone. One that is read less often gives the energy between its
//! first and its last reading in the window, and power is integrated over the two ends. Definitions are in
//! docs/measurement.md.

use jetlag_stats::normal::WITHIN_95;

use crate::analysis::gathering::energy::{area, longest};
use crate::analysis::gathering::track::Point;
use crate::units::{Nanos, Stamp};

/// A counter is read as often as power if its readings are at most this many times as far apart.
const AS_OFTEN: i64 = 2;

/// What a counter and the power of the same line show for a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::analysis) enum Counted {
    /// The energy that the counter measured.
    By(Metered),
    /// It went backwards within the window: it was reset, or it wrapped.
    WentBack,
    /// It did not move, though there was power.
    StoodStill,
    /// Nothing that power alone would not show better.
    Unknown,
}

/// Energy of a window that was counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::analysis) struct Metered {
    /// Energy of the window, mJ.
    pub(in crate::analysis) mj: f64,
    /// Half of its 95 % interval, mJ.
    pub(in crate::analysis) half: f64,
    /// Relative difference of integrated power from the counter, over the time that the counter covers.
    pub(in crate::analysis) power_off: Option<f64>,
}

/// The power of the same line.
#[derive(Clone, Copy, Debug)]
pub(in crate::analysis) struct Beside<'a> {
    /// Its power readings in order of time.
    pub(in crate::analysis) points: &'a [Point],
    /// Usual time between two of these readings.
    pub(in crate::analysis) spacing: Nanos,
    /// How long a change of the load may take until a reading shows it: the longest of refresh interval, averaging
    /// window and reading interval.
    pub(in crate::analysis) lag: Nanos,
    /// The sensor's resolution, mW.
    pub(in crate::analysis) step: f64,
}

/// Energy over a part of the window, integrated from power.
struct Part {
    /// Where power was read, mJ.
    mj: f64,
    /// Where it was not, seconds.
    missing_s: f64,
    /// Half of the 95 % interval of `mj`.
    half: f64,
}

/// Energy from `from` to `to` by the counter's readings, which usually are `every` apart.
pub(in crate::analysis) fn counted(
    counter: &[Point],
    every: Nanos,
    power: &Beside<'_>,
    window: (Stamp, Stamp),
) -> Counted {
    if every.0 <= power.spacing.0.saturating_mul(AS_OFTEN) {
        return alone(counter, every, power, window);
    }
    match with_edges(counter, power, window) {
        Some(found) => found,
        // Interpolating between readings far outside of the window is worse than power within it.
        None if power.missing(window) <= longest(power.spacing) => Counted::Unknown,
        None => alone(counter, every, power, window),
    }
}

/// By the counter alone. Between two of its steps the counter does not show when energy was drawn.
fn alone(counter: &[Point], every: Nanos, power: &Beside<'_>, (from, to): (Stamp, Stamp)) -> Counted {
    let mj = match growth(counter, (from, to)) {
        Growth::By(mj) if mj == 0.0 && power.is_on((from, to)) => return Counted::StoodStill,
        Growth::By(mj) => mj,
        Growth::WentBack => return Counted::WentBack,
        Growth::Unknown => return Counted::Unknown,
    };
    let mean_mw = mj / seconds(from, to);
    let moves = moves(counter);
    Counted::By(Metered {
        mj,
        half: worst(&moves, every, from) + worst(&moves, every, to),
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
    // A reading is behind by what the line took since the counter was renewed. Readings that are rarer than renewals do
    // not show these: it is taken to be no later than power is, as a card counts what its sensor reads. Where readings
    // are the same, it is behind by their distance too.
    let behind = power.lag + stood_still(inside);
    let highest = power
        .near(first.at)
        .chain(power.near(last.at))
        .fold(mean_mw, f64::max);
    let step = highest * behind.as_secs_f64();
    let scatter = (step.powi(2) + before.half.powi(2) + after.half.powi(2)).sqrt();
    let by_scatter = scatter + beyond(power_off.unwrap_or(0.0)) * by_power;
    // A sensor that looks for a part of the time may be off for a while and right on average.
    let edges: f64 = [first.at - from, to - last.at]
        .map(|edge| power.off_for_a_while(counter, edge))
        .iter()
        .sum();
    Some(Counted::By(Metered {
        mj: grown + by_power + guessed,
        half: by_scatter.max(step.hypot(edges)) + guessed,
        power_off,
    }))
}

/// The relative error of integrated power, from its difference relative to the counter: a value that is too small
/// understates its own error.
fn beyond(off: f64) -> f64 {
    off.abs().max((off / (1.0 + off).max(0.01)).abs())
}

impl<'a> Beside<'a> {
    /// The power of a part of the window; none where it was not read for longer than from one reading to the next.
    fn part(&self, (from, to): (Stamp, Stamp)) -> Option<Part> {
        let longest = longest(self.spacing);
        let (area, covered) = area(self.points, self.spacing, (from, to));
        let missing = to - from - covered;
        (missing <= longest).then(|| Part {
            mj: area / 1e9,
            missing_s: missing.as_secs_f64(),
            half: self.half((from, to)),
        })
    }

    /// Half of the 95 % interval of power integrated over a time that is too short for means over blocks. A reading
    /// stands for the time until the next renewal, and is off by what two neighbours differ by: its variance is half
    /// the mean square of these differences (von Neumann's estimate). Half a step of the sensor is added.
    fn half(&self, (from, to): (Stamp, Stamp)) -> f64 {
        let mut squares = 0.0;
        let mut last: Option<Point> = None;
        for point in within(self.points, (from - self.lag, to + self.lag)) {
            match last {
                // Readings that are closer than the refresh interval repeat the same value.
                Some(before) if (point.at - before.at).0 < self.lag.0 - self.spacing.0 / 2 => {}
                Some(before) => {
                    squares += (point.value - before.value).powi(2) / 2.0;
                    last = Some(*point);
                }
                None => last = Some(*point),
            }
        }
        let stands_for = self.lag.min(to - from).as_secs_f64();
        WITHIN_95 * stands_for * squares.sqrt() + self.step / 2.0 * seconds(from, to)
    }

    /// The possible error of power over a stretch, mJ: from the largest error of mean power between two steps of the
    /// counter, anywhere in the recording. A random error is larger for a shorter stretch, by the root of its length.
    fn off_for_a_while(&self, counter: &[Point], stretch: Nanos) -> f64 {
        let stretch = stretch.as_secs_f64();
        let off = |pair: &[(Stamp, f64)]| -> Option<f64> {
            let ((from, low), (to, high)) = (pair[0], pair[1]);
            let (area, covered) = area(self.points, self.spacing, (from, to));
            let seconds = seconds(from, to);
            (covered >= to - from && high > low).then(|| {
                (area / 1e9 - (high - low)).abs() / seconds * (stretch * seconds.max(stretch)).sqrt()
            })
        };
        moves(counter).windows(2).filter_map(off).fold(0.0, f64::max)
    }

    /// Relative difference of one mean power from another; none where both are zero.
    fn off(&self, mean_mw: f64, window: (Stamp, Stamp)) -> Option<f64> {
        let (area, covered) = area(self.points, self.spacing, window);
        (covered > Nanos::ZERO && mean_mw > 0.0).then(|| area / covered.0 as f64 / mean_mw - 1.0)
    }

    /// How much of a window was not covered by power readings.
    fn missing(&self, (from, to): (Stamp, Stamp)) -> Nanos {
        to - from - area(self.points, self.spacing, (from, to)).1
    }

    /// Readings that may tell of the time in which a counter's reading was renewed.
    fn near(&self, at: Stamp) -> impl Iterator<Item = f64> + 'a {
        let reach = self.lag + self.spacing;
        within(self.points, (at - reach, at + reach))
            .iter()
            .map(|point| point.value)
    }

    /// Whether most power readings of a window are above zero.
    fn is_on(&self, window: (Stamp, Stamp)) -> bool {
        let readings = within(self.points, window);
        readings.iter().filter(|point| point.value > 0.0).count() * 2 > readings.len()
    }
}

/// The longest time for which a counter's readings did not change.
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
    let moves = moves(points);
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
    let within = |pair: &&[(Stamp, f64)]| pair[1].0 > from && pair[0].0 < to;
    if moves.windows(2).filter(within).any(|pair| pair[1].1 < pair[0].1) {
        return Growth::WentBack;
    }
    match value_at(&moves, from).zip(value_at(&moves, to)) {
        Some((start, end)) => Growth::By(end - start),
        None => Growth::Unknown,
    }
}

/// The readings at which a counter had moved.
fn moves(points: &[Point]) -> Vec<(Stamp, f64)> {
    let mut moves: Vec<(Stamp, f64)> = Vec::new();
    for point in points {
        match moves.last() {
            Some(&(_, value)) if value == point.value => {}
            _ => moves.push((point.at, point.value)),
        }
    }
    moves
}

/// By how much the value at a moment may be off at most: all that was drawn between the moves around it may have been
/// before it, or after; and a move is seen up to one reading after it was.
fn worst(moves: &[(Stamp, f64)], every: Nanos, at: Stamp) -> f64 {
    let Some((a, b)) = around(moves, at) else {
        return 0.0;
    };
    let length = (b.0 - a.0).0.max(1) as f64;
    let along = (at - a.0).0 as f64 / length;
    (b.1 - a.1).abs() * (along.abs().max((1.0 - along).abs()) + every.0 as f64 / length)
}

/// The two moves around a moment, or those next to it.
fn around(moves: &[(Stamp, f64)], at: Stamp) -> Option<((Stamp, f64), (Stamp, f64))> {
    let after = moves
        .partition_point(|(stamp, _)| *stamp < at)
        .clamp(1, moves.len().max(2) - 1);
    Some((*moves.get(after - 1)?, *moves.get(after)?))
}

/// The value at a moment, between two moves or, by at most one usual step, beyond the last or before the first.
fn value_at(moves: &[(Stamp, f64)], at: Stamp) -> Option<f64> {
    let (a, b) = around(moves, at)?;
    let length = (b.0 - a.0).0;
    let along = (at - a.0).0 as f64 / length.max(1) as f64;
    (length > 0 && (-2.0..=3.0).contains(&along)).then_some(a.1 + (b.1 - a.1) * along)
}

#[cfg(test)]
mod tests;
