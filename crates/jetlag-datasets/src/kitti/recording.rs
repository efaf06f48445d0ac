//! What a sensor recorded, in whichever of the layouts.

use std::path::PathBuf;
use std::sync::Arc;

use jetlag_record::units::Nanos;

use super::calibration::{Calibration, Camera};
use crate::geometry::Matrix;
use crate::timeline::TimeLine;

/// A sensor of KITTI's car.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sensor {
    /// The LiDAR: `.bin` files of float32 x y z reflectance.
    Velodyne,
    /// A camera: `.png` files, or `.jpg` where somebody converted them.
    Camera(Camera),
}

/// One file of a sensor.
#[derive(Clone, Debug, PartialEq)]
pub struct KittiFrame {
    /// The file.
    pub file: PathBuf,
    /// Its number in the layout: of the file's name. 0 for names of the object layout that are no numbers.
    pub number: usize,
    /// Capture time: since 1970 in the raw layout, since the sequence's beginning in the odometry layout, none in the object
    /// layout.
    pub captured: Option<Nanos>,
    /// Capture time from the origin of the time line.
    pub offset: Option<Nanos>,
    /// Raw: maps the inertial unit's frame into east, north and up from the drive's first packet. Odometry: maps rectified
    /// camera 0 into that of the sequence's first frame. `None` where the dataset does not tell.
    pub pose: Option<Matrix>,
    /// The calibration at that time.
    pub calibration: Arc<Calibration>,
    /// The labels, in the object layout with `label_2`.
    pub labels: Option<PathBuf>,
}

/// What a sensor recorded, in time order (by name in the object layout).
#[derive(Clone, Debug)]
pub struct KittiRecording {
    /// The frames; at least one.
    pub frames: Vec<KittiFrame>,
    /// When they come, the same for every sensor of a drive or sequence; `None` in the object layout, which has no times.
    pub time_line: Option<TimeLine>,
    /// Numbers of a raw drive that the LiDAR has no sweep of: some were lost when KITTI was recorded.
    pub gaps: Vec<usize>,
    /// What [`Tracklets`](super::Tracklets) reads, of a raw drive that has it.
    pub tracklets: Option<PathBuf>,
}
