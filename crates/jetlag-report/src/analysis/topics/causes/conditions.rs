//! Checks whether the machine's state stayed the same during the measurement: throttling, clocks, power mode,
//! temperature.
//!
//! One small rule per finding, over the readings of the measured window. Thresholds are in docs/measurement.md.

use crate::analysis::catalogue::{BusyProgram, Guard, Limit, MachineLimit, SlowedBy};
use crate::analysis::gathering::track::{Point, Track, Tracks};
use crate::analysis::topics::causes::clocks::{self, Used};
use crate::record::{Part, Quantity};
use crate::units::{Nanos, Stamp};

/// NVML's throttle reasons (nvml.h), by what they mean.
const THERMAL: u64 = 0x20 | 0x40;
const POWER: u64 = 0x04 | 0x80;
const HARDWARE: u64 = 0x08;
/// Share of readings from which power limiting is a finding; thermal throttling always is.
const LIMITED_SHARE: f64 = 0.01;
/// How much a temperature may rise over the window, and over its last half, in °C.
const RISE_C: (f64, f64) = (3.0, 1.0);
/// How much a fan's drive may rise over the last half, in percent.
const RISE_FAN: f64 = 5.0;

/// Every finding about the machine's state in the window, for the devices that tenants executed on.
pub(in crate::analysis) fn derive(tracks: &Tracks, window: (Stamp, Stamp), used: Used) -> Vec<Limit> {
    // First what slows a board down without a sign in temperature or load.
    let mut limits: Vec<MachineLimit> = tracks
        .iter()
        .filter_map(|track| over_current_events(track, window))
        .collect();
    for track in tracks.iter() {
        limits.extend(throttled(track, window));
        if let Some((part, share)) = cooled(track, window) {
            add_cooled(&mut limits, part, share);
        }
        limits.extend(over_current(track, window));
        limits.extend(power_mode(track, window));
    }
    let mut limits: Vec<Limit> = limits.into_iter().map(Limit::Machine).collect();
    limits.extend(clocks::derive(tracks, window, used));
    limits.extend(warming(tracks, window).map(Limit::Machine));
    limits
}

/// The programs that used most processor time in a window, with their means.
pub(in crate::analysis) fn busiest(tracks: &Tracks, (from, to): (Stamp, Stamp)) -> Vec<BusyProgram> {
    let of_programs = tracks.iter().filter(|track| track.part() == Part::Program);
    let mut programs: Vec<BusyProgram> = of_programs
        .filter_map(|track| {
            let sum: f64 = track.within((from, to)).iter().map(|p| p.value).sum();
            // A program is recorded only while it is busy: each of its readings covers one period.
            let period = track.signal.period.unwrap_or(Nanos::from_secs(2)).as_secs_f64();
            let seconds = (to - from).as_secs_f64().max(period);
            (sum > 0.0).then(|| BusyProgram {
                program: track.signal.signal.clone(),
                processors: sum * period / seconds / 100.0,
            })
        })
        .collect();
    programs.sort_by(|a, b| b.processors.total_cmp(&a.processors));
    programs.truncate(3);
    programs
}

/// Share of readings that meet a condition.
fn share(points: &[Point], fulfils: impl Fn(f64) -> bool) -> f64 {
    let count = points.iter().filter(|point| fulfils(point.value)).count();
    count as f64 / points.len().max(1) as f64
}

/// Whether a signal shows throttling.
pub(in crate::analysis) fn tells_throttling(track: &Track) -> bool {
    matches!(
        track.quantity(),
        Quantity::ThrottleReasons | Quantity::Slowdown | Quantity::OverCurrent
    )
}

/// Whether a reading of such a signal means that it was throttled.
pub(in crate::analysis) fn is_throttled(track: &Track, value: f64) -> bool {
    match track.quantity() == Quantity::ThrottleReasons {
        true => value as u64 & (THERMAL | POWER | HARDWARE) != 0,
        false => value > 0.0,
    }
}

fn throttled(track: &Track, window: (Stamp, Stamp)) -> Option<MachineLimit> {
    let (Quantity::ThrottleReasons, Part::Gpu(gpu)) = (track.quantity(), track.part()) else {
        return None;
    };
    let points = track.within(window);
    let with = |bits: u64| share(points, |value| value as u64 & bits != 0);
    let (thermal, power, hardware) = (with(THERMAL), with(POWER), with(HARDWARE));
    let (by, share) = if thermal > 0.0 {
        (SlowedBy::Temperature, thermal)
    } else if power > LIMITED_SHARE {
        (SlowedBy::PowerLimit, power)
    } else if hardware > LIMITED_SHARE {
        (SlowedBy::Hardware, hardware)
    } else {
        return None;
    };
    Some(MachineLimit::Throttled { gpu, by, share })
}

