//! Where a run file goes: the name is taken in the moment it is chosen, and an older run is never replaced unasked. One that is
//! not recorded while something runs but made afterwards goes there in one piece (`at_once`).

#[cfg(feature = "trace")]
mod at_once;

use std::fs::{File, TryLockError};
use std::io::{BufWriter, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;

use super::outcome::WrongUse;
use crate::record::writer::{RecordError, RunWriter};
use crate::record::{Manifest, Utc};
use crate::{files, whole};

#[cfg(feature = "trace")]
pub(super) use at_once::AtOnce;

/// Folders that were made for a file: those in which nothing is in the end go with this.
#[derive(Debug, Default)]
pub(super) struct Folders(Vec<PathBuf>);

impl Folders {
    /// This folder and those above it, as far as they are not there.
    pub(super) fn make(folder: &Path) -> Result<Folders, WrongUse> {
        let missing = folder
            .ancestors()
            .take_while(|folder| !folder.as_os_str().is_empty() && folder.symlink_metadata().is_err());
        let made = Folders(missing.map(Path::to_owned).collect());
        std::fs::create_dir_all(folder).map_err(|error| {
            WrongUse(format!(
                "cannot create the folder {} for the run file: {error}; name a path in a writable folder with --out",
                folder.display()
            ))
        })?;
        Ok(made)
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        // The innermost first; one that holds something stays.
        for folder in &self.0 {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Names that are tried before a folder is taken to be full of them.
const TRIES: u32 = 10_000;

/// A file that is ours to record to. What is dropped before it is recorded to leaves no trace: no new file, and an older
/// run as it was.
#[derive(Debug)]
pub(super) struct Reserved {
    path: PathBuf,
    file: Option<File>,
    /// Whether it was made here.
    new: bool,
    folders: Folders,
}

impl Reserved {
    /// `runs/STEM-TIME.mcap`, or the next name that is free: `runs/STEM-TIME-2.mcap`.
    pub(super) fn named(stem: &str) -> anyhow::Result<Reserved> {
        let stem = format!("{stem}-{}", Utc::of(unix_seconds()).compact());
        let folder = Path::new("runs");
        let folders = Folders::make(folder)?;
        for n in 1..=TRIES {
            let name = match n {
                1 => format!("{stem}.mcap"),
                _ => format!("{stem}-{n}.mcap"),
            };
            match Reserved::new(&folder.join(name)) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error).context(format!(
                        "cannot create a run file in {}; name another path with --out",
                        folder.display()
                    ));
                }
                Ok(mut reserved) => {
                    reserved.folders = folders;
                    return Ok(reserved);
                }
            }
        }
        anyhow::bail!("{TRIES} names for the run file already exist; name one with --out")
    }

    /// The file that was asked for with `option`. An older run stays, unless it is to be replaced; what is no run file always
    /// does.
    pub(super) fn asked(path: &Path, option: &str, replace: bool) -> anyhow::Result<Reserved> {
        let folders = match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            Some(folder) => Folders::make(folder)?,
            None => Folders::default(),
        };
        match Reserved::new(path) {
            Ok(mut reserved) => {
                reserved.folders = folders;
                return Ok(reserved);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(cannot_create(path, error).into()),
        }
        refuse_what_is_no_file(path, option)?;
        if path.is_file() {
            match contents(path) {
                Contents::Nothing => {}
                Contents::Run if replace => {}
                Contents::Run => {
                    return Err(WrongUse(format!(
                        "{} is an existing run; name another file with {option}, or overwrite it with --force",
                        path.display()
                    ))
                    .into());
                }
                Contents::Other => {
                    return Err(WrongUse(format!(
                        "{} already exists and is not a run file; name another path with {option}",
                        path.display()
                    ))
                    .into());
                }
            }
        }
        // Not emptied before something is recorded: until then the run may yet be refused.
        let opened = whole::existing(path);
        let file = opened.map_err(|error| cannot_create(path, error))?;
        // A device such as /dev/null keeps nothing of a run that another one could spoil.
        if path.is_file() && matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(WrongUse(format!(
                "another run is being recorded to {}; name another file with {option}",
                path.display()
            ))
            .into());
        }
        Ok(Reserved {
            path: path.to_owned(),
            file: Some(file),
            new: false,
            folders,
        })
    }

    fn new(path: &Path) -> std::io::Result<Reserved> {
        let file = File::create_new(path)?;
        // Held as long as it is open, so that nobody else takes a file that is still empty. A disk that knows no locks has
        // none.
        let _ = file.try_lock();
        Ok(Reserved {
            file: Some(file),
            path: path.to_owned(),
            new: true,
            folders: Folders::default(),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The path, where nothing was there before.
    pub(super) fn made(&self) -> Option<&Path> {
        self.new.then_some(&self.path)
    }

    /// Empties it and writes the manifest.
    pub(super) fn record(mut self, manifest: &Manifest) -> anyhow::Result<RunWriter> {
        let file = self.file.take().context("a run file is recorded to once")?;
        if file.metadata().is_ok_and(|is| is.is_file()) {
            file.set_len(0)
                .map_err(|error| cannot_create(&self.path, error))?;
        }
        Ok(RunWriter::over(BufWriter::new(file), &self.path, manifest)?)
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if self.new && self.file.take().is_some() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// What is there and would keep a run waiting, or be destroyed by it. A character device (`/dev/null`) takes what it is given.
fn refuse_what_is_no_file(path: &Path, option: &str) -> Result<(), WrongUse> {
    use std::os::unix::fs::FileTypeExt;
    let is = match std::fs::metadata(path) {
        Ok(there) => there.file_type(),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(WrongUse(format!(
                "{} is a broken link; name another file with {option}",
                path.display()
            )));
        }
        // Opening it says what is wrong.
        Err(_) => return Ok(()),
    };
    let what = if is.is_dir() {
        "a folder"
    } else if is.is_fifo() {
        "a named pipe"
    } else if is.is_socket() {
        "a socket"
    } else if is.is_block_device() {
        "a disk"
    } else {
        return Ok(());
    };
    Err(WrongUse(format!(
        "{} is {what}; name a file with {option}",
        path.display()
    )))
}

fn cannot_create(path: &Path, error: std::io::Error) -> RecordError {
    RecordError::Create {
        path: path.to_owned(),
        error,
    }
}

/// What a file that is there already has in it.
enum Contents {
    Nothing,
    Run,
    Other,
}

fn contents(path: &Path) -> Contents {
    let mut start = Vec::new();
    let magic = crate::record::MAGIC;
    match files::open(path).and_then(|file| file.take(magic.len() as u64).read_to_end(&mut start)) {
        Ok(0) => Contents::Nothing,
        Ok(_) if start == magic => Contents::Run,
        _ => Contents::Other,
    }
}

/// Seconds since 1970; 0 on a machine whose clock is before.
pub(super) fn unix_seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// Whether a file is a run file, by how it begins.
pub(super) fn is_run_file(path: &Path) -> bool {
    matches!(contents(path), Contents::Run)
}

/// Refuses to write over a file, unless that was asked for; never over a run file: it is what was measured, and a page or a table can
/// be made of it again.
pub(super) fn spare_files(output: &Path, replace: bool) -> anyhow::Result<()> {
    if is_run_file(output) {
        let problem = format!(
            "{} is a run file and would be overwritten; name another file for the output",
            output.display()
        );
        return Err(WrongUse(problem).into());
    }
    // What is no file (`/dev/stdout`, a pipe) holds nothing.
    if !replace && output.is_file() {
        let problem = format!(
            "{} exists; overwrite it with --force, or name another file",
            output.display()
        );
        return Err(WrongUse(problem).into());
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_taken_when_it_is_chosen_and_given_back_where_nothing_is_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("below/run.mcap");
        let first = Reserved::asked(&path, "--out", false).unwrap();
        let taken = Reserved::asked(&path, "--out", true).unwrap_err().to_string();
        assert!(taken.contains("another run"), "{taken}");
        drop(first);
        assert!(!path.exists());
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            0,
            "nor its folder"
        );
        // A folder that holds something, or that was there, stays.
        let deep = folder.path().join("a/b/run.mcap");
        let first = Reserved::asked(&deep, "--out", false).unwrap();
        std::fs::write(folder.path().join("a/note"), "").unwrap();
        drop(first);
        assert!(folder.path().join("a").exists() && !folder.path().join("a/b").exists());
        drop(Reserved::asked(&folder.path().join("a/run.mcap"), "--out", false).unwrap());
        assert!(folder.path().join("a").exists());
    }

    #[test]
    fn an_older_run_stays_until_the_new_one_is_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.mcap");
        std::fs::write(&path, [crate::record::MAGIC, b"older"].concat()).unwrap();
        let refused = Reserved::asked(&path, "--out", false).unwrap_err().to_string();
        assert!(refused.contains("--force"), "{refused}");
        drop(Reserved::asked(&path, "--out", true).unwrap());
        assert!(std::fs::read(&path).unwrap().ends_with(b"older"));
    }

    #[test]
    fn what_is_no_file_is_refused_and_a_device_that_takes_everything_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link.mcap");
        std::os::unix::fs::symlink(folder.path().join("nothing"), &link).unwrap();
        let pipe = folder.path().join("pipe.mcap");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let socket = folder.path().join("socket.mcap");
        let _bound = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for (path, said) in [
            (link.as_path(), "a broken link"),
            (&pipe, "a named pipe"),
            (&socket, "a socket"),
            (folder.path(), "a folder"),
        ] {
            for replace in [false, true] {
                let refused = Reserved::asked(path, "--out", replace).unwrap_err();
                assert!(
                    refused.is::<WrongUse>() && refused.to_string().contains(said),
                    "{refused}"
                );
            }
        }
        Reserved::asked(Path::new("/dev/null"), "--out", false).unwrap();
    }

    #[test]
    fn what_is_no_run_file_is_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("letter.txt");
        std::fs::write(&path, "dear").unwrap();
        for replace in [false, true] {
            let refused = Reserved::asked(&path, "--out", replace).unwrap_err().to_string();
            assert!(refused.contains("is not a run file"), "{refused}");
        }
    }
}
