//! A channel of nuScenes as a source: images, sweeps, or several sweeps put together.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jetlag_datasets::nuscenes::{DatasetFrame, NuScenes, Recording, Scenes, Selection as Wanted};
use jetlag_datasets::sweeps::{MIN_DISTANCE, POINT_BYTES, SweepCloud};

use super::{most_pixels, recording};
use crate::files;
use crate::record::Selection as RunSelection;
use crate::scenario::{NuScenesSpec, PointFormat};
use crate::source::context::{Contexts, FrameContext, Placed, Projection};
use crate::source::folder::{FileKind, Files};
use crate::source::images::ImageFile;
use crate::source::points::{PointFile, PointsError};
use crate::source::stored::{About, Store, Stored, Unpack};
use crate::source::timeline::{FrameTime, Timeline};
use crate::source::wants::{Lack, Wants};
use crate::source::{Content, ContentKind, PointCloud, SourceError, selection};

/// The selected frames of one channel.
pub(super) fn source(dataset: &NuScenes, spec: &NuScenesSpec) -> Result<Stored, SourceError> {
    let chosen = dataset.select(&wanted(spec)).map_err(recording)?;
    let is_camera = is_camera(&spec.sensor);
    let what = match (is_camera, spec.sweeps) {
        (true, _) => "images".to_owned(),
        (false, 0 | 1) => "sweeps".to_owned(),
        (false, sweeps) => format!("frames of up to {sweeps} sweeps"),
    };
    let about = About {
        kind: if is_camera {
            ContentKind::Image
        } else {
            ContentKind::Points
        },
        description: format!(
            "{} {what} of {} in {}",
            chosen.len(),
            spec.sensor,
            spec.path.display()
        ),
        timeline: Some(timeline(&chosen)),
        contexts: Contexts::each(chosen.frames().map(context)),
        selection: Some(RunSelection {
            losses: lacking(&chosen).into_iter().collect(),
            ..selected(&chosen)
        }),
    };
    let files = || {
        chosen
            .frames()
            .map(|frame| frame.file.clone())
            .collect::<Vec<PathBuf>>()
    };
    let (store, unpack) = if is_camera {
        halves(files(), ImageFile::of(most_pixels(&spec.common)))
    } else if spec.sweeps > 1 {
        let sweeps = Sweeps {
            chosen: Arc::new(chosen),
            most: u64::from(spec.common.max_points) * POINT_BYTES as u64,
            cloud: SweepCloud::default(),
            with_rings: false,
        };
        (
            Box::new(sweeps.clone()) as Box<dyn Store>,
            Box::new(sweeps) as Box<dyn Unpack>,
        )
    } else {
        halves(
            files(),
            PointFile::of(PointFormat::NuScenes, spec.common.max_points),
        )
    };
    Stored::open(store, unpack, about, spec.common.repeat, spec.common.reading)
}

/// The tables, and the files of the selected frames.
pub(super) fn files(spec: &NuScenesSpec) -> Result<Vec<PathBuf>, SourceError> {
    let dataset = NuScenes::open(&spec.path, spec.version.as_deref()).map_err(recording)?;
    let chosen = dataset.select(&wanted(spec)).map_err(recording)?;
    let mut all: Vec<PathBuf> = chosen.files().map(Path::to_owned).collect();
    let unreadable = |error| SourceError::Io {
        path: dataset.folder().to_owned(),
        error,
    };
    for entry in std::fs::read_dir(dataset.folder()).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        if file.extension().is_some_and(|ending| ending == "json") {
            all.push(file);
        }
    }
    all.sort_unstable();
    Ok(all)
}

/// The files that are not there, in a sentence.
fn lacking(chosen: &Recording) -> Option<String> {
    let missing = chosen.missing()?;
    Some(format!(
        "{missing}. The {} frames that are whole are played",
        chosen.len()
    ))
}

/// Cameras are named so in nuScenes, and what is not a camera here has points.
pub(crate) fn is_camera(channel: &str) -> bool {
    channel.starts_with("CAM")
}

/// What of a dataset a scenario's source takes.
pub(crate) fn wanted(spec: &NuScenesSpec) -> Wanted {
    let numbers: Option<Vec<usize>> = spec.scenes.iter().map(|scene| scene.parse().ok()).collect();
    Wanted {
        scenes: match numbers {
            _ if spec.scenes.is_empty() => Scenes::All,
            Some(numbers) => Scenes::Numbers(numbers),
            None => Scenes::Names(spec.scenes.clone()),
        },
        channel: spec.sensor.clone(),
        key_frames: spec.keyframes,
        sweeps: spec.sweeps as usize,
    }
}

