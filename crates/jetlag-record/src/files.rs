//! Files that somebody names. What stands under a name may be a pipe that nobody writes to, a device, or a file without end:
//! only regular files are read, without waiting, and no further than a limit.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read};
use std::path::Path;

use crate::units::Bytes;

/// Largest text file that people write: specs, labels, calibrations, manifests.
pub const TEXT: Bytes = Bytes(16 << 20);
/// Largest file of the kernel or a driver (sysfs, procfs) that is read.
pub const KERNEL: Bytes = Bytes(1 << 20);
/// Largest measurement file of another tool.
pub const MEASUREMENTS: Bytes = Bytes(1 << 30);
/// Largest network or plan.
pub const NETWORK: Bytes = Bytes(32 << 30);

/// Opens a regular file for reading. Anything else is refused, and nothing is waited for.
///
/// # Errors
/// The path is not a regular file, or cannot be opened.
pub fn open(path: &Path) -> std::io::Result<File> {
    // Asked before: opening a device may do something.
    regular(&path.metadata()?)?;
    // And afterwards: it may be another one by now, which is then not waited for.
    let file = without_waiting(File::options().read(true)).open(path)?;
    regular(&file.metadata()?)?;
    Ok(file)
}

/// Like [`open`], but also accepts what this program was handed open, such as `/dev/stdin` and a shell's `<(…)`:
/// there, somebody writes to it.
///
/// # Errors
/// As [`open`].
pub fn open_given(path: &Path) -> std::io::Result<File> {
    let handed =
        path == Path::new("/dev/stdin") || path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd");
    match handed {
        true => File::open(path),
        false => open(path),
    }
}

/// The content of a regular file of at most this length.
///
/// # Errors
/// Those of [`open`]; also a file that is longer.
pub fn read(path: &Path, at_most: Bytes) -> std::io::Result<Vec<u8>> {
    up_to(open(path)?, at_most)
}

/// Like [`read`], for text.
///
/// # Errors
/// Those of [`read`]; also content that is not UTF-8.
pub fn read_text(path: &Path, at_most: Bytes) -> std::io::Result<String> {
    text(read(path, at_most)?)
}

/// Like [`read`], for what [`open_given`] accepts.
///
/// # Errors
/// Those of [`read`].
pub fn read_given(path: &Path, at_most: Bytes) -> std::io::Result<Vec<u8>> {
    up_to(open_given(path)?, at_most)
}

/// Like [`read_given`], for text.
///
/// # Errors
/// Those of [`read`]; also content that is not UTF-8.
pub fn read_given_text(path: &Path, at_most: Bytes) -> std::io::Result<String> {
    text(read_given(path, at_most)?)
}

/// The rest of an open file, of at most this length.
///
/// # Errors
/// A file that is longer, or cannot be read.
pub fn up_to(file: impl Read, at_most: Bytes) -> std::io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(at_most.0.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > at_most.0 {
        return Err(Error::new(
            ErrorKind::FileTooLarge,
            format!("it is larger than {at_most}; is it the right file?"),
        ));
    }
    Ok(content)
}

fn text(content: Vec<u8>) -> std::io::Result<String> {
    String::from_utf8(content).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::new(
            ErrorKind::InvalidData,
            format!("it is not UTF-8 text at byte {at}"),
        )
    })
}

/// Without this, opening a pipe that nobody writes to would block.
#[cfg(unix)]
pub(crate) fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
}

/// Elsewhere files have no such names.
#[cfg(not(unix))]
pub(crate) fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

pub(crate) fn regular(facts: &std::fs::Metadata) -> std::io::Result<()> {
    let kind = facts.file_type();
    if kind.is_file() {
        return Ok(());
    }
    if kind.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    Err(Error::new(
        ErrorKind::InvalidInput,
        format!("it is {}, not a regular file", special(kind)),
    ))
}

#[cfg(unix)]
fn special(kind: std::fs::FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match () {
        () if kind.is_fifo() => "a named pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    }
}

#[cfg(not(unix))]
fn special(_: std::fs::FileType) -> &'static str {
    "a device"
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write;
    use std::path::PathBuf;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn only_regular_files_are_read_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| -> PathBuf { folder.path().join(name) };
        mknodat(CWD, at("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        std::os::unix::fs::symlink(at("fifo"), at("link")).unwrap();
        for (name, what) in [
            ("fifo", "a named pipe"),
            ("link", "a named pipe"),
            ("socket", "a socket"),
            ("/dev/zero", "a device"),
            (".", "directory"),
        ] {
            let refused = read(&at(name), TEXT).unwrap_err().to_string();
            assert!(refused.contains(what), "{name}: {refused}");
            let refused = read_given(&at(name), TEXT).unwrap_err().to_string();
            assert!(refused.contains(what), "{name}: {refused}");
        }
        assert_eq!(read(&at("none"), TEXT).unwrap_err().kind(), ErrorKind::NotFound);
        // Files of the kernel have no length of their own.
        assert!(!read(Path::new("/proc/self/status"), KERNEL).unwrap().is_empty());
    }

    #[test]
    fn no_more_is_read_than_was_agreed_on() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"12345").unwrap();
        assert_eq!(read_text(file.path(), Bytes(5)).unwrap(), "12345");
        let refused = read(file.path(), Bytes(4)).unwrap_err();
        assert!(refused.to_string().contains("larger than 4 B"), "{refused}");
        file.write_all(b"\xff").unwrap();
        let refused = read_text(file.path(), TEXT).unwrap_err().to_string();
        assert!(refused.contains("at byte 5"), "{refused}");
    }

    #[test]
    fn a_pipe_that_was_handed_over_is_read() {
        let (from, mut to) = std::io::pipe().unwrap();
        to.write_all(b"()").unwrap();
        drop(to);
        let name = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&from));
        assert_eq!(read_given_text(Path::new(&name), TEXT).unwrap(), "()");
        assert!(read(Path::new(&name), TEXT).is_err());
    }
}
