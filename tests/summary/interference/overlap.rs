//! What a tenant's frames lose beside another's in one phase: known slowdowns recovered, and what is withheld.

use jetlag::analysis::Summary;
use jetlag::analysis::summary::interference::Overlap;
use jetlag::record::Phase;
use jetlag::scenario::{Arrival, LatencyModel, Sharing};
use jetlag::units::Nanos;

use super::{Run, manifest, rendered, sim};
use crate::common::planned::Planned as _;

fn normal(mean: i64, sd: i64) -> LatencyModel {
    LatencyModel::Normal {
        mean: Nanos::from_millis(mean),
        sd: Nanos::from_millis(sd),
    }
}

fn released(hz: f64, phase: i64, jitter: i64) -> Arrival {
    Arrival::Periodic {
        hz,
        phase: Nanos::from_millis(phase),
        jitter: Nanos::from_millis(jitter),
    }
}

/// A camera and a lidar as in the demo, on a device of so much contention, and whoever else.
struct Beside {
    arrivals: [Arrival; 2],
    others: Vec<(LatencyModel, Arrival)>,
    sharing: Sharing,
    contention: f64,
    depth: usize,
}

impl Beside {
    fn of(arrivals: [Arrival; 2], contention: f64) -> Self {
        Beside {
            arrivals,
            others: Vec::new(),
            sharing: Sharing::Streams,
            contention,
            depth: 1,
        }
    }

    fn run(&self, seed: u64, seconds: i64) -> Summary {
        let mut tenants = vec![
            sim(0, normal(13, 2), self.arrivals[0], 0),
            sim(1, normal(16, 3), self.arrivals[1], 0),
        ];
        for ((model, arrival), number) in self.others.iter().zip(2..) {
            tenants.push(sim(number, model.clone(), *arrival, 0));
        }
        tenants.iter_mut().for_each(|tenant| tenant.depth = self.depth);
        let names = ["camera", "lidar", "third"];
        let mut manifest = manifest(&names[..tenants.len()], None);
        manifest.plan().sharing = self.sharing;
        for (described, tenant) in manifest.plan().tenants.iter_mut().zip(&tenants) {
            described.arrival = tenant.arrival;
        }
        let mut run = Run::of(&manifest, seed);
        run.phase(
            Phase::Together,
            "Streams",
            None,
            self.contention,
            seconds,
            &tenants,
        );
        run.finish()
    }
}

fn pair<'a>(summary: &'a Summary, tenant: &str, with: &str) -> &'a Overlap {
    let all = &summary.interference.overlap;
    all.iter()
        .find(|overlap| overlap.tenant == tenant && overlap.with == with)
        .expect("each tenant has each other")
}

fn code(overlap: &Overlap) -> Option<&'static str> {
    overlap.withheld.as_ref().map(|withheld| withheld.code)
}

/// How many of so many seeds have an estimate of the camera beside the lidar, and how many of those hold the truth; then of the
/// lidar beside the camera.
#[allow(clippy::print_stdout, reason = "the figure, with --nocapture")]
fn held(beside: &Beside, seeds: u64) -> [(u64, u64); 2] {
    let truth = 1.0 + beside.contention;
    let mut counts = [(0, 0); 2];
    for seed in 0..seeds {
        let summary = beside.run(seed, 40);
        let pairs = [("camera", "lidar"), ("lidar", "camera")];
        for ((stated, held), (tenant, with)) in counts.iter_mut().zip(pairs) {
            if let Some((low, high)) = pair(&summary, tenant, with).slowdown_ci95 {
                *stated += 1;
                *held += u64::from(low <= truth && high.is_none_or(|high| truth <= high));
            }
        }
    }
    println!("{counts:?}: stated, and of those holding {truth}");
    counts
}

#[test]
fn locked_releases_are_not_judged_as_content_may_repeat_with_them() {
    for phase in [0, 20] {
        let demo = Beside::of([released(30.0, 0, 0), released(10.0, phase, 0)], 0.0);
        let summary = demo.run(1, 60);
        for (tenant, with) in [("camera", "lidar"), ("lidar", "camera")] {
            let found = pair(&summary, tenant, with);
            assert_eq!(code(found), Some("locked-releases"), "phase {phase}, {tenant}");
            assert_eq!((found.slowdown, found.lost_share), (None, None));
        }
    }
}

