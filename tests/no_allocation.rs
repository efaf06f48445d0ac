//! The hot path allocates nothing in steady state: three times the frames, the same number of allocations.
//!
//! A test binary of its own, because it counts the allocations of the whole process.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::alloc::System;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;

use jetlag::backend::null::NullBackend;
use jetlag::backend::{Backend, Program};
use jetlag::clock::{Clock, RealClock};
use jetlag::record::Phase;
use jetlag::scenario::{Arrival, Overload, Release};
use jetlag::source::empty::EmptySource;
use jetlag::tenant::pipeline::{PhasePlan, Runner};
use jetlag::tenant::recording;
use jetlag::units::Nanos;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Allocations of one phase of `frames` frames.
fn allocations(arrival: Arrival, depth: usize, frames: u64) -> usize {
    let mut runner = Runner {
        tenant: 0,
        name: "null".to_owned(),
        source: Box::new(EmptySource::default()),
        preprocess: None,
        postprocess: None,
        slots: NullBackend.open(&Program::default(), depth).unwrap(),
        arrival,
        overload: Overload::DropOldest { queue: 2 },
        deadline: Some(Nanos::from_millis(5)),
        frames: Some(frames),
        cpus: Vec::new(),
        waiting: Release::Sleep,
        seed: 1,
    };
    let (mut front, _front_feed) = recording::channel(0, false);
    let (mut back, _back_feed) = recording::channel(0, true);
    let (notes, _kept) = channel();
    let stop = AtomicBool::new(false);
    let epoch = RealClock.now();
    let plan = PhasePlan {
        phase: Phase::Together,
        epoch,
        measured_from: epoch,
        end: epoch + Nanos::from_secs(60),
    };
    let region = Region::new(ALLOCATOR);
    runner.run(plan, &RealClock, &stop, &mut front, &mut back, &notes);
    let change = region.change();
    change.allocations + change.reallocations
}

#[test]
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
            // The first run also pays for what the process allocates only once.
            allocations(arrival, depth, 1_000);
            let (few, many) = (
                allocations(arrival, depth, 1_000),
                allocations(arrival, depth, 3_000),
            );
            assert_eq!(few, many, "depth {depth}, {arrival:?}");
            assert!(few > 0, "the counter counts");
        }
    }
}
