//! The `jetlag` program: parse, call the command, turn its outcome into an exit code; nothing else.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::Parser;
use clap::error::{ContextKind, ContextValue};
use jetlag::cli::{Cli, spelled_out, way};
use jetlag::shown::{is_obeyed, shown};
use jetlag::{commands, room};

#[cfg_attr(
    feature = "gpu",
    allow(unsafe_code, reason = "a variable of the process is set")
)]
fn main() -> ExitCode {
    #[cfg(feature = "gpu")]
    // SAFETY: the first thing that the program does; there is no other thread.
    unsafe {
        jetlag::gpu::ask_for_all_queues();
    }
    room::make_do();
    match room::on_enough_stack(program) {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(
                std::io::stderr(),
                "error: the stack is too small (ulimit -s), and there is no memory for another: {error}; raise the limit"
            );
            ExitCode::FAILURE
        }
    }
}

fn program() -> ExitCode {
    if let Some(code) = commands::completions::answer() {
        return ExitCode::from(code);
    }
    let cli = match Cli::try_parse_from(spelled_out(std::env::args_os())) {
        Ok(cli) => cli,
        Err(error) => {
            // Its words hold the arguments as they were given, and those may be somebody else's. On a terminal, only clap's own
            // colours are obeyed: where an argument has anything of the kind, there are none.
            let given = std::env::args_os().any(|argument| argument.to_string_lossy().contains(is_obeyed));
            // Help and version go to stdout with 0, wrong use to stderr with 2; clap knows which.
            let printed = match given && error.use_stderr() {
                true => std::io::stderr().write_all(shown(&error.render().to_string()).as_bytes()),
                false => error.print(),
            };
            // What other programs have as an option may be said elsewhere here.
            if let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg)
                && let Some(way) = way(&std::env::args_os().collect::<Vec<_>>(), unknown)
            {
                let _ = writeln!(std::io::stderr(), "\n  in jetlag: {way}");
            }
            return ExitCode::from(match (error.use_stderr(), printed) {
                (true, _) => 2,
                (false, Err(failed)) if failed.kind() != ErrorKind::BrokenPipe => 1,
                (false, _) => 0,
            });
        }
    };
    ExitCode::from(commands::run(cli))
}
