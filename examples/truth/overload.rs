//! Is a tenant that is asked for more than it can do told so, under each way to treat what waits, and one that keeps up not?

use jetlag::scenario::{Arrival, Overload};

use crate::Cell;
use crate::table::{Promise, Row};
use crate::world::{Member, Service, World, lognormal, normal, periodic};

const PART: &str = "overload";

pub(crate) fn cells() -> Vec<Cell> {
    let ways = [
        ("Queue", Overload::Queue { capacity: 100_000 }),
        ("DropOldest", Overload::DropOldest { queue: 2 }),
        ("DropNewest", Overload::DropNewest { queue: 2 }),
    ];
    let mut cells = Vec::new();
    for (way, overload) in ways {
        // Next to 1 frames are of nearly one length, so that it is sure which side of it a run is on.
        for (demand, kind) in [
            (0.7, Kind::Spread),
            (0.85, Kind::Repeating),
            (0.9, Kind::Even),
            (0.98, Kind::Even),
            (1.005, Kind::Even),
            (1.05, Kind::Spread),
            (1.3, Kind::Spread),
        ] {
            // Where slow frames come in rows, a short queue does overflow.
            if matches!(
                (kind, overload),
                (
                    Kind::Repeating,
                    Overload::DropOldest { .. } | Overload::DropNewest { .. }
                )
            ) {
                continue;
            }
            let member = Member {
                overload,
                ..Member::new(periodic(HZ, 0.0, 0.0), kind.of_mean(demand * 1e3 / HZ))
            };
            let mut world = World::of_one(member.arrival, member.service.clone(), 60);
            world.members = vec![member];
            let cell = format!("{way}, {} at demand {demand}, {HZ} Hz, 60 s", kind.name());
            cells.push(Cell {
                part: PART,
                rows: Box::new(move |seeds| vec![row(&cell, &world, demand, seeds)]),
            });
        }
    }
    // Poisson releases near capacity: a long line may stand at the end by chance, and shorter again later.
    for (load, sigma, hz, seconds) in NEAR_CAPACITY {
        let mean_ms = load * 1e3 / hz;
        let median_ms = mean_ms * (-sigma * sigma / 2.0).exp();
        let world = World::of_one(Arrival::Poisson { hz }, lognormal(median_ms, sigma), seconds);
        let cell = format!("Queue, lognormal σ {sigma} at demand {load}, Poisson {hz} Hz, {seconds} s");
        cells.push(Cell {
            part: PART,
            rows: Box::new(move |seeds| vec![row(&cell, &world, load, seeds)]),
        });
    }
    cells.extend(batches());
    cells
}

/// Inferences of several frames at 30 Hz: what they need of a tenant's time, and how many frames each is of.
const BATCHES: [(f64, usize); 5] = [(0.15, 4), (0.5, 2), (0.85, 4), (0.6, 8), (1.2, 4)];

/// Whether a tenant that waits for frames to fill its batches is told to be overloaded, and whether its median is known: it does not
/// hang on slow frames that follow each other.
fn batches() -> impl Iterator<Item = Cell> {
    BATCHES.into_iter().map(|(load, size)| {
        let service = normal(load * size as f64 * 1e3 / HZ, 0.5);
        let mut world = World::of_one(periodic(HZ, 0.0, 0.0), service.clone(), 60);
        world.members = vec![Member::new(periodic(HZ, 0.0, 0.0), service).in_batches_of(size)];
        let cell = format!("Queue, batches of {size}, normal ± 0.5 ms at demand {load}, {HZ} Hz, 60 s");
        let known = move |world: &World, seeds: u64| {
            let known = |seed: &u64| world.summary(*seed).tenants[0].response_ms.p50.lack.is_none();
            (0..seeds).filter(known).count() as u64
        };
        Cell {
            part: PART,
            rows: Box::new(move |seeds| {
                let mut rows = vec![row(&cell, &world, load, seeds)];
                if load < 1.0 {
                    let known = (known(&world, seeds), seeds);
                    rows.push(Row::new(
                        PART,
                        &cell,
                        "p50 with an interval",
                        known,
                        Promise::AtLeast(0.95),
                    ));
                }
                rows
            }),
        }
    })
}

/// Load, σ, rate and seconds.
const NEAR_CAPACITY: [(f64, f64, f64, i64); 5] = [
    (0.95, 0.5, 30.0, 60),
    (0.95, 0.6, 30.0, 60),
    (0.95, 0.6, 100.0, 60),
    (0.9, 0.6, 10.0, 60),
    (1.2, 0.5, 30.0, 60),
];

const HZ: f64 = 30.0;

/// How service times scatter.
#[derive(Clone, Copy)]
enum Kind {
    Even,
    Spread,
    Repeating,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Even => "normal ± 0.5 ms",
            Kind::Spread => "lognormal σ 0.2",
            Kind::Repeating => "lognormal σ 0.2, φ 0.9",
        }
    }

    fn of_mean(self, mean_ms: f64) -> Service {
        // A lognormal mean is its median times exp(σ² ÷ 2).
        let median_ms = mean_ms * (-0.02f64).exp();
        match self {
            Kind::Even => normal(mean_ms, 0.5),
            Kind::Spread => lognormal(median_ms, 0.2),
            Kind::Repeating => Service::Repeating {
                median_ms,
                sigma: 0.2,
                phi: 0.9,
            },
        }
    }
}

fn row(cell: &str, world: &World, demand: f64, seeds: u64) -> Row {
    let told = |seed: &u64| {
        let findings = world.summary(*seed).run.findings;
        findings.iter().any(|finding| finding.code == "overload")
    };
    let told = (0..seeds).filter(told).count() as u64;
    if demand > 1.0 {
        Row::new(
            PART,
            cell,
            "`overload` found",
            (told, seeds),
            Promise::AtLeast(0.80),
        )
    } else {
        Row::new(
            PART,
            cell,
            "`overload` where all can be served",
            (told, seeds),
            Promise::AtMost(0.01),
        )
    }
}
