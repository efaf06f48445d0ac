//! The library that is loaded into the command's processes, and the environment that has it loaded.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use jetlag_activity::spool;

use crate::cli::TracedGraphs;
use crate::commands::outcome::WrongUse;

/// Names the library, where it lies nowhere near the program.
const VARIABLE: &str = "JETLAG_INJECTION";
/// The file.
const NAME: &str = "libjetlag_inject.so";
/// The driver loads what it names in `cuInit`.
const CUDA: &str = "CUDA_INJECTION64_PATH";
/// Modules with NVTX load what it names at their first call.
const NVTX: &str = "NVTX_INJECTION64_PATH";
/// The same of CUDA's 32-bit and older names: whoever set them traces, too.
const OTHERS: [&str; 1] = ["CUDA_INJECTION32_PATH"];

/// Why there is no library to be loaded.
#[derive(Debug, thiserror::Error)]
pub(in crate::commands) enum Absent {
    /// The variable names something else.
    #[error("{} names {}, which is no file; name {}", VARIABLE, .0.display(), NAME)]
    Named(PathBuf),
    /// It is in none of the places where it is looked for.
    #[error(
        "the library that is loaded into the command's processes is not there (looked for {}). {}",
        listed(.0),
        INSTALL
    )]
    Nowhere(Vec<PathBuf>),
}

/// What to do where it is absent.
pub(in crate::commands) const INSTALL: &str = "It comes with jetlag's packages; build it with `cargo build --release -p jetlag-inject`, or name its file in JETLAG_INJECTION.";

/// Paths in one line.
pub(in crate::commands) fn listed(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    paths.join(", ")
}

/// The library's file: what the variable names, else beside the program, else in `../lib/jetlag`.
///
/// # Errors
/// It is in none of these places.
pub(in crate::commands) fn find() -> Result<PathBuf, Absent> {
    if let Some(named) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        let path = PathBuf::from(named);
        return match path.is_file() {
            // Programs change their folder.
            true => Ok(std::path::absolute(&path).unwrap_or(path)),
            false => Err(Absent::Named(path)),
        };
    }
    let program = std::env::current_exe().and_then(|path| path.canonicalize());
    let folder = program.ok().and_then(|path| Some(path.parent()?.to_owned()));
    let places: Vec<PathBuf> = folder
        .iter()
        .flat_map(|folder| [folder.join(NAME), folder.join("../lib/jetlag").join(NAME)])
        .collect();
    match places.iter().find(|place| place.is_file()) {
        Some(found) => Ok(found.canonicalize().unwrap_or_else(|_| found.clone())),
        None => Err(Absent::Nowhere(places)),
    }
}

/// Refuses where somebody else's library is to be loaded already: there is one place.
///
/// # Errors
/// Which variable is set.
pub(super) fn is_free() -> Result<(), WrongUse> {
    for name in [CUDA, NVTX].into_iter().chain(OTHERS) {
        if let Some(value) = std::env::var_os(name).filter(|value| !value.is_empty()) {
            return Err(WrongUse(format!(
                "{name} is set already (to {}): another tool traces what is started here, and there is room for one; unset \
                 it, or leave jetlag trace out",
                value.display()
            )));
        }
    }
    Ok(())
}

/// The variables of the command's processes.
pub(super) fn variables(
    library: &Path,
    folder: &Path,
    gpu: bool,
    graphs: TracedGraphs,
) -> Vec<(&'static str, OsString)> {
    let graphs = match graphs {
        TracedGraphs::Nodes => "nodes",
        TracedGraphs::Whole => "whole",
    };
    let mut all = vec![
        (NVTX, library.into()),
        (spool::FOLDER, folder.into()),
        (spool::GRAPHS, graphs.into()),
    ];
    if gpu {
        all.push((CUDA, library.into()));
    }
    all
}
