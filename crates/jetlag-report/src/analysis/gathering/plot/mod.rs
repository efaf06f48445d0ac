//! The data of a run's plots: series that are short enough for a page and still contain every extreme.
//!
//! Response times over time are collected while frames go by, in slices of equal width, each with its minimum,
//! maximum and mean. There are never more than 1 024: when a run outgrows them, the width doubles and neighbours are
//! merged. So memory is bounded, no extreme is lost, and the order of frames does not matter. Distributions and
//! signals are reduced at the end. How it looks is decided by the report.

mod cells;
mod course;
mod frames;
mod overlay;
mod sizes;
mod slices;

pub use course::{Busy, Course, CourseSignal, Moment, Window};
pub(in crate::analysis) use course::{Gatherer, Slow};
pub use frames::{Bar, FramePlot, Hue, Lane, LaneKind, TracedPlot, merged};
pub use overlay::common_axis;
pub(in crate::analysis) use sizes::axis as size_axis;
pub use sizes::{Dot, SizeLine, SizePlot};
pub(in crate::analysis) use slices::Slices;

use crate::analysis::gathering::series::Distribution;
use crate::analysis::gathering::track::{Track, Tracks};
use crate::record::{Part, Quantity, RailRole};
use crate::units::{Nanos, Stamp};

/// Time slices of one signal.
const SIGNAL_SLICES: usize = 400;
/// Bars of a histogram.
const BINS: usize = 48;
/// From this ratio of maximum to median on, an axis is logarithmic: on a linear one, a single slow frame would
/// compress all others into a line.
const WIDE: f64 = 6.0;

/// All plots of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plots {
    /// Length of the time axis, which all plots over time share and which starts with the measured time.
    pub length_s: f64,
    /// Each tenant, in the scenario's order.
    pub tenants: Vec<TenantPlot>,
    /// Signals that were sampled: power lines, clocks, temperatures.
    pub signals: Vec<SignalPlot>,
    /// Frames of a traced phase; empty unless they were asked for ([`Summarizer::draw_frames`](crate::analysis::Summarizer::draw_frames)).
    pub traced: Vec<TracedPlot>,
    /// Which frames ran when; likewise only where it was asked for.
    pub course: Option<Course>,
}

/// The plots of a tenant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TenantPlot {
    /// Response times in order of time; slices without frames are absent.
    pub over_time: Vec<Slice>,
    /// Axis for response times over time, in milliseconds.
    pub axis: Axis,
    /// The distribution of response times; none if no frame was completed.
    pub spread: Option<Spread>,
    /// Durations against the size of the input; none where sizes are not known or hardly differ.
    pub sizes: Option<SizePlot>,
}

/// The frames that were released in a short stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slice {
    /// Its beginning, in seconds after the start of the measured time.
    pub from_s: f64,
    /// Its end, in seconds after the start of the measured time.
    pub to_s: f64,
    /// Shortest, longest and mean response time; none where no frame was completed.
    pub response_ms: Option<LowHighMean>,
    /// Frames released in it that were completed.
    pub completed: u64,
    /// Missed frames, including dropped ones.
    pub missed: u64,
    /// Frames released in it that were dropped.
    pub dropped: u64,
}

/// The extremes and the mean of several values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "the words say it")]
pub struct LowHighMean {
    pub low: f64,
    pub high: f64,
    pub mean: f64,
}

/// The range of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Axis {
    /// The smallest value on it.
    pub from: f64,
    /// The largest value on it.
    pub to: f64,
    /// Whether the scale is logarithmic.
    pub logarithmic: bool,
}

/// Response times together and, where that was measured, alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread {
    /// Axis of both, in milliseconds.
    pub axis: Axis,
    /// Bounds of the histogram's bars, one more than bars.
    pub edges_ms: Vec<f64>,
    /// The tenant together with the others.
    pub together: Shape,
    /// The tenant running alone; none where that was not measured.
    pub alone: Option<Shape>,
}

/// A histogram and an empirical distribution function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape {
    /// Share of frames in each bar.
    pub bars: Vec<f64>,
    /// Response time in milliseconds, and the share of frames that took at most that; from the shortest to the longest.
    pub at_most: Vec<(f64, f64)>,
}

/// One signal over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SignalPlot {
    /// Name of the sampler that read it.
    pub source: String,
    /// Name of the signal.
    pub signal: String,
    /// `mw`, `mhz` or `c`.
    pub unit: String,
    /// Its place in the whole, for a power line.
    pub role: RailRole,
    /// What it is of.
    pub part: Part,
    /// Seconds after the start of the measured time, and what was read around it.
    pub points: Vec<(f64, LowHighMean)>,
}

