//! Files that an axis names, watched while the sweep runs.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::files;

/// A file as it was when the sweep began.
struct Watched {
    path: PathBuf,
    hash: String,
    seen: Option<(u64, SystemTime)>,
}

/// The files of a sweep's axes.
#[derive(Default)]
pub(super) struct Files(Vec<Watched>);

impl Files {
    /// `paths` by value, and their hashes.
    pub(super) fn of(paths: &BTreeMap<String, PathBuf>, hashes: &BTreeMap<String, String>) -> Files {
        let watched = |(value, path): (&String, &PathBuf)| {
            Some(Watched {
                hash: hashes.get(value)?.clone(),
                // Read anew before the first run: it may have changed since it was hashed.
                seen: None,
                path: path.clone(),
            })
        };
        Files(paths.iter().filter_map(watched).collect())
    }

    /// The first that is another file by now. One of the same length and time is not read again.
    pub(super) fn changed(&mut self) -> Option<&Path> {
        for file in &mut self.0 {
            let stamp = std::fs::metadata(&file.path).ok().as_ref().and_then(stamp);
            if stamp.is_some() && stamp == file.seen {
                continue;
            }
            let hash = files::read(&file.path, files::NETWORK).map(|bytes| blake3::hash(&bytes).to_hex());
            match hash {
                Ok(hash) if hash.as_str() == file.hash => file.seen = stamp,
                _ => return Some(&file.path),
            }
        }
        None
    }
}

fn stamp(facts: &Metadata) -> Option<(u64, SystemTime)> {
    Some((facts.len(), facts.modified().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_is_told_and_a_touched_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("net.onnx");
        std::fs::write(&path, "one").unwrap();
        let hash = blake3::hash(b"one").to_hex().to_string();
        let key = || "net.onnx".to_owned();
        let mut files = Files::of(&[(key(), path.clone())].into(), &[(key(), hash)].into());
        assert_eq!(files.changed(), None);
        std::fs::write(&path, "one").unwrap();
        assert_eq!(files.changed(), None);
        std::fs::write(&path, "other").unwrap();
        assert_eq!(files.changed(), Some(path.as_path()));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(files.changed(), Some(path.as_path()));
    }
}
