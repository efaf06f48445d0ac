//! Messages of a LiDAR and of a camera as most drivers send them.

use super::encode::{CameraMessage, CloudMessage};
use crate::message::{Field, Header, Number, Region};

const fn float(name: &'static str, offset: u32) -> Field<'static> {
    Field {
        name,
        offset,
        number: Number::Float32,
        count: 1,
    }
}

/// A point as x, y, z and intensity: 16 bytes.
pub const XYZI: [Field<'static>; 4] = [
    float("x", 0),
    float("y", 4),
    float("z", 8),
    float("intensity", 12),
];

/// A point as x, y, z, intensity and the ring that it is of: 20 bytes, of which the last two are not used.
pub const XYZI_RING: [Field<'static>; 5] = [
    float("x", 0),
    float("y", 4),
    float("z", 8),
    float("intensity", 12),
    Field {
        name: "ring",
        offset: 16,
        number: Number::Uint16,
        count: 1,
    },
];

/// A sweep of points with these fields, `step` bytes each: a row of them all. Bytes after the last whole point are left out.
pub fn cloud<'a>(header: Header<'a>, fields: &'a [Field<'a>], step: u32, data: &'a [u8]) -> CloudMessage<'a> {
    let width = u32::try_from(data.len() / (step.max(1) as usize)).unwrap_or(u32::MAX);
    let row_step = width.saturating_mul(step);
    CloudMessage {
        stamp: header.stamp,
        frame_id: header.frame_id,
        height: 1,
        width,
        fields,
        is_big_endian: false,
        point_step: step,
        row_step,
        data: &data[..(row_step as usize).min(data.len())],
        is_dense: true,
    }
}

/// The calibration of a camera whose images are rectified: no distortion, and a projection without shift.
pub fn pinhole<'a>(header: Header<'a>, [width, height]: [u32; 2], k: [[f64; 3]; 3]) -> CameraMessage<'a> {
    let [a, b, c] = k;
    CameraMessage {
        header,
        height,
        width,
        distortion_model: "plumb_bob",
        d: &[0.0; 5],
        k: [a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2]],
        r: [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        p: [
            a[0], a[1], a[2], 0.0, b[0], b[1], b[2], 0.0, c[0], c[1], c[2], 0.0,
        ],
        binning_x: 0,
        binning_y: 0,
        roi: Region::default(),
    }
}
