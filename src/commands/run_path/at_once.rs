//! A run file that is made in one piece when everything is known: nothing is at its path before it is whole.

use std::fs::{File, Permissions};
use std::io::{BufWriter, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::{Folders, Reserved, TRIES, cannot_create};
use crate::record::Manifest;
use crate::record::writer::{RecordError, RunWriter};
use crate::whole;

/// Where it goes.
#[derive(Debug)]
pub(in crate::commands) struct AtOnce {
    path: PathBuf,
    /// Whether what is there is replaced.
    replace: bool,
    _folders: Folders,
}

impl AtOnce {
    /// `runs/STEM-TIME.mcap`, or the next name that is free then.
    pub(in crate::commands) fn named(stem: &str) -> anyhow::Result<AtOnce> {
        Ok(AtOnce::in_place_of(Reserved::named(stem)?, false))
    }

    /// The file that was asked for with `option`; refused as [`Reserved::asked`] does, and now: what comes first may take long.
    pub(in crate::commands) fn asked(path: &Path, option: &str, replace: bool) -> anyhow::Result<AtOnce> {
        Ok(AtOnce::in_place_of(
            Reserved::asked(path, option, replace)?,
            replace,
        ))
    }

    /// This file, or the next name beside it that is free then: what is there stays, whatever it is.
    pub(in crate::commands) fn free(path: &Path) -> anyhow::Result<AtOnce> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        Ok(AtOnce {
            path: path.to_owned(),
            replace: false,
            _folders: folder.map(Folders::make).transpose()?.unwrap_or_default(),
        })
    }

    /// Dropped, it leaves everything as it was.
    fn in_place_of(mut reserved: Reserved, replace: bool) -> AtOnce {
        AtOnce {
            _folders: std::mem::take(&mut reserved.folders),
            path: reserved.path().to_owned(),
            // A file that was taken although nothing is to be replaced is empty, or a device.
            replace: replace || reserved.made().is_none(),
        }
    }

    pub(in crate::commands) fn path(&self) -> &Path {
        &self.path
    }

    /// Has it written, and then puts it in its place; where that is: a run that came there meanwhile stays, and this one takes the
    /// next free name. What could not be written to its end is put there as well, as far as it goes.
    pub(in crate::commands) fn record<T>(
        self,
        manifest: &Manifest,
        write: impl FnOnce(RunWriter) -> anyhow::Result<T>,
    ) -> anyhow::Result<(PathBuf, T)> {
        let path = self.path.clone();
        let over = |file: File| RunWriter::over(BufWriter::new(file), &path, manifest);
        let cannot = |error| cannot_create(&path, error);
        if path.exists() && !path.is_file() {
            // A device takes what it is given.
            let device = whole::existing(&path).map_err(cannot)?;
            let told = write(over(device)?)?;
            return Ok((self.path, told));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let beside = tempfile::Builder::new()
            .prefix(".jetlag-")
            .suffix(".part")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder.unwrap_or(Path::new(".")))
            .map_err(cannot)?;
        let written = write(over(beside.reopen().map_err(cannot)?)?);
        let placed = self.place(beside, &path)?;
        Ok((placed, written?))
    }

    fn place(self, mut beside: NamedTempFile, path: &Path) -> Result<PathBuf, RecordError> {
        if self.replace {
            return match beside.persist(path) {
                Ok(_) => Ok(self.path),
                Err(failed) => Err(cannot_create(path, failed.error)),
            };
        }
        for n in 1..=TRIES {
            let free = match n {
                1 => path.to_owned(),
                _ => numbered(path, n),
            };
            beside = match beside.persist_noclobber(&free) {
                Ok(_) if n == 1 => return Ok(self.path),
                Ok(_) => return Ok(free),
                Err(failed) if failed.error.kind() == ErrorKind::AlreadyExists => failed.file,
                Err(failed) => return Err(cannot_create(path, failed.error)),
            };
        }
        Err(cannot_create(path, ErrorKind::AlreadyExists.into()))
    }
}

/// `app-2.mcap` beside `app.mcap`.
fn numbered(path: &Path, n: u32) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{n}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::{Contents, contents};
    use super::*;
    use crate::record::Subject;
    use crate::units::Stamp;

    fn manifest() -> Manifest {
        Manifest {
            schema_major: 1,
            schema_minor: 0,
            jetlag_version: String::new(),
            command_line: Vec::new(),
            subject: Subject::Name("app".to_owned()),
            tenants: Vec::new(),
            machine: Default::default(),
            anchor: Stamp(0),
            anchor_unix_ns: 0,
            unknown: Vec::new(),
        }
    }

    fn finish(writer: RunWriter) -> anyhow::Result<()> {
        writer.finish()?;
        Ok(())
    }

    #[test]
    fn it_is_not_there_before_it_is_whole_and_what_came_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.mcap");
        let [first, second] = [(); 2].map(|()| AtOnce::asked(&path, "--out", false).unwrap());
        assert!(!path.exists());
        let whole = |writer: RunWriter| {
            assert!(!path.exists());
            finish(writer)
        };
        assert_eq!(first.record(&manifest(), whole).unwrap().0, path);
        let beside = second.record(&manifest(), finish).unwrap().0;
        assert_eq!(beside, folder.path().join("app-2.mcap"));
        let all = std::fs::read_dir(folder.path()).unwrap();
        assert_eq!(all.count(), 2, "nothing else is left");
    }

    #[test]
    fn an_older_run_is_replaced_where_that_was_asked_for_and_an_empty_file_is_filled() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.mcap");
        std::fs::write(&path, "").unwrap();
        let empty = AtOnce::asked(&path, "--out", false).unwrap();
        assert_eq!(empty.record(&manifest(), finish).unwrap().0, path);
        assert!(AtOnce::asked(&path, "--out", false).is_err());
        let link = folder.path().join("link.mcap");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let before = std::fs::read(&path).unwrap();
        let mut other = manifest();
        other.command_line.push("another".to_owned());
        let refused = AtOnce::asked(&link, "--out", true).map(|_| ()).unwrap_err();
        assert!(format!("{refused:#}").contains("a link to"), "{refused:#}");
        let replacing = AtOnce::asked(&path, "--out", true).unwrap();
        assert_eq!(replacing.record(&other, finish).unwrap().0, path);
        assert_ne!(std::fs::read(&path).unwrap(), before);
    }

    #[test]
    fn what_was_written_before_something_failed_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.mcap");
        let file = AtOnce::asked(&path, "--out", false).unwrap();
        let failed = file.record(&manifest(), |_| -> anyhow::Result<()> {
            anyhow::bail!("no room")
        });
        assert_eq!(failed.unwrap_err().to_string(), "no room");
        assert!(matches!(contents(&path), Contents::Run));
    }

    #[test]
    fn a_device_takes_what_it_is_given() {
        let file = AtOnce::asked(Path::new("/dev/null"), "--out", false).unwrap();
        let (path, ()) = file.record(&manifest(), finish).unwrap();
        assert_eq!(path, Path::new("/dev/null"));
    }
}
