//! Drives as files that others read: nuScenes, KITTI's raw layout, bags of ROS 2.
//!
//! All of them tell of the same world at the same times. A capture is rendered when it is written, several at once, so that
//! a drive takes as much memory as a second of it; files and tables are the same on every machine.

mod bag;
mod json;
mod kitti;
mod map;
mod nuscenes;
mod order;
mod tracklets;

use jetlag_record::whole;
use std::path::{Path, PathBuf};

use jetlag_record::units::Nanos;
use jetlag_stats::random::scattered;

use crate::camera::{CENTRE, FOCAL};
use crate::{Drive, Image, Rate};

pub use bag::bag;
pub use jetlag_bags::BagWriter;
pub use jetlag_bags::write::{ChunkCompression, Format, WriteError};
pub use kitti::{DATE, DRIVE, kitti_raw};
pub use nuscenes::{SCENE, VERSION, nuscenes};

/// When drives begin, since 1970.
pub const BEGIN: Nanos = Nanos::from_secs(1_700_000_000);

/// What was written of a drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Images of the camera.
    pub images: u64,
    /// Sweeps of the LiDAR.
    pub sweeps: u64,
}

/// Is told how many captures were written, of how many.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// Why a drive could not be written.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// A file or folder.
    #[error("cannot write {}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// A bag.
    #[error(transparent)]
    Bag(#[from] WriteError),
    /// An image that could not be compressed.
    #[error("cannot compress an image: {0}")]
    Image(String),
}

/// One of the two sensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sensor {
    Camera,
    Lidar,
}

/// When the camera captures first: both sensors have clocks of their own. Below 20 ms, in whole microseconds.
fn camera_begins(drive: &Drive) -> Nanos {
    Nanos::from_micros((scattered(drive.seed() ^ 0xca) % 20_000) as i64)
}

/// When a sensor has its capture of this number, from the drive's beginning.
fn captured(drive: &Drive, sensor: Sensor, rate: Rate, number: u64) -> Nanos {
    match sensor {
        Sensor::Camera => camera_begins(drive) + rate.time(number),
        Sensor::Lidar => rate.time(number),
    }
}

/// The camera's matrix, in pixels.
fn intrinsic() -> [[f64; 3]; 3] {
    let [focal, x, y] = [FOCAL, CENTRE[0], CENTRE[1]].map(f64::from);
    [[focal, 0.0, x], [0.0, focal, y], [0.0, 0.0, 1.0]]
}

/// So good that detectors find the same in it as in the picture itself.
const JPEG_QUALITY: u8 = 95;

fn jpeg(image: &Image) -> Result<Vec<u8>, FilesError> {
    use libjpeg_turbo_rs::{PixelFormat, Subsampling, compress};
    let (width, height) = (image.width, image.height);
    compress(
        &image.rgb,
        width,
        height,
        PixelFormat::Rgb,
        JPEG_QUALITY,
        Subsampling::S420,
    )
    .map_err(|error| FilesError::Image(error.to_string()))
}

fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), FilesError> {
    whole::write(path, bytes, false).map_err(|error| FilesError::Io {
        path: path.to_owned(),
        error,
    })
}

fn make_folder(path: &Path) -> Result<(), FilesError> {
    std::fs::create_dir_all(path).map_err(|error| FilesError::Io {
        path: path.to_owned(),
        error,
    })
}

/// The turn about the vertical as a quaternion w, x, y, z.
fn turn(yaw: f64) -> [f64; 4] {
    [libm::cos(yaw / 2.0), 0.0, 0.0, libm::sin(yaw / 2.0)]
}

/// The camera's axes on the vehicle, as a quaternion w, x, y, z: it looks along x, its own x is to the right, its y down.
const CAMERA_TURN: [f64; 4] = [0.5, -0.5, 0.5, -0.5];
