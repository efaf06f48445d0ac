//! Lines a second on one core: `cargo bench -p tegrastats-parser --bench parse`. The goal is a million Orin lines.
//! The lines stand in `lines/`, so that the peer's script measures the same text.

#![allow(missing_docs)]

use divan::counter::{BytesCount, ItemsCount};
use divan::Bencher;

/// AGX Orin, R36, root: the longest kind of line that is common.
const ORIN: &str = include_str!("lines/agx-orin-r36-root.txt");
/// AGX Orin, R39, root: three values a rail, two a zone.
const ORIN_R39: &str = include_str!("lines/agx-orin-r39-root.txt");
/// Nano, R32, without root: a short one.
const NANO: &str = include_str!("lines/nano-r32-nonroot.txt");
/// A kernel message in the same log.
const OTHER: &str =
    "[  123.456789] nvgpu: 17000000.gpu nvgpu_channel_wdt: job timed out, see the log for more";

fn main() {
    divan::main();
}

/// Lines an iteration: a log's worth, so that the timer's own cost does not count.
const LINES: u32 = 1000;

#[divan::bench]
fn agx_orin_r36(bencher: Bencher<'_, '_>) {
    lines(bencher, ORIN);
}

#[divan::bench]
fn agx_orin_r39(bencher: Bencher<'_, '_>) {
    lines(bencher, ORIN_R39);
}

#[divan::bench]
fn nano_r32(bencher: Bencher<'_, '_>) {
    lines(bencher, NANO);
}

#[divan::bench]
fn other_text(bencher: Bencher<'_, '_>) {
    lines(bencher, OTHER);
}

fn lines(bencher: Bencher<'_, '_>, line: &str) {
    let bytes = BytesCount::of_many::<u8>(line.len() * LINES as usize);
    bencher.counter(ItemsCount::new(LINES)).counter(bytes).bench(|| {
        for _ in 0..LINES {
            let _ = divan::black_box(tegrastats_parser::parse_line(divan::black_box(line)));
        }
    });
}
