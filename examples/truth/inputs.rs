//! Is what larger inputs cost told as it is, and nothing laid to size where something else costs the time?

use jetlag::analysis::Summary;
use jetlag::analysis::summary::input_effect::{InputEffect, SizeSlope};
use jetlag::record::Manifest;
use jetlag::scenario::{Arrival, Sensor, SourceSpec};
use jetlag::units::Nanos;

use crate::Cell;
use crate::drive::{Course, Drive, Noise};
use crate::table::{Promise, Row};
use crate::world::{World, normal, summarized};

const PART: &str = "inputs";

pub(crate) fn cells() -> Vec<Cell> {
    let drives = [0.0, COST].into_iter().flat_map(|cost| {
        kinds().into_iter().map(move |(name, found, drive)| Cell {
            part: PART,
            rows: Box::new(move |seeds| {
                let per_1000 = cost * drive.service;
                rows(
                    name,
                    found,
                    &Drive {
                        per_1000,
                        ..drive.clone()
                    },
                    seeds,
                )
            }),
        })
    });
    let withheld = nothing_to_tell().into_iter().map(|(name, drive)| Cell {
        part: PART,
        rows: Box::new(move |seeds| never_told(name, &drive, seeds)),
    });
    drives.chain(withheld).collect()
}

/// What a thousand points cost, where they cost anything, as a share of the service: the usual spread of sizes then makes half of
/// the spread of usual frames.
const COST: f64 = 0.025;

/// Kinds of drives, and what else goes on in them; in which share of the runs that tell a slope it is found at least.
fn kinds() -> Vec<(&'static str, f64, Drive)> {
    let plain = Drive::PLAIN;
    let resembling = Drive {
        resemble: 0.95,
        noise: Noise::LogNormal(0.1, 0.8),
        ..plain.clone()
    };
    vec![
        ("independent sizes", 0.95, plain.clone()),
        (
            "sizes and times that resemble the ones before",
            0.9,
            resembling.clone(),
        ),
        (
            "the same for ten minutes, hardly changing sizes",
            0.95,
            Drive {
                resemble: 0.99,
                seconds: 600,
                ..resembling.clone()
            },
        ),
        (
            "20 s, resembling",
            0.5,
            Drive {
                seconds: 20,
                resemble: 0.9,
                noise: Noise::LogNormal(0.15, 0.7),
                ..plain.clone()
            },
        ),
        (
            "15 s",
            0.95,
            Drive {
                seconds: 15,
                ..plain.clone()
            },
        ),
        (
            "a queue at load 0.9",
            0.15,
            Drive {
                poisson: true,
                resemble: 0.95,
                service: 80.0,
                noise: Noise::LogNormal(0.45, 0.0),
                ..plain.clone()
            },
        ),
        (
            "a queue at load 0.9, independent sizes",
            0.7,
            Drive {
                poisson: true,
                service: 80.0,
                noise: Noise::LogNormal(0.45, 0.0),
                ..plain.clone()
            },
        ),
        (
            "the oldest dropped at demand 1.2",
            0.35,
            Drive {
                poisson: true,
                resemble: 0.9,
                service: 110.0,
                noise: Noise::LogNormal(0.4, 0.0),
                queue: Some(2),
                ..plain.clone()
            },
        ),
        (
            "heavy tails",
            0.1,
            Drive {
                resemble: 0.8,
                noise: Noise::LogNormal(0.8, 0.0),
                ..plain.clone()
            },
        ),
        (
            "stalls without a variance",
            0.8,
            Drive {
                resemble: 0.8,
                noise: Noise::Pareto(1.5),
                ..plain.clone()
            },
        ),
        (
            "skewed sizes, heavy tails",
            0.7,
            Drive {
                resemble: 0.6,
                skewed: true,
                noise: Noise::LogNormal(0.5, 0.0),
                ..plain.clone()
            },
        ),
        (
            "sizes and a clock drift",
            0.95,
            Drive {
                resemble: 0.9,
                sizes: Course::Ramp(5.0),
                slower: Course::Ramp(0.3),
                ..plain.clone()
            },
        ),
        (
            "sizes and a clock step at once",
            0.95,
            Drive {
                resemble: 0.9,
                sizes: Course::Step(4.0),
                slower: Course::Step(0.2),
                ..plain.clone()
            },
        ),
        (
            "sizes and a clock go up and down every 20 s",
            0.95,
            Drive {
                resemble: 0.9,
                seconds: 120,
                sizes: Course::Waves(2.0, 6.0),
                slower: Course::Waves(0.1, 6.0),
                ..plain.clone()
            },
        ),
        (
            "a co-runner that is busier where sizes are large",
            0.5,
            Drive {
                resemble: 0.9,
                sizes: Course::Ramp(5.0),
                beside: 0.5,
                ..plain.clone()
            },
        ),
        (
            "three laps over 200 sweeps whose contents cost",
            0.3,
            Drive {
                resemble: 0.9,
                lap: Some(200),
                content: (3.0, 0.7),
                ..plain.clone()
            },
        ),
        (
            "12 laps over 50 sweeps whose contents cost",
            0.3,
            Drive {
                resemble: 0.5,
                lap: Some(50),
                content: (3.0, 0.0),
                ..plain.clone()
            },
        ),
        (
            "a lap and a third, and a clock that drifts",
            0.5,
            Drive {
                resemble: 0.9,
                lap: Some(450),
                content: (3.0, 0.7),
                slower: Course::Ramp(0.3),
                ..plain
            },
        ),
    ]
}

