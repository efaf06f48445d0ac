//! Libraries of the CUDA toolkit, of which a machine may have several releases: where the one that fits the driver may be.

use std::path::{Path, PathBuf};

/// Names of one library.
pub(super) struct Names {
    /// By CUDA's major version, as in `libnvrtc.so.12`.
    pub(super) by_major: &'static [(i32, &'static str)],
    /// The name without a version, of a development package.
    pub(super) plain: &'static str,
    /// The variable that names the file, or its folder.
    pub(super) variable: &'static str,
}

impl Names {
    /// Where it may be, the likeliest first: the release of the driver (its CUDA version, as 12040 for 12.4), then older ones,
    /// then newer ones; by name, and in the toolkit's folder. Only there if `named`, or else the variable, is a file or a folder.
    pub(super) fn candidates(&self, driver_cuda: i32, named: Option<&Path>) -> Vec<PathBuf> {
        let from_environment = std::env::var_os(self.variable).filter(|value| !value.is_empty());
        let named = named.map(Path::to_owned).or(from_environment.map(PathBuf::from));
        let driver = driver_cuda / 1000;
        let mut known = self.by_major.to_vec();
        known.sort_by_key(|(major, _)| (*major > driver, (driver - major).abs()));
        let names: Vec<&str> = known
            .into_iter()
            .map(|(_, name)| name)
            .chain([self.plain])
            .collect();
        match named {
            Some(folder) if folder.is_dir() => return names.iter().map(|name| folder.join(name)).collect(),
            Some(file) => return vec![file],
            None => {}
        }
        let target = match std::env::consts::ARCH {
            "aarch64" => "/usr/local/cuda/targets/aarch64-linux/lib",
            _ => "/usr/local/cuda/targets/x86_64-linux/lib",
        };
        let folders = [Path::new("/usr/local/cuda/lib64"), Path::new(target)];
        let in_folders = folders
            .iter()
            .flat_map(|folder| names.iter().map(|name| folder.join(name)));
        names.iter().map(PathBuf::from).chain(in_folders).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drivers_own_release_is_looked_for_first_and_newer_ones_last() {
        let names = Names {
            by_major: &[
                (11, "lib.so.11"),
                (12, "lib.so.12"),
                (13, "lib.so.13"),
                (14, "lib.so.14"),
            ],
            plain: "lib.so",
            variable: "JETLAG_NO_SUCH_LIBRARY",
        };
        let first = |driver, count| -> Vec<PathBuf> {
            let mut all = names.candidates(driver, None);
            all.truncate(count);
            all
        };
        let wanted = ["lib.so.12", "lib.so.11", "lib.so.13", "lib.so.14", "lib.so"];
        assert_eq!(first(12_040, 5), wanted.map(PathBuf::from));
        assert_eq!(first(11_040, 1), [PathBuf::from("lib.so.11")]);
        assert_eq!(first(13_000, 2), ["lib.so.13", "lib.so.12"].map(PathBuf::from));
        let named = names.candidates(12_040, Some(Path::new("/nowhere/lib.so")));
        assert_eq!(named, [PathBuf::from("/nowhere/lib.so")]);
    }
}
