//! Run file throughput, writing and reading, in frame records a second, with allocations.
//!
//! `cargo bench --bench record`. What one record costs the tenant that leaves it is measured elsewhere;
//! here it is the recorder's thread and the reader of reports.

#[path = "../tests/run_file/made.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod made;

use std::io::Cursor;
use std::path::Path;

use divan::counter::{BytesCount, ItemsCount};
use divan::{AllocProfiler, Bencher, black_box};
use jetlag::record::{Event, FrameRecord, RunReader, RunWriter};
use jetlag::units::Nanos;

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

const FRAMES: usize = 100_000;

fn main() {
    divan::main();
}

fn frames() -> Vec<FrameRecord> {
    (0..FRAMES as u64)
        .map(|n| made::frame((n % 2) as u16, n / 2))
        .collect()
}

fn writer() -> RunWriter<Cursor<Vec<u8>>> {
    let room = Cursor::new(Vec::with_capacity(FRAMES * 200));
    RunWriter::over(room, Path::new("bench.mcap"), &made::manifest()).expect("memory does not refuse")
}

fn file(frames: &[FrameRecord]) -> Vec<u8> {
    let mut writer = writer();
    for frame in frames {
        writer.frame(frame).expect("memory does not refuse");
    }
    writer.finish().expect("memory does not refuse").into_inner()
}

/// Encode, compress and write 100 000 frame records of two tenants.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn write_frames(bencher: Bencher) {
    let frames = frames();
    bencher
        .counter(ItemsCount::new(FRAMES))
        .with_inputs(writer)
        .bench_local_values(|mut writer| {
            for frame in &frames {
                writer.frame(black_box(frame)).expect("memory does not refuse");
            }
            writer
        });
}

/// One more record into a warm writer: no allocation but the growth of the chunk's index.
#[divan::bench(sample_count = 20, sample_size = 500)]
fn write_one_frame_warm(bencher: Bencher) {
    let frame = made::frame(0, 1);
    let mut writer = writer();
    for _ in 0..3000 {
        writer.frame(&frame).expect("memory does not refuse");
    }
    bencher
        .counter(ItemsCount::new(1usize))
        .bench_local(|| writer.frame(black_box(&frame)).expect("memory does not refuse"));
}

/// Read and decode 100 000 frames of two tenants at 30 Hz: a chunk a second, 60 frames in each.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn read_frames(bencher: Bencher) {
    read(bencher, &file(&frames()));
}

/// The same at 50 kHz, as of the null backend: chunks are full.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn read_frames_full_chunks(bencher: Bencher) {
    let mut frames = frames();
    for frame in &mut frames {
        let earlier = Nanos(33_313_333) * frame.sequence as i64;
        frame.released = frame.released - earlier;
        frame.started = frame.started - earlier;
        frame.finished = frame.finished - earlier;
    }
    read(bencher, &file(&frames));
}

fn read(bencher: Bencher, file: &[u8]) {
    bencher
        .counter(ItemsCount::new(FRAMES))
        .counter(BytesCount::new(file.len()))
        .bench_local(|| {
            let reader = RunReader::over(file, file.len() as u64, Path::new("bench.mcap"))
                .expect("it was just written");
            let mut sum = 0;
            for event in reader {
                if let Event::Frame(frame) = event.expect("it was just written") {
                    sum += frame.response().0;
                }
            }
            sum
        });
}
