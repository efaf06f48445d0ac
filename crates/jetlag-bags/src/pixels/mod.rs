//! Pixels of a `sensor_msgs/Image` as packed RGB of 8 bits, row by row from the top.
//!
//! | encoding | becomes |
//! |---|---|
//! | `rgb8`, `bgr8`, `rgba8`, `bgra8` | its colours; transparency is left out |
//! | `8UC1`, `8UC3`, `8UC4` | as `mono8`, `bgr8`, `bgra8`: the names of OpenCV, which `cv_bridge` passes through |
//! | `rgb16`, `bgr16`, `rgba16`, `bgra16` | the high byte of each colour |
//! | `nv12`, `nv21` | as `yuv422`, with one colour for two by two pixels, which is not interpolated |
//! | `mono8`, `mono16` | grey; of 16 bits the high byte, in the byte order of the message |
//! | `bayer_rggb8`, `bayer_bggr8`, `bayer_gbrg8`, `bayer_grbg8` | bilinear: each missing colour is the mean of its two or four nearest samples, mirrored at the border |
//! | `yuv422` (`uyvy`), `yuv422_yuy2` (`yuyv`) | BT.601 in the range of video (16 to 235), as OpenCV does it |

mod bayer;
mod yuv;

use crate::message::{Encoding, Image};

/// Why an image gives no pixels.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PixelError {
    /// An encoding that is not known here.
    #[error(
        "images encoded as `{found}` are not supported; supported are {}",
        supported()
    )]
    Encoding {
        /// Its name.
        found: String,
    },
    /// An image without pixels.
    #[error("the image has {width}×{height} pixels")]
    Empty {
        /// Pixels in a row.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// A mosaic without two rows and columns, or pairs of pixels of which one is missing.
    #[error(
        "an image of {width}×{height} pixels cannot be encoded as {encoding}, whose pixels come in {groups}"
    )]
    Size {
        /// Pixels in a row.
        width: u32,
        /// Rows.
        height: u32,
        /// The encoding's name.
        encoding: String,
        /// How pixels come.
        groups: &'static str,
    },
    /// Fewer bytes than pixels; no image that was decoded here.
    #[error("the image holds {found} bytes, fewer than its pixels take")]
    Short {
        /// How many it holds.
        found: usize,
    },
}

fn supported() -> String {
    Encoding::KNOWN.map(|(name, _)| name).join(", ")
}

/// Rows of an image, without what pads them.
struct Rows<'a> {
    data: &'a [u8],
    step: usize,
    row_bytes: usize,
    width: usize,
    height: usize,
}

impl<'a> Rows<'a> {
    fn of(image: &Image<'a>) -> Result<Rows<'a>, PixelError> {
        let Image { width, height, .. } = *image;
        let Some(row_bytes) = image.encoding.row_bytes(width) else {
            return Err(PixelError::Encoding {
                found: image.encoding.name().to_owned(),
            });
        };
        if width == 0 || height == 0 {
            return Err(PixelError::Empty { width, height });
        }
        let short = PixelError::Short {
            found: image.data.len(),
        };
        let rows = || {
            let row_bytes = usize::try_from(row_bytes).ok()?;
            let (step, height) = (image.step as usize, height as usize);
            let end = step.checked_mul(height - 1)?.checked_add(row_bytes)?;
            (row_bytes <= step && end <= image.data.len()).then_some(Rows {
                data: image.data,
                step,
                row_bytes,
                width: width as usize,
                height,
            })
        };
        rows().ok_or(short)
    }

    fn row(&self, y: usize) -> &'a [u8] {
        &self.data[y * self.step..][..self.row_bytes]
    }
}

