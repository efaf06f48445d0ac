//! Watts of runs whose power is known: how it was spread over the time, budgets, and expectations of the machine.

use jetlag::analysis::compare::{LimitResult, Side, compare, parse_limit};
use jetlag::analysis::summary::{Facts, Unit};
use jetlag::analysis::{Summarizer, Summary};
use jetlag::record::{Averaging, Event, Manifest, Measurand, RailRole, SampleRecord};
use jetlag::report::json;
use jetlag::units::Nanos;
use serde_json::json;

use crate::common::planned::Planned as _;
use crate::summary::made_up::{self, START};
use crate::summary::power::{Line, line, record};

/// 10 W, and 20 W in three seconds of ten.
fn busy(t: f64) -> Option<f64> {
    Some(if t.rem_euclid(10.0) < 3.0 {
        20_000.0
    } else {
        10_000.0
    })
}

fn total(mw: fn(f64) -> Option<f64>) -> Line {
    line("ina3221", "VDD_IN", RailRole::Total, mw)
}

/// A reading of each sensor every 100 ms.
fn sensor(source: &str, signal: &str, unit: &str, value: fn(f64) -> Option<f64>) -> Line {
    let mut sensor = line(source, signal, RailRole::None, value);
    sensor.signal.unit = unit.to_owned();
    sensor.signal.measurand = Measurand::of_names(source, signal, unit);
    sensor.signal.averaging = Averaging::Instant;
    sensor
}

fn run(lines: &[Line], seconds: i64, expect: &[&str]) -> (Manifest, Vec<Event>) {
    let (mut manifest, mut events) = made_up::demo(seconds);
    manifest.plan().expect = expect.iter().map(|line| (*line).to_owned()).collect();
    manifest.plan().baseline.idle = Some(Nanos::from_secs(4));
    events.extend(record(lines, seconds));
    (manifest, events)
}

fn summary(lines: &[Line], seconds: i64, expect: &[&str]) -> Summary {
    let (manifest, events) = run(lines, seconds, expect);
    made_up::summarize(&manifest, &events)
}

fn undecided(summary: &Summary) -> Vec<&Facts> {
    let findings = summary.run.findings.iter();
    findings
        .filter(|finding| finding.code == "expectation-undecided")
        .map(|finding| &finding.facts)
        .collect()
}

#[test]
fn a_rail_and_a_total_say_how_power_was_spread_over_the_time() {
    let summary = summary(&[total(busy)], 60, &[]);
    let rail = &summary.power[0];
    assert_eq!(
        (rail.median_mw, rail.p95_mw, rail.peak_mw),
        (Some(10_000.0), Some(20_000.0), 20_000.0)
    );
    let energy = summary.energy.as_ref().expect("a total");
    assert_eq!(
        (energy.median_mw, energy.p95_mw, energy.peak_mw),
        (rail.median_mw, rail.p95_mw, Some(rail.peak_mw))
    );
    // 30 % of the time at 20 W, and both edges of each step.
    assert!((energy.mean_mw - 13_000.0).abs() < 20.0, "{}", energy.mean_mw);
}

#[test]
fn a_total_of_several_rails_is_their_sum_at_each_moment() {
    let summand = |rail, mw| line("ina3221", rail, RailRole::Summand, mw);
    let lines = [
        summand("VDD_GPU_SOC", busy),
        // When the one is busy, the other is not.
        summand("VDD_CPU_CV", |t| {
            Some(if t.rem_euclid(10.0) < 3.0 {
                1_000.0
            } else {
                11_000.0
            })
        }),
    ];
    let summary = summary(
        &lines,
        60,
        &["power.total.peak < 22W", "power.VDD_GPU_SOC.peak < 22W"],
    );
    let energy = summary.energy.as_ref().expect("a total");
    for mw in [energy.median_mw, energy.p95_mw, energy.peak_mw] {
        assert_eq!(mw, Some(21_000.0), "and not the sum of the peaks, 31 W");
    }
    assert!(summary.expectations_hold(), "{:?}", summary.expectations);
}

