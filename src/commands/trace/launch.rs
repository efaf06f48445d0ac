//! Copies of the command over processes and GPUs, as CV-CUDA's launcher starts them: a run file and a `benchmark.json` of each, and the
//! mean over all.
//!
//! `OUT/proc_<p>_gpu_<g>/run.mcap` and `benchmark.json`, and `OUT/benchmark_mean.json`. The processes of one copy are tenants of its
//! run file; its `benchmark.json` is of the one with the most batches. Files of these names are an earlier launch's: they are replaced
//! if that was asked for, all of them, so that what is there afterwards is of one launch.

use std::path::{Path, PathBuf};

use super::program;
use super::start::{Start, code, follow};
use crate::analysis::cvcuda;
use crate::cli::TraceArgs;
use crate::commands::export::{self, write_json};
use crate::commands::outcome::WrongUse;
use crate::commands::output::say;
use crate::commands::run_path::{AtOnce, Folders, is_run_file, unix_seconds};
use crate::record::Utc;

/// Says which GPUs a process sees.
const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";
/// The names of a copy's files.
const RUN: &str = "run.mcap";
const BENCHMARK: &str = "benchmark.json";
/// That of all copies.
const MEAN: &str = "benchmark_mean.json";

/// Starts all copies at once and waits for them; the exit code is that of the first that has another than 0.
pub(super) fn run(args: &TraceArgs, library: &Path) -> anyhow::Result<u8> {
    let program = program(&args.command);
    let out = match &args.out {
        Some(out) => out.clone(),
        None => Path::new("runs").join(format!("{program}-{}", Utc::of(unix_seconds()).compact())),
    };
    if out.is_file() {
        let problem = format!(
            "{} is a file; with -np, -ng or -go several files are written, so --out has to name a folder",
            out.display()
        );
        return Err(WrongUse(problem).into());
    }
    let earlier = of_a_launch(&out);
    if let (Some(first), false) = (earlier.first(), args.force) {
        let problem = format!(
            "{} holds an existing run ({}); name another folder with --out, or replace it with --force",
            out.display(),
            first.strip_prefix(&out).unwrap_or(first).display()
        );
        return Err(WrongUse(problem).into());
    }
    let [np, ng, go] = [(args.np, 1), (args.ng, 1), (args.go, 0)].map(|(said, else_)| said.unwrap_or(else_));
    let gpus = gpus(std::env::var(VISIBLE).ok().as_deref(), go, ng)?;
    // Goes after what the copies made in it, if none of them starts.
    let _made = Folders::make(&out)?;
    let (mut folders, mut starts) = (Vec::new(), Vec::new());
    for p in 0..np {
        for (g, gpu) in (go..).zip(&gpus) {
            let folder = out.join(format!("proc_{p}_gpu_{g}"));
            let file = AtOnce::asked(&folder.join(RUN), "--out", args.force)?;
            starts.push(Start::new(file, library, args, &program)?.with(VISIBLE, gpu));
            folders.push(folder);
        }
    }
    let (ended, asked) = follow(&starts, args, program)?;
    let (mut written, mut processes) = (Vec::new(), Vec::new());
    for (start, folder) in starts.into_iter().zip(folders) {
        let run = start.record(&asked)?;
        let benchmark = folder.join(BENCHMARK);
        if let Some(process) = write_benchmark(&run, &benchmark, asked.warmup)? {
            processes.push(process);
            written.push(benchmark);
        }
        written.push(run);
    }
    if processes.is_empty() {
        say(&format!("warning: no copy had a batch, so there is no {MEAN}"));
    } else {
        let multiplier = u64::from(np) * u64::from(ng);
        // Nothing samples the GPUs here, and a metric without a sample is left out.
        let mean = cvcuda::mean(&processes, &Default::default(), asked.warmup, multiplier);
        let path = out.join(MEAN);
        // The run files were refused before the command began, where they were there unasked.
        write_json(&path, &mean, true)?;
        written.push(path);
    }
    remove_others(&earlier, &written);
    Ok(code(&ended))
}

