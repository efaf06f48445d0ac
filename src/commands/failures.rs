//! What failed before a run could start, passed on to the process that started this one (`--failure`).

use std::path::Path;

use crate::record::Failure;
use crate::{files, whole};

/// As long as such a file may be.
const LONGEST: u64 = 4 << 20;

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
