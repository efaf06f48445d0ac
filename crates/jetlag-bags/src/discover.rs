//! Which files a bag has, and in which order.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};

use crate::BagError;
use crate::completeness::{Completeness, Loss};
use crate::limits::FILES;
use crate::metadata::{self, Metadata};

/// Endings of files that may be of a bag; what they are is told by their content.
const ENDINGS: [&str; 4] = [".mcap", ".db3", ".mcap.zstd", ".db3.zstd"];

/// The files of a bag in their order, and its metadata where it has some.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) metadata: Option<Metadata>,
}

/// Files of a folder, or the one file that is named.
///
/// # Errors
/// There is nothing under this name, or a folder without files of a bag.
pub(crate) fn files(path: &Path, completeness: &mut Completeness) -> Result<Files, BagError> {
    let io = |error| BagError::Io {
        path: path.to_owned(),
        error,
    };
    if !path.metadata().map_err(io)?.is_dir() {
        return Ok(Files {
            paths: vec![path.to_owned()],
            metadata: None,
        });
    }
    let named = path.join("metadata.yaml");
    let metadata = match named.exists().then(|| metadata::read(&named)) {
        Some(Ok(metadata)) => Some(metadata),
        Some(Err(problem)) => {
            completeness.add(Loss::Metadata { path: named, problem });
            None
        }
        None => None,
    };
    let mut paths: Vec<PathBuf> = match &metadata {
        Some(metadata) => metadata
            .relative_file_paths
            .iter()
            .filter_map(|name| within(path, name))
            .collect(),
        None => Vec::new(),
    };
    match paths.is_empty() {
        true => paths = listed(path)?,
        false => note_unlisted(path, &paths, completeness)?,
    }
    if paths.len() > FILES {
        return Err(BagError::TooMany {
            path: path.to_owned(),
            what: "files",
            limit: FILES,
        });
    }
    if paths.is_empty() {
        return Err(BagError::EmptyFolder {
            path: path.to_owned(),
        });
    }
    Ok(Files { paths, metadata })
}

/// Notes files that go on counting where those of `metadata.yaml` do, and which it does not name: a recorder that was killed leaves
/// the metadata of an earlier split, or of the last alone.
fn note_unlisted(folder: &Path, named: &[PathBuf], completeness: &mut Completeness) -> Result<(), BagError> {
    let known: Vec<String> = named.iter().filter_map(|path| split_of(path)).collect();
    let others = listed(folder)?
        .into_iter()
        .filter(|path| !named.contains(path) && split_of(path).is_some_and(|split| known.contains(&split)));
    // The same split, packed and unpacked, is one.
    let has_named = |path: &PathBuf| named.iter().any(|named| unpacked(named) == unpacked(path));
    let files: Vec<PathBuf> = others.filter(|path| !has_named(path)).collect();
    if !files.is_empty() {
        completeness.add(Loss::Unlisted { files });
    }
    Ok(())
}

/// What the names of a bag's splits have in common, without their number: `drive_.mcap`.
fn split_of(path: &Path) -> Option<String> {
    let name = unpacked(path);
    let (stem, ending) = name.rsplit_once('.')?;
    let (front, number) = stem.rsplit_once('_')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| format!("{front}_.{ending}"))
}

/// A file's name without the ending of one that is compressed as a whole.
fn unpacked(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".zstd").unwrap_or(&name).to_owned()
}

/// A file that `metadata.yaml` names. Early versions put the folder's name before it, and somebody may have compressed or unpacked
/// it since; whatever stands there, only files of the folder are meant.
fn within(folder: &Path, name: &str) -> Option<PathBuf> {
    let named = folder.join(Path::new(name).file_name()?);
    if named.exists() {
        return Some(named);
    }
    let mut compressed = named.clone().into_os_string();
    compressed.push(".zstd");
    let unpacked = match named.extension() {
        Some(ending) if ending == "zstd" => named.with_extension(""),
        _ => named.clone(),
    };
    let others = [PathBuf::from(compressed), unpacked];
    Some(others.into_iter().find(|other| other.exists()).unwrap_or(named))
}

