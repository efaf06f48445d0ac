//! Copies of the command over processes and GPUs, as CV-CUDA's launcher starts them: a run file and a `benchmark.json` of each, and the
//! mean over all.
//!
//! `OUT/proc_<p>_gpu_<g>/run.mcap` and `benchmark.json`, and `OUT/benchmark_mean.json`. The processes of one copy are tenants of its
//! run file; its `benchmark.json` is of the one with the most batches.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Child;

use anyhow::Context;

use super::child::{self, Signals};
use super::record::{Asked, record};
use super::{FAILED, program, spool_folder, spools, tell};
use crate::analysis::cvcuda;
use crate::cli::TraceArgs;
use crate::clock::{Clock, RealClock};
use crate::commands::export::{self, write_json};
use crate::commands::outcome::WrongUse;
use crate::commands::output::say;
use crate::commands::run_path::{Reserved, compact_utc, unix_seconds};

/// Says which GPUs a process sees.
const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";

/// One copy.
struct OfCopy {
    folder: PathBuf,
    spools: tempfile::TempDir,
    reserved: Reserved,
    variables: Vec<(&'static str, OsString)>,
}

/// Starts all copies at once and waits for them; the exit code is that of the first that has another than 0.
pub(super) fn run(args: &TraceArgs, library: &Path) -> anyhow::Result<u8> {
    let program = program(&args.command);
    let out = match &args.out {
        Some(out) => out.clone(),
        None => Path::new("runs").join(format!("{program}-{}", compact_utc(unix_seconds()))),
    };
    if out.is_file() {
        let problem = format!(
            "{} is a file; -np and -ng write several files, so --out has to name a folder",
            out.display()
        );
        return Err(WrongUse(problem).into());
    }
    let gpus = gpus(std::env::var(VISIBLE).ok().as_deref(), args.go, args.ng)?;
    let mut copies = Vec::new();
    for p in 0..args.np {
        for (g, gpu) in (args.go..).zip(&gpus) {
            let folder = out.join(format!("proc_{p}_gpu_{g}"));
            let reserved = Reserved::asked(&folder.join("run.mcap"), "--out", args.force)?;
            let spools = spool_folder()?;
            let mut variables =
                super::injection::variables(library, spools.path(), !args.no_gpu, args.graphs);
            variables.push((VISIBLE, gpu.into()));
            copies.push(OfCopy {
                folder,
                spools,
                reserved,
                variables,
            });
        }
    }
    let signals = Signals::listen()?;
    let from = RealClock.now();
    let mut children: Vec<Child> = Vec::new();
    for copy in &copies {
        match child::start(&args.command, &copy.variables) {
            Ok(child) => children.push(child),
            Err(error) => {
                // Some without the others would measure something else.
                for child in &mut children {
                    let _ = child.kill();
                    let _ = child.wait();
                }
                return Err(error.into());
            }
        }
    }
    let ended = child::wait(children, &signals)?;
    let asked = Asked {
        program,
        batch: &args.batch,
        warmup: args.warmup(),
        gpu: !args.no_gpu,
        from,
        to: RealClock.now(),
    };
    let mut processes = Vec::new();
    for copy in copies {
        let path = copy.reserved.path().to_owned();
        let told = record(copy.reserved, &spools::look(copy.spools.path())?, &asked)
            .with_context(|| format!("the command has ended, but {} cannot be written", path.display()))?;
        tell(&told, &path, &asked);
        processes.extend(benchmark(&path, &copy.folder, asked.warmup)?);
    }
    if processes.is_empty() {
        say("warning: no copy had a batch, so there is no benchmark_mean.json");
    } else {
        let multiplier = u64::from(args.np) * u64::from(args.ng);
        // Nothing samples the GPUs here, and a metric without a sample is left out.
        let mean = cvcuda::mean(&processes, &Default::default(), asked.warmup, multiplier);
        // The run files were refused before the command began, where they were there unasked.
        write_json(&out.join("benchmark_mean.json"), &mean, true)?;
    }
    let codes = ended.into_iter().map(child::code);
    Ok(codes
        .reduce(|first, next| if first == 0 { next } else { first })
        .unwrap_or(FAILED))
}

/// Writes a copy's `benchmark.json`; none where it had no batch.
fn benchmark(run: &Path, folder: &Path, warmup: u64) -> anyhow::Result<Option<cvcuda::Process>> {
    let (tenants, ..) = export::recordings(run)?;
    let most = tenants
        .into_iter()
        .rev()
        .max_by_key(|tenant| tenant.recording.batch_info.len());
    let Some(tenant) = most.filter(|tenant| !tenant.recording.batch_info.is_empty()) else {
        return Ok(None);
    };
    let expanded = cvcuda::expand(&tenant.recording, warmup);
    write_json(&folder.join("benchmark.json"), &expanded, true)?;
    Ok(Some(cvcuda::Process {
        data: expanded.data,
        batch_info: expanded.batch_info,
        meta: expanded.meta,
    }))
}

/// What each copy's `CUDA_VISIBLE_DEVICES` says: `count` from the one at place `first` of those that are visible.
fn gpus(visible: Option<&str>, first: u16, count: u16) -> Result<Vec<String>, WrongUse> {
    let all: Option<Vec<&str>> = visible.map(|visible| visible.split(',').map(str::trim).collect());
    (first..first.saturating_add(count))
        .map(|at| match &all {
            None => Ok(at.to_string()),
            Some(all) => all
                .get(usize::from(at))
                .map(|gpu| (*gpu).to_owned())
                .ok_or_else(|| {
                    WrongUse(format!(
                        "{VISIBLE} names {} GPUs, and -go {first} -ng {count} wants more",
                        all.len()
                    ))
                }),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_take_the_gpus_that_are_visible() {
        assert_eq!(gpus(None, 0, 2).unwrap(), ["0", "1"]);
        assert_eq!(gpus(None, 3, 1).unwrap(), ["3"]);
        assert_eq!(gpus(Some("5, 7"), 0, 2).unwrap(), ["5", "7"]);
        assert_eq!(gpus(Some("GPU-a,GPU-b"), 1, 1).unwrap(), ["GPU-b"]);
        let refused = gpus(Some("5"), 0, 2).unwrap_err().to_string();
        assert!(refused.contains("names 1 GPUs"), "{refused}");
    }
}
