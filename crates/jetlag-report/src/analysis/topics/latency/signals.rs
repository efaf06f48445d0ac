//! Clocks and temperatures as they were sampled, and which of them changed at the same time as a tenant's response
//! time.
//!
//! A signal that differs before and after a shift proves nothing: a temperature that rises during the whole run
//! differs around any moment. So this module finds the moments at which the level of a signal itself changed, and
//! asks what share of the run's moments are as close to such a change, of any signal, as the shift is. If the share
//! is small, signal and shift changed together by more than chance.

use jetlag_stats::changepoint::{SHORTEST, levels};
use jetlag_stats::median::median;

use crate::analysis::gathering::track::{Point, Track, Tracks};
use crate::analysis::summary::SignalChange;
use crate::record::Quantity;
use crate::units::{Nanos, Stamp};

/// Signals that are examined; boards have a few dozen.
const MOST_SIGNALS: usize = 256;
/// Stretches that a signal's readings are grouped into, at most.
const MOST_STRETCHES: usize = 400;
/// Probability of naming any signal for any shift of a tenant if none is related to any.
const LEVEL: f64 = 0.05;
/// Smallest change that matters: of a clock as a share, of a temperature in degrees.
const CLOCK: f64 = 0.02;
const DEGREES: f64 = 2.0;
/// Signals named per shift.
const MOST_TOLD: usize = 4;

/// A change of a tenant's level, with the changes before and after it.
#[derive(Clone, Copy, Debug)]
pub(in crate::analysis) struct Moment {
    pub(in crate::analysis) from: Stamp,
    pub(in crate::analysis) at: Stamp,
    pub(in crate::analysis) to: Stamp,
    /// Uncertainty of the moment `at`.
    pub(in crate::analysis) blur: Nanos,
    /// Whether frames take longer from then on.
    pub(in crate::analysis) slower: bool,
}

/// Of each shift of a tenant that was measured in `run`, the signals that changed with it, the most changed first:
/// clocks that went the other way, and temperatures that went the same way.
pub(in crate::analysis) fn changed(
    tracks: &Tracks,
    shifts: &[Moment],
    (start, end): (Stamp, Stamp),
) -> Vec<Vec<SignalChange>> {
    if shifts.is_empty() {
        return Vec::new();
    }
    let told = |track: &&Track| matches!(track.quantity(), Quantity::Clock | Quantity::Temperature);
    let tracks: Vec<&Track> = tracks.iter().filter(told).take(MOST_SIGNALS).collect();
    let changes: Vec<Vec<Stamp>> = tracks.iter().map(|track| changes(track, (start, end))).collect();
    let level = LEVEL / shifts.len() as f64;
    let length = (end - start).0.max(1) as f64;
    let all: Vec<Stamp> = {
        let mut all: Vec<Stamp> = changes.iter().flatten().copied().collect();
        all.sort_unstable();
        all
    };
    shifts
        .iter()
        .map(|shift| {
            let mut told: Vec<(f64, SignalChange)> = Vec::new();
            for (track, changes) in tracks.iter().zip(&changes) {
                let off = changes.iter().map(|&at| (at - shift.at).0.saturating_abs()).min();
                let Some(off) = off else { continue };
                let off = Nanos(off.max(shift.blur.0).max(mean_spacing(track)));
                if as_near(&all, off, (start, end)) / length <= level {
                    told.extend(change(track, shift));
                }
            }
            told.sort_by(|a, b| b.0.total_cmp(&a.0));
            told.truncate(MOST_TOLD);
            told.into_iter().map(|(_, change)| change).collect()
        })
        .collect()
}

/// How much of a run, in nanoseconds, is within `off` of any of these moments, which are in order.
fn as_near(moments: &[Stamp], off: Nanos, (start, end): (Stamp, Stamp)) -> f64 {
    let mut covered = start;
    let mut sum = 0i64;
    for &moment in moments {
        let (from, to) = ((moment - off).max(covered), (moment + off).min(end));
        if to > from {
            sum = sum.saturating_add((to - from).0);
            covered = to;
        }
    }
    sum as f64
}