/// What a cooling device throttled, and in what share of the readings.
fn cooled(track: &Track, window: (Stamp, Stamp)) -> Option<(String, f64)> {
    if track.quantity() != Quantity::Slowdown {
        return None;
    }
    // Devices of one type are told apart by what follows this.
    let name = track.signal.signal.as_str();
    let part = name.split_once("_cooling").map_or(name, |(part, _)| part);
    // Jetsons have a device of this name for each part of the chip, beside those that set its clocks.
    let part = part.strip_suffix("-throttle-alert").unwrap_or(part).to_owned();
    let share = share(track.within(window), |state| state > 0.0);
    (share > 0.0).then_some((part, share))
}

/// A processor has one cooling device per core: only the one that was used most is reported.
fn add_cooled(limits: &mut Vec<MachineLimit>, name: String, used: f64) {
    let known = limits.iter_mut().find_map(|limit| match limit {
        MachineLimit::Cooled { part, share } if *part == name => Some(share),
        _ => None,
    });
    match known {
        Some(share) => *share = share.max(used),
        None => limits.push(MachineLimit::Cooled {
            part: name,
            share: used,
        }),
    }
}

fn over_current(track: &Track, window: (Stamp, Stamp)) -> Option<MachineLimit> {
    if track.quantity() != Quantity::OverCurrent {
        return None;
    }
    let name = track.signal.signal.as_str();
    let rail = name.strip_suffix("_over_current").unwrap_or(name).to_owned();
    let share = share(track.within(window), |flag| flag > 0.0);
    (share > 0.0).then_some(MachineLimit::RailOverCurrent { rail, share })
}

/// Events that the firmware's over-current guard counts: each throttles processors and GPU for a moment.
fn over_current_events(track: &Track, window: (Stamp, Stamp)) -> Option<MachineLimit> {
    let (Quantity::OverCurrentEvents, Part::Guard(guard)) = (track.quantity(), track.part()) else {
        return None;
    };
    Some(MachineLimit::OverCurrentEvents {
        guard: match guard {
            1 => Guard::InputVoltage,
            2 => Guard::MeanPower,
            3 => Guard::PeakPower,
            _ => Guard::Unknown,
        },
        events: counted(track, window)?,
        seconds: (window.1 - window.0).as_secs_f64().max(1e-9),
    })
}

/// The growth of a counter, from its last reading before the window (or the first in it) to the first after it (or the
/// last in it). A counter that goes backwards was reset.
fn counted(track: &Track, (from, to): (Stamp, Stamp)) -> Option<f64> {
    let points = track.points();
    let first = points.partition_point(|point| point.at <= from).max(1) - 1;
    let last = points
        .partition_point(|point| point.at < to)
        .min(points.len().checked_sub(1)?);
    let grown = points
        .get(first..=last)?
        .windows(2)
        .map(|pair| match pair[1].value >= pair[0].value {
            true => pair[1].value - pair[0].value,
            false => pair[1].value,
        });
    Some(grown.sum::<f64>()).filter(|events| *events > 0.0)
}

fn power_mode(track: &Track, window: (Stamp, Stamp)) -> Option<MachineLimit> {
    if track.quantity() != Quantity::PowerMode {
        return None;
    }
    let points = track.within(window);
    let from = points.first()?.value;
    let to = points.iter().find(|point| point.value != from)?.value;
    Some(MachineLimit::PowerModeChanged { from, to })
}

