//! Finding shared libraries and programs by looking, as the loader would, without loading them.

use std::path::{Path, PathBuf};

use super::Roots;
use crate::files;

/// Where libraries of CUDA and TensorRT are, besides what the loader's cache lists.
const FOLDERS: [&str; 8] = [
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu/nvidia",
    "/usr/lib/aarch64-linux-gnu/tegra",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/cuda/lib64",
    "/usr/local/lib",
];
const CACHE: &str = "/etc/ld.so.cache";

/// A library `<stem>.so` or `<stem>.so.<version>`, the most specific name first found.
pub(crate) fn library(roots: &Roots, stem: &str) -> Option<PathBuf> {
    let listed = roots
        .library_path
        .iter()
        .find_map(|folder| in_folder(folder, stem))
        .or_else(|| in_cache(roots, stem));
    listed.or_else(|| {
        FOLDERS
            .iter()
            .find_map(|folder| in_folder(&roots.file(folder), stem))
            // Shown as the machine itself calls it.
            .map(|path| match path.strip_prefix(&roots.root) {
                Ok(below) => Path::new("/").join(below),
                Err(_) => path,
            })
    })
}

/// A program on the path.
pub(crate) fn program(roots: &Roots, name: &str) -> Option<PathBuf> {
    roots
        .path
        .iter()
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

fn in_folder(folder: &Path, stem: &str) -> Option<PathBuf> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_version_of(name, stem))
        .collect();
    names.sort_by_key(|name| name.len());
    names.pop().map(|name| folder.join(name))
}

/// The loader's cache holds each library's name and path between zeros; its tables of numbers, which
/// changed over the years, are not needed to find them.
fn in_cache(roots: &Roots, stem: &str) -> Option<PathBuf> {
    let cache = files::read(&roots.file(CACHE), files::TEXT).ok()?;
    cache
        .split(|byte| *byte == 0)
        .filter_map(|text| std::str::from_utf8(text).ok())
        .filter(|text| text.starts_with('/'))
        .map(Path::new)
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| is_version_of(name, stem))
        })
        // A cache can outlive what it lists.
        .find(|path| roots.file(&path.to_string_lossy()).exists())
        .map(Path::to_owned)
}

/// `libcuda.so`, `libcuda.so.1`, not `libcudart.so` nor `libcuda.so.backup`.
fn is_version_of(name: &str, stem: &str) -> bool {
    name.strip_prefix(stem)
        .and_then(|rest| rest.strip_prefix(".so"))
        .is_some_and(|version| {
            version.is_empty()
                || (version.starts_with('.') && version.bytes().all(|b| b == b'.' || b.is_ascii_digit()))
        })
}
