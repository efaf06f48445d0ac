//! Charts as inline SVG: what they have in common. Each file next to this one draws one kind.
//!
//! plotters maps values to positions and writes the elements. The page's style sheet sets their look; it knows the
//! colours below and has others for dark mode. Every chart is drawn twice, for a wide page and for a phone, because
//! text must not shrink with the chart; the style sheet shows one of the two. Values under the pointer are `title`
//! elements of invisible stripes, which a few lines of script show without delay.

pub(super) mod energy;
pub(super) mod frame;
pub(super) mod moment;
pub(super) mod over_time;
pub(super) mod overlay;
pub(super) mod roofline;
pub(super) mod rounds;
pub(super) mod signals;
pub(super) mod sizes;
pub(super) mod spread;

use std::fmt::Write;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::prelude::*;

use crate::analysis::plot::Axis;
pub(in crate::html) use crate::number::mark;
use crate::number::{TimeUnit, short};

/// plotters works in whole units: this many of them are one pixel of the page.
pub(super) const FINE: i32 = 4;
/// Colours of tenants and lines, distinguishable with colour blindness (Okabe and Ito).
pub(super) const COLOURS: [RGBColor; 8] = [
    RGBColor(0x00, 0x72, 0xB2),
    RGBColor(0xD5, 0x5E, 0x00),
    RGBColor(0x00, 0x9E, 0x73),
    RGBColor(0xCC, 0x79, 0xA7),
    RGBColor(0x8A, 0x6D, 0x00),
    RGBColor(0x56, 0xB4, 0xE9),
    RGBColor(0x6A, 0x51, 0xA3),
    RGBColor(0x7F, 0x7F, 0x00),
];
/// Colours of grid, axis, text, comparison lines and alarms.
pub(super) const GRID: RGBColor = RGBColor(0xE4, 0xE5, 0xE9);
pub(super) const LINE: RGBColor = RGBColor(0xB9, 0xBC, 0xC4);
pub(super) const LETTERS: RGBColor = RGBColor(0x5A, 0x60, 0x6B);
pub(super) const OTHER: RGBColor = RGBColor(0x82, 0x88, 0x94);
pub(super) const ALARM: RGBColor = RGBColor(0xC6, 0x28, 0x28);

/// The area into which plotters draws.
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Drawing into memory fails only by a bug in plotters; the chart is then left out.
pub(super) type Drawing<T> = Result<T, Box<dyn std::error::Error>>;

/// The colour of the tenant or line of this number.
pub(super) fn colour(number: usize) -> RGBColor {
    COLOURS[number % COLOURS.len()]
}

/// The page width that a chart is drawn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) width: i32,
    pub(super) height: i32,
    class: &'static str,
}

impl Size {
    pub(super) fn is_narrow(&self) -> bool {
        self.class == "narrow"
    }
}

/// A stripe with a tooltip; in pixels of the chart.
pub(super) struct Stripe {
    pub(super) from: i32,
    pub(super) to: i32,
    pub(super) text: String,
}

/// A chart: for wide pages and for narrow ones, and its description in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Figure {
    /// The drawing for wide pages and the one for narrow ones, as markup.
    pub(super) svg: String,
}

