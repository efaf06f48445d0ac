//! Programs that are still running: a test waits for what they do, and never for a time in which they should have done it.

use std::path::Path;
use std::time::{Duration, Instant};

use jetlag::record::{Event, FrameRecord, Outcome, Phase, RunReader};

/// Longer than anything here takes on a machine that is many times overloaded: what does not come by then does not come.
#[allow(dead_code, unreachable_pub, reason = "shared by test programs")]
pub const PATIENCE: Duration = Duration::from_secs(300);

/// Waits until something holds.
#[allow(dead_code, unreachable_pub, reason = "shared by test programs")]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The frames of all tenants together that a run file holds so far; none where there is no file yet.
#[allow(dead_code, unreachable_pub, reason = "shared by test programs")]
pub fn frames(file: &Path, tenant: u16) -> Vec<FrameRecord> {
    let Ok(reader) = RunReader::open(file) else {
        return Vec::new();
    };
    let frame = |event| match event {
        Ok(Event::Frame(frame)) if frame.tenant == tenant && frame.phase == Phase::Together => Some(frame),
        _ => None,
    };
    reader.filter_map(frame).collect()
}

/// How many measured frames a run file holds so far that were completed.
#[allow(dead_code, unreachable_pub, reason = "shared by test programs")]
pub fn completed(file: &Path, tenant: u16) -> usize {
    let counts = |frame: &&FrameRecord| frame.outcome == Outcome::Completed && !frame.warmup;
    frames(file, tenant).iter().filter(counts).count()
}
