//! What a finding advises does what it promises, under simulated time.

use jetlag::analysis::Summary;
use jetlag::analysis::summary::Finding;
use jetlag::record::Phase;
use jetlag::scenario::{Arrival, LatencyModel, Overload};
use jetlag::tenant::simulate::SimTenant;
use jetlag::units::Nanos;
use serde_json::json;

use crate::common::planned::Planned as _;
use crate::summary::interference::{Run, manifest, sim};
use crate::summary::made_up;

fn lognormal(ms: i64, sigma: f64) -> LatencyModel {
    LatencyModel::LogNormal {
        median: Nanos::from_millis(ms),
        sigma,
    }
}

/// A measurement of so many seconds in which a promise on this quantile is to be judged.
fn run(tenant: &SimTenant, quantile: &str, seconds: i64, seed: u64) -> Summary {
    let mut manifest = manifest(&["a"], None);
    manifest.plan().duration = Nanos::from_secs(seconds);
    manifest.plan().tenants[0].arrival = tenant.arrival;
    manifest.plan().tenants[0].overload = tenant.overload;
    manifest.plan().tenants[0].frames = tenant.frames;
    manifest.plan().tenants[0].depth = tenant.depth;
    manifest.plan().expect = vec![format!("a.response.{quantile} < 1000s")];
    let mut run = Run::of(&manifest, seed);
    run.phase(
        Phase::Together,
        "Streams",
        None,
        0.0,
        seconds,
        std::slice::from_ref(tenant),
    );
    run.finish()
}

#[test]
fn who_follows_the_advice_on_too_few_frames_has_enough() {
    let jittered = Arrival::Periodic {
        hz: 10.0,
        phase: Nanos::from_millis(90),
        jitter: Nanos::from_millis(20),
    };
    let late_start = Arrival::Periodic {
        hz: 1.0,
        phase: Nanos::from_millis(999),
        jitter: Nanos::ZERO,
    };
    let drops = Overload::DropOldest { queue: 1 };
    let limit = |frames| move |tenant: &mut SimTenant| tenant.frames = Some(frames);
    type Change = Box<dyn Fn(&mut SimTenant)>;
    let cases: Vec<(&str, Arrival, LatencyModel, i64, &str, Change)> = vec![
        (
            "periodic",
            made_up::periodic(30.0),
            lognormal(5, 0.3),
            2,
            "p99",
            Box::new(|_| {}),
        ),
        (
            "1 Hz, late",
            late_start,
            lognormal(5, 0.3),
            5,
            "p50",
            Box::new(|_| {}),
        ),
        (
            "jittered",
            jittered,
            lognormal(5, 0.3),
            3,
            "p90",
            Box::new(|_| {}),
        ),
        (
            "poisson",
            Arrival::Poisson { hz: 20.0 },
            lognormal(5, 0.3),
            2,
            "p99",
            Box::new(|_| {}),
        ),
        (
            "poisson, p90",
            Arrival::Poisson { hz: 2.0 },
            lognormal(5, 0.3),
            5,
            "p90",
            Box::new(|_| {}),
        ),
        (
            "closed",
            Arrival::Closed,
            lognormal(50, 0.8),
            2,
            "p99",
            Box::new(|_| {}),
        ),
        (
            "drops",
            made_up::periodic(30.0),
            lognormal(35, 0.5),
            2,
            "p99",
            Box::new(move |tenant| tenant.overload = drops),
        ),
        (
            "frames",
            made_up::periodic(30.0),
            lognormal(5, 0.3),
            2,
            "p99",
            Box::new(limit(40)),
        ),
        (
            "frames of a long run",
            made_up::periodic(30.0),
            lognormal(5, 0.3),
            40,
            "p99",
            Box::new(limit(40)),
        ),
    ];
    const SEEDS: u64 = 40;
    for (what, arrival, model, seconds, quantile, change) in cases {
        let mut tenant = sim(0, model, arrival, 0);
        change(&mut tenant);
        let (mut failed, mut dependent) = (0, 0);
        for seed in 0..SEEDS {
            let first = run(&tenant, quantile, seconds, seed);
            assert_eq!(
                first.expectations[0].value, None,
                "{what}: it was short on purpose"
            );
            let findings = &first.run.findings;
            let finding = findings.iter().find(|found| found.code == "too-few-samples");
            let finding = finding.unwrap_or_else(|| panic!("{what}: {findings:?}"));
            let facts = &finding.facts;
            let needs = facts["needs"].as_u64().expect("a number of frames");
            // Where drops make frames depend on each other, so many are not enough.
            if facts["lacks"]["frames"] != needs {
                assert_eq!(facts["alike"], true, "{what}: {finding:?}");
                dependent += 1;
                continue;
            }
            let advised = |what: &str| facts["more"][what].as_f64();
            let longer = advised("duration_s").map_or(seconds, |s| s as i64);
            let mut more = tenant.clone();
            more.frames = advised("offered").map(|frames| frames as u64).or(tenant.frames);
            // Another run, and not the same one for longer.
            let second = run(&more, quantile, longer, seed + 1_000);
            let has = second.tenants[0].response_ms.count;
            failed += u64::from(has < needs);
            assert!(
                has <= 4 * needs + 200,
                "{what}: {facts:?}, which gave {has} for {needs}"
            );
        }
        assert!(dependent * 4 <= SEEDS, "{what}: {dependent} of {SEEDS} depend");
        assert!(failed * 50 <= SEEDS, "{what}: {failed} of {SEEDS} fell short");
    }
}