/// The temperature that rises most, if it had not settled.
fn warming(tracks: &Tracks, window: (Stamp, Stamp)) -> Option<MachineLimit> {
    let length = (window.1 - window.0).0;
    let quarter = |track: &Track, n: i64| -> Option<f64> {
        let edge = |n: i64| Stamp(window.0.0 + length / 4 * n);
        let points = track.within((edge(n), edge(n + 1)));
        (!points.is_empty()).then(|| points.iter().map(|p| p.value).sum::<f64>() / points.len() as f64)
    };
    let mut worst: Option<(f64, MachineLimit)> = None;
    for track in tracks.iter() {
        let name = &track.signal.signal;
        let Some([first, third, last]) =
            (|| Some([quarter(track, 0)?, quarter(track, 2)?, quarter(track, 3)?]))()
        else {
            continue;
        };
        let (rise, limit) = match track.quantity() {
            Quantity::Temperature if last - first > RISE_C.0 && last - third > RISE_C.1 => (
                last - first,
                MachineLimit::TemperatureRising {
                    sensor: name.clone(),
                    from: first,
                    to: last,
                },
            ),
            Quantity::FanDrive if last - third > RISE_FAN => (
                last - third,
                MachineLimit::FanRising {
                    from: third,
                    to: last,
                },
            ),
            _ => continue,
        };
        if worst.as_ref().is_none_or(|(most, _)| rise > *most) {
            worst = Some((rise, limit));
        }
    }
    worst.map(|(_, limit)| limit)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::analysis::finding::Finding;
    use crate::record::{Averaging, Measurand, SampleRecord, SignalRecord};

    const GPU: Used = Used {
        gpu: true,
        host: false,
    };

    /// Ten seconds of readings at 10 Hz.
    fn tracks(source: &str, signal: &str, unit: &str, value: impl Fn(i64) -> f64) -> Tracks {
        let mut tracks = Tracks::default();
        tracks.signal(&SignalRecord {
            source: source.into(),
            signal: signal.into(),
            unit: unit.into(),
            measurand: Measurand::of_names(source, signal, unit),
            period: Some(Nanos::from_millis(100)),
            ..SignalRecord::default()
        });
        for i in 0..100 {
            tracks.sample(&SampleRecord {
                at: Stamp(i * 100_000_000),
                source: source.into(),
                signal: signal.into(),
                value: Some(value(i)),
                unit: unit.into(),
            });
        }
        tracks.finish()
    }

    const WINDOW: (Stamp, Stamp) = (Stamp(0), Stamp(10_000_000_000));

    fn found(tracks: &Tracks) -> Vec<Finding> {
        derive(tracks, WINDOW, GPU)
            .into_iter()
            .map(Finding::from)
            .collect()
    }

    fn codes(tracks: &Tracks) -> Vec<String> {
        found(tracks).into_iter().map(|f| f.code).collect()
    }

    #[test]
    fn reasons_to_throttle_are_told_apart_and_idleness_is_none() {
        let reasons = |bits: fn(i64) -> f64| tracks("nvml", "gpu0_throttle_reasons", "bits", bits);
        assert!(codes(&reasons(|_| 1.0)).is_empty(), "GPU idle");
        assert!(codes(&reasons(|_| 2.0)).is_empty(), "locked clocks");
        let throttled = |bits| {
            let facts = found(&reasons(bits)).remove(0).facts;
            (facts["by"].clone(), facts["share"].clone())
        };
        assert_eq!(
            throttled(|i| if i < 31 { 64.0 } else { 0.0 }),
            (json!("temperature"), json!(0.31))
        );
        assert_eq!(throttled(|_| 4.0), (json!("power-limit"), json!(1.0)));
        assert_eq!(throttled(|_| 8.0), (json!("hardware"), json!(1.0)));
    }

    #[test]
    fn a_cooling_device_in_use_is_throttling_and_a_fan_is_not() {
        let state = |name: &str| tracks("thermal", name, "state", |i| f64::from(i > 49));
        assert_eq!(codes(&state("cpufreq-cpu0_cooling")), ["throttled"]);
        assert_eq!(codes(&state("gpu-throttle-alert_cooling")), ["throttled"]);
        for harmless in [
            "pwm-fan_cooling",
            "LCD_cooling",
            "TCC Offset_cooling",
            "iwlwifi_1_cooling",
            "hot-surface-alert_cooling",
        ] {
            assert!(codes(&state(harmless)).is_empty(), "{harmless}");
        }
    }

    #[test]
    fn what_is_still_warming_up_says_so_and_what_has_settled_does_not() {
        let zone = |value: fn(i64) -> f64| tracks("thermal", "gpu", "c", value);
        assert_eq!(codes(&zone(|i| 40.0 + i as f64 * 0.1)), ["temperature-rising"]);
        assert!(
            codes(&zone(|i| 40.0 + (i as f64 * 0.2).min(6.0))).is_empty(),
            "settled"
        );
        assert!(codes(&zone(|i| 60.0 - i as f64 * 0.1)).is_empty(), "cooling");
        let fan = |value: fn(i64) -> f64| tracks("fan", "fan_drive", "percent", value);
        assert_eq!(codes(&fan(|i| 20.0 + i as f64 * 0.5)), ["temperature-rising"]);
        assert!(codes(&fan(|i| 20.0 + (i as f64).min(30.0))).is_empty(), "settled");
    }

    #[test]
    fn a_power_mode_that_changes_and_an_alarm_of_current_are_found() {
        let mode = tracks("nvpmodel", "power_mode", "id", |i| if i < 70 { 2.0 } else { 0.0 });
        assert_eq!(codes(&mode), ["power-mode-changed"]);
        let alarm = tracks("ina3221", "VDD_IN_over_current", "flag", |i| f64::from(i == 5));
        assert_eq!(codes(&alarm), ["over-current"]);
    }

    /// The count at each tenth of a second, from two seconds before the measured time to a second after it.
    fn events(count: impl Fn(i64) -> f64) -> Vec<Finding> {
        let mut tracks = Tracks::default();
        tracks.signal(&SignalRecord {
            source: "soctherm_oc".into(),
            signal: "oc3_events".into(),
            unit: "count".into(),
            measurand: Measurand::new(Quantity::OverCurrentEvents, Part::Guard(3)),
            averaging: Averaging::Counter,
            ..SignalRecord::default()
        });
        for i in -20..110 {
            tracks.sample(&SampleRecord {
                at: Stamp(i * 100_000_000 + 1),
                source: "soctherm_oc".into(),
                signal: "oc3_events".into(),
                value: Some(count(i)),
                unit: "count".into(),
            });
        }
        found(&tracks.finish())
    }

    #[test]
    fn over_current_events_count_that_happen_while_it_is_measured() {
        let rise = |at: i64| events(move |i| if i >= at { 27_417.0 } else { 27_390.0 });
        let found = rise(50);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].code, "over-current");
        let facts = &found[0].facts;
        assert_eq!(
            (&facts["events"], &facts["measured_s"]),
            (&json!(27.0), &json!(10.0))
        );
        assert_eq!(facts["guard"], "peak-power");
        assert!(rise(-5).is_empty(), "before");
        assert!(rise(105).is_empty(), "after");
        assert!(events(|_| 27_390.0).is_empty(), "since the board was started");
        // A counter that begins anew (the firmware was restarted) counted at least what it shows.
        let anew = events(|i| if i >= 50 { 3.0 } else { 27_390.0 });
        assert_eq!(anew[0].facts["events"], 3.0);
    }

    /// It slows a board down while no temperature and no load tells why.
    #[test]
    fn over_current_events_are_told_before_all_else() {
        let mut all = Tracks::default();
        for (source, signal, unit) in [
            ("thermal", "cpufreq-cpu0_cooling", "state"),
            ("nvml", "gpu0_throttle_reasons", "bits"),
            ("soctherm_oc", "oc3_events", "count"),
        ] {
            let measurand = match signal {
                "oc3_events" => Measurand::new(Quantity::OverCurrentEvents, Part::Guard(3)),
                _ => Measurand::of_names(source, signal, unit),
            };
            all.signal(&SignalRecord {
                source: source.into(),
                signal: signal.into(),
                unit: unit.into(),
                measurand,
                ..SignalRecord::default()
            });
            for i in 0..100 {
                all.sample(&SampleRecord {
                    at: Stamp(i * 100_000_000),
                    source: source.into(),
                    signal: signal.into(),
                    // Thermal, as bits.
                    value: Some(if signal == "oc3_events" { i as f64 } else { 64.0 }),
                    unit: unit.into(),
                });
            }
        }
        assert_eq!(codes(&all.finish()), ["over-current", "throttled", "throttled"]);
    }

    #[test]
    fn programs_are_named_with_the_processors_that_they_took() {
        let tracks = tracks("processes", "stress", "percent", |_| 150.0);
        let found = busiest(&tracks, WINDOW);
        assert_eq!(found.len(), 1);
        assert!((found[0].processors - 1.5).abs() < 0.05, "{found:?}");
    }

    #[test]
    fn of_what_still_rises_that_which_rises_most_is_told_and_what_settles_is_not() {
        let both = |gpu: fn(i64) -> f64, fan: fn(i64) -> f64| {
            let mut tracks = Tracks::default();
            for (source, signal, unit, value) in
                [("thermal", "gpu", "c", gpu), ("fan", "fan_drive", "percent", fan)]
            {
                for i in 0..100 {
                    tracks.sample(&SampleRecord {
                        at: Stamp(i * 100_000_000),
                        source: source.into(),
                        signal: signal.into(),
                        value: Some(value(i)),
                        unit: unit.into(),
                    });
                }
            }
            found(&tracks.finish())
                .into_iter()
                .map(|f| f.facts["kind"].clone())
                .collect::<Vec<Value>>()
        };
        // The fan's rise is that of the last half: 12.5 % of its drive.
        let fan = |i| 20.0 + i as f64 * 0.5;
        let hot = both(|i| 40.0 + i as f64 * 0.4, fan);
        assert!(hot.contains(&json!("temperature-rising")), "{hot:?}");
        let warm = both(|i| 40.0 + i as f64 * 0.08, fan);
        assert!(warm.contains(&json!("fan-rising")), "{warm:?}");
        let settling = both(|i| 40.0 + (i as f64 * 0.12).min(6.5) + i as f64 * 0.005, |_| 20.0);
        assert!(
            settling.is_empty(),
            "it rose in the first half, and by less than half a degree since"
        );
    }

    #[test]
    fn a_signal_tells_throttling_by_its_bits_or_by_being_up() {
        let is = |name: &str, unit: &str, value: f64| {
            let tracks = tracks("s", name, unit, |_| 0.0);
            let track = tracks.get("s", name).unwrap();
            tells_throttling(track).then(|| is_throttled(track, value))
        };
        for (name, unit, value, throttled) in [
            ("gpu0_throttle_reasons", "bits", 64.0, Some(true)),
            ("gpu0_throttle_reasons", "bits", 1.0, Some(false)),
            ("cpufreq-cpu0_cooling", "state", 0.0, Some(false)),
            ("cpufreq-cpu0_cooling", "state", 2.0, Some(true)),
            ("VDD_IN_over_current", "flag", 0.0, Some(false)),
            ("VDD_IN_over_current", "flag", 1.0, Some(true)),
            ("pwm-fan_cooling", "state", 2.0, None),
        ] {
            assert_eq!(is(name, unit, value), throttled, "{name}: {value}");
        }
    }

    #[test]
    fn from_more_than_one_reading_of_a_hundred_on_a_limit_is_said() {
        let of = |bits: f64, readings: i64| {
            codes(&tracks("nvml", "gpu0_throttle_reasons", "bits", |i| {
                if i < readings { bits } else { 0.0 }
            }))
        };
        for bits in [4.0, 128.0, 8.0] {
            assert!(of(bits, 1).is_empty(), "{bits}");
            assert_eq!(of(bits, 2), ["throttled"], "{bits}");
        }
        // Heat is said at once.
        assert_eq!(of(64.0, 1), ["throttled"]);
    }

    #[test]
    fn what_slowed_a_part_down_is_told_with_the_share_of_readings_in_which_it_did() {
        let said = |signal: &str, unit: &str, up: i64| {
            let tracks = tracks("s", signal, unit, |i| if i < up { 2.0 } else { 0.0 });
            let mut found = found(&tracks);
            assert!(found.len() <= 1, "{found:?}");
            found.pop().map(|found| found.facts).unwrap_or_default()
        };
        let cooled = said("cpufreq-cpu0_cooling", "state", 31);
        assert_eq!(
            (&cooled["part"], &cooled["share"]),
            (&json!("cpufreq-cpu0"), &json!(0.31))
        );
        let alarm = said("VDD_IN_over_current", "flag", 7);
        assert_eq!(
            (&alarm["rail"], &alarm["share"]),
            (&json!("VDD_IN"), &json!(0.07))
        );
        let mode = said("power_mode", "id", 70);
        assert_eq!((&mode["from_mode"], &mode["to_mode"]), (&json!(2.0), &json!(0.0)));
        for (signal, unit) in [
            ("cpufreq-cpu0_cooling", "state"),
            ("VDD_IN_over_current", "flag"),
            ("power_mode", "id"),
        ] {
            assert!(said(signal, unit, 0).is_empty(), "{signal}");
        }
    }

    #[test]
    fn a_temperature_rises_by_more_than_three_degrees_over_all_and_one_over_the_last_half() {
        let by_quarter = |quarters: [f64; 4]| {
            let zone = tracks("thermal", "gpu", "c", |i| quarters[i as usize / 25]);
            !codes(&zone).is_empty()
        };
        for (quarters, rising) in [
            ([40.0, 41.0, 41.5, 43.0], false),
            ([40.0, 41.0, 41.5, 43.5], true),
            ([40.0, 41.0, 43.0, 44.0], false),
            ([40.0, 41.0, 43.0, 44.5], true),
            ([43.0, 41.0, 41.5, 43.5], false),
        ] {
            assert_eq!(by_quarter(quarters), rising, "{quarters:?}");
        }
    }

    #[test]
    fn a_program_that_took_nothing_is_not_named() {
        let idle = tracks("processes", "idle", "percent", |_| 0.0);
        assert!(busiest(&idle, WINDOW).is_empty());
    }
}
