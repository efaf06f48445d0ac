//! Recordings of robots: datasets and bags.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::stored::{Reading, Sensor};
use crate::units::Nanos;

/// What one sensor recorded in a nuScenes dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NuScenesSpec {
    /// The dataset's folder.
    pub path: PathBuf,
    /// The folder of its tables; the only one where none is named.
    pub version: Option<String>,
    /// Names of scenes, or their numbers from 0; all where none is named.
    pub scenes: Vec<String>,
    /// The sensor's channel: `LIDAR_TOP`, `CAM_FRONT`, ….
    pub sensor: String,
    /// How many sweeps make up a frame of a LiDAR, itself among them.
    pub sweeps: u32,
    /// Only annotated captures.
    pub keyframes: bool,
    /// What it has in common with other recordings.
    #[serde(flatten)]
    pub common: RecordingSpec,
}

/// What one sensor recorded in a KITTI dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KittiSpec {
    /// The dataset's folder.
    pub path: PathBuf,
    /// How it lies on the disk.
    pub layout: KittiLayout,
    /// The drive (`2011_09_26_drive_0001_sync`) or sequence (`00`); in the object layout `training` or `testing`.
    pub sequence: String,
    /// The LiDAR or a camera.
    pub sensor: Sensor,
    /// Which camera, from 0 to 3: 2 is the left colour camera.
    pub camera: u8,
    /// What it has in common with other recordings.
    #[serde(flatten)]
    pub common: RecordingSpec,
}

/// Layouts of KITTI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KittiLayout {
    /// Single frames with labels, without times.
    Object,
    /// Drives, with times and poses.
    Raw,
    /// Sequences of the odometry benchmark, with times.
    Odometry,
}

/// One topic of a ROS 2 bag.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BagSpec {
    /// The bag's folder or file.
    pub path: PathBuf,
    /// The topic.
    pub topic: String,
    /// Where to begin, from the bag's first message.
    pub from: Nanos,
    /// Where to end; at the bag's end where it is not said.
    pub to: Option<Nanos>,
    /// Which of a message's times is its release in a replay.
    pub by: StampOf,
    /// What it has in common with other recordings.
    #[serde(flatten)]
    pub common: RecordingSpec,
}

/// Times of a message in a bag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum StampOf {
    /// When the recorder received it: what it took from its capture until then is in the age of the result.
    #[default]
    Log,
    /// When the sensor captured it, by the stamp in its header.
    Header,
}

/// What all recordings have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingSpec {
    /// Start again at the end.
    pub repeat: bool,
    /// The largest image that is decoded, in millions of pixels.
    pub max_megapixels: u32,
    /// The largest sweep that is read.
    pub max_points: u32,
    /// How it is read.
    pub reading: Reading,
}
