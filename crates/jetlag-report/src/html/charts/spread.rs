//! The distribution of response times, as CDF and as histogram, together with others and alone.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{
    ALARM, Axes, Drawing, FINE, Figure, OTHER, Plane, Stripe, colour, letters, line, mark, small_figure,
    time_mark,
};
use crate::analysis::plot::{Axis, Shape, Spread};
use crate::number::{TimeUnit, percent};

const HEIGHT: i32 = 230;
/// A deadline may make the axis longer by this factor.
const STRETCH: f64 = 2.0;

/// The CDF for the tenant of this number.
pub(in crate::html) fn at_most(
    number: usize,
    name: &str,
    spread: &Spread,
    deadline_ms: Option<f64>,
    unit: TimeUnit,
) -> Option<Figure> {
    let said = format!(
        "CDF of {name}'s response times{}{}.",
        against(spread),
        under(deadline_ms)
    );
    small_figure(HEIGHT, &said, |area, _| {
        let y = Axis {
            from: 0.0,
            to: 1.0,
            logarithmic: false,
        };
        let axes = axes(spread, y, deadline_ms, unit);
        let plane = Plane::new(area, &axes, 0)?;
        if let Some(alone) = &spread.alone {
            steps(&plane, alone, line(OTHER, 6))?;
        }
        steps(&plane, &spread.together, line(colour(number), 8))?;
        deadline(&plane, &axes, deadline_ms, unit)?;
        Ok(spread
            .edges_ms
            .windows(2)
            .map(|pair| {
                let mut text = format!(
                    "at most {} {}: {}",
                    unit.show(pair[1]),
                    unit.name(),
                    share(&spread.together, pair[1])
                );
                if let Some(alone) = &spread.alone {
                    text.push_str(&format!(", alone {}", share(alone, pair[1])));
                }
                Stripe {
                    from: plane.x(pair[0]),
                    to: plane.x(pair[1]),
                    text,
                }
            })
            .collect())
    })
}

/// The histogram of the tenant of this number.
pub(in crate::html) fn histogram(
    number: usize,
    name: &str,
    spread: &Spread,
    deadline_ms: Option<f64>,
    unit: TimeUnit,
) -> Option<Figure> {
    let shapes = || std::iter::once(&spread.together).chain(&spread.alone);
    let highest = shapes()
        .flat_map(|shape| &shape.bars)
        .copied()
        .fold(0.0, f64::max);
    let said = format!(
        "Histogram of {name}'s response times{}{}.",
        against(spread),
        under(deadline_ms)
    );
    small_figure(HEIGHT, &said, |area, _| {
        let y = Axis {
            from: 0.0,
            to: highest * 1.05,
            logarithmic: false,
        };
        let axes = axes(spread, y, deadline_ms, unit);
        let plane = Plane::new(area, &axes, 0)?;
        for (pair, bar) in spread.edges_ms.windows(2).zip(&spread.together.bars) {
            if *bar > 0.0 {
                let places = [
                    (plane.x(pair[0]), plane.y(*bar)),
                    (plane.x(pair[1]) - 1, plane.y(0.0)),
                ];
                plane.draw(Rectangle::new(places, colour(number).mix(0.55).filled()))?;
            }
        }
        if let Some(alone) = &spread.alone {
            let outline = spread
                .edges_ms
                .windows(2)
                .zip(&alone.bars)
                .flat_map(|(pair, bar)| [(pair[0], *bar), (pair[1], *bar)]);
            plane.path(outline, line(OTHER, 6))?;
        }
        deadline(&plane, &axes, deadline_ms, unit)?;
        Ok(bars(&plane, spread, unit))
    })
}

fn bars(plane: &Plane<'_, '_>, spread: &Spread, unit: TimeUnit) -> Vec<Stripe> {
    let pairs = spread.edges_ms.windows(2).enumerate();
    pairs
        .map(|(place, pair)| {
            let of = |shape: &Shape| percent(shape.bars.get(place).copied().unwrap_or_default());
            let mut text = format!(
                "{}: {} of frames",
                unit.show_interval([pair[0], pair[1]]),
                of(&spread.together)
            );
            if let Some(alone) = &spread.alone {
                text.push_str(&format!(", alone {}", of(alone)));
            }
            Stripe {
                from: plane.x(pair[0]),
                to: plane.x(pair[1]),
                text,
            }
        })
        .collect()
}

