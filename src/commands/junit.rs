//! `--junit FILE`: the results of runs for a CI's page of tests.
//!
//! The file is written when a run starts, too, as one that has not ended: a run that is killed leaves no older file behind
//! that a CI could take for its result.

use std::io::Read;
use std::path::Path;

use anyhow::Context;

use super::outcome::WrongUse;
use super::run_path::{spare_files, unix_seconds};
use crate::analysis::Summary;
use crate::files;
use crate::record::Manifest;
use crate::report::junit;
use crate::whole;

/// So much of a file is looked at.
const START: u64 = 1024;

/// Writes what stands for the run of this name until it has ended.
pub(super) fn unfinished(path: &Path, name: &str) -> anyhow::Result<()> {
    let mut out = Vec::new();
    junit::write_unfinished(name, unix_seconds(), &mut out)?;
    put(path, &out)
}

/// Writes the results.
pub(super) fn write(path: &Path, manifests: &[Manifest], summaries: &[Summary]) -> anyhow::Result<()> {
    let runs: Vec<(&Manifest, &Summary)> = manifests.iter().zip(summaries).collect();
    let mut out = Vec::new();
    junit::write(&runs, &mut out)?;
    put(path, &out)
}

/// Whether a file is empty or begins as JUnit results do.
fn is_results(path: &Path) -> anyhow::Result<bool> {
    let mut start = Vec::new();
    let read = files::open(path).and_then(|file| file.take(START).read_to_end(&mut start));
    read.with_context(|| format!("cannot read {}; name another file with --junit", path.display()))?;
    let start = String::from_utf8_lossy(&start);
    let root = ["<testsuites", "<testsuite"];
    Ok(start.is_empty() || root.iter().any(|root| start.contains(root)))
}

fn put(path: &Path, text: &[u8]) -> anyhow::Result<()> {
    spare_files(path, true)?;
    // Each run of a CI writes the results of the one before over, which is meant. Anything else may be what the run is made of.
    if path.is_file() && !is_results(path)? {
        let said = format!(
            "{} exists and holds no JUnit results; name another file with --junit",
            path.display()
        );
        return Err(WrongUse(said).into());
    }
    whole::write(path, text, true)
        .with_context(|| format!("cannot write {}; name another file with --junit", path.display()))
}
