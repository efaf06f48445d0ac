//! Small plots of one line of block characters each: response times over time, and their distribution.

use super::{dim, heading, name_of, plain};
use crate::Style;
use crate::analysis::Summary;
use crate::analysis::plot::{Axis, Shape, Slice, TenantPlot, coarser};
use crate::analysis::summary::TenantSummary;
use crate::number::{TimeUnit, percent};
use crate::table::{Align, Grid, Ink};

/// Slow frames shown of a tenant; JSON has more.
const SLOWEST: usize = 3;
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

fn drawn(summary: &Summary) -> impl Iterator<Item = (&TenantSummary, &TenantPlot)> {
    let all = summary.tenants.iter().zip(&summary.plots.tenants);
    all.filter(|(tenant, plot)| tenant.response_ms.count > 0 && !plot.over_time.is_empty())
}

fn unit_of(summary: &Summary) -> TimeUnit {
    TimeUnit::for_millis(
        drawn(summary).filter_map(|(tenant, _)| tenant.response_ms.p50.or(tenant.response_ms.max)),
    )
}

/// The worst latency of each time slice, and where frames were missed or dropped; empty where nothing was completed.
pub(super) fn over_time(summary: &Summary, style: &Style) -> String {
    let unit = unit_of(summary);
    let columns = usize::from(style.width).saturating_sub(46).clamp(20, 100);
    let mut grid = Grid::headless()
        .column("", Align::Left)
        .column("", Align::Left)
        .column("", Align::Left);
    let mut any_missed = false;
    for (tenant, plot) in drawn(summary) {
        let slices = spread_out(&plot.over_time, summary.plots.length_s, columns);
        let line: String = slices.iter().map(|slice| block(slice, plot.axis)).collect();
        let scale = if plot.axis.logarithmic { ", log" } else { "" };
        let most = tenant
            .response_ms
            .max
            .map_or(plot.axis.to, |ms| ms.min(plot.axis.to));
        let axis = format!(
            "{}–{} {}{scale}",
            unit.show(plot.axis.from),
            unit.show(most),
            unit.name()
        );
        grid.row(vec![
            (name_of(tenant, style), Ink::Bold),
            (line, Ink::Accent),
            dim(axis),
        ]);
        let missed: String = slices
            .iter()
            .map(|slice| {
                if slice.is_some_and(|slice| slice.missed > 0) {
                    '×'
                } else {
                    ' '
                }
            })
            .collect();
        if !missed.trim().is_empty() {
            any_missed = true;
            grid.row(vec![
                plain(""),
                (missed.trim_end().to_owned(), Ink::Bad),
                dim("missed or dropped"),
            ]);
        }
    }
    let rows = grid.render(style);
    if rows.is_empty() {
        return String::new();
    }
    let note = match any_missed {
        true => "worst latency per time slice; × missed or dropped",
        false => "worst latency per time slice",
    };
    heading("OVER TIME", note, style) + &rows
}

/// The slice for each column of the axis, if there is one.
fn spread_out(slices: &[Slice], length_s: f64, columns: usize) -> Vec<Option<Slice>> {
    let mut line: Vec<Option<Slice>> = vec![None; columns];
    for slice in coarser(slices, columns) {
        let place = (slice.at_s() / length_s * columns as f64).clamp(0.0, columns as f64 - 1.0) as usize;
        let Some(column) = line.get_mut(place) else {
            continue;
        };
        *column = Some(match *column {
            Some(known) => known.join(&slice),
            None => slice,
        });
    }
    line
}

fn block(slice: &Option<Slice>, axis: Axis) -> char {
    let Some(response) = slice.and_then(|slice| slice.response_ms) else {
        return BLOCKS[0];
    };
    BLOCKS[1 + height(axis.part(response.high), 7)]
}

/// A share of the height, in steps.
fn height(part: f64, steps: usize) -> usize {
    ((part.clamp(0.0, 1.0) * steps as f64).round() as usize).min(steps)
}

