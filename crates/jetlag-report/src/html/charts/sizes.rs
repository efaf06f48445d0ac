//! A duration against the size of the input: frames as dots, and the slope through them with its interval.

use plotters::prelude::*;

use super::{Axes, Drawing, FINE, Figure, LETTERS, Plane, colour, line, mark, small_figure, time_mark};
use crate::analysis::plot::{Axis, Dot, SizeLine, SizePlot};
use crate::number::TimeUnit;

const HEIGHT: i32 = 230;
/// Points that a line is drawn with: on a logarithmic axis it is bent.
const STEPS: u32 = 60;

/// What is drawn: a value of each frame, its axis and the line through it.
pub(in crate::html) struct Drawn<'a> {
    pub(in crate::html) plot: &'a SizePlot,
    pub(in crate::html) value: fn(&Dot) -> f64,
    pub(in crate::html) axis: Axis,
    pub(in crate::html) line: Option<SizeLine>,
    pub(in crate::html) unit: TimeUnit,
    /// Sizes are divided by this.
    pub(in crate::html) per: f64,
}

/// The chart of the tenant of this number.
pub(in crate::html) fn chart(number: usize, said: &str, drawn: &Drawn<'_>) -> Option<Figure> {
    small_figure(HEIGHT, said, |area, _| {
        let x_says = |size: f64| mark(size / drawn.per);
        let y_says = |ms: f64| time_mark(drawn.unit, ms);
        let axes = Axes {
            x: drawn.plot.size,
            y: drawn.axis,
            x_step: 1.0,
            x_says: &x_says,
            y_says: &y_says,
        };
        let plane = Plane::new(area, &axes, 0)?;
        for dot in &drawn.plot.dots {
            let place = (plane.x(dot.size), plane.y((drawn.value)(dot)));
            plane.draw(Circle::new(place, 2 * FINE, colour(number).mix(0.4).filled()))?;
        }
        if let Some(lines) = &drawn.line {
            within(&plane, drawn.axis, lines.low, 2)?;
            within(&plane, drawn.axis, lines.high, 2)?;
            within(&plane, drawn.axis, lines.line, 6)?;
        }
        Ok(Vec::new())
    })
}

/// The part of a line that is within the axis: beyond its ends it would seem to be level.
fn within(plane: &Plane<'_, '_>, axis: Axis, [from, to]: [(f64, f64); 2], width: u32) -> Drawing<()> {
    let part = |step: u32| f64::from(step) / f64::from(STEPS);
    let at = |share: f64| (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
    let inside = |point: &(f64, f64)| (axis.from..=axis.to).contains(&point.1);
    let points = (0..=STEPS).map(|step| at(part(step))).filter(inside);
    // A straight line has two ends.
    let points: Vec<(f64, f64)> = match axis.logarithmic {
        true => points.collect(),
        false => {
            let all: Vec<(f64, f64)> = points.collect();
            all.first()
                .copied()
                .into_iter()
                .chain(all.last().copied())
                .collect()
        }
    };
    plane.path(points, line(LETTERS, width))
}
