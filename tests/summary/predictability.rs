//! Predictability on runs whose answers are known, and on the published sample.

use jetlag::analysis::Summary;
use jetlag::analysis::summary::Finding;
use jetlag::record::{Event, Phase, SampleRecord};
use jetlag::units::Nanos;
use nvidia_doubles::machine::shared;
use rand_distr::{Distribution, LogNormal};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;
use serde_json::json;

use crate::summary::made_up::{self, frame, ms, tenant};

#[test]
fn the_published_sample_gives_the_published_values() {
    let Some(folder) = shared("data/pperf") else {
        return;
    };
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("the published file");
    let sample = read("latency_sample_3dssd_with_deeplabv3plus_clear_mps_off.csv");
    let latencies: Vec<Nanos> = sample
        .lines()
        .skip(1)
        .map(|line| ms(line.trim().parse().expect("milliseconds")))
        .collect();
    let summary = made_up::with_responses(&latencies);
    let tenant = &summary.tenants[0];
    let found = tenant.predictability.interpolated.expect("frames");
    let mut compared = 0;
    for line in read("latency_sample_published_summary.csv").lines().skip(1) {
        let (name, value) = line.split_once(',').expect("name and value");
        let published: f64 = value.trim().parse().expect("a number");
        let ours = match name {
            "frame_count" => tenant.response_ms.count as f64,
            "minimum_ms" => tenant.response_ms.min.unwrap(),
            "maximum_ms" => tenant.response_ms.max.unwrap(),
            "median_ms" => found.p50_ms,
            "p1_ms" => found.p1_ms,
            "p5_ms" => found.p5_ms,
            "p25_ms" => found.p25_ms,
            "p75_ms" => found.p75_ms,
            "p95_ms" => found.p95_ms,
            "p99_ms" => found.p99_ms.unwrap(),
            "iqr_ms" => found.iqr_ms,
            "p0_p99_range_ms" => found.p0_p99_range_ms.unwrap(),
            "normalized_range" => found.normalized_range.unwrap(),
            other => panic!("{other} is published and not compared"),
        };
        assert!((ours - published).abs() <= 1e-9, "{name}: {ours} for {published}");
        compared += 1;
    }
    assert_eq!(compared, 13);
    assert!(found.sparse);
    // 462 frames: the bounds leave out five at each end.
    assert_eq!(found.trimmed.expect("frames").frames, 452);
}

#[test]
fn the_published_tables_agree_with_themselves_as_we_define_their_measures() {
    let Some(file) = shared("data/pperf/corun_clear_mps_off.csv") else {
        return;
    };
    let text = std::fs::read_to_string(file).expect("the published file");
    for line in text.lines().skip(1) {
        let row: Vec<f64> = line
            .split(',')
            .skip(3)
            .map(|x| x.parse().expect("a number"))
            .collect();
        let [p50, p0, p99, range, normalized] = row[..] else {
            panic!("{line}")
        };
        assert!(
            (p99 - p0 - range).abs() < 2e-6 && (range / p50 - normalized).abs() < 2e-6,
            "{line}"
        );
    }
}

/// 30 s of a camera at 30 Hz whose median is `level(share of the run)` milliseconds, with a clock beside it.
fn run(level: impl Fn(f64) -> f64, mhz: impl Fn(f64) -> Option<f64>) -> Summary {
    let mut random = Pcg64::seed_from_u64(5);
    let scatter = LogNormal::new(0.0, 0.1).expect("a distribution");
    let mut events: Vec<Event> = (0..900)
        .map(|i| {
            let took = ms(level(i as f64 / 900.0) * scatter.sample(&mut random));
            Event::Frame(frame(i, Nanos(i as i64 * 33_333_333), Nanos::ZERO, took))
        })
        .collect();
    events.extend((0..300).map(|i| {
        Event::Sample(SampleRecord {
            at: made_up::START + Nanos::from_millis(100 * i),
            source: "gpu".to_owned(),
            signal: "gpu_frequency".to_owned(),
            value: mhz(i as f64 / 300.0),
            unit: "mhz".to_owned(),
        })
    }));
    events.push(Event::Phase(made_up::end(0, Phase::Together, 30)));
    made_up::summarize(
        &made_up::manifest(30, vec![tenant("camera", 30.0, 33.0)]),
        &events,
    )
}

fn about_state(summary: &Summary) -> Vec<&Finding> {
    let codes = ["not-settled", "drift", "latency-shift"];
    let findings = summary.run.findings.iter();
    findings
        .filter(|finding| codes.contains(&finding.code.as_str()))
        .collect()
}

