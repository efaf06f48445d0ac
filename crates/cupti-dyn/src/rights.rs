//! Whether this process may trace, looked at before CUPTI is entered: on a Jetson without rights `cuptiSubscribe` crashes.
//!
//! On desktops and servers a plain user may trace activities from CUDA 10.2 on; what the driver restricts there are counters.
//! On a Jetson tracing takes root with CUDA 11 and 12 (JetPack 5 and 6), and from CUDA 13 on (JetPack 7) the device nodes of
//! the profiler.

use std::ffi::{CString, c_char, c_int};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The profiler's device nodes, by the names that JetPack 6 has; which of them there are depends on the board and the release.
/// Not seen on JetPack 7: so root, who may open all, is not refused for their absence outside a container.
const NODES: [&str; 6] = [
    "dev/nvhost-prof-gpu",
    "dev/nvhost-prof-ctx-gpu",
    "dev/nvhost-prof-dev-gpu",
    "dev/nvgpu/igpu0/prof",
    "dev/nvgpu/igpu0/prof-ctx",
    "dev/nvgpu/igpu0/prof-dev",
];

/// What decides about tracing on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Platform {
    /// A Jetson or another Tegra.
    pub is_tegra: bool,
    /// The process's effective user is root.
    pub is_root: bool,
    /// It runs in a container, which has only the device nodes that it was given.
    pub in_container: bool,
    /// The profiler's device nodes that there are, each with whether it can be read and written.
    pub nodes: Vec<(PathBuf, bool)>,
}

/// Why tracing is not allowed, and what would allow it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoRights {
    /// JetPack 5 and 6 let only root trace.
    NeedsRoot {
        /// CUDA's major.
        major: u32,
    },
    /// The profiler's device nodes cannot be opened.
    NodesClosed {
        /// Those.
        closed: Vec<PathBuf>,
    },
    /// There is no device node of the profiler that this user could open, as in a container that was not given any.
    NoNodes,
}

impl fmt::Display for NoRights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeedsRoot { major } => {
                let jetpack = if *major < 12 { 5 } else { 6 };
                write!(
                    f,
                    "a Jetson with CUDA {major} (JetPack {jetpack}) lets only root trace; run it with sudo"
                )
            }
            Self::NodesClosed { closed } => {
                let closed: Vec<_> = closed.iter().map(|path| path.display().to_string()).collect();
                write!(
                    f,
                    "the profiler's device nodes {} are closed to this user; run it as root or in the group that owns \
                     them, and pass them on to a container",
                    closed.join(", ")
                )
            }
            Self::NoNodes => write!(
                f,
                "there is none of the profiler's device nodes (/{}); run it as root, and pass them on to a container (docker run \
                 --device)",
                NODES.join(", /")
            ),
        }
    }
}

// libc's, which Rust's library is linked to.
unsafe extern "C" {
    fn geteuid() -> u32;
    fn faccessat(folder: c_int, path: *const c_char, mode: c_int, flags: c_int) -> c_int;
}

impl Platform {
    /// This machine and this process.
    #[must_use]
    pub fn of_this_process() -> Self {
        // SAFETY: it takes nothing, changes nothing and cannot fail.
        let is_root = unsafe { geteuid() } == 0;
        Self::look(Path::new("/"), is_root)
    }

    /// A machine whose files lie below `root`.
    #[must_use]
    pub fn look(root: &Path, is_root: bool) -> Self {
        let compatible = std::fs::read(root.join("proc/device-tree/compatible")).unwrap_or_default();
        let tegra = b"nvidia,tegra";
        let is_tegra = root.join("etc/nv_tegra_release").exists()
            || compatible.windows(tegra.len()).any(|part| part == tegra);
        let paths = NODES
            .iter()
            .map(|node| root.join(node))
            .filter(|path| path.exists());
        let nodes = paths.map(|path| (path.clone(), can_be_opened(&path))).collect();
        let in_container = [".dockerenv", "run/.containerenv"]
            .iter()
            .any(|mark| root.join(mark).exists());
        Self {
            is_tegra,
            is_root,
            in_container,
            nodes,
        }
    }

