//! Runs that differ in a way of which it is known what it does to every figure: time scaled or moved, names and orders
//! changed, a tenant that does nothing beside them, a run in two files. No figure's own truth is needed for that.

use std::sync::atomic::AtomicBool;

use jetlag::analysis::Summary;
use jetlag::analysis::compare::{RunSample, Side, compare};
use jetlag::record::{Event, FrameRecord, Manifest, Phase, PhaseRecord};
use jetlag::scenario::{Arrival, ClockKind, LatencyModel, Overload, Sharing};
use jetlag::tenant::PhasePlan;
use jetlag::tenant::simulate::{self, SimTenant};
use jetlag::units::{Nanos, Stamp};
use serde_json::Value;

use crate::common::planned::Planned as _;
use crate::summary::made_up::{self, ms};

const SECONDS: i64 = 40;

/// A camera and a LiDAR that slow each other down and queue now and then, each alone before.
fn run(seed: u64) -> (Manifest, Vec<Event>) {
    let tenants = vec![
        made_up::tenant("camera", 30.0, 40.0),
        made_up::tenant("lidar", 12.0, 60.0),
    ];
    let mut manifest = made_up::manifest(SECONDS, tenants);
    manifest.plan().clock = ClockKind::Virtual;
    manifest.plan().baseline.alone = true;
    manifest.plan().sim_contention = 0.5;
    let member = |tenant: u16, hz: f64, median_ms: f64, phase: u64| SimTenant {
        tenant,
        model: LatencyModel::LogNormal {
            median: ms(median_ms),
            sigma: 0.3,
        },
        arrival: Arrival::Periodic {
            hz,
            phase: Nanos::ZERO,
            jitter: ms(4.0),
        },
        overload: Overload::DropOldest { queue: 2 },
        deadline: Some(ms(if tenant == 0 { 40.0 } else { 60.0 })),
        depth: 1,
        batch: Default::default(),
        frames: None,
        seed: seed * 64 + phase * 8 + u64::from(tenant),
        timeline: None,
        length: None,
    };
    let camera = |phase| member(0, 30.0, 17.0, phase);
    let lidar = |phase| member(1, 12.0, 22.0, phase);
    let mut events = Vec::new();
    let phases = [
        (Phase::Alone, vec![camera(0)]),
        (Phase::Alone, vec![lidar(1)]),
        (Phase::Together, vec![camera(2), lidar(2)]),
    ];
    for ((phase, members), number) in phases.into_iter().zip(0..) {
        let epoch = Stamp(0) + Nanos::from_secs((SECONDS + 2) * number);
        let measured_from = epoch + Nanos::from_secs(1);
        let plan = PhasePlan {
            phase,
            drawn_as: phase,
            traced: false,
            sharing: Sharing::Streams,
            epoch,
            measured_from,
            end: measured_from + Nanos::from_secs(SECONDS),
        };
        let ends = simulate::run(&members, 0.5, plan, &AtomicBool::new(false), |frame| {
            events.push(Event::Frame(*frame))
        });
        events.extend(ends.into_iter().map(Event::Phase));
    }
    (manifest, events)
}

fn summary(manifest: &Manifest, events: &[Event]) -> Summary {
    made_up::summarize(manifest, events)
}

fn json(summary: &Summary) -> Value {
    serde_json::to_value(summary).expect("a summary is JSON")
}

/// Every stamp and every duration of an event.
fn with_times(event: &Event, stamp: impl Fn(Stamp) -> Stamp, duration: impl Fn(Nanos) -> Nanos) -> Event {
    match event {
        Event::Frame(frame) => Event::Frame(FrameRecord {
            released: stamp(frame.released),
            started: stamp(frame.started),
            finished: stamp(frame.finished),
            lateness: duration(frame.lateness),
            stages: frame.stages.map(|stage| stage.map(&duration)),
            deadline: frame.deadline.map(&duration),
            ..*frame
        }),
        Event::Phase(phase) => Event::Phase(PhaseRecord {
            epoch: stamp(phase.epoch),
            measured_from: stamp(phase.measured_from),
            measured_to: stamp(phase.measured_to),
            ..*phase
        }),
        other => other.clone(),
    }
}

