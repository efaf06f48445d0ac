//! Does the 95 % interval of a quantile, and of the mean, hold the true one, also if frames queue and are autocorrelated?
//!
//! The true quantile is that of many other runs of the same kind. Counted are the intervals that are printed: a quantile
//! that a run cannot support is withheld, and how often is told beside it.

use jetlag::scenario::Arrival;

use crate::Cell;
use crate::table::{Promise, Row};
use crate::world::{Service, Side, World, bimodal, lognormal, normal, periodic, quantile_ms};

pub(crate) const PART: &str = "quantiles";
/// Runs whose frames together are the truth.
const TRUTH: u64 = 600;

pub(crate) fn cells() -> Vec<Cell> {
    kinds()
        .into_iter()
        .map(|(name, world)| Cell {
            part: PART,
            rows: Box::new(move |seeds| rows(&name, &world, seeds)),
        })
        .collect()
}

/// Single tenants by arrival, service and load.
pub(crate) fn kinds() -> Vec<(String, World)> {
    let mut kinds = Vec::new();
    let mut add = |name: &str, arrival: Arrival, service: Service, seconds: i64| {
        kinds.push((name.to_owned(), World::of_one(arrival, service, seconds)));
    };
    let poisson = |hz| Arrival::Poisson { hz };
    add(
        "independent, 30 Hz, 25 s",
        periodic(30.0, 0.0, 0.0),
        lognormal(9.0, 0.2),
        25,
    );
    add(
        "independent, 30 Hz, 60 s",
        periodic(30.0, 0.0, 0.0),
        lognormal(9.0, 0.2),
        60,
    );
    add(
        "independent, heavy tail, 60 s",
        periodic(30.0, 0.0, 0.0),
        lognormal(4.0, 0.6),
        60,
    );
    // So short that by chance many runs have no backlog and look independent.
    add(
        "D/G/1 load 0.85, 10 s",
        periodic(30.0, 0.0, 0.0),
        normal(28.3, 5.7),
        10,
    );
    add(
        "D/G/1 load 0.69, heavy tail, 10 s",
        periodic(30.0, 0.0, 0.0),
        lognormal(20.3, 0.5),
        10,
    );
    add(
        "D/G/1 load 0.80, 60 s",
        periodic(30.0, 0.0, 0.0),
        lognormal(26.2, 0.2),
        60,
    );
    add(
        "D/G/1 load 0.93, 60 s",
        periodic(30.0, 0.0, 0.0),
        lognormal(30.4, 0.2),
        60,
    );
    add(
        "D/G/1 load 0.93, 600 s",
        periodic(30.0, 0.0, 0.0),
        lognormal(30.4, 0.2),
        600,
    );
    add(
        "D/G/1 load 0.95, bimodal, 120 s",
        periodic(30.0, 0.0, 0.0),
        bimodal(30.0, 63.0, 0.05),
        120,
    );
    add("M/G/1 load 0.50, 60 s", poisson(40.0), normal(12.5, 2.0), 60);
    add("M/G/1 load 0.69, 60 s", poisson(40.0), normal(17.25, 3.0), 60);
    add("M/G/1 load 0.90, 60 s", poisson(40.0), lognormal(22.0, 0.2), 60);
    add("M/G/1 load 0.90, 600 s", poisson(40.0), lognormal(22.0, 0.2), 600);
    for (phi, seconds) in [(0.5, 60), (0.8, 120), (0.9, 120)] {
        let service = Service::Repeating {
            median_ms: 9.0,
            sigma: 0.2,
            phi,
        };
        add(
            &format!("repeating, φ {phi}, {seconds} s"),
            periodic(30.0, 0.0, 0.0),
            service,
            seconds,
        );
    }
    kinds
}

fn rows(name: &str, world: &World, seeds: u64) -> Vec<Row> {
    let all = world.responses(0, Side::Measured, TRUTH);
    let [p50, p90, p95, p99, p99_9] = [0.5, 0.9, 0.95, 0.99, 0.999].map(|p| quantile_ms(&all, p));
    let mean = all.iter().map(|&ns| ns as f64 / 1e6).sum::<f64>() / all.len() as f64;
    let truths = [
        ("p50", p50),
        ("p90", p90),
        ("p95", p95),
        ("p99", p99),
        ("p99.9", p99_9),
        ("mean", mean),
    ];
    let (mut held, mut printed) = ([0; 6], [0; 6]);
    for seed in 0..seeds {
        let response = &world.summary(seed).tenants[0].response_ms;
        let all = [
            response.p50,
            response.p90,
            response.p95,
            response.p99,
            response.p99_9,
            response.mean,
        ];
        let intervals = all.map(|estimate| estimate.ci95);
        for (which, interval) in intervals.into_iter().enumerate() {
            let Some([low, high]) = interval else { continue };
            printed[which] += 1;
            held[which] += u64::from(low <= truths[which].1 && truths[which].1 <= high);
        }
    }
    let mut rows = Vec::new();
    for (which, (quantile, _)) in truths.into_iter().enumerate() {
        let counts = (held[which], printed[which]);
        let figure = format!("95 % interval of {quantile} holds it");
        rows.push(Row::new(PART, name, figure, counts, Promise::AtLeast(0.93)));
        // Independent frames must not be withheld. p99.9 needs more of them.
        if name.starts_with("independent") && quantile != "p99.9" {
            let figure = format!("{quantile} of independent frames is printed");
            let counts = (printed[which], seeds);
            rows.push(Row::new(PART, name, figure, counts, Promise::AtLeast(0.95)));
        }
    }
    rows
}
