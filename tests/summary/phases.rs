//! Each phase of a run is judged: who ended early, what was dropped, what failed, what was late.

use std::sync::atomic::AtomicBool;

use jetlag::analysis::Summary;
use jetlag::analysis::summary::Estimate;
use jetlag::record::{Event, LogRecord, Outcome, Phase, SweptRate};
use jetlag::scenario::{Arrival, DutyCycle, LatencyModel, Overload, Sharing};
use jetlag::tenant::PhasePlan;
use jetlag::tenant::simulate::{self, SimTenant};
use jetlag::units::{Nanos, Stamp};
use serde_json::json;

use crate::common::planned::Planned as _;
use crate::summary::interference::{Run, busy, manifest, rendered, sim, streams};
use crate::summary::made_up;

fn fixed(ms: i64) -> LatencyModel {
    LatencyModel::Fixed {
        latency: Nanos::from_millis(ms),
    }
}

fn codes(summary: &Summary) -> Vec<&str> {
    let findings = summary.run.findings.iter();
    findings.map(|finding| finding.code.as_str()).collect()
}

/// Each alone and both, in turns, and then both for 10 s, on a device that is divided evenly.
fn pair(a: &SimTenant, b: &SimTenant) -> Summary {
    let mut manifest = manifest(&["a", "b"], streams());
    manifest.plan().baseline.alone = true;
    for tenant in &mut manifest.plan().tenants {
        tenant.arrival = Arrival::Closed;
    }
    let mut run = Run::of(&manifest, 1);
    let cells = [vec![a.clone()], vec![a.clone(), b.clone()], vec![b.clone()]];
    run.rounds((1, 0..8), "Streams", 1.0, &cells);
    run.phase(Phase::Together, "Streams", None, 1.0, 10, &[a.clone(), b.clone()]);
    run.finish()
}

#[test]
fn a_slowdown_is_of_the_time_in_which_all_ran() {
    let mut short = busy(1, 10);
    short.frames = Some(50);
    let summary = pair(&busy(0, 10), &short);
    // Frames take 20 ms beside each other: 50 of them are done after a second, and then a has the device for itself.
    let slowdown = summary.tenants[0].slowdown.as_ref().unwrap();
    assert!((slowdown.p50.value.unwrap() - 2.0).abs() < 0.1, "{slowdown:?}");
    let [low, high] = slowdown.p50.ci95.unwrap();
    assert!(low <= 2.0 && 2.0 <= high, "{slowdown:?}");
    let cell = &summary.interference.matrix[0].cells[0];
    assert_eq!(cell.slowdown.as_ref(), Some(slowdown));
    assert!((8 * 30..=8 * 55).contains(&cell.count), "{}", cell.count);
    let early: Vec<_> = summary
        .run
        .findings
        .iter()
        .filter(|finding| finding.code == "phase-ended-early")
        .collect();
    assert_eq!(early.len(), 1, "{:#?}", summary.run.findings);
    assert_eq!(early[0].tenant.as_deref(), Some("b"));
    let facts = &early[0].facts;
    assert_eq!(
        (&facts["phases"][0]["phase"], &facts["reason"]),
        (&json!("a + b in turns"), &json!("Count"))
    );
    let turns = summary
        .phases
        .iter()
        .find(|phase| phase.label == "a + b")
        .unwrap();
    assert_eq!((turns.turns, turns.kind), (Some(8), "other"));
    let shared = turns.compared_s.unwrap();
    // The warm-up of a quarter second has its frames, too.
    assert!((8.0 * 0.7..8.0 * 1.1).contains(&shared), "{shared}");
    assert_eq!(turns.tenants[1].ended, Some("frames"));
    assert_eq!(turns.tenants[0].compared, cell.count);
}

#[test]
fn a_round_in_which_one_completed_nothing_does_not_count() {
    let cells = |b: &SimTenant| [vec![busy(0, 10)], vec![busy(0, 10), b.clone()]];
    let manifest = manifest(&["a", "b"], streams());
    let of = |whole: u16| {
        let mut run = Run::of(&manifest, 1);
        let mut empty = busy(1, 10);
        empty.length = Some(0);
        run.rounds((1, 0..whole), "Streams", 1.0, &cells(&busy(1, 10)));
        run.rounds((100, whole..whole + 1), "Streams", 1.0, &cells(&empty));
        run.finish().interference.matrix[0].cells[0]
            .slowdown
            .clone()
            .unwrap()
    };
    let slowdown = of(4);
    assert_eq!(
        (slowdown.rounds, slowdown.p50.value.is_some()),
        (4, true),
        "{slowdown:?}"
    );
    let slowdown = of(3);
    assert_eq!((slowdown.rounds, slowdown.p50.value), (3, None));
    assert_eq!(slowdown.withheld.unwrap().code, "too-few-rounds");
}

