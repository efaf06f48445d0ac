//! A warm reader allocates nothing.
//!
//! A program by itself, since it counts what the whole program allocates: the thread of a test harness allocates too, when it comes
//! to it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::alloc::System;

use jetlag_video::{Colours, Frames, Launch, Layout, Matrix, Range, Reading};
use nvidia_doubles::machine;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() {
    let read = |launch: &Launch, layout| {
        let mut frames = Frames::start(launch, None, layout, &Reading::default()).unwrap();
        let mut rgb = Vec::new();
        for _ in 0..3 {
            frames.next(&mut rgb).unwrap().unwrap();
        }
        let region = Region::new(ALLOCATOR);
        for _ in 0..20 {
            frames.next(&mut rgb).unwrap().unwrap();
        }
        assert_eq!(region.change().allocations, 0, "{layout:?}");
    };
    read(&Launch::of("yes"), Layout::Rgb("100x100".parse().unwrap()));
    let picture = "testsrc2=size=96x64:rate=30";
    let launch = |pixels| {
        Launch::of("ffmpeg")
            .with([
                "-v", "error", "-nostdin", "-f", "lavfi", "-i", picture, "-pix_fmt", pixels,
            ])
            .with(["-c:v", "rawvideo", "-f", "nut", "pipe:1"])
    };
    let (range, matrix) = (Range::Limited, Matrix::Bt709);
    match std::process::Command::new("ffmpeg").arg("-version").output() {
        Ok(_) => {
            read(&launch("rgb24"), Layout::Nut);
            read(&launch("yuv420p"), Layout::NutOf(Colours { range, matrix }));
        }
        Err(_) => machine::missing(&["JETLAG_REQUIRE_FFMPEG"], "no ffmpeg in PATH"),
    }
}