impl Axis {
    /// Position of a value on the axis, from 0 to 1; values beyond an end are at that end.
    pub fn part(&self, value: f64) -> f64 {
        let part = match self.logarithmic {
            true => (value / self.from).ln() / (self.to / self.from).ln(),
            false => (value - self.from) / (self.to - self.from),
        };
        if part.is_finite() {
            part.clamp(0.0, 1.0)
        } else {
            0.0
        }
    }
}

impl Slice {
    /// Its middle, in seconds after the start of the measured time.
    pub fn at_s(&self) -> f64 {
        f64::midpoint(self.from_s, self.to_s)
    }

    /// This slice and the next one as one.
    pub fn join(&self, next: &Slice) -> Slice {
        let response_ms = match (self.response_ms, next.response_ms) {
            (Some(a), Some(b)) => {
                let (of_a, of_b) = (self.completed as f64, next.completed as f64);
                Some(LowHighMean {
                    low: a.low.min(b.low),
                    high: a.high.max(b.high),
                    mean: (a.mean * of_a + b.mean * of_b) / (of_a + of_b),
                })
            }
            (one, other) => one.or(other),
        };
        Slice {
            from_s: self.from_s,
            to_s: next.to_s,
            response_ms,
            completed: self.completed + next.completed,
            missed: self.missed + next.missed,
            dropped: self.dropped + next.dropped,
        }
    }
}

/// The slices merged until there are at most `most`; every extreme is kept.
pub fn coarser(slices: &[Slice], most: usize) -> Vec<Slice> {
    let (Some(first), Some(last)) = (slices.first(), slices.last()) else {
        return Vec::new();
    };
    let width = (last.to_s - first.from_s) / most.max(1) as f64;
    let place = |slice: &Slice| ((slice.at_s() - first.from_s) / width).floor();
    slices
        .chunk_by(|a, b| place(a) == place(b))
        .filter_map(|slices| slices.iter().copied().reduce(|a, b| a.join(&b)))
        .collect()
}

/// A tenant's data, until it is known where the time axis starts.
#[derive(Debug, Default)]
pub(in crate::analysis) struct Drawn {
    slices: Slices,
    spread: Option<Spread>,
    axis: Axis,
    sizes: Option<SizePlot>,
}

/// What is to be drawn of one tenant.
pub(in crate::analysis) fn drawn(slices: Slices, together: &Distribution, sizes: Option<SizePlot>) -> Drawn {
    Drawn {
        sizes,
        slices,
        spread: spread(together, None),
        axis: axis(&[together]),
    }
}

impl Drawn {
    /// Draws the tenant alone beside it.
    pub(in crate::analysis) fn beside(&mut self, together: &Distribution, alone: &Distribution) {
        self.spread = spread(together, Some(alone));
    }
}

/// Everything that is drawn of a run that was measured in `window`.
pub(in crate::analysis) fn plots(
    drawn: impl Iterator<Item = Drawn>,
    tracks: &Tracks,
    window: Option<(Stamp, Stamp)>,
) -> Plots {
    let Some((from, to)) = window else {
        return Plots {
            tenants: drawn.map(|_| TenantPlot::default()).collect(),
            ..Plots::default()
        };
    };
    Plots {
        length_s: (to - from).as_secs_f64(),
        tenants: drawn
            .map(|drawn| TenantPlot {
                over_time: drawn.slices.finish(from),
                axis: drawn.axis,
                spread: drawn.spread,
                sizes: drawn.sizes,
            })
            .collect(),
        signals: tracks
            .iter()
            .filter_map(|track| signal(track, (from, to)))
            .collect(),
        traced: Vec::new(),
        course: None,
    }
}

/// An axis that includes all values of these distributions.
fn axis(distributions: &[&Distribution]) -> Axis {
    let filled = || {
        distributions
            .iter()
            .filter(|distribution| distribution.count() > 0)
    };
    let ms = |value: Option<Nanos>| value.map(Nanos::as_millis_f64);
    let least = filled().filter_map(|d| ms(d.min())).fold(f64::INFINITY, f64::min);
    let most = filled().filter_map(|d| ms(d.max())).fold(0.0, f64::max);
    let middle = filled()
        .filter_map(|d| ms(d.at_rank(d.count().div_ceil(2))))
        .fold(f64::INFINITY, f64::min);
    if !(least.is_finite() && most > 0.0) {
        return Axis::default();
    }
    let logarithmic = least > 0.0 && most > WIDE * middle;
    Axis {
        from: if logarithmic { least * 0.9 } else { 0.0 },
        to: most * if logarithmic { 1.15 } else { 1.05 },
        logarithmic,
    }
}

