//! A folder of files as a source: one file a frame, in the order of their names.
//!
//! Files are listed once, when the folder is opened, and read whole at each frame (stage *acquire*), into memory that is
//! used again, so that decoding never waits for the disk. What a file's bytes mean is the affair of its [`FileKind`].

use std::io::Read;
use std::path::{Path, PathBuf};

use super::{Content, ContentKind, Frame, Source, SourceError, SourceInfo, position_after};
use crate::files;

/// What the files of a folder hold.
pub trait FileKind: Send {
    /// The content that is made of them.
    const CONTENT: ContentKind;
    /// What can be wrong with a file's bytes.
    type Error: std::error::Error;
    /// One of them, and several.
    const WORDS: [&str; 2];

    /// The bytes of the longest file that is read, and which field of the source says so.
    fn longest(&self, file: &Path) -> (u64, &'static str);

    /// Makes content of a file's bytes.
    ///
    /// # Errors
    /// They are not such content.
    fn decode(&self, file: &Path, bytes: &[u8], content: &mut Content) -> Result<(), Self::Error>;
}

/// A [`Source`] over the files of a folder.
#[derive(Debug)]
pub struct Folder<K> {
    path: PathBuf,
    files: Vec<PathBuf>,
    kind: K,
    next: usize,
    repeat: bool,
}

impl<K> Folder<K> {
    /// Lists the [`files`] of a folder. With `repeat`, the first follows the last; without, the source ends there.
    pub(super) fn open(
        path: &Path,
        repeat: bool,
        kind: K,
        endings: &[&str],
        wanted: &'static str,
    ) -> Result<Self, SourceError> {
        Ok(Folder {
            files: files(path, endings, wanted)?,
            path: path.to_owned(),
            kind,
            next: 0,
            repeat,
        })
    }

    /// The files, in the order of their frames.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }
}

impl<K: FileKind> Source for Folder<K> {
    fn info(&self) -> SourceInfo {
        let count = self.files.len();
        let [one, several] = K::WORDS;
        SourceInfo {
            kind: K::CONTENT,
            frames: (!self.repeat).then_some(count as u64),
            description: format!(
                "{count} {} in {}{}",
                if count == 1 { one } else { several },
                self.path.display(),
                if self.repeat { ", repeated" } else { "" }
            ),
        }
    }

    fn acquire(&mut self, frame: &mut Frame) -> Result<bool, SourceError> {
        if self.next >= self.files.len() {
            if !self.repeat {
                return Ok(false);
            }
            self.next = 0;
        }
        let path = &self.files[self.next];
        frame.index = self.next as u64;
        frame.captured = None;
        // Counted before reading: the next call goes on with the next file, whatever comes of this one.
        self.next += 1;
        frame.raw.clear();
        let unreadable = |error| SourceError::Io {
            path: path.clone(),
            error,
        };
        let file = files::open(path).map_err(unreadable)?;
        let (longest, field) = self.kind.longest(path);
        let bytes = file.metadata().map_err(unreadable)?.len();
        if bytes > longest {
            let [one, _] = K::WORDS;
            return Err(SourceError::BadFile {
                path: path.clone(),
                problem: format!(
                    "the file has {bytes} bytes, but one {one} has at most {longest}: if the file is right, raise the source's `{field}`"
                ),
            });
        }
        // What grows meanwhile is no frame either.
        let read = file.take(longest).read_to_end(&mut frame.raw);
        read.map_err(unreadable)?;
        Ok(true)
    }

    fn decode(&mut self, frame: &mut Frame) -> Result<(), SourceError> {
        let Some(path) = self.files.get(frame.index as usize) else {
            return Ok(()); // Not a frame of this source.
        };
        self.kind
            .decode(path, &frame.raw, &mut frame.content)
            .map_err(|error| SourceError::BadFile {
                path: path.clone(),
                problem: error.to_string(),
            })
    }

    fn skip(&mut self, frames: u64) -> Result<(), SourceError> {
        self.next = position_after(self.next, frames, self.files.len(), self.repeat);
        Ok(())
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        self.next = 0;
        Ok(())
    }
}

/// The files of `folder` with one of these endings (in whatever case), in the order of their names. Folders
/// within it are not searched.
///
/// # Errors
/// A folder that cannot be listed, or that holds no such file; `wanted` says in words what was looked for.
fn files(folder: &Path, endings: &[&str], wanted: &'static str) -> Result<Vec<PathBuf>, SourceError> {
    let unreadable = |error| SourceError::Io {
        path: folder.to_owned(),
        error,
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        if has_ending(&file, endings) && file.is_file() {
            files.push(file);
        }
    }
    if files.is_empty() {
        return Err(SourceError::EmptyFolder {
            path: folder.to_owned(),
            wanted,
        });
    }
    files.sort_unstable();
    Ok(files)
}

/// Whether a file's name ends in one of these, in whatever case.
pub(super) fn has_ending(file: &Path, endings: &[&str]) -> bool {
    let ending = file.extension().and_then(|e| e.to_str()).unwrap_or_default();
    endings.iter().any(|e| ending.eq_ignore_ascii_case(e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_endings_come_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.PCD", "a.bin", "c.txt", "bin"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        std::fs::create_dir(folder.path().join("d.bin")).unwrap();
        let found = files(folder.path(), &["bin", "pcd"], "sweeps").unwrap();
        assert_eq!(found, ["a.bin", "b.PCD"].map(|name| folder.path().join(name)));
        let error = files(folder.path(), &["jpg"], "images").unwrap_err().to_string();
        assert!(error.ends_with("contains no images"), "{error}");
        let error = files(&folder.path().join("none"), &["jpg"], "images")
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("cannot read"), "{error}");
    }
}