/// What becomes of a figure, by its key in JSON, when all times are doubled.
fn factor_of(path: &[String]) -> f64 {
    let is_time =
        |key: &String| key == "ms" || key.ends_with("_ms") || key.ends_with("_s") || key.ends_with("_us");
    let is_rate = |key: &String| key.ends_with("_fps") || key.ends_with("_hz");
    // Counts stand among times, as in `response_ms.count`.
    match path.last() {
        Some(last) if last == "count" || last.ends_with("_count") => 1.0,
        _ if path.iter().any(|key| key == "needs" || key == "lacks") => 1.0,
        _ if path.iter().any(is_rate) => 0.5,
        _ if path.iter().any(is_time) => 2.0,
        _ => 1.0,
    }
}

/// Holds two documents against each other, number by number; text aside, which quotes numbers.
fn hold(before: &Value, after: &Value, path: &mut Vec<String>, factor: &dyn Fn(&[String]) -> f64) {
    match (before, after) {
        (Value::Number(before), Value::Number(after)) => {
            let (before, after) = (before.as_f64().expect("finite"), after.as_f64().expect("finite"));
            let expected = before * factor(path);
            let close = (after - expected).abs() <= 3e-6 + 1e-6 * expected.abs();
            assert!(
                close,
                "{}: {before} became {after}, not {expected}",
                path.join(".")
            );
        }
        // Its slots are seconds, whatever the times.
        _ if path.last().is_some_and(|key| key == "wander") => {}
        (Value::Object(before), Value::Object(after)) => {
            let keys = |object: &serde_json::Map<String, Value>| object.keys().cloned().collect::<Vec<_>>();
            assert_eq!(keys(before), keys(after), "{}", path.join("."));
            for (key, value) in before {
                path.push(key.clone());
                hold(value, &after[key], path, factor);
                path.pop();
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            assert_eq!(before.len(), after.len(), "{}", path.join("."));
            for (number, (before, after)) in before.iter().zip(after).enumerate() {
                path.push(number.to_string());
                hold(before, after, path, factor);
                path.pop();
            }
        }
        (Value::String(_), Value::String(_)) => {}
        (before, after) => assert_eq!(before, after, "{}", path.join(".")),
    }
}

fn assert_same<T: serde::Serialize>(before: &T, after: &T) {
    let value = |of: &T| serde_json::to_value(of).expect("figures are JSON");
    hold(&value(before), &value(after), &mut Vec::new(), &|_| 1.0);
}

fn codes(summary: &Summary) -> Vec<(&str, Option<&str>)> {
    summary
        .run
        .findings
        .iter()
        .map(|finding| (finding.code.as_str(), finding.tenant.as_deref()))
        .collect()
}

#[test]
fn twice_the_time_gives_twice_each_time_and_the_same_ratios() {
    let (manifest, events) = run(1);
    let slower: Vec<Event> = events
        .iter()
        .map(|event| with_times(event, |stamp| Stamp(stamp.0 * 2), |time| time * 2))
        .collect();
    let mut twice = manifest.clone();
    let scenario = twice.plan();
    (scenario.duration, scenario.warmup) = (scenario.duration * 2, scenario.warmup * 2);
    for tenant in &mut scenario.tenants {
        tenant.deadline = tenant.deadline.map(|deadline| deadline * 2);
        if let Arrival::Periodic { hz, .. } = &mut tenant.arrival {
            *hz /= 2.0;
        }
    }
    let (before, after) = (summary(&manifest, &events), summary(&twice, &slower));
    hold(&json(&before), &json(&after), &mut Vec::new(), &factor_of);
    assert_eq!(codes(&before), codes(&after));
}

#[test]
fn another_beginning_changes_no_figure() {
    let (manifest, events) = run(2);
    // Not a whole number of anything that figures might be cut by.
    let later = Nanos(86_399_123_456_789);
    let moved: Vec<Event> = events
        .iter()
        .map(|event| with_times(event, |stamp| stamp + later, |time| time))
        .collect();
    assert_same(&summary(&manifest, &events), &summary(&manifest, &moved));
}

#[test]
fn other_names_change_nothing_but_the_names() {
    let (manifest, events) = run(3);
    let mut renamed = manifest.clone();
    for (tenant, name) in renamed.plan().tenants.iter_mut().zip(["kamera", "laser"]) {
        tenant.name = name.to_owned();
    }
    for (tenant, name) in renamed.tenants.iter_mut().zip(["kamera", "laser"]) {
        tenant.name = name.to_owned();
        tenant.detector = tenant.detector.as_ref().map(|_| format!("demo-{name}"));
    }
    let text = json(&summary(&renamed, &events)).to_string();
    let text = text.replace("kamera", "camera").replace("laser", "lidar");
    assert_eq!(json(&summary(&manifest, &events)).to_string(), text);
}

#[test]
fn the_order_in_which_records_of_different_tenants_come_changes_nothing() {
    let (manifest, events) = run(4);
    let of = |event: &Event| match event {
        Event::Frame(frame) => frame.tenant,
        Event::Phase(phase) => phase.tenant,
        _ => 0,
    };
    let mut by_tenant = events.clone();
    by_tenant.sort_by_key(|event| std::cmp::Reverse(of(event)));
    assert_ne!(events, by_tenant);
    assert_same(&summary(&manifest, &events), &summary(&manifest, &by_tenant));
}

#[test]
fn the_order_of_tenants_in_the_scenario_changes_no_figure_of_a_tenant() {
    let (manifest, events) = run(5);
    let mut other = manifest.clone();
    other.plan().tenants.reverse();
    other.tenants.reverse();
    let swapped: Vec<Event> = events
        .iter()
        .cloned()
        .map(|mut event| {
            match &mut event {
                Event::Frame(frame) => frame.tenant = 1 - frame.tenant,
                Event::Phase(phase) => phase.tenant = 1 - phase.tenant,
                _ => {}
            }
            event
        })
        .collect();
    let (before, after) = (summary(&manifest, &events), summary(&other, &swapped));
    let sorted = |summary: &Summary| {
        let mut tenants = summary.tenants.clone();
        tenants.sort_by(|a, b| a.name.cmp(&b.name));
        let mut overlap = summary.interference.overlap.clone();
        overlap.sort_by(|a, b| (&a.tenant, &a.with).cmp(&(&b.tenant, &b.with)));
        (tenants, overlap)
    };
    assert_same(&sorted(&before), &sorted(&after));
}

#[test]
fn a_tenant_that_does_nothing_changes_no_figure_of_the_others() {
    let (manifest, events) = run(6);
    let mut with_idle = manifest.clone();
    with_idle.plan().tenants.push(made_up::tenant("idle", 30.0, 33.0));
    let mut idle = with_idle.tenants[0].clone();
    idle.name = "idle".to_owned();
    with_idle.tenants.push(idle);
    let (mut before, mut after) = (summary(&manifest, &events), summary(&with_idle, &events));
    after.tenants.truncate(2);
    // Beside a tenant that completed nothing, nothing says what sharing costs.
    for tenant in after.tenants.iter_mut().chain(&mut before.tenants) {
        tenant.slowdown = None;
    }
    let slow = after.tenants.iter_mut().flat_map(|tenant| &mut tenant.slowest);
    slow.for_each(|frame| frame.co_runners.retain(|other| other.tenant != "idle"));
    assert_same(&before.tenants, &after.tenants);
    // What the two did to each other stays known.
    let of_the_two = |summary: &Summary| {
        let overlap = summary.interference.overlap.iter();
        let of_the_two = overlap.filter(|overlap| overlap.tenant != "idle" && overlap.with != "idle");
        of_the_two.cloned().collect::<Vec<_>>()
    };
    assert_same(&of_the_two(&before), &of_the_two(&after));
}

#[test]
fn a_run_in_two_files_compares_as_the_run_in_one() {
    let (manifest, events) = run(7);
    let middle = Stamp(0) + Nanos::from_secs((SECONDS + 2) * 2 + 1 + SECONDS / 2);
    let half = |first: bool| -> Vec<Event> {
        let belongs = |event: &&Event| match event {
            Event::Frame(frame) => frame.phase != Phase::Together || (frame.released < middle) == first,
            _ => true,
        };
        events.iter().filter(belongs).cloned().collect()
    };
    let side = |name: &str, runs: Vec<RunSample>| Side {
        name: name.to_owned(),
        files: Vec::new(),
        runs,
        in_turns: false,
        repeated: Vec::new(),
    };
    let whole = side("whole", vec![made_up::sample(&manifest, &events)]);
    let halves = side(
        "halves",
        vec![
            made_up::sample(&manifest, &half(true)),
            made_up::sample(&manifest, &half(false)),
        ],
    );
    let comparison = compare(&[whole, halves], &[]).expect("the same tenants");
    for tenant in &comparison.candidates[0].tenants {
        assert_eq!(tenant.figures.len(), 3, "{tenant:?}");
        for figure in &tenant.figures {
            if figure.baseline.is_some() && figure.candidate.is_some() {
                assert_eq!(
                    figure.baseline, figure.candidate,
                    "{}.{}",
                    tenant.name, figure.figure
                );
                assert_eq!(figure.change, Some(0.0));
            }
        }
    }
}
