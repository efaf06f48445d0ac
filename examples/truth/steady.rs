//! Are drifts, shifts and warm-ups that went on found where they are, and not found where nothing changes?

use jetlag::analysis::Summary;
use jetlag::record::{Event, FrameRecord};
use jetlag::scenario::Arrival;
use jetlag::units::{Nanos, Stamp};

use crate::Cell;
use crate::quantiles;
use crate::table::{Promise, Row};
use crate::world::{Course, Service, World, lognormal, periodic, summarized};

const PART: &str = "steady";

pub(crate) fn cells() -> Vec<Cell> {
    let quiet = quantiles::kinds().into_iter().chain(heavy_queues());
    let quiet = quiet.map(|(name, world)| Cell {
        part: PART,
        rows: Box::new(move |seeds| nothing_changes(&name, &world, seeds)),
    });
    let changes = [Change::Shift, Change::Drift, Change::Settling];
    let changed = changes.into_iter().map(|change| Cell {
        part: PART,
        rows: Box::new(move |seeds| it_changes(change, seeds)),
    });
    quiet.chain(changed).collect()
}

/// Queues whose rare long frames hold up many others: backlogs that come and go by chance.
fn heavy_queues() -> impl Iterator<Item = (String, World)> {
    let mut kinds = Vec::new();
    for (hz, seconds) in [(30.0, 20), (10.0, 60), (100.0, 60)] {
        for (alpha, load) in [(2.2, 0.5), (2.2, 0.7), (3.0, 0.5), (3.0, 0.7)] {
            let service = || {
                Service::Along(Course::Pareto {
                    mean_ms: load * 1e3 / hz,
                    alpha,
                })
            };
            for (arrivals, arrival) in [("M", Arrival::Poisson { hz }), ("D", periodic(hz, 0.0, 0.0))] {
                let name = format!("{arrivals}/Pareto(α {alpha}) at load {load}, {hz} Hz, {seconds} s");
                kinds.push((name, World::of_one(arrival, service(), seconds)));
            }
        }
    }
    kinds.into_iter()
}

fn raised(summary: &Summary, code: &str) -> bool {
    summary.run.findings.iter().any(|finding| finding.code == code)
}

fn nothing_changes(name: &str, world: &World, seeds: u64) -> Vec<Row> {
    let codes = ["latency-shift", "not-settled", "drift", "impossible-stamps"];
    let mut alarms = [0; 4];
    for seed in 0..seeds {
        let summary = world.summary(seed);
        for (alarms, code) in alarms.iter_mut().zip(codes) {
            *alarms += u64::from(raised(&summary, code));
        }
    }
    let row = |(code, alarms)| {
        Row::new(
            PART,
            name,
            format!("`{code}` where nothing changes"),
            (alarms, seeds),
            Promise::AtMost(0.01),
        )
    };
    codes.into_iter().zip(alarms).map(row).collect()
}

/// What becomes of the response times.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// A tenth slower from the middle on.
    Shift,
    /// A fifth slower in the end, little by little.
    Drift,
    /// A fifth slower for the first 5 s of 60.
    Settling,
}

impl Change {
    fn code(self) -> &'static str {
        match self {
            Change::Shift => "latency-shift",
            Change::Drift => "drift",
            Change::Settling => "not-settled",
        }
    }

    /// By which factor a frame is slower that was released at this share of the measured time.
    fn factor(self, share: f64) -> f64 {
        match self {
            Change::Shift if share >= 0.5 => 1.1,
            Change::Settling if share < 1.0 / 12.0 => 1.2,
            Change::Drift => 1.0 + 0.2 * share,
            Change::Shift | Change::Settling => 1.0,
        }
    }
}

fn it_changes(change: Change, seeds: u64) -> Vec<Row> {
    let world = World::of_one(periodic(30.0, 0.0, 0.0), lognormal(9.0, 0.15), 60);
    let (mut found, mut right_way) = (0, 0);
    for seed in 0..seeds {
        let mut events = world.events(seed);
        for event in &mut events {
            if let Event::Frame(frame) = event {
                slow_down(frame, change, world.seconds);
            }
        }
        let summary = summarized(&world.manifest(), &events);
        found += u64::from(raised(&summary, change.code()));
        let steady = &summary.tenants[0].predictability.steady;
        right_way += u64::from(match change {
            Change::Shift => steady.shifts.iter().all(|shift| shift.change > 0.0),
            Change::Drift => steady.drift.is_none_or(|drift| drift >= 0.0),
            Change::Settling => steady.settling.is_none_or(|settling| settling >= 0.0),
        });
    }
    let cell = format!("independent, 30 Hz, 60 s, {change:?}");
    vec![
        Row::new(
            PART,
            &cell,
            format!("`{}` found", change.code()),
            (found, seeds),
            Promise::AtLeast(0.80),
        ),
        Row::new(
            PART,
            &cell,
            "its direction right",
            (right_way, seeds),
            Promise::AtLeast(0.99),
        ),
    ]
}

fn slow_down(frame: &mut FrameRecord, change: Change, seconds: i64) {
    let since: Nanos = frame.released - (Stamp(0) + Nanos::from_secs(5));
    let share = since.as_secs_f64() / seconds as f64;
    let longer = frame.service().0 as f64 * change.factor(share);
    frame.finished = frame.started + Nanos(longer as i64);
}
