//! Energy per frame of each tenant, with its interval.

use plotters::prelude::*;

use super::{Axes, FINE, Figure, LETTERS, Plane, Stripe, colour, figure, letters, line, mark};
use crate::analysis::plot::Axis;
use crate::analysis::summary::{Energy, TenantSummary};
use crate::number::measured;

/// The chart of all tenants whose energy is known; none if there is no such tenant.
pub(in crate::html) fn chart(tenants: &[TenantSummary]) -> Option<Figure> {
    let known: Vec<(usize, &str, Energy)> = tenants
        .iter()
        .enumerate()
        .filter_map(|(number, tenant)| Some((number, tenant.name.as_str(), tenant.energy_mj_per_frame?)))
        .collect();
    let ends = known
        .iter()
        .flat_map(|(_, _, energy)| [Some(energy.total), energy.ci95.map(|ci| ci[1])]);
    let most = ends.flatten().fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let all: Vec<String> = known
        .iter()
        .map(|(_, name, energy)| format!("{name} {} mJ", measured(energy.total, energy.ci95)))
        .collect();
    let height = 34 + 30 * known.len() as i32;
    let said = format!("Energy per frame: {}.", all.join(", "));
    figure([height, height], &said, |area, _| {
        let axes = Axes {
            x: Axis {
                from: 0.0,
                to: most * 1.1,
                logarithmic: false,
            },
            y: Axis {
                from: 0.0,
                to: 0.0,
                logarithmic: false,
            },
            x_step: 1.0,
            x_says: &|value| format!("{} mJ", mark(value)),
            y_says: &|_| String::new(),
        };
        let plane = Plane::new(area, &axes, 0)?;
        let [left, right, top, _] = plane.bounds();
        for (row, (number, name, energy)) in (0..).zip(&known) {
            let from = top + row * 30 * FINE;
            let bar = [(left, from + 4 * FINE), (plane.x(energy.total), from + 22 * FINE)];
            plane.draw(Rectangle::new(bar, colour(*number).mix(0.55).filled()))?;
            if let Some([low, high]) = energy.ci95 {
                let middle = from + 13 * FINE;
                let (low, high) = (plane.x(low), plane.x(high));
                let style = line(LETTERS, 6);
                plane.draw(PathElement::new(vec![(low, middle), (high, middle)], style))?;
                for end in [low, high] {
                    let cap = vec![(end, middle - 5 * FINE), (end, middle + 5 * FINE)];
                    plane.draw(PathElement::new(cap, style))?;
                }
            }
            let style = letters().pos(plotters::style::text_anchor::Pos::new(
                plotters::style::text_anchor::HPos::Right,
                plotters::style::text_anchor::VPos::Center,
            ));
            let shown: String = name.chars().take(8).collect();
            plane.draw(Text::new(shown, (left - 5 * FINE, from + 13 * FINE), style))?;
        }
        let text = all.join(", ");
        Ok(vec![Stripe {
            from: left,
            to: right,
            text,
        }])
    })
}