/// The readings from `from` on, before `to`.
fn before(track: &Track, from: Stamp, to: Stamp) -> &[Point] {
    track.within((from, to - Nanos(1)))
}

/// Mean distance of its readings.
fn mean_spacing(track: &Track) -> i64 {
    let points = track.points();
    match (points.first(), points.last()) {
        (Some(first), Some(last)) => (last.at - first.at).0 / points.len().max(2) as i64,
        _ => 0,
    }
}

/// The moments at which its level changed permanently and abruptly, by an amount that matters. A signal that rises
/// evenly has none.
fn changes(track: &Track, (start, end): (Stamp, Stamp)) -> Vec<Stamp> {
    let readings = before(track, start, end);
    let each = readings.len().div_ceil(MOST_STRETCHES).max(1);
    let stretches: Vec<(Stamp, f64)> = readings
        .chunks_exact(each)
        .filter_map(|chunk| {
            let mut values: Vec<f64> = chunk.iter().map(|point| point.value).collect();
            Some((chunk.first()?.at, median(&mut values)?))
        })
        .collect();
    let values: Vec<f64> = stretches.iter().map(|&(_, value)| value).collect();
    let at_once = |place: &usize| {
        let level = |from: usize, to: usize| median(&mut values.get(from..to)?.to_vec());
        let before = level(place.saturating_sub(SHORTEST), *place);
        let after = level(*place, (place + SHORTEST).min(values.len()));
        matches!((before, after), (Some(before), Some(after)) if size(track, before, after) >= 1.0)
    };
    let places = levels(&values).into_iter().filter(at_once);
    places.filter_map(|place| Some(stretches.get(place)?.0)).collect()
}

/// The smallest change that counts as one.
fn size(track: &Track, before: f64, after: f64) -> f64 {
    match track.quantity() {
        Quantity::Clock if before > 0.0 => (after / before - 1.0).abs() / CLOCK,
        Quantity::Temperature => (after - before).abs() / DEGREES,
        _ => 0.0,
    }
}

