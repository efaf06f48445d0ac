//! Energy of runs whose power is known.

use jetlag::analysis::Summary;
use jetlag::record::{
    Averaging, Device, Event, Finding, IDLE_WINDOW, Manifest, Measurand, Phase, RailRole, SampleRecord,
    SignalRecord, WindowRecord,
};
use jetlag::units::Nanos;

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
            finding.map(|f| f.message.clone()),
        )
    };
    let (part, message) = share(|_| Some(6_000.0));
    assert_eq!(part, 0.6);
    assert!(message.unwrap().contains("60 % of ina3221/VDD_IN"));
    assert!(share(|_| Some(12_000.0)).1.unwrap().contains("counted twice"));
    assert_eq!(share(|_| Some(9_500.0)).1, None);
}

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
    assert!(finding.unwrap().message.contains("by +6.0 %"), "{finding:?}");
    let still = seldom_counted(20, 0.0);
    let rail = &still.power[0];
    assert_eq!((rail.energy_from, rail.counter_mj), ("power", None), "{rail:?}");
    let finding = still.run.findings.iter().find(|f| f.code == "energy-disagrees");
    assert!(finding.unwrap().message.contains("did not move"), "{finding:?}");
}

#[test]
fn a_card_that_no_tenant_used_is_charged_to_none() {
    let summary = powered(&[line("nvml", "gpu0_power_instant", RailRole::Total, module)], 70);
    assert!(summary.energy.is_some(), "its energy is reported");
    assert!(summary.tenants.iter().all(|t| t.energy_mj_per_frame.is_none()));
}

/// Two tenants of a made-up run, beside a card and a processor: `camera` on the one backend, `lidar` on the other.
fn on_devices(camera: (&str, Option<Device>), lidar: (&str, Option<Device>), lines: &[Line]) -> Summary {
    let (mut manifest, events) = with_power(lines, 70);
    for (tenant, (backend, device)) in manifest.tenants.iter_mut().zip([camera, lidar]) {
        (tenant.backend, tenant.device) = (backend.to_owned(), device);
    }
    made_up::summarize(&manifest, &events)
}

fn per_run(summary: &Summary, tenant: usize) -> Option<f64> {
    let tenant = &summary.tenants[tenant];
    let energy = tenant.energy_mj_per_frame?;
    Some((energy.total * tenant.frames.completed as f64).round())
}

#[test]
fn a_cards_energy_goes_to_the_tenants_that_used_it() {
    let card = || line("nvml", "gpu0_power_instant", RailRole::Total, module);
    let processor = || {
        line("rapl", "package-0", RailRole::Total, |t| {
            Some(if t < -0.5 { 1_000.0 } else { 5_000.0 })
        })
    };
    for host in [
        ("onnxruntime-cpu", None),
        ("cpu", None),
        ("application", None),
        // Its name alone does not say it.
        ("stress", Some(Device::Host)),
        ("of a later version", Some(Device::Host)),
    ] {
        let summary = on_devices(("tensorrt", None), host, &[card()]);
        assert_eq!(per_run(&summary, 0), Some(700_000.0), "{host:?}");
        assert_eq!(per_run(&summary, 1), None, "{host:?}");
        let camera = summary.tenants[0].energy_mj_per_frame.unwrap();
        assert_eq!(
            (camera.share, camera.attributed),
            (1.0, false),
            "nothing was divided"
        );
        assert_eq!(summary.energy.as_ref().unwrap().attribution, None);
        // A card that nobody used.
        let summary = on_devices(host, host, &[card()]);
        assert_eq!(
            (per_run(&summary, 0), per_run(&summary, 1)),
            (None, None),
            "{host:?}"
        );
        // What the processors took goes to both by their time on them, and the card's to the one.
        let summary = on_devices(("stress", Some(Device::Gpu(1))), host, &[card(), processor()]);
        let (camera, lidar) = (per_run(&summary, 0).unwrap(), per_run(&summary, 1).unwrap());
        assert!((camera + lidar - 1_050_000.0).abs() < 2.0, "{camera} + {lidar}");
        assert!(
            (5_000.0..50_000.0).contains(&(camera - 700_000.0)),
            "{camera}: its 1.4 ms of 42"
        );
        assert!(summary.tenants[1].energy_mj_per_frame.unwrap().attributed);
    }
}

