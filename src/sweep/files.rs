//! Files as values of an axis: `files: "variants/*.onnx"`, in the order in which people count.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// More files than any axis has.
const MOST_FILES: usize = 100_000;

/// What is wrong with a pattern.
#[derive(Debug, thiserror::Error)]
pub(super) enum PatternError {
    /// A star in a folder's name.
    #[error("only the last part of {0} may have * and ?; name one folder")]
    Folder(String),
    /// The folder cannot be read.
    #[error("cannot read the folder {}: {error}", folder.display())]
    Unreadable {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// Nothing fits.
    #[error("no file is called like {name} in {}", folder.display())]
    None {
        /// The pattern of the name.
        name: String,
        /// The folder.
        folder: PathBuf,
    },
    /// Too many fit.
    #[error("more than {MOST_FILES} files are called so")]
    TooMany,
}

/// A folder, and how its files are called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pattern {
    /// The folder.
    pub folder: PathBuf,
    /// The names, with `*` and `?`.
    pub name: String,
}

impl Pattern {
    /// Reads one; its folder is relative to `base`.
    pub(super) fn read(pattern: &str, base: &Path) -> Result<Pattern, PatternError> {
        let whole = base.join(pattern);
        let name = whole
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let folder = match whole.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        match folder.to_string_lossy().contains(['*', '?']) {
            true => Err(PatternError::Folder(pattern.to_owned())),
            false => Ok(Pattern { folder, name }),
        }
    }

    /// Whether a file of the folder is meant.
    pub fn fits(&self, called: &OsStr) -> bool {
        fits(self.name.as_bytes(), called.as_encoded_bytes())
    }

    /// The files that fit.
    pub(super) fn matching(&self) -> Result<Vec<PathBuf>, PatternError> {
        let unreadable = |error| PatternError::Unreadable {
            folder: self.folder.clone(),
            error,
        };
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            if self.fits(&entry.file_name()) && entry.path().is_file() {
                if found.len() >= MOST_FILES {
                    return Err(PatternError::TooMany);
                }
                found.push(entry.path());
            }
        }
        if found.is_empty() {
            let Pattern { folder, name } = self.clone();
            return Err(PatternError::None { name, folder });
        }
        found.sort_by(|a, b| as_counted(&a.to_string_lossy(), &b.to_string_lossy()));
        Ok(found)
    }
}

/// Whether a name fits a pattern: `*` is any number of characters, `?` one byte. Hidden files fit only where the pattern begins with a dot.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    if name.first() == Some(&b'.') && pattern.first() != Some(&b'.') {
        return false;
    }
    // The last star, and where in the name it stopped: going back there is all that is ever needed.
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&wanted) if wanted == b'?' || Some(&wanted) == name.get(n) => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, stopped)) => {
                    star = Some((at, stopped + 1));
                    p = at + 1;
                    n = stopped + 1;
                }
                None => return false,
            },
        }
    }
    pattern
        .get(p..)
        .unwrap_or_default()
        .iter()
        .all(|rest| *rest == b'*')
}

/// Digits compare as numbers: `prune-5` comes before `prune-10`.
fn as_counted(a: &str, b: &str) -> Ordering {
    let (mut a_rest, mut b_rest) = (a, b);
    loop {
        let (a_part, b_part) = (part(a_rest), part(b_rest));
        if a_part.is_empty() || b_part.is_empty() {
            return a_rest.len().cmp(&b_rest.len()).then_with(|| a.cmp(b));
        }
        let order = match (a_part.parse::<u128>(), b_part.parse::<u128>()) {
            (Ok(a), Ok(b)) => a.cmp(&b),
            _ => a_part.cmp(b_part),
        };
        if order != Ordering::Equal {
            return order;
        }
        a_rest = a_rest.get(a_part.len()..).unwrap_or_default();
        b_rest = b_rest.get(b_part.len()..).unwrap_or_default();
    }
}

/// The digits, or the other characters, that a text begins with.
fn part(text: &str) -> &str {
    let digits = text.starts_with(|c: char| c.is_ascii_digit());
    let end = text.find(|c: char| c.is_ascii_digit() != digits);
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_fit_what_they_should() {
        for (pattern, name, wanted) in [
            ("*.onnx", "a.onnx", true),
            ("*.onnx", "a.onnx.bak", false),
            ("net-?.onnx", "net-5.onnx", true),
            ("net-?.onnx", "net-50.onnx", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("*", ".hidden", false),
            (".*", ".hidden", true),
            ("a*aab", "aaaaab", true),
        ] {
            assert_eq!(
                fits(pattern.as_bytes(), name.as_bytes()),
                wanted,
                "{pattern} {name}"
            );
        }
    }

    #[test]
    fn names_are_ordered_as_people_count() {
        let mut names = [
            "prune-10.onnx",
            "prune-5.onnx",
            "prune-100.onnx",
            "prune.onnx",
            "a",
        ];
        names.sort_by(|a, b| as_counted(a, b));
        assert_eq!(
            names,
            [
                "a",
                "prune-5.onnx",
                "prune-10.onnx",
                "prune-100.onnx",
                "prune.onnx"
            ]
        );
    }
}
