//! The readings of one signal over time, in bounded memory.
//!
//! All readings are kept up to a limit; beyond it neighbours are merged in pairs, which halves the resolution in time
//! and preserves means, minima, maxima and counters.

use std::collections::HashMap;

use jetlag_stats::median::upper_median;

use crate::record::{Averaging, Measurand, Part, Quantity, SampleRecord, SignalRecord};
use crate::units::{Nanos, Stamp};

/// Readings kept of one signal: 1.8 hours at 10 Hz before the first merge; 2 MiB.
const MOST: usize = 1 << 16;

/// One reading, or several that were merged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::analysis) struct Point {
    /// When it was taken.
    pub(in crate::analysis) at: Stamp,
    /// Its value, or the mean of the merged values.
    pub(in crate::analysis) value: f64,
    /// The lowest value among them.
    pub(in crate::analysis) low: f64,
    /// The highest value among them.
    pub(in crate::analysis) high: f64,
}

/// The readings of one signal.
#[derive(Clone, Debug, Default)]
pub(in crate::analysis) struct Track {
    /// What it measures, as far as the run file says.
    pub(in crate::analysis) signal: SignalRecord,
    points: Vec<Point>,
    /// How many readings each point stands for, so that all points are equally far apart; 0 as long as it is one.
    each: u32,
    /// How many readings the last point stands for.
    last: u32,
    /// Readings that had no value.
    unread: Vec<Stamp>,
    sorted: bool,
}

/// All signals by source and name.
#[derive(Debug, Default)]
pub(in crate::analysis) struct Tracks {
    by_name: HashMap<(String, String), usize>,
    all: Vec<Track>,
}

impl Track {
    /// The kind of figure that it has.
    pub(in crate::analysis) fn quantity(&self) -> Quantity {
        self.signal.measurand.quantity
    }

    /// What it is a figure of.
    pub(in crate::analysis) fn part(&self) -> Part {
        self.signal.measurand.part
    }

    /// Whether it is the clock of a GPU's processors.
    pub(in crate::analysis) fn is_gpu_clock(&self) -> bool {
        matches!((self.quantity(), self.part()), (Quantity::Clock, Part::Gpu(_)))
    }

    /// Whether it is the clock of one processor.
    pub(in crate::analysis) fn is_processor_clock(&self) -> bool {
        matches!(
            (self.quantity(), self.part()),
            (Quantity::Clock, Part::Processor(_))
        )
    }

    fn push(&mut self, at: Stamp, value: Option<f64>) {
        let Some(value) = value.filter(|value| value.is_finite()) else {
            if self.unread.len() < MOST {
                self.unread.push(at);
            }
            return;
        };
        self.sorted &= self.points.last().is_none_or(|last| last.at <= at);
        let counter = self.signal.averaging == Averaging::Counter;
        if self.last < self.each
            && let Some(last) = self.points.last_mut()
        {
            self.last += 1;
            if counter {
                (last.at, last.value) = (at, value);
            } else {
                let part = 1.0 / f64::from(self.last);
                last.value += (value - last.value) * part;
                last.at.0 += ((at - last.at).0 as f64 * part) as i64;
            }
            last.low = last.low.min(value);
            last.high = last.high.max(value);
            return;
        }
        if self.points.len() >= MOST {
            self.draw_together(counter);
        }
        self.last = 1;
        self.points.push(Point {
            at,
            value,
            low: value,
            high: value,
        });
    }

    fn draw_together(&mut self, counter: bool) {
        self.sort();
        self.each = self.each.max(1).saturating_mul(2);
        let pairs = self.points.chunks(2).map(|pair| match *pair {
            [a, b] if !counter => Point {
                at: Stamp(a.at.0 + (b.at.0 - a.at.0) / 2),
                value: (a.value + b.value) / 2.0,
                low: a.low.min(b.low),
                high: a.high.max(b.high),
            },
            [.., last] => last,
            [] => Point {
                at: Stamp(0),
                value: 0.0,
                low: 0.0,
                high: 0.0,
            },
        });
        self.points = pairs.collect();
    }

    fn sort(&mut self) {
        if !self.sorted {
            self.points.sort_by_key(|point| point.at);
            self.sorted = true;
        }
    }

