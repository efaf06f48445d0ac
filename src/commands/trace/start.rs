//! One start of the command, alone or as one of several copies: where its run file goes, and where its processes leave what they do.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};

use anyhow::Context;

use super::child::{self, Signals};
use super::folder::{Purpose, SpoolFolder};
use super::injection;
use super::record::{Asked, anchor, record};
use super::spools;
use super::successor::Successor;
use super::told::tell;
use crate::cli::TraceArgs;
use crate::clock::{Clock, RealClock};
use crate::commands::run_path::AtOnce;

/// A start of the command, before and after.
pub(super) struct Start {
    file: AtOnce,
    // Ends before the folder is removed.
    _successor: Successor,
    spools: SpoolFolder,
    variables: Vec<(&'static str, OsString)>,
}

impl Start {
    /// With its run file at this place.
    pub(super) fn new(file: AtOnce, library: &Path, args: &TraceArgs, program: &str) -> anyhow::Result<Self> {
        let (at, unix_ns) = anchor();
        let spools = SpoolFolder::new(&Purpose {
            out: std::path::absolute(file.path())?.into(),
            program: program.to_owned(),
            batch: args.batch.clone(),
            warmup: args.warmup(),
            gpu: !args.no_gpu,
            at_ns: at.0,
            unix_ns,
            command_line: jetlag_board::command_line(),
        })?;
        let variables = injection::variables(library, spools.path(), !args.no_gpu, args.graphs);
        Ok(Start {
            file,
            _successor: Successor::of(spools.path()),
            spools,
            variables,
        })
    }

    /// The same with one more variable in its environment.
    pub(super) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Makes the run file of what the processes left, and says what came of it; where it is.
    pub(super) fn record(self, asked: &Asked<'_>) -> anyhow::Result<PathBuf> {
        let path = self.file.path().to_owned();
        let (path, told) = record(self.file, &spools::look(self.spools.path())?, asked)
            .with_context(|| format!("the command has ended, but {} cannot be written", path.display()))?;
        tell(&told, &path, asked.gpu);
        Ok(path)
    }
}

/// Starts the command for all of these at once and waits for it; how each ended, and what there is to record.
pub(super) fn follow<'a>(
    starts: &[Start],
    args: &'a TraceArgs,
    program: String,
) -> anyhow::Result<(Vec<ExitStatus>, Asked<'a>)> {
    let signals = Signals::listen()?;
    let from = RealClock.now();
    let mut children: Vec<Child> = Vec::new();
    for start in starts {
        match child::start(&args.command, &start.variables) {
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
        anchor: anchor(),
        command_line: jetlag_board::command_line(),
    };
    Ok((ended, asked))
}

/// The exit code of all: that of the first with another than 0.
pub(super) fn code(ended: &[ExitStatus]) -> u8 {
    let mut codes = ended.iter().map(|status| child::code(*status));
    codes.find(|code| *code != 0).unwrap_or(0)
}
