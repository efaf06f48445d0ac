//! The files of a folder, for the sources that read one after the other.

use std::path::{Path, PathBuf};

use super::SourceError;

/// The files of `folder` with one of these endings (in whatever case), in the order of their names. Folders
/// within it are not searched.
///
/// # Errors
/// A folder that cannot be listed, or that holds no such file; `wanted` says in words what was looked for.
pub fn files(folder: &Path, endings: &[&str], wanted: &'static str) -> Result<Vec<PathBuf>, SourceError> {
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
pub fn has_ending(file: &Path, endings: &[&str]) -> bool {
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
        assert!(error.ends_with("holds no images"), "{error}");
        let error = files(&folder.path().join("none"), &["jpg"], "images")
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("cannot read"), "{error}");
    }
}
