//! Energy of runs whose power is known.

mod counters;
mod devices;
mod gaps;

use jetlag::analysis::Summary;
use jetlag::record::{
    Averaging, Device, Event, IDLE_WINDOW, Manifest, Measurand, Phase, RailRole, SampleRecord, SignalRecord,
    WindowRecord,
};
use jetlag::units::Nanos;
use serde_json::json;

use crate::common::planned::Planned as _;
use crate::summary::made_up::{self, START};

/// A line of power: what it means, and what it reads at a time (in seconds from the measured start).
pub(crate) struct Line {
    pub(crate) signal: SignalRecord,
    pub(crate) mw: fn(f64) -> Option<f64>,
}

pub(crate) fn line(source: &str, rail: &str, role: RailRole, mw: fn(f64) -> Option<f64>) -> Line {
    Line {
        signal: SignalRecord {
            source: source.to_owned(),
            signal: rail.to_owned(),
            unit: "mw".to_owned(),
            measurand: Measurand::of_names(source, rail, "mw"),
            origin: "made up".to_owned(),
            period: Some(Nanos::from_millis(100)),
            refresh: Some(Nanos::from_millis(100)),
            averaging: Averaging::Mean,
            window: Some(Nanos::from_millis(100)),
            step: Some(40.0),
            role,
            within: None,
        },
        mw,
    }
}

/// Readings at 10 Hz from 5 s before the measured start (idle until 1 s before it) to half a second after its
/// end.
pub(crate) fn record(lines: &[Line], seconds: i64) -> Vec<Event> {
    let mut events = Vec::new();
    for line in lines {
        let signal = &line.signal;
        events.push(Event::Signal(signal.clone()));
        for i in -50..=seconds * 10 + 5 {
            events.push(Event::Sample(SampleRecord {
                at: START + Nanos::from_millis(100) * i,
                source: signal.source.clone(),
                signal: signal.signal.clone(),
                value: (line.mw)(i as f64 / 10.0),
                unit: signal.unit.clone(),
            }));
        }
    }
    events.push(Event::Window(WindowRecord {
        name: IDLE_WINDOW.to_owned(),
        from: START - Nanos::from_secs(5),
        to: START - Nanos::from_secs(1),
    }));
    events
}

/// The demo for `seconds`, with these lines sampled beside it.
pub(crate) fn powered(lines: &[Line], seconds: i64) -> Summary {
    let (manifest, events) = with_power(lines, seconds);
    made_up::summarize(&manifest, &events)
}

fn with_power(lines: &[Line], seconds: i64) -> (Manifest, Vec<Event>) {
    let (mut manifest, mut events) = made_up::demo(seconds);
    manifest.plan().baseline.idle = Some(Nanos::from_secs(4));
    events.extend(record(lines, seconds));
    (manifest, events)
}

/// 2 W when idle, 10 W while measured.
pub(crate) fn module(t: f64) -> Option<f64> {
    Some(if t < -0.5 { 2_000.0 } else { 10_000.0 })
}

pub(crate) fn codes(summary: &Summary) -> Vec<&str> {
    summary.run.findings.iter().map(|f| f.code.as_str()).collect()
}