#[test]
fn what_a_device_takes_from_a_frame_is_in_the_interval_as_often_as_it_says() {
    for contention in [0.0, 0.3, 1.0] {
        let beside = Beside::of([released(30.0, 0, 10), released(10.0, 0, 10)], contention);
        for (stated, held) in held(&beside, 40) {
            // 38 are to be expected, and fewer than 33 in one case of a thousand.
            assert!(stated >= 39 && held >= 33, "at {contention}: {held} of {stated}");
        }
    }
}

#[test]
fn a_frame_is_as_much_slower_beside_a_long_one_as_the_device_makes_it() {
    let manifest = manifest(&["short", "long"], None);
    let mut run = Run::of(&manifest, 3);
    let fixed = |ms| LatencyModel::Fixed {
        latency: Nanos::from_millis(ms),
    };
    // A frame of 4 ms meets the long one nearly always or nearly never; beside it takes half as much again.
    let tenants = [
        sim(0, fixed(4), Arrival::Poisson { hz: 40.0 }, 0),
        sim(1, fixed(120), Arrival::Poisson { hz: 3.0 }, 0),
    ];
    run.phase(Phase::Together, "Streams", None, 0.5, 120, &tenants);
    let summary = run.finish();
    let overlap = pair(&summary, "short", "long");
    assert_eq!(
        (overlap.without.service_p50_ms, overlap.beside.service_p50_ms),
        (Some(4.0), Some(6.0))
    );
    let slowdown = overlap.slowdown.unwrap();
    assert!((slowdown - 1.5).abs() < 1e-3, "{slowdown}");
    assert!(rendered(&summary, 80).contains("OVERLAP"));
}

#[test]
fn of_three_each_is_judged_by_the_time_in_which_no_other_was_there() {
    let arrivals = [released(30.0, 0, 10), released(10.0, 0, 10)];
    let mut three = Beside::of(arrivals, 1.0);
    three.others.push((normal(3, 1), Arrival::Poisson { hz: 40.0 }));
    let [(stated, held), _] = held(&three, 20);
    assert!(stated == 20 && held >= 16, "{held} of {stated}");
    // Who is never there, or always, does not keep the others from being judged.
    for (arrival, with, why) in [
        (Arrival::Poisson { hz: 0.05 }, 2.0, "never-beside"),
        (Arrival::Closed, 1.5, "always-beside"),
    ] {
        let mut three = Beside::of(arrivals, 1.0);
        three.others.push((normal(3, 0), arrival));
        let summary = three.run(1, 120);
        assert_eq!(code(pair(&summary, "camera", "third")), Some(why));
        // Beside a third that is always there, three share what two shared.
        let slowdown = pair(&summary, "camera", "lidar").slowdown.expect("judged");
        assert!((slowdown / with - 1.0).abs() < 0.1, "{slowdown} for {with}");
    }
}

#[test]
fn what_cannot_be_known_is_withheld_and_says_why() {
    let loose = [released(30.0, 0, 10), released(10.0, 0, 10)];
    // The last frames of two closed loops are the only ones that are alone.
    let closed = Beside::of([Arrival::Closed; 2], 0.0).run(1, 20);
    assert_eq!(code(pair(&closed, "camera", "lidar")), Some("always-beside"));
    assert_eq!(code(pair(&closed, "lidar", "camera")), Some("always-beside"));
    for sharing in [
        Sharing::Exclusive,
        Sharing::RoundRobin,
        Sharing::Edf,
        Sharing::SingleStream,
    ] {
        let turns = Beside {
            sharing,
            ..Beside::of(loose, 0.0)
        };
        let summary = turns.run(1, 20);
        assert_eq!(code(pair(&summary, "camera", "lidar")), Some("takes-turns"));
    }
    let deep = Beside {
        depth: 2,
        ..Beside::of([released(75.0, 0, 5), released(10.0, 0, 10)], 0.3)
    };
    let summary = deep.run(1, 20);
    assert_eq!(
        code(pair(&summary, "camera", "lidar")),
        Some("own-frames-overlap")
    );
    // As company such a tenant is what it is: in service while any of its frames is.
    assert!(pair(&summary, "lidar", "camera").mean_share > 0.9);
    let short = Beside::of(loose, 0.0).run(1, 4);
    assert_eq!(code(pair(&short, "lidar", "camera")), Some("too-few-frames"));
    for overlap in closed
        .interference
        .overlap
        .iter()
        .chain(&short.interference.overlap)
    {
        let stated = [overlap.slowdown, overlap.lost_share].iter().any(Option::is_some);
        assert!(stated != overlap.withheld.is_some(), "{overlap:?}");
    }
}
