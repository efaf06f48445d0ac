//! Recordings as sources: nuScenes and KITTI datasets, ROS 2 bags, videos; and cameras. What lies where in them, and how another
//! program decodes it, is the affair of the crates `jetlag-datasets`, `jetlag-bags` and `jetlag-video`; here it becomes frames of a
//! tenant, on the time line of the recording or when the camera has them.

mod bag;
mod camera;
mod kitti;
mod nuscenes;
mod video;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use kitti::{camera as kitti_camera, open as kitti_recording};
pub(crate) use nuscenes::{is_camera, selected as nuscenes_selected, wanted as nuscenes_wanted};

use jetlag_bags::{Bag, BagSummary, Limits};
use jetlag_datasets::nuscenes::NuScenes;
use jetlag_video::Guard;

pub use super::FrameTopic;
use super::stored::Stored;
use super::{Source, SourceError};
use crate::scenario::{
    BagSpec, CameraFrom, CameraSpec, KittiSpec, NuScenesSpec, RecordingSpec, VideoDecoder, VideoSpec,
};
use crate::shell;

/// Makes the programs that decode and encode videos end with us. `program` is our own.
pub(crate) fn guard(program: PathBuf) -> Guard {
    Guard {
        program,
        arguments: vec!["with-parent".into(), std::process::id().to_string().into()],
    }
}

/// A program that a source names, and that nobody allowed.
#[derive(Debug, thiserror::Error)]
#[error("its source is the program `{0}`, which is not started unless --allow-commands says so")]
struct NotAllowed(String);

/// Recordings that are open, so that tenants of one share its index and its files.
#[derive(Default)]
pub struct Opened {
    datasets: BTreeMap<(PathBuf, Option<String>), Arc<NuScenes>>,
    bags: BTreeMap<PathBuf, (Bag, Arc<bag::Places>)>,
    guard: Option<Guard>,
    allow_commands: bool,
}

impl Opened {
    /// Nothing yet. `program` is our own, by which the programs that decode videos are made to end with us; others that a source
    /// names are started only where that is allowed.
    pub fn guarded_by(program: Option<PathBuf>, allow_commands: bool) -> Opened {
        Opened {
            guard: program.map(guard),
            allow_commands,
            ..Opened::default()
        }
    }

    /// Refuses what names a program, unless it may be started.
    fn allow(&self, command: Option<&Vec<String>>) -> Result<(), SourceError> {
        match command {
            Some(command) if !self.allow_commands => Err(recording(NotAllowed(shell::line(command)))),
            _ => Ok(()),
        }
    }

    /// A sensor of a nuScenes dataset as a source.
    ///
    /// # Errors
    /// No such dataset, scene or sensor; tables that cannot be read; files that are missing.
    pub fn nuscenes(&mut self, spec: &NuScenesSpec) -> Result<Stored, SourceError> {
        let dataset = self.dataset(spec)?;
        nuscenes::source(&dataset, spec)
    }

    fn dataset(&mut self, spec: &NuScenesSpec) -> Result<Arc<NuScenes>, SourceError> {
        let key = (spec.path.clone(), spec.version.clone());
        Ok(match self.datasets.get(&key) {
            Some(dataset) => Arc::clone(dataset),
            None => {
                let dataset = NuScenes::open(&spec.path, spec.version.as_deref()).map_err(recording)?;
                dataset
                    .notes()
                    .iter()
                    .for_each(|note| log::info!("{}: {note}", spec.path.display()));
                Arc::clone(self.datasets.entry(key).or_insert(Arc::new(dataset)))
            }
        })
    }

    /// A sensor of a KITTI dataset as a source.
    ///
    /// # Errors
    /// No such drive or sequence; files that are missing or cannot be read.
    pub fn kitti(&mut self, spec: &KittiSpec) -> Result<Stored, SourceError> {
        kitti::source(spec)
    }

    /// A topic of a bag as a source.
    ///
    /// # Errors
    /// No such bag or topic; a topic of something else than images or point clouds.
    pub fn bag(&mut self, spec: &BagSpec) -> Result<Stored, SourceError> {
        let (bag, places) = self.opened_bag(spec)?;
        bag::source(&bag, &places, spec)
    }

    fn opened_bag(&mut self, spec: &BagSpec) -> Result<(Bag, Arc<bag::Places>), SourceError> {
        Ok(match self.bags.get(&spec.path) {
            Some(opened) => opened.clone(),
            None => {
                let bag = Bag::open(&spec.path, &Limits::default()).map_err(recording)?;
                let name = spec.path.display().to_string();
                let summary = bag.summary();
                let odd = summary.losses.iter().chain(&summary.clocks);
                odd.for_each(|said| log::warn!("{name}: {said}"));
                if summary.unchecked_files > 0 {
                    log::warn!("{name} is too long for its checksums to be looked at before the run");
                }
                let places = Arc::new(bag::Places::of(&bag, &name));
                let opened = self.bags.entry(spec.path.clone()).or_insert((bag, places));
                opened.clone()
            }
        })
    }

    /// A video as a source.
    ///
    /// # Errors
    /// No ffmpeg, no such video, or one that does not decode.
    pub fn video(&mut self, spec: &VideoSpec) -> Result<Stored, SourceError> {
        self.allow(match &spec.decoder {
            VideoDecoder::Command { command, .. } => Some(command),
            VideoDecoder::Ffmpeg(_) => None,
        })?;
        video::source(spec, self.guard.as_ref())
    }

    /// A camera as a source.
    ///
    /// # Errors
    /// No ffmpeg or other program, no such camera, or one that gives nothing.
    pub fn camera(&mut self, spec: &CameraSpec) -> Result<Box<dyn Source>, SourceError> {
        self.allow(match &spec.from {
            CameraFrom::Command { command, .. } => Some(command),
            CameraFrom::Device { .. } => None,
        })?;
        Ok(Box::new(camera::source(spec, self.guard.as_ref())?))
    }
}

/// The topics of a bag that frames are made of.
///
/// # Errors
/// There is no bag under this name.
pub fn frame_topics(path: &Path) -> Result<Vec<FrameTopic>, SourceError> {
    Ok(bag::topics(
        &Bag::open(path, &Limits::default()).map_err(recording)?,
    ))
}

/// Databases are read to see what is damaged in them, which takes a minute for as much as this.
const MOST_CHECKED: u64 = 8 << 30;

/// What a bag holds, and which messages of its databases cannot be read.
///
/// # Errors
/// There is no bag under this name.
pub fn contents(path: &Path) -> Result<BagSummary, SourceError> {
    let bag = Bag::open(path, &Limits::default()).map_err(recording)?;
    let mut summary = bag.summary();
    if bag.has_databases_up_to(MOST_CHECKED) {
        let unreadable = bag.unreadable();
        summary.losses.extend(unreadable.iter().map(ToString::to_string));
    }
    Ok(summary)
}

/// Files that a selection of a dataset needs, beside the datasets' folders.
///
/// # Errors
/// Those of opening it.
pub fn files(of: &NuScenesSpec) -> Result<Vec<PathBuf>, SourceError> {
    nuscenes::files(of)
}

/// As [`files`], of KITTI.
///
/// # Errors
/// Those of opening it.
pub fn kitti_files(of: &KittiSpec) -> Result<Vec<PathBuf>, SourceError> {
    kitti::files(of)
}

fn recording(error: impl std::error::Error + Send + Sync + 'static) -> SourceError {
    SourceError::Recording(Box::new(error))
}

/// The most pixels of an image.
fn most_pixels(common: &RecordingSpec) -> u64 {
    u64::from(common.max_megapixels) * 1_000_000
}