/// The distribution of response times, together and alone; empty if nothing was completed.
pub(super) fn spread(summary: &Summary, style: &Style) -> String {
    let unit = unit_of(summary);
    let mut grid = Grid::headless()
        .column("", Align::Left)
        .column("", Align::Left)
        .column("", Align::Left)
        .column("", Align::Left);
    let mut any = false;
    for (tenant, plot) in drawn(summary) {
        let Some(spread) = &plot.spread else { continue };
        any = true;
        let scale = if spread.axis.logarithmic { ", log" } else { "" };
        let axis = format!(
            "{}–{} {}{scale}",
            unit.show(spread.axis.from),
            unit.show(spread.axis.to),
            unit.name()
        );
        let label = if spread.alone.is_some() { "together" } else { "" };
        grid.row(vec![
            (name_of(tenant, style), Ink::Bold),
            dim(label),
            (bars(&spread.together), Ink::Accent),
            dim(axis),
        ]);
        if let Some(alone) = &spread.alone {
            grid.row(vec![plain(""), dim("alone"), plain(bars(alone)), dim("")]);
        }
    }
    if !any {
        return String::new();
    }
    heading("DISTRIBUTION", "histogram of response times", style) + &grid.render(style)
}

/// Draws two bars of the histogram per column; any frame shows.
fn bars(shape: &Shape) -> String {
    let columns: Vec<f64> = shape.bars.chunks(2).map(|pair| pair.iter().sum()).collect();
    let most = columns.iter().copied().fold(0.0, f64::max);
    let line: String = columns
        .iter()
        .map(|share| match share {
            share if *share > 0.0 => BLOCKS[1 + height(share / most, 7)],
            _ => BLOCKS[0],
        })
        .collect();
    line.trim_end().to_owned()
}

/// Why the slowest frames were slow; empty if none is beyond its tenant's usual spread.
pub(super) fn slowest(summary: &Summary, style: &Style) -> String {
    let unit = unit_of(summary);
    let several = summary.tenants.len() > 1;
    let mut grid = Grid::headed()
        .column("tenant", Align::Left)
        .column("frame", Align::Right)
        .column("at", Align::Right)
        .column("response", Align::Right)
        .column("what grew", Align::Left)
        .column("", Align::Right)
        .column("usually", Align::Right);
    if several {
        grid = grid.optional("others in service", Align::Left);
    }
    let mut sentences = Grid::headless().column("", Align::Left).column("", Align::Left);
    let (mut any, mut any_cause) = (false, false);
    for (tenant, _) in drawn(summary) {
        let mut name = name_of(tenant, style);
        for slow in tenant
            .slowest
            .iter()
            .filter(|slow| slow.beyond_spread)
            .take(SLOWEST)
        {
            any = true;
            let others: Vec<String> = slow
                .co_runners
                .iter()
                .map(|other| format!("{} {}", other.tenant, percent(other.active)))
                .collect();
            grid.row(vec![
                (std::mem::take(&mut name), Ink::Bold),
                plain(slow.sequence.to_string()),
                plain(format!("{:.2} s", slow.at_s)),
                plain(unit.show(slow.response_ms)),
                plain(slow.grew.name),
                plain(unit.show(slow.grew.ms)),
                dim(unit.show(slow.grew.usual_ms)),
                dim(others.join(", ")),
            ]);
            if slow.cause.is_some() {
                any_cause = true;
                let frame = format!("{} {}", name_of(tenant, style), slow.sequence);
                sentences.row(vec![(frame, Ink::Bold), plain(&slow.explanation)]);
            }
        }
    }
    if !any {
        return String::new();
    }
    let note = match any_cause {
        true => format!("{}; likely causes below, where one was found", unit.name()),
        false => format!("{}; no likely cause found in what was measured", unit.name()),
    };
    let mut text = heading("SLOWEST FRAMES", &note, style) + &grid.render(style);
    if any_cause {
        text.push('\n');
        text.push_str(&sentences.render(style));
    }
    text
}
