//! The double of NVIDIA's management library.

use std::path::{Path, PathBuf};

use crate::compile::{c_library, sources};

/// Builds the double into a folder; what it answers is read at each call from the file `state` there, whose lines
/// `nvml/nvml.c` explains. `None`, with the test skipped, where there is no C compiler.
pub fn library(folder: &Path, state: &str) -> Option<PathBuf> {
    std::fs::create_dir_all(folder).expect("a folder");
    let library = folder.join("libnvidia-ml.so.1");
    let file = folder.join("state");
    std::fs::write(&file, state).expect("written");
    let answers = format!("STATE=\"{}\"", file.display());
    c_library(&library, &sources("nvml").join("nvml.c"), &[answers])?;
    Some(library)
}
