//! The size of an image.

use std::fmt;
use std::str::FromStr;

/// Width and height in pixels, both above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    width: u32,
    height: u32,
}

/// The text is no size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no size of an image; write width and height in pixels, such as 1280x720")]
pub struct NoSize(String);

/// Longer sides are of no camera, and their bytes need not fit into this machine's numbers.
const LONGEST: u32 = 1 << 16;

impl Size {
    /// `None` where a side is zero or longer than 65 536 pixels.
    pub fn new(width: u32, height: u32) -> Option<Size> {
        let fits = |side| (1..=LONGEST).contains(&side);
        (fits(width) && fits(height)).then_some(Size { width, height })
    }

    /// In pixels.
    pub fn width(self) -> u32 {
        self.width
    }

    /// In pixels.
    pub fn height(self) -> u32 {
        self.height
    }

    /// How many pixels it has.
    pub fn pixels(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }

    /// Bytes of such an image in RGB, 8 bits each, rows packed.
    pub fn bytes(self) -> usize {
        // At most 12 GiB: 32-bit machines have no memory for it either.
        usize::try_from(self.pixels() * 3).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

impl FromStr for Size {
    type Err = NoSize;

    fn from_str(text: &str) -> Result<Size, NoSize> {
        let size = || {
            let (width, height) = text.split_once(['x', 'X', '×'])?;
            Size::new(width.trim().parse().ok()?, height.trim().parse().ok()?)
        };
        size().ok_or_else(|| NoSize(text.chars().take(40).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_written_as_ffmpeg_writes_it() {
        let size: Size = "1280x720".parse().unwrap();
        assert_eq!(
            (size.width(), size.height(), size.bytes()),
            (1280, 720, 2_764_800)
        );
        assert_eq!(size.to_string(), "1280x720");
        for wrong in [
            "",
            "1280",
            "0x720",
            "-1x2",
            "1280x",
            "1e9x1",
            "70000x1",
            "640x480x3",
        ] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
    }
}
