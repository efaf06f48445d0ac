//! Answers on KITTI's object layout, scored by its rules: `label_2` and `calib` beside `image_2` or `velodyne`.

use std::path::{Path, PathBuf};

use jetlag_record::classes::ClassMap;
use jetlag_score::kitti::{Camera, CameraBox, Found, Frame, Kind, Kitti, Truth, in_image};

use super::answers::{Answer, Answers};
use crate::commands::outcome::WrongUse;
use crate::detector::Place;
use crate::record::Selection;
use crate::scenario::{KittiLayout, SourceSpec};
use crate::source::folder::has_ending;
use crate::source::kitti::{self, Label, root_of};
use crate::source::{images, points, selection};

/// A folder in KITTI's object layout, and the frames that a source has of it.
pub(super) struct Folder {
    root: PathBuf,
    /// Of each frame, its file.
    files: Vec<PathBuf>,
}

/// KITTI's classes by name, those that a detector may mean.
pub(super) const KINDS: [Kind; 3] = [Kind::Car, Kind::Pedestrian, Kind::Cyclist];

/// The folder that a source reads; `None` for a source that has no such layout. `data` is where it is now.
pub(super) fn folder(source: &SourceSpec, data: Option<&Path>) -> anyhow::Result<Option<Folder>> {
    let (path, inner) = match source {
        SourceSpec::Images { path, .. } | SourceSpec::Points { path, .. } => {
            let Some(parent) = path.parent() else {
                return Ok(None);
            };
            (parent.to_owned(), path.file_name().unwrap_or_default().to_owned())
        }
        SourceSpec::Kitti(spec) if spec.layout == KittiLayout::Object => {
            let inner = match spec.sensor {
                crate::scenario::Sensor::Camera => format!("image_{}", spec.camera),
                crate::scenario::Sensor::Lidar => "velodyne".to_owned(),
            };
            (spec.path.join(&spec.sequence), inner.into())
        }
        _ => return Ok(None),
    };
    let root = data.map_or(path, |data| root_of(data).unwrap_or_else(|| data.to_owned()));
    if !root.join("label_2").is_dir() {
        return match data {
            Some(data) => Err(WrongUse(format!(
                "{}: no folder `label_2`; --data must be a folder in KITTI's layout (image_2 or velodyne, label_2, calib), a nuScenes dataset, or COCO's annotations (.json)",
                data.display()
            ))
            .into()),
            None => Ok(None),
        };
    }
    let folder = root.join(&inner);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .map_err(|error| WrongUse(format!("{}: {error}", folder.display())))?;
    // Those that the source takes, and no others.
    let is_frame = |file: &Path| has_ending(file, &images::ENDINGS) || has_ending(file, &points::ENDINGS);
    files.retain(|file| is_frame(file) && file.is_file());
    files.sort_unstable();
    Ok(Some(Folder { root, files }))
}

impl Folder {
    /// The file name of a frame without its ending; `None` beyond the last.
    pub(super) fn name(&self, content: u64) -> Option<String> {
        let file = self.files.get(usize::try_from(content).ok()?)?;
        Some(file.file_stem()?.to_string_lossy().into_owned())
    }

    /// Which frames it has.
    pub(super) fn selection(&self) -> Selection {
        selection::of_files(self.files.iter().map(PathBuf::as_path))
    }

    /// How many frames it has.
    pub(super) fn frames(&self) -> usize {
        self.files.len()
    }

    /// The answers of these frames, matched by KITTI's rules, and what a reader must know of them.
    pub(super) fn score(
        &self,
        answers: &Answers,
        taken: &[&Answer],
    ) -> anyhow::Result<(Kitti, Option<String>)> {
        let map = class_map(&answers.classes);
        let mut frames: Vec<Frame> = Vec::with_capacity(taken.len());
        for answer in taken {
            let (name, labels, camera) = self.labelled(answer)?;
            let truths = labels.iter().filter_map(truth).collect();
            let found = found(answer, &map, camera.as_ref())
                .map_err(|why| WrongUse(format!("frame {name}: {why}")))?;
            frames.push(Frame { truths, found });
        }
        Ok((Kitti::new(&frames)?, few(&frames)))
    }

    /// What was found in a frame, as KITTI's result files have it.
    pub(super) fn results(&self, answers: &Answers, answer: &Answer) -> anyhow::Result<(String, Vec<Found>)> {
        let (name, _, camera) = self.labelled(answer)?;
        let found = found(answer, &class_map(&answers.classes), camera.as_ref());
        Ok((name, found?))
    }

