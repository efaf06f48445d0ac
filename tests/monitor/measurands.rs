//! What the samplers say that their signals measure, beside what is made of the names in older files.

use jetlag::board::Roots;
use jetlag::record::{Event, Measurand, Part, Quantity, SignalRecord};
use jetlag::scenario::Telemetry;
use jetlag::telemetry::{self, tegrastats};
use jetlag::units::{Nanos, Stamp};

use nvidia_doubles::nvml;

use crate::common::boards;

/// Every signal that is described on a machine, after two looks.
fn described(roots: &Roots) -> Vec<SignalRecord> {
    let asked = Telemetry {
        interval: Nanos::from_millis(100),
        sources: None,
    };
    let mut events = Vec::new();
    for mut sampler in telemetry::find(roots, &asked, None).samplers {
        for second in 1..=2 {
            // A sensor that a made-up board does not have in full says so; the others count.
            let _ = sampler.sample(Stamp(second * 1_000_000_000), &mut Vec::new());
            sampler.asides(&mut events);
        }
    }
    signals(events)
}

fn signals(events: Vec<Event>) -> Vec<SignalRecord> {
    let of_event = |event| match event {
        Event::Signal(signal) => Some(signal),
        _ => None,
    };
    events.into_iter().filter_map(of_event).collect()
}

/// The quantities that were seen.
fn judged(signals: &[SignalRecord]) -> Vec<(Quantity, Part)> {
    for signal in signals {
        let by_name = Measurand::of_names(&signal.source, &signal.signal, &signal.unit);
        assert_ne!(signal.measurand, Measurand::default(), "{signal:?}");
        assert_eq!(signal.measurand, by_name, "{signal:?}");
    }
    let of_signal = |signal: &SignalRecord| (signal.measurand.quantity, signal.measurand.part);
    signals.iter().map(of_signal).collect()
}

#[test]
fn samplers_state_what_their_names_told_before() {
    use Quantity::*;
    for name in [
        "agx-orin-r36",
        "desktop",
        "nano-r32",
        "orin-nano-r36",
        "thor-r38",
        "xavier-nx-r35",
    ] {
        let board = boards::board(name);
        let seen = judged(&described(&Roots::at(board.path())));
        assert!(seen.contains(&(MemoryUsed, Part::Board)), "{name}: {seen:?}");
        let wanted: &[(Quantity, Part)] = match name {
            "agx-orin-r36" => &[
                (Power, Part::Board),
                (Clock, Part::Gpu(None)),
                (Clock, Part::MemoryController),
                (Temperature, Part::Gpu(None)),
                (OverCurrentEvents, Part::Guard(3)),
                (PowerMode, Part::Board),
            ],
            _ => &[],
        };
        for wanted in wanted {
            assert!(seen.contains(wanted), "{name} has no {wanted:?}: {seen:?}");
        }
    }
}

#[test]
fn so_does_nvml() {
    let folder = tempfile::tempdir().unwrap();
    let state = "count 1\ninstant 250000\nenergy 1000000\nload 97\nclock 1980\nthrottle 4\ntemperature 66\n";
    let Some(nvml) = nvml::library(folder.path(), state) else {
        return;
    };
    let board = boards::board("desktop");
    let roots = Roots {
        nvml: Some(nvml),
        ..Roots::at(board.path())
    };
    let seen = judged(&described(&roots));
    for quantity in [
        Quantity::Power,
        Quantity::Energy,
        Quantity::Clock,
        Quantity::ThrottleReasons,
    ] {
        assert!(
            seen.contains(&(quantity, Part::Gpu(Some(0)))),
            "no {quantity:?}: {seen:?}"
        );
    }
}

#[test]
fn and_lines_of_tegrastats() {
    let log = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/boards/tegrastats.log");
    let (mut readings, mut samples, mut events) = (tegrastats::Readings::default(), Vec::new(), Vec::new());
    for line in std::fs::read_to_string(log).unwrap().lines() {
        assert!(readings.line(line, Stamp(0), None, None, &mut samples, &mut events));
    }
    let seen = judged(&signals(events));
    assert!(seen.contains(&(Quantity::Load, Part::Processor(0))), "{seen:?}");
    assert!(seen.contains(&(Quantity::Power, Part::Board)), "{seen:?}");
}
