//! Time that no sensor saw, and sensors that see a part of it.

use jetlag::analysis::summary::NoInterval;

use super::*;

/// As after `kill -9` or a power cut: nothing says when the measured time ended.
#[test]
fn a_run_that_was_killed_has_its_power_energy_and_conditions() {
    let hot = |t: f64| Some(if t > 30.0 { 1.0 } else { 0.0 });
    let mut throttle = line("thermal", "cpufreq-cpu0_cooling", RailRole::None, hot);
    throttle.signal.unit = "state".to_owned();
    throttle.signal.measurand = Measurand::of_cooling_device("cpufreq-cpu0");
    let (manifest, events) = with_power(
        &[line("ina3221", "VDD_IN", RailRole::Total, module), throttle],
        70,
    );
    let mut summarizer = jetlag::analysis::Summarizer::new(&manifest);
    let kept = events.iter().filter(|event| !matches!(event, Event::Phase(_)));
    kept.for_each(|event| summarizer.push(event));
    let summary = summarizer.finish(Some("The file ends after 69.9 s.".to_owned()));
    let energy = summary.energy.as_ref().unwrap();
    assert!((energy.total_mj / 700_000.0 - 1.0).abs() < 0.03, "{energy:?}");
    assert!(
        summary
            .tenants
            .iter()
            .all(|tenant| tenant.energy_mj_per_frame.is_some())
    );
    let codes = codes(&summary);
    assert!(
        codes.contains(&"truncated-file") && codes.contains(&"throttled"),
        "{codes:?}"
    );
}

#[test]
fn a_window_too_short_for_the_sensor_and_gaps_in_the_readings_are_findings() {
    let mut slow = line("ina3221", "VDD_IN", RailRole::Total, module);
    slow.signal.refresh = Some(Nanos::from_millis(8_000));
    slow.signal.window = None;
    let summary = powered(&[slow], 70);
    let finding = &summary.run.findings[0];
    assert_eq!(finding.code, "short-for-sensor");
    let facts = &finding.facts;
    assert_eq!(
        (&facts["pace"], &facts["every_ms"], &facts["needed"]),
        (&json!("renewed"), &json!(8000.0), &json!(10.0))
    );
    // A card's sensor needs more renewals than a board's: 35 do for the one, and not for the other.
    for (source, rail, findings) in [
        ("ina3221", "VDD_IN", [].as_slice()),
        ("nvml", "gpu0_power_instant", &["short-for-sensor"]),
    ] {
        let mut two_seconds = line(source, rail, RailRole::Total, module);
        two_seconds.signal.refresh = Some(Nanos::from_millis(2_000));
        two_seconds.signal.window = None;
        assert_eq!(codes(&powered(&[two_seconds], 70)), findings);
    }
    // A sensor of which nothing is known, read seldom: there are no more renewals than readings.
    let mut unknown = line("tegrastats", "VDD_IN", RailRole::Total, |t| {
        (t.rem_euclid(20.0) < 0.05).then_some(10_000.0)
    });
    (
        unknown.signal.refresh,
        unknown.signal.window,
        unknown.signal.period,
    ) = (None, None, None);
    let summary = powered(&[unknown], 70);
    assert!(
        codes(&summary).contains(&"short-for-sensor"),
        "{:?}",
        codes(&summary)
    );
    let gaps = line("ina3221", "VDD_IN", RailRole::Total, |t| {
        (!(20.0..40.0).contains(&t)).then_some(10_000.0)
    });
    let summary = powered(&[gaps], 70);
    assert_eq!(codes(&summary), ["sampler-gaps"]);
    assert!((summary.power[0].coverage - 50.0 / 70.0).abs() < 0.01);
    assert_eq!(
        summary.power[0].energy_mj, 700_000.0,
        "the mean stands for the rest"
    );
}

/// What is wrong with a made-up run of 120 s and of this one line: the whole's energy, its interval, why it has none.
fn of_line(line: Line) -> (f64, Option<[f64; 2]>, Option<NoInterval>, Vec<String>) {
    let summary = powered(&[line], 120);
    let codes = codes(&summary).iter().map(|code| (*code).to_owned()).collect();
    let energy = summary.energy.expect("the total is known");
    for tenant in &summary.tenants {
        let of_frame = tenant.energy_mj_per_frame.expect("power was measured");
        assert_eq!(of_frame.ci95.is_some(), energy.ci95_mj.is_some());
    }
    (energy.total_mj, energy.ci95_mj, energy.ci95_withheld, codes)
}

#[test]
fn time_that_no_sensor_saw_leaves_no_interval_and_a_rate_that_changes_is_no_such_time() {
    // 10 W, and 50 W while nobody reads: 1400 J in truth.
    let hidden = line("ina3221", "VDD_IN", RailRole::Total, |t| {
        (!(60.0..65.0).contains(&t)).then_some(10_000.0)
    });
    let (mj, ci95, why, codes) = of_line(hidden);
    assert_eq!((mj, ci95), (1_200_000.0, None));
    assert_eq!(why, Some(NoInterval::Gaps));
    assert_eq!(codes, ["sampler-gaps"]);
    // 5 W for a minute and 10 W for another, which is read once a second: 900 J.
    let slower = line("ina3221", "VDD_IN", RailRole::Total, |t| {
        let tenths = (t * 10.0).round() as i64;
        match t < 60.0 {
            true => Some(5_000.0),
            false => (tenths % 10 == 0).then_some(10_000.0),
        }
    });
    let (mj, _, why, codes) = of_line(slower);
    assert!((mj - 900_000.0).abs() < 3_000.0, "{mj}");
    assert_eq!(codes, [""; 0]);
    // A mean over 100 ms of each second: nothing says what it was in between.
    assert_eq!(why, Some(NoInterval::Blind));
}

