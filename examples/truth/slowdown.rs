//! Does the interval of a slowdown, from turns, hold the true one: response time in the measurement over response time alone?

use jetlag::scenario::{Arrival, Sharing};

use crate::Cell;
use crate::table::{Promise, Row};
use crate::world::{Member, Side, World, lognormal, normal, periodic, quantile_ms};

const PART: &str = "slowdown";
const TRUTH: u64 = 300;

pub(crate) fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for contention in [0.0, 0.3, 1.0] {
        for (sharing, how) in [
            (Sharing::Streams, "Streams"),
            (Sharing::Exclusive, "Exclusive"),
            (Sharing::RoundRobin, "RoundRobin"),
            (Sharing::Edf, "Edf"),
        ] {
            // Where tenants take turns, none ever runs beside another.
            if contention > 0.0 && how != "Streams" {
                continue;
            }
            let world = World {
                members: vec![
                    Member::new(periodic(30.0, 0.0, 4.0), normal(9.0, 1.0)),
                    Member::new(Arrival::Poisson { hz: 15.0 }, lognormal(12.0, 0.3)),
                ],
                contention,
                sharing,
                seconds: 60,
                alone: true,
            };
            cells.push(Cell {
                part: PART,
                rows: Box::new(move |seeds| {
                    rows(
                        &format!("two tenants, {how}, contention {contention}, 60 s"),
                        &world,
                        seeds,
                    )
                }),
            });
        }
    }
    cells
}

fn rows(cell: &str, world: &World, seeds: u64) -> Vec<Row> {
    let ratios: Vec<[f64; 3]> = (0..world.members.len() as u16)
        .map(|tenant| {
            let together = world.responses(tenant, Side::Measured, TRUTH);
            let alone = world.responses(tenant, Side::Alone, TRUTH);
            [0.5, 0.9, 0.99].map(|p| quantile_ms(&together, p) / quantile_ms(&alone, p))
        })
        .collect();
    let (mut held, mut printed) = ([0; 3], [0; 3]);
    for seed in 0..seeds {
        let summary = world.summary(seed);
        for (tenant, truth) in summary.tenants.iter().zip(&ratios) {
            let Some(slowdown) = &tenant.slowdown else {
                continue;
            };
            let intervals = [slowdown.p50.ci95, slowdown.p90.ci95, slowdown.p99.ci95];
            for (which, interval) in intervals.into_iter().enumerate() {
                let Some([low, high]) = interval else { continue };
                printed[which] += 1;
                held[which] += u64::from(low <= truth[which] && truth[which] <= high);
            }
        }
    }
    let figure = |which: usize, name: &str| {
        Row::new(
            PART,
            cell,
            format!("95 % interval of {name} together over alone holds it"),
            (held[which], printed[which]),
            Promise::AtLeast(0.93),
        )
    };
    vec![figure(0, "p50"), figure(1, "p90"), figure(2, "p99")]
}
