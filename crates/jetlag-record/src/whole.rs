//! The one way in which files are written. No link is followed, and nothing is replaced unasked: a name in a folder that somebody
//! else made may lead anywhere.
//!
//! What is written in one piece is whole or not there at all ([`write_whole`], [`Unfinished`]): it stands under another name first, is
//! forced to the disk, and then renamed. What grows while it is written, and what somebody names on the command line, is a file that
//! is [created](create) or [was there](existing). [`shared`] is for locks and journals, [`private`] for what nobody else may read, and
//! [`set`] for settings of the kernel. A test of the suite holds that there is no other way (`tests/house/writing.rs`).

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Error, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::files::{regular, without_waiting};

/// How the name ends that a file has until it is whole.
pub const UNFINISHED: &str = ".unfinished";

/// Writes a file under another name, forces it to the disk, and renames it. What had the name before is gone, be it a link.
///
/// # Errors
/// What the system says.
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    Unfinished::write(path, content)?.rename(path)
}

/// A file that is whole on the disk and not yet under its name; removed if it never gets it.
#[derive(Debug)]
pub struct Unfinished(PathBuf);

impl Unfinished {
    /// Writes it beside `path`, under a name that nobody has.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(path: &Path, content: &[u8]) -> io::Result<Self> {
        Unfinished::with(path, |out| out.write_all(content))
    }

    /// Like [`write`](Self::write), for what is made piece by piece.
    ///
    /// # Errors
    /// What the system says.
    pub fn with(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<Self> {
        // Process numbers alone repeat where containers share a folder.
        let random: u64 =
            std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), std::process::id());
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{random:016x}{UNFINISHED}"));
        let name = PathBuf::from(name);
        // What another left under this name stays.
        let mut out = BufWriter::new(File::create_new(&name)?);
        let unfinished = Self(name);
        write(&mut out)?;
        out.flush()?;
        out.get_ref().sync_all()?;
        Ok(unfinished)
    }

    /// Gives it its name; what had it before is gone.
    ///
    /// # Errors
    /// What the system says.
    pub fn rename(self, path: &Path) -> io::Result<()> {
        fs::rename(&self.0, path)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After renaming there is nothing under this name any more.
        let _ = fs::remove_file(&self.0);
    }
}

/// An empty file of this name. One that is there stays, and is emptied only where that was asked for; a device and a pipe take what
/// they are given.
///
/// # Errors
/// Something is there and is not to be replaced, or is a link; what the system says.
pub fn create(path: &Path, replace: bool) -> io::Result<File> {
    match File::create_new(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        made => return made,
    }
    let file = existing(path)?;
    if !is_handed(path) && file.metadata()?.is_file() {
        if !replace {
            return Err(ErrorKind::AlreadyExists.into());
        }
        file.set_len(0)?;
    }
    Ok(file)
}

/// [Creates](create) a file with this content.
///
/// # Errors
/// Those of [`create`].
pub fn write(path: &Path, content: impl AsRef<[u8]>, replace: bool) -> io::Result<()> {
    create(path, replace)?.write_all(content.as_ref())
}

/// A file that is there, for writing from its beginning; nothing of it is changed yet. A device and a pipe take what they are given,
/// also through a link, since they keep nothing that was there before.
///
/// # Errors
/// It is a link to a file, a folder, a socket or a disk; what the system says.
pub fn existing(path: &Path) -> io::Result<File> {
    if is_handed(path) {
        // What this program was given may hold something already.
        return OpenOptions::new().append(true).open(path);
    }
    let kind = match path.metadata() {
        Ok(about) => about.file_type(),
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(followed(path).unwrap_or(error)),
        Err(error) => return Err(error),
    };
    if takes_everything(kind) {
        return OpenOptions::new().write(true).open(path);
    }
    unfollowed(path, OpenOptions::new().write(true))
}

