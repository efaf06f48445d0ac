//! Response times of one tenant over time: minimum, maximum and mean of each time slice, the deadline, the slowest
//! frames by number, and below the plot the slices with misses and drops.

use plotters::prelude::*;

use super::{
    ALARM, Axes, Drawing, FINE, Figure, OTHER, Plane, Stripe, colour, figure, from_to, letters, line,
};
use crate::analysis::plot::{Axis, Slice, coarser};
use crate::analysis::summary::TenantSummary;
use crate::number::{TimeUnit, short};

/// Number of stripes with tooltips; more would only make the page larger.
const STRIPES: usize = 120;

/// The chart of the tenant of this number.
pub(in crate::html) fn chart(
    number: usize,
    tenant: &TenantSummary,
    slices: &[Slice],
    axis: Axis,
    length_s: f64,
    unit: TimeUnit,
) -> Option<Figure> {
    slices.iter().find(|slice| slice.response_ms.is_some())?;
    let y = with_deadline(axis, tenant.deadline_ms);
    let said = in_words(tenant, unit);
    let any_missed = slices.iter().any(|slice| slice.missed > 0);
    let any_dropped = slices.iter().any(|slice| slice.dropped > 0);
    figure([260, 210], &said, |area, size| {
        let axes = Axes {
            x: Axis {
                from: 0.0,
                to: length_s,
                logarithmic: false,
            },
            y,
            x_step: super::time_step(length_s),
            x_says: &|value| super::seconds(value, length_s),
            y_says: &|value| super::time_mark(unit, value),
        };
        let rows = i32::from(any_missed) + i32::from(any_dropped);
        let plane = Plane::new(area, &axes, rows * 11 + 2 * rows.min(1))?;
        let shown = coarser(slices, if size.is_narrow() { 300 } else { 900 });
        band(&plane, &shown, colour(number))?;
        deadline(&plane, tenant.deadline_ms)?;
        slowest(&plane, tenant)?;
        let mut row = 0;
        for (any, name, ink, count) in [
            (
                any_missed,
                "missed",
                ALARM,
                (|slice| slice.missed) as fn(&Slice) -> u64,
            ),
            (any_dropped, "dropped", OTHER, |slice| slice.dropped),
        ] {
            if any {
                marks_below(&plane, &shown, row, name, ink, count)?;
                row += 1;
            }
        }
        Ok(stripes(&plane, slices, unit))
    })
}

fn with_deadline(axis: Axis, deadline_ms: Option<f64>) -> Axis {
    let to = deadline_ms.map_or(axis.to, |deadline| axis.to.max(deadline * 1.1));
    Axis { to, ..axis }
}

fn band(plane: &Plane<'_, '_>, slices: &[Slice], colour: RGBColor) -> Drawing<()> {
    let told = || {
        slices
            .iter()
            .filter_map(|slice| Some((slice.at_s(), slice.response_ms?)))
    };
    let up = told().map(|(at, response)| (plane.x(at), plane.y(response.high)));
    let mut outline: Vec<(i32, i32)> = up.collect();
    let down = told().map(|(at, response)| (plane.x(at), plane.y(response.low)));
    let mut back: Vec<(i32, i32)> = down.collect();
    back.reverse();
    outline.extend(back);
    plane.draw(Polygon::new(outline, colour.mix(0.22).filled()))?;
    plane.path(told().map(|(at, response)| (at, response.high)), line(colour, 3))?;
    plane.path(told().map(|(at, response)| (at, response.mean)), line(colour, 6))
}

fn deadline(plane: &Plane<'_, '_>, deadline_ms: Option<f64>) -> Drawing<()> {
    let Some(deadline) = deadline_ms else {
        return Ok(());
    };
    let [left, right, ..] = plane.bounds();
    let y = plane.y(deadline);
    let dash = 6 * FINE;
    for from in (left..right).step_by(2 * dash as usize) {
        let places = vec![(from, y), ((from + dash).min(right), y)];
        plane.draw(PathElement::new(places, line(ALARM, 5)))?;
    }
    let style = letters()
        .color(&ALARM)
        .pos(plotters::style::text_anchor::Pos::new(
            plotters::style::text_anchor::HPos::Right,
            plotters::style::text_anchor::VPos::Bottom,
        ));
    plane.draw(Text::new("deadline", (right, y - FINE), style))
}

