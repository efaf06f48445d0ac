//! The folder that a fetch unpacks into, beside the place where the run goes, so that one that breaks off leaves nothing half.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use tempfile::TempDir;

const SUFFIX: &str = ".part";
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

    /// Where it lies.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the folders of fetches that are over. What cannot be removed is left to the next one.
fn remove_left(out: &Path) {
    let entries = fs::read_dir(out).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let ours = name
            .to_str()
            .is_some_and(|name| name.starts_with('.') && name.ends_with(SUFFIX));
        // Of the entry itself: a link is no folder.
        if !ours || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let path = entry.path();
        if let Ok(folder) = File::open(&path)
            && folder.try_lock().is_ok()
        {
            let _ = fs::remove_dir_all(&path);
        }
    }
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
        fs::create_dir(path("folder.part")).unwrap();
        fs::write(path(".file.part"), "").unwrap();
        std::os::unix::fs::symlink("folder.part", path(".link.part")).unwrap();
        let next = Part::create(out.path(), "run-1").unwrap();
        assert!(held.path().is_dir() && next.path().is_dir());
        assert!(!path(".run-2.abcdef.part").exists());
        for kept in ["folder.part", ".file.part", ".link.part"] {
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
