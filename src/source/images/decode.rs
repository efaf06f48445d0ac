//! The bytes of an image file made into RGB pixels.
//!
//! What a file leaves open is decided as OpenCV's imread decides it, with which detectors were trained and judged: a level
//! more or less here is enough to let another cell's box win. A JPEG's rounding is libjpeg-turbo's, by a port whose pixels
//! are the same to the bit, also behind a bad Huffman code (`bad_codes`); CMYK becomes RGB by OpenCV's formula, 16 bits lose
//! their lower 8, and EXIF's orientation is applied (`orientation`). tests/images/make.py asks OpenCV.
//!
//! JPEG and PNG of 8-bit RGB are written straight into the frame's own buffer; CMYK and other kinds of PNG pass
//! through a buffer of their own.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use libjpeg_turbo_rs::{ColorSpace, Decoder, JpegError, PixelFormat};

use super::bad_codes::without_bad_codes;
use super::orientation::{orientation, turn};
use crate::scenario::MAX_MEGAPIXELS;
use crate::source::Image;

/// The largest image that [`decode_image`] takes. A damaged header may claim more.
const MOST_PIXELS: u64 = MAX_MEGAPIXELS as u64 * 1_000_000;
/// As many pixels as a byte of a JPEG can stand for: each block of 64 takes a bit at least.
const PIXELS_PER_BYTE: u64 = 64 * 8;

/// How a JPEG file begins: start of image, and the first byte of the marker that follows.
const JPEG_START: [u8; 3] = [0xFF, 0xD8, 0xFF];
/// How a PNG file begins.
const PNG_START: [u8; 8] = *b"\x89PNG\r\n\x1a\n";
/// How a JPEG file ends: the end-of-image marker.
const JPEG_END: [u8; 2] = [0xFF, 0xD9];

/// Why bytes are no image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// The file has no bytes.
    #[error("the file is empty")]
    Empty,
    /// A JPEG that ends too early.
    #[error("the JPEG is truncated: its {bytes} bytes end before the image does")]
    CutShort {
        /// How many there are.
        bytes: usize,
    },
    /// The decoder refuses it.
    #[error("the image cannot be decoded: {problem}")]
    Damaged {
        /// What the decoder said.
        problem: String,
    },
    /// More pixels than the bytes can stand for.
    #[error("the JPEG claims {width} × {height} pixels, too many for its {bytes} bytes: it is damaged")]
    Claims {
        /// Width of the image in pixels, by its header.
        width: u64,
        /// Height of the image in pixels, by its header.
        height: u64,
        /// How many bytes there are.
        bytes: usize,
    },
    /// Finer levels than are read.
    #[error("the JPEG has {bits} bits per channel; only 8 are supported")]
    Bits {
        /// Bits per channel in the file.
        bits: u8,
    },
    /// Another kind of file.
    #[error("the file is neither a JPEG nor a PNG, despite its name")]
    Other,
    /// A width or height of 0.
    #[error("the image is {width} × {height}: it has no pixels")]
    NoPixels {
        /// Width of the image in pixels.
        width: u64,
        /// Height of the image in pixels.
        height: u64,
    },
    /// More pixels than are taken.
    #[error(
        "the image is {width} × {height}, more than {megapixels} megapixels: if it is right, raise the source's `max_megapixels`"
    )]
    TooLarge {
        /// Width of the image in pixels.
        width: u64,
        /// Height of the image in pixels.
        height: u64,
        /// The most that are taken.
        megapixels: u64,
    },
}

impl ImageError {
    fn damaged(error: impl std::fmt::Display) -> Self {
        ImageError::Damaged {
            problem: error.to_string(),
        }
    }
}

/// Decodes the bytes of a JPEG or PNG file (which one is told by the bytes) into `image`, whose buffer is
/// used again, and turns it as its EXIF says.
///
/// # Errors
/// The bytes are no such file, damaged, cut short, of no size or of a monstrous one.
/// `image` is then of zero size.
pub fn decode_image(bytes: &[u8], image: &mut Image) -> Result<(), ImageError> {
    decode_image_of(bytes, image, MOST_PIXELS)
}

