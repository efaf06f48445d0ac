//! Energy by counters, and counters held against power.

use super::*;

#[test]
fn a_counter_is_used_where_there_is_one_and_checked_against_power() {
    let counter = |mw: f64| {
        let mut counter = line("nvml", "gpu0_energy", RailRole::Within, |_| None);
        counter.signal.unit = "mj".to_owned();
        counter.signal.measurand = Measurand::of_names("nvml", "gpu0_energy", "mj");
        counter.signal.averaging = Averaging::Counter;
        counter.signal.within = Some("gpu0_power_instant".to_owned());
        let (manifest, mut events) = with_power(
            &[
                line("nvml", "gpu0_power_instant", RailRole::Total, |_| Some(100_000.0)),
                counter,
            ],
            70,
        );
        for event in &mut events {
            if let Event::Sample(sample) = event
                && sample.signal == "gpu0_energy"
            {
                sample.value = Some(1e9 + (sample.at - START).as_secs_f64() * mw);
            }
        }
        (manifest, events)
    };
    let summarize = |(mut manifest, events): (Manifest, Vec<Event>)| {
        manifest
            .tenants
            .iter_mut()
            .for_each(|t| t.backend = "tensorrt".to_owned());
        made_up::summarize(&manifest, &events)
    };
    let summary = summarize(counter(101_000.0));
    let rail = &summary.power[0];
    assert_eq!((rail.energy_from, rail.integrated_mj), ("counter", 7_000_000.0));
    assert!((rail.energy_mj - 7_070_000.0).abs() < 1.0, "{rail:?}");
    assert!(
        codes(&summary).is_empty(),
        "1 % is what they differ by: {:?}",
        summary.run.findings
    );
    assert_eq!(summary.energy.as_ref().unwrap().of, "GPU");
    assert_eq!(codes(&summarize(counter(150_000.0))), ["energy-disagrees"]);
    // A counter that goes back in the middle.
    let (manifest, mut events) = counter(100_000.0);
    for event in &mut events {
        if let Event::Sample(sample) = event
            && sample.signal == "gpu0_energy"
            && sample.at > START + Nanos::from_secs(30)
        {
            sample.value = sample.value.map(|mj| mj - 1e9);
        }
    }
    let summary = summarize((manifest, events));
    assert_eq!(codes(&summary), ["counter-reset"]);
    assert_eq!(summary.power[0].energy_from, "power");
    assert_eq!(summary.power[0].energy_mj, 7_000_000.0);
}

/// A card of 100 W, and 400 W from the measured start on; its counter is read every 5 s, at 2, 7, … seconds of the measured
/// time and before, and counts `counted` times what was drawn.
fn seldom_counted(seconds: i64, counted: f64) -> Summary {
    let card = |t: f64| Some(if t < 0.0 { 100_000.0 } else { 400_000.0 });
    let mut power = line("nvml", "gpu0_power_instant", RailRole::Total, card);
    power.signal.refresh = Some(Nanos::from_millis(100));
    power.signal.window = None;
    let (mut manifest, mut events) = with_power(&[power], seconds);
    manifest
        .tenants
        .iter_mut()
        .for_each(|t| t.backend = "tensorrt".to_owned());
    let mut counter = line("nvml", "gpu0_energy", RailRole::Within, |_| None).signal;
    counter.unit = "mj".to_owned();
    counter.measurand = Measurand::of_names("nvml", "gpu0_energy", "mj");
    counter.averaging = Averaging::Counter;
    counter.period = Some(Nanos::from_secs(5));
    counter.within = Some("gpu0_power_instant".to_owned());
    events.push(Event::Signal(counter));
    for t in (-3..=seconds).step_by(5) {
        let drawn = t as f64 * if t < 0 { 100_000.0 } else { 400_000.0 };
        events.push(Event::Sample(SampleRecord {
            at: START + Nanos::from_secs(t),
            source: "nvml".to_owned(),
            signal: "gpu0_energy".to_owned(),
            value: Some(1e9 + counted * drawn),
            unit: "mj".to_owned(),
        }));
    }
    made_up::summarize(&manifest, &events)
}