#[test]
fn a_throttle_is_found_where_it_was_and_the_clock_is_named() {
    let throttled = |x: f64| x >= 0.6;
    let summary = run(
        |x| if throttled(x) { 13.0 } else { 9.0 },
        |x| Some(if throttled(x) { 900.0 } else { 1300.0 }),
    );
    let [finding] = about_state(&summary)[..] else {
        panic!("{:?}", summary.run.findings)
    };
    assert_eq!(finding.code, "latency-shift");
    let with = &finding.facts["with"][0];
    assert_eq!(
        (&with["signal"], &with["before"], &with["after"]),
        (&json!("gpu_frequency"), &json!(1300.0), &json!(900.0))
    );
    let shift = &summary.tenants[0].predictability.steady.shifts[0];
    assert!((shift.at_s - 18.0).abs() < 0.6, "{shift:?}");
}

#[test]
fn a_warm_up_that_was_too_short_is_said_with_the_one_that_is_enough() {
    let summary = run(|x| if x < 0.1 { 14.0 } else { 9.0 }, |_| None);
    let [finding] = about_state(&summary)[..] else {
        panic!("{:?}", summary.run.findings)
    };
    assert_eq!(finding.code, "not-settled");
    assert_eq!(finding.facts["warmup_s"], 1.0);
    let after_s = finding.facts["after_s"].as_f64().expect("a time");
    assert!((2.0..4.0).contains(&after_s), "{after_s}");
}

#[test]
fn a_machine_that_slows_down_bit_by_bit_is_a_drift() {
    let summary = run(|x| 9.0 * (1.0 + 0.2 * x), |_| Some(f64::NAN));
    let [finding] = about_state(&summary)[..] else {
        panic!("{:?}", summary.run.findings)
    };
    assert_eq!(finding.code, "drift");
    assert!(
        finding.facts["change"]
            .as_f64()
            .is_some_and(|change| change > 0.0)
    );
}

#[test]
fn a_level_run_has_none_of_these_and_its_frames_are_worth_what_they_count() {
    let summary = run(|_| 9.0, |_| Some(1300.0));
    assert!(about_state(&summary).is_empty(), "{:?}", summary.run.findings);
    let of = &summary.tenants[0].predictability;
    assert!(of.steady.judged && of.steady.settled_after_s == Some(0.0));
    assert!(
        of.effective_frames.p50.unwrap() > 600,
        "{:?}",
        of.effective_frames
    );
    assert!(of.autocorrelation.unwrap().abs() < 0.1);
    assert_eq!(of.longest_miss_streak, 0);
}

#[test]
fn slow_frames_in_a_row_are_a_streak_and_make_the_interval_wider() {
    let deadline = Some(ms(20.0));
    let build = |slow: &dyn Fn(u64) -> bool| {
        let mut events: Vec<Event> = (0..2000)
            .map(|i| {
                let took = if slow(i) { 30.0 } else { 9.0 } + (i * 7 % 13) as f64 * 0.1;
                let mut frame = frame(i, Nanos::from_millis(i as i64), Nanos::ZERO, ms(took));
                frame.deadline = deadline;
                Event::Frame(frame)
            })
            .collect();
        events.push(Event::Phase(made_up::end(0, Phase::Together, 2)));
        made_up::summarize(
            &made_up::manifest(2, vec![tenant("camera", 1000.0, 20.0)]),
            &events,
        )
    };
    // A tenth of the frames either way.
    let (scattered, bursts) = (build(&|i| i * 7_919 % 10 == 0), build(&|i| i % 500 < 50));
    let streak = |summary: &Summary| summary.tenants[0].predictability.longest_miss_streak;
    assert_eq!((streak(&scattered), streak(&bursts)), (1, 50));
    let worth = |summary: &Summary| summary.tenants[0].predictability.effective_frames.p90.unwrap();
    assert!(
        worth(&bursts) * 10 < worth(&scattered),
        "{} {}",
        worth(&bursts),
        worth(&scattered)
    );
}

#[test]
fn one_frame_and_none_have_no_predictability_and_no_panic() {
    let one = made_up::with_responses(&[ms(9.0)]);
    let of = &one.tenants[0].predictability;
    assert_eq!(
        (of.relative_spread, of.autocorrelation, of.steady.judged),
        (None, None, false)
    );
    assert_eq!(of.interpolated.expect("one frame").p0_p99_range_ms, None);
    let none = made_up::with_responses(&[]);
    assert_eq!(none.tenants[0].predictability.interpolated, None);
}

#[test]
fn a_spread_is_no_share_of_a_median_of_nothing() {
    let spread = |response: Nanos| {
        let summary = made_up::with_responses(&[response; 700]);
        summary.tenants[0].predictability.relative_spread
    };
    assert_eq!((spread(Nanos(0)), spread(ms(5.0))), (None, Some(0.0)));
}

#[test]
fn a_run_whose_end_was_never_written_has_the_hosts_figures_of_the_time_that_was_seen() {
    let (manifest, mut events) = made_up::demo(10);
    let host = |events: &[Event]| made_up::summarize(&manifest, events).host.is_some();
    assert!(host(&events));
    events.retain(|event| !matches!(event, Event::Phase(_)));
    assert!(host(&events));
}
