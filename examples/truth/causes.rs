//! Are causes of slow frames named that are not there?

use jetlag::scenario::{Arrival, Sharing};

use crate::Cell;
use crate::table::{Promise, Row};
use crate::world::{Member, Service, World, lognormal, normal, periodic};

const PART: &str = "causes";

pub(crate) fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (name, contention, members) in kinds() {
        let world = World {
            members,
            contention,
            sharing: Sharing::Streams,
            seconds: 60,
            alone: false,
        };
        cells.push(Cell {
            part: PART,
            rows: Box::new(move |seeds| rows(&name, &world, seeds)),
        });
    }
    cells
}

/// Co-runners that are often there and slow nobody down.
fn kinds() -> Vec<(String, f64, Vec<Member>)> {
    let poisson = |hz| Arrival::Poisson { hz };
    let heavy = || lognormal(9.0, 0.5);
    let repeating = Service::Repeating {
        median_ms: 9.0,
        sigma: 0.3,
        phi: 0.8,
    };
    let lidar = || Member::new(periodic(10.0, 0.0, 10.0), normal(30.0, 4.0));
    vec![
        (
            "heavy tail beside a periodic lidar".to_owned(),
            0.0,
            vec![Member::new(periodic(30.0, 0.0, 5.0), heavy()), lidar()],
        ),
        (
            "phase-locked as in the demo".to_owned(),
            0.0,
            vec![
                Member::new(periodic(30.0, 0.0, 0.0), normal(13.0, 2.0)),
                Member::new(periodic(10.0, 0.0, 0.0), normal(16.0, 3.0)),
            ],
        ),
        (
            "repeating frames beside bursts".to_owned(),
            0.0,
            vec![
                Member::new(periodic(30.0, 0.0, 5.0), repeating),
                Member::new(poisson(20.0), lognormal(15.0, 0.5)),
            ],
        ),
        (
            "M/G/1 at 0.69 beside a periodic lidar".to_owned(),
            0.0,
            vec![Member::new(poisson(40.0), normal(17.25, 3.0)), lidar()],
        ),
    ]
}

/// A run blames falsely where it names a co-runner as the cause of any slow frame.
fn rows(name: &str, world: &World, seeds: u64) -> Vec<Row> {
    let mut blamed = 0;
    for seed in 0..seeds {
        let summary = world.summary(seed);
        let slow = summary.tenants.iter().flat_map(|tenant| &tenant.slowest);
        let named = slow.clone().filter(|frame| frame.cause == Some("co-runner"));
        blamed += u64::from(named.count() > 0);
    }
    vec![Row::new(
        PART,
        format!("{name}, 60 s"),
        "runs that lay a slow frame to a co-runner that slows nobody",
        (blamed, seeds),
        Promise::AtMost(0.05),
    )]
}