    /// All readings that have a value, in order of time.
    pub(in crate::analysis) fn points(&self) -> &[Point] {
        &self.points
    }

    /// Those within a window.
    pub(in crate::analysis) fn within(&self, (from, to): (Stamp, Stamp)) -> &[Point] {
        let first = self.points.partition_point(|point| point.at < from);
        let last = self.points.partition_point(|point| point.at <= to);
        self.points.get(first..last).unwrap_or_default()
    }

    /// Readings within a window that had no value.
    pub(in crate::analysis) fn unread_within(&self, (from, to): (Stamp, Stamp)) -> usize {
        self.unread.iter().filter(|at| (from..=to).contains(at)).count()
    }

    /// How many readings a point is made of.
    pub(in crate::analysis) fn each(&self) -> u32 {
        self.each.max(1)
    }

    /// The usual time between two readings.
    pub(in crate::analysis) fn spacing(&self) -> Option<Nanos> {
        let mut gaps: Vec<i64> = self
            .points
            .windows(2)
            .map(|pair| (pair[1].at - pair[0].at).0)
            .collect();
        upper_median(&mut gaps, Ord::cmp).map(Nanos)
    }
}

impl Tracks {
    /// Adds a reading; returns what it measures.
    pub(in crate::analysis) fn sample(&mut self, sample: &SampleRecord) -> Measurand {
        let track = self.track(&sample.source, &sample.signal);
        if track.signal.unit.is_empty() {
            track.signal.unit.clone_from(&sample.unit);
            // No record described it: its names have to do.
            track.signal.measurand = Measurand::of_names(&sample.source, &sample.signal, &sample.unit);
        }
        track.push(sample.at, sample.value);
        track.signal.measurand
    }

    /// Adds the description of a signal.
    pub(in crate::analysis) fn signal(&mut self, signal: &SignalRecord) {
        self.track(&signal.source, &signal.signal).signal = signal.clone();
    }

    fn track(&mut self, source: &str, signal: &str) -> &mut Track {
        let key = (source.to_owned(), signal.to_owned());
        let next = self.all.len();
        let position = *self.by_name.entry(key).or_insert(next);
        if position == next {
            self.all.push(Track {
                signal: SignalRecord {
                    source: source.to_owned(),
                    signal: signal.to_owned(),
                    ..SignalRecord::default()
                },
                sorted: true,
                ..Track::default()
            });
        }
        &mut self.all[position]
    }

    /// Closes the collection for reading.
    pub(in crate::analysis) fn finish(mut self) -> Tracks {
        self.all.iter_mut().for_each(Track::sort);
        self
    }

    /// All signals, in the order in which they first came.
    pub(in crate::analysis) fn iter(&self) -> impl Iterator<Item = &Track> {
        self.all.iter()
    }

    /// From the first reading of any signal to the last.
    pub(in crate::analysis) fn span(&self) -> Option<(Stamp, Stamp)> {
        let ends = |track: &Track| Some((track.points.first()?.at, track.points.last()?.at));
        let both = |a: (Stamp, Stamp), b: (Stamp, Stamp)| (a.0.min(b.0), a.1.max(b.1));
        self.all.iter().filter_map(ends).reduce(both)
    }

