//! Finding shared libraries and programs by looking, as the loader would, without loading them.
//!
//! Empty files are none: container images have them as places onto which the host's libraries are mounted, and without
//! the NVIDIA runtime nothing is.

use std::path::{Path, PathBuf};

use super::Roots;
use jetlag_record::files;

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
/// Where JetPack 7.2 has its drivers' libraries: for Orin (nvgpu) and for Thor (openrm). Both may be there; at each start the
/// one that fits is linked into the loader's folders, unless that is in a container.
const DRIVERS: [&str; 2] = [
    "/opt/nvidia/l4t-gpu-libs/nvgpu",
    "/opt/nvidia/l4t-gpu-libs/openrm",
];
const CACHE: &str = "/etc/ld.so.cache";

/// A library `<stem>.so` or `<stem>.so.<version>`, the most specific name first found.
pub fn library(roots: &Roots, stem: &str) -> Option<PathBuf> {
    let listed = roots
        .library_path
        .iter()
        .find_map(|folder| in_folder(folder, stem))
        .or_else(|| in_cache(roots, stem));
    let mut drivers = DRIVERS;
    if (roots.text("/proc/device-tree/compatible")).is_some_and(|text| text.contains("tegra264")) {
        drivers.reverse();
    }
    listed.or_else(|| {
        FOLDERS
            .iter()
            .chain(&drivers)
            .find_map(|folder| in_folder(&roots.file(folder), stem))
            // Shown as the machine itself calls it.
            .map(|path| match path.strip_prefix(&roots.root) {
                Ok(below) => Path::new("/").join(below),
                Err(_) => path,
            })
    })
}

/// A program on the path.
pub fn program(roots: &Roots, name: &str) -> Option<PathBuf> {
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
        .filter(|name| is_version_of(name, stem) && has_content(&folder.join(name)))
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
        .find(|path| has_content(&roots.file(&path.to_string_lossy())))
        .map(Path::to_owned)
}

/// Whether there is more than an empty place of this name.
fn has_content(path: &Path) -> bool {
    path.metadata().is_ok_and(|facts| facts.len() > 0)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Option<String> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path.trim_start_matches('/'));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        library(&Roots::at(root.path()), "libcuda").map(|path| path.display().to_string())
    }

    #[test]
    fn an_empty_stub_is_no_library_and_the_drivers_of_jetpack_7_2_are_found_beside_it() {
        let stub = ("/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1.1", "");
        let cached = (
            "/etc/ld.so.cache",
            "\0/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1.1\0",
        );
        assert_eq!(found(&[stub, cached]), None);
        let orin = ("/opt/nvidia/l4t-gpu-libs/nvgpu/libcuda.so.1.1", "ELF");
        let thor = ("/opt/nvidia/l4t-gpu-libs/openrm/libcuda.so.1.1", "ELF");
        assert_eq!(found(&[stub, cached, orin, thor]).as_deref(), Some(orin.0));
        let chip = ("/proc/device-tree/compatible", "nvidia,p4071\0nvidia,tegra264\0");
        assert_eq!(found(&[stub, orin, thor, chip]).as_deref(), Some(thor.0));
        let linked = (stub.0, "ELF");
        assert_eq!(found(&[linked, orin]).as_deref(), Some(stub.0));
    }
}
