//! A sensor of KITTI as a source, in each of the dataset's layouts.

use std::path::{Path, PathBuf};

use jetlag_datasets::geometry::{Pose, Rotation};
use jetlag_datasets::kitti::{self, Calibration, Camera, KittiFrame, KittiRecording, Layout, Split};

use super::{most_pixels, recording};
use crate::scenario::{KittiLayout, KittiSpec, PointFormat, Sensor};
use crate::source::context::{Contexts, FrameContext, Placed, Projection};
use crate::source::folder::{FileKind, Files};
use crate::source::images::ImageFile;
use crate::source::points::PointFile;
use crate::source::stored::{About, Stored};
use crate::source::timeline::{FrameTime, Timeline};
use crate::source::{ContentKind, SourceError, selection};

/// The frames of one sensor.
pub(super) fn source(spec: &KittiSpec) -> Result<Stored, SourceError> {
    let found = open(spec)?;
    if !found.gaps.is_empty() {
        log::info!(
            "{}: {} sweeps of {} were lost when it was recorded",
            spec.path.display(),
            found.gaps.len(),
            spec.sequence
        );
    }
    match spec.sensor {
        Sensor::Camera => stored(&found, ImageFile::of(most_pixels(&spec.common)), spec),
        Sensor::Lidar => stored(
            &found,
            PointFile::of(PointFormat::Kitti, spec.common.max_points),
            spec,
        ),
    }
}

/// The sensor's files, and the texts beside them: times, poses, calibration.
pub(super) fn files(spec: &KittiSpec) -> Result<Vec<PathBuf>, SourceError> {
    let mut all: Vec<PathBuf> = open(spec)?.frames.into_iter().map(|frame| frame.file).collect();
    let folder = match spec.layout {
        KittiLayout::Object => spec.path.join(&spec.sequence),
        KittiLayout::Odometry => spec.path.join("sequences").join(&spec.sequence),
        KittiLayout::Raw => {
            // The day is in the drive's name, and its calibration in the day's folder.
            let day = spec.path.join(spec.sequence.get(..10).unwrap_or_default());
            texts(&day, 0, &mut all)?;
            day.join(&spec.sequence)
        }
    };
    texts(&folder, DEEPEST, &mut all)?;
    let poses = spec.path.join("poses").join(format!("{}.txt", spec.sequence));
    all.extend(poses.is_file().then_some(poses));
    all.sort_unstable();
    Ok(all)
}

/// `oxts/data/0000000000.txt`.
const DEEPEST: u32 = 2;

/// The `.txt` files of a folder, and of those in it.
fn texts(folder: &Path, deep: u32, all: &mut Vec<PathBuf>) -> Result<(), SourceError> {
    let unreadable = |error| SourceError::Io {
        path: folder.to_owned(),
        error,
    };
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            if deep > 0 {
                texts(&path, deep - 1, all)?;
            }
        } else if path.extension().is_some_and(|ending| ending == "txt") {
            all.push(path);
        }
    }
    Ok(())
}

/// What lies on the disk of one sensor.
pub(crate) fn open(spec: &KittiSpec) -> Result<KittiRecording, SourceError> {
    let layout = match spec.layout {
        KittiLayout::Object if spec.sequence == "testing" => Layout::Object(Split::Testing),
        KittiLayout::Object => Layout::Object(Split::Training),
        KittiLayout::Raw => Layout::Raw {
            drive: spec.sequence.clone(),
        },
        KittiLayout::Odometry => Layout::Odometry {
            sequence: spec.sequence.clone(),
        },
    };
    let sensor = match spec.sensor {
        Sensor::Lidar => kitti::Sensor::Velodyne,
        Sensor::Camera => kitti::Sensor::Camera(camera(spec)),
    };
    kitti::open(&spec.path, &layout, sensor).map_err(recording)
}

/// Which of the car's cameras is meant.
pub(crate) fn camera(spec: &KittiSpec) -> Camera {
    match spec.camera {
        0 => Camera::GreyLeft,
        1 => Camera::GreyRight,
        3 => Camera::ColourRight,
        _ => Camera::ColourLeft,
    }
}

