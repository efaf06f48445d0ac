//! Time per node: the nodes that take most of each tenant's time, and the sum of the others.

use super::{dim, heading, name_of, plain};
use crate::Style;
use crate::analysis::Summary;
use crate::analysis::summary::{NodeSummary, NodeTime, TenantSummary};
use crate::number::{TimeUnit, percent};
use crate::table::{Align, Grid, Ink, Text};

/// Nodes shown of a tenant; JSON has all.
const SHOWN: usize = 10;

/// The section; empty where no tenant was profiled.
pub(super) fn section(summary: &Summary, style: &Style) -> String {
    let all = summary.tenants.iter().flat_map(|tenant| &tenant.nodes);
    let unit = TimeUnit::for_millis(all.clone().map(|node| node.mean_ms));
    if all.count() == 0 {
        return String::new();
    }
    let note = format!(
        "{} per frame, one node at a time; shares of the sum of all nodes",
        unit.name()
    );
    let (name_room, operator_room) = if style.width < 100 { (24, 14) } else { (36, 18) };
    let mut grid = Grid::headed()
        .column("tenant", Align::Left)
        .column("node", Align::Left)
        .column("operator", Align::Left)
        .column("mean", Align::Right)
        .column("max", Align::Right)
        .column("share", Align::Right)
        .optional("of variance", Align::Right);
    for tenant in &summary.tenants {
        let mut name = name_of(tenant, style);
        let (shown, rest) = tenant.nodes.split_at(SHOWN.min(tenant.nodes.len()));
        for node in shown {
            grid.row(vec![
                (std::mem::take(&mut name), Ink::Bold),
                plain(ending(&node.name, name_room)),
                plain(beginning(&node.operator, operator_room)),
                plain(unit.show(node.mean_ms)),
                plain(unit.show(node.max_ms)),
                plain(percent(node.share)),
                variance_share(node),
            ]);
        }
        if !rest.is_empty() {
            let sum: f64 = rest.iter().map(|node| node.mean_ms).sum();
            let share: f64 = rest.iter().map(|node| node.share).sum();
            grid.row(vec![
                plain(""),
                dim(format!("{} more", rest.len())),
                plain(""),
                dim(unit.show(sum)),
                plain(""),
                dim(percent(share)),
            ]);
        }
    }
    let mut text = heading("TIME PER NODE", &note, style) + &grid.render(style);
    for tenant in &summary.tenants {
        for said in [of_submission(tenant), drivers(tenant)].into_iter().flatten() {
            text += &format!("  {}: {said}\n", name_of(tenant, style));
        }
    }
    text
}

/// What times are not, where the host's are all that there is.
pub(crate) fn of_submission(tenant: &TenantSummary) -> Option<String> {
    (tenant.node_time == Some(NodeTime::Submission)).then(|| {
        "these are the host's times to launch each node. The device executes it later, for a time that is not known."
            .to_owned()
    })
}

/// A node's share of the response time's variance; bold if it stands out.
pub(super) fn variance_share(node: &NodeSummary) -> Text {
    match node.response {
        Some(with) if with.stands_out => (percent(with.variance_share), Ink::Bold),
        Some(with) => dim(percent(with.variance_share)),
        None => dim(""),
    }
}

/// Which layers contribute more to the variance of a tenant's response time than to the time, or that none does;
/// `None` if it is not known.
pub(crate) fn drivers(tenant: &TenantSummary) -> Option<String> {
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

/// At most `room` characters of a text, keeping its end: the end of a node's name identifies it.
fn ending(text: &str, room: usize) -> String {
    let length = text.chars().count();
    if length <= room {
        return text.to_owned();
    }
    let kept: String = text.chars().skip(length - room.saturating_sub(1)).collect();
    format!("…{kept}")
}

/// At most `room` characters of a text, keeping its beginning.
fn beginning(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let kept: String = text.chars().take(room.saturating_sub(1)).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_end_and_operators_their_beginning() {
        assert_eq!(ending("/a/b/Conv", 9), "/a/b/Conv");
        assert_eq!(ending("/ä/b/Conv", 6), "…/Conv");
        assert_eq!(beginning("Conv+Relu", 6), "Conv+…");
        assert_eq!(beginning("Conv", 4), "Conv");
    }
}
