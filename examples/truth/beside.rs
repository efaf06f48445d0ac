//! Does "beside each other" tell what a co-runner costs, and nothing where it costs nothing?
//!
//! On the simulated device a frame beside one other runs 1 + contention times slower than alone: that is the true slowdown
//! of each tenant beside each other.

use jetlag::scenario::{Arrival, Sharing};

use crate::Cell;
use crate::table::{Promise, Row};
use crate::world::{Member, Service, World, bimodal, lognormal, normal, periodic};

const PART: &str = "beside";

pub(crate) fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for contention in [0.0, 0.3, 1.0] {
        for (name, members) in kinds() {
            let world = World {
                members,
                contention,
                sharing: Sharing::Streams,
                seconds: 60,
                alone: false,
            };
            let name = format!("{name}, contention {contention}");
            cells.push(Cell {
                part: PART,
                rows: Box::new(move |seeds| rows(&name, &world, seeds)),
            });
        }
    }
    cells
}

fn kinds() -> Vec<(&'static str, Vec<Member>)> {
    let poisson = |hz| Arrival::Poisson { hz };
    let camera = || Member::new(periodic(30.0, 0.0, 8.0), normal(9.0, 1.0));
    let lidar = || Member::new(periodic(10.0, 0.0, 20.0), normal(20.0, 3.0));
    let repeating = Service::Repeating {
        median_ms: 9.0,
        sigma: 0.2,
        phi: 0.8,
    };
    vec![
        ("jittered camera and lidar", vec![camera(), lidar()]),
        (
            "locked, as in the demo",
            vec![
                Member::new(periodic(30.0, 0.0, 0.0), normal(13.0, 2.0)),
                Member::new(periodic(10.0, 0.0, 0.0), normal(16.0, 3.0)),
            ],
        ),
        (
            "locked, 20 ms apart",
            vec![
                Member::new(periodic(30.0, 0.0, 0.0), normal(13.0, 2.0)),
                Member::new(periodic(10.0, 20.0, 0.0), normal(16.0, 3.0)),
            ],
        ),
        (
            "two Poisson arrivals",
            vec![
                Member::new(poisson(20.0), normal(9.0, 1.5)),
                Member::new(poisson(12.0), lognormal(14.0, 0.3)),
            ],
        ),
        (
            "short and frequent beside long",
            vec![
                Member::new(poisson(60.0), normal(3.0, 0.3)),
                Member::new(periodic(10.0, 0.0, 15.0), normal(30.0, 3.0)),
            ],
        ),
        (
            "batches of four beside a camera",
            vec![
                camera(),
                Member::new(poisson(30.0), normal(40.0, 4.0)).in_batches_of(4),
            ],
        ),
        (
            "long and rare",
            vec![camera(), Member::new(poisson(2.0), lognormal(90.0, 0.3))],
        ),
        (
            "two services each",
            vec![
                Member::new(periodic(20.0, 0.0, 10.0), bimodal(9.0, 18.0, 0.2)),
                Member::new(poisson(10.0), bimodal(10.0, 40.0, 0.1)),
            ],
        ),
        (
            "heavy tails",
            vec![
                Member::new(poisson(15.0), lognormal(8.0, 0.5)),
                Member::new(poisson(15.0), lognormal(8.0, 0.5)),
            ],
        ),
        (
            "closed loop beside a paced one",
            vec![Member::new(Arrival::Closed, lognormal(10.0, 0.2)), lidar()],
        ),
        (
            "two closed loops",
            vec![
                Member::new(Arrival::Closed, normal(9.0, 1.0)),
                Member::new(Arrival::Closed, lognormal(14.0, 0.3)),
            ],
        ),
        (
            "autocorrelated frames",
            vec![Member::new(periodic(30.0, 0.0, 8.0), repeating), lidar()],
        ),
        (
            "a queue at load 0.8",
            vec![
                Member::new(poisson(40.0), normal(14.0, 2.0)),
                Member::new(periodic(10.0, 0.0, 20.0), normal(15.0, 3.0)),
            ],
        ),
        (
            "three tenants",
            vec![camera(), lidar(), Member::new(poisson(8.0), lognormal(12.0, 0.3))],
        ),
        (
            "three, one of them hardly there",
            vec![camera(), lidar(), Member::new(poisson(0.2), normal(10.0, 1.0))],
        ),
    ]
}

fn rows(name: &str, world: &World, seeds: u64) -> Vec<Row> {
    let truth = 1.0 + world.contention;
    let (mut printed, mut held, mut called, mut wrong) = (0, 0, 0, 0);
    for seed in 0..seeds {
        for overlap in world.summary(seed).interference.overlap {
            let Some((low, high)) = overlap.slowdown_ci95 else {
                continue;
            };
            let high = high.unwrap_or(f64::INFINITY);
            printed += 1;
            held += u64::from(low <= truth && truth <= high);
            called += u64::from(low > 1.0);
            wrong += u64::from(high < 1.0);
        }
    }
    let row = |figure: &str, hits: u64, promise| Row::new(PART, name, figure, (hits, printed), promise);
    let mut rows = vec![row(
        "95 % interval of the slowdown holds it",
        held,
        Promise::AtLeast(0.93),
    )];
    if world.contention == 0.0 {
        rows.push(row("a cost where there is none", called, Promise::AtMost(0.05)));
        rows.push(row("a gain where there is none", wrong, Promise::AtMost(0.05)));
    } else {
        rows.push(row("a gain where there is a cost", wrong, Promise::AtMost(0.025)));
    }
    if world.contention == 1.0 {
        rows.push(row(
            "a cost of 100 % is found, where judged",
            called,
            Promise::AtLeast(0.80),
        ));
    }
    rows
}
