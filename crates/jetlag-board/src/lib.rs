//! Facts of this machine: what it is, what it has for running and for measuring detectors.
//!
//! Everything is read from files below one root, so that a made-up tree can stand for a Jetson; nothing
//! is loaded or executed. [`facts()`] goes into a run's manifest, [`examine`] into `jetlag doctor`. What
//! changes while a run goes on (load, clocks, power) is telemetry's affair.

mod checks;
mod command_line;
pub mod facts;
pub mod identity;
pub mod jetpack;
pub mod libraries;
pub mod mode_clocks;
pub mod modules;
pub mod nvpmodel;
mod tpc_mask;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jetlag_record::files;

pub use checks::{Check, Status, examine};
pub use command_line::command_line;
pub use facts::{Fact, read};
pub use tpc_mask::tpc_mask;

/// Where a machine's files are.
#[derive(Clone, Debug)]
pub struct Roots {
    /// What stands for `/`: the folder that holds `proc`, `sys`, `etc`, `usr`.
    pub root: PathBuf,
    /// Folders that are searched for programs; they are not below `root`.
    pub path: Vec<PathBuf>,
    /// Folders that the loader was told to search first (`LD_LIBRARY_PATH`); they are not below `root`.
    pub library_path: Vec<PathBuf>,
    /// The file of NVIDIA's management library, where it was said (`JETLAG_NVML`).
    pub nvml: Option<PathBuf>,
}

impl Roots {
    /// This machine; or the made-up or mounted one below the folder that `JETLAG_ROOT` names.
    pub fn system() -> Self {
        let nvml = std::env::var_os("JETLAG_NVML")
            .filter(|path| !path.is_empty())
            .map(PathBuf::from);
        if let Some(root) = std::env::var_os("JETLAG_ROOT").filter(|root| !root.is_empty()) {
            return Roots {
                nvml,
                ..Roots::at(Path::new(&root))
            };
        }
        let folders = |variable| {
            std::env::var_os(variable)
                .map(|value| std::env::split_paths(&value).collect())
                .unwrap_or_default()
        };
        Roots {
            root: PathBuf::from("/"),
            path: folders("PATH"),
            library_path: folders("LD_LIBRARY_PATH"),
            nvml,
        }
    }

    /// A made-up machine below `root`, whose programs are in its `usr/bin`.
    pub fn at(root: &Path) -> Self {
        Roots {
            root: root.to_owned(),
            path: vec![root.join("usr/bin")],
            library_path: Vec::new(),
            nvml: None,
        }
    }

    /// Whether these are the files of the machine that runs this program.
    pub fn is_this_machine(&self) -> bool {
        self.root == Path::new("/")
    }

    /// A file of the machine; `absolute` as it is called there.
    pub fn file(&self, absolute: &str) -> PathBuf {
        self.root.join(absolute.trim_start_matches('/'))
    }

    /// Its text without closing zeros and white space; none if it cannot be read or is empty.
    pub fn text(&self, absolute: &str) -> Option<String> {
        let bytes = files::read(&self.file(absolute), files::KERNEL).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_matches(|c: char| c == '\0' || c.is_whitespace());
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Names in a folder, sorted; none if there is no such folder.
    pub fn names(&self, absolute: &str) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.file(absolute))
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }
}

/// The facts that were found, by name, for the manifest.
pub fn facts(roots: &Roots) -> BTreeMap<String, String> {
    read(roots)
        .into_iter()
        .filter_map(|fact| Some((fact.name.to_owned(), fact.value?)))
        .collect()
}

#[cfg(test)]
mod tests;
