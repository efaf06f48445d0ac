//! Small plots of one line of block characters each: response times over time, and their distribution.

use super::{dim, name_of, plain};
use crate::Style;
use crate::analysis::Summary;
use crate::analysis::plot::{Axis, Shape, Slice, TenantPlot, coarser};
use crate::analysis::summary::TenantSummary;
use crate::number::TimeUnit;
use crate::sections::Drawing;
use crate::table::{Align, Grid, Ink};

const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A drawing of characters, where there is one.
pub(super) fn drawn(drawing: Drawing, summary: &Summary, style: &Style) -> String {
    match drawing {
        Drawing::OverTime => over_time(summary, style),
        Drawing::Spread => spread(summary, style),
        _ => String::new(),
    }
}

fn completed(summary: &Summary) -> impl Iterator<Item = (&TenantSummary, &TenantPlot)> {
    let all = summary.tenants.iter().zip(&summary.plots.tenants);
    all.filter(|(tenant, plot)| tenant.response_ms.count > 0 && !plot.over_time.is_empty())
}

fn unit_of(summary: &Summary) -> TimeUnit {
    TimeUnit::for_millis(completed(summary).filter_map(|(tenant, _)| tenant.response_ms.usual()))
}

/// The worst latency of each time slice, and where frames were missed or dropped; empty where nothing was completed.
fn over_time(summary: &Summary, style: &Style) -> String {
    let unit = unit_of(summary);
    let columns = usize::from(style.width).saturating_sub(46).clamp(20, 100);
    let mut grid = Grid::headless()
        .column("", Align::Left)
        .column("", Align::Left)
        .column("", Align::Left);
    for (tenant, plot) in completed(summary) {
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
            grid.row(vec![
                plain(""),
                (missed.trim_end().to_owned(), Ink::Bad),
                dim("missed or dropped"),
            ]);
        }
    }
    grid.render(style)
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
fn spread(summary: &Summary, style: &Style) -> String {
    let unit = unit_of(summary);
    let mut grid = Grid::headless()
        .column("", Align::Left)
        .column("", Align::Left)
        .column("", Align::Left)
        .column("", Align::Left);
    for (tenant, plot) in completed(summary) {
        let Some(spread) = &plot.spread else { continue };
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
    grid.render(style)
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