/// As [`decode_image`], of at most so many pixels: no memory is set aside for more.
///
/// # Errors
/// As there.
pub fn decode_image_of(bytes: &[u8], image: &mut Image, most_pixels: u64) -> Result<(), ImageError> {
    (image.width, image.height) = (0, 0);
    if bytes.is_empty() {
        return Err(ImageError::Empty);
    }
    let decode = if bytes.starts_with(&JPEG_START) {
        decode_jpeg
    } else {
        decode_png
    };
    // Both decoders were seen to panic on damaged files; such a file is a frame that fails, like any other.
    let decoded = catch_unwind(AssertUnwindSafe(|| decode(bytes, &mut image.rgb, most_pixels)));
    let decoded = decoded.unwrap_or_else(|_| Err(ImageError::damaged("its decoder panicked")));
    let (size, orientation) = decoded?;
    [image.width, image.height] = turn(&mut image.rgb, size, orientation);
    Ok(())
}

/// Decodes a JPEG into `rgb`; returns width and height as stored, and the orientation.
fn decode_jpeg(bytes: &[u8], rgb: &mut Vec<u8>, most_pixels: u64) -> Result<([usize; 2], u8), ImageError> {
    let damaged = |error| match error {
        JpegError::UnexpectedEof => cut_short(bytes),
        error => ImageError::damaged(error),
    };
    // A progressive file is a whole, coarse picture after its first scan: only its end says that none is missing.
    if !bytes.windows(2).rev().any(|pair| pair == JPEG_END) {
        return Err(cut_short(bytes));
    }
    let decoder = Decoder::new(bytes).map_err(damaged)?;
    let size = [decoder.header().width(), decoder.header().height()];
    let [width, height] = size.map(|side| side as u64);
    sane([width, height], most_pixels)?;
    if width * height > bytes.len() as u64 * PIXELS_PER_BYTE && !is_arithmetic(bytes) {
        return Err(ImageError::Claims {
            width,
            height,
            bytes: bytes.len(),
        });
    }
    let bits = decoder.header().precision;
    if bits != 8 {
        return Err(ImageError::Bits { bits });
    }
    let orientation = decoder.exif_data().map_or(1, orientation);
    // A folder that is played again and again would say it with every frame.
    static TOLD: Once = Once::new();
    let outcome = match pixels(decoder, size, rgb) {
        Err(JpegError::CorruptData(problem)) => match without_bad_codes(bytes) {
            Some(mended) => {
                TOLD.call_once(|| {
                    log::warn!(
                        "a JPEG of {width} × {height} pixels is damaged ({problem}); it and others of the kind are read as OpenCV \
                         reads them"
                    );
                });
                let mut decoder = Decoder::new(&mended).map_err(damaged)?;
                // Behind a bad code bits may be missing, for which libjpeg takes grey.
                decoder.set_lenient(true);
                pixels(decoder, size, rgb)
            }
            None => Err(JpegError::CorruptData(problem)),
        },
        outcome => outcome,
    };
    outcome.map_err(damaged)?;
    Ok((size, orientation))
}

/// The pixels of a JPEG of a known size.
fn pixels(mut decoder: Decoder<'_>, size: [usize; 2], rgb: &mut Vec<u8>) -> Result<(), JpegError> {
    rgb.resize(size[0] * size[1] * 3, 0);
    match decoder.jpeg_color_space() {
        ColorSpace::Cmyk | ColorSpace::Ycck => {
            let mut inks = vec![0; size[0] * size[1] * 4];
            decoder.set_output_format(PixelFormat::Cmyk);
            decoder.decode_image_into(&mut inks)?;
            rgb_of_inks(&inks, rgb);
        }
        _ => {
            decoder.set_output_format(PixelFormat::Rgb);
            decoder.decode_image_into(rgb)?;
        }
    }
    Ok(())
}

