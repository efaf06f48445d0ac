//! A folder of camera images: JPEG and PNG, in the order of their names.
//!
//! Files are listed once, when the folder is opened, and read whole at each frame (stage *acquire*), so that
//! decoding never waits for the disk. Pixels come as the file stores them: EXIF orientation is ignored, as
//! it is by the cameras and recorders whose folders these are; transparency is dropped, grey becomes three
//! equal channels, 16 bits become 8. 8-bit RGB is decoded straight into the frame's own buffer; any other
//! kind passes through a buffer of its own.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use image::{ColorType, DynamicImage, ImageDecoder, ImageFormat, ImageReader};

use super::{Content, ContentKind, Frame, Image, Source, SourceError, SourceInfo, folder};

/// What the folder is searched for.
const ENDINGS: [&str; 3] = ["jpg", "jpeg", "png"];
const WANTED: &str = "images (.jpg, .jpeg or .png)";

/// The largest decoded image that is taken: 16 384 × 16 384 RGB. A damaged header may claim more.
const LARGEST_BYTES: u64 = 16_384 * 16_384 * 3;

/// A [`Source`] over a folder of images.
#[derive(Debug)]
pub struct ImageFolder {
    folder: PathBuf,
    files: Vec<PathBuf>,
    next: usize,
    repeat: bool,
}

/// Lists the images of `path`. With `repeat`, the first follows the last; without, the source ends there.
///
/// # Errors
/// A folder that cannot be listed, or that holds no `.jpg`, `.jpeg` or `.png` (case does not matter;
/// folders within it are not searched).
pub fn open(path: &Path, repeat: bool) -> Result<ImageFolder, SourceError> {
    let files = folder::files(path, &ENDINGS, WANTED)?;
    Ok(ImageFolder {
        folder: path.to_owned(),
        files,
        next: 0,
        repeat,
    })
}

impl ImageFolder {
    /// The files in the order in which they are read.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }
}

impl Source for ImageFolder {
    fn info(&self) -> SourceInfo {
        SourceInfo {
            kind: ContentKind::Image,
            frames: (!self.repeat).then_some(self.files.len() as u64),
            description: format!(
                "{} image{} in {}{}",
                self.files.len(),
                if self.files.len() == 1 { "" } else { "s" },
                self.folder.display(),
                if self.repeat { ", repeated" } else { "" }
            ),
        }
    }

    fn acquire(&mut self, frame: &mut Frame) -> Result<bool, SourceError> {
        if self.next == self.files.len() {
            if !self.repeat {
                return Ok(false);
            }
            self.next = 0;
        }
        let path = &self.files[self.next];
        frame.index = self.next as u64;
        frame.captured = None;
        // Counted before reading: a file that cannot be read is skipped by whoever goes on after the error.
        self.next += 1;
        frame.raw.clear();
        File::open(path)
            .and_then(|mut file| file.read_to_end(&mut frame.raw))
            .map_err(|error| SourceError::Io {
                path: path.clone(),
                error,
            })?;
        Ok(true)
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        self.next = 0;
        Ok(())
    }

    fn decode(&mut self, frame: &mut Frame) -> Result<(), SourceError> {
        if !matches!(frame.content, Content::Image(_)) {
            frame.content = Content::Image(Image::default());
        }
        let Content::Image(image) = &mut frame.content else {
            return Ok(());
        };
        decode_image(&frame.raw, image).map_err(|problem| SourceError::BadFile {
            path: usize::try_from(frame.index)
                .ok()
                .and_then(|index| self.files.get(index))
                .unwrap_or(&self.folder)
                .clone(),
            problem,
        })
    }
}

/// Decodes the bytes of a JPEG or PNG file (which one is told by the bytes) into `image`, whose buffer is
/// used again.
///
/// # Errors
/// A sentence, for bytes that are no such file, damaged, cut short, of no size or of a monstrous one.
/// `image` is then of zero size.
pub fn decode_image(bytes: &[u8], image: &mut Image) -> Result<(), String> {
    (image.width, image.height) = (0, 0);
    if bytes.is_empty() {
        return Err("the file is empty".to_owned());
    }
    let reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|error| error.to_string())?;
    match reader.format() {
        Some(ImageFormat::Png) => {}
        // The decoder fills what is missing of a JPEG with grey, which would pass for a frame.
        Some(ImageFormat::Jpeg) if !bytes.windows(2).rev().any(|pair| pair == [0xFF, 0xD9]) => {
            return Err(format!(
                "the JPEG is cut short: {} bytes without an end marker",
                bytes.len()
            ));
        }
        Some(ImageFormat::Jpeg) => {}
        _ => return Err("the file is neither a JPEG nor a PNG, whatever its name says".to_owned()),
    }
    let damaged = |error: image::ImageError| format!("the image cannot be decoded: {error}");
    let decoder = reader.into_decoder().map_err(damaged)?;
    let (width, height) = decoder.dimensions();
    if width == 0 || height == 0 {
        return Err(format!("the image is {width} × {height}: it has no pixels"));
    }
    if u64::from(width) * u64::from(height) * 3 > LARGEST_BYTES {
        return Err(format!(
            "the image is {width} × {height}; at most {LARGEST_BYTES} bytes of RGB are taken"
        ));
    }
    if decoder.color_type() == ColorType::Rgb8 {
        image.rgb.resize(width as usize * height as usize * 3, 0);
        decoder.read_image(&mut image.rgb).map_err(damaged)?;
    } else {
        let other = DynamicImage::from_decoder(decoder).map_err(damaged)?;
        image.rgb.clear();
        image.rgb.extend_from_slice(other.to_rgb8().as_raw());
    }
    (image.width, image.height) = (width as usize, height as usize);
    Ok(())
}

