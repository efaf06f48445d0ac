//! The roofline chart: rate over intensity, both logarithmic, with the roofs and a mark for each network and layer.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{
    ALARM, Axes, Drawing, FINE, Figure, GRID, LETTERS, OTHER, Plane, Stripe, colour, figure, letters, line,
    marks,
};
use crate::analysis::plot::Axis;
use crate::analysis::roofline::{Limit, Roofs};
use crate::number::scaled;
use crate::sections::roofline::spaced;

/// A mark of the chart.
#[derive(Clone, Debug)]
pub(in crate::html) struct Mark {
    pub(in crate::html) intensity: f64,
    pub(in crate::html) flops_per_s: f64,
    /// What the tooltip says.
    pub(in crate::html) text: String,
    /// The number of its colour.
    pub(in crate::html) colour: usize,
    /// A whole network, which is drawn larger and filled.
    pub(in crate::html) is_network: bool,
    /// It lies above the roof.
    pub(in crate::html) is_above: bool,
}

/// Roofs with the number format that they are of.
pub(in crate::html) struct NamedRoofs {
    pub(in crate::html) name: String,
    pub(in crate::html) roofs: Roofs,
}

/// Most stripes with tooltips: of marks that lie closer, one says all.
const MOST_STRIPES: usize = 160;

/// The chart; none where there is nothing to draw.
pub(in crate::html) fn chart(roofs: &[NamedRoofs], points: &[Mark], said: &str) -> Option<Figure> {
    let (x, y) = ranges(roofs, points)?;
    figure([420, 340], said, |area, size| {
        let axes = Axes {
            x,
            y,
            x_step: 1.0,
            x_says: &|value| tick(value),
            y_says: &tick,
        };
        let plane = Plane::new(area, &axes, 0)?;
        upright(&plane, x, size.is_narrow())?;
        for own in roofs {
            roof(&plane, own, x, y)?;
        }
        for point in points.iter().filter(|point| !point.is_network) {
            let style = mark_colour(point).mix(0.75).stroke_width(6);
            plane.draw(Circle::new(at(&plane, point), 3 * FINE, style))?;
        }
        for point in points.iter().filter(|point| point.is_network) {
            plane.draw(Circle::new(
                at(&plane, point),
                5 * FINE,
                mark_colour(point).filled(),
            ))?;
        }
        named(&plane)?;
        Ok(stripes(&plane, points))
    })
}

fn at(plane: &Plane<'_, '_>, point: &Mark) -> (i32, i32) {
    (plane.x(point.intensity), plane.y(point.flops_per_s))
}

fn mark_colour(point: &Mark) -> RGBColor {
    match point.is_above {
        true => ALARM,
        false => colour(point.colour),
    }
}

fn tick(value: f64) -> String {
    match value {
        // Whole decades: `10 G`, not `10.0 G`.
        value if value >= 1000.0 => scaled(value).replace(".00", "").replace(".0", ""),
        value => super::mark(value),
    }
}

/// Axes that hold the marks and the bends of the roofs, in whole decades.
fn ranges(roofs: &[NamedRoofs], points: &[Mark]) -> Option<(Axis, Axis)> {
    let bends = roofs
        .iter()
        .filter_map(|own| Some((own.roofs.balance()?, own.roofs.peak_flops_per_s)));
    let marks = points.iter().map(|point| (point.intensity, point.flops_per_s));
    let all: Vec<(f64, f64)> = bends
        .chain(marks)
        .filter(|(x, y)| x.is_finite() && y.is_finite() && *x > 0.0 && *y > 0.0)
        .collect();
    let axis = |values: &[f64], least_decades: f64| {
        let low = values.iter().copied().reduce(f64::min)?;
        let high = values.iter().copied().reduce(f64::max)?;
        let (low, high) = ((low / 1.5).log10().floor(), (high * 1.5).log10().ceil());
        Some(Axis {
            from: 10f64.powf(low),
            to: 10f64.powf(high.max(low + least_decades)),
            logarithmic: true,
        })
    };
    let x: Vec<f64> = all.iter().map(|(x, _)| *x).collect();
    let y: Vec<f64> = all.iter().map(|(_, y)| *y).collect();
    Some((axis(&x, 2.0)?, axis(&y, 2.0)?))
}