/// The vehicle's frame is the one whose place KITTI tells: the inertial unit's in raw drives, rectified camera 0's in odometry
/// sequences. The object layout tells none, and there it is the LiDAR's.
fn context(frame: &KittiFrame, spec: &KittiSpec) -> FrameContext {
    let calibration = &frame.calibration;
    let name = match spec.layout {
        KittiLayout::Raw => "imu",
        KittiLayout::Odometry => "camera_0",
        KittiLayout::Object => "velodyne",
    };
    let (sensor, place) = match spec.sensor {
        Sensor::Lidar => ("velodyne".into(), lidar(calibration, spec.layout)),
        Sensor::Camera => {
            let camera = camera(spec);
            let rectified = rectified(calibration, spec.layout);
            let onto = calibration.rectified_to_camera(camera).map(Pose::shift);
            let place = rectified
                .zip(onto)
                .map(|(rectified, onto)| rectified.after(&onto.inverse()));
            (format!("camera_{}", camera.number()).into(), place)
        }
    };
    let matrix = match spec.sensor {
        Sensor::Camera => calibration.intrinsic(camera(spec)),
        Sensor::Lidar => None,
    };
    FrameContext {
        sensor,
        place: place.map(|pose| Placed::new(name, pose)),
        projection: matrix.map(|matrix| Projection {
            matrix,
            size: None, // The image has it.
            is_distorted: false,
        }),
        vehicle: frame
            .pose
            .as_ref()
            .and_then(Pose::from_matrix)
            .map(|pose| Placed::new("begin", pose)),
    }
}

/// The LiDAR's place in the vehicle's frame.
fn lidar(calibration: &Calibration, layout: KittiLayout) -> Option<Pose> {
    match layout {
        KittiLayout::Object => Some(Pose::NONE),
        KittiLayout::Raw => Some(Pose::from_matrix(calibration.imu_to_lidar.as_ref()?)?.inverse()),
        KittiLayout::Odometry => lidar_to_rectified(calibration),
    }
}

/// Rectified camera 0's place in the vehicle's frame.
fn rectified(calibration: &Calibration, layout: KittiLayout) -> Option<Pose> {
    match layout {
        KittiLayout::Odometry => Some(Pose::NONE),
        KittiLayout::Object | KittiLayout::Raw => {
            let lidar = lidar(calibration, layout)?;
            Some(lidar.after(&lidar_to_rectified(calibration)?.inverse()))
        }
    }
}

fn lidar_to_rectified(calibration: &Calibration) -> Option<Pose> {
    let turn = Pose {
        translation: [0.0; 3],
        rotation: Rotation::from_matrix(calibration.rectification)?,
    };
    Some(turn.after(&Pose::from_matrix(calibration.lidar_to_camera.as_ref()?)?))
}

fn stored<K: FileKind>(found: &KittiRecording, kind: K, spec: &KittiSpec) -> Result<Stored, SourceError> {
    let [one, several] = K::WORDS;
    let count = found.frames.len();
    let word = if count == 1 { one } else { several };
    let about = About {
        kind: match spec.sensor {
            Sensor::Camera => ContentKind::Image,
            Sensor::Lidar => ContentKind::Points,
        },
        description: format!(
            "{count} {word} of KITTI's {} in {}",
            spec.sequence,
            spec.path.display()
        ),
        timeline: found.time_line.as_ref().map(|line| {
            let times = found.frames.iter().filter_map(|frame| frame.offset);
            let at_once = |at| FrameTime {
                captured: at,
                came: at,
            };
            Timeline::new(times.map(at_once).collect(), line.lap)
        }),
        contexts: Contexts::each(found.frames.iter().map(|frame| context(frame, spec))),
        selection: Some(selection::of_files(
            found.frames.iter().map(|frame| frame.file.as_path()),
        )),
    };
    let files: Vec<PathBuf> = found.frames.iter().map(|frame| frame.file.clone()).collect();
    let files = Files::of(files, kind);
    Stored::open(
        Box::new(files.clone()),
        Box::new(files),
        about,
        spec.common.repeat,
        spec.common.reading,
    )
}
