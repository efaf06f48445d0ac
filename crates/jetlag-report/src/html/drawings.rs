//! What a page draws in the sections of a run.

use super::charts::sizes::{self, Drawn};
use super::charts::{energy, over_time, rounds, signals, spread};
use super::traced;
use super::view::{Block, Chart, Key, words};
use crate::analysis::plot::{Axis, Dot, SignalPlot, SizeLine, SizePlot};
use crate::analysis::summary::input_effect::{Counted, InputEffect};
use crate::analysis::summary::{Slowdown, Summary};
use crate::number::TimeUnit;
use crate::sections::Drawing;
use crate::sections::answer::unit_of;

/// The blocks of a drawing; none where there is nothing to draw.
pub(super) fn blocks(drawing: Drawing, summary: &Summary) -> Vec<Block> {
    match drawing {
        Drawing::OverTime => each_over_time(summary),
        Drawing::Spread => distributions(summary),
        Drawing::Rounds => all_rounds(summary),
        Drawing::Sizes(number) => by_size(summary, number),
        Drawing::Signals => all_signals(summary),
        Drawing::EnergyPerFrame => per_frame(summary),
        Drawing::TracedFrames => traced::frames(summary),
    }
}

fn logarithmic(axis: Axis) -> &'static str {
    if axis.logarithmic { ", logarithmic" } else { "" }
}

/// Response times over time.
fn each_over_time(summary: &Summary) -> Vec<Block> {
    let plots = &summary.plots;
    let all = summary.tenants.iter().zip(&plots.tenants).enumerate();
    all.filter_map(|(number, (tenant, plot))| {
        let unit = unit_of(tenant);
        let chart = over_time::chart(number, tenant, &plot.over_time, plot.axis, plots.length_s, unit)?;
        Some(Block::Charts(vec![Chart {
            title: format!("{}, {}{}", tenant.name, unit.name(), logarithmic(plot.axis)),
            keys: vec![Key::new(
                number % 8,
                "mean, and range from shortest to longest, per time slice",
            )],
            svg: chart.svg,
        }]))
    })
    .collect()
}

/// Left the share of frames that took at most so long, right the histogram.
fn distributions(summary: &Summary) -> Vec<Block> {
    let all = summary.tenants.iter().zip(&summary.plots.tenants).enumerate();
    all.filter_map(|(number, (tenant, plot))| {
        let spread = plot.spread.as_ref()?;
        let unit = unit_of(tenant);
        let keys = || match spread.alone {
            Some(_) => vec![Key::new(number % 8, "together"), Key::new("other", "alone")],
            None => Vec::new(),
        };
        let name = &tenant.name;
        let chart = |what: &str, svg: String| Chart {
            title: format!("{name}: {what}, {}{}", unit.name(), logarithmic(spread.axis)),
            keys: keys(),
            svg,
        };
        let curve = spread::at_most(number, name, spread, tenant.deadline_ms, unit)?;
        let bars = spread::histogram(number, name, spread, tenant.deadline_ms, unit)?;
        Some(Block::Charts(vec![
            chart("CDF", curve.svg),
            chart("histogram", bars.svg),
        ]))
    })
    .collect()
}

fn all_rounds(summary: &Summary) -> Vec<Block> {
    let tenants = summary.tenants.iter().enumerate();
    let charts: Vec<Chart> = tenants
        .filter_map(|(number, tenant)| by_round(number, &tenant.name, tenant.slowdown.as_ref()?))
        .collect();
    of_charts(charts)
}

fn of_charts(charts: Vec<Chart>) -> Vec<Block> {
    match charts.is_empty() {
        true => Vec::new(),
        false => vec![Block::Charts(charts)],
    }
}

/// Each round of a tenant's slowdown among all.
fn by_round(number: usize, name: &str, slowdown: &Slowdown) -> Option<Chart> {
    let mut keys = vec![Key::new(number, format!("{} rounds", slowdown.rounds))];
    if slowdown.p50.value.is_some() {
        keys.push(Key::new("other", "of all rounds, with 95 % interval"));
    }
    Some(Chart {
        title: format!("{name} with all others, median, by round"),
        keys,
        svg: rounds::chart(number, name, slowdown)?.svg,
    })
}

/// A tenant's times by the size of its inputs.
fn by_size(summary: &Summary, number: usize) -> Vec<Block> {
    let tenant = summary.tenants.get(number);
    let plot = summary.plots.tenants.get(number);
    let found =
        tenant.and_then(|tenant| Some((tenant, tenant.input_effect.as_ref()?, plot?.sizes.as_ref()?)));
    let Some((tenant, effect, plot)) = found else {
        return Vec::new();
    };
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
    let charts = charts.into_iter().take(different);
    of_charts(
        charts
            .filter_map(|(what, drawn, value)| {
                charted(number, &tenant.name, effect, plot, what, drawn, value)
            })
            .collect(),
    )
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
    let (by, per) = match effect.of {
        Some(Counted::Points) => (1e3, "1000 points"),
        Some(Counted::Pixels) => (1e6, "megapixels"),
        None => (1e3, "1000 points or pixels"),
    };
    let scale = logarithmic(axis);
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
        title: format!("{name}: {what}, {}{scale}, by {per}", unit.name()),
        keys: vec![Key::new(number % 8, shown)],
        svg: sizes::chart(number, &said, &drawn)?.svg,
    })
}

/// Power lines, clocks and temperatures over time.
fn all_signals(summary: &Summary) -> Vec<Block> {
    let length = summary.plots.length_s;
    let kinds = [
        ("Power", "mw", "W", 1e-3),
        ("Clocks", "mhz", "MHz", 1.0),
        ("Temperatures", "c", "°C", 1.0),
    ];
    let mut blocks: Vec<Block> = Vec::new();
    for (what, unit, shown, scale) in kinds {
        let all = summary.plots.signals.iter().filter(|signal| signal.unit == unit);
        let chosen = signals::chosen(all);
        if let Some(chart) = signals::chart(&chosen.drawn, length, what, shown, scale) {
            let keys = chosen.drawn.iter().enumerate();
            blocks.push(Block::Charts(vec![Chart {
                title: format!("{what}, {shown}"),
                keys: keys.map(|(n, signal)| Key::new(n % 8, &signal.signal)).collect(),
                svg: chart.svg,
            }]));
            blocks.extend(not_drawn(&chosen.left_out));
        }
    }
    blocks
}

/// Names what a chart has no room for.
fn not_drawn(left_out: &[&SignalPlot]) -> Option<Block> {
    let names: Vec<&str> = left_out.iter().map(|signal| signal.signal.as_str()).collect();
    (!names.is_empty()).then(|| {
        Block::Text(words(&format!(
            "Not drawn for lack of room: {}. The JSON output has their figures (`--format json`).",
            names.join(", ")
        )))
    })
}

fn per_frame(summary: &Summary) -> Vec<Block> {
    let chart = energy::chart(&summary.tenants).map(|chart| Chart {
        title: "Energy per frame".to_owned(),
        keys: Vec::new(),
        svg: chart.svg,
    });
    of_charts(chart.into_iter().collect())
}
