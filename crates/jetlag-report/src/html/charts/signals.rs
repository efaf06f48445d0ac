//! Power lines, clocks and temperatures over the same time axis as the response times.

use plotters::prelude::*;

use super::{Axes, FINE, Figure, Plane, Stripe, colour, figure, line, mark};
use crate::analysis::plot::{Axis, SignalPlot};
use crate::number::short;
use crate::record::{Part, RailRole};

/// Lines per chart; more cannot be told apart.
const MOST_LINES: usize = 6;

/// The signals of one chart.
pub(in crate::html) struct Chosen<'a> {
    /// Those that are drawn: totals, then the GPU and its memory, and processors last.
    pub(in crate::html) drawn: Vec<&'a SignalPlot>,
    /// Those for which there is no room.
    pub(in crate::html) left_out: Vec<&'a SignalPlot>,
}

/// Chooses the signals for a chart: what is most asked about comes first, and single processors are left out first.
pub(in crate::html) fn chosen<'a>(signals: impl Iterator<Item = &'a SignalPlot>) -> Chosen<'a> {
    let mut drawn: Vec<&SignalPlot> = signals.collect();
    drawn.sort_by_key(|signal| (of_role(signal.role), of_part(signal.part)));
    let left_out = drawn.split_off(drawn.len().min(MOST_LINES));
    Chosen { drawn, left_out }
}

fn of_role(role: RailRole) -> u8 {
    match role {
        RailRole::Total => 0,
        RailRole::Summand => 1,
        _ => 2,
    }
}

fn of_part(part: Part) -> (u8, u32) {
    match part {
        Part::Gpu(number) => (0, number.unwrap_or(0)),
        Part::GpuMemory(number) => (1, number.unwrap_or(0)),
        Part::MemoryController => (2, 0),
        Part::Board => (3, 0),
        Part::Processors => (5, 0),
        Part::Processor(number) => (6, number),
        _ => (4, 0),
    }
}

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
            y_says: &mark,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(signal: &str, part: Part) -> SignalPlot {
        SignalPlot {
            signal: signal.to_owned(),
            part,
            ..SignalPlot::default()
        }
    }

    #[test]
    fn processors_make_room_for_the_gpu_and_its_memory() {
        let mut all: Vec<SignalPlot> = (0..12)
            .map(|core| clock(&format!("cpu{core}"), Part::Processor(core)))
            .collect();
        all.push(clock("emc", Part::MemoryController));
        all.push(clock("gpu", Part::Gpu(None)));
        let names = |signals: &[&SignalPlot]| -> Vec<String> {
            signals.iter().map(|signal| signal.signal.clone()).collect()
        };
        let chosen = chosen(all.iter());
        assert_eq!(
            names(&chosen.drawn),
            ["gpu", "emc", "cpu0", "cpu1", "cpu2", "cpu3"]
        );
        assert_eq!(chosen.left_out.len(), 8);
        assert_eq!(names(&chosen.left_out)[0], "cpu4");
    }
}
