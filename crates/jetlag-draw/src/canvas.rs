//! An RGB buffer as something to draw on.

use core::convert::Infallible;

use embedded_graphics::Pixel;
use embedded_graphics::draw_target::DrawTarget;
use embedded_graphics::geometry::{OriginDimensions, Point, Size};
use embedded_graphics::pixelcolor::{Rgb888, RgbColor};
use embedded_graphics::prelude::Dimensions;
use embedded_graphics::primitives::Rectangle;

use crate::error::DrawError;

/// RGB bytes, row by row from the top; what falls outside is left out.
pub(crate) struct Canvas<'a> {
    rgb: &'a mut [u8],
    width: usize,
    height: usize,
}

impl<'a> Canvas<'a> {
    /// # Errors
    /// The buffer is not of this size, or too large to be drawn on.
    pub(crate) fn new(rgb: &'a mut [u8], [width, height]: [usize; 2]) -> Result<Self, DrawError> {
        let bytes = width.checked_mul(height).and_then(|pixels| pixels.checked_mul(3));
        if bytes != Some(rgb.len()) || width > MOST || height > MOST {
            return Err(DrawError::WrongSize {
                width,
                height,
                bytes: rgb.len(),
            });
        }
        Ok(Canvas { rgb, width, height })
    }

    /// Width and height.
    pub(crate) fn whole(&self) -> [i32; 2] {
        [self.width, self.height].map(|side| side as i32) // Below `MOST`.
    }

    /// The larger side decides how thick lines and how large letters are.
    pub(crate) fn largest_side(&self) -> usize {
        self.width.max(self.height)
    }
}

/// Most pixels along a side.
const MOST: usize = 1 << 15;

impl OriginDimensions for Canvas<'_> {
    fn size(&self) -> Size {
        Size::new(self.width as u32, self.height as u32)
    }
}

fn bytes(colour: Rgb888) -> [u8; 3] {
    [colour.r(), colour.g(), colour.b()]
}

impl DrawTarget for Canvas<'_> {
    type Color = Rgb888;
    type Error = Infallible;

    fn draw_iter<I>(&mut self, pixels: I) -> Result<(), Infallible>
    where
        I: IntoIterator<Item = Pixel<Rgb888>>,
    {
        for Pixel(Point { x, y }, colour) in pixels {
            let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else {
                continue;
            };
            if x < self.width && y < self.height {
                let at = (y * self.width + x) * 3;
                if let Some(pixel) = self.rgb.get_mut(at..at + 3) {
                    pixel.copy_from_slice(&bytes(colour));
                }
            }
        }
        Ok(())
    }

    // Nearly all that is drawn on an image is rectangles.
    fn fill_solid(&mut self, area: &Rectangle, colour: Rgb888) -> Result<(), Infallible> {
        let area = area.intersection(&self.bounding_box());
        let (x, y) = (area.top_left.x as usize, area.top_left.y as usize);
        let (width, height) = (area.size.width as usize, area.size.height as usize);
        if width == 0 || height == 0 {
            return Ok(());
        }
        let colour = bytes(colour);
        let rows = self.rgb.chunks_exact_mut(self.width * 3).skip(y).take(height);
        for row in rows {
            let (pixels, _) = row[x * 3..(x + width) * 3].as_chunks_mut::<3>();
            pixels.fill(colour);
        }
        Ok(())
    }
}