    /// The track of one signal, if it was sampled.
    #[cfg(test)]
    pub(in crate::analysis) fn get(&self, source: &str, signal: &str) -> Option<&Track> {
        let key = (source.to_owned(), signal.to_owned());
        self.by_name
            .get(&key)
            .and_then(|position| self.all.get(*position))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_night_of_readings_keeps_its_mean_and_its_peak_in_bounded_memory() {
        let mut track = Track {
            sorted: true,
            ..Track::default()
        };
        let n = MOST as i64 * 13;
        for i in 0..n {
            let value = match i {
                12_345 => 9_000.0,
                23_456 => -500.0,
                _ => (i % 7) as f64,
            };
            track.push(Stamp(i * 1000), Some(value));
        }
        assert!(track.points().len() <= MOST);
        let high = track.points().iter().map(|p| p.high).fold(0.0, f64::max);
        let low = track.points().iter().map(|p| p.low).fold(0.0, f64::min);
        assert_eq!((low, high), (-500.0, 9_000.0));
        let mean = track.points().iter().map(|p| p.value).sum::<f64>() / track.points().len() as f64;
        assert!((mean - 3.0).abs() < 0.1, "{mean}");
        // Gaps of a few times the usual would look like readings that are missing.
        let usual = track.spacing().unwrap();
        let gaps = track.points().windows(2).map(|pair| pair[1].at - pair[0].at);
        assert!(
            gaps.clone().all(|gap| gap > Nanos::ZERO && gap <= usual * 2),
            "{usual}, {:?}",
            gaps.max()
        );
    }

    #[test]
    fn readings_out_of_order_are_put_in_order_and_those_without_value_are_counted() {
        let mut tracks = Tracks::default();
        for (at, value) in [
            (30, Some(3.0)),
            (10, Some(1.0)),
            (20, None),
            (25, Some(f64::INFINITY)),
        ] {
            tracks.sample(&SampleRecord {
                at: Stamp(at),
                source: "s".into(),
                signal: "x".into(),
                value,
                unit: "mw".into(),
            });
        }
        let tracks = tracks.finish();
        let track = tracks.get("s", "x").unwrap();
        let at: Vec<i64> = track.points().iter().map(|p| p.at.0).collect();
        assert_eq!(at, [10, 30]);
        assert_eq!(track.unread_within((Stamp(0), Stamp(22))), 1);
        assert_eq!(track.within((Stamp(11), Stamp(30))).len(), 1);
    }

    #[test]
    fn readings_that_are_drawn_together_stand_where_they_were_taken() {
        let mut track = Track {
            sorted: true,
            ..Track::default()
        };
        // A value that rises evenly, with stamps far from zero: what is drawn together lies on the same line.
        let start = 1_000_000_000_000;
        for i in 0..MOST as i64 * 5 {
            track.push(Stamp(start + i * 1_000), Some(i as f64));
        }
        assert!(track.each() >= 4);
        for point in track.points() {
            let on_line = (point.at.0 - start) as f64 / 1_000.0;
            assert!((point.value - on_line).abs() < 0.1, "{point:?}");
        }
    }

    #[test]
    fn a_counters_readings_are_never_mixed() {
        let mut track = Track {
            signal: SignalRecord {
                averaging: Averaging::Counter,
                ..SignalRecord::default()
            },
            sorted: true,
            ..Track::default()
        };
        // It moves by seven at each seventh reading.
        let value = |i: i64| (i / 7 * 7) as f64;
        for i in 0..MOST as i64 * 5 {
            track.push(Stamp(i * 1_000), Some(value(i)));
        }
        assert!(track.each() >= 4);
        for point in track.points() {
            assert_eq!((point.at.0 % 1_000, point.value), (0, value(point.at.0 / 1_000)));
        }
    }

    #[test]
    fn readings_that_are_drawn_together_are_their_mean() {
        let mut track = Track {
            sorted: true,
            ..Track::default()
        };
        for i in 0..MOST as i64 * 5 {
            track.push(Stamp(i * 1_000), Some((i % 2 * 10) as f64));
        }
        assert!(track.each() >= 4);
        // The last is still made of fewer.
        let [whole @ .., _] = track.points() else {
            panic!("points")
        };
        assert!(whole.iter().all(|point| (point.value - 5.0).abs() < 1e-9));
    }

    #[test]
    fn all_signals_together_span_from_the_first_reading_of_any_to_the_last() {
        let mut tracks = Tracks::default();
        assert_eq!(Tracks::default().finish().span(), None);
        for (signal, at) in [("a", 30), ("a", 70), ("b", 20), ("b", 40)] {
            tracks.sample(&SampleRecord {
                at: Stamp(at),
                source: "s".into(),
                signal: signal.into(),
                value: Some(1.0),
                unit: "mw".into(),
            });
        }
        assert_eq!(tracks.finish().span(), Some((Stamp(20), Stamp(70))));
    }

    #[test]
    fn the_usual_time_between_readings_is_the_median_one() {
        let mut track = Track {
            sorted: true,
            ..Track::default()
        };
        let mut at = 0;
        for gap in [0, 50, 10, 40, 20, 30] {
            at += gap;
            track.push(Stamp(at), Some(1.0));
        }
        assert_eq!(track.spacing(), Some(Nanos(30)));
    }
}