/// How it changed over a shift, if that could be related to it.
fn change(track: &Track, shift: &Moment) -> Option<(f64, SignalChange)> {
    let between = |from: Stamp, to: Stamp| {
        let mut values: Vec<f64> = before(track, from, to).iter().map(|point| point.value).collect();
        median(&mut values)
    };
    let (before, after) = (between(shift.from, shift.at)?, between(shift.at, shift.to)?);
    let size = size(track, before, after);
    // A slower clock makes frames slower; a faster clock with slower frames is unrelated.
    let rose = after > before;
    let fits = match track.quantity() {
        Quantity::Clock => rose != shift.slower,
        _ => rose == shift.slower,
    };
    (size >= 1.0 && fits).then(|| {
        let change = SignalChange {
            source: track.signal.source.clone(),
            signal: track.signal.signal.clone(),
            unit: track.signal.unit.clone(),
            before,
            after,
        };
        (size, change)
    })
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, Normal};
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::{Rng, SeedableRng};

    use super::*;
    use crate::record::SampleRecord;

    const MS: i64 = 1_000_000;
    const SECONDS: i64 = 60;

    fn uniform(random: &mut Pcg64) -> f64 {
        (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A signal of a minute, ten readings a second, with noise of the first order around a level.
    fn add(
        signals: &mut Tracks,
        name: &str,
        unit: &str,
        random: &mut Pcg64,
        noise: f64,
        level: impl Fn(f64) -> f64,
    ) {
        let mut off = 0.0;
        for i in 0..SECONDS * 10 {
            let drawn: f64 = Normal::new(0.0, 1.0).unwrap().sample(random);
            off = 0.7 * off + drawn * noise;
            signals.sample(&SampleRecord {
                at: Stamp(i * 100 * MS),
                source: "gpu".to_owned(),
                signal: name.to_owned(),
                value: Some(level(i as f64 / 10.0) + off),
                unit: unit.to_owned(),
            });
        }
    }

    fn shift(at_s: f64, slower: bool) -> Moment {
        Moment {
            from: Stamp(0),
            at: Stamp((at_s * 1e9) as i64),
            to: Stamp(SECONDS * 1_000 * MS),
            blur: Nanos(150 * MS),
            slower,
        }
    }

    fn run() -> (Stamp, Stamp) {
        (Stamp(0), Stamp(SECONDS * 1_000 * MS))
    }

    #[test]
    fn signals_that_change_at_other_moments_or_all_the_time_are_not_named() {
        let (mut named, runs) = (0, 400);
        for seed in 0..runs {
            let mut random = Pcg64::seed_from_u64(seed);
            let mut signals = Tracks::default();
            for (number, falls) in [1300.0, 2100.0, 900.0].into_iter().zip([true, true, false]) {
                let at = uniform(&mut random) * 60.0;
                let after = if falls { 0.8 } else { 1.1 } * number;
                let name = format!("clock {number}");
                add(&mut signals, &name, "mhz", &mut random, 4.0, |t| {
                    if t < at { number } else { after }
                });
            }
            // Heat rises all through the run, evenly or slower and slower, and a clock falls with it.
            add(&mut signals, "gpu", "c", &mut random, 0.1, |t| 50.0 + 0.3 * t);
            add(&mut signals, "cpu", "c", &mut random, 0.1, |t| {
                70.0 - 20.0 * (-t / 20.0).exp()
            });
            add(&mut signals, "emc", "mhz", &mut random, 2.0, |t| 2000.0 - 4.0 * t);
            let at = 15.0 + 40.0 * uniform(&mut random);
            let found = changed(&signals, &[shift(at, seed % 4 != 0)], run());
            named += u32::from(!found[0].is_empty());
        }
        println!("{named} of {runs} runs lay a shift to a signal that has nothing to do with it");
        assert!(named * 20 <= runs as u32, "{named} of {runs}");
    }

    #[test]
    fn a_clock_that_falls_with_the_shift_is_named_also_where_heat_rises_meanwhile() {
        let mut found = 0;
        for seed in 0..100 {
            let mut random = Pcg64::seed_from_u64(seed);
            let mut signals = Tracks::default();
            let at = 15.0 + 40.0 * uniform(&mut random);
            let late = at + (uniform(&mut random) - 0.5) * 0.4;
            add(&mut signals, "clock", "mhz", &mut random, 4.0, |t| {
                if t < late { 1300.0 } else { 1100.0 }
            });
            add(&mut signals, "gpu", "c", &mut random, 0.1, |t| 50.0 + 0.3 * t);
            let told = &changed(&signals, &[shift(at, true)], run())[0];
            found += u32::from(told.len() == 1 && told[0].signal == "clock");
        }
        println!("{found} of 100 clocks that fell with the shift are named");
        assert!(found >= 90, "{found}");
    }

    #[test]
    fn a_clock_that_rises_when_frames_get_slower_did_not_slow_them_down() {
        let mut random = Pcg64::seed_from_u64(1);
        let mut signals = Tracks::default();
        add(&mut signals, "clock", "mhz", &mut random, 4.0, |t| {
            if t < 30.0 { 900.0 } else { 1300.0 }
        });
        assert!(changed(&signals, &[shift(30.0, true)], run())[0].is_empty());
        assert_eq!(changed(&signals, &[shift(30.0, false)], run())[0].len(), 1);
    }

    #[test]
    fn readings_that_are_no_numbers_are_no_readings() {
        let mut signals = Tracks::default();
        add(
            &mut signals,
            "clock",
            "mhz",
            &mut Pcg64::seed_from_u64(1),
            0.0,
            |_| f64::NAN,
        );
        assert!(changed(&signals, &[shift(30.0, true)], run())[0].is_empty());
        assert_eq!(changed(&signals, &[], run()), Vec::<Vec<SignalChange>>::new());
    }

    #[test]
    fn what_changed_by_too_little_or_the_wrong_way_is_not_named_and_more_is() {
        for (unit, before, after, named) in [
            ("mhz", 1300.0, 1200.0, true),
            ("mhz", 1300.0, 1287.0, false),
            ("mhz", 1300.0, 1400.0, false),
            ("c", 50.0, 54.5, true),
            ("c", 50.0, 51.5, false),
            ("c", 50.0, 45.5, false),
        ] {
            let mut random = Pcg64::seed_from_u64(1);
            let mut signals = Tracks::default();
            add(&mut signals, "signal", unit, &mut random, 0.05, |t| {
                if t < 30.0 { before } else { after }
            });
            let found = &changed(&signals, &[shift(30.0, true)], run())[0];
            assert_eq!(
                found.len(),
                usize::from(named),
                "{unit}: {before} to {after}, {found:?}"
            );
        }
    }

    #[test]
    fn a_signal_that_is_read_too_seldom_for_the_length_of_the_run_is_not_named() {
        // Read every two seconds it may have changed in any four: much of a minute, and little of ten.
        for (seconds, named) in [(60, 0), (600, 1)] {
            let mut random = Pcg64::seed_from_u64(1);
            let mut signals = Tracks::default();
            for i in 0..seconds / 2 {
                let noise: f64 = Normal::new(0.0, 2.0).unwrap().sample(&mut random);
                signals.sample(&SampleRecord {
                    at: Stamp(i * 2_000 * MS),
                    source: "gpu".to_owned(),
                    signal: "clock".to_owned(),
                    value: Some(noise + if i * 4 < seconds { 1300.0 } else { 900.0 }),
                    unit: "mhz".to_owned(),
                });
            }
            let end = Stamp(seconds * 1_000 * MS);
            let shift = Moment {
                to: end,
                ..shift(seconds as f64 / 2.0, true)
            };
            let found = &changed(&signals, &[shift], (Stamp(0), end))[0];
            assert_eq!(found.len(), named, "{seconds} s: {found:?}");
        }
    }

    #[test]
    fn a_clock_that_fell_for_a_while_is_named_for_the_shift_that_began_then() {
        let mut random = Pcg64::seed_from_u64(1);
        let mut signals = Tracks::default();
        add(&mut signals, "clock", "mhz", &mut random, 4.0, |t| {
            if (10.0..25.0).contains(&t) { 900.0 } else { 1300.0 }
        });
        let shift = Moment {
            to: Stamp(25_000 * MS),
            ..shift(10.0, true)
        };
        let found = &changed(&signals, &[shift], run())[0];
        assert_eq!(found.len(), 1, "{found:?}");
    }

    /// Five readings, ten nanoseconds apart.
    fn track(unit: &str) -> Tracks {
        let mut tracks = Tracks::default();
        for i in 0..5 {
            tracks.sample(&SampleRecord {
                at: Stamp(i * 10),
                source: "gpu".to_owned(),
                signal: "signal".to_owned(),
                value: Some(i as f64),
                unit: unit.to_owned(),
            });
        }
        tracks
    }

    #[test]
    fn a_clock_changes_by_its_share_a_temperature_by_degrees_and_what_was_off_by_nothing() {
        for (unit, before, after, size) in [
            ("mhz", 1_000.0, 960.0, 2.0),
            ("mhz", 1_000.0, 1_040.0, 2.0),
            ("mhz", 4.0, 8.0, 50.0),
            ("mhz", 0.0, 1_300.0, 0.0),
            ("c", 50.0, 47.0, 1.5),
            ("w", 50.0, 47.0, 0.0),
        ] {
            let tracks = track(unit);
            let found = super::size(tracks.iter().next().unwrap(), before, after);
            assert!(
                (found - size).abs() < 1e-9,
                "{unit}, {before} to {after}: {found}"
            );
        }
    }

    #[test]
    fn a_reading_at_the_start_of_a_window_is_in_it_and_one_at_its_end_is_not() {
        let tracks = track("c");
        let readings = before(tracks.iter().next().unwrap(), Stamp(10), Stamp(30));
        let found: Vec<f64> = readings.iter().map(|point| point.value).collect();
        assert_eq!(found, [1.0, 2.0]);
    }
}
