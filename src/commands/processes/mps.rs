//! NVIDIA's Multi-Process Service: whether its daemon runs, and how it is hidden from a tenant's process.
//!
//! A CUDA program uses the service when it finds a daemon's socket in the pipe directory, without being asked; so nothing
//! has to be done to use it. Whether the daemon serves this user, and the server that it starts comes up, only the driver
//! sees: what is told here is that a daemon answered.

use std::fs::Permissions;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::commands::outcome::WrongUse;
use crate::scenario::{Mps, Scenario};

/// Where CUDA programs and the daemon meet.
pub(super) const PIPE_DIRECTORY: &str = "CUDA_MPS_PIPE_DIRECTORY";
/// Where they meet if that is not set.
const USUAL_DIRECTORY: &str = "/tmp/nvidia-mps";

/// How the processes of a run share the GPU.
#[derive(Debug)]
pub(super) enum Service {
    /// No tenant uses one.
    NoGpu,
    /// Their contexts take turns.
    TimeSliced,
    /// As it would be found, and it must not be.
    Hidden(EmptyFolder),
    /// Through the daemon whose pipe directory this is.
    Running(PathBuf),
}

impl Service {
    /// As the scenario asks, and as it is here.
    pub(super) fn of(scenario: &Scenario) -> anyhow::Result<Service> {
        if !scenario.tenants.iter().any(|tenant| tenant.device().is_gpu()) {
            if scenario.mps == Mps::Required {
                let problem = "`mps: Required`, but no tenant runs on a GPU; leave it out, or set a tenant's backend to one that does";
                return Err(WrongUse(problem.to_owned()).into());
            }
            return Ok(Service::NoGpu);
        }
        let folder = std::env::var_os(PIPE_DIRECTORY)
            .filter(|folder| !folder.is_empty())
            .map_or_else(|| PathBuf::from(USUAL_DIRECTORY), PathBuf::from);
        let found = daemon(&folder);
        match (scenario.mps, found) {
            (Mps::Off, _) => EmptyFolder::make().map(Service::Hidden),
            (_, Ok(())) => Ok(Service::Running(folder)),
            (Mps::Auto, Err(_)) => Ok(Service::TimeSliced),
            (Mps::Required, Err(why)) => Err(WrongUse(format!(
                "`mps: Required`, but no MPS daemon answers: {why}. Start one with `nvidia-cuda-mps-control -d` as the user who \
                 runs jetlag, and set {PIPE_DIRECTORY} for both if its folder is not {USUAL_DIRECTORY}; or use mps: Auto"
            ))
            .into()),
        }
    }

    /// For the manifest and for people; nothing where no GPU is used.
    pub(super) fn described(&self) -> Option<String> {
        match self {
            Service::NoGpu => None,
            Service::TimeSliced | Service::Hidden(_) => Some("time-sliced".to_owned()),
            Service::Running(folder) => Some(format!("under MPS ({})", folder.display())),
        }
    }

    /// What a process's pipe directory must be, where it is not ours.
    pub(super) fn pipe_directory(&self) -> Option<&Path> {
        match self {
            Service::Hidden(folder) => Some(folder.0.path()),
            Service::NoGpu | Service::TimeSliced | Service::Running(_) => None,
        }
    }
}

/// Why it is taken that no daemon listens in a pipe directory.
#[derive(Debug, thiserror::Error)]
enum NoDaemon {
    #[error("{} does not exist", .0.display())]
    NoSocket(PathBuf),
    #[error("{} belongs to a daemon that has ended", .0.display())]
    Ended(PathBuf),
    #[error("this user cannot access {}", .0.display())]
    Denied(PathBuf),
    #[error("{}: {error}", control.display())]
    Other { control: PathBuf, error: std::io::Error },
}

/// Whether a daemon listens in this pipe directory.
fn daemon(folder: &Path) -> Result<(), NoDaemon> {
    let control = folder.join("control");
    match UnixStream::connect(&control) {
        Ok(_) => Ok(()),
        Err(error) => match error.kind() {
            ErrorKind::NotFound => Err(NoDaemon::NoSocket(control)),
            ErrorKind::ConnectionRefused => Err(NoDaemon::Ended(control)),
            ErrorKind::PermissionDenied => Err(NoDaemon::Denied(control)),
            // Somebody listens, with another kind of socket than ours.
            _ if error.raw_os_error() == Some(rustix::io::Errno::PROTOTYPE.raw_os_error()) => Ok(()),
            _ => Err(NoDaemon::Other { control, error }),
        },
    }
}

/// A folder without a daemon's socket, removed with this. Its name cannot be guessed and it is this user's alone, so that nobody
/// puts a socket into it.
#[derive(Debug)]
pub(super) struct EmptyFolder(tempfile::TempDir);

impl EmptyFolder {
    fn make() -> anyhow::Result<EmptyFolder> {
        let folder = tempfile::Builder::new()
            .prefix("jetlag-no-mps-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir()
            .with_context(|| {
                format!(
                    "`mps: Off` needs an empty folder, but cannot create one in {}; set TMPDIR to another folder",
                    std::env::temp_dir().display()
                )
            })?;
        Ok(EmptyFolder(folder))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_daemon_is_one_that_answers() {
        let folder = tempfile::tempdir().unwrap();
        let none = daemon(folder.path()).unwrap_err();
        assert!(matches!(none, NoDaemon::NoSocket(_)), "{none}");
        let listening = UnixListener::bind(folder.path().join("control")).unwrap();
        assert!(daemon(folder.path()).is_ok());
        drop(listening);
        let left = daemon(folder.path()).unwrap_err();
        assert!(matches!(left, NoDaemon::Ended(_)), "{left}");
    }

    #[test]
    fn the_folder_without_a_daemon_is_new_and_private_and_goes() {
        let usual = std::env::temp_dir().join(format!("jetlag-no-mps-{}", std::process::id()));
        let (one, two) = (EmptyFolder::make().unwrap(), EmptyFolder::make().unwrap());
        let paths = [one.0.path().to_owned(), two.0.path().to_owned()];
        assert_ne!(paths[0], paths[1]);
        for path in &paths {
            assert_ne!(*path, usual);
            let mode = path.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
        }
        drop((one, two));
        assert!(!paths.iter().any(|path| path.exists()));
    }
}
