//! How a run failed, passed on to the process that started this one (`--failure`): what failed before it could start in a file, and a
//! disk that refused to be written to by the exit code, since there is no room for a file then.

use std::io::ErrorKind;
use std::path::Path;

use crate::record::Failure;
use crate::record::writer::RecordError;
use crate::{files, whole};

/// As long as such a file may be.
const LONGEST: u64 = 4 << 20;

/// What the disk refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There is no room left, a quota is used up, the disk fails or may only be read: whatever else is run would fail as well.
    Disk,
    /// The file is larger than a file of this process may be: that is this run's own.
    TooLarge,
}

impl Refusal {
    /// The exit code of a run that was asked to pass on how it fails.
    pub(super) fn code(self) -> u8 {
        match self {
            Refusal::Disk => 74,
            Refusal::TooLarge => 75,
        }
    }

    /// What an exit code says.
    pub(super) fn of_code(code: i32) -> Option<Refusal> {
        let all = [Refusal::Disk, Refusal::TooLarge];
        all.into_iter().find(|refusal| i32::from(refusal.code()) == code)
    }

    /// What an error says, if the disk is its cause. Of what is not the run file only a lack of room is the disk's for sure: what
    /// cannot be read may be a camera.
    pub(super) fn of(error: &anyhow::Error) -> Option<Refusal> {
        error
            .chain()
            .find_map(|cause| match cause.downcast_ref::<RecordError>() {
                Some(RecordError::Create { error, .. } | RecordError::Write { error, .. }) => {
                    match error.kind() {
                        ErrorKind::FileTooLarge => Some(Refusal::TooLarge),
                        ErrorKind::ReadOnlyFilesystem => Some(Refusal::Disk),
                        _ if rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::IO) => {
                            Some(Refusal::Disk)
                        }
                        _ => Refusal::of_room(error),
                    }
                }
                _ => Refusal::of_room(cause.downcast_ref::<std::io::Error>()?),
            })
    }

    fn of_room(error: &std::io::Error) -> Option<Refusal> {
        matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded).then_some(Refusal::Disk)
    }
}

/// Writes the failures.
pub(super) fn write(file: &Path, failures: &[Failure]) -> std::io::Result<()> {
    whole::write_whole(file, &serde_json::to_vec(failures)?)
}

/// Reads them, and removes the file; none where there is no such file.
pub(super) fn take(file: &Path) -> Vec<Failure> {
    let Ok(bytes) = files::read(file, crate::units::Bytes(LONGEST)) else {
        return Vec::new();
    };
    let _ = std::fs::remove_file(file);
    serde_json::from_slice(&bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io::Error;

    use super::*;

    #[test]
    fn a_disk_without_room_is_told_from_what_a_point_does() {
        let writing = |number: i32| {
            let error = RecordError::Write {
                path: "a.mcap".into(),
                error: Error::from_raw_os_error(number),
            };
            Refusal::of(&anyhow::Error::from(error).context("the run"))
        };
        // No space, a quota, a disk that fails, one that may only be read.
        for number in [28, 122, 5, 30] {
            assert_eq!(writing(number), Some(Refusal::Disk), "{number}");
        }
        assert_eq!(writing(27), Some(Refusal::TooLarge));
        // No memory, no permission.
        assert_eq!((writing(12), writing(13)), (None, None));
        let else_ =
            |number: i32| Refusal::of(&anyhow::Error::from(Error::from_raw_os_error(number)).context("x"));
        assert_eq!(else_(28), Some(Refusal::Disk));
        // A camera that fails, and a message that only reads like one.
        assert_eq!(else_(5), None);
        assert_eq!(Refusal::of(&anyhow::anyhow!("cannot write (os error 28)")), None);
        for refusal in [Refusal::Disk, Refusal::TooLarge] {
            assert_eq!(Refusal::of_code(refusal.code().into()), Some(refusal));
        }
        for other in [0, 1, 2, 3, 4, 130] {
            assert_eq!(Refusal::of_code(other), None);
        }
    }
}
