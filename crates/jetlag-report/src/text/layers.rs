//! Time per layer and per operator: of one run in full, or of two side by side.

use std::io::{self, Write};

use super::nodes::{drivers, of_submission, variance_share};
use super::{dim, heading, plain};
use crate::Style;
use crate::analysis::Summary;
use crate::analysis::nodes::{LayerPair, layers_beside, operators_beside};
use crate::analysis::summary::TenantSummary;
use crate::number::{TimeUnit, UNKNOWN, or_unknown, percent};
use crate::table::{Align, Grid, Ink};

/// Layers shown side by side: those that changed most.
const SHOWN: usize = 30;

/// Writes the layers of every tenant that was profiled.
pub fn write(summaries: &[Summary], out: &mut dyn Write, style: &Style) -> io::Result<()> {
    let mut sections = Vec::new();
    for first in summaries.first().map_or(&[][..], |summary| &summary.tenants) {
        let others: Vec<&TenantSummary> = summaries
            .iter()
            .skip(1)
            .filter_map(|summary| summary.tenants.iter().find(|tenant| tenant.name == first.name))
            .filter(|tenant| !tenant.nodes.is_empty())
            .collect();
        if first.nodes.is_empty() {
            continue;
        }
        if others.is_empty() {
            sections.push(alone(first, style));
        }
        sections.extend(others.into_iter().map(|other| beside(first, other, style)));
    }
    if sections.is_empty() {
        let said = "No time per layer was recorded. `backend: Cpu(profile: true)` records it, but makes each frame \
                    slower; so do TensorRt and OnnxRuntime.\n";
        sections.push(said.to_owned());
    }
    out.write_all(sections.join("\n").as_bytes())
}

fn alone(tenant: &TenantSummary, style: &Style) -> String {
    let unit = TimeUnit::for_millis(tenant.nodes.iter().map(|node| node.mean_ms));
    let note = format!("{}, {} a frame", tenant.name, unit.name());
    let mut operators = Grid::headed()
        .column("operator", Align::Left)
        .column("layers", Align::Right)
        .column("mean", Align::Right)
        .column("share", Align::Right);
    for operator in &tenant.operators {
        operators.row(vec![
            match operator.operator.as_str() {
                "" => dim(UNKNOWN),
                operator => (operator.to_owned(), Ink::Bold),
            },
            plain(operator.layers.to_string()),
            plain(unit.show(operator.mean_ms)),
            plain(percent(operator.share)),
        ]);
    }
    let mut layers = Grid::headed()
        .column("layer", Align::Left)
        .column("operator", Align::Left)
        .column("mean", Align::Right)
        .column("max", Align::Right)
        .column("share", Align::Right)
        .optional("of variance", Align::Right);
    for node in &tenant.nodes {
        layers.row(vec![
            plain(&node.name),
            plain(&node.operator),
            plain(unit.show(node.mean_ms)),
            plain(unit.show(node.max_ms)),
            plain(percent(node.share)),
            variance_share(node),
        ]);
    }
    let said = [of_submission(tenant), drivers(tenant)].into_iter().flatten();
    let said: String = said.map(|said| format!("  {}: {said}\n", tenant.name)).collect();
    heading("TIME PER OPERATOR", &note, style)
        + &operators.render(style)
        + "\n"
        + &heading("TIME PER LAYER", &note, style)
        + &layers.render(style)
        + &said
}

fn beside(first: &TenantSummary, second: &TenantSummary, style: &Style) -> String {
    let all = first.nodes.iter().chain(&second.nodes);
    let unit = TimeUnit::for_millis(all.map(|node| node.mean_ms));
    let note = format!("{}, {} per frame, largest change first", first.name, unit.name());
    let operators = operators_beside(&first.operators, &second.operators);
    let layers = layers_beside(&first.nodes, &second.nodes);
    let mut text = heading("TIME PER OPERATOR", &note, style) + &pairs(&operators, "operator", unit, style);
    text.push('\n');
    text.push_str(&heading("TIME PER LAYER", &note, style));
    text.push_str(&pairs(&layers, "layer", unit, style));
    for (run, tenant) in [("A", first), ("B", second)] {
        if let Some(said) = of_submission(tenant) {
            text += &format!("  {run}, {}: {said}\n", tenant.name);
        }
    }
    text
}

fn pairs(all: &[LayerPair], what: &'static str, unit: TimeUnit, style: &Style) -> String {
    let mut grid = Grid::headed()
        .column(what, Align::Left)
        .column("A", Align::Right)
        .column("B", Align::Right)
        .column("change", Align::Right)
        .optional("", Align::Left);
    for pair in all.iter().take(SHOWN) {
        let [a, b] = pair.mean_ms.map(|ms| or_unknown(ms, |ms| unit.show(ms)));
        let change = or_unknown(pair.change, |change| {
            format!("{:+.1} %", change * 100.0).replace('-', "−")
        });
        let only = match pair.mean_ms {
            [Some(_), None] => "only in A",
            [None, Some(_)] => "only in B",
            _ => "",
        };
        grid.row(vec![
            plain(&pair.name),
            plain(a),
            plain(b),
            plain(change),
            dim(only),
        ]);
    }
    let mut text = grid.render(style);
    if let Some(rest) = all.len().checked_sub(SHOWN).filter(|rest| *rest > 0) {
        text.push_str(&format!(
            "  {}\n",
            Ink::Dim.paint(&format!("{rest} more with smaller changes"), style)
        ));
    }
    text
}
