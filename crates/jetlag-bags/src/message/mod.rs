//! The messages of cameras and LiDARs, as views of the bytes that a bag holds. Every length is checked against what the message
//! holds before anybody relies on it.

mod camera;
mod cloud;
mod image;
mod transform;

pub use camera::{CameraInfo, Doubles, Region};
pub use cloud::{Field, Fields, Number, PointCloud};
pub use image::{CompressedImage, Encoding, Image};
pub use transform::{TransformStamped, transforms};

use crate::cdr::{CdrError, Decoder};
use crate::time::Time;

/// Types of messages.
pub mod kind {
    /// An uncompressed image.
    pub const IMAGE: &str = "sensor_msgs/msg/Image";
    /// An image as JPEG or PNG.
    pub const COMPRESSED_IMAGE: &str = "sensor_msgs/msg/CompressedImage";
    /// A sweep of a LiDAR.
    pub const POINT_CLOUD: &str = "sensor_msgs/msg/PointCloud2";
    /// The calibration of a camera.
    pub const CAMERA_INFO: &str = "sensor_msgs/msg/CameraInfo";
    /// Where frames of reference are.
    pub const TRANSFORMS: &str = "tf2_msgs/msg/TFMessage";
    /// Where one frame of reference is.
    pub const TRANSFORM: &str = "geometry_msgs/msg/TransformStamped";
}

/// Whether messages of a type begin with a header, as far as is known here: those of `sensor_msgs` that sensors send, and stamped
/// ones by their name.
pub(crate) fn begins_with_header(kind: &str) -> bool {
    const SENSORS: [&str; 20] = [
        "BatteryState",
        "CameraInfo",
        "CompressedImage",
        "FluidPressure",
        "Illuminance",
        "Image",
        "Imu",
        "JointState",
        "Joy",
        "LaserScan",
        "MagneticField",
        "MultiDOFJointState",
        "MultiEchoLaserScan",
        "NavSatFix",
        "PointCloud",
        "PointCloud2",
        "Range",
        "RelativeHumidity",
        "Temperature",
        "TimeReference",
    ];
    match kind.split_once("/msg/") {
        Some(("sensor_msgs", name)) => SENSORS.contains(&name),
        Some(("geometry_msgs", name)) => name.ends_with("Stamped"),
        _ => false,
    }
}

/// `std_msgs/Header`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// When the sensor measured.
    pub stamp: Time,
    /// The frame of reference.
    pub frame_id: &'a str,
}

impl<'a> Header<'a> {
    /// Reads it where the decoder stands.
    ///
    /// # Errors
    /// The message ends before it, or its text is damaged.
    pub fn decode(decoder: &mut Decoder<'a>) -> Result<Header<'a>, CdrError> {
        Ok(Header {
            stamp: decoder.time()?,
            frame_id: decoder.str()?,
        })
    }
}

/// Why a message could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// Its serialisation.
    #[error("{0}")]
    Cdr(#[from] CdrError),
    /// An image with fewer bytes than its size takes.
    #[error(
        "the image says that it is {width}×{height} in rows of {step} bytes, which is {wanted} bytes, but it holds {found}"
    )]
    ShortImage {
        /// Pixels in a row.
        width: u32,
        /// Rows.
        height: u32,
        /// Bytes from one row to the next.
        step: u32,
        /// Bytes that these take.
        wanted: u64,
        /// Bytes that there are.
        found: usize,
    },
    /// An image whose rows are shorter than their pixels.
    #[error(
        "the image says that a row of {width} pixels as {encoding} takes {step} bytes, but it takes {wanted}"
    )]
    ShortRow {
        /// Pixels in a row.
        width: u32,
        /// The encoding's name.
        encoding: &'static str,
        /// Bytes from one row to the next, as the message says.
        step: u32,
        /// Bytes of the pixels of a row.
        wanted: u64,
    },
    /// A point cloud with fewer bytes than its size takes.
    #[error(
        "the point cloud says that it has {width}×{height} points of {point_step} bytes in rows of {row_step} bytes, which is \
        {wanted} bytes, but it holds {found}"
    )]
    ShortCloud {
        /// Points in a row.
        width: u32,
        /// Rows.
        height: u32,
        /// Bytes from one point to the next.
        point_step: u32,
        /// Bytes from one row to the next.
        row_step: u32,
        /// Bytes that these take.
        wanted: u64,
        /// Bytes that there are.
        found: usize,
    },
    /// A point cloud whose rows are shorter than their points.
    #[error("the point cloud says that a row of {width} points of {point_step} bytes takes {row_step} bytes")]
    ShortCloudRow {
        /// Points in a row.
        width: u32,
        /// Bytes from one point to the next.
        point_step: u32,
        /// Bytes from one row to the next.
        row_step: u32,
    },
}
