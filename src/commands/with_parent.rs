//! `jetlag with-parent PID PROGRAM …`: becomes another program that the kernel kills when we die.
//!
//! jetlag starts tegrastats through this. What has to be asked of the kernel is asked by the process itself,
//! before it becomes tegrastats, and the request outlives that; so not even `kill -9` of jetlag leaves a
//! tegrastats behind. It is no verb for people, and not in the help.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, bail};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use super::outcome::Outcome;
use super::output::say;
use crate::cli::WithParentArgs;

/// The exit code that shells give for a program that cannot be executed.
const NOT_STARTED: u8 = 126;

/// Asks the kernel to kill this process when the thread that started it ends; whether the parent is still there.
pub(super) fn tie(parent: u32) -> anyhow::Result<bool> {
    set_parent_process_death_signal(Some(Signal::KILL)).context("cannot be tied to its parent")?;
    // The parent may have died before the kernel was asked.
    Ok(getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs()) == Some(parent))
}

/// Asks the kernel, and becomes the program; returns only if that fails, which is told as such. The exit code is then that of shells.
pub fn run(args: &WithParentArgs) -> u8 {
    match become_it(args) {
        Ok(()) => Outcome::Done as u8,
        Err(error) => {
            say(&format!("error: {error:#}"));
            NOT_STARTED
        }
    }
}

/// Returns where the parent is gone, so that there is nobody to become it for.
fn become_it(args: &WithParentArgs) -> anyhow::Result<()> {
    if !tie(args.parent)? {
        return Ok(());
    }
    let [program, rest @ ..] = args.program.as_slice() else {
        bail!("no program was given");
    };
    let error = Command::new(program).args(rest).exec();
    Err(error).with_context(|| format!("cannot start {}", program.to_string_lossy()))
}