#[test]
fn alone_and_together_in_one_piece_each_are_not_compared() {
    let manifest = manifest(&["a", "b"], streams());
    let mut run = Run::of(&manifest, 1);
    run.phase(Phase::Alone, "Streams", None, 1.0, 8, &[busy(0, 10)]);
    run.phase(
        Phase::Together,
        "Streams",
        None,
        1.0,
        8,
        &[busy(0, 10), busy(1, 10)],
    );
    let summary = run.finish();
    let slowdown = summary.tenants[0].slowdown.as_ref().unwrap();
    assert_eq!((slowdown.p50, slowdown.rounds), (Estimate::default(), 0));
    assert!((slowdown.of_frames.unwrap() - 2.0).abs() < 0.1);
}

#[test]
fn turns_are_one_row_and_their_slowdown_is_that_of_the_measurement_s_cell() {
    let summary = pair(&busy(0, 10), &busy(1, 20));
    assert_eq!(codes(&summary), [] as [&str; 0]);
    let rows: Vec<(&str, &str, Option<u64>)> = summary
        .phases
        .iter()
        .map(|phase| (phase.label.as_str(), phase.kind, phase.turns))
        .collect();
    assert_eq!(
        rows,
        [
            ("a alone", "alone", Some(8)),
            ("a + b", "other", Some(8)),
            ("b alone", "alone", Some(8)),
            ("a + b", "together", None),
        ]
    );
    let alone = &summary.phases[0];
    assert_eq!(alone.compared_s, Some(16.0));
    assert!((1_500..1_700).contains(&alone.tenants[0].frames.completed));
    assert_eq!(
        summary.tenants[0].slowdown.as_ref().map(|found| found.rounds),
        Some(8)
    );
    assert!(!rendered(&summary, 100).contains("PHASES"));
}

#[test]
fn beside_a_tenant_that_completed_nothing_nothing_is_compared() {
    let mut empty = busy(1, 10);
    empty.length = Some(0);
    let summary = pair(&busy(0, 10), &empty);
    assert_eq!(summary.tenants[0].slowdown, None);
    let cell = &summary.interference.matrix[0].cells[0];
    assert_eq!((cell.slowdown.as_ref(), cell.count), (None, 0));
    assert!(codes(&summary).contains(&"no-frames"), "{:?}", codes(&summary));
}

#[test]
fn a_step_or_a_baseline_that_drops_is_shown_and_limits_the_run() {
    let mut manifest = manifest(&["camera"], None);
    manifest.plan().duty_cycle = Some(DutyCycle {
        tenant: "camera".into(),
        hz: vec![50.0, 125.0],
        closed: false,
    });
    let mut run = Run::of(&manifest, 2);
    let steps = [(Phase::Together, 50.0), (Phase::Other(1), 125.0)];
    for (phase, hz) in steps {
        let mut camera = sim(0, fixed(10), made_up::periodic(hz), 0);
        camera.overload = Overload::DropOldest { queue: 2 };
        camera.deadline = Some(Nanos::from_millis(15));
        let rate = Some(SweptRate {
            tenant: 0,
            hz: Some(hz),
        });
        run.phase(phase, "Streams", rate, 0.0, 10, &[camera]);
    }
    let summary = run.finish();
    let duty = summary.duty_cycle.as_ref().unwrap();
    assert_eq!(duty.steps[0].frames.dropped, 0);
    let dropped = duty.steps[1].frames.dropped;
    assert!((240..=260).contains(&dropped), "a fifth of 1 250: {dropped}");
    assert_eq!(codes(&summary), ["phase-overload"]);
    let finding = &summary.run.findings[0];
    assert_eq!(
        finding.facts["phases"],
        json!([{ "phase": "camera at 125 Hz", "dropped": dropped, "offered": 1249 }])
    );
    let phase = &summary.phases[1];
    assert_eq!(phase.tenants[0].frames, duty.steps[1].frames);
    assert!(phase.tenants[0].frames.missed > dropped);
}

#[test]
fn failures_and_late_releases_of_a_baseline_are_told_by_phase() {
    let (mut manifest, mut events) = made_up::demo(70);
    manifest.plan().expect.clear();
    let mut lines = Vec::new();
    for event in &mut events {
        let Event::Frame(frame) = event else { continue };
        match (frame.tenant, frame.phase) {
            (0, Phase::Alone) => frame.lateness = Nanos::from_micros(300),
            (1, Phase::Alone) if frame.sequence % 10 == 3 => {
                frame.outcome = Outcome::Failed;
                lines.push(Event::Log(LogRecord {
                    at: frame.finished,
                    level: "warn".to_owned(),
                    message: "tenant lidar: no such sweep".to_owned(),
                }));
            }
            _ => {}
        }
    }
    events.extend(lines);
    let summary = made_up::summarize(&manifest, &events);
    assert_eq!(codes(&summary), ["phase-late-releases", "phase-failed"]);
    let [late, failed] = summary.run.findings.as_slice() else {
        panic!("two findings");
    };
    assert_eq!(
        late.facts["phases"],
        json!([{ "phase": "camera alone", "late": 2100, "releases": 2100 }])
    );
    assert_eq!(
        failed.facts["phases"],
        json!([{ "phase": "lidar alone", "failed": 70, "offered": 700 }])
    );
    assert_eq!(failed.facts["cause"], "no such sweep");
    // The file tells no phases, as those before version 1.3: they are known all the same.
    let labels: Vec<&str> = summary.phases.iter().map(|phase| phase.label.as_str()).collect();
    assert_eq!(labels, ["camera alone", "lidar alone", "camera + lidar"]);
    assert_eq!(summary.phases[1].tenants[0].frames.failed, 70);
}

