//! Power lines, clocks and temperatures over the same time axis as the response times.

use plotters::prelude::*;

use super::{Axes, FINE, Figure, Plane, Stripe, colour, figure, line, mark};
use crate::analysis::plot::{Axis, SignalPlot};
use crate::text::number::short;

/// Lines per chart; more cannot be told apart.
pub(in crate::html) const MOST_LINES: usize = 6;

/// A chart of signals of one unit; `scale` converts their values to the unit that is shown.
pub(in crate::html) fn chart(
    signals: &[&SignalPlot],
    length_s: f64,
    what: &str,
    unit: &str,
    scale: f64,
) -> Option<Figure> {
    let values = || {
        signals
            .iter()
            .flat_map(|signal| &signal.points)
            .map(|(_, reading)| reading)
    };
    let high = values()
        .map(|reading| reading.high * scale)
        .fold(f64::NEG_INFINITY, f64::max);
    let low = values()
        .map(|reading| reading.low * scale)
        .fold(f64::INFINITY, f64::min);
    if !(high.is_finite() && low.is_finite()) {
        return None;
    }
    // Power is seen against nothing, temperatures and clocks against themselves.
    let from = if unit == "W" {
        0.0
    } else {
        (low - (high - low).max(high * 0.1) * 0.1).max(0.0)
    };
    let names: Vec<&str> = signals.iter().map(|signal| signal.signal.as_str()).collect();
    let said = format!(
        "{what} over time in {unit}: {}; from {} to {}.",
        names.join(", "),
        short(low),
        short(high)
    );
    figure([170, 150], &said, |area, _| {
        let axes = Axes {
            x: Axis {
                from: 0.0,
                to: length_s,
                logarithmic: false,
            },
            y: Axis {
                from,
                to: (high + (high - from) * 0.08).max(from + 1e-3),
                logarithmic: false,
            },
            x_step: super::time_step(length_s),
            x_says: &|value| super::seconds(value, length_s),
            y_says: &|value| format!("{} {unit}", mark(value)),
        };
        let plane = Plane::new(area, &axes, 0)?;
        for (number, signal) in signals.iter().enumerate() {
            let points = signal
                .points
                .iter()
                .map(|(at, reading)| (*at, reading.mean * scale));
            plane.path(points, line(colour(number), 5))?;
            // One reading makes no line.
            if let [(at, reading)] = &signal.points[..] {
                let place = (plane.x(*at), plane.y(reading.mean * scale));
                plane.draw(Circle::new(place, 2 * FINE, colour(number).filled()))?;
            }
            for (at, reading) in &signal.points {
                if reading.high > reading.low {
                    let ends = vec![
                        (plane.x(*at), plane.y(reading.high * scale)),
                        (plane.x(*at), plane.y(reading.low * scale)),
                    ];
                    plane.draw(PathElement::new(
                        ends,
                        colour(number).mix(0.25).stroke_width(FINE as u32),
                    ))?;
                }
            }
        }
        Ok(stripes(&plane, signals, unit, scale))
    })
}

fn stripes(plane: &Plane<'_, '_>, signals: &[&SignalPlot], unit: &str, scale: f64) -> Vec<Stripe> {
    let Some(first) = signals.first() else {
        return Vec::new();
    };
    let every = first.points.len().div_ceil(80).max(1);
    let at: Vec<f64> = first.points.iter().step_by(every).map(|(at, _)| *at).collect();
    let places = at.windows(2);
    places
        .map(|pair| {
            let all: Vec<String> = signals
                .iter()
                .filter_map(|signal| {
                    let place = signal.points.partition_point(|(at, _)| *at < pair[0]);
                    let (_, reading) = signal.points.get(place)?;
                    Some(format!(
                        "{} {} {unit}",
                        signal.signal,
                        short(reading.mean * scale)
                    ))
                })
                .collect();
            Stripe {
                from: plane.x(pair[0]),
                to: plane.x(pair[1]),
                text: format!("{} s: {}", short(pair[0].max(0.0)), all.join(", ")),
            }
        })
        .collect()
}
