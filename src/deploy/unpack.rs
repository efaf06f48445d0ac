//! Unpacks what a board sends of a run. The board may be anybody's: only files that are asked for are written, under names
//! made here, in a folder made here, and no more of them than was agreed on. No link is followed, because none is made.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tar::{Archive, Entry, EntryType};

use crate::units::Bytes;

/// The longest name that is read.
const NAME: u64 = 4096;
/// What is written below the folder that was given: the run file, its log, and the folder of manifests.
pub(super) const UNPACKED: [&str; 3] = [RUN, LOG, PLANS];
const RUN: &str = "run";
const LOG: &str = "log";
const PLANS: &str = "plans";

/// What was written, below the folder that was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// The run file; `None` where the board sent none.
    pub run: Option<PathBuf>,
    /// The log of the run; `None` where the board sent none.
    pub log: Option<PathBuf>,
    /// The folder of the manifests, where there is one at least.
    pub manifests: Option<PathBuf>,
}

/// Why not all was unpacked.
#[allow(missing_docs, reason = "the messages say it")]
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    #[error("it sent {name}, which is not a regular file")]
    NotAFile { name: String },
    #[error("it sent {name} twice")]
    Twice { name: String },
    #[error("it sent more than {0}; raise the limit with --at-most")]
    TooMuch(Bytes),
    #[error("the data is not an archive of a run: {0}")]
    NoArchive(io::Error),
    #[error("it ended before all was sent; fetch again")]
    Cut,
    #[error("{name} changed while it was fetched")]
    Changed { name: String },
    #[error("{} cannot be written: {error}; name another folder with --out", path.display())]
    Here { path: PathBuf, error: io::Error },
}

/// Unpacks the run `name` into the folder `work`, which is empty.
pub fn unpack(archive: impl Read, name: &str, work: &Path, at_most: Bytes) -> Result<Unpacked, UnpackError> {
    let mut archive = Archive::new(archive);
    let mut left = at_most.0;
    let mut found = Unpacked::default();
    let mut long_name = None;
    // Raw: extensions of the format, which may claim any length, are ours to read.
    let entries = archive.entries().map_err(UnpackError::NoArchive)?.raw(true);
    for entry in entries {
        let mut entry = entry.map_err(UnpackError::NoArchive)?;
        if entry.header().entry_type() == EntryType::GNULongName {
            long_name = Some(text(&mut entry)?);
            continue;
        }
        let sent = match long_name.take() {
            Some(name) => name,
            None => String::from_utf8_lossy(&entry.path_bytes()).into_owned(),
        };
        let sent = sent.strip_prefix("./").unwrap_or(&sent);
        let to = if sent == format!("{name}.mcap") {
            let to = work.join(RUN);
            found.run = Some(to.clone());
            to
        } else if sent == "log" {
            let to = work.join(LOG);
            found.log = Some(to.clone());
            to
        } else if is_manifest(sent) {
            let folder = work.join(PLANS);
            fs::create_dir_all(&folder).map_err(|error| UnpackError::Here {
                path: folder.clone(),
                error,
            })?;
            found.manifests = Some(folder.clone());
            folder.join(sent)
        } else {
            continue;
        };
        if entry.header().entry_type() != EntryType::Regular {
            return Err(UnpackError::NotAFile {
                name: sent.to_owned(),
            });
        }
        left = copy(&mut entry, &to, left).map_err(|problem| match problem {
            Problem::TooMuch => UnpackError::TooMuch(at_most),
            Problem::There(error) => UnpackError::NoArchive(error),
            Problem::Here(error) if error.kind() == io::ErrorKind::AlreadyExists => UnpackError::Twice {
                name: sent.to_owned(),
            },
            Problem::Here(error) => UnpackError::Here {
                path: to.clone(),
                error,
            },
        })?;
    }
    Ok(found)
}

enum Problem {
    TooMuch,
    There(io::Error),
    Here(io::Error),
}

/// Writes an entry to a new file; what is left of the limit.
fn copy(entry: &mut impl Read, to: &Path, mut left: u64) -> Result<u64, Problem> {
    let mut file = File::create_new(to).map_err(Problem::Here)?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let got = entry.read(&mut buffer).map_err(Problem::There)?;
        if got == 0 {
            return Ok(left);
        }
        left = left.checked_sub(got as u64).ok_or(Problem::TooMuch)?;
        io::Write::write_all(&mut file, &buffer[..got]).map_err(Problem::Here)?;
    }
}

/// A name that the format has in an entry of its own.
fn text(entry: &mut Entry<'_, impl Read>) -> Result<String, UnpackError> {
    let mut name = Vec::new();
    entry
        .take(NAME)
        .read_to_end(&mut name)
        .map_err(UnpackError::NoArchive)?;
    let name = name.strip_suffix(b"\0").unwrap_or(&name);
    Ok(String::from_utf8_lossy(name).into_owned())
}

