//! `jetlag trace -o app.mcap -- COMMAND…`: a run file of somebody else's program.
//!
//! ```text
//! $ jetlag trace -o app.mcap -- python3 detect.py
//! wrote app.mcap: 1 process, 200 batches, 1412 ranges, 31800 kernels; see jetlag report app.mcap --kernels
//! ```
//!
//! The command's processes load a library of ours (`injection`), which writes what they do into a folder (`spools`); when the
//! command has ended, a run file is made of it (`record`). Standard input and output are the command's, signals are passed on to it,
//! and the exit code is its own; 125 where jetlag itself fails, 126 and 127 where the command cannot be started or found, as `env`
//! has them. `-np` and `-ng` start copies over processes and GPUs (`launch`).

mod child;
mod injection;
mod launch;
mod noticed;
mod owners;
mod ranges;
mod record;
mod spools;

use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Context;

use super::outcome::WrongUse;
use super::output::say;
use super::run_path::Reserved;
use crate::cli::TraceArgs;
use crate::clock::{Clock, RealClock};
use record::{Asked, Told, record};

/// The exit code where jetlag itself fails.
const FAILED: u8 = 125;
/// That of wrong use, as everywhere.
const WRONG_USE: u8 = 2;

/// Traces a command; the exit code.
pub fn run(args: &TraceArgs) -> u8 {
    match trace(args) {
        Ok(code) => code,
        Err(error) => {
            say(&format!("error: {error:#}"));
            match error.downcast_ref::<child::NotStarted>() {
                Some(not_started) => not_started.code,
                None if error.is::<WrongUse>() => WRONG_USE,
                None => FAILED,
            }
        }
    }
}

fn trace(args: &TraceArgs) -> anyhow::Result<u8> {
    injection::is_free()?;
    let library = injection::find()?;
    if args.is_launch() {
        return launch::run(args, &library);
    }
    let program = program(&args.command);
    let reserved = match &args.out {
        Some(path) => Reserved::asked(path, "--out", args.force)?,
        None => Reserved::named(&program)?,
    };
    let path = reserved.path().to_owned();
    let signals = child::Signals::listen()?;
    let folder = spool_folder()?;
    let variables = injection::variables(&library, folder.path(), !args.no_gpu, args.graphs);
    let from = RealClock.now();
    let started = child::start(&args.command, &variables)?;
    let ended = child::wait(vec![started], &signals)?;
    let asked = Asked {
        program,
        batch: &args.batch,
        warmup: args.warmup(),
        gpu: !args.no_gpu,
        from,
        to: RealClock.now(),
    };
    let told = record(reserved, &spools::look(folder.path())?, &asked)
        .with_context(|| format!("the command has ended, but {} cannot be written", path.display()))?;
    tell(&told, &path, &asked);
    Ok(ended.first().map_or(FAILED, |status| child::code(*status)))
}

/// A folder that only this user may read.
fn spool_folder() -> anyhow::Result<tempfile::TempDir> {
    tempfile::Builder::new()
        .prefix("jetlag-trace-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
        .context("no folder can be made for what is traced; TMPDIR names another place")
}

/// The command's name.
fn program(command: &[OsString]) -> String {
    let words: Vec<String> = command
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    spools::name_of(&words)
}

/// What came of it, on stderr: stdout is the command's.
fn tell(told: &Told, path: &Path, asked: &Asked<'_>) {
    for problem in &told.problems {
        say(&format!("warning: {problem}"));
    }
    let count = |count: u64, one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        n => format!("{n} {many}"),
    };
    let kernels = match (told.is_traced, asked.gpu) {
        (true, _) => format!(", {}", count(told.kernels, "kernel", "kernels")),
        (false, true) => ", no kernels (no GPU was traced)".to_owned(),
        (false, false) => String::new(),
    };
    say(&format!(
        "wrote {}: {}, {}, {}{kernels}; see jetlag report {}{}",
        path.display(),
        count(told.processes as u64, "process", "processes"),
        count(told.batches, "batch", "batches"),
        count(told.ranges, "range", "ranges"),
        path.display(),
        if told.is_traced { " --kernels" } else { "" },
    ));
}
