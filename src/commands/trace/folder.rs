//! The folder that a command's processes write their spools into. It is gone with the trace that it was made for; what a trace that
//! was killed has left is [abandoned](Abandoned), and the next one makes the run file of it (`recover`).
//!
//! The file `owner` in it names the process that it was made for, which holds a lock on the file for as long as it lives, and what
//! the run file was to be ([`Purpose`]). A folder is taken over only if it is this user's, that process is gone, and nobody holds the
//! lock: where `/proc` shows other processes than the owner's (in a container that shares the folder), the lock still does.

use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use jetlag_activity::spool;
use serde::{Deserialize, Serialize};

use super::system;
use crate::files;
use crate::whole;

/// How the names of these folders begin.
const PREFIX: &str = "jetlag-trace-";
/// The file that names the owner.
const OWNER: &str = "owner";
/// It is read up to so many bytes: command lines are in it.
const MOST_OWNER: u64 = 4 << 20;

/// What a trace is to become: all that it takes to make its run file of the spools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Purpose {
    /// Where the run file goes.
    pub(super) out: OsString,
    /// The command, in words.
    pub(super) program: String,
    /// The name of batches.
    pub(super) batch: String,
    /// Batches at the start that are in no figure.
    pub(super) warmup: u64,
    /// Whether the GPU was to be traced.
    pub(super) gpu: bool,
    /// A moment before the command was started, on the run's clock and on the wall's.
    pub(super) at_ns: i64,
    pub(super) unix_ns: i64,
    /// How jetlag was started.
    pub(super) command_line: Vec<String>,
}

/// A folder that only this user may read.
pub(super) struct SpoolFolder {
    folder: tempfile::TempDir,
    /// Locked for as long as it is open.
    _owner: File,
}

impl SpoolFolder {
    /// A new one, for this process.
    pub(super) fn new(purpose: &Purpose) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(Permissions::from_mode(0o700))
            .tempdir();
        let made = folder.and_then(|folder| {
            let _owner = own(folder.path(), purpose)?;
            Ok(SpoolFolder { folder, _owner })
        });
        made.context("no folder can be made for what is traced; TMPDIR names another place")
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Writes down whose folder it is; locked before there is a word in it, so that nobody reads it unlocked.
fn own(folder: &Path, purpose: &Purpose) -> std::io::Result<File> {
    let mut file = whole::private(&folder.join(OWNER))?;
    // A disk that knows no locks has none, and what is left there stays.
    let _ = file.try_lock();
    let process = std::process::id();
    let started = system::started(process).unwrap_or_default();
    let purpose = serde_json::to_string(purpose)?;
    file.write_all(format!("{process} {started}\n{purpose}\n").as_bytes())?;
    Ok(file)
}

/// A folder that a trace of this user left when it was killed.
#[derive(Debug)]
pub(super) struct Abandoned {
    pub(super) path: PathBuf,
    /// What it was to become; none where that was not written to its end.
    pub(super) purpose: Option<Purpose>,
    /// Locked, so that nobody else takes it over.
    _owner: File,
}

impl Abandoned {
    /// Removes it with what a trace puts there. If anything else is in it, it stays with that.
    pub(super) fn remove(&self) {
        // What cannot be removed is left.
        let _ = remove(&self.path);
    }
}

/// The folders within this one that traces of this user left when they were killed.
pub(super) fn all_abandoned(within: &Path) -> Vec<Abandoned> {
    let entries = std::fs::read_dir(within).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    ours.filter_map(|entry| abandoned(entry.path())).collect()
}

/// A folder whose owner is gone.
pub(super) fn abandoned(folder: PathBuf) -> Option<Abandoned> {
    let about = std::fs::symlink_metadata(&folder).ok()?;
    if !about.is_dir() || about.uid() != rustix::process::geteuid().as_raw() {
        return None;
    }
    let file = files::open(&folder.join(OWNER)).ok()?;
    let mut text = String::new();
    (&file).take(MOST_OWNER).read_to_string(&mut text).ok()?;
    let (owner, purpose) = text.split_once('\n')?;
    let (process, started) = owner.split_once(' ')?;
    let (process, started): (u32, u64) = (process.parse().ok()?, started.parse().ok()?);
    if system::lives(process, started) {
        return None;
    }
    file.try_lock().ok()?;
    Some(Abandoned {
        path: folder,
        purpose: serde_json::from_str(purpose).ok(),
        _owner: file,
    })
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
        for left in all_abandoned(within.path()) {
            assert_eq!(left.purpose, None);
            left.remove();
        }
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
        let folder = SpoolFolder::new(&purpose()).unwrap();
        let path = folder.path().to_owned();
        assert!(path.join(OWNER).is_file() && abandoned(path.clone()).is_none());
        // Not even by somebody who sees other processes.
        std::fs::write(path.join(OWNER), format!("{} 1\n", u32::MAX)).unwrap();
        assert!(abandoned(path.clone()).is_none());
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn who_finds_a_folder_knows_what_it_was_to_become() {
        use std::os::unix::ffi::OsStringExt;
        let within = tempfile::tempdir().unwrap();
        let folder = within.path().join("jetlag-trace-left");
        std::fs::create_dir(&folder).unwrap();
        // A path need not be UTF-8.
        let purpose = Purpose {
            out: OsString::from_vec(b"/runs/\xff.mcap".to_vec()),
            ..purpose()
        };
        drop(own(&folder, &purpose).unwrap());
        let text = std::fs::read_to_string(folder.join(OWNER)).unwrap();
        let (_, rest) = text.split_once('\n').unwrap();
        std::fs::write(folder.join(OWNER), format!("{} 1\n{rest}", u32::MAX)).unwrap();
        let left = all_abandoned(within.path());
        assert_eq!(left[0].purpose, Some(purpose));
        assert!(abandoned(folder).is_none(), "it is taken over once");
    }

    fn purpose() -> Purpose {
        Purpose {
            out: "app.mcap".into(),
            program: "app".into(),
            batch: "batch".into(),
            warmup: 1,
            gpu: true,
            at_ns: 5,
            unix_ns: 6,
            command_line: vec!["jetlag".into(), "trace".into()],
        }
    }
}
