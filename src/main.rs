//! The `jetlag` program: parse, call the command, turn its outcome into an exit code; nothing else.

use std::io::ErrorKind;
use std::process::ExitCode;

use clap::Parser;
use jetlag::cli::Cli;
use jetlag::commands;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to stdout with 0, wrong use to stderr with 2; clap knows which.
            let printed = error.print();
            return ExitCode::from(match (error.use_stderr(), printed) {
                (true, _) => 2,
                (false, Err(failed)) if failed.kind() != ErrorKind::BrokenPipe => 1,
                (false, _) => 0,
            });
        }
    };
    ExitCode::from(commands::run(cli))
}
