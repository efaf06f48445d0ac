//! What a run gives after how long: how often a quantile has an interval, how wide it is, and how often it holds the true one, for
//! frames that depend on each other in the ways that machines and queues make them.
//!
//! Two kinds of promise follow: coverage, and precision. A run that is twenty correlation times long has a p50; one that has ten times
//! the frames that independent ones need for p99 has a p99, unless they come in so few bursts that nothing could be said of it.

use jetlag::scenario::Arrival;
use jetlag::units::Nanos;

use crate::Cell;
use crate::table::{Promise, Row};
use crate::world::{Course, Service, Side, World, bimodal, lognormal, periodic, quantile_ms};

pub(crate) const PART: &str = "precision";
/// Frames of other runs that together are the truth, at least.
const TRUTH: u64 = 2_000_000;
const QUANTILES: [(&str, f64); 3] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)];

/// One way in which frames depend on each other.
struct Kind {
    name: &'static str,
    service: fn(f64) -> Service,
    /// Times over which the machine or the queue remembers.
    memory: fn(f64) -> Memory,
    /// Mean service time as a share of the time between two releases; as it comes where that is 0.
    load: f64,
    poisson: bool,
}

/// How long it remembers.
#[derive(Clone, Copy)]
enum Memory {
    /// Not at all, or for so many seconds.
    Seconds(f64),
    /// It comes in states, of which a run meets so few that it cannot know them: nothing is promised.
    Rare,
}

const MACHINE: f64 = 3.4;

fn kinds() -> Vec<Kind> {
    let none = |_| Memory::Seconds(0.0);
    // A queue relaxes within some 2σ²/d² frames: see `analysis::waiting`.
    fn queue(load: f64, variance: f64, hz: f64) -> Memory {
        Memory::Seconds(2.0 * variance / (1.0 - load).powi(2) / hz)
    }
    vec![
        Kind {
            name: "independent, lognormal σ 0.2",
            service: |_| lognormal(MACHINE, 0.2),
            memory: none,
            load: 0.0,
            poisson: false,
        },
        Kind {
            name: "independent, lognormal σ 0.6",
            service: |_| lognormal(2.0, 0.6),
            memory: none,
            load: 0.0,
            poisson: false,
        },
        Kind {
            name: "independent, bimodal",
            service: |_| bimodal(MACHINE, 7.0, 0.05),
            memory: none,
            load: 0.0,
            poisson: false,
        },
        Kind {
            name: "AR 0.4",
            service: |hz| remembering(0.4, hz),
            memory: none,
            load: 0.0,
            poisson: false,
        },
        Kind {
            name: "AR 0.9",
            service: |hz| remembering(0.9, hz),
            memory: |hz| Memory::Seconds(9.5 / hz),
            load: 0.0,
            poisson: false,
        },
        Kind {
            name: "AR 0.97",
            service: |hz| remembering(0.97, hz),
            memory: |hz| Memory::Seconds(33.0 / hz),
            load: 0.0,
            poisson: false,
        },
        Kind {
            name: "wanders over 1 s",
            service: |hz| wandering(1.0, hz),
            memory: |_| Memory::Seconds(1.0),
            load: 0.0,
            poisson: false,
        },
        Kind {
            name: "wanders over 3 s",
            service: |hz| wandering(3.0, hz),
            memory: |_| Memory::Seconds(3.0),
            load: 0.0,
            poisson: false,
        },
        Kind {
            name: "wanders over 10 s",
            service: |hz| wandering(10.0, hz),
            memory: |_| Memory::Seconds(10.0),
            load: 0.0,
            poisson: false,
        },
        Kind {
            name: "slow for 0.6 s, a tenth of the time",
            service: |hz| states(0.6, hz),
            memory: |_| Memory::Rare,
            load: 0.0,
            poisson: false,
        },
        Kind {
            name: "D/G/1 0.5, σ 0.5",
            service: |_| lognormal(1.0, 0.5),
            memory: none,
            load: 0.5,
            poisson: false,
        },
        Kind {
            name: "D/G/1 0.85, σ 0.5",
            service: |_| lognormal(1.0, 0.5),
            memory: |hz| queue(0.85, 0.2, hz),
            load: 0.85,
            poisson: false,
        },
        Kind {
            name: "D/G/1 0.95, σ 0.5",
            service: |_| lognormal(1.0, 0.5),
            memory: |hz| queue(0.95, 0.26, hz),
            load: 0.95,
            poisson: false,
        },
        Kind {
            name: "M/G/1 0.5, σ 0.5",
            service: |_| lognormal(1.0, 0.5),
            memory: |hz| queue(0.5, 1.07, hz),
            load: 0.5,
            poisson: true,
        },
        Kind {
            name: "M/G/1 0.7, σ 0.5",
            service: |_| lognormal(1.0, 0.5),
            memory: |hz| queue(0.7, 1.14, hz),
            load: 0.7,
            poisson: true,
        },
        Kind {
            name: "M/G/1 0.85, σ 0.5",
            service: |_| lognormal(1.0, 0.5),
            memory: |hz| queue(0.85, 1.2, hz),
            load: 0.85,
            poisson: true,
        },
    ]
}

