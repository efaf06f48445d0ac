//! Boxes on an image.

use embedded_graphics::Drawable;
use embedded_graphics::draw_target::DrawTarget;
use embedded_graphics::geometry::{Point, Size};
use embedded_graphics::mono_font::iso_8859_1::{FONT_6X10, FONT_10X20};
use embedded_graphics::mono_font::{MonoFont, MonoTextStyle};
use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::primitives::Rectangle;
use embedded_graphics::text::{Baseline, Text};
use jetlag_record::detection::{Box2d, Place};

use crate::canvas::Canvas;
use crate::error::DrawError;
use crate::{Kind, Mark, colours};

/// Draws the boxes that lie in the image onto it, the first ones on top; boxes in space are passed over.
///
/// # Errors
/// The buffer is not of this size.
pub fn draw(rgb: &mut [u8], size: [usize; 2], marks: &[Mark<'_>]) -> Result<(), DrawError> {
    let mut canvas = Canvas::new(rgb, size)?;
    let small = canvas.largest_side() < 900;
    let (font, thick) = if small { (&FONT_6X10, 1) } else { (&FONT_10X20, 3) };
    // The best come first and shall not be hidden.
    for mark in marks.iter().rev() {
        if let Place::Image(place) = mark.place {
            one(&mut canvas, mark, place, font, thick);
        }
    }
    Ok(())
}

fn one(canvas: &mut Canvas<'_>, mark: &Mark<'_>, place: Box2d, font: &MonoFont<'_>, thick: i32) {
    let Some([x1, y1, x2, y2]) = whole(place) else {
        return;
    };
    let colour = colours::of_class(mark.class);
    let dash = match mark.kind {
        Kind::Found => None,
        Kind::Truth => Some(thick * 4),
    };
    for (x, y, width, height) in [
        (x1, y1, x2 - x1, thick),
        (x1, y2 - thick, x2 - x1, thick),
        (x1, y1, thick, y2 - y1),
        (x2 - thick, y1, thick, y2 - y1),
    ] {
        edge(canvas, [x, y, width, height], dash, colour);
    }
    // Above the box, or within it where there is no room above. Truth stands below, so that the two do not overlap.
    let high = font.character_size.height as i32;
    let top = match mark.kind {
        Kind::Found if y1 >= high => y1 - high,
        Kind::Found => y1,
        Kind::Truth => y2,
    };
    label(canvas, &mark.text, Point::new(x1, top), font, colour);
}

/// Text on a ground of its own.
pub(crate) fn label(canvas: &mut Canvas<'_>, text: &str, at: Point, font: &MonoFont<'_>, colour: Rgb888) {
    if text.is_empty() {
        return;
    }
    let across = font.character_size.width * text.chars().count().min(200) as u32;
    let ground = Rectangle::new(at, Size::new(across, font.character_size.height));
    let Ok(()) = canvas.fill_solid(&ground, colour);
    let style = MonoTextStyle::new(font, colours::on(colour));
    let Ok(_) = Text::with_baseline(text, at, style, Baseline::Top).draw(canvas);
}

/// An edge, in one piece or in dashes with gaps as long.
fn edge(canvas: &mut Canvas<'_>, [x, y, width, height]: [i32; 4], dash: Option<i32>, colour: Rgb888) {
    let mut fill = |x: i32, y: i32, width: i32, height: i32| {
        let size = Size::new(width.max(0) as u32, height.max(0) as u32);
        let Ok(()) = canvas.fill_solid(&Rectangle::new(Point::new(x, y), size), colour);
    };
    let Some(dash) = dash else {
        return fill(x, y, width, height);
    };
    let (long, across) = (width.max(height), width >= height);
    for from in (0..long.max(0)).step_by(2 * dash.max(1) as usize) {
        let length = dash.min(long - from);
        if across {
            fill(x + from, y, length, height);
        } else {
            fill(x, y + from, width, length);
        }
    }
}

/// In whole pixels, held within what a picture may have; `None` for what is no box.
fn whole(place: Box2d) -> Option<[i32; 4]> {
    let sides = [place.x1, place.y1, place.x2, place.y2];
    if !sides.iter().all(|side| side.is_finite()) {
        return None;
    }
    let [x1, y1, x2, y2] = sides.map(|side| side.round().clamp(-40_000.0, 40_000.0) as i32);
    (x1 < x2 && y1 < y2).then_some([x1, y1, x2, y2])
}