#[test]
fn expectations_of_the_machine_are_judged_in_their_units() {
    let lines = [
        total(busy),
        sensor("thermal", "tj", "c", |t| Some(60.0 + t / 10.0)),
        sensor("gpu", "gpu_frequency", "mhz", |t| {
            Some(if t < 30.0 { 1_300.0 } else { 900.0 })
        }),
    ];
    let lines_and_answers = [
        ("power.total.mean < 18W", true, Unit::Mw),
        ("power.total.p95 < 15W", false, Unit::Mw),
        ("power.vdd_in.median <= 10000mW", true, Unit::Mw),
        ("power.ina3221/VDD_IN.peak > 20W", false, Unit::Mw),
        ("energy.total < 1kJ", true, Unit::Mj),
        ("energy.above_idle > 1J", true, Unit::Mj),
        ("energy.camera.per_frame < 1J", true, Unit::Mj),
        ("energy.camera.per_frame < 1mJ", false, Unit::Mj),
        ("energy.lidar.frames_per_joule > 0.1", true, Unit::FramesPerJoule),
        ("temperature.tj.max < 90C", true, Unit::C),
        ("temperature.tj.max < 65.9C", false, Unit::C),
        ("clock.gpu.min > 1GHz", false, Unit::Mhz),
        ("clock.gpu.max >= 1.3GHz", true, Unit::Mhz),
    ];
    let expect = lines_and_answers.map(|(line, ..)| line);
    let summary = summary(&lines, 60, &expect);
    for ((line, holds, unit), result) in lines_and_answers.iter().zip(&summary.expectations) {
        assert_eq!((result.text.as_str(), result.unit), (*line, Some(*unit)));
        assert_eq!(
            (result.holds, result.value.is_some()),
            (*holds, true),
            "{result:?}"
        );
    }
    // What is said to be certain is so by the interval of the energy.
    let [low, high] = summary.expectations[0].ci95.expect("an interval");
    assert!(low < 13_000.0 && 13_000.0 < high && high < 18_000.0);
    assert_eq!(summary.expectations[0].certain, Some(true));
}

#[test]
fn energy_per_frame_and_frames_per_joule_are_the_inverse_of_each_other() {
    let summary = summary(&[total(busy)], 60, &[]);
    for tenant in &summary.tenants {
        let energy = tenant.energy_mj_per_frame.expect("energy");
        let per_joule = energy.frames_per_joule.expect("frames per joule");
        assert!((per_joule * energy.total / 1e3 - 1.0).abs() < 1e-5, "{energy:?}");
    }
}

#[test]
fn without_a_sensor_nothing_holds_and_the_finding_says_what_would_give_it() {
    let expect = [
        "power.total.mean < 15W",
        "power.VDD_IN.p95 < 15W",
        "energy.camera.per_frame < 200mJ",
        "temperature.tj.max < 90C",
        "clock.npu.min > 1GHz",
    ];
    let summary = summary(&[], 60, &expect);
    assert!(
        summary
            .expectations
            .iter()
            .all(|result| !result.holds && result.value.is_none())
    );
    let said = undecided(&summary);
    assert_eq!(said.len(), expect.len(), "{said:?}");
    assert_eq!(said[0]["absent"], "power");
    for (facts, line) in said.iter().zip(expect) {
        assert_eq!(facts["line"], line);
    }
}

#[test]
fn a_rail_that_is_not_there_is_answered_with_those_that_are() {
    let unknown = line("tegrastats", "VDD_5V", RailRole::Unknown, busy);
    let expect = [
        "power.total.mean < 15W",
        "power.VDD_IN.mean < 15W",
        "power.VDD_5V.mean < 15W",
    ];
    let summary = summary(&[unknown], 60, &expect);
    let holds: Vec<bool> = summary.expectations.iter().map(|result| result.holds).collect();
    assert_eq!(holds, [false, false, true]);
    let said = undecided(&summary);
    let rails = json!(["VDD_5V"]);
    assert_eq!(said[0]["absent"], json!({ "total": { "rails": rails } }));
    assert_eq!(
        said[1]["absent"],
        json!({ "rail": { "name": "VDD_IN", "rails": rails } })
    );
}

