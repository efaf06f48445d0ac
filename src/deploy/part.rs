//! The folder that a fetch unpacks into, beside the place where the run goes, so that one that breaks off leaves nothing half.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use tempfile::TempDir;

use super::unpack::UNPACKED;
use crate::scenario;

const SUFFIX: &str = ".part";
/// Characters of a folder's name that nobody can guess.
const RANDOM: usize = 6;
/// Another fetch may take a folder for one that was left, between its making and its lock; more often than this in turn means
/// that something else is wrong.
const TRIES: usize = 8;

/// A folder of one fetch's own; removed in the end.
pub struct Part {
    folder: TempDir,
    /// Locked as long as the fetch lives, whatever ends it.
    _held: File,
}

impl Part {
    /// Makes one for the run `name` below `out`, and removes those that fetches left which were killed.
    ///
    /// # Errors
    /// Where no folder can be made or locked there.
    pub fn create(out: &Path, name: &str) -> io::Result<Part> {
        remove_left(out);
        for _ in 0..TRIES {
            let folder = tempfile::Builder::new()
                .prefix(&format!(".{name}."))
                .suffix(SUFFIX)
                .rand_bytes(RANDOM)
                .permissions(Permissions::from_mode(0o700))
                .tempdir_in(out)?;
            let Ok(held) = File::open(folder.path()) else {
                continue;
            };
            // A disk that knows no locks keeps what is left, since `remove_left` gets none either.
            if matches!(held.try_lock(), Err(fs::TryLockError::WouldBlock)) {
                continue;
            }
            let there = fs::symlink_metadata(folder.path()).map(|facts| facts.ino());
            if there.is_ok_and(|there| held.metadata().is_ok_and(|facts| facts.ino() == there)) {
                return Ok(Part { folder, _held: held });
            }
        }
        Err(io::Error::other("its folder is removed as often as it is made"))
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the folders of fetches that are over. What cannot be removed is left to the next one.
fn remove_left(out: &Path) {
    let entries = fs::read_dir(out).into_iter().flatten().flatten();
    for entry in entries {
        // Of the entry itself: a link is no folder.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let path = entry.path();
        if is_folder
            && entry.file_name().to_str().is_some_and(is_a_part)
            && holds_a_run(&path)
            && let Ok(folder) = File::open(&path)
            && folder.try_lock().is_ok()
        {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Whether a folder may be called so by [`Part::create`]. Somebody else's are not touched.
fn is_a_part(name: &str) -> bool {
    let within = name.strip_prefix('.').and_then(|name| name.strip_suffix(SUFFIX));
    within
        .and_then(|name| name.rsplit_once('.'))
        .is_some_and(|(run, random)| {
            scenario::is_name(run)
                && random.len() == RANDOM
                && random.bytes().all(|b| b.is_ascii_alphanumeric())
        })
}

/// Whether there is nothing but what is unpacked of a run.
fn holds_a_run(folder: &Path) -> bool {
    let ours = |name: &OsStr| UNPACKED.iter().any(|ours| name == *ours);
    fs::read_dir(folder)
        .is_ok_and(|mut entries| entries.all(|entry| entry.is_ok_and(|entry| ours(&entry.file_name()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_fetch_left_is_removed_and_nothing_else() {
        let out = tempfile::tempdir().unwrap();
        let path = |name: &str| out.path().join(name);
        let held = Part::create(out.path(), "run-1").unwrap();
        fs::create_dir(path(".run-2.abcdef.part")).unwrap();
        fs::write(path(".run-2.abcdef.part/run"), "half").unwrap();
        fs::write(path(".file.abcdef.part"), "").unwrap();
        fs::create_dir(path("theirs")).unwrap();
        std::os::unix::fs::symlink("theirs", path(".link.abcdef.part")).unwrap();
        // Another program's.
        let theirs = [
            ".download.part",
            ".a b.abcdef.part",
            "run.abcdef.part",
            ".run.abc-ef.part",
            ".run.part",
        ];
        theirs.iter().for_each(|name| fs::create_dir(path(name)).unwrap());
        fs::create_dir(path(".run-3.abcdef.part")).unwrap();
        fs::write(path(".run-3.abcdef.part/thesis"), "precious").unwrap();
        let next = Part::create(out.path(), "run-1").unwrap();
        assert!(held.path().is_dir() && next.path().is_dir());
        assert!(!path(".run-2.abcdef.part").exists());
        let kept = [
            ".file.abcdef.part",
            ".link.abcdef.part",
            ".run-3.abcdef.part/thesis",
        ];
        for kept in kept.iter().chain(&theirs) {
            assert!(path(kept).exists(), "{kept}");
        }
    }

    #[test]
    fn fetches_at_once_do_not_take_each_other_s_folder() {
        let out = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let part = Part::create(out.path(), "run").unwrap();
                        fs::write(part.path().join("run"), "whole").unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0);
    }
}