#[test]
fn energy_is_the_integral_of_power_and_idle_is_subtracted() {
    let summary = powered(&[line("ina3221", "VDD_IN", RailRole::Total, module)], 70);
    let rail = &summary.power[0];
    assert_eq!(
        (rail.mean_mw, rail.peak_mw, rail.idle_mw),
        (10_000.0, 10_000.0, Some(2_000.0))
    );
    assert_eq!((rail.energy_mj, rail.above_idle_mj), (700_000.0, Some(560_000.0)));
    assert_eq!(
        (rail.coverage, rail.refresh_ms, rail.energy_from),
        (1.0, Some(100.0), "power")
    );
    let [low, high] = rail.ci95_mj.unwrap();
    assert!(
        low < 700_000.0 && 700_000.0 < high && high - low >= 2.0 * 20.0 * 70.0,
        "half a step at least"
    );
    let energy = summary.energy.as_ref().unwrap();
    assert_eq!((energy.of, energy.total_mj), ("module", 700_000.0));
    // What the tenants are charged adds up to the whole.
    let charged: f64 = summary
        .tenants
        .iter()
        .map(|t| t.energy_mj_per_frame.unwrap().total * t.frames.completed as f64)
        .sum();
    assert!((charged - 700_000.0).abs() < 1.0, "{charged}");
    assert!(
        summary
            .tenants
            .iter()
            .all(|t| t.energy_mj_per_frame.unwrap().attributed)
    );
    assert!(codes(&summary).is_empty(), "{:?}", summary.run.findings);
}

#[test]
fn a_rail_within_another_is_not_counted_twice_and_a_missing_summand_leaves_no_total() {
    let lines = |cpu: fn(f64) -> Option<f64>| {
        [
            line("ina3221", "VDD_GPU_SOC", RailRole::Summand, |_| Some(6_000.0)),
            line("ina3221", "VDD_CPU_CV", RailRole::Summand, cpu),
            line("ina3221", "VIN_SYS_5V0", RailRole::Summand, |_| Some(3_000.0)),
            line("ina3221", "VDDQ_VDD2_1V8AO", RailRole::Within, |_| Some(900.0)),
        ]
    };
    let summary = powered(&lines(|_| Some(1_000.0)), 70);
    assert_eq!(summary.energy.as_ref().unwrap().total_mj, 700_000.0);
    assert_eq!(summary.power.len(), 4);
    let summary = powered(&lines(|_| None), 70);
    assert!(summary.energy.is_none(), "a sum without one of its parts is none");
    assert!(summary.tenants.iter().all(|t| t.energy_mj_per_frame.is_none()));
    assert_eq!(summary.power.len(), 3, "what was not measured is not there");
    assert_eq!(codes(&summary), ["power-not-measured", "no-total-power"]);
}

#[test]
fn zero_is_measured_and_nothing_is_not() {
    let summary = powered(
        &[
            line("ina3221", "VDD_IN", RailRole::Total, module),
            line("ina3221", "VDD_SOC", RailRole::Part, |_| Some(10_000.0)),
            line("ina3221", "VDD_GPU", RailRole::Part, |_| Some(0.0)),
            line("ina3221", "VDD_CPU", RailRole::Part, |_| None),
        ],
        70,
    );
    let rails: Vec<(&str, f64)> = summary
        .power
        .iter()
        .map(|r| (r.rail.as_str(), r.energy_mj))
        .collect();
    assert_eq!(
        rails,
        [("VDD_IN", 700_000.0), ("VDD_SOC", 700_000.0), ("VDD_GPU", 0.0)]
    );
}

#[test]
fn rails_that_do_not_add_up_to_the_total_are_a_finding() {
    let share = |part: fn(f64) -> Option<f64>| {
        let summary = powered(
            &[
                line("ina3221", "VDD_IN", RailRole::Total, module),
                line("ina3221", "VDD_SOC", RailRole::Part, part),
            ],
            70,
        );
        let finding = summary
            .run
            .findings
            .iter()
            .find(|f| f.code == "rails-do-not-add-up");
        (
            summary.energy.unwrap().rails_share.unwrap(),
            finding.map(|f| (f.facts["share"].clone(), f.facts["total"].clone())),
        )
    };
    let total = json!(["ina3221/VDD_IN"]);
    assert_eq!(share(|_| Some(6_000.0)), (0.6, Some((json!(0.6), total.clone()))));
    assert_eq!(share(|_| Some(12_000.0)), (1.2, Some((json!(1.2), total))));
    assert_eq!(share(|_| Some(9_500.0)).1, None);
}

