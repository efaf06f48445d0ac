//! The folder that a command's processes write their spools into. It is gone with the trace that it was made for; what a trace that
//! was killed has left is removed by the next one.
//!
//! The file `owner` in it names the process that it was made for, which holds a lock on the file for as long as it lives. A folder is
//! removed only if it is this user's, that process is gone, and nobody holds the lock: where `/proc` shows other processes than the
//! owner's (in a container that shares the folder), the lock still does.

use std::fs::{File, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use anyhow::Context;
use jetlag_activity::spool;

use super::system;
use crate::files;
use crate::whole;

/// How the names of these folders begin.
const PREFIX: &str = "jetlag-trace-";
/// The file that names the owner.
const OWNER: &str = "owner";

/// A folder that only this user may read.
pub(super) struct SpoolFolder {
    folder: tempfile::TempDir,
    /// Locked for as long as it is open.
    _owner: File,
}

impl SpoolFolder {
    /// A new one, for this process; what others left is removed first.
    pub(super) fn new() -> anyhow::Result<Self> {
        sweep(&std::env::temp_dir());
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(Permissions::from_mode(0o700))
            .tempdir();
        let made = folder.and_then(|folder| {
            let _owner = own(folder.path())?;
            Ok(SpoolFolder { folder, _owner })
        });
        made.context("no folder can be made for what is traced; TMPDIR names another place")
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Writes down whose folder it is; locked before there is a word in it, so that nobody reads it unlocked.
fn own(folder: &Path) -> std::io::Result<File> {
    let mut file = whole::private(&folder.join(OWNER))?;
    // A disk that knows no locks has none, and what is left there stays.
    let _ = file.try_lock();
    let process = std::process::id();
    let started = system::started(process).unwrap_or_default();
    file.write_all(format!("{process} {started}\n").as_bytes())?;
    Ok(file)
}

/// Removes the folders that traces of this user left here when they were killed.
fn sweep(within: &Path) {
    for entry in std::fs::read_dir(within).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if is_ours && let Some(_locked) = abandoned(&entry.path()) {
            // What cannot be removed is left.
            let _ = remove(&entry.path());
        }
    }
}

/// The locked owner's file of a folder whose owner is gone.
fn abandoned(folder: &Path) -> Option<File> {
    let about = std::fs::symlink_metadata(folder).ok()?;
    if !about.is_dir() || about.uid() != rustix::process::geteuid().as_raw() {
        return None;
    }
    let file = files::open(&folder.join(OWNER)).ok()?;
    let mut text = String::new();
    (&file).take(100).read_to_string(&mut text).ok()?;
    let (process, started) = text.trim_end().split_once(' ')?;
    let (process, started): (u32, u64) = (process.parse().ok()?, started.parse().ok()?);
    if system::started(process) == Some(started) {
        return None;
    }
    file.try_lock().ok()?;
    Some(file)
}

/// Removes a folder with what a trace puts there. If anything else is in it, it stays with that.
fn remove(folder: &Path) -> std::io::Result<()> {
    let mut others = 0;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        match path.extension() {
            Some(extension) if extension == spool::EXTENSION => std::fs::remove_file(path)?,
            _ => others += 1,
        }
    }
    if others == 1 {
        std::fs::remove_file(folder.join(OWNER))?;
        std::fs::remove_dir(folder)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A folder with a spool, owned by the process that this text names.
    fn left(within: &Path, name: &str, owner: Option<&str>) -> PathBuf {
        let folder = within.join(name);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("1-0.spool"), "").unwrap();
        if let Some(owner) = owner {
            std::fs::write(folder.join(OWNER), owner).unwrap();
        }
        folder
    }

    #[test]
    fn only_folders_of_ours_whose_owner_is_gone_are_removed() {
        let within = tempfile::tempdir().unwrap();
        let own = std::process::id();
        let started = system::started(own).unwrap();
        let gone = format!("{} 1\n", u32::MAX);
        let of = |name: &str, owner: Option<&str>| left(within.path(), name, owner);
        let stays = [
            of("jetlag-trace-alive", Some(&format!("{own} {started}\n"))),
            of("jetlag-trace-nobody", None),
            of("jetlag-trace-odd", Some("whoever")),
            of("another", Some(&gone)),
            of("jetlag-trace-full", Some(&gone)),
            of("jetlag-trace-locked", Some(&gone)),
        ];
        std::fs::write(stays[4].join("letter.txt"), "dear").unwrap();
        let holder = File::open(stays[5].join(OWNER)).unwrap();
        holder.try_lock().unwrap();
        let goes = [
            of("jetlag-trace-gone", Some(&gone)),
            of("jetlag-trace-again", Some(&format!("{own} {}\n", started + 1))),
        ];
        std::os::unix::fs::symlink(&stays[3], within.path().join("jetlag-trace-link")).unwrap();
        sweep(within.path());
        for folder in &stays {
            assert!(
                folder.join("1-0.spool").exists() || folder == &stays[4],
                "{folder:?}"
            );
        }
        assert!(stays[4].join("letter.txt").exists());
        for folder in &goes {
            assert!(!folder.exists(), "{folder:?}");
        }
    }

    #[test]
    fn a_folder_is_owned_while_it_is_used_and_gone_afterwards() {
        let folder = SpoolFolder::new().unwrap();
        let path = folder.path().to_owned();
        assert!(path.join(OWNER).is_file() && abandoned(&path).is_none());
        // Not even by somebody who sees other processes.
        std::fs::write(path.join(OWNER), format!("{} 1\n", u32::MAX)).unwrap();
        assert!(abandoned(&path).is_none());
        drop(folder);
        assert!(!path.exists());
    }
}
