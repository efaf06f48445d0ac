//! An application that is not jetlag's, profiled with jetlag's reports: two threads that mark what they do.
//!
//! ```text
//! $ cargo run --example ranges
//! wrote ranges.mcap
//! $ jetlag report ranges.mcap
//! $ jetlag export ranges.mcap --format perfetto -o ranges.perfetto-trace
//! $ jetlag export ranges.mcap --format cvcuda -o benchmark
//! ```

use std::path::PathBuf;
use std::time::{Duration, Instant};

use jetlag::range::{Recording, Tenant, Track, now};
use jetlag::units::Nanos;

const BATCHES: u64 = 300;

fn main() -> Result<(), jetlag::range::RangeError> {
    let path = std::env::args()
        .nth(1)
        .map_or_else(|| PathBuf::from("ranges.mcap"), PathBuf::from);
    let tenants = [
        Tenant::new("resize").warmup(10),
        Tenant::new("detect")
            .deadline(Duration::from_millis(4))
            .paced(200.0)
            .warmup(10),
    ];
    let recording = Recording::create(&path, "ranges", &tenants)?;
    let (resize, detect) = (recording.track("resize")?, recording.track("detect")?);
    std::thread::scope(|scope| {
        scope.spawn(|| as_fast_as_it_goes(resize));
        scope.spawn(|| every_five_milliseconds(detect));
    });
    let path = recording.finish()?;
    let mut out = std::io::stdout().lock();
    let _ = std::io::Write::write_all(&mut out, format!("wrote {}\n", path.display()).as_bytes());
    Ok(())
}

/// A batch of four pictures after the other.
fn as_fast_as_it_goes(mut track: Track) {
    let mut all = track.range("run");
    for i in 0..BATCHES {
        let mut batch = all.batch("batch");
        batch.set_items(4);
        {
            let _decode = batch.range("decode");
            work(Duration::from_micros(300));
        }
        let mut compute = batch.range("compute");
        for _ in 0..2 {
            let _pass = compute.range("pass");
            work(Duration::from_micros(400 + i % 50));
        }
    }
}

/// A batch that is due every 5 ms: its response time counts from then.
fn every_five_milliseconds(mut track: Track) {
    let begun = now();
    for i in 0..BATCHES {
        let due = begun + Nanos::from_millis(5) * i as i64;
        std::thread::sleep((due - now()).to_std());
        let mut batch = track.batch_due("frame", due);
        let _compute = batch.range("compute");
        work(Duration::from_micros(if i % 60 == 7 { 4500 } else { 1500 }));
    }
}

fn work(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        std::hint::spin_loop();
    }
}
