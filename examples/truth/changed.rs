//! Does the interval of what `--what-if` predicts hold what the change does when it is really made?
//!
//! A program is made up: a host that prepares a batch and launches kernels one by one, and a device that runs them in order. It is traced,
//! by a tracer that makes every call up to a third longer (frames on an H200 were up to a fifth longer); changed, and run again. Each time that it is started, its host and its device are another
//! bit faster or slower. Without its preparation its launches are up to a fifth quicker, as was seen on a GPU. The plant that the
//! analysis itself is tested with (`analysis::what_if`) has the model's own rules; this one shares no code with it.

use std::collections::BTreeMap;

use jetlag::analysis::critical::Member;
use jetlag::analysis::traced::TracedPhase;
use jetlag::analysis::what_if::{Untraced, parse, pool, what_if};
use jetlag::record::activity::{Interface, OnStream, Owner, WaitKind, Work};
use jetlag::record::{Activity, Definition, FrameRecord, Phase, PhaseSpec, Stage, TraceRecord};
use jetlag::units::{Nanos, Stamp};
use rand_distr::{Distribution, LogNormal, Uniform};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;

use crate::Cell;
use crate::table::{Promise, Row};

const PART: &str = "changed";
const TENANT: &str = "app";
const FRAMES: u64 = 60;
/// Traces that are put together.
const TRACES: u64 = 3;

/// How far from an interval a change counts as held, as a share of the frame: kernels behind slow launches change less than that.
const TOLERANCE: f64 = 0.005;

/// The names of what it runs, which are layers and kernels alike; their place is their number.
const NAMES: [&str; 4] = ["body", "tail", "launch", "wait"];

/// A program: times in ns.
#[derive(Clone)]
struct Program {
    prepares: f64,
    launch: f64,
    /// The part of each kernel, by its place in [`NAMES`], and how long it takes.
    kernels: Vec<(u32, f64)>,
    is_prepared: bool,
}

impl Program {
    fn new(prepares: f64, launch: f64, kernel: f64, count: u32) -> Program {
        let part = |at| u32::from(at >= count * 2 / 3);
        Program {
            prepares,
            launch,
            kernels: (0..count).map(|at| (part(at), kernel)).collect(),
            is_prepared: true,
        }
    }
}

/// How fast a process is that was started, and how much longer its calls take.
#[derive(Clone, Copy)]
struct Started {
    host: f64,
    device: f64,
    calls: f64,
}

fn drawn(random: &mut Pcg64, deviation: f64) -> f64 {
    let factor = LogNormal::new(0.0, deviation).expect("a deviation");
    factor.sample(random)
}

fn between(random: &mut Pcg64, low: f64, high: f64) -> f64 {
    Uniform::new(low, high).expect("a range").sample(random)
}

/// Started again: traced, or not.
fn started(random: &mut Pcg64, is_traced: bool) -> Started {
    Started {
        host: drawn(random, 0.06),
        device: drawn(random, 0.02),
        calls: match is_traced {
            true => between(random, 1.05, 1.35),
            false => 1.0,
        },
    }
}

fn run(program: &Program, of: Started, frames: u64, random: &mut Pcg64) -> TracedPhase {
    let mut activities = Vec::new();
    let mut records = Vec::new();
    let mut noisy = |ns: f64| (ns * drawn(random, 0.05)) as i64;
    let on = OnStream {
        device: 0,
        context: 1,
        stream: 7,
    };
    let calls = of.host * of.calls;
    let (mut now, mut is_free, mut correlation) = (0i64, 0i64, 0u32);
    for frame in 0..frames {
        let owner = |layer| Owner {
            tenant: Some(0),
            frame: Some(frame),
            layer,
        };
        let mut push = |(from, to): (i64, i64), name: Option<u32>, layer, work| {
            activities.push(Activity {
                from: Stamp(from),
                to: Stamp(to),
                name,
                owner: owner(layer),
                work,
            });
        };
        let began = now;
        let prepared = match program.is_prepared {
            true => noisy(program.prepares * of.host),
            false => 0,
        };
        now += prepared;
        for &(part, took) in &program.kernels {
            correlation += 1;
            let called = now + noisy(program.launch * calls);
            let call = Work::Call {
                thread: 1,
                correlation,
                interface: Interface::Driver,
            };
            push((now, called), Some(2), Some(part), call);
            let from = (called + 3_000).max(is_free + 900);
            is_free = from + noisy(took * of.device);
            let kernel = Work::Kernel {
                on,
                correlation,
                graph: 0,
            };
            push((from, is_free), Some(part), Some(part), kernel);
            now = called + noisy(2_000.0 * calls);
        }
        correlation += 1;
        let left = (is_free + noisy(20_000.0 * of.host)).max(now + 1_500);
        let call = Work::Call {
            thread: 1,
            correlation,
            interface: Interface::Driver,
        };
        let wait = Work::Wait {
            on,
            correlation,
            how: WaitKind::Stream,
            event: 0,
        };
        push((now, left), Some(3), None, call);
        push((now, left), None, None, wait);
        now = left + noisy(30_000.0 * of.host);
        let mut stages = [None; 9];
        stages[Stage::Preprocess as usize] = (prepared > 0).then_some(Nanos(prepared));
        records.push(FrameRecord {
            phase: Phase::Other(1),
            sequence: frame,
            stages,
            ..FrameRecord::completed(Stamp(began), Stamp(now))
        });
        now += 2_000;
    }
    activities.sort_by_key(|activity: &Activity| (activity.from, activity.to));
    TracedPhase {
        spec: PhaseSpec {
            at: Stamp(0),
            phase: Phase::Other(1),
            label: TENANT.to_owned(),
            sharing: "Streams".to_owned(),
            members: vec![0],
            traced: true,
            ..PhaseSpec::default()
        },
        traces: vec![TraceRecord {
            calls: true,
            graph_nodes: true,
            ..TraceRecord::default()
        }],
        processes: BTreeMap::from([(7, activities)]),
        frames: records,
    }
}

