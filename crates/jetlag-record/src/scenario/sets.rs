//! Detectors and sources of several sensors.

use serde::{Deserialize, Serialize};

use super::source::SourceSpec;
use super::tenant::DetectorRef;
use crate::units::Nanos;

/// How far apart the captures of a set may lie where nothing is said: half a period of a LiDAR at 10 Hz.
pub const TOLERANCE: Nanos = Nanos::from_millis(50);

/// Frames of a sensor that wait for a partner where nothing is said, as ROS's filters have it.
pub const SET_QUEUE: usize = 10;

/// A camera and a LiDAR of one recording, whose frames come in sets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetSpec {
    /// The camera.
    pub camera: Box<SourceSpec>,
    /// The LiDAR.
    pub lidar: Box<SourceSpec>,
    /// How far apart the captures of a set may lie.
    pub tolerance: Nanos,
    /// How many frames of a sensor wait for a partner; the oldest goes first.
    pub queue: usize,
}

/// A detector of images and one of sweeps, whose boxes are put together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FusionSpec {
    /// The detector of images.
    pub camera: Box<DetectorRef>,
    /// The detector of sweeps.
    pub lidar: Box<DetectorRef>,
    /// Which boxes are of one object.
    pub associate: Associate,
}

/// Which boxes of a camera and of a LiDAR are of one object.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Associate {
    /// The pair with the largest IoU in the image first, each box once.
    Greedy {
        /// The least IoU of a pair.
        iou: f32,
        /// Whether both must have one class, by its name.
        same_class: bool,
    },
}

impl Default for Associate {
    fn default() -> Associate {
        Associate::Greedy {
            iou: 0.3,
            same_class: true,
        }
    }
}
