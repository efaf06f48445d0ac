//! Which folder of a dataset holds the tables: `v1.0-mini`, `v1.0-trainval`, or whatever else somebody named it.

use std::path::{Path, PathBuf};

use jetlag_record::nearest::nearest;

use crate::error::{DatasetError, Named};

/// The folder of a version below `root`: the one named, or the only one.
pub(super) fn folder(root: &Path, wanted: Option<&str>) -> Result<PathBuf, DatasetError> {
    let mut there = versions(root)?;
    if there.is_empty() {
        return Err(DatasetError::NoVersion {
            root: root.to_owned(),
            hint: match has_tables(root) {
                true => ", but holds tables itself: name the folder above it, which holds `samples` too",
                false => {
                    ": name the folder that holds v1.0-mini or the like, with `samples` and `sweeps` beside it"
                }
            },
        });
    }
    let Some(wanted) = wanted else {
        return match <[String; 1]>::try_from(there) {
            Ok([only]) => Ok(root.join(only)),
            Err(there) => Err(DatasetError::SeveralVersions {
                root: root.to_owned(),
                there,
            }),
        };
    };
    if let Some(at) = there.iter().position(|name| name == wanted) {
        return Ok(root.join(there.swap_remove(at)));
    }
    Err(DatasetError::Unknown {
        root: root.to_owned(),
        what: Named::Version,
        wanted: wanted.to_owned(),
        nearest: nearest(wanted, there.iter().map(String::as_str)).map(str::to_owned),
        there,
    })
}

/// The folders with tables, by name.
fn versions(root: &Path) -> Result<Vec<String>, DatasetError> {
    let unreadable = |error| DatasetError::Io {
        path: root.to_owned(),
        error,
    };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        // A name that is no text could not be named in a scenario either.
        if let Ok(name) = entry.file_name().into_string()
            && has_tables(&entry.path())
        {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn has_tables(folder: &Path) -> bool {
    ["scene.json", "sample_data.json"]
        .iter()
        .any(|table| folder.join(table).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_version_is_found_and_of_several_one_is_named() {
        let root = tempfile::tempdir().unwrap();
        let version = |wanted| folder(root.path(), wanted).map_err(|error| error.to_string());
        assert!(
            version(None)
                .unwrap_err()
                .contains("name the folder that holds v1.0-mini")
        );
        for name in ["v1.0-mini", "samples", "v1.0-trainval"] {
            std::fs::create_dir(root.path().join(name)).unwrap();
        }
        std::fs::write(root.path().join("v1.0-mini/scene.json"), "[]").unwrap();
        assert_eq!(version(None).unwrap(), root.path().join("v1.0-mini"));
        std::fs::write(root.path().join("v1.0-trainval/sample_data.json"), "[]").unwrap();
        assert!(
            version(None)
                .unwrap_err()
                .contains("several versions, v1.0-mini, v1.0-trainval")
        );
        assert_eq!(version(Some("v1.0-mini")).unwrap(), root.path().join("v1.0-mini"));
        let error = version(Some("v1.0-mni")).unwrap_err();
        assert!(
            error.contains(
                "no version `v1.0-mni` (is `v1.0-mini` meant?); there are v1.0-mini, v1.0-trainval"
            ),
            "{error}"
        );
        let error = folder(&root.path().join("v1.0-mini"), None)
            .unwrap_err()
            .to_string();
        assert!(error.contains("name the folder above it"), "{error}");
        let error = folder(&root.path().join("none"), None).unwrap_err().to_string();
        assert!(error.starts_with("cannot read"), "{error}");
    }
}
