//! Boxes on an image.

use embedded_graphics::Drawable;
use embedded_graphics::draw_target::DrawTarget;
use embedded_graphics::geometry::{Point, Size};
use embedded_graphics::mono_font::iso_8859_1::{FONT_6X10, FONT_10X20};
use embedded_graphics::mono_font::{MonoFont, MonoTextStyle};
use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::primitives::{Line, Primitive, PrimitiveStyle, Rectangle};
use embedded_graphics::text::{Baseline, Text};
use jetlag_record::detection::{Box2d, Place};

use crate::canvas::Canvas;
use crate::error::DrawError;
use crate::labels::{Area, Labels};
use crate::{Kind, Mark, colours};

/// Draws the boxes that lie in the image onto it, the first ones on top; boxes in space are passed over. Labels do not overlap: one
/// that has no room beside its box stands near it with a line to it, and is left out where there is none.
///
/// # Errors
/// The buffer is not of this size.
pub fn draw(rgb: &mut [u8], size: [usize; 2], marks: &[Mark<'_>]) -> Result<(), DrawError> {
    let mut canvas = Canvas::new(rgb, size)?;
    let small = canvas.largest_side() < 900;
    let (font, thick) = if small { (&FONT_6X10, 1) } else { (&FONT_10X20, 3) };
    let in_image = |mark: &Mark<'_>| match mark.place {
        Place::Image(place) => whole(place),
        Place::Space(_) => None,
    };
    // The best come first and shall not be hidden.
    for mark in marks.iter().rev() {
        if let Some(place) = in_image(mark) {
            edges(&mut canvas, mark, place, thick);
        }
    }
    let mut labels = Labels::of(canvas.whole());
    for mark in marks {
        if let Some(place) = in_image(mark) {
            label(&mut canvas, &mut labels, mark, place, font);
        }
    }
    Ok(())
}

fn edges(canvas: &mut Canvas<'_>, mark: &Mark<'_>, [x1, y1, x2, y2]: Area, thick: i32) {
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
}

/// A mark's text on a ground of its own, where no other's stands.
pub(crate) fn label(
    canvas: &mut Canvas<'_>,
    labels: &mut Labels,
    mark: &Mark<'_>,
    beside: Area,
    font: &MonoFont<'_>,
) {
    let colour = colours::of_class(mark.class);
    let letters = mark.text.chars().count().min(200) as u32;
    let size = [font.character_size.width * letters, font.character_size.height].map(|side| side as i32);
    let Some(spot) = labels.place(beside, size, mark.kind) else {
        return;
    };
    if let Some([from, to]) = spot.leader {
        let [from, to] = [from, to].map(|[x, y]| Point::new(x, y));
        let line = Line::new(from, to).into_styled(PrimitiveStyle::with_stroke(colour, 1));
        let Ok(()) = line.draw(canvas);
    }
    let [x1, y1, x2, y2] = spot.area;
    let at = Point::new(x1, y1);
    let ground = Rectangle::new(at, Size::new((x2 - x1) as u32, (y2 - y1) as u32));
    let Ok(()) = canvas.fill_solid(&ground, colour);
    let style = MonoTextStyle::new(font, colours::on(colour));
    let Ok(_) = Text::with_baseline(&mark.text, at, style, Baseline::Top).draw(canvas);
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
fn whole(place: Box2d) -> Option<Area> {
    let sides = [place.x1, place.y1, place.x2, place.y2];
    if !sides.iter().all(|side| side.is_finite()) {
        return None;
    }
    let [x1, y1, x2, y2] = sides.map(|side| side.round().clamp(-40_000.0, 40_000.0) as i32);
    (x1 < x2 && y1 < y2).then_some([x1, y1, x2, y2])
}