/// Draws a chart of these heights; `said` describes it in words, for screen readers.
pub(super) fn figure(
    [wide, narrow]: [i32; 2],
    said: &str,
    draw: impl Fn(&Area<'_>, Size) -> Drawing<Vec<Stripe>>,
) -> Option<Figure> {
    let sizes = [(1000, wide, "wide"), (360, narrow, "narrow")];
    let mut svg = String::new();
    for (width, height, class) in sizes {
        let size = Size { width, height, class };
        svg.push_str(&drawn(size, said, &draw).ok()?);
    }
    Some(Figure { svg })
}

/// Draws a chart that stands next to another on a wide page, and is the same on a narrow one.
pub(super) fn small_figure(
    height: i32,
    said: &str,
    draw: impl Fn(&Area<'_>, Size) -> Drawing<Vec<Stripe>>,
) -> Option<Figure> {
    let size = Size {
        width: 430,
        height,
        class: "small",
    };
    let svg = drawn(size, said, &draw).ok()?;
    Some(Figure { svg })
}

fn drawn(size: Size, said: &str, draw: &impl Fn(&Area<'_>, Size) -> Drawing<Vec<Stripe>>) -> Drawing<String> {
    let mut text = String::new();
    let stripes = {
        let fine = (size.width * FINE, size.height * FINE);
        let backend = SVGBackend::with_string(&mut text, (fine.0 as u32, fine.1 as u32));
        let area = backend.into_drawing_area();
        let stripes = draw(&area, size)?;
        area.present()?;
        stripes
    };
    // The root is ours: no namespace is needed within a page, and the chart has a name.
    let start = text.find('\n').map_or(0, |end| end + 1);
    let end = text.rfind("</svg>").unwrap_or(text.len());
    let body = text.get(start..end).unwrap_or_default();
    Ok(framed(size, said, &lean(body), &stripes)?)
}

/// Elements as a chart: with its name, and with invisible stripes that say the values below them.
fn framed(size: Size, said: &str, body: &str, stripes: &[Stripe]) -> Result<String, std::fmt::Error> {
    let mut svg = format!(
        "<svg class=\"{}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n{body}",
        size.class,
        size.width * FINE,
        size.height * FINE,
        escaped(said),
    );
    for stripe in stripes {
        let width = (stripe.to - stripe.from).max(1);
        write!(
            svg,
            "<rect class=\"h\" x=\"{}\" y=\"0\" width=\"{width}\" height=\"{}\"><title>{}</title></rect>",
            stripe.from,
            size.height * FINE,
            escaped(&stripe.text)
        )?;
    }
    svg.push_str("</svg>");
    Ok(svg)
}

/// The same elements without attributes that the style sheet sets.
fn lean(body: &str) -> String {
    body.replace(" opacity=\"1\"", "")
        .replace(" font-family=\"sans-serif\"", "")
        .replace(" \"/>", "\"/>")
}

/// Escapes text for use within markup.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Text style of a chart.
pub(super) fn letters() -> TextStyle<'static> {
    ("sans-serif", 11 * FINE).into_font().color(&LETTERS)
}

/// A line of this width in quarters of a pixel.
pub(super) fn line(colour: RGBColor, quarters: u32) -> ShapeStyle {
    ShapeStyle {
        color: colour.to_rgba(),
        filled: false,
        stroke_width: quarters,
    }
}

/// The axes of a chart: their ranges, and their tick marks with labels.
pub(super) struct Axes<'a> {
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// Unit of the ticks on the horizontal axis: 60 if seconds are shown as minutes.
    pub(super) x_step: f64,
    pub(super) x_says: &'a dyn Fn(f64) -> String,
    pub(super) y_says: &'a dyn Fn(f64) -> String,
}

/// A mapping from values to positions, and the area to draw on.
pub(super) struct Plane<'a, 'b> {
    area: &'b Area<'a>,
    axes: &'b Axes<'b>,
    left: i32,
    right: i32,
    top: i32,
    bottom: i32,
}

impl<'a, 'b> Plane<'a, 'b> {
    /// Draws grid and labels on an area.
    pub(super) fn new(area: &'b Area<'a>, axes: &'b Axes<'b>, below: i32) -> Drawing<Self> {
        let (width, height) = area.dim_in_pixel();
        let plane = Plane {
            area,
            axes,
            left: 50 * FINE,
            right: width as i32 - 10 * FINE,
            top: 12 * FINE,
            bottom: height as i32 - (22 + below) * FINE,
        };
        plane.mesh()?;
        Ok(plane)
    }

    fn mesh(&self) -> Drawing<()> {
        let x = Marked {
            axis: self.axes.x,
            marks: marks_in(
                self.axes.x,
                self.axes.x_step,
                ((self.right - self.left) / (64 * FINE)).max(2) as usize,
            ),
        };
        let y = Marked {
            axis: self.axes.y,
            marks: marks(self.axes.y, 5),
        };
        let (area_width, area_height) = self.area.dim_in_pixel();
        let mut chart = ChartBuilder::on(self.area)
            .margin_top(self.top)
            .margin_right(area_width as i32 - self.right)
            .margin_bottom(area_height as i32 - self.bottom - 18 * FINE)
            .x_label_area_size(18 * FINE)
            .y_label_area_size(self.left)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(line(GRID, 4))
            .axis_style(line(LINE, 4))
            .label_style(letters())
            .x_label_formatter(&|value| (self.axes.x_says)(*value))
            .y_label_formatter(&|value| (self.axes.y_says)(*value))
            .set_all_tick_mark_size(4 * FINE)
            .draw()?;
        Ok(())
    }

    /// Position of a value on the horizontal axis.
    pub(super) fn x(&self, value: f64) -> i32 {
        self.left + (self.axes.x.part(value) * f64::from(self.right - self.left)).round() as i32
    }

    /// Position of a value on the vertical axis.
    pub(super) fn y(&self, value: f64) -> i32 {
        self.bottom - (self.axes.y.part(value) * f64::from(self.bottom - self.top)).round() as i32
    }

    /// Left, right, top and bottom of the plane.
    pub(super) fn bounds(&self) -> [i32; 4] {
        [self.left, self.right, self.top, self.bottom]
    }

    /// Draws a line through points given by their values.
    pub(super) fn path(
        &self,
        points: impl IntoIterator<Item = (f64, f64)>,
        style: ShapeStyle,
    ) -> Drawing<()> {
        let mut places: Vec<(i32, i32)> = points.into_iter().map(|(x, y)| (self.x(x), self.y(y))).collect();
        places.dedup();
        if places.len() > 1 {
            self.area.draw(&PathElement::new(places, style))?;
        }
        Ok(())
    }

    /// Draws an element given by its positions.
    pub(super) fn draw<E>(&self, element: E) -> Drawing<()>
    where
        for<'e> &'e E: plotters::element::PointCollection<'e, (i32, i32)>,
        E: plotters::element::Drawable<SVGBackend<'a>>,
    {
        self.area.draw(&element)?;
        Ok(())
    }
}

/// An axis in the form that plotters needs.
struct Marked {
    axis: Axis,
    marks: Vec<f64>,
}

impl Ranged for Marked {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        from + (self.axis.part(*value) * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.marks.clone()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.axis.from..self.axis.to
    }
}

/// Values along an axis that are round in units of `step`.
fn marks_in(axis: Axis, step: f64, most: usize) -> Vec<f64> {
    let counted = Axis {
        from: axis.from / step,
        to: axis.to / step,
        ..axis
    };
    marks(counted, most).into_iter().map(|mark| mark * step).collect()
}

/// Round values along an axis, about `most` of them.
pub(super) fn marks(axis: Axis, most: usize) -> Vec<f64> {
    let within = |value: &f64| (axis.from..=axis.to).contains(value);
    if axis.logarithmic {
        let decades = axis.from.log10().floor() as i32..=axis.to.log10().ceil() as i32;
        let of = |steps: &[f64]| -> Vec<f64> {
            let all = decades
                .clone()
                .flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
            all.filter(within).collect()
        };
        let some = of(&[1.0, 2.0, 5.0]);
        return if some.len() > most + 2 { of(&[1.0]) } else { some };
    }
    let rough = (axis.to - axis.from) / most.max(1) as f64;
    if !(rough > 0.0 && rough.is_finite()) {
        return Vec::new();
    }
    let size = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|step| step * size)
        .find(|step| *step >= rough * 0.999);
    let step = step.unwrap_or(size * 10.0);
    let first = (axis.from / step).ceil() as i64;
    (first..)
        .map(|n| n as f64 * step)
        .take_while(|value| *value <= axis.to * (1.0 + 1e-9))
        .collect()
}