#[test]
fn rails_of_one_load_are_off_together_and_what_is_above_idle_by_the_baseline_too() {
    fn load(t: f64) -> f64 {
        ((t * 10.0).round() * 0.754_877_67).fract()
            * 2_000.0
            * if (t / 4.0) as i64 % 2 == 0 { 1.0 } else { 1.4 }
    }
    let rails = [
        line("ina3221", "VDD_GPU_SOC", RailRole::Summand, |t| {
            Some(6_000.0 + load(t))
        }),
        line("ina3221", "VDD_CPU_CV", RailRole::Summand, |t| {
            Some(3_000.0 + load(t) / 2.0)
        }),
        line("ina3221", "VIN_SYS_5V0", RailRole::Summand, |t| {
            Some(2_000.0 + load(t) / 4.0)
        }),
    ];
    let rails = rails.map(|mut rail| {
        rail.signal.refresh = Some(Nanos::from_millis(50));
        rail.signal.window = Some(Nanos::from_millis(50));
        rail
    });
    let (manifest, mut events) = with_power(&rails, 70);
    // Twice as many readings, so that the baseline has as many as it takes.
    let between: Vec<Event> = events
        .iter()
        .filter_map(|event| match event {
            Event::Sample(sample) if sample.source == "ina3221" => Some(Event::Sample(SampleRecord {
                at: sample.at + Nanos::from_millis(50),
                ..sample.clone()
            })),
            _ => None,
        })
        .collect();
    events.extend(between);
    let summary = made_up::summarize(&manifest, &events);
    let half = |[low, high]: [f64; 2]| (high - low) / 2.0;
    let apart: f64 = summary.power.iter().map(|rail| half(rail.ci95_mj.unwrap())).sum();
    let energy = summary.energy.unwrap();
    let together = half(energy.ci95_mj.unwrap());
    assert!(
        (together / apart - 1.0).abs() < 0.01,
        "{together} of {apart}, and no root of squares"
    );
    let above = half(energy.above_idle_ci95_mj.unwrap());
    assert!(
        above > 1.2 * together,
        "{above}: the baseline's own is in it, beside {together}"
    );
}

#[test]
fn idle_that_was_asked_for_and_cannot_be_had_is_a_finding_and_not_zero() {
    let summary = powered(&[], 70);
    assert_eq!(codes(&summary), ["idle-power-not-measured"]);
    let unread = line("ina3221", "VDD_IN", RailRole::Total, |t| {
        (t > -0.5).then_some(10_000.0)
    });
    let summary = powered(&[unread], 70);
    assert_eq!(codes(&summary), ["idle-power-not-measured"]);
    assert_eq!(summary.power[0].idle_mw, None);
    assert!(
        summary.tenants[0]
            .energy_mj_per_frame
            .unwrap()
            .above_idle
            .is_none()
    );
}

#[test]
fn rails_of_an_unknown_board_have_figures_and_no_total() {
    let summary = powered(&[line("ina3221", "VDD_MYSTERY", RailRole::Unknown, module)], 70);
    assert_eq!(summary.power[0].energy_mj, 700_000.0);
    assert!(summary.energy.is_none());
    assert_eq!(codes(&summary), ["no-total-power"]);
}

#[test]
fn throttling_in_the_measured_time_limits_the_run_and_before_it_does_not() {
    let limited = |from: i64| {
        let (manifest, mut events) = made_up::demo(70);
        for i in from..from + 10 {
            events.push(Event::Sample(SampleRecord {
                at: START + Nanos::from_secs(i),
                source: "nvml".to_owned(),
                signal: "gpu0_throttle_reasons".to_owned(),
                value: Some(32.0),
                unit: "bits".to_owned(),
            }));
        }
        let summary = made_up::summarize(&manifest, &events);
        codes(&summary)
            .iter()
            .map(|code| code.to_string())
            .collect::<Vec<_>>()
    };
    assert!(limited(-15).is_empty());
    assert_eq!(limited(20), ["throttled"]);
}