#[test]
fn what_two_tenants_are_charged_with_adds_up_to_the_whole_with_its_interval() {
    let gpu = || ("tensorrt", Some(Device::Gpu(0)));
    let card = || line("nvml", "gpu0_power_instant", RailRole::Total, module);
    let processor = || line("rapl", "package-0", RailRole::Total, |_| Some(5_000.0));
    for (lidar, lines, by) in [
        (gpu(), vec![card()], "share of compute time"),
        (
            ("cpu", Some(Device::Host)),
            vec![card(), processor()],
            "share of time on the processors",
        ),
        (
            gpu(),
            vec![card(), processor()],
            "share of compute time on the GPUs, of time on the processors",
        ),
    ] {
        let summary = on_devices(gpu(), lidar, &lines);
        let energy = summary.energy.as_ref().unwrap();
        assert_eq!(energy.attribution, Some(by));
        let of_all = |of: &dyn Fn(&jetlag::analysis::summary::Energy) -> f64| -> f64 {
            let tenants = summary.tenants.iter();
            let charged = tenants.map(|tenant| {
                let energy = tenant.energy_mj_per_frame.unwrap();
                of(&energy) * tenant.frames.completed as f64
            });
            charged.sum()
        };
        let close = |found: f64, known: f64| assert!((found - known).abs() < 1.0, "{found}, {known}, {by}");
        close(of_all(&|energy| energy.total), energy.total_mj);
        close(
            of_all(&|energy| energy.above_idle.unwrap()),
            energy.above_idle_mj.unwrap(),
        );
        for end in [0, 1] {
            close(
                of_all(&|energy| energy.ci95.unwrap()[end]),
                energy.ci95_mj.unwrap()[end],
            );
        }
        // By energy, and not by line: the card takes twice as much as the processor.
        for tenant in &summary.tenants {
            let charged = tenant.energy_mj_per_frame.unwrap();
            let per_run = charged.total * tenant.frames.completed as f64;
            close(charged.share * energy.total_mj, per_run);
        }
    }
}

#[test]
fn clocks_count_where_a_tenant_executed() {
    let clock = |source: &str, name: &str| {
        let mut clock = line(source, name, RailRole::None, |t| {
            Some(if (t * 10.0) as i64 % 2 == 0 {
                306.0
            } else {
                1_300.0
            })
        });
        clock.signal.unit = "mhz".to_owned();
        clock.signal.measurand = Measurand::of_names(source, name, "mhz");
        clock
    };
    let moved = |tenants: (&str, Option<Device>)| {
        let clocks = [clock("gpu", "gpu_frequency"), clock("host", "cpu0_frequency")];
        let summary = on_devices(tenants, ("sim", None), &clocks);
        let of = |f: &Finding| f.message.split(" clock").next().unwrap_or_default().to_owned();
        let moved = summary.run.findings.iter().filter(|f| f.code == "clocks-moved");
        moved.map(of).collect::<Vec<_>>()
    };
    let (gpu, processors) = ("The GPU's", "The processors' highest");
    assert_eq!(moved(("onnxruntime-cpu", None)), [processors]);
    assert_eq!(moved(("stress", Some(Device::Host))), [processors]);
    assert_eq!(moved(("stress", Some(Device::Gpu(0)))), [gpu]);
    assert_eq!(moved(("onnxruntime-cuda", None)), [gpu]);
    assert_eq!(moved(("null", None)), [""; 0]);
}