/// CMYK to RGB as OpenCV does it: inks as Adobe stores them, 255 for none, whoever wrote the file; cut, not rounded.
fn rgb_of_inks(inks: &[u8], rgb: &mut [u8]) {
    for (pixel, [inks @ .., black]) in rgb.as_chunks_mut::<3>().0.iter_mut().zip(inks.as_chunks::<4>().0) {
        let black = i32::from(*black);
        *pixel = inks.map(|ink| (black - (((255 - i32::from(ink)) * black) >> 8)) as u8);
    }
}

fn cut_short(bytes: &[u8]) -> ImageError {
    ImageError::CutShort { bytes: bytes.len() }
}

/// A PNG's header is read; palettes, few bits and 16 of them will become 8 bits a channel: of 16 the upper 8, as in OpenCV.
fn png_reader(bytes: &[u8]) -> Result<png::Reader<Cursor<&[u8]>>, ImageError> {
    if !bytes.starts_with(&PNG_START) {
        return Err(ImageError::Other);
    }
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    decoder.read_info().map_err(ImageError::damaged)
}

/// Decodes a PNG into `rgb`; returns width and height as stored, and the orientation.
fn decode_png(bytes: &[u8], rgb: &mut Vec<u8>, most_pixels: u64) -> Result<([usize; 2], u8), ImageError> {
    let mut reader = png_reader(bytes)?;
    let info = reader.info();
    let size = [info.width, info.height];
    sane(size.map(u64::from), most_pixels)?;
    let size = size.map(|side| side as usize);
    let pixels = size[0] * size[1];
    let orientation = info.exif_metadata.as_deref().map_or(1, orientation);
    rgb.resize(pixels * 3, 0);
    let (colour, _) = reader.output_color_type();
    if colour == png::ColorType::Rgb {
        reader.next_frame(rgb).map_err(ImageError::damaged)?;
        return Ok((size, orientation));
    }
    let mut other = vec![0; pixels * colour.samples()];
    reader.next_frame(&mut other).map_err(ImageError::damaged)?;
    let to = rgb.as_chunks_mut::<3>().0;
    // Transparency is dropped, grey becomes three equal channels.
    match colour {
        png::ColorType::Rgba => {
            let from = other.as_chunks::<4>().0;
            to.iter_mut()
                .zip(from)
                .for_each(|(to, [r, g, b, _])| *to = [*r, *g, *b]);
        }
        _ => {
            let grey = other.iter().step_by(colour.samples());
            to.iter_mut().zip(grey).for_each(|(to, grey)| *to = [*grey; 3]);
        }
    }
    Ok((size, orientation))
}

/// Width and height that an image file's header states, before its orientation is applied.
///
/// # Errors
/// The bytes are no JPEG and no PNG, or the header is damaged.
pub fn image_size(bytes: &[u8]) -> Result<[usize; 2], ImageError> {
    if bytes.starts_with(&JPEG_START) {
        let decoder = Decoder::new(bytes).map_err(ImageError::damaged)?;
        return Ok([decoder.header().width(), decoder.header().height()]);
    }
    let reader = png_reader(bytes)?;
    Ok([reader.info().width, reader.info().height].map(|side| side as usize))
}

/// Whether a JPEG's pixels are coded arithmetically, for which a bit may stand for many blocks.
fn is_arithmetic(bytes: &[u8]) -> bool {
    let mut rest = bytes.get(2..).unwrap_or_default();
    loop {
        match rest {
            // Any marker may be filled up with these.
            [0xFF, 0xFF, ..] => rest = &rest[1..],
            // The frame's header: the first marker that says how pixels are coded.
            [0xFF, 0xC0..=0xC3 | 0xC5..=0xC7, ..] => return false,
            [0xFF, 0xC9..=0xCB | 0xCD..=0xCF, ..] => return true,
            [0xFF, _, high, low, ..] => {
                let length = usize::from(u16::from_be_bytes([*high, *low]));
                rest = rest.get(2 + length..).unwrap_or_default();
            }
            _ => return false,
        }
    }
}

