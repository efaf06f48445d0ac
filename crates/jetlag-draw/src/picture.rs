//! Pictures that own their pixels, and how they are written.

use std::io::Write;

use embedded_graphics::Drawable;
use embedded_graphics::geometry::Point;
use embedded_graphics::mono_font::MonoTextStyle;
use embedded_graphics::mono_font::iso_8859_1::FONT_10X20;
use embedded_graphics::text::{Baseline, Text};

use crate::canvas::Canvas;
use crate::colours;
use crate::error::DrawError;

/// An image of 8 bits a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Width and height in pixels.
    pub size: [usize; 2],
    /// Red, green and blue of each pixel, row by row from the top.
    pub rgb: Vec<u8>,
}

impl Picture {
    /// All of one colour, the ground's.
    pub(crate) fn ground(size: [usize; 2]) -> Self {
        use embedded_graphics::pixelcolor::RgbColor;
        let colour = [colours::GROUND.r(), colours::GROUND.g(), colours::GROUND.b()];
        let [width, height] = size;
        Picture {
            size,
            rgb: colour.repeat(width.saturating_mul(height)),
        }
    }
}

const LINE: usize = 28;

/// The picture with lines of text below it. A line that is wider than the picture is cut.
///
/// # Errors
/// The picture's buffer is not of its size.
pub fn captioned(picture: Picture, lines: &[&str]) -> Result<Picture, DrawError> {
    let Picture { size, mut rgb } = picture;
    let [width, height] = size;
    Canvas::new(&mut rgb, size)?;
    let band = Picture::ground([width, LINE * lines.len()]);
    rgb.extend_from_slice(&band.rgb);
    let size = [width, height + LINE * lines.len()];
    let mut canvas = Canvas::new(&mut rgb, size)?;
    let style = MonoTextStyle::new(&FONT_10X20, colours::TEXT);
    for (number, line) in lines.iter().enumerate() {
        let at = Point::new(8, (height + LINE * number + 4) as i32);
        let Ok(_) = Text::with_baseline(line, at, style, Baseline::Top).draw(&mut canvas);
    }
    Ok(Picture { size, rgb })
}

/// Writes a picture as PNG.
///
/// # Errors
/// The buffer is not of its size, or `out` takes no more.
pub fn write_png(picture: &Picture, out: impl Write) -> Result<(), DrawError> {
    let [width, height] = picture.size;
    if width.checked_mul(height).and_then(|n| n.checked_mul(3)) != Some(picture.rgb.len()) {
        return Err(DrawError::WrongSize {
            width,
            height,
            bytes: picture.rgb.len(),
        });
    }
    let mut encoder = png::Encoder::new(out, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&picture.rgb)?;
    writer.finish()?;
    Ok(())
}
