//! One file a verb; the only place where the live and the offline half meet.
//!
//! A command returns an [`Outcome`]; only `main` turns it into an exit code.

#[cfg(feature = "gpu")]
pub mod build;
pub mod cache;
#[cfg(feature = "gpu")]
mod calibration;
pub mod clocks;
pub mod compare;
pub mod data;
pub mod deploy;
pub mod doctor;
pub mod eval;
pub mod export;
pub mod inspect;
mod live;
mod live_screen;
mod measure;
pub mod monitor;
mod phases;
pub mod prepare;
mod processes;
pub mod progress;
pub mod report;
pub mod run;
mod run_path;
mod sampling;
mod screen;
mod selftest;
mod signals;
pub mod tenant_process;
#[cfg(feature = "gpu")]
mod tensorrt;
mod trtexec;
mod watchdog;
pub mod with_parent;
#[cfg(not(feature = "gpu"))]
mod without_gpu;

#[cfg(not(feature = "gpu"))]
use without_gpu::{build, tensorrt};

use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use signal_hook::consts::SIGXFSZ;

use crate::cli::{Cli, Command, DataCommand};
use crate::files;
use crate::shown::shown;

/// How a command ended; its number is the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Outcome {
    /// All was done.
    Done = 0,
    /// Failed; the error has been said. Also a run of which a tenant produced nothing: its report is there, and it is not
    /// done.
    Failed = 1,
    /// Wrong use or wrong config; nothing was started.
    WrongUse = 2,
    /// Done, and an expectation did not hold.
    ExpectationBroken = 3,
    /// Done, and the record has gaps.
    Gaps = 4,
    /// Ctrl-C or SIGTERM ended it, and what was measured is saved.
    Interrupted = 130,
}

/// A mistake of the user's, found before anything was started: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongUse(pub String);

/// Refuses to write over a run file: it is what was measured, and a page or a table can be made of it again.
fn spare_run_files(output: &Path) -> anyhow::Result<()> {
    let mut magic = [0; crate::record::MAGIC.len()];
    let read = files::open(output).and_then(|mut file| file.read_exact(&mut magic));
    if read.is_ok() && magic == *crate::record::MAGIC {
        let problem = format!(
            "{} is a run file and would be written over; name another file for the output",
            output.display()
        );
        return Err(WrongUse(problem).into());
    }
    Ok(())
}

/// Runs the command and says its error, if any; returns the exit code.
pub fn run(cli: Cli) -> u8 {
    // A failing call quotes TensorRT's own lines; printed as well they would only come twice.
    let levels = [
        "warn,tensorrt=off,tensorrt_dyn=warn",
        "info,tensorrt=warn,tensorrt_dyn=info",
        "debug",
    ];
    let default = levels[usize::from(cli.verbose).min(2)];
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or(default))
        .format(|out, record| {
            let level = record.level();
            let style = out.default_level_style(level);
            writeln!(
                out,
                "[{style}{level:<5}{style:#}] {}",
                shown(&record.args().to_string())
            )
        })
        .init();
    // A file that has grown too long is then told as such (EFBIG): nobody has to be ended for it. If that cannot be had, the
    // signal ends the program as it always did.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    let outcome = match cli.command {
        Command::Run(args) => run::run(run::Origin::File(args.scenario), args.options),
        Command::Demo(options) => run::run(run::Origin::Demo, options),
        Command::Compare(args) => compare::run(&args),
        Command::Report(args) => match &args.trtexec {
            trtexec if trtexec.compat.is_none() && trtexec.from_trtexec.is_none() => report::run(&args),
            trtexec => trtexec::run(&args.runs, trtexec, args.format),
        },
        Command::Export(args) => export::run(&args),
        Command::Build(args) => build::run(&args),
        Command::Cache(command) => cache::run(&command),
        Command::Inspect(args) => inspect::run(&args),
        Command::Eval(args) => eval::run(&args),
        Command::Data(DataCommand::Synth {
            out,
            count,
            seed,
            start,
        }) => data::synth(&out, count, seed, start).map(|()| Outcome::Done),
        Command::Deploy(args) => deploy::run(&args),
        Command::Clocks(command) => clocks::run(&command),
        Command::Monitor(args) => monitor::run(&args),
        Command::WithParent(args) => with_parent::run(&args),
        Command::TenantProcess(args) => tenant_process::run(&args),
        Command::SelftestProbe { what } => selftest::probe(&what),
        Command::Doctor(args) => match (&args.measure, args.selftest) {
            (Some(scenario), _) => measure::run(scenario.as_deref(), args.format),
            (None, true) => selftest::run(&args.test, args.tensorrt.as_deref(), args.format),
            (None, false) => doctor::run(args.tensorrt.as_deref(), args.format),
        },
    };
    match outcome {
        Ok(outcome) => outcome as u8,
        Err(error) => {
            say(&format!("error: {error:#}"));
            if error.is::<WrongUse>() {
                Outcome::WrongUse as u8
            } else {
                Outcome::Failed as u8
            }
        }
    }
}

/// Writes a result to stdout; what a terminal would obey in it is shown ([`shown`]). A reader that has gone away (`| head`) has all it wanted; any other failure is one.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    print_while_read(text).map(drop)
}

/// As [`print`], and says whether somebody still reads.
pub(crate) fn print_while_read(text: &str) -> anyhow::Result<bool> {
    let mut out = std::io::stdout().lock();
    match out.write_all(shown(text).as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error).context("cannot write the result to stdout; what came of it is not whole"),
    }
}

/// Says something to the person, on stderr; what a terminal would obey in it is shown.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", shown(text));
}
