//! What sources have in common: sensors, and how what lies in storage is read.

use serde::{Deserialize, Serialize};

/// How the frames of a stored source are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reading {
    /// By a thread of its own, so many frames before they are asked for; with 0, when they are asked for.
    Ahead {
        /// How many.
        frames: u32,
    },
    /// All of them before the clock starts.
    Preload,
}

/// One after another, in the frame's own time.
impl Default for Reading {
    fn default() -> Self {
        Reading::Ahead { frames: 0 }
    }
}

/// The sensors of the synthetic world, and of KITTI's car.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Sensor {
    Camera,
    Lidar,
}