#[test]
fn rows_of_a_log_whose_place_is_not_known_have_gaps_too() {
    let gaps = line("tegrastats", "VDD_MYSTERY", RailRole::Unknown, |t| {
        (!(30.0..35.0).contains(&t)).then_some(10_000.0)
    });
    let summary = powered(&[gaps], 70);
    assert_eq!(codes(&summary), ["sampler-gaps", "no-total-power"]);
    let facts = &summary.run.findings[0].facts;
    assert_eq!(facts["rail"], "VDD_MYSTERY");
    let missing_s = facts["missing_s"].as_f64().expect("a time");
    assert!((missing_s - 5.1).abs() < 0.05, "{missing_s}");
}

#[test]
fn a_sensor_that_never_changes_has_no_interval_unless_its_step_is_known() {
    let constant = |step| {
        let mut constant = line("ina3221", "VDD_IN", RailRole::Total, |_| Some(10_000.0));
        constant.signal.step = step;
        of_line(constant)
    };
    let (mj, ci95, why, _) = constant(None);
    assert_eq!((mj, ci95), (1_200_000.0, None));
    assert_eq!(why, Some(NoInterval::Step));
    // Half of 40 mW for 120 s.
    assert_eq!(constant(Some(40.0)).1, Some([1_197_600.0, 1_202_400.0]));
}

#[test]
fn a_sensor_that_is_read_in_step_and_sees_a_part_of_the_time_has_no_interval() {
    let mut short = line("ina3221", "VDD_IN", RailRole::Total, |_| Some(10_000.0));
    short.signal.refresh = Some(Nanos::from_millis(7));
    short.signal.window = Some(Nanos::from_millis(7));
    let summary = powered(&[short], 70);
    assert_eq!(summary.power[0].coverage, 0.07);
    let energy = summary.energy.unwrap();
    assert_eq!(energy.ci95_mj, None);
    assert_eq!(energy.ci95_withheld, Some(NoInterval::Blind));
}

#[test]
fn a_sensor_that_sees_a_quarter_of_the_time_says_so() {
    let mut hopper = line("nvml", "gpu0_power_instant", RailRole::Total, module);
    hopper.signal.refresh = Some(Nanos::from_millis(100));
    hopper.signal.window = Some(Nanos::from_millis(25));
    let summary = powered(&[hopper], 70);
    assert_eq!((summary.power[0].coverage, summary.power[0].sampled), (0.25, 1.0));
}

#[test]
fn absurd_stamps_and_values_make_no_panic() {
    let (manifest, mut events) = with_power(&[line("ina3221", "VDD_IN", RailRole::Total, module)], 10);
    for (at, value) in [
        (i64::MAX, 1e308),
        (i64::MIN, -1e308),
        (0, f64::INFINITY),
        (5, f64::NAN),
    ] {
        events.push(Event::Sample(SampleRecord {
            at: jetlag::units::Stamp(at),
            source: "ina3221".to_owned(),
            signal: "VDD_IN".to_owned(),
            value: Some(value),
            unit: "mw".to_owned(),
        }));
    }
    events.push(Event::Window(WindowRecord {
        name: IDLE_WINDOW.to_owned(),
        from: jetlag::units::Stamp(i64::MAX),
        to: jetlag::units::Stamp(i64::MIN),
    }));
    let summary = made_up::summarize(&manifest, &events);
    assert_eq!(summary.power[0].mean_mw, 10_000.0);
    assert!(
        events
            .iter()
            .any(|e| matches!(e, Event::Phase(p) if p.phase == Phase::Together))
    );
}

#[test]
fn a_line_of_the_whole_that_went_silent_is_said_and_a_part_and_one_never_read_are_not() {
    let whole = || line("ina3221", "VDD_IN", RailRole::Total, module);
    let with = |other: Line, readings: &dyn Fn(&SampleRecord) -> bool| {
        let name = other.signal.signal.clone();
        let (manifest, mut events) = with_power(&[whole(), other], 70);
        events.retain(|event| match event {
            Event::Sample(sample) if sample.signal == name => readings(sample),
            _ => true,
        });
        let summary = made_up::summarize(&manifest, &events);
        let codes = codes(&summary);
        codes
            .iter()
            .map(|code| (*code).to_owned())
            .collect::<Vec<String>>()
    };
    let total = |mw| line("nvml", "gpu0_power_instant", RailRole::Total, mw);
    let part = |mw| line("ina3221", "VDD_CPU", RailRole::Part, mw);
    let before = |sample: &SampleRecord| sample.at < START - Nanos::from_secs(1);
    let silent = "power-not-measured";
    assert_eq!(
        with(total(module), &before),
        [silent],
        "read before the run alone"
    );
    assert_eq!(with(total(|_| None), &|_| true), [silent], "tried and not read");
    assert_eq!(
        with(total(module), &|_| false),
        [""; 0],
        "described and never tried"
    );
    assert_eq!(with(part(module), &before), [""; 0]);
    assert_eq!(with(part(|_| None), &|_| true), [""; 0]);
}
