//! Figures against distributions and incidents whose true values are known.

use jetlag::analysis::summary::Stats;
use jetlag::record::{Event, Outcome, Phase, PhaseSpec};
use jetlag::scenario::Arrival;
use jetlag::units::Nanos;
use proptest::prelude::*;
use rand_distr::{Distribution, Exp, LogNormal, Uniform};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;

use crate::common::planned::Planned as _;
use crate::summary::made_up::{self, frame, ms, tenant};

/// `n` response times from a distribution in milliseconds.
fn drawn(distribution: impl Distribution<f64>, n: usize, seed: u64) -> Vec<Nanos> {
    let mut random = Pcg64::seed_from_u64(seed);
    (0..n).map(|_| ms(distribution.sample(&mut random))).collect()
}

fn response(responses: &[Nanos]) -> Stats {
    made_up::with_responses(responses).tenants[0].response_ms
}

/// Whether the interval of each quantile holds its true value, given by `truth`.
fn held(stats: &Stats, truth: impl Fn(f64) -> f64) -> [bool; 5] {
    let intervals = [
        (0.5, stats.p50),
        (0.9, stats.p90),
        (0.95, stats.p95),
        (0.99, stats.p99),
        (0.999, stats.p99_9),
    ];
    intervals.map(|(p, found)| {
        let (truth, estimate, [low, high]) = (
            truth(p),
            found.value.expect("supported"),
            found.ci95.expect("supported"),
        );
        assert!(low <= estimate && estimate <= high);
        assert!(
            (estimate / truth - 1.0).abs() < 0.2,
            "p {p}: {estimate} for {truth}"
        );
        assert!((high - low) / truth < 0.4, "p {p}: {low}..{high} says too little");
        low <= truth && truth <= high
    })
}

#[test]
fn known_quantiles_lie_within_the_stated_intervals() {
    const RUNS: u64 = 20;
    let mut covered = 0;
    for seed in 0..RUNS {
        let stats = response(&drawn(Exp::new(0.1).unwrap(), 10_000, seed));
        covered += held(&stats, |p| -10.0 * (1.0 - p).ln())
            .into_iter()
            .filter(|&held| held)
            .count();
        assert!((stats.mean.value.unwrap() - 10.0).abs() < 0.5);
        assert!((stats.sd.unwrap() - 10.0).abs() < 0.7);

        let stats = response(&drawn(Uniform::new(5.0, 25.0).unwrap(), 10_000, seed));
        covered += held(&stats, |p| 5.0 + 20.0 * p)
            .into_iter()
            .filter(|&held| held)
            .count();
        assert!((stats.mean.value.unwrap() - 15.0).abs() < 0.3);
        assert!((stats.sd.unwrap() - 20.0 / 12f64.sqrt()).abs() < 0.2);
    }
    // 190 of 200 are to be expected; fewer than 180 would be one case in a thousand.
    println!("{covered} of {} intervals hold the truth", RUNS * 10);
    assert!(covered >= 180, "{covered}");
}

#[test]
fn ninety_five_percent_intervals_cover_the_truth_in_at_least_93_percent_of_runs() {
    const RUNS: u64 = 1000;
    let sigma = 0.5;
    let distribution = LogNormal::new(10f64.ln(), sigma).unwrap();
    let (mut covered, mut stated) = ([0u32; 3], [0u32; 3]);
    for seed in 0..RUNS {
        let stats = response(&drawn(distribution, 1000, seed));
        // Standard normal quantiles of 0.5, 0.9 and 0.99.
        let known = [
            (0.0, stats.p50.ci95),
            (1.281_552, stats.p90.ci95),
            (2.326_348, stats.p99.ci95),
        ];
        for (((z, interval), covered), stated) in known.into_iter().zip(&mut covered).zip(&mut stated) {
            // By chance independent frames may look as if they repeated each other.
            let Some([low, high]) = interval else { continue };
            let truth = 10.0 * (sigma * z).exp();
            *stated += 1;
            *covered += u32::from(low <= truth && truth <= high);
        }
    }
    for ((name, covered), stated) in ["p50", "p90", "p99"].into_iter().zip(covered).zip(stated) {
        assert!(
            u64::from(stated) >= RUNS * 95 / 100,
            "{name}: {stated} of {RUNS} stated"
        );
        let share = f64::from(covered) / f64::from(stated);
        println!("{name}: {:.1} % covered", share * 100.0);
        assert!((0.93..=0.985).contains(&share), "{name}: {share}");
    }
}

