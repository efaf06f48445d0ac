//! Writes the man pages and shell completions of `jetlag` into a folder, from the definition of its command line:
//!
//! ```text
//! cargo run --release --example documents -- target/documents
//! ```
//!
//! An example and no verb: what only packages need stays out of the binary, and so do the two libraries.

#![allow(clippy::print_stderr, reason = "an example is a program of its own")]

use std::fs;
use std::io::{Error, Result};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;
use jetlag::cli::Cli;
use jetlag::commands::completions;

fn main() -> ExitCode {
    let Some(out) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: documents FOLDER");
        return ExitCode::from(2);
    };
    match write(&out) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("documents: {}: {error}", out.display());
            ExitCode::FAILURE
        }
    }
}

fn write(out: &std::path::Path) -> Result<()> {
    let (man, scripts) = (out.join("man"), out.join("completions"));
    fs::create_dir_all(&man)?;
    fs::create_dir_all(&scripts)?;
    // One page a verb, as git has it: jetlag(1), jetlag-run(1), jetlag-cache-clean(1), …
    clap_mangen::generate_to(Cli::command(), &man)?;
    for (shell, file) in [
        (Shell::Bash, "jetlag.bash"),
        (Shell::Zsh, "_jetlag"),
        (Shell::Fish, "jetlag.fish"),
    ] {
        fs::write(
            scripts.join(file),
            completions::script(shell).map_err(Error::other)?,
        )?;
    }
    Ok(())
}