/// Refuses an image without pixels, and one too large to be meant.
fn sane([width, height]: [u64; 2], most_pixels: u64) -> Result<(), ImageError> {
    if width == 0 || height == 0 {
        return Err(ImageError::NoPixels { width, height });
    }
    if width * height > most_pixels {
        return Err(ImageError::TooLarge {
            width,
            height,
            megapixels: most_pixels / 1_000_000,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use image::{DynamicImage, GrayImage, ImageBuffer, ImageFormat, Luma, Rgb, RgbImage, Rgba, RgbaImage};
    use libjpeg_turbo_rs::{Subsampling, compress, compress_progressive};

    use super::*;
    use crate::source::images::checksum::checksum;

    fn picture() -> RgbImage {
        RgbImage::from_fn(24, 16, |x, y| Rgb([x as u8 * 10, y as u8 * 15, 77]))
    }

    fn png(image: &DynamicImage) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, ImageFormat::Png).unwrap();
        bytes.into_inner()
    }

    fn jpeg() -> Vec<u8> {
        compress(&picture(), 24, 16, PixelFormat::Rgb, 90, Subsampling::S420).unwrap()
    }

    /// A file of tests/images, which make.py beside it writes.
    fn stored(name: &str) -> Vec<u8> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/images");
        std::fs::read(folder.join(name)).unwrap()
    }

    #[test]
    fn every_pixel_is_the_one_that_opencv_reads() {
        let mut image = Image::default();
        let mut seen = 0;
        for line in include_str!("../../../tests/images/expected.txt").lines() {
            let (name, wanted) = line.split_once(' ').unwrap();
            decode_image(&stored(name), &mut image).unwrap();
            let sum = checksum(image.rgb.iter().copied().enumerate());
            let found = format!("{} {} {sum}", image.width, image.height);
            assert_eq!(found, wanted, "{name}");
            seen += 1;
        }
        assert!(seen > 30);
    }

    #[test]
    fn grey_transparent_and_deep_images_become_8_bit_rgb() {
        let grey = GrayImage::from_pixel(3, 2, Luma([90]));
        let clear = RgbaImage::from_pixel(3, 2, Rgba([10, 20, 30, 128]));
        let deep: ImageBuffer<Rgb<u16>, _> = ImageBuffer::from_pixel(3, 2, Rgb([257, 514, 65535]));
        let cases: [(DynamicImage, [u8; 3]); 3] = [
            (grey.into(), [90, 90, 90]),
            (clear.into(), [10, 20, 30]),
            (deep.into(), [1, 2, 255]),
        ];
        let mut image = Image::default();
        for (picture, expected) in cases {
            decode_image(&png(&picture), &mut image).unwrap();
            assert_eq!((image.width, image.height), (3, 2));
            assert_eq!(image.rgb, expected.repeat(6));
        }
    }

    #[test]
    fn a_palette_that_ends_within_a_colour_is_a_damaged_file() {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 2, 1);
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_depth(png::BitDepth::Four);
        encoder.set_palette(vec![7; 37]);
        let mut writer = encoder.write_header().unwrap();
        // The thirteenth colour, of which there is one byte.
        writer.write_image_data(&[0xcc]).unwrap();
        writer.finish().unwrap();
        let mut image = Image::default();
        let error = decode_image(&bytes, &mut image).unwrap_err();
        assert!(matches!(error, ImageError::Damaged { .. }), "{error}");
        assert_eq!((image.width, image.height), (0, 0));
    }

    #[test]
    fn a_png_comes_back_byte_for_byte_into_the_same_buffer() {
        let png = png(&picture().into());
        let mut image = Image::default();
        decode_image(&png, &mut image).unwrap();
        assert_eq!(image.rgb, *picture().as_raw());
        let buffer = image.rgb.as_ptr();
        decode_image(&png, &mut image).unwrap();
        assert_eq!(image.rgb.as_ptr(), buffer);
        decode_image(&jpeg(), &mut image).unwrap();
        assert_eq!(image.rgb.as_ptr(), buffer);
    }

    #[test]
    fn damaged_files_are_refused_with_a_sentence() {
        let mut image = Image::default();
        let mut problem = |bytes: &[u8]| decode_image(bytes, &mut image).unwrap_err().to_string();
        let png = png(&picture().into());
        let jpeg = jpeg();
        assert_eq!(problem(&[]), "the file is empty");
        assert!(problem(b"hello, this is no image").contains("neither a JPEG nor a PNG"));
        assert!(problem(&jpeg[..jpeg.len() / 2]).contains("is truncated"));
        assert!(problem(&png[..png.len() / 2]).contains("cannot be decoded"));
        let mut without_width = png.clone();
        without_width[16..20].fill(0);
        assert!(problem(&without_width).contains("cannot be decoded"));
        // The frame header: marker, length, precision, then height and width.
        let header = jpeg.windows(2).position(|pair| pair == [0xFF, 0xC0]).unwrap();
        let with = |at: usize, value: &[u8]| {
            let mut bytes = jpeg.clone();
            bytes[header + at..][..value.len()].copy_from_slice(value);
            bytes
        };
        assert!(problem(&with(7, &[0, 0])).contains("cannot be decoded"));
        assert!(problem(&with(5, &[0xFF, 0x00, 0xFF, 0x00])).contains("65280 × 65280, more than"));
        assert!(problem(&with(4, &[12])).contains("12 bits per channel"));
        // What fits the limit and not the file.
        assert!(problem(&with(5, &[0x1F, 0x40, 0x1F, 0x40])).contains("claims 8000 × 8000 pixels"));
        let mut other = Image::default();
        let small = decode_image_of(&png, &mut other, 383).unwrap_err().to_string();
        assert!(small.contains("24 × 16, more than 0 megapixels"), "{small}");
        assert!(decode_image_of(&png, &mut other, 384).is_ok());
        // An end within garbage, as of a picture that a crash left half written.
        let halves = [&jpeg[..jpeg.len() - 40], &JPEG_END].concat();
        assert!(problem(&halves).contains("is truncated"));
    }

    #[test]
    fn whatever_byte_of_a_jpeg_is_wrong_there_is_a_picture_or_a_sentence() {
        let mut image = Image::default();
        for name in ["420", "422_progressive", "grey", "ycck", "exif_6"] {
            let whole = stored(&format!("{name}.jpg"));
            for (at, value) in (0..whole.len()).flat_map(|at| [(at, 0), (at, 0xFF), (at, 0x55)]) {
                let mut bytes = whole.clone();
                bytes[at] = value;
                match decode_image(&bytes, &mut image) {
                    Ok(()) => assert_eq!(image.rgb.len(), image.width * image.height * 3),
                    Err(problem) => assert!(!problem.to_string().is_empty() && image.width == 0),
                }
            }
        }
    }

    #[test]
    fn wherever_a_file_is_cut_it_is_refused_or_the_pixels_are_all_there() {
        let progressive = compress_progressive(&picture(), 24, 16, PixelFormat::Rgb, 90, Subsampling::S420);
        let mut image = Image::default();
        for bytes in [png(&picture().into()), jpeg(), progressive.unwrap()] {
            decode_image(&bytes, &mut image).unwrap();
            let whole = image.clone();
            for end in 0..bytes.len() {
                match decode_image(&bytes[..end], &mut image) {
                    Ok(()) => assert!(image == whole, "cut at {end}"),
                    Err(problem) => assert!(!problem.to_string().is_empty() && image.width == 0),
                }
            }
        }
    }
}