/// A tick label on an axis of durations, given in milliseconds.
pub(super) fn time_mark(unit: TimeUnit, ms: f64) -> String {
    match unit {
        TimeUnit::Millis => mark(ms),
        TimeUnit::Micros => mark(ms * 1e3),
    }
}

/// The unit of the time axis for a run of this length, in seconds.
pub(super) fn time_step(length_s: f64) -> f64 {
    match length_s {
        length if length > 7_200.0 => 3_600.0,
        length if length > 300.0 => 60.0,
        _ => 1.0,
    }
}

/// A time on the time axis.
pub(super) fn seconds(value: f64, length_s: f64) -> String {
    let step = time_step(length_s);
    let unit = match step {
        3_600.0 => "h",
        60.0 => "min",
        _ => "s",
    };
    format!("{} {unit}", mark(value / step))
}

/// A range, or one value if both ends are equal.
pub(super) fn from_to(low: f64, high: f64) -> String {
    let (low, high) = (short(low), short(high));
    if low == high {
        low
    } else {
        format!("{low}–{high}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_within_the_axis() {
        let straight = |from, to| Axis {
            from,
            to,
            logarithmic: false,
        };
        assert_eq!(
            marks(straight(0.0, 70.0), 7),
            [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0]
        );
        assert_eq!(marks(straight(8.2, 13.0), 5), [9.0, 10.0, 11.0, 12.0, 13.0]);
        assert!(marks(straight(0.0, 0.0), 5).is_empty());
        assert_eq!(
            marks_in(straight(0.0, 600.0), 60.0, 5),
            [0.0, 120.0, 240.0, 360.0, 480.0, 600.0]
        );
        assert_eq!(seconds(120.0, 600.0), "2 min");
        let bent = |from, to| Axis {
            from,
            to,
            logarithmic: true,
        };
        assert_eq!(
            marks(bent(8.0, 600.0), 6),
            [10.0, 20.0, 50.0, 100.0, 200.0, 500.0]
        );
        assert_eq!(
            marks(bent(0.5, 60_000.0), 5),
            [1.0, 10.0, 100.0, 1_000.0, 10_000.0]
        );
    }
}