#[test]
fn a_counter_read_every_five_seconds_does_not_take_what_was_drawn_before_the_start() {
    let summary = seldom_counted(20, 1.0);
    let rail = &summary.power[0];
    // On a line between the readings at -3 and 2 s the start would be at 700 J instead of 0.
    assert_eq!(
        (rail.energy_from, rail.counter_mj),
        ("counter", Some(8_000_000.0))
    );
    assert_eq!(rail.energy_mj, 8_000_000.0);
    // 400 W for 100 ms at the counter's readings; and the one reading in which power rises, 300 W × 100 ms.
    let [low, high] = rail.ci95_mj.unwrap();
    let half = (high - low) / 2.0;
    assert!(
        low < 8e6 && 8e6 < high && (40_000.0..80_000.0).contains(&half),
        "{half}"
    );
    // Four seconds of idle hold one reading of the counter: they are by power.
    assert_eq!(rail.idle_mw, Some(100_000.0));
    assert!(
        !codes(&summary).contains(&"energy-disagrees"),
        "{:?}",
        codes(&summary)
    );
}

#[test]
fn power_and_a_seldom_read_counter_are_compared_where_both_are_known() {
    // 15 of 20 s are counted and 5 are by power: the figure itself differs by less than what it is compared by.
    let summary = seldom_counted(20, 1.0 / 1.06);
    let rail = &summary.power[0];
    assert!(
        (rail.energy_mj - (6_000_000.0 / 1.06 + 2_000_000.0)).abs() < 1.0,
        "{rail:?}"
    );
    assert_eq!(rail.integrated_mj, 8_000_000.0);
    let finding = summary.run.findings.iter().find(|f| f.code == "energy-disagrees");
    let facts = &finding.unwrap().facts;
    assert_eq!(
        (&facts["kind"], &facts["off"]),
        (&json!("counter-disagrees"), &json!(0.06))
    );
    let still = seldom_counted(20, 0.0);
    let rail = &still.power[0];
    assert_eq!((rail.energy_from, rail.counter_mj), ("power", None), "{rail:?}");
    let finding = still.run.findings.iter().find(|f| f.code == "energy-disagrees");
    assert_eq!(finding.unwrap().facts["kind"], "counter-stood-still");
}

#[test]
fn idle_is_by_the_counter_where_it_covers_the_baseline_and_widens_what_is_above_idle() {
    // The sensor shows 100 W throughout, and the counter counts 101 W.
    let made = |idle: (i64, i64)| {
        let mut counter = line("nvml", "gpu0_energy", RailRole::Within, |t| {
            Some(1e9 + t * 101_000.0)
        });
        counter.signal.unit = "mj".to_owned();
        counter.signal.measurand = Measurand::of_names("nvml", "gpu0_energy", "mj");
        counter.signal.averaging = Averaging::Counter;
        counter.signal.within = Some("gpu0_power_instant".to_owned());
        let power = line("nvml", "gpu0_power_instant", RailRole::Total, |_| Some(100_000.0));
        let (manifest, mut events) = with_power(&[power, counter], 70);
        for event in &mut events {
            if let Event::Window(window) = event {
                let [from, to] = [idle.0, idle.1].map(|ms| START + Nanos::from_millis(ms));
                (window.from, window.to) = (from, to);
            }
        }
        made_up::summarize(&manifest, &events)
    };
    let summary = made((-5_000, -1_000));
    let close = |found: f64, known: f64| assert!((found - known).abs() < 1.0, "{found}, {known}");
    close(summary.power[0].idle_mw.unwrap(), 101_000.0);
    let energy = summary.energy.as_ref().unwrap();
    close(energy.total_mj, 7_070_000.0);
    close(energy.above_idle_mj.unwrap(), 0.0);
    // At either end a move of 10.1 J may lie on the other side, and may have been seen a reading late: 40.4 J.
    let [low, high] = energy.ci95_mj.unwrap();
    close(low, 7_070_000.0 - 40_400.0);
    close(high, 7_070_000.0 + 40_400.0);
    // The same of the baseline's four seconds, for as long as the run is.
    let [low, high] = energy.above_idle_ci95_mj.unwrap();
    close(low, -40_400.0 * (1.0 + 70.0 / 4.0));
    close(high, 40_400.0 * (1.0 + 70.0 / 4.0));

    // A baseline that lasted no time, between two readings.
    let summary = made((-2_050, -2_050));
    assert_eq!(summary.power[0].idle_mw, None);
    assert!(
        codes(&summary).contains(&"idle-power-not-measured"),
        "{:?}",
        codes(&summary)
    );
}