#[test]
fn a_name_that_several_rails_have_is_not_one_of_them() {
    let of = |source: &str| line(source, "VDD_IN", RailRole::Unknown, busy);
    let expect = [
        "power.VDD_IN.mean < 1kW",
        "power.ina3221/VDD_IN.mean < 1kW",
        "power.tegrastats/VDD_IN.mean < 1kW",
    ];
    let summary = summary(&[of("ina3221"), of("tegrastats")], 60, &expect);
    let holds: Vec<bool> = summary.expectations.iter().map(|result| result.holds).collect();
    assert_eq!(holds, [false, true, true]);
    let said = undecided(&summary);
    let rails = ["ina3221/VDD_IN", "tegrastats/VDD_IN"];
    assert_eq!(
        said[0]["absent"],
        json!({ "rails": { "name": "VDD_IN", "rails": rails } })
    );
    // Of NVML's lines of a card, the one that reads at once is the rail.
    let of = |ending: &str, watts| line("nvml", ending, RailRole::Unknown, watts);
    let lines = [
        of("gpu0_power_average", |_| Some(2_000.0)),
        of("gpu0_power_instant", |_| Some(1_000.0)),
        of("gpu1_power_instant", |_| Some(3_000.0)),
    ];
    let summary = self::summary(&lines, 60, &["power.gpu0.mean <= 1W"]);
    assert!(summary.expectations[0].holds, "{:?}", summary.expectations);
}

#[test]
fn what_was_seen_for_a_part_of_the_time_can_break_a_line_and_not_keep_it() {
    let half = |t: f64| (t < 30.0).then_some(20_000.0);
    let lines = [
        total(half),
        sensor("thermal", "tj", "c", |t| (t < 30.0).then_some(70.0)),
    ];
    let expect = [
        "power.total.mean < 25W",
        "power.total.mean < 15W",
        "temperature.tj.max < 90C",
        "temperature.tj.max < 65C",
    ];
    let summary = summary(&lines, 60, &expect);
    let values: Vec<(bool, Option<f64>)> = summary
        .expectations
        .iter()
        .map(|result| (result.holds, result.value))
        .collect();
    assert_eq!(
        values,
        [
            (false, None),
            (false, Some(20_000.0)),
            (false, None),
            (false, Some(70.0))
        ]
    );
    let said = undecided(&summary);
    let covered = &said[0]["absent"]["coverage"];
    assert_eq!(covered["of"], "VDD_IN");
    let share = covered["share"].as_f64().expect("a share");
    assert!((share - 0.5).abs() < 5e-3, "{share}");
}

#[test]
fn a_p95_of_few_values_is_withheld_and_says_how_long_to_run() {
    let summary = summary(&[total(busy)], 1, &["power.total.p95 < 15W"]);
    let rail = &summary.power[0];
    assert_eq!(
        (rail.p95_mw, summary.energy.as_ref().and_then(|e| e.p95_mw)),
        (None, None)
    );
    assert!(rail.median_mw.is_some());
    assert_eq!(
        undecided(&summary)[0]["absent"],
        json!({ "values": { "of": "ina3221/VDD_IN", "values": 10, "every_ms": 100.0 } })
    );
}

#[test]
fn an_expectation_on_nothing_does_not_hold() {
    let (mut manifest, events) = made_up::demo(70);
    manifest.plan().tenants[0].deadline = None;
    manifest.plan().expect = [
        "camera.miss_rate < 1%",
        "camera.missed == 0",
        "lidar.miss_rate < 50%",
    ]
    .map(str::to_owned)
    .to_vec();
    let mut events = events;
    for event in &mut events {
        if let Event::Frame(frame) = event
            && frame.tenant == 0
        {
            frame.deadline = None;
        }
    }
    let summary = made_up::summarize(&manifest, &events);
    let holds: Vec<bool> = summary.expectations.iter().map(|result| result.holds).collect();
    assert_eq!(holds, [false, false, true]);
    assert_eq!(undecided(&summary)[0]["lacking"], "deadline");
}

fn budgeted(lines: &[Line], limit_mw: f64) -> Summary {
    let (manifest, events) = run(lines, 60, &[]);
    let mut summarizer = Summarizer::new(&manifest);
    summarizer.power_budget(limit_mw);
    events.iter().for_each(|event| summarizer.push(event));
    summarizer.finish(None)
}