/// The slowest frames beyond the usual spread, by their numbers in the table.
fn slowest(plane: &Plane<'_, '_>, tenant: &TenantSummary) -> Drawing<()> {
    let mut lettered: Vec<(i32, i32)> = Vec::new();
    for (number, slow) in (1..).zip(&tenant.slowest) {
        if !slow.beyond_spread {
            continue;
        }
        let place = (plane.x(slow.at_s), plane.y(slow.response_ms));
        plane.draw(Circle::new(place, 3 * FINE, line(ALARM, 5)))?;
        let beside = (place.0 + 5 * FINE, place.1 - 3 * FINE);
        // Of those that lie close together the slowest keeps its number.
        let covers = |other: &(i32, i32)| {
            (other.0 - beside.0).abs() < 14 * FINE && (other.1 - beside.1).abs() < 11 * FINE
        };
        if lettered.iter().any(covers) {
            continue;
        }
        lettered.push(beside);
        plane.draw(Text::new(format!("{number}"), beside, letters().color(&ALARM)))?;
    }
    Ok(())
}

fn marks_below(
    plane: &Plane<'_, '_>,
    slices: &[Slice],
    row: i32,
    name: &'static str,
    ink: RGBColor,
    count: fn(&Slice) -> u64,
) -> Drawing<()> {
    let [left, _, _, bottom] = plane.bounds();
    let top = bottom + (23 + row * 11) * FINE;
    let style = letters().pos(plotters::style::text_anchor::Pos::new(
        plotters::style::text_anchor::HPos::Right,
        plotters::style::text_anchor::VPos::Center,
    ));
    plane.draw(Text::new(name, (left - 4 * FINE, top + 4 * FINE), style))?;
    let with = slices.iter().filter(|slice| count(slice) > 0);
    for x in with.map(|slice| plane.x(slice.at_s())) {
        plane.draw(Rectangle::new(
            [(x - 2, top), (x + 3, top + 8 * FINE)],
            ink.filled(),
        ))?;
    }
    Ok(())
}

fn stripes(plane: &Plane<'_, '_>, slices: &[Slice], unit: TimeUnit) -> Vec<Stripe> {
    coarser(slices, STRIPES)
        .iter()
        .map(|slice| {
            let mut text = format!("{} s", from_to(slice.from_s.max(0.0), slice.to_s));
            if let Some(response) = slice.response_ms {
                let (low, high) = (unit.show(response.low), unit.show(response.high));
                let all = if low == high {
                    low
                } else {
                    format!("{low}–{high}")
                };
                text.push_str(&format!(": {all} {}", unit.name()));
            }
            text.push_str(&became(slice));
            Stripe {
                from: plane.x(slice.from_s),
                to: plane.x(slice.to_s),
                text,
            }
        })
        .collect()
}

/// What became of a slice's frames. Missed ones are also among the completed and dropped, so they are no third part.
fn became(slice: &Slice) -> String {
    let frames = if slice.completed == 1 { "frame" } else { "frames" };
    let mut text = format!(", {} {frames} completed", slice.completed);
    if slice.dropped > 0 {
        text.push_str(&format!(", {} dropped", slice.dropped));
    }
    if slice.missed > 0 {
        text.push_str(&format!("; {} of all missed the deadline", slice.missed));
    }
    text
}

fn in_words(tenant: &TenantSummary, unit: TimeUnit) -> String {
    let show = |ms: Option<f64>| {
        ms.map_or("unknown".to_owned(), |ms| {
            format!("{} {}", unit.show(ms), unit.name())
        })
    };
    let stats = &tenant.response_ms;
    let deadline = tenant.deadline_ms.map_or(String::new(), |ms| {
        format!(
            "; deadline {} ms, missed by {} of {} frames",
            short(ms),
            tenant.frames.missed,
            tenant.frames.offered
        )
    });
    format!(
        "Response time of {} over time: median {}, p99 {}, max {}{deadline}.",
        tenant.name,
        show(stats.p50.value),
        show(stats.p99.value),
        show(stats.max)
    )
}
