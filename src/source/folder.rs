//! A folder of files as a source: one file a frame, in the order of their names.
//!
//! Files are listed once, when the folder is opened, and read whole, into memory that is used again, so that decoding never
//! waits for the disk. What a file's bytes mean is the affair of its [`FileKind`].

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::context::Contexts;
use super::stored::{About, Store, Stored, Unpack};
use super::wants::{Lack, Wants};
use super::{Content, ContentKind, SourceError, selection};
use crate::files;
use crate::scenario::Reading;

/// What the files of a folder hold.
pub trait FileKind: Clone + Send + 'static {
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

    /// As [`Source::want`](super::Source::want); `file` is the first.
    fn want(&mut self, _wants: Wants, _file: &Path) -> Option<Lack> {
        None
    }
}

/// The files of a folder that are frames.
#[derive(Debug)]
pub struct Folder<K> {
    path: PathBuf,
    files: Arc<[PathBuf]>,
    kind: K,
    repeat: bool,
}

impl<K: FileKind> Folder<K> {
    /// Lists the [`files`] of a folder. With `repeat`, the first follows the last; without, the source ends there.
    pub(super) fn open(
        path: &Path,
        repeat: bool,
        kind: K,
        endings: &[&str],
        wanted: &'static str,
    ) -> Result<Self, SourceError> {
        Ok(Folder {
            files: files(path, endings, wanted)?.into(),
            path: path.to_owned(),
            kind,
            repeat,
        })
    }

    /// The files, in the order of their frames.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The folder as a source, read in this way.
    ///
    /// # Errors
    /// Those of [`Stored::open`].
    pub fn read(self, reading: Reading) -> Result<Stored, SourceError> {
        let count = self.files.len();
        let [one, several] = K::WORDS;
        let word = if count == 1 { one } else { several };
        let about = About {
            kind: K::CONTENT,
            description: format!("{count} {word} in {}", self.path.display()),
            timeline: None,
            contexts: Contexts::Unknown,
            selection: Some(selection::of_files(self.files.iter().map(PathBuf::as_path))),
        };
        let files = Files::of(self.files, self.kind);
        Stored::open(
            Box::new(files.clone()),
            Box::new(files),
            about,
            self.repeat,
            reading,
        )
    }
}

/// Files, each of which is a frame.
#[derive(Clone)]
pub(super) struct Files<K> {
    files: Arc<[PathBuf]>,
    kind: K,
}

impl<K> Files<K> {
    /// These files, in this order.
    pub(super) fn of(files: impl Into<Arc<[PathBuf]>>, kind: K) -> Files<K> {
        Files {
            files: files.into(),
            kind,
        }
    }
}

impl<K: FileKind> Store for Files<K> {
    fn length(&self) -> usize {
        self.files.len()
    }

    fn fetch(&mut self, index: usize, raw: &mut Vec<u8>) -> Result<(), SourceError> {
        let Some(path) = self.files.get(index) else {
            return Ok(()); // Not a frame of this source.
        };
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
        file.take(longest).read_to_end(raw).map_err(unreadable)?;
        Ok(())
    }
}

impl<K: FileKind> Unpack for Files<K> {
    fn unpack(&mut self, index: usize, raw: &[u8], content: &mut Content) -> Result<(), SourceError> {
        let Some(path) = self.files.get(index) else {
            return Ok(()); // Not a frame of this source.
        };
        self.kind
            .decode(path, raw, content)
            .map_err(|error| SourceError::BadFile {
                path: path.clone(),
                problem: error.to_string(),
            })
    }

    fn want(&mut self, wants: Wants) -> Option<Lack> {
        let file = self.files.first()?;
        self.kind.want(wants, file)
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
pub(crate) fn has_ending(file: &Path, endings: &[&str]) -> bool {
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
