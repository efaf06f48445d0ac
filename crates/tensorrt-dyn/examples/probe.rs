//! Loads a TensorRT library, makes a runtime, and asks what can be asked without a plan.
//!
//! ```text
//! $ cargo run --example probe -- /usr/lib/aarch64-linux-gnu/libnvinfer.so.10
//! TensorRT 10.3.0.30 at /usr/lib/aarch64-linux-gnu/libnvinfer.so.10.3.0
//! ```
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::process::ExitCode;

use tensorrt_dyn::{Library, Result, Search};

fn main() -> ExitCode {
    let path = std::env::args_os().nth(1).map(Into::into);
    let explicit = path.map(|path| ("the command line".to_owned(), path));
    match probe(&Search {
        explicit,
        ..Search::default()
    }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn probe(search: &Search) -> Result<()> {
    let library = Library::find(search)?;
    println!("{} at {}", library.version(), library.path().display());
    println!(
        "  builder: {}; newer than the tables: {}",
        library.has_builder(),
        library.version().is_newer_than_tables()
    );
    let runtime = library.runtime()?;
    println!(
        "  a runtime was made; our logger is in use: {}",
        runtime.uses_our_logger()
    );
    println!(
        "  DLA cores {}, in use {}",
        runtime.dla_cores()?,
        runtime.dla_core()?
    );
    runtime.set_max_threads(3)?;
    println!("  threads set to 3, read back {}", runtime.max_threads()?);
    runtime.allow_engine_host_code(true)?;
    println!(
        "  host code allowed, read back {}",
        runtime.allows_engine_host_code()?
    );
    match runtime.engine(b"this is no plan at all, but the library should say so by itself") {
        Ok(_) => println!("  a garbage plan was taken"),
        Err(error) => println!("  a garbage plan: {error}"),
    }
    Ok(())
}
