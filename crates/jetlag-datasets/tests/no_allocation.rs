//! Putting sweeps together allocates nothing once the buffers are large enough.
//!
//! A program by itself, since it counts what the whole program allocates: the thread of a test harness allocates too, when it comes
//! to it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::alloc::System;

use jetlag_datasets::geometry::Pose;
use jetlag_datasets::sweeps::{MIN_DISTANCE, SweepCloud, SweepPlace};
use jetlag_record::units::Nanos;
use stats_alloc::{Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &stats_alloc::INSTRUMENTED_SYSTEM;

fn main() {
    let bytes: Vec<u8> = (0..20_000_u32)
        .flat_map(|v| (v as f32 * 0.01).to_le_bytes())
        .collect();
    let place = SweepPlace::new(&Pose::NONE, Nanos::from_millis(50));
    let mut cloud = SweepCloud::default();
    let mut put_together = || {
        cloud.clear();
        cloud.append(&bytes, &SweepPlace::newest(), MIN_DISTANCE).unwrap();
        for _ in 0..9 {
            cloud.append(&bytes, &place, MIN_DISTANCE).unwrap();
        }
    };
    put_together();
    let region = Region::new(ALLOCATOR);
    for _ in 0..10 {
        put_together();
    }
    let change = region.change();
    assert_eq!((change.allocations, change.reallocations), (0, 0));
}