/// Lines of the grid that stand upright, at the marks of the horizontal axis.
fn upright(plane: &Plane<'_, '_>, x: Axis, is_narrow: bool) -> Drawing<()> {
    let [_, _, top, bottom] = plane.bounds();
    for value in marks(x, if is_narrow { 4 } else { 12 }) {
        let place = plane.x(value);
        plane.draw(PathElement::new([(place, top), (place, bottom)], line(GRID, 4)))?;
    }
    Ok(())
}

fn roof(plane: &Plane<'_, '_>, own: &NamedRoofs, x: Axis, y: Axis) -> Drawing<()> {
    let Some(bend) = own.roofs.balance() else {
        return Ok(());
    };
    let peak = own.roofs.peak_flops_per_s;
    // The slope begins where it enters the plane.
    let from = x.from.max(y.from / own.roofs.bytes_per_s);
    let slope = (from < bend).then_some((from, from * own.roofs.bytes_per_s));
    let corner = (bend.max(x.from), peak);
    let ends: Vec<(f64, f64)> = slope.into_iter().chain([corner, (x.to, peak)]).collect();
    plane.path(ends, line(LETTERS, 8))?;
    let [_, right, _, _] = plane.bounds();
    let above = letters().pos(Pos::new(HPos::Right, VPos::Bottom));
    let text = format!("{} {}FLOP/s", own.name, spaced(peak));
    plane.draw(Text::new(
        text,
        (right - 2 * FINE, plane.y(peak) - 3 * FINE),
        above,
    ))?;
    if let Some((x0, y0)) = slope {
        // Above the slope, where no execution is, a third of its way up.
        let style = letters().pos(Pos::new(HPos::Right, VPos::Bottom));
        let way = |a: f64, b: f64| 10f64.powf(a.log10() + (b.log10() - a.log10()) * 0.4);
        let place = (
            plane.x(way(x0, bend)) - 6 * FINE,
            plane.y(way(y0, peak)) - 2 * FINE,
        );
        plane.draw(Text::new(
            format!("{}B/s", spaced(own.roofs.bytes_per_s)),
            place,
            style,
        ))?;
    }
    plane.path(
        [(bend, y.from), (bend, peak)]
            .into_iter()
            .filter(|(x1, _)| *x1 >= x.from),
        line(OTHER, 2),
    )
}

/// What the axes are.
fn named(plane: &Plane<'_, '_>) -> Drawing<()> {
    let [left, right, top, bottom] = plane.bounds();
    let y = letters().pos(Pos::new(HPos::Left, VPos::Top));
    plane.draw(Text::new("FLOP/s", (left + 4 * FINE, top + 2 * FINE), y))?;
    let x = letters().pos(Pos::new(HPos::Right, VPos::Bottom));
    plane.draw(Text::new("FLOP/byte", (right - 2 * FINE, bottom - 3 * FINE), x))
}

/// Tooltips: upright stripes around the marks, the network's before its layers'.
fn stripes(plane: &Plane<'_, '_>, points: &[Mark]) -> Vec<Stripe> {
    let half = 3 * FINE;
    let mut placed: Vec<(i32, &Mark)> = points
        .iter()
        .map(|point| (plane.x(point.intensity), point))
        .collect();
    placed.sort_by_key(|(place, point)| (*place, !point.is_network));
    let mut stripes: Vec<Stripe> = Vec::new();
    for (place, point) in placed {
        let full = stripes.len() >= MOST_STRIPES;
        let stripe = Stripe {
            from: place - half,
            to: place + half,
            text: point.text.clone(),
        };
        match stripes.last_mut().filter(|last| stripe.from < last.to) {
            // As many as can be read.
            Some(last) if last.text.matches('\n').count() < 11 => {
                last.text.push('\n');
                last.text.push_str(&point.text);
            }
            Some(_) => {}
            None if full => break,
            None => stripes.push(stripe),
        }
    }
    stripes
}

/// The word for the lower roof.
pub(in crate::html) fn below(limit: Limit) -> &'static str {
    match limit {
        Limit::Compute => "below the peak",
        Limit::Memory => "below the memory's slope",
    }
}
