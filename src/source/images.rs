//! A folder of camera images: JPEG and PNG, in the order of their names.
//!
//! Files are listed once, when the folder is opened, and read whole at each frame (stage *acquire*), so that
//! decoding never waits for the disk. Pixels come as the file stores them: EXIF orientation is ignored, as
//! it is by the cameras and recorders whose folders these are; transparency is dropped, grey becomes three
//! equal channels, 16 bits become 8. How a file is decoded is in `decode`.

mod decode;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

pub use decode::decode_image;

use super::{Content, ContentKind, Frame, Image, Source, SourceError, SourceInfo, folder};

/// What the folder is searched for.
const ENDINGS: [&str; 3] = ["jpg", "jpeg", "png"];
const WANTED: &str = "images (.jpg, .jpeg or .png)";

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

#[cfg(test)]
mod tests {
    use image::{Rgb, RgbImage};

    use super::*;

    fn picture() -> RgbImage {
        RgbImage::from_fn(24, 16, |x, y| Rgb([x as u8 * 10, y as u8 * 15, 77]))
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
            let file = folder.path().join(name); // What a file holds is told by its bytes.
            RgbImage::new(width, 4)
                .save_with_format(file, image::ImageFormat::Png)
                .unwrap();
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
