//! What can go wrong: wanted, found, where, and what to do next.

use std::path::PathBuf;

use crate::find::NotFound;
use crate::rights::NoRights;
use crate::sys::{Kind, Status};
use crate::version::Version;

/// A failure of the binding or of the library behind it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No library in any of the places looked at.
    #[error(transparent)]
    NotFound(#[from] NotFound),

    /// The driver cannot be loaded, without which CUPTI is not entered.
    #[error(
        "no CUDA driver, so CUPTI is not used: libcuda.so.1: {reason}; install NVIDIA's driver, or pass it on to the container (--gpus all, --runtime nvidia)"
    )]
    NoDriver {
        /// The loader's words.
        reason: String,
    },

    /// The dynamic loader refuses the file.
    #[error("cannot load {}: {reason}", path.display())]
    Open {
        /// The library's file.
        path: PathBuf,
        /// What the loader said.
        reason: String,
    },

    /// A library that loads and is not CUPTI.
    #[error("{} is not CUPTI: it has no function {symbol}; name another, or install the one of this CUDA release", path.display())]
    WrongLibrary {
        /// The library's file.
        path: PathBuf,
        /// The function that is missing.
        symbol: &'static str,
    },

    /// A library that does not even tell its version.
    #[error("{} cannot be used: cuptiGetVersion answers {status}{}", path.display(), next(*status))]
    Unusable {
        /// The library's file.
        path: PathBuf,
        /// Its answer.
        status: Status,
    },

    /// A library of another CUDA major than the program's.
    #[error("{} is of CUDA {found}, and CUDA {wanted} is wanted, as the {why} has it; install CUPTI of CUDA {wanted}", path.display())]
    OtherMajor {
        /// The library's file.
        path: PathBuf,
        /// Its major.
        found: u32,
        /// The wanted one.
        wanted: u32,
        /// Who wants it: the driver or the caller.
        why: &'static str,
    },

    /// Two copies in one process: each would set up the driver for itself.
    #[error("this process has {} loaded, and {} as well would make two; use the one that is loaded", loaded.display(), other.display())]
    TwoLibraries {
        /// The one that is there.
        loaded: PathBuf,
        /// The other.
        other: PathBuf,
    },

    /// This process may not trace.
    #[error("tracing is not allowed: {0}")]
    NoRights(NoRights),

    /// Somebody else holds CUPTI.
    #[error("another tool holds CUPTI{}: only one can trace a process; end it (nsys, ncu, cuda-gdb, PyTorch's profiler), or run without tracing", named(name.as_deref()))]
    Held {
        /// What CUPTI calls it, from 13.0 on.
        name: Option<String>,
    },

    /// This process traces already.
    #[error("a trace of this process is open already, and CUPTI has one set of buffers; finish it first")]
    AlreadyOpen,

    /// A call that CUPTI answered with failure.
    #[error("{call} of {version} answers {status}{}", next(*status))]
    Call {
        /// The function's name.
        call: &'static str,
        /// The release at hand.
        version: Version,
        /// Its answer.
        status: Status,
    },

    /// A function that this release does not have.
    #[error("{version} has no {function}, which came with CUDA {since}")]
    Missing {
        /// The function's name.
        function: &'static str,
        /// The first release that has it.
        since: &'static str,
        /// The release at hand.
        version: Version,
    },

    /// Work was done on the device, and no record of it came.
    #[error("{version} traces nothing here: work was done and no record of {kind} came ({seen} other records, {dropped} dropped); {}", traces_nothing(*dropped))]
    TracesNothing {
        /// The release at hand.
        version: Version,
        /// The kind of record that was waited for.
        kind: Kind,
        /// Records of other kinds that came.
        seen: u64,
        /// Records that CUPTI says it dropped.
        dropped: u64,
    },

    /// NVTX ranges cannot be taken in with this release.
    #[error(
        "{version} crashes when a thread is named (NVIDIA/NVTX#125), so it takes in no NVTX ranges; update CUDA 13.0 to its next release"
    )]
    CrashesWithNvtx {
        /// The release at hand.
        version: Version,
    },
}

/// What a call gives.
pub type Result<T> = std::result::Result<T, Error>;

fn named(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!(" ({name})"))
}

fn traces_nothing(dropped: u64) -> &'static str {
    match dropped {
        0 => "another release of CUPTI may (12.4 Update 1 is known for it), or a newer driver",
        _ => "give it more or larger buffers",
    }
}

/// What may be done about an answer, as the end of a sentence.
fn next(status: Status) -> &'static str {
    match status {
        Status::INSUFFICIENT_PRIVILEGES => {
            "; run it as root, or let users profile: options nvidia NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d"
        }
        Status::VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES | Status::VIRTUALIZED_DEVICE_NOT_SUPPORTED => {
            "; the virtual machine's host has to allow profiling of its GPU"
        }
        Status::NOT_INITIALIZED | Status::UNKNOWN => {
            "; the driver may be older than this CUPTI, or have no device"
        }
        Status::OUT_OF_MEMORY => "; memory is full",
        Status::CONFIDENTIAL_COMPUTING_NOT_SUPPORTED => "; confidential computing is on",
        Status::MIG_DEVICE_NOT_SUPPORTED => "; it cannot trace a part of a GPU (MIG)",
        Status::WSL_DEVICE_NOT_SUPPORTED => "; it cannot trace under WSL",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_say_what_to_do_next() {
        let version = Version::new(130_001, None);
        let call = Error::Call {
            call: "cuptiSubscribe",
            version,
            status: Status::INSUFFICIENT_PRIVILEGES,
        };
        let said = call.to_string();
        assert!(
            said.starts_with(
                "cuptiSubscribe of CUPTI of CUDA 13.0.1 answers 35 (INSUFFICIENT_PRIVILEGES); run"
            ),
            "{said}"
        );
        let held = Error::Held {
            name: Some("Nsight Systems".into()),
        }
        .to_string();
        assert!(
            held.starts_with("another tool holds CUPTI (Nsight Systems): only one"),
            "{held}"
        );
    }
}