#[cfg(test)]
mod tests {
    use image::{GrayImage, ImageBuffer, Luma, Rgb, RgbImage, Rgba, RgbaImage};

    use super::*;

    fn picture() -> RgbImage {
        RgbImage::from_fn(24, 16, |x, y| Rgb([x as u8 * 10, y as u8 * 15, 77]))
    }

    fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    fn read_all(source: &mut ImageFolder, most: usize) -> Vec<(u64, Image)> {
        let mut frame = Frame::default();
        let mut seen = Vec::new();
        while seen.len() < most && source.acquire(&mut frame).unwrap() {
            source.decode(&mut frame).unwrap();
            let Content::Image(image) = &frame.content else {
                panic!("not an image");
            };
            seen.push((frame.index, image.clone()));
        }
        seen
    }

    #[test]
    fn images_come_in_the_order_of_their_names_and_nothing_else_does() {
        let folder = tempfile::tempdir().unwrap();
        for (name, width) in [("b.PNG", 2), ("a.png", 1), ("c.jpeg", 3)] {
            RgbImage::new(width, 4).save(folder.path().join(name)).unwrap();
        }
        std::fs::write(folder.path().join("notes.txt"), "x").unwrap();
        std::fs::create_dir(folder.path().join("d.png")).unwrap();
        let mut source = open(folder.path(), false).unwrap();
        assert_eq!(source.info().frames, Some(3));
        let seen = read_all(&mut source, 10);
        let sizes: Vec<_> = seen.iter().map(|(i, image)| (*i, image.width)).collect();
        assert_eq!(sizes, [(0, 1), (1, 2), (2, 3)]);
    }

    #[test]
    fn a_repeated_folder_begins_again_and_its_indices_too() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.png", "b.png"] {
            picture().save(folder.path().join(name)).unwrap();
        }
        let mut source = open(folder.path(), true).unwrap();
        assert_eq!(source.info().frames, None);
        let indices: Vec<_> = read_all(&mut source, 5).iter().map(|(i, _)| *i).collect();
        assert_eq!(indices, [0, 1, 0, 1, 0]);
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
            decode_image(&encoded(&picture, ImageFormat::Png), &mut image).unwrap();
            assert_eq!((image.width, image.height), (3, 2));
            assert_eq!(image.rgb, expected.repeat(6));
        }
        let grey = GrayImage::from_pixel(8, 8, Luma([90]));
        decode_image(&encoded(&grey.into(), ImageFormat::Jpeg), &mut image).unwrap();
        assert_eq!(image.rgb, [90; 8 * 8 * 3]);
    }

    #[test]
    fn a_png_comes_back_byte_for_byte_into_the_same_buffer() {
        let png = encoded(&picture().into(), ImageFormat::Png);
        let mut image = Image::default();
        decode_image(&png, &mut image).unwrap();
        assert_eq!(image.rgb, *picture().as_raw());
        let buffer = image.rgb.as_ptr();
        decode_image(&png, &mut image).unwrap();
        assert_eq!(image.rgb.as_ptr(), buffer);
    }

    #[test]
    fn damaged_files_are_refused_with_a_sentence() {
        let mut image = Image::default();
        let mut problem = |bytes: &[u8]| decode_image(bytes, &mut image).unwrap_err();
        let png = encoded(&picture().into(), ImageFormat::Png);
        let jpeg = encoded(&picture().into(), ImageFormat::Jpeg);
        assert_eq!(problem(&[]), "the file is empty");
        assert!(problem(b"hello, this is no image").contains("neither a JPEG nor a PNG"));
        assert!(problem(&jpeg[..jpeg.len() / 2]).contains("cut short"));
        assert!(problem(&png[..png.len() / 2]).contains("cannot be decoded"));
        let mut without_width = png.clone();
        without_width[16..20].fill(0);
        assert!(problem(&without_width).contains("cannot be decoded"));
    }

    #[test]
    fn wherever_a_file_is_cut_it_is_refused_or_the_pixels_are_all_there() {
        let mut image = Image::default();
        for format in [ImageFormat::Png, ImageFormat::Jpeg] {
            let bytes = encoded(&picture().into(), format);
            decode_image(&bytes, &mut image).unwrap();
            let whole = image.clone();
            for end in 0..bytes.len() {
                match decode_image(&bytes[..end], &mut image) {
                    Ok(()) => assert!(image == whole, "{format:?} cut at {end}"),
                    Err(problem) => assert!(!problem.is_empty() && image.width == 0),
                }
            }
        }
    }

    #[test]
    fn a_bad_file_is_named_and_the_next_one_is_still_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.png"), b"").unwrap();
        picture().save(folder.path().join("b.png")).unwrap();
        let mut source = open(folder.path(), false).unwrap();
        let mut frame = Frame::default();
        assert!(source.acquire(&mut frame).unwrap());
        let error = source.decode(&mut frame).unwrap_err().to_string();
        assert!(error.contains("a.png: the file is empty"), "{error}");
        assert!(source.acquire(&mut frame).unwrap());
        source.decode(&mut frame).unwrap();
        assert!(!source.acquire(&mut frame).unwrap());
    }

    #[test]
    fn an_empty_or_missing_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = open(folder.path(), false).unwrap_err().to_string();
        assert!(error.contains("holds no images (.jpg, .jpeg or .png)"), "{error}");
        let error = open(&folder.path().join("none"), false).unwrap_err().to_string();
        assert!(error.contains("cannot read"), "{error}");
    }
}
