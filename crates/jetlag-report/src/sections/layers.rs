//! Time per layer: those that take most of each tenant's time, by operator and one by one, and what their times go with.

use jetlag_figure::section::{Cell, Table, Tone};

use super::{Extent, Section, plain_time, tenant};
use crate::analysis::Summary;
use crate::analysis::summary::{NodeSummary, NodeTime, TenantSummary};
use crate::number::{TimeUnit, UNKNOWN, percent};

/// Layers of a tenant on a terminal, and on a page.
const SHOWN: [usize; 2] = [10, 25];

/// The section; none where no tenant was profiled.
pub(super) fn section(summary: &Summary) -> Option<Section> {
    of_tenants(&summary.tenants, Extent::Most)
}

/// The layers of some tenants.
pub(crate) fn of_tenants(tenants: &[TenantSummary], extent: Extent) -> Option<Section> {
    let all = tenants.iter().flat_map(|tenant| &tenant.nodes);
    let unit = TimeUnit::for_millis(all.map(|node| node.mean_ms));
    let mut layers = Table::new("")
        .words("tenant")
        .words("layer")
        .words("operator")
        .numbers(["mean", "max", "share"])
        .optional_number("of variance")
        .optional_number("correlation");
    let [few, many] = match extent {
        Extent::Most => SHOWN,
        Extent::All => [usize::MAX; 2],
    };
    for (number, of) in tenants.iter().enumerate() {
        for (place, node) in of.nodes.iter().take(many).enumerate() {
            let cells = std::iter::once(tenant(number, of)).chain(layer(node, unit, extent));
            match place < few {
                true => layers.row(cells),
                false => layers.detail(cells),
            }
        }
        let rest = of.nodes.get(many..).unwrap_or_default();
        if !rest.is_empty() {
            let dim = |text: String| Cell::new(text).tone(Tone::Dim);
            layers.row([
                tenant(number, of),
                dim(format!("{} more", rest.len())),
                Cell::default(),
                dim(unit.show(rest.iter().map(|node| node.mean_ms).sum())),
                Cell::default(),
                dim(percent(rest.iter().map(|node| node.share).sum())),
            ]);
        }
    }
    let said = tenants.iter().flat_map(|tenant| {
        let said = [of_submission(tenant), drivers(tenant)].into_iter().flatten();
        said.map(|said| format!("{}: {said}", tenant.name))
    });
    let note = format!(
        "{} per frame, one layer at a time; shares of the sum of all layers",
        unit.name()
    );
    Section::new("layers", "Time per layer", note)
        .explained(
            "Layers were timed one by one, which makes frames slower. The correlation is that of the layer's time with the frame's \
             response time, with its 95 % interval; beside it is the layer's share of the response time's variance.",
        )
        .table(operators(tenants, unit, extent))
        .table(layers.without_empty_columns())
        .texts(said)
        .unless_empty()
}

fn operators(tenants: &[TenantSummary], unit: TimeUnit, extent: Extent) -> Table {
    let mut table = Table::new("by operator")
        .words("tenant")
        .words("operator")
        .numbers(["layers", "mean", "share"])
        .optional_words("");
    for (number, of) in tenants.iter().enumerate() {
        for operator in &of.operators {
            let cells = [
                tenant(number, of),
                Cell::new(known(&operator.operator)),
                Cell::new(operator.layers.to_string()),
                plain_time(unit, Some(operator.mean_ms)),
                Cell::new(percent(operator.share)),
                Cell::bar(0.0, operator.share),
            ];
            match extent {
                Extent::All => table.row(cells),
                Extent::Most => table.detail(cells),
            }
        }
    }
    table
}

fn layer(node: &NodeSummary, unit: TimeUnit, extent: Extent) -> [Cell; 7] {
    let name = Cell::new(known(&node.name));
    let with = node.response;
    let interval = with.and_then(|with| with.ci95);
    let tone = match with.is_some_and(|with| with.stands_out) {
        true => Tone::Strong,
        false => Tone::Dim,
    };
    let variance = with.map_or_else(Cell::default, |with| {
        Cell::new(percent(with.variance_share)).tone(tone)
    });
    let correlation = with.map_or_else(Cell::default, |with| {
        Cell::new(format!("{:.2}", with.correlation))
    });
    [
        match extent {
            Extent::Most => name.code(),
            Extent::All => name,
        },
        Cell::new(&node.operator),
        plain_time(unit, Some(node.mean_ms)),
        plain_time(unit, Some(node.max_ms)),
        Cell::new(percent(node.share)),
        variance,
        correlation.note(interval.map_or(String::new(), |[low, high]| format!("{low:.2} to {high:.2}"))),
    ]
}

/// A name, or that there is none.
pub(super) fn known(name: &str) -> &str {
    if name.is_empty() { UNKNOWN } else { name }
}

/// What times are not, where the host's are all that there is.
pub(crate) fn of_submission(tenant: &TenantSummary) -> Option<String> {
    (tenant.node_time == Some(NodeTime::Submission)).then(|| {
        "these are the host's times to launch each node. The device executes it later, for a time that is not known."
            .to_owned()
    })
}

/// Which layers contribute more to the variance of a tenant's response time than to the time, or that none does;
/// `None` if it is not known.
fn drivers(tenant: &TenantSummary) -> Option<String> {
    let known = || {
        tenant
            .nodes
            .iter()
            .filter_map(|node| Some((node, node.response?)))
    };
    known().next()?;
    let mut found: Vec<_> = known().filter(|(_, with)| with.stands_out).collect();
    found.sort_by(|a, b| b.1.variance_share.total_cmp(&a.1.variance_share));
    if found.is_empty() {
        return Some("no layer stands out as a source of response time variation.".to_owned());
    }
    let named = found.iter().map(|(node, with)| {
        let name = match node.name.as_str() {
            "" => &node.operator,
            name => name,
        };
        let interval = with
            .ci95
            .map_or(String::new(), |[low, high]| format!(", {low:.2} to {high:.2}"));
        format!(
            "{name} accounts for {} of the response time's variance and {} of the time of all layers (correlation \
             {:.2}{interval})",
            percent(with.variance_share),
            percent(node.share),
            with.correlation
        )
    });
    Some(named.collect::<Vec<_>>().join("; ") + ".")
}
