//! The most memory that this process had resident, from a moment on: the kernel's high-water mark.
//!
//! The kernel keeps the mark since the process began (`VmHWM`, proc_pid_status(5)); writing 5 to `clear_refs` sets it to what is
//! resident now and costs nothing else (proc_pid_clear_refs(5)). A kernel that refuses that still tells the peak of a stretch of
//! time in which the mark rose.

use std::path::{Path, PathBuf};

use crate::{files, whole};

/// A stretch of time that has begun.
#[derive(Debug)]
pub struct Resident {
    folder: PathBuf,
    is_reset: bool,
    before: Option<u64>,
}

impl Resident {
    /// Begins now, for this process.
    pub fn begin() -> Self {
        Resident::begin_in(Path::new("/proc/self"))
    }

    fn begin_in(folder: &Path) -> Self {
        Resident {
            is_reset: whole::set(&folder.join("clear_refs"), "5").is_ok(),
            before: mark(folder),
            folder: folder.to_owned(),
        }
    }

    /// The most bytes since it began; `None` where the kernel does not tell.
    pub fn peak(&self) -> Option<u64> {
        let now = mark(&self.folder)?;
        (self.is_reset || self.before.is_some_and(|before| now > before)).then_some(now)
    }
}

/// The high-water mark in bytes.
fn mark(folder: &Path) -> Option<u64> {
    let text = files::read(&folder.join("status"), files::KERNEL).ok()?;
    of_status(&String::from_utf8_lossy(&text))
}

fn of_status(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_mark_is_in_kib_and_what_is_cut_is_none() {
        let text = "Name:\tjetlag\nVmPeak:\t  9000 kB\nVmHWM:\t    2128 kB\nVmRSS:\t    2000 kB\n";
        assert_eq!(of_status(text), Some(2128 * 1024));
        for broken in [
            "",
            "VmHWM:",
            "VmHWM: x kB",
            "VmHWM: 12",
            "VmHWM: 18446744073709551615 kB",
        ] {
            assert_eq!(of_status(broken), None, "{broken}");
        }
    }

    #[test]
    fn a_mark_that_cannot_be_put_back_tells_a_peak_only_if_it_rose() {
        let made = tempfile::tempdir().unwrap();
        let status = |kib: u64| fs::write(made.path().join("status"), format!("VmHWM: {kib} kB\n")).unwrap();
        // A folder in the place of the file refuses the reset.
        fs::create_dir(made.path().join("clear_refs")).unwrap();
        status(100);
        let resident = Resident::begin_in(made.path());
        assert_eq!(resident.peak(), None);
        status(101);
        assert_eq!(resident.peak(), Some(101 * 1024));
        fs::remove_dir(made.path().join("clear_refs")).unwrap();
        fs::write(made.path().join("clear_refs"), "").unwrap();
        assert_eq!(Resident::begin_in(made.path()).peak(), Some(101 * 1024));
        fs::remove_file(made.path().join("status")).unwrap();
        assert_eq!(resident.peak(), None);
    }
}
