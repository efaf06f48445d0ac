//! What marking a range costs the application, beside its peers: two readings of the clock, and a span of the crate
//! `tracing` with a subscriber that keeps spans and with none.
//!
//! `cargo bench --bench range`. Each figure is of one range, with its allocations; the queue's other end is emptied by the
//! thread that writes the run file, as in an application.

use std::time::Instant;

use divan::{AllocProfiler, Bencher, black_box};
use jetlag::range::{Recording, Tenant, Track};
use tracing_subscriber::Registry;

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// Runs what is measured with a track whose file is thrown away.
fn with_track(bencher: Bencher, mut one: impl FnMut(&mut Track)) {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = Recording::create(
        &folder.path().join("bench.mcap"),
        "bench",
        &[Tenant::new("bench")],
    )
    .expect("a file");
    let mut track = recording.track("bench").expect("the tenant");
    one(&mut track);
    bencher.bench_local(|| one(&mut track));
    drop(track);
    recording.finish().expect("room");
}

#[divan::bench]
fn range(bencher: Bencher) {
    with_track(bencher, |track| drop(black_box(track.range("stage"))));
}

#[divan::bench]
fn batch_of_three_ranges(bencher: Bencher) {
    with_track(bencher, |track| {
        let mut batch = track.batch("batch");
        for name in ["preprocess", "compute", "postprocess"] {
            drop(black_box(batch.range(name)));
        }
    });
}

#[divan::bench]
fn peer_two_instants(bencher: Bencher) {
    bencher.bench_local(|| {
        let begun = black_box(Instant::now());
        black_box(begun.elapsed())
    });
}

#[divan::bench]
fn peer_tracing_span_kept(bencher: Bencher) {
    tracing::subscriber::with_default(Registry::default(), || {
        bencher.bench_local(|| drop(black_box(tracing::info_span!("stage").entered())));
    });
}

#[divan::bench]
fn peer_tracing_span_without_subscriber(bencher: Bencher) {
    bencher.bench_local(|| drop(black_box(tracing::info_span!("stage").entered())));
}
