//! What lies in a folder of a sensor.

use std::path::{Path, PathBuf};

use super::recording::Sensor;
use crate::error::DatasetError;

/// Whether it can be the name of a folder, rather than a path to somewhere else.
pub(super) fn is_name(name: &str) -> bool {
    !(name.is_empty() || name.contains(['/', '\\']) || name.starts_with('.'))
}

/// The endings of a sensor's files.
pub(super) fn endings(sensor: Sensor) -> &'static [&'static str] {
    match sensor {
        Sensor::Velodyne => &["bin"],
        Sensor::Camera(_) => &["png", "jpg"],
    }
}

/// A sensor's files in a folder, by name.
pub(super) fn files(folder: &Path, sensor: Sensor) -> Result<Vec<PathBuf>, DatasetError> {
    let mut files = entries(folder)?;
    files.retain(|file| {
        let ending = file.extension().and_then(|ending| ending.to_str());
        ending.is_some_and(|ending| endings(sensor).contains(&ending))
    });
    Ok(files)
}

/// The ending of a sensor's files in a folder: of the first; the usual one where there are none.
pub(super) fn ending(folder: &Path, sensor: Sensor) -> &'static str {
    let first = files(folder, sensor)
        .ok()
        .and_then(|files| files.into_iter().next());
    let known = endings(sensor);
    let first = first.as_ref().and_then(|file| file.extension());
    known
        .iter()
        .copied()
        .find(|known| first.is_some_and(|ending| ending == *known))
        .unwrap_or(known[0])
}

/// The names of the folders within a folder; none where it cannot be read, for they are only told.
pub(super) fn folders(folder: &Path) -> Vec<String> {
    let mut folders = entries(folder).unwrap_or_default();
    folders.retain(|path| path.is_dir());
    let name = |path: PathBuf| path.file_name()?.to_str().map(str::to_owned);
    folders.into_iter().filter_map(name).collect()
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, DatasetError> {
    let unreadable = |error| DatasetError::Io {
        path: folder.to_owned(),
        error,
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        found.push(entry.map_err(unreadable)?.path());
    }
    found.sort_unstable();
    Ok(found)
}
