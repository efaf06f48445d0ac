//! In place of `recordings`, where this jetlag was built without it.

use std::path::{Path, PathBuf};

pub use super::FrameTopic;
use super::stored::Stored;
use super::{Source, SourceError};
use crate::built::LeftOut;
use crate::scenario::{BagSpec, CameraSpec, KittiSpec, NuScenesSpec, VideoSpec};

/// Not in this jetlag.
///
/// # Errors
/// Always.
pub fn frame_topics(_: &Path) -> Result<Vec<FrameTopic>, SourceError> {
    Err(LeftOut::RECORDINGS.into())
}

/// Recordings that are open: none.
#[derive(Default)]
pub struct Opened(());

impl Opened {
    /// Nothing.
    pub fn guarded_by(_: Option<PathBuf>, _: bool) -> Opened {
        Opened(())
    }

    /// Not in this jetlag.
    ///
    /// # Errors
    /// Always.
    pub fn nuscenes(&mut self, _: &NuScenesSpec) -> Result<Stored, SourceError> {
        Err(LeftOut::RECORDINGS.into())
    }

    /// Not in this jetlag.
    ///
    /// # Errors
    /// Always.
    pub fn kitti(&mut self, _: &KittiSpec) -> Result<Stored, SourceError> {
        Err(LeftOut::RECORDINGS.into())
    }

    /// Not in this jetlag.
    ///
    /// # Errors
    /// Always.
    pub fn bag(&mut self, _: &BagSpec) -> Result<Stored, SourceError> {
        Err(LeftOut::RECORDINGS.into())
    }

    /// Not in this jetlag.
    ///
    /// # Errors
    /// Always.
    pub fn video(&mut self, _: &VideoSpec) -> Result<Stored, SourceError> {
        Err(LeftOut::RECORDINGS.into())
    }

    /// Not in this jetlag.
    ///
    /// # Errors
    /// Always.
    pub fn camera(&mut self, _: &CameraSpec) -> Result<Box<dyn Source>, SourceError> {
        Err(LeftOut::RECORDINGS.into())
    }
}

/// Not in this jetlag.
///
/// # Errors
/// Always.
pub fn files(_: &NuScenesSpec) -> Result<Vec<PathBuf>, SourceError> {
    Err(LeftOut::RECORDINGS.into())
}

/// Not in this jetlag.
///
/// # Errors
/// Always.
pub fn kitti_files(_: &KittiSpec) -> Result<Vec<PathBuf>, SourceError> {
    Err(LeftOut::RECORDINGS.into())
}
