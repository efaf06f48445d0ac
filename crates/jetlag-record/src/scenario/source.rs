//! Where frames come from.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::recordings::{BagSpec, KittiSpec, NuScenesSpec};
use super::stored::{Reading, Sensor};
use super::video::{CameraFrom, CameraSpec, VideoDecoder, VideoSpec};
use crate::units::Nanos;

/// The largest image that is decoded where the source does not say, in millions of pixels: several times what cameras of
/// robots have.
pub const MAX_MEGAPIXELS: u32 = 64;

/// The largest sweep that is read where the source does not say: 128 beams of 2048 columns are 262 144 points.
pub const MAX_POINTS: u32 = 4_000_000;

const fn default_max_megapixels() -> u32 {
    MAX_MEGAPIXELS
}

const fn default_max_points() -> u32 {
    MAX_POINTS
}

/// Where frames come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SourceSpec {
    /// Frames without content, for `sim` and `null`.
    Empty,
    /// A folder of JPEG or PNG images, in name order.
    Images {
        /// The folder with the images.
        path: PathBuf,
        /// Start again at the end.
        repeat: bool,
        /// The largest image that is decoded, in millions of pixels.
        #[serde(default = "default_max_megapixels")]
        max_megapixels: u32,
        /// How it is read.
        #[serde(default)]
        reading: Reading,
    },
    /// A folder of .bin or .pcd sweeps, in name order.
    Points {
        /// The data set's folder.
        path: PathBuf,
        /// Start again at the end.
        repeat: bool,
        /// What the columns of a .bin are.
        format: PointFormat,
        /// The largest sweep that is read.
        #[serde(default = "default_max_points")]
        max_points: u32,
        /// How it is read.
        #[serde(default)]
        reading: Reading,
    },
    /// A sensor of a nuScenes dataset.
    NuScenes(NuScenesSpec),
    /// A sensor of a KITTI dataset.
    Kitti(KittiSpec),
    /// A topic of a ROS 2 bag.
    Bag(BagSpec),
    /// A video in a file.
    Video(VideoSpec),
    /// A camera, whose frames come when it has them.
    Camera(CameraSpec),
    /// Several cameras of one recording, whose images come one after the other.
    Cameras(Vec<SourceSpec>),
    /// Cameras and a LiDAR of one recording, in sets.
    Synchronised(SetSpec),
    /// The synthetic world, seen by one of its sensors. Equal seeds give equal scenes at equal indices.
    Synthetic {
        /// The sensor whose frames are made.
        sensor: Sensor,
        /// How many scenes are made, before they come round again.
        scenes: usize,
        /// Seed of the world; the scenario's where not given.
        seed: u64,
    },
}

/// Cameras and a LiDAR of one recording, whose frames come in sets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetSpec {
    /// The camera, or the first of several.
    pub camera: Box<SourceSpec>,
    /// The others, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more_cameras: Vec<SourceSpec>,
    /// The LiDAR.
    pub lidar: Box<SourceSpec>,
    /// How far apart the captures of a set may lie.
    pub tolerance: Nanos,
    /// How many frames of a sensor wait for a partner; the oldest goes first.
    pub queue: usize,
    /// Which of several sets is made, and when.
    #[serde(default, skip_serializing_if = "SetRule::is_usual")]
    pub rule: SetRule,
}

/// How the frames of several sensors become sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SetRule {
    /// With its last frame, the set of those that wait with the least time between them: ROS's filter in Python.
    #[default]
    Nearest,
    /// When no later frame can make a better one of the same pivot: ROS's filter in C++.
    Pivot,
}

impl SetRule {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
    fn is_usual(&self) -> bool {
        *self == SetRule::default()
    }
}

impl SetSpec {
    /// All cameras, in the order of their images in a set.
    pub fn cameras(&self) -> impl Iterator<Item = &SourceSpec> {
        std::iter::once(&*self.camera).chain(&self.more_cameras)
    }
}

impl SourceSpec {
    /// Whether its frames come when it has them, and cannot be asked for.
    pub fn is_live(&self) -> bool {
        matches!(self, SourceSpec::Camera(_))
    }

    /// The programs that it names and starts, each with its arguments.
    pub fn commands(&self) -> Vec<&[String]> {
        match self {
            SourceSpec::Camera(CameraSpec {
                from: CameraFrom::Command { command, .. },
                ..
            })
            | SourceSpec::Video(VideoSpec {
                decoder: VideoDecoder::Command { command, .. },
                ..
            }) => vec![command],
            SourceSpec::Cameras(cameras) => cameras.iter().flat_map(SourceSpec::commands).collect(),
            SourceSpec::Synchronised(set) => {
                let all = set.cameras().chain([&*set.lidar]);
                all.flat_map(SourceSpec::commands).collect()
            }
            _ => Vec::new(),
        }
    }

    /// What its recording calls the sensor, where it has a name for it.
    pub fn sensor_name(&self) -> Option<String> {
        match self {
            SourceSpec::NuScenes(of) => Some(of.sensor.clone()),
            SourceSpec::Bag(of) => Some(of.topic.clone()),
            SourceSpec::Kitti(of) if of.sensor == Sensor::Camera => Some(format!("image_{:02}", of.camera)),
            _ => None,
        }
    }

    /// The sensor whose frames a frame is recorded as: the LiDAR of a set, and otherwise the source itself.
    pub fn recorded_as(&self) -> &SourceSpec {
        match self {
            SourceSpec::Synchronised(set) => &set.lidar,
            other => other,
        }
    }
}

/// Columns of a .bin file of float32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PointFormat {
    /// x y z intensity.
    #[default]
    Kitti,
    /// x y z intensity ring.
    NuScenes,
}
