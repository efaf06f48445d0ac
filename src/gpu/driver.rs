//! CUDA's driver where the loader does not look for it.
//!
//! JetPack 7.2 has it below /opt/nvidia/l4t-gpu-libs, and links it into the loader's folders when the board starts. In a
//! container that may not have happened, and an empty file is in its place. A library that is loaded once is found by its
//! own name (`libcuda.so.1`) from then on, whoever asks for it.

use std::path::{Path, PathBuf};
use std::sync::Once;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

/// The driver's name for the loader.
const NAME: &str = "libcuda.so.1";
/// For Orin, and for Thor.
const FOLDERS: [&str; 2] = ["opt/nvidia/l4t-gpu-libs/nvgpu", "opt/nvidia/l4t-gpu-libs/openrm"];

/// Loads the driver from JetPack's folders where the loader does not find it.
pub(super) fn load() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: NVIDIA's driver library; what it does when it is loaded it does for every program that uses the GPU.
        if unsafe { Library::new(NAME) }.is_ok() {
            return;
        }
        for file in roots().iter().flat_map(|root| candidates(root)) {
            // SAFETY: as above.
            match unsafe { Library::open(Some(&file), RTLD_NOW | RTLD_GLOBAL) } {
                Ok(library) => {
                    log::info!("CUDA's driver: {}", file.display());
                    // It is wanted for as long as the program runs.
                    std::mem::forget(library);
                    return;
                }
                Err(error) => log::warn!("{}: {error}", file.display()),
            }
        }
    });
}

/// Where JetPack's folders may be: here, and below the folder that `JETLAG_ROOT` names, where a container has the host's files.
fn roots() -> Vec<PathBuf> {
    let named = std::env::var_os("JETLAG_ROOT").filter(|root| !root.is_empty());
    std::iter::once(PathBuf::from("/"))
        .chain(named.map(PathBuf::from))
        .collect()
}

/// The files that may be it, the one of this chip first; empty ones are stubs.
fn candidates(root: &Path) -> Vec<PathBuf> {
    let compatible = std::fs::read(root.join("proc/device-tree/compatible")).unwrap_or_default();
    let mut folders = FOLDERS;
    if compatible.windows(8).any(|text| text == b"tegra264") {
        folders.reverse();
    }
    let files = folders
        .iter()
        .flat_map(|folder| [NAME, "libcuda.so.1.1"].map(|name| root.join(folder).join(name)));
    files
        .filter(|file| {
            file.metadata()
                .is_ok_and(|facts| facts.is_file() && facts.len() > 0)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_of_the_chip_is_tried_first_and_stubs_are_not() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("opt/nvidia/l4t-gpu-libs/nvgpu/libcuda.so.1.1", "ELF");
        write("opt/nvidia/l4t-gpu-libs/openrm/libcuda.so.1", "");
        write("opt/nvidia/l4t-gpu-libs/openrm/libcuda.so.1.1", "ELF");
        let names = || -> Vec<String> {
            let files = candidates(root.path());
            let below = files.iter().map(|file| file.strip_prefix(root.path()).unwrap());
            below.map(|file| file.display().to_string()).collect()
        };
        let orin = "opt/nvidia/l4t-gpu-libs/nvgpu/libcuda.so.1.1";
        let thor = "opt/nvidia/l4t-gpu-libs/openrm/libcuda.so.1.1";
        assert_eq!(names(), [orin, thor]);
        write("proc/device-tree/compatible", "nvidia,p4071\0nvidia,tegra264\0");
        assert_eq!(names(), [thor, orin]);
        assert!(candidates(Path::new("/nowhere")).is_empty());
    }
}
