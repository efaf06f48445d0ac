//! Time per layer and per operator: of one run in full, or of two side by side.

use jetlag_figure::section::{Cell, Section as OfReport, Table, Tone};

use super::Form;
use crate::analysis::Summary;
use crate::analysis::nodes::{LayerPair, layers_beside, operators_beside};
use crate::analysis::summary::TenantSummary;
use crate::number::TimeUnit;
use crate::sections::layers::{of_submission, of_tenants};
use crate::sections::{Extent, Section};

/// Layers shown side by side: those that changed most.
const SHOWN: usize = 30;

/// The layers of every tenant that was profiled.
pub fn text(summaries: &[Summary], form: Form<'_>) -> String {
    let mut sections: Vec<Section> = Vec::new();
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
            sections.extend(of_tenants(std::slice::from_ref(first), Extent::All));
        }
        sections.extend(others.into_iter().map(|other| beside(first, other)));
    }
    if sections.is_empty() {
        return "No time per layer was recorded. `backend: Cpu(profile: true)` records it, but makes each frame slower; so do \
                TensorRt and OnnxRuntime.\n"
            .to_owned();
    }
    form.all(&sections)
}

fn beside(first: &TenantSummary, second: &TenantSummary) -> Section {
    let all = first.nodes.iter().chain(&second.nodes);
    let unit = TimeUnit::for_millis(all.map(|node| node.mean_ms));
    let note = format!("{}, {} per frame, largest change first", first.name, unit.name());
    let operators = operators_beside(&first.operators, &second.operators);
    let layers = layers_beside(&first.nodes, &second.nodes);
    let rest = layers.len().saturating_sub(SHOWN);
    let said = [("A", first), ("B", second)]
        .into_iter()
        .filter_map(|(run, tenant)| {
            let said = of_submission(tenant)?;
            Some(format!("{run}, {}: {said}", tenant.name))
        });
    OfReport::new("layers", "Time per layer", note)
        .table(pairs(&operators, "operator", unit))
        .table(pairs(&layers, "layer", unit))
        .remarks((rest > 0).then(|| format!("{rest} more with smaller changes")))
        .texts(said)
}

fn pairs(all: &[LayerPair], what: &'static str, unit: TimeUnit) -> Table {
    let mut table = Table::new("")
        .words(what)
        .numbers(["A", "B", "change"])
        .optional_words("");
    for pair in all.iter().take(SHOWN) {
        let [a, b] = pair.mean_ms.map(|ms| Cell::of(ms, |ms| unit.show(ms)));
        let change = Cell::of(pair.change, |change| {
            format!("{:+.1} %", change * 100.0).replace('-', "−")
        });
        let only = match pair.mean_ms {
            [Some(_), None] => "only in A",
            [None, Some(_)] => "only in B",
            _ => "",
        };
        table.row([
            Cell::new(&pair.name),
            a,
            b,
            change,
            Cell::new(only).tone(Tone::Dim),
        ]);
    }
    table
}