/// `KEY.plan.json`, in letters that mean nothing in a path.
fn is_manifest(sent: &str) -> bool {
    let stem = sent.strip_suffix(".plan.json").unwrap_or_default();
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !stem.is_empty() && !stem.starts_with('.') && stem.chars().all(legal)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tar::{Builder, Header};

    use super::*;

    type Sent<'a> = (&'a str, EntryType, &'a [u8]);

    fn archive(entries: &[Sent<'_>]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (name, kind, content) in entries {
            let mut header = Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_mode(0o644);
            header.set_size(content.len() as u64);
            // As it stands: the crate would refuse to pack what a board may well send.
            header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
            if kind.is_symlink() {
                header.set_link_name("/etc/passwd").unwrap();
            }
            header.set_cksum();
            builder.append(&header, *content).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn unpacked(entries: &[Sent<'_>], at_most: u64) -> (tempfile::TempDir, Result<Unpacked, UnpackError>) {
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().join("work");
        fs::create_dir(&work).unwrap();
        let result = unpack(&archive(entries)[..], "r", &work, Bytes(at_most));
        (folder, result)
    }

    const FILE: EntryType = EntryType::Regular;

    #[test]
    fn a_run_its_log_and_manifests_are_written_under_names_of_our_own() {
        let (folder, result) = unpacked(
            &[
                ("./r.mcap", FILE, b"run"),
                ("./log", FILE, b"said"),
                ("./a-1.plan.json", FILE, b"{}"),
            ],
            100,
        );
        let work = folder.path().join("work");
        let found = result.unwrap();
        assert_eq!(fs::read(found.run.unwrap()).unwrap(), b"run");
        assert_eq!(fs::read(work.join("log")).unwrap(), b"said");
        assert_eq!(fs::read(work.join("plans/a-1.plan.json")).unwrap(), b"{}");
    }

    #[test]
    fn nothing_else_is_written_whatever_it_is_called() {
        let (folder, result) = unpacked(
            &[
                ("../r.mcap", FILE, b"x"),
                ("/tmp/r.mcap", FILE, b"x"),
                ("../victim", FILE, b"x"),
                ("plans/../../x.plan.json", FILE, b"x"),
                ("..plan.json", FILE, b"x"),
                (".plan.json", FILE, b"x"),
                ("other.mcap", FILE, b"x"),
                ("work/log", FILE, b"x"),
                ("folder", EntryType::Directory, b""),
            ],
            100,
        );
        assert_eq!(result.unwrap(), Unpacked::default());
        let all: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(all.len(), 1, "{all:?}");
        assert_eq!(fs::read_dir(folder.path().join("work")).unwrap().count(), 0);
    }

    #[test]
    fn what_is_no_regular_file_is_refused() {
        for kind in [
            EntryType::Symlink,
            EntryType::Link,
            EntryType::Fifo,
            EntryType::Char,
            EntryType::Directory,
            EntryType::GNUSparse,
        ] {
            for name in ["log", "r.mcap", "x.plan.json"] {
                let (_folder, result) = unpacked(&[(name, kind, b"")], 100);
                let refused = result.unwrap_err();
                assert!(
                    matches!(refused, UnpackError::NotAFile { .. }),
                    "{kind:?}: {refused}"
                );
            }
        }
    }

    #[test]
    fn a_link_cannot_be_written_through_by_sending_a_name_twice() {
        let (_folder, result) = unpacked(&[("log", FILE, b"a"), ("./log", FILE, b"b")], 100);
        assert!(matches!(result, Err(UnpackError::Twice { .. })), "{result:?}");
    }

    #[test]
    fn more_than_was_agreed_on_is_refused() {
        let sent: [Sent<'_>; 2] = [("log", FILE, &[0; 60]), ("r.mcap", FILE, &[0; 60])];
        assert!(unpacked(&sent, 120).1.is_ok());
        assert!(matches!(unpacked(&sent, 119).1, Err(UnpackError::TooMuch(_))));
    }

    #[test]
    fn an_archive_that_breaks_off_or_is_none_is_refused() {
        let whole = archive(&[("r.mcap", FILE, &[7; 2000])]);
        let folder = tempfile::tempdir().unwrap();
        for (n, cut) in [&whole[..1000], &[0xff; 4096]].into_iter().enumerate() {
            let work = folder.path().join(n.to_string());
            fs::create_dir(&work).unwrap();
            let result = unpack(cut, "r", &work, Bytes(10_000));
            assert!(matches!(result, Err(UnpackError::NoArchive(_))), "{result:?}");
        }
    }
}