#[test]
fn a_stall_is_charged_to_every_frame_that_waited_for_it() {
    // 1000 releases at 100 Hz, 2 ms of work each, and at the 500th the tenant stalls for 500 ms. The 50
    // frames due meanwhile wait; the backlog then shrinks by 8 ms a period.
    let period = Nanos::from_millis(10);
    let work = ms(2.0);
    let mut free = Nanos::ZERO;
    let mut events = Vec::new();
    let mut waited = 0;
    for i in 0..1000u64 {
        let released = period * i as i64;
        let started = released.max(free);
        let service = if i == 500 { work + ms(500.0) } else { work };
        free = started + service;
        waited += u64::from(started > released);
        events.push(Event::Frame(frame(i, released, started - released, service)));
    }
    events.push(Event::Phase(made_up::end(0, Phase::Together, 10)));
    let summary = made_up::summarize(
        &made_up::manifest(10, vec![tenant("camera", 100.0, 33.0)]),
        &events,
    );
    let tenant = &summary.tenants[0];
    // Work, then 50 periods' worth of backlog that 8 ms of slack a period wears off: 62 frames waited.
    assert_eq!(waited, 62);
    // The longest waited for all of it. Counted from start, as a closed loop would, all but one of the frames would see
    // nothing of it.
    assert_eq!(tenant.response_ms.max, Some(502.0));
    assert_eq!(tenant.service_ms.p99.value, Some(2.0));
    // One burst says little of how often there are bursts: the tail is told of this run alone, and it is said why.
    assert_eq!(
        (tenant.response_ms.p99.value, tenant.response_ms.p99.ci95),
        (Some(422.0), None)
    );
    assert!(tenant.response_ms.p99.lack.is_some());
    assert_eq!(tenant.response_ms.max, Some(502.0));
}

#[test]
fn a_slowdown_of_known_factor_is_recovered_within_its_interval() {
    let factor = 1.7;
    let distribution = LogNormal::new(8f64.ln(), 0.2).unwrap();
    let tenants = vec![tenant("camera", 100.0, 33.0), tenant("lidar", 100.0, 33.0)];
    let mut manifest = made_up::manifest(20, tenants);
    manifest.plan().baseline.alone = true;
    let mut events = Vec::new();
    let mut number = 0;
    for round in 0..20 {
        for (members, factor) in [(vec![0], 1.0), (vec![0, 1], factor)] {
            number += 1;
            let phase = Phase::Other(number);
            events.push(Event::PhaseSpec(PhaseSpec {
                at: made_up::START,
                phase,
                sharing: "Streams".to_owned(),
                members: members.clone(),
                round: Some(round),
                ..PhaseSpec::default()
            }));
            for tenant in members {
                let took = drawn(distribution, 100, u64::from(number) * 2 + u64::from(tenant));
                for (i, took) in (0..).zip(took) {
                    let took = Nanos((took.0 as f64 * factor) as i64);
                    let mut frame = frame(i, Nanos::from_millis(10 * i as i64), Nanos::ZERO, took);
                    (frame.phase, frame.tenant) = (phase, tenant);
                    events.push(Event::Frame(frame));
                }
                events.push(Event::Phase(made_up::end(tenant, phase, 1)));
            }
        }
    }
    let summary = made_up::summarize(&manifest, &events);
    let slowdown = summary.tenants[0].slowdown.as_ref().unwrap();
    assert_eq!(slowdown.alone_count, 2000);
    for ratio in [slowdown.p50, slowdown.p90, slowdown.p99] {
        let (estimate, [low, high]) = (ratio.value.unwrap(), ratio.ci95.unwrap());
        assert!((estimate / factor - 1.0).abs() < 0.1, "{estimate}");
        assert!(low <= factor && factor <= high, "{low}..{high}");
    }
}

#[test]
fn each_quantile_appears_with_the_frame_that_supports_it_and_not_before() {
    // Not sorted by size: autocorrelated frames support less.
    let values = |n: u64| response(&drawn(Uniform::new(5.0, 25.0).unwrap(), n as usize, 5));
    for (needs, pick) in [
        (11, (|stats| stats.p50.value) as fn(&Stats) -> Option<f64>),
        (64, |stats| stats.p90.value),
        (130, |stats| stats.p95.value),
        (662, |stats| stats.p99.value),
        (6636, |stats| stats.p99_9.value),
    ] {
        assert_eq!(pick(&values(needs - 1)), None);
        assert!(pick(&values(needs)).is_some());
    }
}