/// Writes a copy's `benchmark.json`; none where it had no batch.
fn write_benchmark(run: &Path, to: &Path, warmup: u64) -> anyhow::Result<Option<cvcuda::Process>> {
    let (tenants, ..) = export::recordings(run)?;
    let most = tenants
        .into_iter()
        .rev()
        .max_by_key(|tenant| tenant.recording.batch_info.len());
    let Some(tenant) = most.filter(|tenant| !tenant.recording.batch_info.is_empty()) else {
        return Ok(None);
    };
    let expanded = cvcuda::expand(&tenant.recording, warmup);
    write_json(to, &expanded, true)?;
    Ok(Some(cvcuda::Process {
        data: expanded.data,
        batch_info: expanded.batch_info,
        meta: expanded.meta,
    }))
}

/// The files in a folder that a launch left there, by their names: nothing else in it is anybody's but the user's.
fn of_a_launch(out: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(out).into_iter().flatten().flatten();
    let copies = entries
        .filter(|entry| entry.file_type().is_ok_and(|of| of.is_dir()))
        .filter(|entry| entry.file_name().to_str().is_some_and(is_copy))
        .flat_map(|entry| [RUN, BENCHMARK].map(|name| out.join(entry.file_name()).join(name)));
    let mut found: Vec<PathBuf> = copies.chain([out.join(MEAN)]).collect();
    found.retain(|path| std::fs::symlink_metadata(path).is_ok_and(|of| of.is_file()));
    found.sort();
    found
}

/// Whether a folder is called as those of copies are: `proc_0_gpu_1`.
fn is_copy(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = name
        .strip_prefix("proc_")
        .and_then(|rest| rest.split_once("_gpu_"));
    numbers.is_some_and(|(p, g)| is_number(p) && is_number(g))
}

/// Removes what the earlier launch left and this one did not write.
fn remove_others(earlier: &[PathBuf], written: &[PathBuf]) {
    for path in earlier.iter().filter(|path| !written.contains(path)) {
        // Of this name, but no run: it is somebody's.
        if path.file_name().is_some_and(|name| name == RUN) && !is_run_file(path) {
            continue;
        }
        match std::fs::remove_file(path) {
            Ok(()) => say(&format!("removed {}, of the earlier launch", path.display())),
            Err(error) => say(&format!(
                "warning: {} is of the earlier launch and cannot be removed: {error}",
                path.display()
            )),
        }
        let folder = path.parent().filter(|_| !path.ends_with(MEAN));
        // It goes with the last file in it.
        let _ = folder.map(std::fs::remove_dir);
    }
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
    fn files_of_a_launch_are_known_by_their_names_alone() {
        let out = tempfile::tempdir().unwrap();
        let folders = [
            "proc_0_gpu_1",
            "proc_10_gpu_2",
            "proc_x_gpu_1",
            "proc_0_gpu_",
            "mine",
        ];
        for folder in folders {
            std::fs::create_dir(out.path().join(folder)).unwrap();
            for file in ["run.mcap", "benchmark.json", "notes.txt", MEAN] {
                std::fs::write(out.path().join(folder).join(file), "").unwrap();
            }
        }
        std::fs::write(out.path().join(MEAN), "").unwrap();
        std::fs::write(out.path().join("benchmark.json"), "").unwrap();
        let found: Vec<PathBuf> = of_a_launch(out.path());
        let found: Vec<&Path> = found
            .iter()
            .map(|path| path.strip_prefix(out.path()).unwrap())
            .collect();
        let expected = [
            MEAN,
            "proc_0_gpu_1/benchmark.json",
            "proc_0_gpu_1/run.mcap",
            "proc_10_gpu_2/benchmark.json",
            "proc_10_gpu_2/run.mcap",
        ];
        assert_eq!(found, expected.map(Path::new));
        assert!(of_a_launch(&out.path().join("nowhere")).is_empty());
    }

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
