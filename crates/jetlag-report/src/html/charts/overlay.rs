//! The CDFs of one tenant in several runs over one another, with its deadline and the intervals of the differences.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::spread::{share, steps};
use super::{
    ALARM, Axes, Drawing, FINE, Figure, OTHER, Plane, Stripe, colour, figure, letters, line, mark, time_mark,
};
use crate::analysis::plot::{Axis, Shape, common_axis};
use crate::number::TimeUnit;

/// Stripes with tooltips.
const STRIPES: i32 = 80;

/// A run's curve.
pub(in crate::html) struct Curve<'a> {
    pub(in crate::html) label: &'a str,
    /// Its place among the runs; the first is what the others are compared with.
    pub(in crate::html) number: usize,
    pub(in crate::html) shape: &'a Shape,
    /// What the comparison says of it.
    pub(in crate::html) marks: Vec<Interval>,
}

/// The interval of a difference: at which share, and from where to where.
pub(in crate::html) struct Interval {
    pub(in crate::html) share: f64,
    pub(in crate::html) ms: [f64; 2],
}

/// The colour of a run: grey of the first, as whatever others are seen against.
fn ink(number: usize) -> RGBColor {
    if number == 0 { OTHER } else { colour(number) }
}

/// The chart of a tenant.
pub(in crate::html) fn chart(
    tenant: &str,
    curves: &[Curve<'_>],
    deadline_ms: Option<f64>,
    unit: TimeUnit,
) -> Option<Figure> {
    let shapes: Vec<&Shape> = curves.iter().map(|curve| curve.shape).collect();
    let x = common_axis(&shapes, deadline_ms);
    let labels: Vec<&str> = curves.iter().map(|curve| curve.label).collect();
    let deadline = deadline_ms.map_or(String::new(), |ms| format!(", deadline {} ms", mark(ms)));
    let said = format!(
        "CDFs of {tenant}'s response times in runs {}{deadline}.",
        labels.join(", ")
    );
    figure([280, 240], &said, |area, _| {
        let axes = Axes {
            x,
            y: Axis {
                from: 0.0,
                to: 1.0,
                logarithmic: false,
            },
            x_step: 1.0,
            x_says: &|value| time_mark(unit, value),
            y_says: &|share| format!("{} %", mark(share * 100.0)),
        };
        let plane = Plane::new(area, &axes, 0)?;
        if let Some(ms) = deadline_ms {
            deadline_at(&plane, ms)?;
        }
        for curve in curves {
            steps(&plane, curve.shape, line(ink(curve.number), 7))?;
        }
        for curve in curves {
            for interval in &curve.marks {
                whisker(&plane, curve.number, interval)?;
            }
        }
        Ok(stripes(&plane, curves, x, unit))
    })
}

fn deadline_at(plane: &Plane<'_, '_>, ms: f64) -> Drawing<()> {
    let [_, right, top, bottom] = plane.bounds();
    let x = plane.x(ms);
    let dash = 6 * FINE;
    for from in (top..bottom).step_by(2 * dash as usize) {
        let places = vec![(x, from), (x, (from + dash).min(bottom))];
        plane.draw(PathElement::new(places, line(ALARM, 5)))?;
    }
    // The word stands on the side that has room for it.
    let (beside, side) = match right - x > 60 * FINE {
        true => (x + 4 * FINE, HPos::Left),
        false => (x - 4 * FINE, HPos::Right),
    };
    let style = letters().color(&ALARM).pos(Pos::new(side, VPos::Top));
    plane.draw(Text::new("deadline", (beside, top + 2 * FINE), style))
}

/// A bar with ends; those of several runs lie below one another.
fn whisker(plane: &Plane<'_, '_>, number: usize, interval: &Interval) -> Drawing<()> {
    let [low, high] = interval.ms.map(|ms| plane.x(ms));
    let y = plane.y(interval.share) + 7 * FINE * (number as i32 - 1);
    let style = line(ink(number), 10);
    let high = high.max(low + FINE);
    plane.draw(PathElement::new(vec![(low, y), (high, y)], style))?;
    for end in [low, high] {
        plane.draw(PathElement::new(
            vec![(end, y - 5 * FINE), (end, y + 5 * FINE)],
            style,
        ))?;
    }
    Ok(())
}

fn stripes(plane: &Plane<'_, '_>, curves: &[Curve<'_>], axis: Axis, unit: TimeUnit) -> Vec<Stripe> {
    let at = |nth: i32| {
        let part = f64::from(nth) / f64::from(STRIPES);
        match axis.logarithmic {
            true => axis.from * (axis.to / axis.from).powf(part),
            false => axis.from + (axis.to - axis.from) * part,
        }
    };
    (0..STRIPES)
        .map(|nth| {
            let (from, to) = (at(nth), at(nth + 1));
            let of_runs = curves
                .iter()
                .map(|curve| format!("{} {}", curve.label, share(curve.shape, to)));
            let of_runs: Vec<String> = of_runs.collect();
            Stripe {
                from: plane.x(from),
                to: plane.x(to),
                text: format!(
                    "at most {} {}: {}",
                    unit.show(to),
                    unit.name(),
                    of_runs.join(", ")
                ),
            }
        })
        .collect()
}
