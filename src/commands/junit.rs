//! `--junit FILE`: the results of runs for a CI's page of tests.
//!
//! The file is written when a run starts, too, as one that has not ended: a run that is killed leaves no older file behind
//! that a CI could take for its result.

use std::path::Path;

use anyhow::Context;

use super::run_path::{spare_files, unix_seconds};
use crate::analysis::Summary;
use crate::record::Manifest;
use crate::report::junit;

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

fn put(path: &Path, text: &[u8]) -> anyhow::Result<()> {
    // Each run of a CI writes the results of the one before over, which is meant.
    spare_files(path, true)?;
    std::fs::write(path, text)
        .with_context(|| format!("cannot write {}; name another file with --junit", path.display()))
}