/// Files of a folder by the names that bags' files have, in their order.
fn listed(folder: &Path) -> Result<Vec<PathBuf>, BagError> {
    let io = |error| BagError::Io {
        path: folder.to_owned(),
        error,
    };
    let mut paths = Vec::new();
    for entry in folder.read_dir().map_err(io)? {
        let path = entry.map_err(io)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if ENDINGS.iter().any(|ending| name.ends_with(ending)) && path.is_file() && paths.len() <= FILES {
            paths.push(path);
        }
    }
    paths.sort_by(|a, b| by_number(&a.to_string_lossy(), &b.to_string_lossy()));
    Ok(paths)
}

/// By letters, and numbers in names by their value: rosbag2 counts `bag_9`, `bag_10`.
fn by_number(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    loop {
        let (Some((&first, rest_a)), Some((&other, rest_b))) = (a.split_first(), b.split_first()) else {
            return a.len().cmp(&b.len());
        };
        if first.is_ascii_digit() && other.is_ascii_digit() {
            let (x, after_a) = number(a);
            let (y, after_b) = number(b);
            // Without leading zeros the longer one is greater.
            match x.len().cmp(&y.len()).then_with(|| x.cmp(y)) {
                Ordering::Equal => (a, b) = (after_a, after_b),
                order => return order,
            }
        } else {
            match first.cmp(&other) {
                Ordering::Equal => (a, b) = (rest_a, rest_b),
                order => return order,
            }
        }
    }
}

/// The digits at the front, without leading zeros, and what follows.
fn number(text: &[u8]) -> (&[u8], &[u8]) {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(length);
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    (&digits[zeros..], rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_in_the_order_in_which_they_were_split() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "b_10.mcap",
            "b_9.mcap",
            "b_0.mcap.zstd",
            "b_1.db3",
            "notes.txt",
            "c.bag",
        ] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let mut losses = Completeness::default();
        let names = |files: &Files| -> Vec<String> {
            let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
            files.paths.iter().map(name).collect()
        };
        let found = files(folder.path(), &mut losses).unwrap();
        assert_eq!(
            names(&found),
            ["b_0.mcap.zstd", "b_1.db3", "b_9.mcap", "b_10.mcap"]
        );
        let yaml = "rosbag2_bagfile_information:\n  relative_file_paths: [bag/b_10.mcap, ../../etc/b_9.mcap, b_0.mcap]\n";
        std::fs::write(folder.path().join("metadata.yaml"), yaml).unwrap();
        let found = files(folder.path(), &mut losses).unwrap();
        assert_eq!(names(&found), ["b_10.mcap", "b_9.mcap", "b_0.mcap.zstd"]);
        assert!(
            found
                .paths
                .iter()
                .all(|path| path.parent() == Some(folder.path()))
        );
        assert!(losses.is_whole(), "b_1.db3 is of another bag: {losses:?}");
        let yaml = "rosbag2_bagfile_information:\n  relative_file_paths: [b_10.mcap]\n";
        std::fs::write(folder.path().join("metadata.yaml"), yaml).unwrap();
        assert_eq!(names(&files(folder.path(), &mut losses).unwrap()), ["b_10.mcap"]);
        let said = losses.losses.pop().unwrap().to_string();
        assert!(
            said.contains("b_0.mcap.zstd") && said.contains("b_9.mcap") && !said.contains("db3"),
            "{said}"
        );
        std::fs::write(folder.path().join("metadata.yaml"), "{").unwrap();
        assert_eq!(files(folder.path(), &mut losses).unwrap().paths.len(), 4);
        assert!(
            losses.losses[0]
                .to_string()
                .contains("in the order of their names"),
            "{:?}",
            losses
        );
    }

    #[test]
    fn a_folder_without_bags_and_a_name_without_file_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut losses = Completeness::default();
        let refused = files(folder.path(), &mut losses).unwrap_err().to_string();
        assert!(refused.contains("contains no .mcap or .db3 file"), "{refused}");
        let refused = files(&folder.path().join("none"), &mut losses)
            .unwrap_err()
            .to_string();
        assert!(refused.contains("cannot read"), "{refused}");
    }
}
