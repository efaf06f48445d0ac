//! A slowdown round by round: a dot each, and the slowdown of all rounds with its interval.

use plotters::prelude::*;

use super::{Axes, FINE, Figure, LETTERS, Plane, Stripe, colour, line, mark, small_figure};
use crate::analysis::plot::Axis;
use crate::analysis::summary::Slowdown;
use crate::number::short;

const HEIGHT: i32 = 180;

/// The chart for the tenant of this number; none where fewer than two rounds have a ratio.
pub(in crate::html) fn chart(number: usize, name: &str, slowdown: &Slowdown) -> Option<Figure> {
    let ratios: Vec<(f64, f64)> = (1..)
        .zip(&slowdown.by_round)
        .filter_map(|(round, ratio)| Some((f64::from(round), (*ratio)?)))
        .collect();
    let bounds = slowdown.p50.ci95;
    let values = || {
        ratios
            .iter()
            .map(|(_, ratio)| *ratio)
            .chain(bounds.into_iter().flatten())
    };
    let (least, most) = (values().fold(1.0, f64::min), values().fold(1.0, f64::max));
    let margin = ((most - least) * 0.05).max(0.01);
    let said = format!("Dots: the ratio of {name}'s medians, together to alone, of each round of turns.");
    (ratios.len() > 1).then(|| {
        small_figure(HEIGHT, &said, |area, _| {
            let linear = |from, to| Axis {
                from,
                to,
                logarithmic: false,
            };
            let axes = Axes {
                x: linear(0.5, slowdown.by_round.len() as f64 + 0.5),
                y: linear((least - margin).max(0.0), most + margin),
                x_step: 1.0,
                x_says: &mark,
                y_says: &|ratio| format!("×{}", mark(ratio)),
            };
            let plane = Plane::new(area, &axes, 0)?;
            let across = |ratio: f64| [(axes.x.from, ratio), (axes.x.to, ratio)];
            for bound in bounds.into_iter().flatten() {
                plane.path(across(bound), line(LETTERS, 2))?;
            }
            if let Some(p50) = slowdown.p50.value {
                plane.path(across(p50), line(LETTERS, 6))?;
            }
            for &(round, ratio) in &ratios {
                let place = (plane.x(round), plane.y(ratio));
                plane.draw(Circle::new(place, 3 * FINE, colour(number).filled()))?;
            }
            let stripe = |&(round, ratio): &(f64, f64)| Stripe {
                from: plane.x(round - 0.5),
                to: plane.x(round + 0.5),
                text: format!("round {round}: ×{}", short(ratio)),
            };
            Ok(ratios.iter().map(stripe).collect())
        })
    })?
}
