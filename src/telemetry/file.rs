//! One number in one file of the kernel's, read again and again.
//!
//! The file stays open: reading it from its start makes the kernel write it anew, at a third of the cost of
//! opening it each time. Many files of debugfs cannot be read from a place that is asked for, though (the kernel's
//! simple attributes are opened as files that do not seek, and answer `ESPIPE`): those are opened for each reading.
//! Why a number could not be had is kept apart from any number: a sensor that is gated, forbidden or gone has no
//! value, and never zero.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::fstat;
use rustix::io::Errno;

use crate::files;

/// Longer than any number that the kernel writes.
const LONGEST: usize = 64;

/// Why there is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// No such file (any more), or its device is gone.
    Missing,
    /// It takes rights that this process has not.
    Denied,
    /// It is there and cannot answer now: its domain is switched off.
    Gated,
    /// It holds no number.
    NoNumber,
}

/// A file with a number in it.
#[derive(Debug)]
pub(super) struct NumberFile {
    path: PathBuf,
    file: Option<File>,
    /// Whether it can be read from its start again; taken so until it answers otherwise.
    seeks: bool,
}

impl NumberFile {
    /// Opens it when it is first read.
    pub(super) fn new(path: PathBuf) -> Self {
        NumberFile {
            path,
            file: None,
            seeks: true,
        }
    }

    /// Path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The number that it holds now.
    pub(super) fn read(&mut self) -> Result<f64, Unread> {
        let mut buffer = [0; LONGEST];
        let text = self.text(&mut buffer)?;
        number(text).ok_or(Unread::NoNumber)
    }

    /// Its text without surrounding blanks, as far as the buffer holds it.
    pub(super) fn text<'b>(&mut self, buffer: &'b mut [u8; LONGEST]) -> Result<&'b str, Unread> {
        // A file that was replaced or taken away still reads as it was: look for the one that is there now.
        if self
            .file
            .as_ref()
            .is_some_and(|file| fstat(file).is_ok_and(|stat| stat.st_nlink == 0))
        {
            self.file = None;
        }
        match self.fill(buffer) {
            Ok(length) => {
                let text = std::str::from_utf8(&buffer[..length]).map_err(|_| Unread::NoNumber)?;
                Ok(text.trim_matches(|c: char| c == '\0' || c.is_whitespace()))
            }
            Err(error) => {
                let why = why(&error);
                // What is only gated answers again through the same file.
                if why != Unread::Gated {
                    self.file = None;
                }
                Err(why)
            }
        }
    }

    /// Its beginning into the buffer; how much that is.
    fn fill(&mut self, buffer: &mut [u8; LONGEST]) -> std::io::Result<usize> {
        if self.seeks {
            let file = match &mut self.file {
                Some(file) => file,
                closed => closed.insert(files::open(&self.path)?),
            };
            match file.read_at(buffer, 0) {
                Err(error) if Errno::from_io_error(&error) == Some(Errno::SPIPE) => {
                    (self.seeks, self.file) = (false, None);
                }
                read => return read,
            }
        }
        files::open(&self.path)?.read(buffer)
    }
}

/// A number as the kernel and its drivers write them: some add a unit.
fn number(text: &str) -> Option<f64> {
    let word = text.split_ascii_whitespace().next()?;
    word.parse::<i64>()
        .map(|whole| whole as f64)
        .ok()
        .or_else(|| word.parse::<f64>().ok().filter(|value| value.is_finite()))
}

fn why(error: &std::io::Error) -> Unread {
    match Errno::from_io_error(error) {
        Some(Errno::NOENT | Errno::NODEV | Errno::NXIO | Errno::NOTDIR) => Unread::Missing,
        Some(Errno::ACCESS | Errno::PERM) => Unread::Denied,
        _ => Unread::Gated,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_anew_each_time_and_a_file_that_goes_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in1_input");
        let mut file = NumberFile::new(path.clone());
        assert_eq!(file.read(), Err(Unread::Missing));
        std::fs::write(&path, "5080\n").unwrap();
        assert_eq!(file.read(), Ok(5080.0));
        std::fs::write(&path, "-8 ma\n").unwrap();
        assert_eq!(file.read(), Ok(-8.0));
        std::fs::write(&path, "gated\n").unwrap();
        assert_eq!(file.read(), Err(Unread::NoNumber));
        std::fs::write(&path, "").unwrap();
        assert_eq!(file.read(), Err(Unread::NoNumber));
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        assert_eq!(file.read(), Err(Unread::NoNumber));
        std::fs::write(&path, "inf").unwrap();
        assert_eq!(file.read(), Err(Unread::NoNumber));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(file.read(), Err(Unread::Missing));
        std::fs::write(&path, "7").unwrap();
        assert_eq!(file.read(), Ok(7.0), "it is there again");
    }

    #[test]
    fn what_cannot_be_read_from_its_start_again_is_opened_for_each_reading() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mc_all");
        let mut file = NumberFile::new(path.clone());
        file.seeks = false;
        for number in ["533250", "7"] {
            std::fs::write(&path, number).unwrap();
            assert_eq!(file.read(), Ok(number.parse().unwrap()));
        }
        assert!(
            file.file.is_none(),
            "nothing stays open that would be read on from its end"
        );
        std::fs::remove_file(&path).unwrap();
        assert_eq!(file.read(), Err(Unread::Missing));
    }

    #[test]
    fn a_folder_in_its_place_is_no_number() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = NumberFile::new(folder.path().to_owned());
        assert!(file.read().is_err());
    }
}