fn spread(together: &Distribution, alone: Option<&Distribution>) -> Option<Spread> {
    if together.count() == 0 {
        return None;
    }
    let alone = alone.filter(|alone| alone.count() > 0);
    let both: Vec<&Distribution> = std::iter::once(together).chain(alone).collect();
    let mut axis = axis(&both);
    if !axis.logarithmic {
        // The shape matters here: a linear axis need not start at zero.
        let least = both.iter().filter_map(|d| d.min()).min()?.as_millis_f64();
        let width = (axis.to - least).max(axis.to * 0.01);
        axis.from = (least - width * 0.04).max(0.0);
    }
    let at = |part: f64| match axis.logarithmic {
        true => axis.from * (axis.to / axis.from).powf(part),
        false => axis.from + (axis.to - axis.from) * part,
    };
    let edges_ms: Vec<f64> = (0..=BINS).map(|edge| at(edge as f64 / BINS as f64)).collect();
    let shape = |distribution: &Distribution| {
        // Values on the bounds go into the outermost bars, whatever rounding made of them.
        let inner = edges_ms.iter().skip(1).take(BINS - 1).map(|ms| (ms * 1e6) as i64);
        let edges: Vec<i64> = std::iter::once(i64::MIN).chain(inner).chain([i64::MAX]).collect();
        let below = distribution.counts_up_to(&edges);
        let total = distribution.count() as f64;
        Shape {
            bars: below
                .windows(2)
                .map(|pair| pair[1].saturating_sub(pair[0]) as f64 / total)
                .collect(),
            at_most: at_most(distribution),
        }
    };
    Some(Spread {
        axis,
        together: shape(together),
        alone: alone.map(shape),
        edges_ms,
    })
}

/// The empirical CDF: every half percent, finer towards the maximum, with both ends.
fn at_most(distribution: &Distribution) -> Vec<(f64, f64)> {
    let count = distribution.count();
    let tail = [
        0.992, 0.994, 0.996, 0.998, 0.999, 0.9995, 0.9999, 0.99995, 0.99999,
    ];
    let shares = (0..=198).map(|step| f64::from(step) / 200.0).chain(tail);
    let mut ranks: Vec<u64> = shares
        .map(|share| ((share * count as f64).ceil() as u64).clamp(1, count))
        .chain([count])
        .collect();
    ranks.sort_unstable();
    ranks.dedup();
    let values = distribution.at_ranks(&ranks);
    ranks
        .into_iter()
        .zip(values)
        .map(|(rank, ns)| (Nanos(ns).as_millis_f64(), rank as f64 / count as f64))
        .collect()
}

