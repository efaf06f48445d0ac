//! Facts of this machine: what it is, what it has for running and for measuring detectors.
//!
//! Everything is read from files below one root, so that a made-up tree can stand for a Jetson; nothing
//! is loaded or executed. [`facts`] goes into a run's manifest, [`examine`] into `jetlag doctor`. What
//! changes while a run goes on (load, clocks, power) is telemetry's affair.

mod checks;
mod facts;
mod libraries;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use checks::{Check, Status, examine};
pub use facts::{Fact, read};

/// Where a machine's files are.
#[derive(Clone, Debug)]
pub struct Roots {
    /// What stands for `/`: the folder that holds `proc`, `sys`, `etc`, `usr`.
    pub root: PathBuf,
    /// Folders that are searched for programs; they are not below `root`.
    pub path: Vec<PathBuf>,
    /// Folders that the loader was told to search first (`LD_LIBRARY_PATH`); they are not below `root`.
    pub library_path: Vec<PathBuf>,
}

impl Roots {
    /// This machine.
    pub fn system() -> Self {
        let folders = |variable| {
            std::env::var_os(variable)
                .map(|value| std::env::split_paths(&value).collect())
                .unwrap_or_default()
        };
        Roots {
            root: PathBuf::from("/"),
            path: folders("PATH"),
            library_path: folders("LD_LIBRARY_PATH"),
        }
    }

    /// A made-up machine below `root`, whose programs are in its `usr/bin`.
    pub fn at(root: &Path) -> Self {
        Roots {
            root: root.to_owned(),
            path: vec![root.join("usr/bin")],
            library_path: Vec::new(),
        }
    }

    /// A file of the machine; `absolute` as it is called there.
    fn file(&self, absolute: &str) -> PathBuf {
        self.root.join(absolute.trim_start_matches('/'))
    }

    /// Its text without closing zeros and white space; none if it cannot be read or is empty.
    fn text(&self, absolute: &str) -> Option<String> {
        let bytes = std::fs::read(self.file(absolute)).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_matches(|c: char| c == '\0' || c.is_whitespace());
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Names in a folder, sorted; none if there is no such folder.
    fn names(&self, absolute: &str) -> Vec<String> {
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
