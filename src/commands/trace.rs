//! `jetlag trace -o app.mcap -- COMMAND…`: a run file of somebody else's program.
//!
//! ```text
//! $ jetlag trace -o app.mcap -- python3 detect.py
//! wrote app.mcap: 1 process, 200 batches, 1412 ranges, 31800 kernels; see jetlag report app.mcap --kernels
//! ```
//!
//! The command's processes load a library of ours (`injection`), which writes what they do into a folder (`folder`, `spools`); when the
//! command has ended (`start`), a run file is made of it (`record`). Standard input and output are the command's, signals are passed on to it,
//! and the exit code is its own; 125 where jetlag itself fails, 126 and 127 where the command cannot be started or found, as `env`
//! has them. A command ends with its jetlag, be it killed; what was written until then is made a run file by a
//! process that waits for that (`successor`), or by the next trace (`recover`). `-np` and `-ng` start copies over processes and GPUs (`launch`).

mod child;
mod folder;
mod injection;
mod launch;
mod noticed;
mod owners;
mod ranges;
mod record;
mod recover;
mod spools;
mod start;
mod successor;
mod system;
mod told;

use std::ffi::OsString;

use super::outcome::WrongUse;
use super::output::say;
use super::run_path::AtOnce;
use crate::cli::TraceArgs;
use start::{Start, code, follow};

pub(super) use injection::{Absent, INSTALL, find as find_library, listed};

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
    if let Some(folder) = &args.succeed {
        return Ok(if successor::succeed(folder)? { 0 } else { FAILED });
    }
    let failed = recover::recover(&std::env::temp_dir());
    if args.recover {
        return Ok(if failed > 0 { FAILED } else { 0 });
    }
    injection::is_free()?;
    let library = find_library().map_err(|absent| match absent {
        Absent::Named(_) => anyhow::Error::from(WrongUse(absent.to_string())),
        Absent::Nowhere(_) => absent.into(),
    })?;
    if args.is_launch() {
        return launch::run(args, &library);
    }
    let program = program(&args.command);
    let file = match &args.out {
        Some(path) => AtOnce::asked(path, "--out", args.force)?,
        None => AtOnce::named(&program)?,
    };
    let start = Start::new(file, &library, args, &program)?;
    let (ended, asked) = follow(std::slice::from_ref(&start), args, program)?;
    start.record(&asked)?;
    Ok(code(&ended))
}

/// The command's name.
fn program(command: &[OsString]) -> String {
    let words: Vec<String> = command
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    spools::name_of(&words)
}
