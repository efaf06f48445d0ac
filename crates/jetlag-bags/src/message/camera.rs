//! The calibration of a camera.

use super::Header;
use crate::cdr::{CdrError, Decoder};

/// A sequence of numbers in a message, which were read once without an error.
#[derive(Clone, Copy, Debug)]
pub struct Doubles<'a> {
    first: Decoder<'a>,
    left: usize,
}

impl Iterator for Doubles<'_> {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        self.left = self.left.checked_sub(1)?;
        self.first.f64().ok()
    }
}

/// `sensor_msgs/RegionOfInterest`: all zero where the whole image is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// Leftmost column, in pixels.
    pub x_offset: u32,
    /// Topmost row, in pixels.
    pub y_offset: u32,
    /// Rows.
    pub height: u32,
    /// Columns.
    pub width: u32,
    /// Whether the region is of the rectified image.
    pub do_rectify: bool,
}

/// `sensor_msgs/CameraInfo`. Matrices are row by row.
#[derive(Clone, Copy, Debug)]
pub struct CameraInfo<'a> {
    /// Of the image that it belongs to.
    pub header: Header<'a>,
    /// Rows of the calibrated image.
    pub height: u32,
    /// Columns of the calibrated image.
    pub width: u32,
    /// Such as `plumb_bob`.
    pub distortion_model: &'a str,
    /// The coefficients of the distortion, as many as the model has.
    pub d: Doubles<'a>,
    /// The intrinsic matrix of the raw image, 3×3, in pixels.
    pub k: [f64; 9],
    /// The rotation to the rectified image, 3×3.
    pub r: [f64; 9],
    /// The projection to the rectified image, 3×4.
    pub p: [f64; 12],
    /// How many columns were joined to one; 0 and 1 mean none.
    pub binning_x: u32,
    /// How many rows were joined to one.
    pub binning_y: u32,
    /// The part of the image that was taken.
    pub roi: Region,
}

impl<'a> CameraInfo<'a> {
    /// Of a message.
    ///
    /// # Errors
    /// The message is cut off.
    pub fn decode(message: &'a [u8]) -> Result<CameraInfo<'a>, CdrError> {
        let mut decoder = Decoder::new(message)?;
        let header = Header::decode(&mut decoder)?;
        let (height, width) = (decoder.u32()?, decoder.u32()?);
        let distortion_model = decoder.str()?;
        let left = decoder.length(8)?;
        let d = Doubles { first: decoder, left };
        for _ in 0..left {
            decoder.f64()?;
        }
        Ok(CameraInfo {
            header,
            height,
            width,
            distortion_model,
            d,
            k: decoder.f64s()?,
            r: decoder.f64s()?,
            p: decoder.f64s()?,
            binning_x: decoder.u32()?,
            binning_y: decoder.u32()?,
            roi: Region {
                x_offset: decoder.u32()?,
                y_offset: decoder.u32()?,
                height: decoder.u32()?,
                width: decoder.u32()?,
                do_rectify: decoder.bool()?,
            },
        })
    }
}
