//! Does the interval of an energy hold the true one?
//!
//! Power is known at every moment; sensors read it as boards do: rounded to their step, averaged or at once, with gaps.

use jetlag::record::{Averaging, Event, Measurand, Part, Quantity, RailRole, SampleRecord, SignalRecord};
use jetlag::units::{Nanos, Stamp};
use rand_distr::{Distribution, Exp, Uniform};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;

use crate::Cell;
use crate::table::{Promise, Row};
use crate::world::{World, normal, periodic, summarized};

const PART: &str = "energy";
/// Of the run: warm-up, measured time and a second more.
const SECONDS: f64 = 66.0;
const FROM: f64 = 5.0;
const TO: f64 = 65.0;
/// Half of an interval, as a share of the energy: errors are some tenths of a percent.
const NARROW: f64 = 0.02;

/// How power changes over time.
#[derive(Clone, Copy, Debug)]
enum Load {
    /// 4 W, and 14 W for a share of each period that no two runs begin at the same moment.
    Square { period_s: f64 },
    /// 4 W, and 14 W in bursts of random length after pauses of random length.
    Bursts { mean_s: f64 },
    /// 4 W, and 14 W for 5 s that begin 20 s after the measured time did.
    Once,
    /// 4 W, and 14 W from a moment of the measured time on.
    Step,
}

/// How it is read.
#[derive(Clone, Copy, Debug)]
struct Sensor {
    rails: usize,
    every_s: f64,
    /// A reading is the power of its moment, and not the mean since the one before.
    instant: bool,
    /// It is read at a random moment of each period, so that no load is in step with the readings.
    anywhere: bool,
    step_mw: Option<f64>,
    /// No reading from this second of the measured time on, for so long.
    gap: Option<(f64, f64)>,
    /// From the middle of the measured time on it is read so seldom.
    later_every_s: Option<f64>,
}

const SENSOR: Sensor = Sensor {
    rails: 1,
    every_s: 0.1,
    instant: false,
    anywhere: false,
    step_mw: Some(40.0),
    gap: None,
    later_every_s: None,
};

pub(crate) fn cells() -> Vec<Cell> {
    let bursts = Load::Bursts { mean_s: 0.5 };
    let square = Load::Square { period_s: 0.73 };
    let instant = Sensor {
        instant: true,
        ..SENSOR
    };
    let anywhere = Sensor {
        anywhere: true,
        ..instant
    };
    let kinds = [
        ("one rail, square wave", square, SENSOR),
        ("one rail, bursts", bursts, SENSOR),
        (
            "three rails of one load, bursts",
            bursts,
            Sensor { rails: 3, ..SENSOR },
        ),
        (
            "step unknown, bursts",
            bursts,
            Sensor {
                step_mw: None,
                ..SENSOR
            },
        ),
        ("read at once, square wave", square, instant),
        (
            "read at once, square wave of 30 Hz",
            Load::Square { period_s: 1.0 / 30.0 },
            instant,
        ),
        (
            "read at once at random moments, square wave of 30 Hz",
            Load::Square { period_s: 1.0 / 30.0 },
            anywhere,
        ),
        ("read at once at random moments, bursts", bursts, anywhere),
        (
            "read at once, short bursts",
            Load::Bursts { mean_s: 0.15 },
            instant,
        ),
        (
            "three rails of one load, read at once at random moments, short bursts",
            Load::Bursts { mean_s: 0.15 },
            Sensor { rails: 3, ..anywhere },
        ),
        (
            "a gap of 5 s that hides all there was",
            Load::Once,
            Sensor {
                gap: Some((20.0, 5.0)),
                ..SENSOR
            },
        ),
        (
            "gap of 5 s, bursts",
            bursts,
            Sensor {
                gap: Some((20.0, 5.0)),
                ..SENSOR
            },
        ),
        (
            "read ten times more seldom from the middle on, bursts",
            bursts,
            Sensor {
                later_every_s: Some(1.0),
                ..SENSOR
            },
        ),
        ("long bursts of 5 s", Load::Bursts { mean_s: 5.0 }, SENSOR),
        ("a step", Load::Step, SENSOR),
    ];
    kinds
        .into_iter()
        .map(|(name, load, sensor)| Cell {
            part: PART,
            rows: Box::new(move |seeds| rows(name, load, sensor, seeds)),
        })
        .collect()
}