#[test]
fn two_cards_are_both_counted_and_said_to_be() {
    let summary = powered(
        &[
            line("nvml", "gpu0_power_instant", RailRole::Total, module),
            line("nvml", "gpu1_power_instant", RailRole::Total, |_| Some(5_000.0)),
        ],
        70,
    );
    let energy = summary.energy.unwrap();
    assert_eq!((energy.of, energy.total_mj), ("all GPUs", 1_050_000.0));
    assert_eq!(energy.rails.len(), 2);
}

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
    assert!(finding.advice.contains("80 s"), "{}", finding.advice);
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
fn of_line(line: Line) -> (f64, Option<[f64; 2]>, Option<&'static str>, Vec<String>) {
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
    assert!(why.unwrap().contains("not read for more than 1 %"), "{why:?}");
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
    assert!(why.unwrap().contains("cover only part of the time"), "{why:?}");
}

#[test]
fn rows_of_a_log_whose_place_is_not_known_have_gaps_too() {
    let gaps = line("tegrastats", "VDD_MYSTERY", RailRole::Unknown, |t| {
        (!(30.0..35.0).contains(&t)).then_some(10_000.0)
    });
    let summary = powered(&[gaps], 70);
    assert_eq!(codes(&summary), ["sampler-gaps", "no-total-power"]);
    assert!(
        summary.run.findings[0]
            .message
            .contains("VDD_MYSTERY was not read for 5.1 s"),
        "{:?}",
        summary.run.findings
    );
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
    assert!(why.unwrap().contains("resolution is unknown"), "{why:?}");
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
    assert!(
        energy.ci95_withheld.unwrap().contains("evenly spaced"),
        "{energy:?}"
    );
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
fn a_sensor_that_sees_a_quarter_of_the_time_says_so() {
    let mut hopper = line("nvml", "gpu0_power_instant", RailRole::Total, module);
    hopper.signal.refresh = Some(Nanos::from_millis(100));
    hopper.signal.window = Some(Nanos::from_millis(25));
    let summary = powered(&[hopper], 70);
    assert_eq!((summary.power[0].coverage, summary.power[0].sampled), (0.25, 1.0));
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

#[test]
fn processors_alone_are_said_to_be() {
    let processor = |name: &str| line("rapl", name, RailRole::Total, module);
    for lines in [
        vec![processor("package-0")],
        vec![processor("package-0"), processor("package-1")],
    ] {
        let energy = powered(&lines, 70).energy.unwrap();
        assert_eq!((energy.of, energy.rails.len()), ("processor", lines.len()));
    }
}

#[test]
fn shares_of_no_energy_add_up_to_one_all_the_same() {
    let lines = [
        line("nvml", "gpu0_power_instant", RailRole::Total, |_| Some(0.0)),
        line("rapl", "package-0", RailRole::Total, |_| Some(0.0)),
    ];
    let summary = on_devices(
        ("tensorrt", Some(Device::Gpu(0))),
        ("cpu", Some(Device::Host)),
        &lines,
    );
    let shares: f64 = summary
        .tenants
        .iter()
        .map(|tenant| tenant.energy_mj_per_frame.unwrap().share)
        .sum();
    assert!((shares - 1.0).abs() < 1e-5, "{shares}");
}

#[test]
fn the_whole_of_a_desktop_is_named_by_what_was_measured() {
    let card = |name: &str| line("nvml", name, RailRole::Total, module);
    let processor = || line("rapl", "package-0", RailRole::Total, module);
    for (lines, of) in [
        (vec![card("gpu0_power_instant")], "GPU"),
        (vec![card("gpu0_power_instant"), processor()], "GPU and processor"),
        (
            vec![
                card("gpu0_power_instant"),
                card("gpu1_power_instant"),
                processor(),
            ],
            "all GPUs and processor",
        ),
    ] {
        assert_eq!(powered(&lines, 70).energy.unwrap().of, of);
    }
}
