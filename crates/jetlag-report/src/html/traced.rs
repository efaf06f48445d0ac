//! Traced frames, drawn.

use super::charts::frame;
use super::view::{Block, Chart, Key};
use crate::analysis::Summary;
use crate::analysis::plot::{FramePlot, Hue, TracedPlot};
use crate::number::{TimeUnit, percent};
use crate::sections::traced::names::shortened;

/// Traced frames, drawn.
pub(super) fn frames(summary: &Summary) -> Vec<Block> {
    let mut blocks = Vec::new();
    for plot in &summary.plots.traced {
        let Some(tenant) = summary.tenants.get(plot.tenant) else {
            continue;
        };
        for drawn in &plot.frames {
            let unit = TimeUnit::for_millis([drawn.response_ns as f64 / 1e6].into_iter());
            let Some(chart) = frame::chart(&tenant.name, drawn, unit, &plain(plot)) else {
                continue;
            };
            blocks.push(Block::Charts(vec![Chart {
                title: title(&tenant.name, plot, drawn, unit),
                keys: keys(plot, drawn),
                svg: chart.svg,
            }]));
        }
    }
    blocks
}

/// The colour of kernels of no known layer: the tenant's own, where no layer needs to be told from another.
fn plain(plot: &TracedPlot) -> String {
    match plot.layers.is_empty() {
        true => (plot.tenant % 8).to_string(),
        false => "other".to_owned(),
    }
}

fn title(tenant: &str, plot: &TracedPlot, frame: &FramePlot, unit: TimeUnit) -> String {
    let response = format!("{} {}", unit.show(frame.response_ns as f64 / 1e6), unit.name());
    let which = match frame.rank {
        rank if rank > 0.9 => format!(
            "a slow frame, {} of {} took at most as long",
            percent(rank),
            plot.of
        ),
        _ => format!("the median of {} frames", plot.of),
    };
    format!("{tenant}: {which}; {response}, axis in {}", unit.name())
}

/// The legend: what is in the drawing, and nothing else.
fn keys(plot: &TracedPlot, frame: &FramePlot) -> Vec<Key> {
    let has = |hue: Hue| {
        let mut bars = frame.lanes.iter().flat_map(|lane| &lane.bars);
        bars.any(|bar| bar.hue == hue)
    };
    let mut keys: Vec<Key> = plot
        .layers
        .iter()
        .enumerate()
        .filter(|(number, _)| has(Hue::Layer(*number)))
        .map(|(number, layer)| Key::new(number % 6, shortened(layer, 40)))
        .collect();
    for (hue, colour, text) in [
        (Hue::OtherLayer, "6", "other layers"),
        (Hue::NoLayer, &plain(plot), "kernels of no known layer"),
        (Hue::Copy, "7", "copies"),
        (Hue::Host, "host", "host"),
    ] {
        if has(hue) {
            keys.push(Key::new(colour, text));
        }
    }
    keys.push(Key::new("path", "on the critical path"));
    keys
}
