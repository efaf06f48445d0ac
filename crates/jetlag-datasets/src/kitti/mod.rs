//! KITTI in its three layouts: the object benchmark, raw drives and odometry sequences.
//!
//! [`open`] finds the files of one sensor with their times, poses and calibration, as far as the layout has them, and checks
//! that none is missing. The files themselves are read by others.

mod calibration;
mod listing;
mod object;
mod odometry;
mod oxts;
mod raw;
mod recording;
mod text;
mod tracklets;

use std::path::Path;

pub use calibration::{Calibration, Camera};
pub use recording::{KittiFrame, KittiRecording, Sensor};
pub use tracklets::{Occlusion, Tracked, Tracklets};

use crate::error::DatasetError;

/// How KITTI lies on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The object benchmark: single frames with labels, without times. The root holds `training` or `testing`.
    Object(Split),
    /// A raw drive, synchronised and rectified: `2011_09_26_drive_0001_sync`. The root holds the days.
    Raw {
        /// The name of its folder.
        drive: String,
    },
    /// A sequence of the odometry benchmark. The root holds `sequences` and `poses`.
    Odometry {
        /// Its number as its folder is named: `00`.
        sequence: String,
    },
}

/// The halves of the object benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// With labels.
    Training,
    /// Without.
    Testing,
}

/// Finds what a sensor recorded.
///
/// # Errors
/// A folder or file that cannot be read or is not as it should be, a drive or sequence that is not there, files that are
/// missing: all of them in one error. Sweeps that a raw drive lost are no error: [`KittiRecording::gaps`].
pub fn open(root: &Path, layout: &Layout, sensor: Sensor) -> Result<KittiRecording, DatasetError> {
    match layout {
        Layout::Object(split) => object::open(root, *split, sensor),
        Layout::Raw { drive } => raw::open(root, drive, sensor),
        Layout::Odometry { sequence } => odometry::open(root, sequence, sensor),
    }
}