/// Drives of which nothing can be told.
fn nothing_to_tell() -> Vec<(&'static str, Drive)> {
    let plain = Drive::PLAIN;
    vec![
        (
            "laps over 20 sweeps",
            Drive {
                lap: Some(20),
                content: (3.0, 0.0),
                ..plain.clone()
            },
        ),
        ("three seconds", Drive { seconds: 3, ..plain }),
    ]
}

/// The run of this seed, and its summary.
pub(crate) fn summary_of(drive: &Drive, seed: u64) -> (Manifest, Summary) {
    let arrival = Arrival::Periodic {
        hz: drive.hz,
        phase: Nanos::ZERO,
        jitter: Nanos::ZERO,
    };
    let mut manifest = World::of_one(arrival, normal(drive.service, 1.0), drive.seconds).manifest();
    if let Some(scenario) = manifest.scenario_mut() {
        scenario.tenants[0].source = SourceSpec::Synthetic {
            sensor: Sensor::Lidar,
            scenes: 1,
            seed: 1,
        };
    }
    let summary = summarized(&manifest, &drive.events(seed));
    (manifest, summary)
}

fn effect(drive: &Drive, seed: u64) -> Option<InputEffect> {
    summary_of(drive, seed).1.tenants.remove(0).input_effect
}

/// What was counted of one duration.
#[derive(Default)]
struct Tally {
    printed: u64,
    held: u64,
    called: u64,
}

impl Tally {
    fn note(&mut self, slope: Option<&SizeSlope>, truth: f64) {
        let Some(slope) = slope else { return };
        let Some([low, high]) = slope.ci95 else { return };
        self.printed += 1;
        self.held += u64::from(low <= truth && truth <= high);
        self.called += u64::from(slope.is_clear());
    }
}

fn rows(name: &str, found: f64, drive: &Drive, seeds: u64) -> Vec<Row> {
    let cost = drive.per_1000 * drive.mean_slower();
    // A sweep that resembles those before it waits for them: its response has more than its own cost.
    let waits = drive.waits() && drive.resemble > 0.0 && cost > 0.0;
    let parts = [
        ("service", cost),
        ("response", cost),
        ("preprocess", cost / 3.0),
        ("compute", 0.0),
        ("postprocess", cost * 2.0 / 3.0),
    ];
    let mut tallies: Vec<Tally> = parts.iter().map(|_| Tally::default()).collect();
    for seed in 0..seeds {
        let Some(effect) = effect(drive, seed) else {
            continue;
        };
        for (tally, (part, truth)) in tallies.iter_mut().zip(parts) {
            let slope = match part {
                "service" => effect.service.as_ref(),
                "response" => effect.response.as_ref(),
                stage => effect
                    .stages
                    .iter()
                    .find(|(name, _)| *name == stage)
                    .map(|(_, slope)| slope),
            };
            tally.note(slope, truth);
        }
    }
    let cell = format!(
        "{name}, {} ms + {} per 1000 points",
        drive.service, drive.per_1000
    );
    let row = |figure: String, hits, promise| Row::new(PART, &cell, figure, hits, promise);
    let mut rows = Vec::new();
    for (tally, (part, truth)) in tallies.iter().zip(parts) {
        if part == "response" && waits {
            continue;
        }
        let of = if ["service", "response"].contains(&part) {
            part
        } else {
            "a stage"
        };
        rows.push(row(
            format!("95 % interval of the slope of {of} holds it"),
            (tally.held, tally.printed),
            Promise::AtLeast(0.93),
        ));
        if truth == 0.0 {
            rows.push(row(
                format!("a slope of {of} where there is none"),
                (tally.called, tally.printed),
                Promise::AtMost(0.05),
            ));
        }
    }
    let service = &tallies[0];
    rows.push(row(
        "a slope of service is told".to_owned(),
        (service.printed, seeds),
        Promise::AtLeast(0.3),
    ));
    if cost > 0.0 {
        rows.push(row(
            "a slope of service is found, where told".to_owned(),
            (service.called, service.printed),
            Promise::AtLeast(found),
        ));
    }
    rows
}

fn never_told(name: &str, drive: &Drive, seeds: u64) -> Vec<Row> {
    let told = (0..seeds).filter(|&seed| {
        let effect = effect(drive, seed);
        effect.and_then(|effect| effect.service?.slope_ms).is_some()
    });
    let told = told.count() as u64;
    vec![Row::new(
        PART,
        name,
        "a slope where inputs are too few",
        (told, seeds),
        Promise::AtMost(0.0),
    )]
}