fn remembering(phi: f64, _hz: f64) -> Service {
    Service::Repeating {
        median_ms: MACHINE,
        sigma: 0.2,
        phi,
    }
}

/// Half of the variance is the machine's, which forgets in so many seconds; the frames' own is the other half.
fn wandering(seconds: f64, hz: f64) -> Service {
    Service::Along(Course::Wander {
        median_ms: MACHINE,
        sigma: 0.12,
        keep: f64::exp(-1.0 / (seconds * hz)),
    })
}

fn states(seconds: f64, hz: f64) -> Service {
    Service::Along(Course::States {
        fast_ms: MACHINE,
        slow_ms: 1.4 * MACHINE,
        sigma: 0.05,
        share: 0.1,
        frames: seconds * hz,
    })
}

pub(crate) fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for kind in kinds() {
        for (hz, seconds) in [
            (30.0, 20),
            (100.0, 20),
            (30.0, 60),
            (100.0, 60),
            (30.0, 600),
            (100.0, 600),
        ] {
            let (world, memory, name) = (world(&kind, hz, seconds), (kind.memory)(hz), kind.name);
            cells.push(Cell {
                part: PART,
                rows: Box::new(move |seeds| rows(name, &world, (hz, seconds), memory, seeds)),
            });
        }
    }
    cells
}

fn world(kind: &Kind, hz: f64, seconds: i64) -> World {
    let arrival = match kind.poisson {
        true => Arrival::Poisson { hz },
        false => periodic(hz, 0.0, 0.0),
    };
    let service = match (kind.service)(hz) {
        // The mean of a lognormal of σ 0.5 is 1.133 medians.
        Service::Drawn(_) if kind.load > 0.0 => lognormal(kind.load * 1e3 / hz / 1.133, 0.5),
        other => other,
    };
    World::of_one(arrival, service, seconds)
}

fn rows(
    name: &'static str,
    world: &World,
    (hz, seconds): (f64, i64),
    memory: Memory,
    seeds: u64,
) -> Vec<Row> {
    let frames = hz * seconds as f64;
    let runs = (TRUTH as f64 / frames).ceil() as u64;
    let all = world.responses(0, Side::Measured, runs.min(600));
    let truth = QUANTILES.map(|(_, share)| quantile_ms(&all, share));
    let (mut given, mut held, mut widths) = ([0; 3], [0; 3], [const { Vec::new() }; 3]);
    for seed in 0..seeds {
        let of = world.summary(seed).tenants[0].response_ms;
        let intervals = [of.p50, of.p90, of.p99].map(|quantile| quantile.ci95);
        for (which, interval) in intervals.into_iter().enumerate() {
            let Some([low, high]) = interval else { continue };
            given[which] += 1;
            held[which] += u64::from(low <= truth[which] && truth[which] <= high);
            widths[which].push((high - low) / 2.0 / truth[which]);
        }
    }
    let times = match memory {
        Memory::Seconds(memory) => seconds as f64 / memory,
        Memory::Rare => 0.0,
    };
    let cell = format!("{name}; {hz} Hz, {}", Nanos::from_secs(seconds));
    let mut rows = Vec::new();
    for (which, (quantile, share)) in QUANTILES.into_iter().enumerate() {
        widths[which].sort_by(f64::total_cmp);
        let width = widths[which].get(widths[which].len() / 2).copied();
        let promise = match times >= 20.0 {
            true => Promise::AtLeast(0.92),
            false => Promise::Nothing,
        };
        let counts = (held[which], given[which]);
        rows.push(
            Row::new(
                PART,
                &cell,
                format!("{quantile} holds the true one"),
                counts,
                promise,
            )
            .width(width),
        );
        let ten_times = frames * (1.0 - share) >= 66.0;
        // What is beyond p99 comes in bursts of the memory's length.
        let bursts = times * (1.0 - share) * 10.0;
        let promise = match quantile {
            "p50" if times >= 20.0 => Promise::AtLeast(0.95),
            "p99" if ten_times && bursts >= 10.0 => Promise::AtLeast(0.8),
            _ => Promise::Nothing,
        };
        rows.push(Row::new(
            PART,
            &cell,
            format!("{quantile} is given"),
            (given[which], seeds),
            promise,
        ));
    }
    rows
}
