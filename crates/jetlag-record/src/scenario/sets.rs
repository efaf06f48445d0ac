//! What detectors and sources of several sensors have by default, and how their boxes are put together.

use serde::{Deserialize, Serialize};

use crate::units::Nanos;

/// How far apart the captures of a set may lie where nothing is said: half a period of a LiDAR at 10 Hz.
pub const TOLERANCE: Nanos = Nanos::from_millis(50);

/// Frames of a sensor that wait for a partner where nothing is said, as ROS's filters have it.
pub const SET_QUEUE: usize = 10;

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