fn axes<'a>(spread: &Spread, y: Axis, deadline_ms: Option<f64>, unit: TimeUnit) -> Axes<'a> {
    let says: &'a dyn Fn(f64) -> String = match unit {
        TimeUnit::Millis => &|value| time_mark(TimeUnit::Millis, value),
        TimeUnit::Micros => &|value| time_mark(TimeUnit::Micros, value),
    };
    Axes {
        x: deadline_ms.map_or(spread.axis, |deadline| with_deadline(spread.axis, deadline)),
        y,
        x_step: 1.0,
        x_says: says,
        y_says: &|share| format!("{} %", super::mark(share * 100.0)),
    }
}

/// The axis with room for a deadline near its ends; a distant one would press the distribution into a line.
fn with_deadline(axis: Axis, deadline_ms: f64) -> Axis {
    let stretched = Axis {
        from: axis.from.min(deadline_ms * 0.97),
        to: axis.to.max(deadline_ms * 1.03),
        ..axis
    };
    let length = |axis: Axis| match axis.logarithmic {
        true => (axis.to / axis.from).ln(),
        false => axis.to - axis.from,
    };
    let fits = deadline_ms > 0.0 && length(stretched) <= STRETCH * length(axis);
    if fits { stretched } else { axis }
}

/// The deadline as a dashed line with its value, or where it lies beyond the axis.
fn deadline(plane: &Plane<'_, '_>, axes: &Axes<'_>, deadline_ms: Option<f64>, unit: TimeUnit) -> Drawing<()> {
    let Some(ms) = deadline_ms else {
        return Ok(());
    };
    let [left, right, top, bottom] = plane.bounds();
    let value = format!("deadline {} {}", time_mark(unit, ms), unit.name());
    let (text, x, is_right) = match ms {
        ms if ms > axes.x.to => (format!("{value} →"), right, true),
        ms if ms < axes.x.from => (format!("← {value}"), left, false),
        ms => (value, plane.x(ms), plane.x(ms) > (left + right) / 2),
    };
    if (axes.x.from..=axes.x.to).contains(&ms) {
        let dash = 6 * FINE;
        for from in (top..bottom).step_by(2 * dash as usize) {
            let places = vec![(x, from), (x, (from + dash).min(bottom))];
            plane.draw(PathElement::new(places, line(ALARM, 5)))?;
        }
    }
    let (beside, anchor) = match is_right {
        true => (x - 4 * FINE, HPos::Right),
        false => (x + 4 * FINE, HPos::Left),
    };
    let style = letters().color(&ALARM).pos(Pos::new(anchor, VPos::Bottom));
    plane.draw(Text::new(text, (beside, top - FINE / 2), style))
}

/// An empirical CDF rises in steps, not in slopes.
pub(super) fn steps(plane: &Plane<'_, '_>, shape: &Shape, style: ShapeStyle) -> Drawing<()> {
    let mut before = 0.0;
    let points = shape.at_most.iter().flat_map(|&(ms, share)| {
        let step = [(ms, before), (ms, share)];
        before = share;
        step
    });
    let points: Vec<(f64, f64)> = points.collect();
    plane.path(points, style)
}

/// The share of frames that took at most this long.
pub(super) fn share(shape: &Shape, ms: f64) -> String {
    let known = shape.at_most.partition_point(|&(at, _)| at <= ms);
    percent(
        known
            .checked_sub(1)
            .and_then(|last| shape.at_most.get(last))
            .map_or(0.0, |known| known.1),
    )
}

fn under(deadline_ms: Option<f64>) -> String {
    deadline_ms.map_or(String::new(), |ms| format!("; the deadline is {} ms", mark(ms)))
}

fn against(spread: &Spread) -> &'static str {
    match spread.alone {
        Some(_) => ", together and alone",
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_deadline_is_on_the_axis_and_a_distant_one_leaves_it_as_it_is() {
        let axis = Axis {
            from: 8.0,
            to: 13.0,
            logarithmic: false,
        };
        assert_eq!(with_deadline(axis, 10.0), axis);
        assert!(with_deadline(axis, 15.0).to > 15.0 && with_deadline(axis, 15.0).from == 8.0);
        assert!(with_deadline(axis, 5.0).from < 5.0);
        assert_eq!(with_deadline(axis, 33.0), axis);
        assert_eq!(with_deadline(axis, 0.0), axis);
        let bent = Axis {
            to: 800.0,
            logarithmic: true,
            ..axis
        };
        assert!(with_deadline(bent, 2_000.0).to > 2_000.0);
    }
}
