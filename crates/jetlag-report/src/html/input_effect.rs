//! How each tenant's times go with the size of its input: as dots with a line, and as a table.

use super::charts::sizes::{Drawn, chart};
use super::view::{Block, Cell, Chart, Key, Section, Table, cell, words};
use crate::analysis::Summary;
use crate::analysis::plot::{Axis, Dot, SizeLine, SizePlot};
use crate::analysis::summary::input_effect::{Counted, InputEffect, SizeSlope};
use crate::number::{TimeUnit, UNKNOWN, or_unknown, percent};
use crate::text::input_effect::{ends, in_words, per, reason, signed, unit_of};

/// The section; none where sizes are not known or hardly differ.
pub(super) fn section(summary: &Summary, prefix: &str) -> Option<Section> {
    let mut blocks = Vec::new();
    let all = summary.tenants.iter().zip(&summary.plots.tenants).enumerate();
    for (number, (tenant, plot)) in all {
        let Some((effect, plot)) = tenant.input_effect.as_ref().zip(plot.sizes.as_ref()) else {
            continue;
        };
        let Some(said) = in_words(effect) else { continue };
        blocks.push(Block::Text(words(&format!("{}: {said}", tenant.name))));
        let charts = [
            (
                "service time",
                plot.service,
                (|dot| dot.service_ms) as fn(&Dot) -> f64,
            ),
            ("response time", plot.response, |dot| dot.response_ms),
        ];
        // Where nothing waits, the two are the same.
        let different = if plot.service == plot.response { 1 } else { 2 };
        let charts = charts
            .into_iter()
            .take(different)
            .filter_map(|(what, drawn, value)| {
                charted(number, &tenant.name, effect, plot, what, drawn, value)
            });
        blocks.push(Block::Charts(charts.collect()));
        blocks.push(Block::Table(table(&tenant.name, effect)));
    }
    (!blocks.is_empty()).then(|| Section {
        id: format!("{prefix}-sizes"),
        title: "Input size".into(),
        note: "What larger inputs go with, beside slow changes of both. The line is the slope through the mean, between those \
               of its 95 % interval. It compares inputs: what else larger ones have in common is in it too."
            .to_owned(),
        blocks,
    })
}

fn charted(
    number: usize,
    name: &str,
    effect: &InputEffect,
    plot: &SizePlot,
    what: &str,
    (axis, line): (Axis, Option<SizeLine>),
    value: fn(&Dot) -> f64,
) -> Option<Chart> {
    let unit = TimeUnit::for_millis(std::iter::once(axis.to));
    let (by, sizes) = match effect.of {
        Some(Counted::Points) => (1e3, "1000 points"),
        Some(Counted::Pixels) => (1e6, "megapixels"),
        None => (1e3, "1000 points or pixels"),
    };
    let scale = if axis.logarithmic { ", logarithmic" } else { "" };
    let said = format!("Dots: {what} of {name}'s frames against the size of their input.");
    let drawn = Drawn {
        plot,
        value,
        axis,
        line,
        unit,
        per: by,
    };
    let shown = match plot.dots.len() {
        shown if shown == plot.of => format!("{shown} frames"),
        shown => format!("{shown} of {} frames", plot.of),
    };
    Some(Chart {
        title: format!("{name}: {what}, {}{scale}, by {sizes}", unit.name()),
        keys: vec![Key::new(number % 8, shown)],
        svg: chart(number, &said, &drawn)?.svg,
    })
}

fn table(name: &str, effect: &InputEffect) -> Table {
    let durations = [("service", effect.service), ("response", effect.response)];
    let durations = durations
        .into_iter()
        .filter_map(|(name, slope)| Some((name, slope?)));
    let rows: Vec<(&str, SizeSlope)> = durations.chain(effect.stages.iter().copied()).collect();
    let largest = rows.iter().map(|(_, slope)| *slope);
    let unit = largest
        .max_by(|a, b| {
            a.slope_ms
                .unwrap_or(0.0)
                .abs()
                .total_cmp(&b.slope_ms.unwrap_or(0.0).abs())
        })
        .map_or(TimeUnit::Millis, |slope| unit_of(&slope));
    let caption = format!(
        "{name}, {} {}, over {} inputs",
        unit.name(),
        per(effect),
        effect.inputs
    );
    let across = format!("#p10 to p90, {}", unit.name());
    let columns = [
        "part",
        "#slope",
        "#95 % interval",
        &across,
        "#correlation",
        "#share of variance",
    ];
    let mut table = Table::new(caption, &columns);
    for (name, slope) in rows {
        table.row(row(name, &slope, effect, unit));
    }
    table
}

fn row(name: &str, slope: &SizeSlope, effect: &InputEffect, unit: TimeUnit) -> Vec<Cell> {
    let (Some(value), Some(ci95)) = (slope.slope_ms, slope.ci95) else {
        let why = slope
            .withheld
            .map_or(String::new(), |withheld| reason(withheld, effect));
        let mut row = vec![cell(name).note(why)];
        row.extend((0..5).map(|_| cell(UNKNOWN).class("dim")));
        return row;
    };
    let class = if slope.is_clear() { "strong" } else { "dim" };
    let across = slope.across_ms.map(|ms| signed(ms, [ms; 2], unit));
    vec![
        cell(name),
        cell(signed(value, ci95, unit)).class(class),
        cell(ends(ci95, unit)),
        cell(or_unknown(across, |across| across)),
        cell(or_unknown(slope.correlation, |r| {
            format!("{r:+.2}").replace('-', "−")
        })),
        cell(or_unknown(slope.variance_share, percent)),
    ]
}
