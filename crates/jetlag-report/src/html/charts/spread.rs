//! The distribution of response times, as CDF and as histogram, together with others and alone.

use plotters::prelude::*;

use super::{Axes, Drawing, Figure, OTHER, Plane, Stripe, colour, line, small_figure, time_mark};
use crate::analysis::plot::{Axis, Shape, Spread};
use crate::text::number::{TimeUnit, percent};

const HEIGHT: i32 = 230;

/// The CDF for the tenant of this number.
pub(in crate::html) fn at_most(number: usize, name: &str, spread: &Spread, unit: TimeUnit) -> Option<Figure> {
    let said = format!("CDF of {name}'s response times{}.", against(spread));
    small_figure(HEIGHT, &said, |area, _| {
        let y = Axis {
            from: 0.0,
            to: 1.0,
            logarithmic: false,
        };
        let axes = axes(spread, y, unit);
        let plane = Plane::new(area, &axes, 0)?;
        if let Some(alone) = &spread.alone {
            steps(&plane, alone, line(OTHER, 6))?;
        }
        steps(&plane, &spread.together, line(colour(number), 8))?;
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
    unit: TimeUnit,
) -> Option<Figure> {
    let shapes = || std::iter::once(&spread.together).chain(&spread.alone);
    let highest = shapes()
        .flat_map(|shape| &shape.bars)
        .copied()
        .fold(0.0, f64::max);
    let said = format!("Histogram of {name}'s response times{}.", against(spread));
    small_figure(HEIGHT, &said, |area, _| {
        let y = Axis {
            from: 0.0,
            to: highest * 1.05,
            logarithmic: false,
        };
        let axes = axes(spread, y, unit);
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

fn axes<'a>(spread: &Spread, y: Axis, unit: TimeUnit) -> Axes<'a> {
    let says: &'a dyn Fn(f64) -> String = match unit {
        TimeUnit::Millis => &|value| time_mark(TimeUnit::Millis, value),
        TimeUnit::Micros => &|value| time_mark(TimeUnit::Micros, value),
    };
    Axes {
        x: spread.axis,
        y,
        x_step: 1.0,
        x_says: says,
        y_says: &|share| format!("{} %", super::mark(share * 100.0)),
    }
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

fn against(spread: &Spread) -> &'static str {
    match spread.alone {
        Some(_) => ", together and alone",
        None => "",
    }
}