fn overload(summary: &Summary) -> Option<&Finding> {
    summary.run.findings.iter().find(|found| found.code == "overload")
}

fn fixed(us: i64) -> LatencyModel {
    LatencyModel::Fixed {
        latency: Nanos::from_micros(us),
    }
}

#[test]
fn a_demand_a_little_above_one_is_overload_and_one_a_little_below_is_none() {
    let at = |us| run(&sim(0, fixed(us), made_up::periodic(30.0), 0), "p50", 10, 1);
    let summary = at(33_500);
    let finding = overload(&summary).expect("100.5 %");
    assert_eq!(finding.facts["shown_by"], "demand");
    let demand = finding.facts["demand"].as_f64().expect("a share");
    assert!((demand - 1.005).abs() < 5e-4, "{demand}");
    assert_eq!(
        summary.seconds_of(&summary.tenants[0].name),
        None,
        "a longer run would answer no more"
    );
    let summary = at(33_200);
    assert!(overload(&summary).is_none());
    assert_eq!(
        summary.seconds_of(&summary.tenants[0].name),
        Some(summary.run.duration_s)
    );
}

#[test]
fn scattered_frames_do_not_hide_a_demand_above_one() {
    // Response times climb and are autocorrelated, service times are not: the demand is estimated from these.
    let scattered = LatencyModel::Normal {
        mean: Nanos::from_micros(33_500),
        sd: Nanos::from_micros(500),
    };
    for way in [
        Overload::Queue { capacity: 1_000 },
        Overload::DropOldest { queue: 2 },
    ] {
        let mut tenant = sim(0, scattered.clone(), made_up::periodic(30.0), 0);
        tenant.overload = way;
        let finding = overload(&run(&tenant, "p50", 20, 1)).cloned().expect("100.5 %");
        assert_eq!(finding.facts["shown_by"], "demand");
    }
}

#[test]
fn a_queue_that_only_chance_fills_is_seldom_called_overload() {
    let tenant = sim(0, lognormal(10, 0.5), Arrival::Poisson { hz: 80.0 }, 0);
    // The mean of the model is 11.3 ms: a load of 0.91.
    let called = (0..200).filter(|&seed| {
        let summary = run(&tenant, "p50", 20, seed);
        overload(&summary).is_some_and(|found| found.facts["shown_by"] == "demand")
    });
    let called = called.count();
    println!("{called} of 200");
    assert!(called <= 4, "{called} of 200");
}

#[test]
fn where_one_stage_alone_is_too_long_overlapping_is_not_advised() {
    let mut tenant = sim(0, fixed(36_700), made_up::periodic(30.0), 0);
    tenant.overload = Overload::DropOldest { queue: 2 };
    let summary = run(&tenant, "p50", 10, 1);
    let facts = &overload(&summary).expect("110 %").facts;
    assert_eq!(
        (&facts["cause"], &facts["stages"]),
        (&json!("stages"), &json!(["compute"]))
    );
    let share = facts["stages_share"].as_f64().expect("a share");
    assert!((share - 1.1).abs() < 5e-3, "{share}");
}
