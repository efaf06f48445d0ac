//! Layers with their work: by type and one by one, with formats, shapes, tactics and memory. Of the page of a run and of rooflines.

use super::view::{Block, Cell, Section, Table, cell, words};
use crate::analysis::roofline::{LayerPoint, TenantRoofline, by_operator};
use crate::number::{UNKNOWN, or_unknown, percent, short};
use crate::text::roofline::{of_known, scaled, slowest_first};

/// Layers in one table.
const MOST_LAYERS: usize = 60;

/// The layers of one tenant.
pub(super) fn section(tenant: &TenantRoofline, id: String, title: String) -> Section {
    let layers: Vec<&LayerPoint> = tenant.layers.iter().collect();
    let mut blocks = blocks(&layers, tenant.has_told());
    blocks.extend(why_not_told(tenant));
    let placed = tenant.placed.map_or(String::new(), |placed| {
        format!(" Names lead to {} of the work.", percent(placed.work))
    });
    Section {
        id,
        title: title.into(),
        note: format!(
            "A layer's share is the shortest time that the roofs allow over the time that it took.{placed}"
        ),
        blocks,
    }
}

/// Why tactics and memory are not known, where they are not, and why there are no shares.
pub(super) fn why_not_told(tenant: &TenantRoofline) -> Vec<Block> {
    let shares = tenant
        .roofs
        .is_none()
        .then_some(tenant.why_not.as_ref())
        .flatten();
    let memory = match tenant.has_told() {
        true => "Not all memory",
        false => "No tactics and memory",
    };
    [("No shares", shares), (memory, tenant.why_not_told.as_ref())]
        .into_iter()
        .filter_map(|(of, why)| Some(Block::Text(words(&format!("{of}: {}.", why?)))))
        .collect()
}

/// The tables of some layers; with memory and tactics where an engine's inspector told of some.
pub(super) fn blocks(layers: &[&LayerPoint], has_told: bool) -> Vec<Block> {
    let mut blocks = vec![Block::Table(types(layers, has_told)), Block::Table(each(layers))];
    if has_told {
        blocks.push(Block::Table(told(layers)));
    }
    if let Some(rest) = layers.len().checked_sub(MOST_LAYERS).filter(|rest| *rest > 0) {
        blocks.push(Block::Text(words(&format!(
            "{rest} more layers: `jetlag report RUN --layers`, or `jetlag roofline RUN --format json`."
        ))));
    }
    blocks
}

fn types(layers: &[&LayerPoint], has_told: bool) -> Table {
    let mut columns = vec![
        "type",
        "#layers",
        "#ms",
        "#of the time",
        "#FLOP",
        "#byte",
        "#share of the roof",
    ];
    if has_told {
        columns.push("#memory");
    }
    let mut table = Table::new("by type", &columns);
    for own in by_operator(layers.iter().copied()) {
        let mut row = vec![
            cell(match own.operator.as_str() {
                "" => UNKNOWN,
                operator => operator,
            }),
            cell(own.layers.to_string()),
            cell(short(own.ms)),
            cell(percent(own.time_share)),
            cell(of_known(&own, own.flops)),
            cell(of_known(&own, own.bytes)),
            cell(or_unknown(own.share, percent)),
        ];
        if has_told {
            row.push(bytes(own.memory_bytes));
        }
        table.row(row);
    }
    table
}

fn each(layers: &[&LayerPoint]) -> Table {
    let columns = [
        "layer",
        "format",
        "shapes",
        "#ms",
        "#FLOP",
        "#byte",
        "#FLOP/byte",
        "#share",
        "bound",
    ];
    let mut table = Table::new("the slowest first", &columns);
    for layer in slowest_first(layers.iter().copied())
        .into_iter()
        .take(MOST_LAYERS)
    {
        table.row(vec![
            cell(name(layer)).note(&layer.operator).class("code"),
            cell(layer.precision.as_deref().unwrap_or(UNKNOWN)),
            shapes(layer),
            cell(short(layer.ms)),
            cell(or_unknown(layer.flops, |flops| scaled(flops as f64))),
            bytes(layer.bytes),
            cell(or_unknown(layer.intensity, short)),
            cell(or_unknown(layer.share, percent)).class(if layer.is_above { "bad strong" } else { "" }),
            cell(layer.bound.map_or(UNKNOWN, |bound| bound.word())),
        ]);
    }
    table
}

/// Tactics have long names, so they stand in a table of their own.
fn told(layers: &[&LayerPoint]) -> Table {
    let mut table = Table::new("tactics and memory", &["layer", "#memory", "#weights", "tactic"]);
    for layer in slowest_first(layers.iter().copied())
        .into_iter()
        .take(MOST_LAYERS)
    {
        table.row(vec![
            cell(name(layer)).class("code"),
            bytes(layer.memory_bytes()),
            bytes(layer.weights_bytes),
            cell(layer.tactic.as_deref().unwrap_or(UNKNOWN)).class("code"),
        ]);
    }
    table
}

fn name(layer: &LayerPoint) -> &str {
    match layer.name.as_str() {
        "" => UNKNOWN,
        name => name,
    }
}

fn bytes(known: Option<u64>) -> Cell {
    cell(or_unknown(known, |bytes| scaled(bytes as f64)))
}

fn shapes(layer: &LayerPoint) -> Cell {
    let shape = |shape: &Option<String>| shape.clone().unwrap_or_else(|| UNKNOWN.to_owned());
    cell(shape(&layer.input_shape)).note(format!("→ {}", shape(&layer.output_shape)))
}
