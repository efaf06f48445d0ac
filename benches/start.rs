//! From the start of the process to the first release of the demo's tenants: reading the scenario, loading both engines,
//! opening the run file, jetlag's own calibration. Budget: 300 ms with engines cached.
//!
//! `cargo bench --bench start`; not a divan benchmark, because a whole process is timed. Stamps of this process and of the
//! run file are of the same clock (CLOCK_MONOTONIC).

#![allow(clippy::print_stdout, reason = "a benchmark shows what it measured")]

use std::process::{Command, Stdio};

use anyhow::Context;
use jetlag::clock::{Clock, RealClock};
use jetlag::record::{Event, OVERHEAD_TENANT, RunReader};

/// Starts; the median counts.
const STARTS: usize = 15;

fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let run_file = folder.path().join("run.mcap");
    let mut took = Vec::with_capacity(STARTS);
    for _ in 0..STARTS {
        let started = RealClock.now();
        let status = Command::new(env!("CARGO_BIN_EXE_jetlag"))
            .args([
                "demo",
                "--quiet",
                "--set",
                "duration=300ms",
                "--set",
                "warmup=0s",
                "--out",
            ])
            .arg(&run_file)
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        // 3 and 4 say something of the numbers, not of the start.
        anyhow::ensure!(
            matches!(status.code(), Some(0 | 3 | 4)),
            "jetlag ended with {status}"
        );
        let releases = RunReader::open(&run_file)?.filter_map(|event| match event {
            Ok(Event::Frame(frame)) if frame.tenant != OVERHEAD_TENANT => Some(frame.released),
            _ => None,
        });
        let first = releases.min().context("the run has no release")?;
        took.push(first.since(started).as_millis_f64());
    }
    took.sort_by(f64::total_cmp);
    println!(
        "start of the process to first release: median {:.0} ms, from {:.0} to {:.0} ms, {STARTS} starts",
        took[STARTS / 2],
        took[0],
        took[STARTS - 1]
    );
    Ok(())
}