    /// Whether its frames are sweeps.
    pub(super) fn is_of_sweeps(&self) -> bool {
        let first = self.files.first().and_then(|file| file.extension());
        first.is_some_and(|ending| ending == "bin" || ending == "pcd")
    }

    /// The labels of a frame.
    pub(super) fn labels(&self, answer: &Answer) -> anyhow::Result<Vec<Label>> {
        Ok(self.labelled(answer)?.1)
    }

    fn labelled(&self, answer: &Answer) -> anyhow::Result<(String, Vec<Label>, Option<Camera>)> {
        let content = answer.content.unwrap_or(u64::MAX);
        let name = self.name(content).ok_or_else(|| {
            WrongUse(format!(
                "the run has frame {content}, and {} has {}: has the folder changed since?",
                self.root.display(),
                self.files.len()
            ))
        })?;
        let beside = |folder: &str| self.root.join(folder).join(&name).with_extension("txt");
        let labels = kitti::read_labels(&beside("label_2"), &beside("calib")).map_err(WrongUse::because)?;
        let needs_camera = answer
            .found
            .iter()
            .any(|found| matches!(found.place, Place::Space(_)));
        let camera = match needs_camera {
            true => Some(self.camera(&name, &beside("calib"))?),
            false => None,
        };
        Ok((name, labels, camera))
    }

    fn camera(&self, name: &str, calib: &Path) -> anyhow::Result<Camera> {
        let calibration = kitti::read_calibration(calib).map_err(WrongUse::because)?;
        let image = image_size(&self.root.join("image_2"), name).unwrap_or(KITTI_IMAGE);
        Ok(Camera::of_calibration(
            &calibration.lidar_to_camera,
            &calibration.rectification,
            calibration.projection,
            [f64::from(image.0), f64::from(image.1)],
        ))
    }
}

/// Width and height of the image of this name in a folder, whichever its ending.
pub(super) fn image_size(folder: &Path, name: &str) -> Option<(u32, u32)> {
    ["png", "jpg"].iter().find_map(|ending| {
        let bytes = std::fs::read(folder.join(name).with_extension(ending)).ok()?;
        let [width, height] = images::image_size(&bytes).ok()?;
        Some((width as u32, height as u32))
    })
}

/// Where a sweep has no image beside it: what most of KITTI's have.
pub(super) const KITTI_IMAGE: (u32, u32) = (1242, 375);

/// KITTI takes one recall point a label that is found, and 40 of them for its mean, so that few labels cannot give an AP of 1.
pub(super) fn few(frames: &[Frame]) -> Option<String> {
    let labels = |kind: Kind| {
        frames
            .iter()
            .flat_map(|frame| &frame.truths)
            .filter(|truth| truth.kind == kind)
            .count()
    };
    let few: Vec<String> = KINDS
        .iter()
        .map(|kind| (kind.name(), labels(*kind)))
        .filter(|(_, count)| (1..=40).contains(count))
        .map(|(name, count)| format!("{name}: {count}"))
        .collect();
    (!few.is_empty()).then(|| {
        format!(
            "KITTI's rule gives a class with n labels at most an AP of (n − 1) / 40, even if all are found; few labels: {}",
            few.join(", ")
        )
    })
}

/// A detector's classes among KITTI's.
pub(super) fn class_map(classes: &[String]) -> ClassMap {
    let names = KINDS.map(|kind| kind.name().to_owned());
    ClassMap::by_name(classes, &names)
}

fn truth(label: &Label) -> Option<Truth> {
    let [
        truncated,
        occluded,
        alpha,
        x1,
        y1,
        x2,
        y2,
        h,
        w,
        l,
        x,
        y,
        z,
        heading,
    ] = label.columns;
    let kind = Kind::of(&label.class)?;
    Some(Truth {
        kind,
        truncated,
        occluded: occluded as i32,
        alpha,
        bbox: [x1, y1, x2, y2],
        space: (!label.dont_care).then_some(CameraBox {
            size: [h, w, l].map(|side| side.max(0.0)),
            place: [x, y, z],
            heading,
        }),
    })
}

fn found(answer: &Answer, map: &ClassMap, camera: Option<&Camera>) -> anyhow::Result<Vec<Found>> {
    let mut all = Vec::with_capacity(answer.found.len());
    for detection in &answer.found {
        let Some(kind) = map.class(detection.class)?.and_then(|class| KINDS.get(class)) else {
            continue;
        };
        match (&detection.place, camera) {
            (Place::Image(place), _) => all.push(in_image(*kind, detection.score, place)),
            (Place::Space(place), Some(camera)) => all.extend(camera.found(*kind, detection.score, place)),
            (Place::Space(_), None) => {}
        }
    }
    Ok(all)
}