    /// Why activities may not be traced with CUPTI of this major; none where they may, as far as can be seen from outside.
    #[must_use]
    pub fn refusal(&self, major: u32) -> Option<NoRights> {
        if !self.is_tegra {
            return None;
        }
        if major < 13 {
            return (!self.is_root).then_some(NoRights::NeedsRoot { major });
        }
        let closed: Vec<PathBuf> = self
            .nodes
            .iter()
            .filter(|(_, is_open)| !is_open)
            .map(|(path, _)| path.clone())
            .collect();
        match (self.nodes.is_empty(), closed.is_empty()) {
            (true, _) if self.is_root && !self.in_container => None,
            (true, _) => Some(NoRights::NoNodes),
            (false, false) => Some(NoRights::NodesClosed { closed }),
            (false, true) => None,
        }
    }
}

/// Whether the effective user may read and write it, without opening it.
fn can_be_opened(path: &Path) -> bool {
    const HERE: c_int = -100; // AT_FDCWD
    const READ_AND_WRITE: c_int = 4 | 2; // R_OK | W_OK
    const AS_EFFECTIVE_USER: c_int = 0x200; // AT_EACCESS
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else {
        return false;
    };
    // SAFETY: the path lives through the call.
    unsafe { faccessat(HERE, path.as_ptr(), READ_AND_WRITE, AS_EFFECTIVE_USER) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tegra(is_root: bool, nodes: &[(&str, bool)]) -> Platform {
        Platform {
            is_tegra: true,
            is_root,
            in_container: false,
            nodes: nodes
                .iter()
                .map(|(path, open)| (PathBuf::from(path), *open))
                .collect(),
        }
    }

    #[test]
    fn anybody_may_trace_on_a_desktop() {
        assert_eq!(Platform::default().refusal(12), None);
        assert_eq!(Platform::default().refusal(13), None);
    }

    #[test]
    fn jetpack_5_and_6_take_root() {
        let refusal = tegra(false, &[]).refusal(11).expect("refused");
        assert!(refusal.to_string().contains("JetPack 5") && refusal.to_string().contains("sudo"));
        assert!(tegra(false, &[]).refusal(12).is_some());
        assert_eq!(tegra(true, &[]).refusal(12), None);
    }

    #[test]
    fn jetpack_7_takes_the_device_nodes() {
        assert_eq!(tegra(false, &[]).refusal(13), Some(NoRights::NoNodes));
        assert_eq!(tegra(true, &[]).refusal(13), None);
        let contained = Platform {
            in_container: true,
            ..tegra(true, &[])
        };
        assert_eq!(contained.refusal(13), Some(NoRights::NoNodes));
        let closed = tegra(false, &[("/dev/a", true), ("/dev/b", false)])
            .refusal(13)
            .expect("refused");
        assert!(
            closed.to_string().contains("/dev/b") && !closed.to_string().contains("/dev/a"),
            "{closed}"
        );
        assert_eq!(tegra(false, &[("/dev/a", true)]).refusal(13), None);
    }

    #[test]
    fn a_tegra_is_known_by_its_files() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        assert!(!Platform::look(root, false).is_tegra);
        std::fs::create_dir_all(root.join("proc/device-tree")).expect("a folder");
        std::fs::write(
            root.join("proc/device-tree/compatible"),
            b"nvidia,p3701\0nvidia,tegra234\0",
        )
        .expect("a file");
        std::fs::create_dir_all(root.join("dev/nvgpu/igpu0")).expect("a folder");
        std::fs::write(root.join("dev/nvgpu/igpu0/prof"), b"").expect("a file");
        let platform = Platform::look(root, false);
        assert!(platform.is_tegra);
        assert_eq!(platform.nodes, [(root.join("dev/nvgpu/igpu0/prof"), true)]);
    }
}
