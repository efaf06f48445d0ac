//! Clocks, temperatures and loads over the measured time: their lowest, mean, median, p95 and highest.
//!
//! As with power, means and quantiles are of the time that readings cover (`curve`). Whether a clock that moved is a
//! finding is decided in `clocks`.

use crate::analysis::gathering::curve::Curve;
use crate::analysis::gathering::track::{Track, Tracks};
use crate::analysis::stats::six_decimals;
use crate::analysis::summary::{P95_VALUES, SensorSummary};
use crate::record::{Part, Quantity};
use crate::units::{Nanos, Stamp};

/// Signals that are told; a server has one clock for each processor.
const MOST_SIGNALS: usize = 1024;

/// Each clock, temperature and load that has a reading in the window, in the order in which they first came.
pub(in crate::analysis) fn summarize(tracks: &Tracks, window: (Stamp, Stamp)) -> Vec<SensorSummary> {
    let of_track = |track: &Track| {
        let quantity = match track.quantity() {
            Quantity::Clock => "clock",
            Quantity::Temperature => "temperature",
            Quantity::Load if told_load(track.part()) => "load",
            _ => return None,
        };
        summary(track, quantity, window)
    };
    tracks.iter().filter_map(of_track).take(MOST_SIGNALS).collect()
}

/// Loads of processors, GPUs and memories; those of single programs come and go.
fn told_load(part: Part) -> bool {
    matches!(
        part,
        Part::Processors | Part::Processor(_) | Part::Gpu(_) | Part::MemoryController | Part::Engine
    )
}

fn summary(track: &Track, quantity: &'static str, window: (Stamp, Stamp)) -> Option<SensorSummary> {
    let is_clock = track.quantity() == Quantity::Clock;
    // Zero is a unit that is switched off, and not a clock.
    let counts = |value: f64| !is_clock || value > 0.0;
    let points = track.within(window);
    let lowest = points.iter().map(|point| point.low).filter(|low| counts(*low));
    let highest = points.iter().map(|point| point.high).filter(|high| counts(*high));
    let whole = Curve::of(track.points(), track.signal.period.unwrap_or(Nanos::ZERO), window);
    let sampled = whole.covered().0 as f64 / (window.1 - window.0).0.max(1) as f64;
    let curve = if is_clock { whole.above_zero() } else { whole };
    let readings = points.len() as u64;
    let on = points.iter().filter(|point| counts(point.high)).count() as u64;
    Some(SensorSummary {
        source: track.signal.source.clone(),
        signal: track.signal.signal.clone(),
        quantity,
        unit: track.signal.unit.clone(),
        min: six_decimals(lowest.reduce(f64::min)?),
        mean: curve.mean().map(six_decimals),
        median: curve.quantile(0.5).map(six_decimals),
        p95: curve
            .quantile(0.95)
            .filter(|_| on >= P95_VALUES)
            .map(six_decimals),
        max: six_decimals(highest.reduce(f64::max)?),
        sampled: six_decimals(sampled.min(1.0)),
        readings,
        part: track.part(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::SampleRecord;

    const TENTH: i64 = 100_000_000;

    /// A signal's name, its unit and its readings.
    type Signal = (&'static str, &'static str, fn(i64) -> Option<f64>);

    fn sensors(signals: &[Signal]) -> Vec<SensorSummary> {
        let mut tracks = Tracks::default();
        for (signal, unit, value) in signals {
            for i in 0..=100 {
                tracks.sample(&SampleRecord {
                    at: Stamp(i * TENTH),
                    source: "board".to_owned(),
                    signal: (*signal).to_owned(),
                    value: value(i),
                    unit: (*unit).to_owned(),
                });
            }
        }
        summarize(&tracks.finish(), (Stamp(0), Stamp(100 * TENTH)))
    }

    #[test]
    fn temperatures_clocks_and_loads_are_told_and_nothing_else() {
        let found = sensors(&[
            ("tj", "c", |i| Some(40.0 + i as f64 / 10.0)),
            ("gpu_frequency", "mhz", |i| {
                Some(if i % 10 == 0 { 0.0 } else { 900.0 })
            }),
            ("VDD_IN", "mw", |_| Some(5.0)),
            ("cpu_load", "percent", |_| Some(5.0)),
        ]);
        let [tj, gpu, load] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!(
            (tj.quantity, tj.unit.as_str(), tj.min, tj.max),
            ("temperature", "c", 40.0, 50.0)
        );
        assert_eq!((tj.mean, tj.median, tj.sampled), (Some(45.0), Some(45.0), 1.0));
        assert!((tj.p95.unwrap() - 49.5).abs() < 1e-6);
        assert_eq!((load.quantity, load.mean, load.max), ("load", Some(5.0), 5.0));
        // Off in every tenth reading: no clock, and no gap either.
        assert_eq!((gpu.min, gpu.max, gpu.mean), (900.0, 900.0, Some(900.0)));
        assert_eq!((gpu.sampled, gpu.part), (1.0, Part::Gpu(None)));
    }

    #[test]
    fn a_clock_that_is_off_in_every_other_reading_is_told_by_the_others() {
        let found = sensors(&[("gpu_frequency", "mhz", |i| {
            Some(if i % 2 == 0 { 0.0 } else { 900.0 })
        })]);
        assert_eq!(
            (found[0].mean, found[0].median, found[0].p95),
            (Some(900.0), Some(900.0), Some(900.0))
        );
    }

    #[test]
    fn what_was_read_for_a_part_of_the_time_says_so_and_what_was_not_read_is_absent() {
        let found = sensors(&[
            ("tj", "c", |i| (i <= 10).then_some(40.0)),
            ("cpu", "c", |_| None),
            ("gpu_frequency", "mhz", |_| Some(0.0)),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        // The last reading stands for the usual time after it, too.
        assert_eq!(
            (found[0].sampled, found[0].readings, found[0].p95),
            (0.11, 11, None)
        );
    }
}