/// Replaces what `rgb` holds by `width × height × 3` bytes: red, green and blue of each pixel.
///
/// # Errors
/// The encoding is not supported, or the size is none for it.
pub fn to_rgb(image: &Image<'_>, rgb: &mut Vec<u8>) -> Result<(), PixelError> {
    let rows = Rows::of(image)?;
    let size = |groups| PixelError::Size {
        width: image.width,
        height: image.height,
        encoding: image.encoding.name().to_owned(),
        groups,
    };
    // At most three times the data, whose rows have at least a byte for each pixel.
    crate::positioned::resize_for_overwriting(rgb, rows.width * rows.height * 3);
    let is_big_endian = image.is_big_endian;
    match image.encoding {
        Encoding::Rgb8 => each_row(&rows, rgb, |row, out| out.copy_from_slice(row)),
        Encoding::Bgr8 => each_pixel::<3>(&rows, rgb, |[b, g, r]| [r, g, b]),
        Encoding::Rgba8 => each_pixel::<4>(&rows, rgb, |[r, g, b, _]| [r, g, b]),
        Encoding::Bgra8 => each_pixel::<4>(&rows, rgb, |[b, g, r, _]| [r, g, b]),
        Encoding::Mono8 => each_pixel::<1>(&rows, rgb, |[grey]| [grey; 3]),
        Encoding::Mono16 if image.is_big_endian => each_pixel::<2>(&rows, rgb, |[high, _]| [high; 3]),
        Encoding::Mono16 => each_pixel::<2>(&rows, rgb, |[_, high]| [high; 3]),
        Encoding::Rgb16 => each_pixel::<6>(&rows, rgb, |pixel| high_bytes(&pixel, [0, 1, 2], is_big_endian)),
        Encoding::Bgr16 => each_pixel::<6>(&rows, rgb, |pixel| high_bytes(&pixel, [2, 1, 0], is_big_endian)),
        Encoding::Rgba16 => each_pixel::<8>(&rows, rgb, |pixel| high_bytes(&pixel, [0, 1, 2], is_big_endian)),
        Encoding::Bgra16 => each_pixel::<8>(&rows, rgb, |pixel| high_bytes(&pixel, [2, 1, 0], is_big_endian)),
        Encoding::Nv12 | Encoding::Nv21 => {
            if !rows.width.is_multiple_of(2) || !rows.height.is_multiple_of(2) {
                return Err(size("squares of two by two"));
            }
            let is_u_first = image.encoding == Encoding::Nv12;
            for (y, out) in rgb.chunks_exact_mut(rows.width * 3).enumerate() {
                let colours = (rows.height + y / 2) * rows.step;
                let Some(colours) = rows.data.get(colours..colours + rows.width) else {
                    return Err(PixelError::Short {
                        found: image.data.len(),
                    });
                };
                yuv::planes(rows.row(y), colours, is_u_first, out);
            }
        }
        Encoding::BayerRggb8 | Encoding::BayerBggr8 | Encoding::BayerGbrg8 | Encoding::BayerGrbg8 => {
            if rows.width < 2 || rows.height < 2 {
                return Err(size("squares of two by two"));
            }
            let (red_x, red_y) = match image.encoding {
                Encoding::BayerRggb8 => (0, 0),
                Encoding::BayerGrbg8 => (1, 0),
                Encoding::BayerGbrg8 => (0, 1),
                _ => (1, 1),
            };
            bayer::demosaic(&rows, red_x, red_y, rgb);
        }
        Encoding::Uyvy | Encoding::Yuyv => {
            if !rows.width.is_multiple_of(2) {
                return Err(size("pairs"));
            }
            let is_luma_first = image.encoding == Encoding::Yuyv;
            each_row(&rows, rgb, |row, out| yuv::row(row, is_luma_first, out));
        }
        Encoding::Other(_) => {}
    }
    Ok(())
}

/// Of numbers of 16 bits in these places.
fn high_bytes(pixel: &[u8], places: [usize; 3], is_big_endian: bool) -> [u8; 3] {
    places.map(|place| pixel[place * 2 + usize::from(!is_big_endian)])
}

fn each_row(rows: &Rows<'_>, rgb: &mut [u8], convert: impl Fn(&[u8], &mut [u8])) {
    for (y, out) in rgb.chunks_exact_mut(rows.width * 3).enumerate() {
        convert(rows.row(y), out);
    }
}

fn each_pixel<const BYTES: usize>(rows: &Rows<'_>, rgb: &mut [u8], convert: impl Fn([u8; BYTES]) -> [u8; 3]) {
    each_row(rows, rgb, |row, out| {
        let pixels = row.as_chunks::<BYTES>().0;
        for (pixel, out) in pixels.iter().zip(out.as_chunks_mut::<3>().0) {
            *out = convert(*pixel);
        }
    });
}

#[cfg(test)]
mod tests;
