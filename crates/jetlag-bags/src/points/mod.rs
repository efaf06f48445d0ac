//! Points of a `sensor_msgs/PointCloud2`, whatever their fields, as x y z intensity.
//!
//! | of a point | fields, the first that there is | else |
//! |---|---|---|
//! | x, y, z | `x`, `y`, `z`, in metres | an error that names the fields there |
//! | intensity | as the driver scales it | 0, and the layout says that there is none |
//! | ring | rounded to the nearest number of 16 bits | none |
//! | time | see below | none |
//!
//! What these are called stands in `jetlag_record::point_fields`; letter case does not matter.
//!
//! Times become seconds after the header's stamp. Makers mean different things by them, and the type tells which: integers are
//! nanoseconds after the stamp (`t` of Ouster, `offset_time` of Livox, `time_stamp` of Autoware), floats are seconds (`time` of Velodyne).
//! Floats beyond 10⁶ are no time after a stamp, but of the clock: seconds (`timestamp` of Hesai and RoboSense) or, beyond 10¹⁵, nanoseconds
//! (`timestamp` of Livox); the stamp is taken from them.

mod layout;
mod read;

pub use layout::{LayoutError, PointLayout, names};

use crate::message::{MessageError, PointCloud};

/// What is wanted of a cloud's points beside x, y, z and intensity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Want {
    /// The laser of each point.
    pub ring: bool,
    /// When each point was measured.
    pub time: bool,
}

/// Points of a cloud. Buffers are used again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Points {
    /// x, y, z in metres in the sensor's frame, and intensity.
    pub xyzi: Vec<[f32; 4]>,
    /// The laser of each point; empty where it is not wanted or the cloud has no such field.
    pub ring: Vec<u16>,
    /// Seconds after the header's stamp, of each point; empty where it is not wanted or the cloud has no such field.
    pub time: Vec<f32>,
    /// How many points were left out, because x, y or z is not finite.
    pub dropped: usize,
}

/// Why a message gives no points.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PointsError {
    /// The message cannot be decoded.
    #[error("{0}")]
    Message(#[from] MessageError),
    /// Its fields are not those of points.
    #[error("{0}")]
    Layout(#[from] LayoutError),
}

impl Points {
    /// Replaces the points by those of a message.
    ///
    /// # Errors
    /// The message cannot be decoded, or has no x, y and z.
    pub fn decode(&mut self, message: &[u8], want: Want) -> Result<(), PointsError> {
        let cloud = PointCloud::decode(message)?;
        let layout = PointLayout::of(&cloud)?;
        self.read(&cloud, &layout, want);
        Ok(())
    }

    /// Replaces the points by those of a cloud with this layout, which is its own.
    pub fn read(&mut self, cloud: &PointCloud<'_>, layout: &PointLayout, want: Want) {
        read::read(self, cloud, layout, want);
    }
}

#[cfg(test)]
mod tests;
