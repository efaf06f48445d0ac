//! Videos and cameras, whose frames another program decodes.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::stored::Reading;

/// Width and height of an image, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageSize {
    /// From left to right.
    pub width: u32,
    /// From top to bottom.
    pub height: u32,
}

impl fmt::Display for ImageSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

/// A text that is no size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("width and height in pixels, such as \"1280x720\", of 1 to 65536 each")]
pub struct NoImageSize;

impl FromStr for ImageSize {
    type Err = NoImageSize;

    fn from_str(text: &str) -> Result<ImageSize, NoImageSize> {
        let side = |text: &str| {
            let side = text.trim().parse().ok()?;
            (1..=65_536).contains(&side).then_some(side)
        };
        let (width, height) = text.split_once(['x', 'X', '×']).ok_or(NoImageSize)?;
        let (width, height) = side(width).zip(side(height)).ok_or(NoImageSize)?;
        Ok(ImageSize { width, height })
    }
}

/// A video in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VideoSpec {
    /// The file.
    pub path: PathBuf,
    /// What decodes it.
    pub decoder: VideoDecoder,
    /// Start again at the end.
    pub repeat: bool,
    /// The largest image that is taken, in millions of pixels.
    pub max_megapixels: u32,
    /// How it is read.
    pub reading: Reading,
}

/// What decodes a video.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VideoDecoder {
    /// ffmpeg, with the decoder of this name; with its own choice where none is named.
    Ffmpeg(Option<String>),
    /// A program that writes packed RGB to its output.
    Command {
        /// It and its arguments; `{path}` in them is the video's.
        command: Vec<String>,
        /// The size of its images; the video's where it is not said.
        size: Option<ImageSize>,
    },
}

/// A camera.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CameraSpec {
    /// What gives its frames.
    pub from: CameraFrom,
    /// The largest image that is taken, in millions of pixels.
    pub max_megapixels: u32,
}

/// What gives a camera's frames.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CameraFrom {
    /// A device of Video4Linux, through ffmpeg. What is not said is the driver's choice.
    Device {
        /// Its file.
        device: PathBuf,
        /// How it sends pixels, in ffmpeg's words.
        format: Option<String>,
        /// The size of its images.
        size: Option<ImageSize>,
        /// Frames a second.
        hz: Option<f64>,
    },
    /// A program that writes packed RGB to its output.
    Command {
        /// It and its arguments.
        command: Vec<String>,
        /// The size of its images.
        size: ImageSize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_two_numbers_above_zero() {
        let size: ImageSize = "1280x720".parse().unwrap();
        assert_eq!(size.to_string(), "1280x720");
        for wrong in ["", "1280", "0x1", "1x70000", "axb", "1x2x3"] {
            assert!(wrong.parse::<ImageSize>().is_err(), "{wrong}");
        }
    }
}