/// A power line, clock or temperature within a window, in few points.
fn signal(track: &Track, window: (Stamp, Stamp)) -> Option<SignalPlot> {
    let of = &track.signal;
    let is_drawn = match track.quantity() {
        Quantity::Clock | Quantity::Temperature => true,
        Quantity::Power => of.role != RailRole::None,
        _ => false,
    };
    if !is_drawn {
        return None;
    }
    let points = track.within(window);
    if points.is_empty() {
        return None;
    }
    let width = ((window.1 - window.0).0 / SIGNAL_SLICES as i64).max(1);
    let cell = |at: Stamp| (at - window.0).0 / width;
    let points = points
        .chunk_by(|a, b| cell(a.at) == cell(b.at))
        .map(|points| {
            let values = || points.iter().map(|point| point.value);
            let count = points.len() as f64;
            let middle = points
                .iter()
                .map(|p| (p.at - window.0).as_secs_f64())
                .sum::<f64>()
                / count;
            let reading = LowHighMean {
                low: values().fold(f64::INFINITY, f64::min),
                high: points
                    .iter()
                    .map(|point| point.high)
                    .fold(f64::NEG_INFINITY, f64::max),
                mean: values().sum::<f64>() / count,
            };
            (middle, reading)
        })
        .collect();
    Some(SignalPlot {
        source: of.source.clone(),
        signal: of.signal.clone(),
        unit: of.unit.clone(),
        role: of.role,
        part: track.part(),
        points,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::gathering::series::Series;
    use crate::analysis::gathering::track::Tracks;
    use crate::record::{Measurand, RailRole, SampleRecord, SignalRecord};

    fn distribution(values: impl Iterator<Item = i64>, exact: bool) -> Distribution {
        let mut series = Series::default();
        values.for_each(|us| series.push(Nanos::from_micros(us), exact));
        series.finish()
    }

    #[test]
    fn a_histogram_holds_every_frame_and_its_curve_ends_at_the_longest() {
        for exact in [true, false] {
            let together = distribution((0..10_000).map(|n| 10_000 + n * 7_919 % 5_000), exact);
            let alone = distribution((0..500).map(|n| 8_000 + n), exact);
            let spread = spread(&together, Some(&alone)).unwrap();
            assert!(!spread.axis.logarithmic);
            for shape in [&spread.together, spread.alone.as_ref().unwrap()] {
                let held: f64 = shape.bars.iter().sum();
                assert!((held - 1.0).abs() < 1e-9, "{held}");
                assert!(shape.at_most.is_sorted_by(|a, b| a.0 <= b.0 && a.1 < b.1));
            }
            assert_eq!(spread.together.at_most.last().unwrap().1, 1.0);
            assert!((spread.together.at_most.last().unwrap().0 - 14.999).abs() < 1e-3);
        }
        let one_slow = distribution((0..1_000).map(|n| if n == 5 { 500_000 } else { 9_000 + n }), true);
        let spread = spread(&one_slow, Some(&distribution(std::iter::empty(), true))).unwrap();
        assert!(spread.axis.logarithmic && spread.alone.is_none());
        let held: f64 = spread.together.bars.iter().sum();
        assert!((held - 1.0).abs() < 1e-9, "{held}");
    }

    #[test]
    fn a_value_beyond_the_axis_is_at_its_end_and_none_is_at_its_beginning() {
        let axis = Axis {
            from: 10.0,
            to: 1000.0,
            logarithmic: true,
        };
        assert_eq!(
            (axis.part(100.0), axis.part(1e9), axis.part(0.0)),
            (0.5, 1.0, 0.0)
        );
        assert_eq!(Axis::default().part(3.0), 0.0);
    }

    #[test]
    fn nothing_measured_is_nothing_drawn() {
        let none = distribution(std::iter::empty(), true);
        assert_eq!(spread(&none, None), None);
        assert_eq!(axis(&[&none]), Axis::default());
    }

    #[test]
    fn an_axis_starts_at_nothing_where_a_value_is_nothing_and_there_is_none_of_nothing_else() {
        let zeros = distribution([0, 0].into_iter(), true);
        assert_eq!(axis(&[&zeros]), Axis::default());
        let none = distribution(std::iter::empty(), true);
        assert_eq!(axis(&[&none]), Axis::default());
        let wide = distribution([0, 1_000, 1_000_000].into_iter(), true);
        let found = axis(&[&wide, &none]);
        assert!(
            !found.logarithmic && found.from == 0.0 && found.to > 1_000.0,
            "{found:?}"
        );
        let logarithmic = distribution([1, 1_000, 1_000_000].into_iter(), true);
        assert!(axis(&[&logarithmic]).logarithmic);
    }

    #[test]
    fn there_are_as_many_bars_as_lie_between_the_edges() {
        let found = spread(
            &distribution((1..=1_000).map(|us| us * 10), true),
            Some(&distribution((1..=10).map(|us| us * 10), true)),
        )
        .unwrap();
        assert_eq!(found.edges_ms.len(), BINS + 1);
        for shape in [&found.together, found.alone.as_ref().unwrap()] {
            assert_eq!(shape.bars.len(), BINS);
        }
    }

    #[test]
    fn clocks_power_lines_and_temperatures_are_drawn_and_nothing_else() {
        let drawn = |name: &str, unit: &str, role: RailRole| {
            let mut tracks = Tracks::default();
            tracks.signal(&SignalRecord {
                source: "s".into(),
                signal: name.into(),
                unit: unit.into(),
                measurand: Measurand::of_names("s", name, unit),
                role,
                ..SignalRecord::default()
            });
            for at in 0..5 {
                tracks.sample(&SampleRecord {
                    at: Stamp(at),
                    source: "s".into(),
                    signal: name.into(),
                    value: Some(1.0),
                    unit: unit.into(),
                });
            }
            let tracks = tracks.finish();
            signal(tracks.get("s", name).unwrap(), (Stamp(0), Stamp(10))).is_some()
        };
        assert!(drawn("gpu_frequency", "mhz", RailRole::None));
        assert!(
            !drawn("memory_used", "bytes", RailRole::None) && !drawn("cpu_load", "percent", RailRole::None)
        );
        assert!(drawn("VDD_IN", "mw", RailRole::Total));
        assert!(!drawn("VDD_IN", "mw", RailRole::None) && !drawn("VDD_IN", "ma", RailRole::Total));
        assert!(drawn("gpu", "c", RailRole::None));
    }
}
