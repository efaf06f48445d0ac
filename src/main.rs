//! The `jetlag` program: parse, call the command, turn its outcome into an exit code; nothing else.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::Parser;
use jetlag::cli::Cli;
use jetlag::commands;
use jetlag::shown::{is_obeyed, shown};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Its words hold the arguments as they were given, and those may be somebody else's.
            let plain = error.render().to_string();
            // Help and version go to stdout with 0, wrong use to stderr with 2; clap knows which.
            let printed = match plain.contains(is_obeyed) {
                true => std::io::stderr().write_all(shown(&plain).as_bytes()),
                false => error.print(),
            };
            return ExitCode::from(match (error.use_stderr(), printed) {
                (true, _) => 2,
                (false, Err(failed)) if failed.kind() != ErrorKind::BrokenPipe => 1,
                (false, _) => 0,
            });
        }
    };
    ExitCode::from(commands::run(cli))
}
