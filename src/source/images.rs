//! A folder of camera images: JPEG and PNG, in the order of their names.
//!
//! Pixels are those that OpenCV's imread gives: EXIF's orientation is applied, transparency is dropped, grey becomes three
//! equal channels, CMYK becomes RGB, of 16 bits the upper 8 stay. How a file is decoded is in `decode`.

mod bad_codes;
#[cfg(test)]
pub(crate) mod checksum;
mod decode;
mod orientation;

use std::path::Path;

pub use decode::{ImageError, decode_image, decode_image_of, image_size};

use super::folder::{FileKind, Folder};
use super::{Content, ContentKind, Image, SourceError};

/// Images from a folder.
pub type ImageFolder = Folder<ImageFile>;

/// A JPEG or a PNG of at most so many pixels.
#[derive(Clone, Copy, Debug)]
pub struct ImageFile {
    most_pixels: u64,
}

/// Bytes of a pixel in a file at most: four channels of 16 bits, not compressed.
const PIXEL_BYTES: u64 = 8;
/// Bytes beside the pixels: a colour profile, a thumbnail, a camera's notes.
const OTHER_BYTES: u64 = 16 << 20;
/// How the names of images end, in whatever case.
pub(crate) const ENDINGS: [&str; 3] = ["jpg", "jpeg", "png"];

/// Opens a folder of images; `repeat` says whether it begins again at its end. One of more than `max_megapixels` is a frame
/// that fails.
///
/// # Errors
/// A folder that cannot be listed, or that holds no `.jpg`, `.jpeg` or `.png` (case does not matter;
/// folders within it are not searched).
pub fn open(path: &Path, repeat: bool, max_megapixels: u32) -> Result<ImageFolder, SourceError> {
    let kind = ImageFile::of(u64::from(max_megapixels) * 1_000_000);
    Folder::open(path, repeat, kind, &ENDINGS, "images (.jpg, .jpeg or .png)")
}

impl ImageFile {
    /// Of at most so many pixels.
    pub(super) fn of(most_pixels: u64) -> ImageFile {
        ImageFile { most_pixels }
    }
}

impl FileKind for ImageFile {
    const CONTENT: ContentKind = ContentKind::Image;
    type Error = ImageError;
    const WORDS: [&str; 2] = ["image", "images"];

    fn longest(&self, _: &Path) -> (u64, &'static str) {
        (self.most_pixels * PIXEL_BYTES + OTHER_BYTES, "max_megapixels")
    }

    fn decode(&self, _: &Path, bytes: &[u8], content: &mut Content) -> Result<(), ImageError> {
        if !matches!(content, Content::Image(_)) {
            *content = Content::Image(Image::default());
        }
        let Content::Image(image) = content else {
            return Ok(());
        };
        decode_image_of(bytes, image, self.most_pixels)
    }
}

#[cfg(test)]
mod tests {
    use image::{Rgb, RgbImage};

    use super::*;
    use crate::scenario::Reading;
    use crate::source::stored::Stored;
    use crate::source::{Frame, Source};

    fn open(path: &Path, repeat: bool, max_megapixels: u32) -> Result<Stored, SourceError> {
        super::open(path, repeat, max_megapixels)?.read(Reading::default())
    }

    fn picture() -> RgbImage {
        RgbImage::from_fn(24, 16, |x, y| Rgb([x as u8 * 10, y as u8 * 15, 77]))
    }

    fn read_all(source: &mut Stored, most: usize) -> Vec<(u64, Image)> {
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
            let file = folder.path().join(name); // What a file holds is told by its bytes.
            RgbImage::new(width, 4)
                .save_with_format(file, image::ImageFormat::Png)
                .unwrap();
        }
        std::fs::write(folder.path().join("notes.txt"), "x").unwrap();
        std::fs::create_dir(folder.path().join("d.png")).unwrap();
        let mut source = open(folder.path(), false, 64).unwrap();
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
        let mut source = open(folder.path(), true, 64).unwrap();
        assert_eq!(source.info().frames, None);
        let indices: Vec<_> = read_all(&mut source, 5).iter().map(|(i, _)| *i).collect();
        assert_eq!(indices, [0, 1, 0, 1, 0]);
        source.skip(2).unwrap();
        let indices: Vec<_> = read_all(&mut source, 2).iter().map(|(i, _)| *i).collect();
        assert_eq!(indices, [1, 0], "two frames are passed over");
    }

    #[test]
    fn a_bad_file_is_named_and_the_next_one_is_still_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.png"), b"").unwrap();
        picture().save(folder.path().join("b.png")).unwrap();
        let mut source = open(folder.path(), false, 64).unwrap();
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
        let error = open(folder.path(), false, 64).unwrap_err().to_string();
        assert!(
            error.contains("contains no images (.jpg, .jpeg or .png)"),
            "{error}"
        );
        let error = open(&folder.path().join("none"), false, 64)
            .unwrap_err()
            .to_string();
        assert!(error.contains("cannot read"), "{error}");
    }
}