#[test]
fn a_miss_alone_is_shown_and_is_a_result_as_it_is_in_the_measurement() {
    let (mut manifest, mut events) = made_up::demo(70);
    manifest.plan().expect.clear();
    for event in &mut events {
        if let Event::Frame(frame) = event
            && frame.phase == Phase::Alone
        {
            frame.deadline = Some(Nanos::from_millis(1));
        }
    }
    let summary = made_up::summarize(&manifest, &events);
    assert_eq!(codes(&summary), [] as [&str; 0]);
    assert_eq!(summary.phases[0].tenants[0].frames.missed, 2100);
    assert!(rendered(&summary, 100).contains("camera alone"));
}

#[test]
fn each_phase_draws_anew_and_the_same_again_when_it_is_repeated() {
    let tenant = busy(0, 10);
    let drawn = |phase| {
        let plan = PhasePlan {
            phase,
            drawn_as: phase,
            traced: false,
            sharing: Sharing::Streams,
            epoch: Stamp(0),
            measured_from: Stamp(0),
            end: Stamp(0) + Nanos::from_secs(1),
        };
        let mut took = Vec::new();
        let tenants = std::slice::from_ref(&tenant);
        simulate::run(tenants, 0.0, plan, &AtomicBool::new(false), |frame| {
            took.push(frame.response());
        });
        took
    };
    let phases = [Phase::Together, Phase::Alone, Phase::Other(0), Phase::Other(1)];
    for (place, phase) in phases.into_iter().enumerate() {
        assert_eq!(drawn(phase), drawn(phase));
        for other in &phases[place + 1..] {
            assert_ne!(drawn(phase)[..20], drawn(*other)[..20], "{phase:?} and {other:?}");
        }
    }
}

#[test]
fn a_source_that_ends_in_a_phase_is_advised_upon_as_such() {
    let mut manifest = manifest(&["a", "b"], streams());
    for tenant in &mut manifest.plan().tenants {
        tenant.arrival = Arrival::Closed;
    }
    let mut run = Run::of(&manifest, 1);
    let mut short = busy(1, 10);
    short.length = Some(100);
    run.phase(
        Phase::Together,
        "Streams",
        None,
        1.0,
        10,
        &[busy(0, 10), busy(1, 10)],
    );
    run.phase(Phase::Other(1), "Exclusive", None, 1.0, 10, &[busy(0, 10), short]);
    let summary = run.finish();
    let mut findings = summary.run.findings.iter();
    let early = findings.find(|finding| finding.code == "phase-ended-early");
    let early = early.expect("b ended early");
    assert_eq!(early.tenant.as_deref(), Some("b"));
    assert_eq!(early.facts["reason"], "EndOfSource");
}

#[test]
fn releases_are_late_or_not_by_the_arrival_that_a_step_has() {
    let mut manifest = manifest(&["camera", "lidar"], None);
    manifest.plan().clock = jetlag::scenario::ClockKind::Real;
    manifest.plan().duty_cycle = Some(DutyCycle {
        tenant: "camera".into(),
        hz: vec![50.0],
        closed: true,
    });
    manifest.plan().tenants[1].arrival = Arrival::Closed;
    let mut run = Run::of(&manifest, 3);
    for (phase, hz) in [(Phase::Together, Some(50.0)), (Phase::Other(1), None)] {
        let arrival = hz.map_or(Arrival::Closed, made_up::periodic);
        let rate = Some(SweptRate { tenant: 0, hz });
        let tenants = [sim(0, fixed(2), arrival, 0), sim(1, fixed(3), Arrival::Closed, 0)];
        run.phase(phase, "Streams", rate, 0.0, 2, &tenants);
    }
    let summary = run.finish();
    let late: Vec<Vec<Option<u64>>> = summary
        .phases
        .iter()
        .map(|phase| phase.tenants.iter().map(|tenant| tenant.late_releases).collect())
        .collect();
    assert_eq!(late, [[Some(0), None], [None, None]]);
}