/// Which captures are selected, by the rows of the tables.
pub(crate) fn selected(chosen: &Recording) -> RunSelection {
    let mut frames = selection::Frames::default();
    for frame in chosen.frames() {
        // Where the car was tells apart what has the same tokens: drives that are made.
        let place = frame.ego_pose.map_or([0.0; 3], |pose| pose.translation);
        let [x, y, z] = place.map(f64::to_bits);
        frames.frame(
            &frame.token.to_string(),
            &[frame.captured.0.cast_unsigned(), x, y, z],
        );
    }
    frames.selection()
}

fn timeline(chosen: &Recording) -> Timeline {
    let at_once = |at| FrameTime {
        captured: at,
        came: at,
    };
    Timeline::new(
        chosen.frames().map(|frame| at_once(frame.offset)).collect(),
        chosen.time_line.lap,
    )
}

/// A channel on the car, the car in the map.
fn context(frame: &DatasetFrame) -> FrameContext {
    let sensor = &frame.sensor;
    FrameContext {
        sensor: Arc::clone(&sensor.channel),
        place: Some(Placed::new("ego", sensor.place)),
        projection: sensor.intrinsic.map(|matrix| Projection {
            matrix,
            size: frame.size,
            is_distorted: false, // nuScenes' images are rectified.
        }),
        vehicle: frame.ego_pose.map(|pose| Placed::new("global", pose)),
    }
}

fn halves<K: FileKind>(files: Vec<PathBuf>, kind: K) -> (Box<dyn Store>, Box<dyn Unpack>) {
    let files = Files::of(files, kind);
    (Box::new(files.clone()), Box::new(files))
}

/// Frames of several sweeps. What is read of one is its sweeps' files, the newest first, each with its length in front.
#[derive(Clone)]
struct Sweeps {
    chosen: Arc<Recording>,
    /// Bytes of a sweep at most.
    most: u64,
    cloud: SweepCloud,
    with_rings: bool,
}

/// Bytes of a length.
const LENGTH: usize = size_of::<u64>();

impl Store for Sweeps {
    fn length(&self) -> usize {
        self.chosen.len()
    }

    fn fetch(&mut self, index: usize, raw: &mut Vec<u8>) -> Result<(), SourceError> {
        for sweep in self.chosen.sweeps(index) {
            let path = &sweep.capture.file;
            let unreadable = |error| SourceError::Io {
                path: path.clone(),
                error,
            };
            let file = files::open(path).map_err(unreadable)?;
            let place = raw.len();
            raw.extend_from_slice(&[0; LENGTH]);
            // One byte more tells a file that is too long.
            let read = file.take(self.most + 1).read_to_end(raw).map_err(unreadable)? as u64;
            if read > self.most {
                return Err(SourceError::BadFile {
                    path: path.clone(),
                    problem: format!(
                        "a sweep has at most {} bytes, and this file has more: if it is right, raise the source's `max_points`",
                        self.most
                    ),
                });
            }
            raw[place..place + LENGTH].copy_from_slice(&read.to_le_bytes());
        }
        Ok(())
    }
}

impl Unpack for Sweeps {
    fn unpack(&mut self, index: usize, raw: &[u8], content: &mut Content) -> Result<(), SourceError> {
        let cloud = content.sweep_mut();
        // The frame's own buffers are filled, and no others.
        exchange(&mut self.cloud, cloud);
        self.cloud.clear();
        let mut rest = raw;
        let mut outcome = Ok(());
        for sweep in self.chosen.sweeps(index) {
            let Some((length, after)) = rest.split_first_chunk::<LENGTH>() else {
                break;
            };
            let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
            let (bytes, after) = after.split_at(length.min(after.len()));
            rest = after;
            if bytes.is_empty() {
                outcome = Err(SourceError::BadFile {
                    path: sweep.capture.file.clone(),
                    problem: PointsError::Empty.to_string(),
                });
                break;
            }
            outcome = self
                .cloud
                .append(bytes, &sweep.place, MIN_DISTANCE)
                .map_err(|error| SourceError::BadFile {
                    path: sweep.capture.file.clone(),
                    problem: error.to_string(),
                });
            if outcome.is_err() {
                break;
            }
        }
        exchange(&mut self.cloud, cloud);
        if !self.with_rings {
            cloud.ring.clear();
        }
        outcome
    }

    fn want(&mut self, wants: Wants) -> Option<Lack> {
        self.with_rings = wants.ring;
        None
    }
}

fn exchange(made: &mut SweepCloud, cloud: &mut PointCloud) {
    std::mem::swap(&mut made.points, &mut cloud.points);
    std::mem::swap(&mut made.time, &mut cloud.time);
    std::mem::swap(&mut made.ring, &mut cloud.ring);
}
