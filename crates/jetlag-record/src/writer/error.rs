//! Why a run could not be recorded, and what to do about it.

use std::path::{Path, PathBuf};

use mcap::McapError;

/// Why a run could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file could not be created.
    #[error("cannot create the run file {}: {error}.{}", path.display(), advice(error))]
    Create {
        /// The run file that was to be made.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// The system refused a write.
    #[error(
        "cannot write to the run file {}: {error}. What was written before stays readable.{}",
        path.display(),
        advice(error)
    )]
    Write {
        /// The run file that was being written.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// An earlier write failed; nothing more is recorded.
    #[error("recording to {} has stopped because an earlier write failed", path.display())]
    Stopped {
        /// The run file, which is readable up to that write.
        path: PathBuf,
    },
    /// A record names a tenant that the manifest does not have.
    #[error("a record belongs to tenant {tenant}, but the manifest of {} lists {known} tenants", path.display())]
    UnknownTenant {
        /// The run file whose manifest does not list the tenant.
        path: PathBuf,
        /// The tenant's number in the record.
        tenant: u16,
        /// Number of tenants in the manifest.
        known: usize,
    },
    /// The manifest cannot be written as JSON.
    #[error("the manifest of {} cannot be written as JSON: {error}", path.display())]
    Manifest {
        /// The run file that was to be created.
        path: PathBuf,
        /// What cannot be written as JSON.
        error: serde_json::Error,
    },
    /// The file format does not allow it.
    #[error("cannot record to {}: {error}", path.display())]
    Format {
        /// The run file that was to be written.
        path: PathBuf,
        /// What the library said.
        error: McapError,
    },
}

/// Advice after the error, with a leading blank; empty if the error does not point to the disk or the folder.
fn advice(error: &std::io::Error) -> &'static str {
    use std::io::ErrorKind::*;
    match error.kind() {
        StorageFull | QuotaExceeded => " Free some space, or record to another disk.",
        FileTooLarge => {
            " Raise the file size limit (ulimit -f), or record to a disk that supports larger files."
        }
        PermissionDenied | ReadOnlyFilesystem => " Record to a writable folder.",
        NotFound | NotADirectory => " Create the folder first, or record to an existing one.",
        IsADirectory => " Name a file, not a folder.",
        OutOfMemory => "",
        // The compression's own failures come as errors without a number of the system's.
        _ if error.raw_os_error().is_none() => "",
        _ => " Try another folder or disk.",
    }
}

pub(super) fn write_error(path: &Path, error: McapError) -> RecordError {
    let path = path.to_owned();
    match error {
        McapError::Io(error) => RecordError::Write { path, error },
        error => RecordError::Format { path, error },
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn a_failed_write_says_its_cause_once_and_blames_the_disk_only_where_that_is_known() {
        let failed = |error| RecordError::Write {
            path: "run.mcap".into(),
            error,
        };
        let full = failed(std::io::ErrorKind::StorageFull.into());
        assert!(full.to_string().ends_with("record to another disk."), "{full}");
        // What a chain would print after the message, and so a second time.
        assert!(full.source().is_none());
        let memory = failed(std::io::Error::other("Allocation error"));
        assert!(memory.to_string().ends_with("stays readable."), "{memory}");
    }

    #[test]
    fn what_to_do_about_a_failed_write_depends_on_what_the_system_said() {
        use std::io::{Error, ErrorKind};
        let numbered = Error::from_raw_os_error;
        for (error, wanted) in [
            (ErrorKind::StorageFull.into(), "Free some space"),
            (ErrorKind::QuotaExceeded.into(), "Free some space"),
            (ErrorKind::FileTooLarge.into(), "ulimit -f"),
            (ErrorKind::PermissionDenied.into(), "a writable folder"),
            (ErrorKind::ReadOnlyFilesystem.into(), "a writable folder"),
            (ErrorKind::NotFound.into(), "Create the folder first"),
            (ErrorKind::NotADirectory.into(), "Create the folder first"),
            (ErrorKind::IsADirectory.into(), "Name a file"),
            (
                numbered(rustix::io::Errno::IO.raw_os_error()),
                "Try another folder or disk",
            ),
        ] {
            let advice = advice(&error);
            assert!(
                advice.starts_with(' ') && advice.contains(wanted),
                "{error}: {advice}"
            );
        }
        // No folder helps where memory is short.
        for error in [
            numbered(rustix::io::Errno::NOMEM.raw_os_error()),
            Error::other("Allocation error"),
        ] {
            assert_eq!(advice(&error), "", "{error}");
        }
    }
}