/// When power is high, in seconds: disjoint and in order.
fn high(load: Load, random: &mut Pcg64) -> Vec<(f64, f64)> {
    let mut spans = Vec::new();
    match load {
        Load::Square { period_s } => {
            let phase = Uniform::new(0.0, period_s).expect("a period").sample(random);
            let mut at = phase - period_s;
            while at < SECONDS {
                spans.push((at, at + 0.4 * period_s));
                at += period_s;
            }
        }
        Load::Once => spans.push((FROM + 20.0, FROM + 25.0)),
        Load::Step => {
            let begin = Uniform::new(FROM + 5.0, TO - 5.0).expect("a time").sample(random);
            spans.push((begin, SECONDS));
        }
        Load::Bursts { mean_s } => {
            let length = Exp::new(1.0 / mean_s).expect("a mean");
            let mut at = -length.sample(random);
            while at < SECONDS {
                let pause = at + length.sample(random);
                let end = pause + length.sample(random);
                spans.push((pause, end));
                at = end;
            }
        }
    }
    spans
}

/// Mean power in milliwatts from one moment to another.
fn mean_mw(spans: &[(f64, f64)], from: f64, to: f64) -> f64 {
    let met: f64 = spans
        .iter()
        .map(|&(begin, end)| (end.min(to) - begin.max(from)).max(0.0))
        .sum();
    4_000.0 + 10_000.0 * met / (to - from)
}

fn rows(name: &str, load: Load, sensor: Sensor, seeds: u64) -> Vec<Row> {
    let world = World::of_one(periodic(30.0, 0.0, 0.0), normal(9.0, 1.0), 60);
    let manifest = world.manifest();
    let (mut held, mut printed, mut narrow) = (0, 0, 0);
    for seed in 0..seeds {
        let mut random = Pcg64::seed_from_u64(seed);
        let spans = high(load, &mut random);
        let mut events = world.events(seed);
        let begun = random.clone();
        for rail in 0..sensor.rails {
            // One thread reads all rails at the same moments.
            events.extend(readings(&spans, sensor, rail, &mut begun.clone()));
        }
        let truth = mean_mw(&spans, FROM, TO) * (TO - FROM);
        let summary = summarized(&manifest, &events);
        let Some([low, high]) = summary.energy.and_then(|energy| energy.ci95_mj) else {
            continue;
        };
        printed += 1;
        held += u64::from(low <= truth && truth <= high);
        narrow += u64::from((high - low) / 2.0 <= NARROW * truth);
    }
    let mut rows = vec![Row::new(
        PART,
        format!("{name}, 60 s"),
        "95 % interval of the energy holds it",
        (held, printed),
        Promise::AtLeast(0.93),
    )];
    // A load that changes is no error of what was measured all the time.
    if !sensor.instant && sensor.later_every_s.is_none() && sensor.gap.is_none() {
        rows.push(Row::new(
            PART,
            format!("{name}, 60 s"),
            "half of that interval is below 2 %, where all time is measured",
            (narrow, printed),
            Promise::AtLeast(0.95),
        ));
    }
    rows
}

/// What one of the rails, which share the load equally, is read as: each reading is the mean since the one before.
fn readings(spans: &[(f64, f64)], sensor: Sensor, rail: usize, random: &mut Pcg64) -> Vec<Event> {
    let signal = format!("RAIL_{rail}");
    let mut events = vec![Event::Signal(SignalRecord {
        source: "ina3221".to_owned(),
        signal: signal.clone(),
        unit: "mw".to_owned(),
        measurand: Measurand::new(Quantity::Power, Part::Board),
        origin: "simulated".to_owned(),
        period: Some(Nanos((sensor.every_s * 1e9) as i64)),
        refresh: Some(Nanos((sensor.every_s * 1e9) as i64)),
        averaging: match sensor.instant {
            true => Averaging::Instant,
            false => Averaging::Mean,
        },
        window: (!sensor.instant).then_some(Nanos((sensor.every_s * 1e9) as i64)),
        step: sensor.step_mw,
        role: match sensor.rails {
            1 => RailRole::Total,
            _ => RailRole::Summand,
        },
        within: None,
    })];
    let (mut at, mut every) = (sensor.every_s, sensor.every_s);
    while at < SECONDS {
        let due = at;
        if sensor.anywhere {
            at -= Uniform::new(0.0, every).expect("a period").sample(random);
        }
        let since = at - FROM;
        let in_gap = sensor
            .gap
            .is_some_and(|(from, length)| from <= since && since < from + length);
        if !in_gap {
            // A microsecond is a moment.
            let since = if sensor.instant { at - 1e-6 } else { at - every };
            let mw = mean_mw(spans, since, at) / sensor.rails as f64;
            let value = match sensor.step_mw {
                Some(step) => (mw / step).round() * step,
                None => mw.round(),
            };
            events.push(Event::Sample(SampleRecord {
                at: Stamp((at * 1e9) as i64),
                source: "ina3221".to_owned(),
                signal: signal.clone(),
                value: Some(value),
                unit: "mw".to_owned(),
            }));
        }
        if let Some(later) = sensor.later_every_s
            && since >= (TO - FROM) / 2.0
        {
            every = later;
        }
        at = due + every;
    }
    events
}