#[test]
fn frames_are_counted_as_what_became_of_them() {
    let deadline = Some(ms(10.0));
    let mut events = Vec::new();
    let mut add = |outcome, service: f64, warmup, deadline| {
        let i = events.len() as u64;
        let mut frame = frame(i, Nanos::from_millis(i as i64), Nanos::ZERO, ms(service));
        (frame.outcome, frame.warmup, frame.deadline, frame.detections) = (outcome, warmup, deadline, 2);
        events.push(Event::Frame(frame));
    };
    add(Outcome::Completed, 500.0, true, deadline);
    (0..5).for_each(|_| add(Outcome::Completed, 9.0, false, deadline));
    add(Outcome::Completed, 10.0, false, deadline);
    add(Outcome::Completed, 10.000_001, false, deadline);
    add(Outcome::Completed, 99.0, false, None);
    add(Outcome::Dropped, 0.0, false, deadline);
    add(Outcome::Failed, 1.0, false, deadline);
    add(Outcome::Unfinished, 10.0, false, deadline);
    add(Outcome::Unfinished, 99.0, false, None);
    add(Outcome::Unfinished, 10.000_001, false, deadline);
    events.push(Event::Phase(made_up::end(0, Phase::Together, 2)));
    let summary = made_up::summarize(&made_up::manifest(2, vec![tenant("camera", 5.0, 10.0)]), &events);
    let tenant = &summary.tenants[0];
    let counts = tenant.frames;
    assert_eq!(
        (counts.offered, counts.completed, counts.dropped, counts.failed),
        (11, 8, 1, 1)
    );
    assert_eq!((counts.overdue, counts.unfinished), (1, 2));
    // The late one, the dropped one, the failed one, and the one that was late when it was cut off.
    assert_eq!(counts.missed, 4);
    assert_eq!(tenant.miss_rate, Some(0.363636));
    assert_eq!(tenant.throughput_fps, Some(4.0));
    assert_eq!(tenant.detections, Some(16));
    assert_eq!(tenant.response_ms.count, 8);
    assert_eq!(tenant.response_ms.max, Some(99.0));
}

#[test]
fn closed_loop_tenants_say_so() {
    let mut closed = tenant("camera", 0.0, 33.0);
    closed.arrival = Arrival::Closed;
    let summary = made_up::summarize(&made_up::manifest(1, vec![closed]), &[]);
    assert!(summary.tenants[0].closed_loop);
    assert_eq!(summary.tenants[0].arrival, "closed loop");
}

#[test]
fn shares_of_the_mean_add_up_to_one() {
    let (manifest, events) = made_up::demo(10);
    for tenant in made_up::summarize(&manifest, &events).tenants {
        let sum: f64 = tenant.time_share.iter().map(|(_, share)| share).sum();
        assert!((sum - 1.0).abs() < 1e-5, "{sum}");
    }
}

#[test]
fn a_run_without_events_is_a_summary_without_figures() {
    let (manifest, _) = made_up::demo(10);
    let summary = made_up::summarize(&manifest, &[]);
    assert_eq!(summary.tenants.len(), 2);
    assert_eq!(summary.tenants[0].throughput_fps, None);
    assert_eq!(summary.tenants[0].miss_rate, None);
    assert_eq!(summary.run.overhead_us, None);
    assert!(!summary.expectations_hold());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_order_in_which_records_come_changes_nothing(keys in proptest::collection::vec(any::<u32>(), 4000)) {
        let (manifest, events) = made_up::demo(20);
        let mut shuffled: Vec<_> = events.iter().cloned().zip(keys.iter().cycle()).collect();
        shuffled.sort_by_key(|(_, key)| **key);
        let shuffled: Vec<Event> = shuffled.into_iter().map(|(event, _)| event).collect();
        let (mut a, mut b) =
            (made_up::summarize(&manifest, &events), made_up::summarize(&manifest, &shuffled));
        // Host loads are averaged in floating point, in the order of their coming.
        (a.host, b.host) = (None, None);
        // What ran beside a slow frame is looked for among the frames that came shortly before and after it, in bounded
        // memory: a file has them in the order of their ends, give or take a second.
        for tenant in a.tenants.iter_mut().chain(&mut b.tenants) {
            tenant.slowest = Default::default();
        }
        // Plots are thinned as the frames come.
        (a.plots, b.plots) = (Default::default(), Default::default());
        prop_assert_eq!(a, b);
    }

    #[test]
    fn records_of_any_content_make_a_summary_and_no_panic(
        stamps in proptest::collection::vec((any::<i64>(), any::<i64>(), any::<i64>(), 0u16..4, 0u8..4), 0..200),
    ) {
        let (manifest, _) = made_up::demo(10);
        let events: Vec<Event> = stamps
            .into_iter()
            .map(|(released, finished, lateness, tenant, outcome)| {
                let mut frame = frame(0, Nanos::ZERO, Nanos::ZERO, Nanos::ZERO);
                frame.released.0 = released;
                frame.started.0 = released;
                frame.finished.0 = finished;
                frame.lateness = Nanos(lateness);
                frame.tenant = tenant;
                frame.outcome =
                    [Outcome::Completed, Outcome::Dropped, Outcome::Failed, Outcome::Unfinished][usize::from(outcome)];
                Event::Frame(frame)
            })
            .chain([u64::MAX, 3].map(|lost| {
                let mut end = made_up::end(0, Phase::Together, 10);
                (end.measured_from.0, end.measured_to.0, end.lost_records) = (i64::MIN, i64::MAX, lost);
                Event::Phase(end)
            }))
            .collect();
        let summary = made_up::summarize(&manifest, &events);
        prop_assert!(serde_json::to_string(&summary).is_ok());
    }
}
