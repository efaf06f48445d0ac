//! jetlag's own cost per frame on the null backend, the cost of one record, and how punctual releases are.
//!
//! `cargo bench --bench pipeline [-- own|lateness|record]`. Budgets: own cost p50 ≤ 5 µs, p99 ≤ 25 µs; a record ≤ 250 ns;
//! 99.9 % of releases at 100 Hz within 200 µs (sleep) or 50 µs (spin) on a quiet core. A plain program and
//! not a divan benchmark, because the quantiles of single frames are the result.
#![allow(clippy::print_stdout, reason = "a benchmark reports on stdout")]

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;

use jetlag::backend::null::NullBackend;
use jetlag::backend::{Backend, Program};
use jetlag::clock::{Clock, RealClock};
use jetlag::record::{DetectionsRecord, FrameRecord, Phase};
use jetlag::scenario::{Arrival, Overload, Release, Sharing};
use jetlag::source::empty::EmptySource;
use jetlag::tenant::recording;
use jetlag::tenant::{PhasePlan, pipeline::Runner};
use jetlag::units::Nanos;

struct Kept(Vec<FrameRecord>);

impl recording::FeedSink for Kept {
    fn frame(&mut self, record: &FrameRecord) {
        self.0.push(*record);
    }
    fn detections(&mut self, _: &DetectionsRecord) {}
}

fn run(arrival: Arrival, waiting: Release, depth: usize, frames: u64) -> Vec<FrameRecord> {
    let slots = NullBackend
        .open(&Program::default(), depth)
        .expect("the null backend always opens")
        .slots;
    let mut runner = Runner {
        tenant: 0,
        name: "null".to_owned(),
        source: Box::new(EmptySource::default()),
        preprocess: None,
        postprocess: None,
        slots,
        batching: None,
        failed: None,
        watched: Default::default(),
        gate: None,
        marks: None,
        arrival,
        overload: Overload::Queue { capacity: 1000 },
        deadline: None,
        frames: Some(frames),
        cpus: Vec::new(),
        waiting,
        seed: 1,
        lacks: None,
        late: Default::default(),
        outputs: None,
        with_outputs: Vec::new(),
    };
    let clock = RealClock;
    let epoch = clock.now() + Nanos::from_millis(1);
    let plan = PhasePlan {
        phase: Phase::Together,
        drawn_as: Phase::Together,
        traced: false,
        sharing: Sharing::Streams,
        epoch,
        measured_from: epoch,
        end: epoch + Nanos::from_secs(600),
    };
    let (mut front, mut front_feed) = recording::channel(0, false);
    let (mut back, mut back_feed) = recording::channel(0, false);
    let (notes, _kept) = channel();
    let stop = AtomicBool::new(false);
    runner.run(plan, &clock, &stop, &mut front, &mut back, &notes);
    let mut kept = Kept(Vec::new());
    front_feed.drain(&mut kept);
    back_feed.drain(&mut kept);
    kept.0
}

fn quantile(sorted: &[i64], q: f64) -> f64 {
    sorted[((sorted.len() as f64 * q).ceil() as usize).clamp(1, sorted.len()) - 1] as f64 / 1e3
}

fn show(what: &str, values: impl Iterator<Item = i64>) {
    let mut sorted: Vec<i64> = values.collect();
    sorted.sort_unstable();
    println!(
        "{what:44} n {:6}  p50 {:8.2} µs  p99 {:8.2} µs  p99.9 {:8.2} µs",
        sorted.len(),
        quantile(&sorted, 0.5),
        quantile(&sorted, 0.99),
        quantile(&sorted, 0.999)
    );
}

fn main() {
    // Cargo passes --bench and filters.
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .collect();
    let wanted = |part: &str| words.is_empty() || words.iter().any(|word| part.contains(word.as_str()));
    if wanted("own") {
        own_cost();
    }
    if wanted("lateness") {
        lateness();
    }
    if wanted("record") {
        one_record();
    }
}

fn own_cost() {
    for depth in [1, 2] {
        let records = run(Arrival::Closed, Release::Sleep, depth, 8_000);
        show(
            &format!("own cost, closed loop, depth {depth}"),
            records.iter().skip(1_000).map(|r| r.response().0),
        );
    }
}

fn lateness() {
    for (name, waiting) in [("sleep", Release::Sleep), ("spin", Release::Spin)] {
        let arrival = Arrival::Periodic {
            hz: 100.0,
            phase: Nanos::ZERO,
            jitter: Nanos::ZERO,
        };
        let records = run(arrival, waiting, 1, 2_000);
        show(
            &format!("lateness of release at 100 Hz, {name}"),
            records.iter().map(|r| r.lateness.0),
        );
    }
}

fn one_record() {
    let (mut sink, mut feed) = recording::channel(0, false);
    let record = run(Arrival::Closed, Release::Sleep, 1, 1)[0];
    let mut costs = Vec::new();
    let mut kept = Kept(Vec::with_capacity(5_000));
    for _ in 0..200 {
        let began = RealClock.now();
        for _ in 0..5_000 {
            sink.frame(std::hint::black_box(record));
        }
        costs.push((RealClock.now() - began).0);
        kept.0.clear();
        feed.drain(&mut kept);
    }
    costs.sort_unstable();
    println!(
        "one record, hot path: median {:.1} ns of {} batches of 5 000",
        costs[costs.len() / 2] as f64 / 5_000.0,
        costs.len()
    );
}