/// A file that several processes use, for reading and writing: made where it is not there, and never emptied here.
///
/// # Errors
/// It is a link or no regular file; what the system says.
pub fn shared(path: &Path) -> io::Result<File> {
    unfollowed(
        path,
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false),
    )
}

/// A new file that only this user may read.
///
/// # Errors
/// Something has the name; what the system says.
pub fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Writes a setting of the kernel: a regular file that exists. The kernel's folders hold links of its own, so they are followed.
///
/// # Errors
/// The path is not a regular file, or cannot be written.
pub fn set(path: &Path, content: &str) -> io::Result<()> {
    regular(&path.metadata()?)?;
    let mut file = without_waiting(OpenOptions::new().write(true).truncate(true)).open(path)?;
    regular(&file.metadata()?)?;
    file.write_all(content.as_bytes())
}

/// Opens a regular file, and no link to one.
fn unfollowed(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let opened = no_link(options).open(path);
    // The system's own words for a link are of too many of them.
    let file = opened.map_err(|error| followed(path).unwrap_or(error))?;
    regular(&file.metadata()?)?;
    Ok(file)
}

/// What is wrong with a link.
fn followed(path: &Path) -> Option<Error> {
    let to = fs::read_link(path).ok()?;
    let there = match path.exists() {
        true => "a link",
        false => "a broken link",
    };
    let said = format!(
        "it is {there} to {}, and no link is written through; name the file itself",
        to.display()
    );
    Some(Error::new(ErrorKind::InvalidInput, said))
}

/// Whether it is something that this program was handed open, by the name that the system has for it.
fn is_handed(path: &Path) -> bool {
    ["/dev/stdout", "/dev/stderr"]
        .iter()
        .any(|name| path == Path::new(name))
        || path.starts_with("/dev/fd")
        || path.starts_with("/proc/self/fd")
}

#[cfg(unix)]
fn takes_everything(kind: fs::FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_char_device() || kind.is_fifo()
}

#[cfg(not(unix))]
fn takes_everything(_: fs::FileType) -> bool {
    false
}

/// Nor is a pipe waited for that took the file's place.
#[cfg(unix)]
fn no_link(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    options.custom_flags(flags.bits().cast_signed())
}

#[cfg(not(unix))]
fn no_link(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_link_is_written_through_and_what_it_leads_to_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("theirs"), "dear").unwrap();
        symlink(at("theirs"), at("link")).unwrap();
        symlink(at("nothing"), at("broken")).unwrap();
        for (name, what) in [("link", "a link to"), ("broken", "a broken link to")] {
            let ways: [io::Result<File>; 4] = [
                create(&at(name), false),
                create(&at(name), true),
                existing(&at(name)),
                shared(&at(name)),
            ];
            for way in ways {
                let refused = way.unwrap_err().to_string();
                assert!(refused.contains(what), "{name}: {refused}");
            }
            assert!(private(&at(name)).is_err());
        }
        write_whole(&at("link"), b"ours").unwrap();
        assert!(!at("link").is_symlink(), "it was replaced");
        assert_eq!(fs::read_to_string(at("theirs")).unwrap(), "dear");
        assert!(!at("nothing").exists());
    }

    #[test]
    fn nothing_is_replaced_unasked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("letter");
        write(&path, "dear", false).unwrap();
        assert_eq!(
            write(&path, "x", false).unwrap_err().kind(),
            ErrorKind::AlreadyExists
        );
        shared(&path).unwrap();
        existing(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "dear");
        write(&path, "x", true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "x");
    }

    #[test]
    fn a_device_takes_what_it_is_given_and_a_folder_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        symlink("/dev/null", &link).unwrap();
        write(Path::new("/dev/null"), "x", false).unwrap();
        write(&link, "x", false).unwrap();
        assert!(write(folder.path(), "x", true).is_err());
        for what in [link.as_path(), folder.path()] {
            assert!(shared(what).is_err(), "a lock is a file");
            assert!(set(what, "1").is_err(), "and so is a setting");
        }
    }
}
