//! Runs of scenarios as processes of their own, each `jetlag run` as a person would start it: for `compare --ab` and `sweep`.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::failures::{self, Refusal};
use super::outcome::{Outcome, WrongUse};
use crate::record::Failure;
use crate::scenario::{Scenario, Shapes};

/// How long a run that is to end may take to save what it has.
const SAVING: Duration = Duration::from_secs(10);
/// Between two looks at a run: short at first, since simulated runs take little longer than this.
const LOOKS: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(10)];
/// As long as the machine form of a summary may be.
const LONGEST_SUMMARY: u64 = 256 << 20;
/// As much of what a run says as is of use.
const LONGEST_WORDS: u64 = 64 << 10;

/// A run that is wanted.
pub(super) struct Job<'a> {
    /// The scenario's file.
    pub(super) scenario: &'a Path,
    /// Its overrides, `path=value` each.
    pub(super) sets: &'a [String],
    /// Its seed, where another than the scenario's.
    pub(super) seed: Option<u64>,
    /// Where the run goes.
    pub(super) file: &'a Path,
    /// How long it may take; none for ever.
    pub(super) limit: Option<Duration>,
    /// Whether the kernel ends it when this process dies.
    pub(super) tied: bool,
    /// The tenant whose plans alone are built, where nothing is run.
    pub(super) build_only: Option<&'a str>,
    /// Whether programs that the scenario names may be started.
    pub(super) allow_commands: bool,
}

/// How a run ended.
pub(super) enum Ended {
    /// Its file is there, and so is its summary, as JSON; a tenant may have failed.
    Ran {
        /// What `jetlag run` ended with.
        code: i32,
        /// The machine form of its summary; empty where it printed none.
        summary: Vec<u8>,
        /// What it said.
        said: String,
    },
    /// It took longer than it may.
    TimeLimit,
    /// Somebody wants all this to end.
    Interrupted,
    /// It did not run.
    Failed {
        /// How its process ended.
        status: ExitStatus,
        /// What it said.
        said: String,
        /// The same for programs, where it could be told.
        failures: Vec<Failure>,
        /// What the disk refused, if that is why.
        refused: Option<Refusal>,
    },
}

/// The scenario as `jetlag run` understands it; what it says of a mistake is handed on.
pub(super) fn resolved(path: &Path, sets: &[String]) -> anyhow::Result<Scenario> {
    resolved_with(path, None, sets)
}

/// The same of a network with shapes.
pub(super) fn resolved_with(
    path: &Path,
    shapes: Option<&Shapes>,
    sets: &[String],
) -> anyhow::Result<Scenario> {
    let mut command = itself()?;
    command.args(run_of(path, sets)).arg("--resolve-only");
    if let Some(shapes) = shapes {
        command.args(["--shapes", &shapes.to_string()]);
    }
    let output = command.output().context("cannot start jetlag itself")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(WrongUse(without_prefix(&said).to_owned()).into());
    }
    serde_json::from_slice(&output.stdout).with_context(|| {
        format!(
            "jetlag run --resolve-only {} did not print a scenario",
            path.display()
        )
    })
}

/// Runs it, and waits for its end. Once `stop` is set, it is told to end and to save what it has.
pub(super) fn run(job: &Job<'_>, stop: &AtomicBool) -> anyhow::Result<Ended> {
    let (mut summary, mut words) = (tempfile()?, tempfile()?);
    let failure = job.file.with_extension("failure");
    let mut command = itself()?;
    if job.tied {
        command.args(["with-parent", &std::process::id().to_string()]);
        command.arg(executable()?);
    }
    command.args(run_of(job.scenario, job.sets));
    command.args(["--quiet", "--format", "json", "--force", "--failure"]);
    command.arg(&failure);
    if let Some(tenant) = job.build_only {
        command.args(["--build-only", tenant]);
    }
    if job.allow_commands {
        command.arg("--allow-commands");
    }
    if let Some(seed) = job.seed {
        command.args(["--set", &format!("seed={seed}")]);
    }
    let mut child = command
        .arg("--out")
        .arg(job.file)
        .stdin(Stdio::null())
        .stdout(summary.try_clone()?)
        .stderr(words.try_clone()?)
        // Ctrl-C comes here and is handed on once: twice would end the run before it has saved.
        .process_group(0)
        .spawn()
        .context("cannot start jetlag itself")?;
    let (status, late) = wait(&mut child, job.limit, stop)?;
    let failures = failures::take(&failure);
    if late {
        return Ok(Ended::TimeLimit);
    }
    let said = String::from_utf8_lossy(&read(&mut words, LONGEST_WORDS)?).into_owned();
    let said = without_prefix(&said).to_owned();
    let stopped = stop.load(Ordering::Relaxed);
    match status.code() {
        Some(code) if code == Outcome::Interrupted as i32 => Ok(Ended::Interrupted),
        Some(_) if stopped => Ok(Ended::Interrupted),
        Some(code @ (0 | 1 | 3 | 4)) => {
            let summary = read(&mut summary, LONGEST_SUMMARY)?;
            Ok(match code == 1 && summary.is_empty() {
                true => Ended::Failed {
                    status,
                    said,
                    failures,
                    refused: None,
                },
                false => Ended::Ran { code, summary, said },
            })
        }
        None if stopped => Ok(Ended::Interrupted),
        code => Ok(Ended::Failed {
            status,
            said,
            failures,
            refused: code.and_then(Refusal::of_code),
        }),
    }
}

/// Waits for its end; whether it had to be ended since its time was over.
fn wait(child: &mut Child, limit: Option<Duration>, stop: &AtomicBool) -> anyhow::Result<(ExitStatus, bool)> {
    let began = Instant::now();
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let mut told: Option<Instant> = None;
    let mut late = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((status, late));
        }
        let over = limit.is_some_and(|limit| began.elapsed() > limit);
        if told.is_none() && (over || stop.load(Ordering::Relaxed)) {
            told = Some(Instant::now());
            late = over;
            if let Some(pid) = pid {
                let _ = kill_process(pid, Signal::TERM);
            }
        }
        // What hangs in a driver does not end by being told.
        if told.is_some_and(|told| told.elapsed() > SAVING)
            && let Some(pid) = pid
        {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let [short, long] = LOOKS;
        std::thread::sleep(if began.elapsed() < Duration::from_millis(500) {
            short
        } else {
            long
        });
    }
}

fn executable() -> anyhow::Result<std::path::PathBuf> {
    std::env::current_exe().context("cannot find jetlag's executable")
}

fn itself() -> anyhow::Result<Command> {
    Ok(Command::new(executable()?))
}

fn run_of(scenario: &Path, sets: &[String]) -> Vec<std::ffi::OsString> {
    let mut words: Vec<std::ffi::OsString> = vec!["run".into(), scenario.into()];
    for set in sets {
        words.extend(["--set".into(), set.into()]);
    }
    words
}

/// A file without a name: nothing of it stays, however this process ends.
fn tempfile() -> anyhow::Result<File> {
    tempfile::tempfile()
        .context("cannot make a temporary file; is the disk of the folder for temporary files (TMPDIR) full?")
}

fn read(file: &mut File, most: u64) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The error of what a process of jetlag said, which comes last.
pub(super) fn error_of(said: &str) -> &str {
    without_prefix(said.trim().lines().last().unwrap_or_default())
}

/// What a process of jetlag said, as an error here has it.
pub(super) fn without_prefix(said: &str) -> &str {
    let said = said.trim();
    said.strip_prefix("error: ").unwrap_or(said)
}
