//! The object layout: `training/{image_2,image_3,velodyne,calib,label_2}`, one file a frame in each.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::calibration::Calibration;
use super::recording::{KittiFrame, KittiRecording, Sensor};
use super::{Split, listing};
use crate::error::DatasetError;
use crate::missing::Search;

pub(super) fn open(root: &Path, split: Split, sensor: Sensor) -> Result<KittiRecording, DatasetError> {
    let split = match split {
        Split::Training => "training",
        Split::Testing => "testing",
    };
    let below = root.join(split);
    // The folder itself may have been named.
    let base = match below.is_dir() || !root.ends_with(split) {
        true => below,
        false => root.to_owned(),
    };
    let folder = match sensor {
        Sensor::Velodyne => base.join("velodyne"),
        Sensor::Camera(camera) => base.join(format!("image_{}", camera.number())),
    };
    let files = listing::files(&folder, sensor)?;
    if files.is_empty() {
        return Err(DatasetError::Nothing {
            why: format!(
                "{} has no {} file",
                folder.display(),
                listing::endings(sensor).join(" or ")
            ),
        });
    }
    let has_labels = base.join("label_2").is_dir();
    let mut search = Search::default();
    let mut found: Vec<(PathBuf, String)> = Vec::new();
    for file in files {
        let name = file
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let mut look = |kind: &str| {
            let text = format!("{kind}/{name}.txt");
            search.look(&base.join(&text), &text);
        };
        look("calib");
        if has_labels {
            look("label_2");
        }
        found.push((file, name));
    }
    let what = if has_labels {
        "calibration and labels"
    } else {
        "calibration"
    };
    search.end(what, &base, &folder, &[])?;
    let frame = |(file, name): (PathBuf, String)| {
        let text = |kind: &str| base.join(kind).join(format!("{name}.txt"));
        Ok::<_, DatasetError>(KittiFrame {
            file,
            number: name.parse().unwrap_or(0),
            captured: None,
            offset: None,
            pose: None,
            calibration: Arc::new(Calibration::object(&text("calib"))?),
            labels: has_labels.then(|| text("label_2")),
        })
    };
    Ok(KittiRecording {
        frames: found.into_iter().map(frame).collect::<Result<_, _>>()?,
        time_line: None,
        gaps: Vec::new(),
        tracklets: None,
    })
}