fn median_ms(phase: &TracedPhase) -> f64 {
    let mut times: Vec<i64> = phase.frames.iter().map(|frame| frame.response().0).collect();
    times.sort_unstable();
    times[times.len() / 2] as f64 / 1e6
}

/// A change in the words of `--what-if`, and the program that has it.
#[derive(Clone, Copy)]
struct Change {
    line: &'static str,
    made: fn(&mut Program),
    /// Whether launches are quicker then.
    of_host: bool,
}

const CHANGES: [Change; 3] = [
    Change {
        line: "kernel \"body\" x0.5",
        made: |program| {
            let body = program.kernels.iter_mut().filter(|(part, _)| *part == 0);
            body.for_each(|(_, took)| *took /= 2.0);
        },
        of_host: false,
    },
    Change {
        line: "layer \"tail\" x0",
        made: |program| program.kernels.retain(|(part, _)| *part == 0),
        of_host: false,
    },
    Change {
        line: "preprocess x0",
        made: |program| program.is_prepared = false,
        of_host: true,
    },
];

pub(crate) fn cells() -> Vec<Cell> {
    let programs = [
        ("device at work", Program::new(400e3, 7e3, 90e3, 12)),
        ("launch by launch", Program::new(400e3, 25e3, 8e3, 30)),
    ];
    let mut cells = Vec::new();
    for (name, program) in programs {
        for change in CHANGES {
            let program = program.clone();
            cells.push(Cell {
                part: PART,
                rows: Box::new(move |seeds| rows(name, &program, change, seeds)),
            });
        }
    }
    cells
}

fn rows(name: &str, program: &Program, change: Change, seeds: u64) -> Vec<Row> {
    let names: BTreeMap<u32, Definition> = (0u32..)
        .zip(NAMES)
        .map(|(number, text)| {
            let text = text.to_owned();
            let launch = None;
            (number, Definition { number, text, launch })
        })
        .collect();
    let members = [Member {
        name: TENANT.to_owned(),
        depth: 1,
        closed: true,
    }];
    let line = [parse(&format!("{TENANT}: {}", change.line), &[TENANT]).expect("a change")];
    let mut changed = program.clone();
    (change.made)(&mut changed);
    let ways = [
        "one trace",
        "a trace, untraced frames",
        "three traces, untraced frames",
    ];
    let mut counts = ways.map(|_| (0u64, 0u64, Vec::new()));
    for seed in 0..seeds {
        let mut random = Pcg64::seed_from_u64(seed);
        if change.of_host {
            changed.launch = program.launch * between(&mut random, 0.8, 1.0);
        }
        let same = started(&mut random, false);
        let [was, is] = [program, &changed].map(|program| median_ms(&run(program, same, 300, &mut random)));
        let truth = is / was - 1.0;
        let mut beside = Untraced::default();
        let other = started(&mut random, false);
        let untraced = run(program, other, FRAMES, &mut random);
        untraced.frames.iter().for_each(|frame| beside.push(frame));
        let beside = [beside.of_another_run()];
        let traces: Vec<TracedPhase> = (0..TRACES)
            .map(|_| {
                let of = started(&mut random, true);
                run(program, of, FRAMES, &mut random)
            })
            .collect();
        let predict = |trace: &TracedPhase, beside: &[Untraced]| {
            what_if(trace, &names, &members, &line, beside).expect("a change of this trace")
        };
        let alone = predict(&traces[0], &[]);
        let mut each: Vec<_> = traces.iter().map(|trace| predict(trace, &beside)).collect();
        let one = each[0].clone();
        pool(&mut each.iter_mut().collect::<Vec<_>>());
        for ((held, given, widths), found) in counts.iter_mut().zip([&alone, &one, &each[0]]) {
            let Some([low, high]) = found.tenants[0].response.change_ci95 else {
                continue;
            };
            *given += 1;
            *held += u64::from(low - TOLERANCE <= truth && truth <= high + TOLERANCE);
            widths.push((high - low) / 2.0 / truth.abs());
        }
    }
    ways.into_iter()
        .zip(counts)
        .map(|(way, (held, given, mut widths))| {
            widths.sort_by(f64::total_cmp);
            Row::new(
                PART,
                format!("{name}, {}, {way}", change.line),
                "95 % interval of a predicted change holds it",
                (held, given),
                Promise::AtLeast(0.9),
            )
            .width(widths.get(widths.len() / 2).copied())
        })
        .collect()
}
