//! The `jetlag` program: parse, call the command, turn its outcome into an exit code; nothing else.

use std::process::ExitCode;

use clap::Parser;
use jetlag::cli::Cli;
use jetlag::commands;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to stdout with 0, wrong use to stderr with 2; clap knows which.
            let _ = error.print();
            return ExitCode::from(u8::from(error.use_stderr()) * 2);
        }
    };
    ExitCode::from(commands::run(cli))
}
