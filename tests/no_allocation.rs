//! The hot path allocates nothing in steady state: three times the frames, the same number of allocations, and none while outputs are decoded.
//!
//! A test binary of its own, because it counts the allocations of the whole process.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "no_allocation/heads.rs"]
mod heads;

use std::alloc::System;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::time::Duration;

use jetlag::backend::null::NullBackend;
use jetlag::backend::{Backend, BackendError, NodeTime, Program, Slot, StageTimes};
use jetlag::clock::{Clock, RealClock};
use jetlag::record::Phase;
use jetlag::scenario::{Arrival, Batch, Overload, Release, Sharing};
use jetlag::source::empty::EmptySource;
use jetlag::tenant::PhasePlan;
use jetlag::tenant::pipeline::{Batching, Runner};
use jetlag::tenant::recording;
use jetlag::tensor::TensorSet;
use jetlag::units::Nanos;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// A null slot that reports these nodes for every frame, and whose first result comes late.
///
/// The first time that the maker waits for a slot, the channel back to it allocates its list of waiters. Whether a null tenant ever has to wait is chance; the late result makes it wait in every phase.
struct LateOnce {
    null: Box<dyn Slot>,
    times: Vec<NodeTime>,
    late: bool,
}

impl Slot for LateOnce {
    fn tensors(&self) -> &TensorSet {
        self.null.tensors()
    }
    fn tensors_mut(&mut self) -> &mut TensorSet {
        self.null.tensors_mut()
    }
    fn submit(&mut self) -> Result<(), BackendError> {
        self.null.submit()
    }
    fn wait(&mut self) -> Result<StageTimes, BackendError> {
        if std::mem::take(&mut self.late) {
            std::thread::sleep(Duration::from_millis(100));
        }
        self.null.wait()
    }
    fn node_times(&self) -> &[NodeTime] {
        &self.times
    }
}

/// As many slots as `depth`, with `nodes` nodes each.
fn slots(depth: usize, nodes: i64) -> Vec<Box<dyn Slot>> {
    let node = |n: i64| NodeTime {
        name: format!("node {n}"),
        operator: "Conv".to_owned(),
        took: Nanos(n),
    };
    let null = NullBackend.open(&Program::default(), depth).unwrap().slots;
    null.into_iter()
        .map(|null| {
            Box::new(LateOnce {
                null,
                times: (0..nodes).map(node).collect(),
                late: true,
            }) as Box<dyn Slot>
        })
        .collect()
}

/// Allocations of one phase of `frames` frames on these slots.
fn allocations(arrival: Arrival, size: usize, slots: Vec<Box<dyn Slot>>, frames: u64) -> usize {
    let mut runner = Runner {
        tenant: 0,
        name: "null".to_owned(),
        source: Box::new(EmptySource::default()),
        preprocess: None,
        postprocess: None,
        slots,
        batching: (size > 1).then(|| Batching {
            batch: Batch {
                size,
                wait: Some(Nanos::ZERO),
            },
            inputs: Vec::new(),
        }),
        failed: None,
        watched: Default::default(),
        gate: None,
        marks: None,
        arrival,
        overload: Overload::DropOldest { queue: 2 },
        deadline: Some(Nanos::from_millis(5)),
        frames: Some(frames),
        cpus: Vec::new(),
        waiting: Release::Sleep,
        seed: 1,
        lacks: None,
        late: Default::default(),
        outputs: None,
        with_outputs: Vec::new(),
    };
    let (mut front, _front_feed) = recording::channel(0, false);
    let (mut back, _back_feed) = recording::channel(0, true);
    let (notes, _kept) = channel();
    let stop = AtomicBool::new(false);
    let epoch = RealClock.now();
    let plan = PhasePlan {
        phase: Phase::Together,
        drawn_as: Phase::Together,
        traced: false,
        sharing: Sharing::Streams,
        epoch,
        measured_from: epoch,
        end: epoch + Nanos::from_secs(60),
    };
    let region = Region::new(ALLOCATOR);
    runner.run(plan, &RealClock, &stop, &mut front, &mut back, &notes);
    let change = region.change();
    change.allocations + change.reallocations
}

/// One test, since two at once would count each other's allocations.
#[test]
fn a_frame_allocates_nothing_once_warm() {
    three_times_the_frames_make_no_more_allocations();
    decoding_allocates_nothing();
}

fn decoding_allocates_nothing() {
    for (name, mut work) in heads::all() {
        work();
        // The test harness's own thread may allocate meanwhile; what a frame allocates is there every time.
        let is_free = (0..20).any(|_| {
            let region = Region::new(ALLOCATOR);
            work();
            let change = region.change();
            change.allocations + change.reallocations == 0
        });
        assert!(is_free, "{name}");
    }
}

fn three_times_the_frames_make_no_more_allocations() {
    for depth in [1, 3] {
        for arrival in [
            Arrival::Closed,
            Arrival::Periodic {
                hz: 20_000.0,
                phase: Nanos::ZERO,
                jitter: Nanos::ZERO,
            },
        ] {
            for (nodes, size) in [(0, 1), (20, 1), (0, 4)] {
                // The first run also pays for what the process allocates only once. As many batches whatever their size.
                let frames = 1_000 * size as u64;
                allocations(arrival, size, slots(depth, nodes), frames);
                // A thread that waits on a channel for the first time allocates its place in the line, and on a busy machine
                // it is chance whether it ever waits. What frames allocate is there every time.
                let mut seen = Vec::new();
                let is_equal = (0..20).any(|_| {
                    let few = allocations(arrival, size, slots(depth, nodes), frames);
                    let many = allocations(arrival, size, slots(depth, nodes), 3 * frames);
                    assert!(few > 0, "the counter counts");
                    seen.push((few, many));
                    few == many
                });
                assert!(
                    is_equal,
                    "depth {depth}, {nodes} nodes, batches of {size}, {arrival:?}: {seen:?}"
                );
            }
        }
    }
}
