//! In place of `recordings`, where this jetlag was built without it.

use std::path::PathBuf;

use super::SourceError;
use super::stored::Stored;
use crate::built::LeftOut;
use crate::scenario::{BagSpec, KittiSpec, NuScenesSpec};

/// Recordings that are open: none.
#[derive(Default)]
pub struct Opened(());

impl Opened {
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