#[test]
fn a_budget_says_when_it_was_exceeded() {
    let tj = sensor("thermal", "tj", "c", |_| Some(50.0));
    let summary = budgeted(&[total(busy), tj], 15_000.0);
    let budget = summary.budget.as_ref().expect("a budget");
    assert!(
        (budget.share_above.expect("a share") - 0.3).abs() < 0.002,
        "{budget:?}"
    );
    // The last begins with the last reading.
    assert_eq!((budget.moments.len(), budget.more_moments), (7, 0));
    let documentation = include_str!("../../docs/json.md");
    let mut out = Vec::new();
    json::write(&summary, &mut out).expect("writing to memory");
    let written: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
    let object = written["budget"].as_object().expect("a budget");
    let moment = object["moments"][0].as_object().expect("a moment");
    let tj = written["sensors"][0].as_object().expect("a sensor");
    for name in object.keys().chain(moment.keys()).chain(tj.keys()) {
        assert!(
            documentation.contains(&format!("`{name}`")),
            "{name} is not documented"
        );
    }
    for none in [
        vec![],
        vec![line("tegrastats", "VDD_5V", RailRole::Unknown, busy)],
    ] {
        let unknown = budgeted(&none, 15_000.0);
        let budget = unknown.budget.as_ref().expect("a budget");
        assert_eq!(budget.share_above, None);
    }
}

fn side(name: &str, lines: &[Line], runs: usize) -> Side {
    let run = |_| {
        let (manifest, events) = run(lines, 60, &[]);
        made_up::sample(&manifest, &events)
    };
    Side {
        name: name.to_owned(),
        files: Vec::new(),
        runs: (0..runs).map(run).collect(),
        in_turns: false,
        repeated: Vec::new(),
    }
}

fn limit(line: &str, sides: &[Side]) -> LimitResult {
    let limit = parse_limit(line, &["camera", "lidar"]).unwrap_or_else(|error| panic!("{error}"));
    compare(sides, &[limit]).expect("comparable").limits.remove(0)
}

#[test]
fn a_comparison_fails_by_a_figure_of_the_machine_where_it_applies_or_is_unknown() {
    let sides = [
        side("a", &[total(|_| Some(10_000.0))], 1),
        side("b", &[total(busy)], 2),
    ];
    let applies = limit("power.total.mean > 12W", &sides);
    assert_eq!((applies.passed, applies.unit), (Some(true), Some(Unit::Mw)));
    assert!((applies.value.expect("a value") - 13_000.0).abs() < 20.0);
    let kept = limit("power.total.mean > 15W", &sides);
    assert_eq!((kept.passed, kept.reason), (Some(false), None));
    assert_eq!(limit("camera.response.p50 > 10s", &sides).passed, Some(false));
    for unknown in [
        "power.VDD_X.mean > 15W",
        "temperature.tj.max > 90C",
        "camera.stages.d2h.p50 > 1s",
    ] {
        let unknown = limit(unknown, &sides);
        assert_eq!(unknown.passed, None);
        assert!(unknown.reason.is_some());
    }
    // Of a change: one value for a run, so it takes two runs a side.
    let change = limit("power.total.mean +5%", &sides);
    assert_eq!(change.passed, None);
    assert!(change.reason.is_some());
    let noisy = |t: f64| Some(10_000.0 + 100.0 * (t * 7.0).sin());
    let sides = [side("a", &[total(noisy)], 2), side("b", &[total(busy)], 2)];
    let change = limit("power.total.mean +5%", &sides);
    assert!(
        change.change.is_some_and(|change| (change - 0.3).abs() < 0.01),
        "{change:?}"
    );
    // Any figure that is better one way, by either name.
    let [ours, theirs] =
        ["camera.energy.per_frame +5%", "energy.camera.per_frame +5%"].map(|line| limit(line, &sides));
    assert!(ours.change.is_some_and(|change| change > 0.1), "{ours:?}");
    assert_eq!((ours.passed, ours.change), (theirs.passed, theirs.change));
    for line in [
        "camera.throughput -5%",
        "camera.service.p90 +5%",
        "camera.iqr +5%",
    ] {
        let same = limit(line, &sides);
        assert_eq!((same.passed, same.reason), (Some(false), None), "{line}");
    }
}

#[test]
fn a_signal_that_comes_late_covers_no_more_than_it_did() {
    let (manifest, mut events) = run(&[], 60, &["power.total.mean < 15W"]);
    // Two readings in the middle of the minute.
    for ms in [30_000, 30_100] {
        events.push(Event::Sample(SampleRecord {
            at: START + Nanos::from_millis(ms),
            source: "ina3221".to_owned(),
            signal: "VDD_IN".to_owned(),
            value: Some(5_000.0),
            unit: "mw".to_owned(),
        }));
    }
    let summary = made_up::summarize(&manifest, &events);
    assert!(!summary.expectations_hold());
}
