//! What `jetlag report` takes for a long run: ten million frame records of two tenants, from a file on the disk to the
//! summary. The budget is 5 s and a memory that does not grow with the run.
//!
//! `cargo bench --bench summary`; `JETLAG_FRAMES=1000000` for a shorter one, `JETLAG_TENANTS=256` for more tenants. The file (of about 1 GB) is made first, in the
//! system's folder for temporary files (TMPDIR), and removed at the end.

#![allow(clippy::print_stdout, reason = "a benchmark shows what it measured")]

#[path = "../tests/run_file/made.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod made;

use std::path::Path;
use std::time::Instant;

use jetlag::commands::report::summarize_file;
use jetlag::record::{Manifest, RunReader, RunWriter, Subject, TenantManifest};
use jetlag::scenario::Tenant;

/// How often the file is read; the median counts, and beside it the fastest: of a core that is shared it is the nearest to what
/// one alone would take.
const ROUNDS: usize = 5;

fn main() -> anyhow::Result<()> {
    let number = |name: &str, usual: u64| match std::env::var(name) {
        Ok(text) => text.parse(),
        Err(_) => Ok(usual),
    };
    let frames = number("JETLAG_FRAMES", 10_000_000)?;
    let tenants = u16::try_from(number("JETLAG_TENANTS", 2)?)?.max(1);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("long.mcap");
    write(&path, frames, tenants)?;
    let megabytes = std::fs::metadata(&path)?.len() as f64 / 1e6;
    println!(
        "{frames} frame records of {tenants} tenants at 30 Hz, {megabytes:.0} MB; seconds, median of {ROUNDS} (fastest)"
    );
    let before = peak_megabytes();
    let (read, fastest) = timed(|| Ok(RunReader::open(&path)?.filter(Result::is_ok).count() as u64))?;
    println!("read alone          {read:.2} ({fastest:.2})");
    let (whole, fastest) = timed(|| {
        let summary = summarize_file(&path)?;
        Ok(summary.tenants.iter().map(|tenant| tenant.frames.completed).sum())
    })?;
    println!("read and summarise  {whole:.2} ({fastest:.2})");
    if let (Some(before), Some(after)) = (before, peak_megabytes()) {
        println!("peak memory         {after:.0} MB (after writing: {before:.0} MB)");
    }
    Ok(())
}

fn write(path: &Path, frames: u64, tenants: u16) -> anyhow::Result<()> {
    let mut writer = RunWriter::create(path, &manifest_of(tenants))?;
    for n in 0..frames {
        let (number, sequence) = ((n % u64::from(tenants)) as u16, n / u64::from(tenants));
        writer.frame(&made::frame(number, sequence))?;
    }
    writer.finish()?;
    Ok(())
}

/// That of so many tenants like the first of the usual two.
fn manifest_of(tenants: u16) -> Manifest {
    let mut manifest = made::manifest();
    if let Subject::Scenario(scenario) = &mut manifest.subject {
        let first = scenario.tenants[0].clone();
        let named = |number: u16| Tenant {
            name: format!("tenant-{number}"),
            ..first.clone()
        };
        scenario.expect.clear();
        scenario.tenants = (0..tenants).map(named).collect();
    }
    let first = manifest.tenants[0].clone();
    let named = |number: u16| TenantManifest {
        name: format!("tenant-{number}"),
        ..first.clone()
    };
    manifest.tenants = (0..tenants).map(named).collect();
    manifest
}

/// Seconds that `work` takes, in the median and at best; what it counts must be the same each time and not nothing.
fn timed(mut work: impl FnMut() -> anyhow::Result<u64>) -> anyhow::Result<(f64, f64)> {
    let mut counted = None;
    let mut took = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let count = work()?;
        took.push(start.elapsed().as_secs_f64());
        anyhow::ensure!(
            count > 0 && *counted.get_or_insert(count) == count,
            "the file changed"
        );
    }
    took.sort_by(f64::total_cmp);
    Ok((took[ROUNDS / 2], took[0]))
}

/// The most memory that this process has had resident, where the system tells.
fn peak_megabytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}
