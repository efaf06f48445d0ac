//! A sweep seen from above, with boxes: forward is up.

use embedded_graphics::Drawable;
use embedded_graphics::draw_target::DrawTarget;
use embedded_graphics::geometry::{Point, Size};
use embedded_graphics::mono_font::iso_8859_1::{FONT_6X10, FONT_10X20};
use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::primitives::{Circle, Line, Primitive, PrimitiveStyle, Rectangle};
use jetlag_record::detection::{Box3d, Place};

use crate::canvas::Canvas;
use crate::error::DrawError;
use crate::labels::{Area, Labels};
use crate::on_image::label;
use crate::picture::Picture;
use crate::{Kind, Mark, colours};

/// What is shown of the ground, and how large.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// From and to along x, forward, in metres.
    pub x: [f32; 2],
    /// From and to along y, to the left, in metres.
    pub y: [f32; 2],
    /// Pixels a metre.
    pub scale: f32,
}

impl View {
    /// The view of a region whose longer side has so many pixels. What is no region becomes 50 m around the sensor.
    pub fn of(x: [f32; 2], y: [f32; 2], pixels: usize) -> Self {
        let sound = |[from, to]: [f32; 2]| from.is_finite() && to.is_finite() && from < to;
        let (x, y) = match sound(x) && sound(y) {
            true => (x, y),
            false => ([-50.0, 50.0], [-50.0, 50.0]),
        };
        let longer = (x[1] - x[0]).max(y[1] - y[0]);
        View {
            x,
            y,
            scale: pixels.clamp(16, 8192) as f32 / longer,
        }
    }

    fn size(&self) -> [usize; 2] {
        [self.y, self.x].map(|[from, to]| (((to - from) * self.scale).round() as usize).clamp(1, 16_384))
    }

    fn place(&self, x: f32, y: f32) -> Point {
        let pixel = |metres: f32| (metres * self.scale).clamp(-1e6, 1e6) as i32;
        Point::new(pixel(self.y[1] - y), pixel(self.x[1] - x))
    }
}

/// A picture of points (x, y, z, intensity) and of the boxes in space; boxes in an image are passed over.
///
/// # Errors
/// None with a view of [`View::of`]; another may be too large to be drawn.
pub fn above(points: &[[f32; 4]], marks: &[Mark<'_>], view: View) -> Result<Picture, DrawError> {
    let mut picture = Picture::ground(view.size());
    let mut canvas = Canvas::new(&mut picture.rgb, picture.size)?;
    rings(&mut canvas, view);
    for [x, y, z, _] in points {
        if x.is_finite()
            && y.is_finite()
            && (view.x[0]..view.x[1]).contains(x)
            && (view.y[0]..view.y[1]).contains(y)
        {
            let dot = Rectangle::new(view.place(*x, *y), Size::new(1, 1));
            let Ok(()) = canvas.fill_solid(&dot, of_height(*z));
        }
    }
    let font = if canvas.largest_side() < 900 {
        &FONT_6X10
    } else {
        &FONT_10X20
    };
    for mark in marks.iter().rev() {
        if let Place::Space(place) = mark.place
            && let Some(corners) = corners(place)
        {
            let colour = colours::of_class(mark.class);
            outline(&mut canvas, view, corners, mark.kind, colour);
        }
    }
    let mut labels = Labels::of(canvas.whole());
    for mark in marks {
        if let Place::Space(place) = mark.place
            && let Some(corners) = corners(place)
        {
            label(&mut canvas, &mut labels, mark, around(view, corners), font);
        }
    }
    Ok(picture)
}

/// Circles of distance around the sensor, every 10 m.
fn rings(canvas: &mut Canvas<'_>, view: View) {
    let style = PrimitiveStyle::with_stroke(colours::RING, 1);
    let farthest = [view.x, view.y]
        .iter()
        .flatten()
        .fold(0.0f32, |most, side| most.max(side.abs()));
    for tens in 1..=((farthest / 10.0) as u32).min(30) {
        let across = (20.0 * tens as f32 * view.scale) as u32;
        let circle = Circle::with_center(view.place(0.0, 0.0), across);
        let Ok(()) = circle.into_styled(style).draw(canvas);
    }
}

/// From dark below to light above the sensor.
fn of_height(z: f32) -> Rgb888 {
    let share = ((z + 2.5) / 4.0).clamp(0.0, 1.0);
    let level = |low: f32, high: f32| (low + (high - low) * share) as u8;
    Rgb888::new(level(70.0, 225.0), level(85.0, 230.0), level(105.0, 235.0))
}

/// Front left, front right, back right, back left; `None` for what is no box.
fn corners(b: Box3d) -> Option<[[f32; 2]; 4]> {
    if ![b.x, b.y, b.l, b.w, b.yaw].iter().all(|v| v.is_finite()) || b.l <= 0.0 || b.w <= 0.0 {
        return None;
    }
    let (sin, cos) = b.yaw.sin_cos();
    let corner = |along: f32, across: f32| {
        let (along, across) = (along * b.l / 2.0, across * b.w / 2.0);
        [b.x + along * cos - across * sin, b.y + along * sin + across * cos]
    };
    Some([
        corner(1.0, 1.0),
        corner(1.0, -1.0),
        corner(-1.0, -1.0),
        corner(-1.0, 1.0),
    ])
}

/// The pixels that hold a box.
fn around(view: View, corners: [[f32; 2]; 4]) -> Area {
    let points = corners.map(|[x, y]| view.place(x, y));
    let first = [points[0].x, points[0].y, points[0].x, points[0].y];
    points.iter().fold(first, |[x1, y1, x2, y2], point| {
        [x1.min(point.x), y1.min(point.y), x2.max(point.x), y2.max(point.y)]
    })
}

/// The sides, and a line from the middle to the front.
fn outline(canvas: &mut Canvas<'_>, view: View, corners: [[f32; 2]; 4], kind: Kind, colour: Rgb888) {
    let thick = if canvas.largest_side() < 900 { 1 } else { 2 };
    let [a, b, c, d] = corners;
    let between = |[x, y]: [f32; 2], [u, v]: [f32; 2]| [(x + u) / 2.0, (y + v) / 2.0];
    let sides = [[a, b], [b, c], [c, d], [d, a], [between(a, c), between(a, b)]];
    for [from, to] in sides {
        stroke(
            canvas,
            view.place(from[0], from[1]),
            view.place(to[0], to[1]),
            kind,
            thick,
            colour,
        );
    }
}

fn stroke(canvas: &mut Canvas<'_>, from: Point, to: Point, kind: Kind, thick: u32, colour: Rgb888) {
    let style = PrimitiveStyle::with_stroke(colour, thick);
    let mut line = |from: Point, to: Point| {
        let Ok(()) = Line::new(from, to).into_styled(style).draw(canvas);
    };
    if kind == Kind::Found {
        return line(from, to);
    }
    let (dx, dy) = (to.x - from.x, to.y - from.y);
    let length = f64::from(dx).hypot(f64::from(dy));
    // A box that reaches far beyond the picture is not drawn dash by dash.
    let dashes = ((length / 6.0) as i32).clamp(1, 4000);
    let at = |step: i32| from + Point::new(scaled(dx, step, dashes), scaled(dy, step, dashes));
    for dash in (0..dashes).step_by(2) {
        line(at(dash), at(dash + 1));
    }
}

fn scaled(length: i32, step: i32, steps: i32) -> i32 {
    (i64::from(length) * i64::from(step) / i64::from(steps)) as i32
}
