//! Images, uncompressed and compressed.

use super::{Header, MessageError};
use crate::cdr::{CdrError, Decoder};

/// How the pixels of an image are stored, by the names of `sensor_msgs/image_encodings.hpp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding<'a> {
    /// `rgb8`
    Rgb8,
    /// `bgr8`
    Bgr8,
    /// `rgba8`
    Rgba8,
    /// `bgra8`
    Bgra8,
    /// `mono8`
    Mono8,
    /// `mono16`
    Mono16,
    /// `rgb16`
    Rgb16,
    /// `bgr16`
    Bgr16,
    /// `rgba16`
    Rgba16,
    /// `bgra16`
    Bgra16,
    /// `bayer_rggb8`: the first row begins red, green.
    BayerRggb8,
    /// `bayer_bggr8`: the first row begins blue, green.
    BayerBggr8,
    /// `bayer_gbrg8`: the first row begins green, blue.
    BayerGbrg8,
    /// `bayer_grbg8`: the first row begins green, red.
    BayerGrbg8,
    /// `yuv422` or `uyvy`: two pixels as U Y V Y.
    Uyvy,
    /// `yuv422_yuy2` or `yuyv`: two pixels as Y U Y V.
    Yuyv,
    /// `nv12`: a plane of brightness, then one of colours of half the rows, U V for two by two pixels.
    Nv12,
    /// `nv21`: the same with V U.
    Nv21,
    /// Any other, by its name.
    Other(&'a str),
}

impl<'a> Encoding<'a> {
    /// All that are known, with the name by which they are written.
    pub const KNOWN: [(&'static str, Encoding<'static>); 18] = [
        ("rgb8", Encoding::Rgb8),
        ("bgr8", Encoding::Bgr8),
        ("rgba8", Encoding::Rgba8),
        ("bgra8", Encoding::Bgra8),
        ("mono8", Encoding::Mono8),
        ("mono16", Encoding::Mono16),
        ("rgb16", Encoding::Rgb16),
        ("bgr16", Encoding::Bgr16),
        ("rgba16", Encoding::Rgba16),
        ("bgra16", Encoding::Bgra16),
        ("bayer_rggb8", Encoding::BayerRggb8),
        ("bayer_bggr8", Encoding::BayerBggr8),
        ("bayer_gbrg8", Encoding::BayerGbrg8),
        ("bayer_grbg8", Encoding::BayerGrbg8),
        ("yuv422", Encoding::Uyvy),
        ("yuv422_yuy2", Encoding::Yuyv),
        ("nv12", Encoding::Nv12),
        ("nv21", Encoding::Nv21),
    ];

    /// Of a name in a message. `cv_bridge` passes OpenCV's own names through, whose channels are blue, green, red.
    pub fn of(name: &'a str) -> Encoding<'a> {
        match name {
            "8UC1" => Encoding::Mono8,
            "8UC3" => Encoding::Bgr8,
            "8UC4" => Encoding::Bgra8,
            "NV12" => Encoding::Nv12,
            "NV21" => Encoding::Nv21,
            "uyvy" => Encoding::Uyvy,
            "yuyv" => Encoding::Yuyv,
            _ => {
                let known = Encoding::KNOWN.iter().find(|(known, _)| *known == name);
                known.map_or(Encoding::Other(name), |(_, encoding)| *encoding)
            }
        }
    }

    /// The name by which it is written.
    pub fn name(self) -> &'a str {
        match self {
            Encoding::Other(name) => name,
            known => known.known_name().unwrap_or_default(),
        }
    }

    fn known_name(self) -> Option<&'static str> {
        let known = Encoding::KNOWN.iter().find(|(_, encoding)| *encoding == self);
        known.map(|(name, _)| *name)
    }

    /// Bytes of a row of so many pixels without padding; none for an encoding that is not known.
    pub fn row_bytes(self, width: u32) -> Option<u64> {
        let width = u64::from(width);
        Some(match self {
            Encoding::Rgb8 | Encoding::Bgr8 => 3 * width,
            Encoding::Rgba8 | Encoding::Bgra8 => 4 * width,
            Encoding::Mono16 | Encoding::Uyvy | Encoding::Yuyv => 2 * width,
            Encoding::Rgb16 | Encoding::Bgr16 => 6 * width,
            Encoding::Rgba16 | Encoding::Bgra16 => 8 * width,
            Encoding::Other(_) => return None,
            _ => width,
        })
    }

    /// Rows of bytes that an image of so many rows of pixels has.
    pub fn stored_rows(self, height: u32) -> u64 {
        let height = u64::from(height);
        match self {
            Encoding::Nv12 | Encoding::Nv21 => height + height.div_ceil(2),
            _ => height,
        }
    }
}

/// `sensor_msgs/Image`, whose pixels are all there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image<'a> {
    /// When and where it was taken.
    pub header: Header<'a>,
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// How a pixel is stored.
    pub encoding: Encoding<'a>,
    /// Whether numbers of 16 bits have their high byte first.
    pub is_big_endian: bool,
    /// Bytes from one row to the next, with padding.
    pub step: u32,
    /// The rows: at least `step × (height − 1)` bytes and those of the last row's pixels.
    pub data: &'a [u8],
}

impl<'a> Image<'a> {
    /// Of a message.
    ///
    /// # Errors
    /// The message is cut off, or holds fewer bytes than its size takes.
    pub fn decode(message: &'a [u8]) -> Result<Image<'a>, MessageError> {
        let mut decoder = Decoder::new(message)?;
        let header = Header::decode(&mut decoder)?;
        let (height, width) = (decoder.u32()?, decoder.u32()?);
        let encoding = Encoding::of(decoder.str()?);
        let is_big_endian = decoder.bool()?;
        let image = Image {
            header,
            width,
            height,
            encoding,
            is_big_endian,
            step: decoder.u32()?,
            data: decoder.bytes()?,
        };
        image.check()?;
        Ok(image)
    }

    fn check(&self) -> Result<(), MessageError> {
        let Image {
            width, height, step, ..
        } = *self;
        let row = self.encoding.row_bytes(width).unwrap_or(u64::from(step));
        if let Some(encoding) = self.encoding.known_name()
            && u64::from(step) < row
        {
            return Err(MessageError::ShortRow {
                width,
                encoding,
                step,
                wanted: row,
            });
        }
        // The last row may lack its padding.
        let wanted = match self.encoding.stored_rows(height).checked_sub(1) {
            None => 0,
            Some(before) => u64::from(step).saturating_mul(before).saturating_add(row),
        };
        match wanted > self.data.len() as u64 {
            true => Err(MessageError::ShortImage {
                width,
                height,
                step,
                wanted,
                found: self.data.len(),
            }),
            false => Ok(()),
        }
    }
}

/// `sensor_msgs/CompressedImage`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompressedImage<'a> {
    /// When and where it was taken.
    pub header: Header<'a>,
    /// What the driver says of it: `jpeg`, `png`, or `rgb8; jpeg compressed bgr8`.
    pub format: &'a str,
    /// The file of an image: what kind is better told by its first bytes.
    pub data: &'a [u8],
}

impl<'a> CompressedImage<'a> {
    /// Of a message.
    ///
    /// # Errors
    /// The message is cut off.
    pub fn decode(message: &'a [u8]) -> Result<CompressedImage<'a>, CdrError> {
        let mut decoder = Decoder::new(message)?;
        Ok(CompressedImage {
            header: Header::decode(&mut decoder)?,
            format: decoder.str()?,
            data: decoder.bytes()?,
        })
    }
}
