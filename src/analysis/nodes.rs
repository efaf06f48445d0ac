//! Time per node: from what the run recorded of each to its share of them all.

use super::stats::six_decimals;
use super::summary::NodeSummary;
use crate::record::NodeRecord;

/// The nodes of one tenant in one phase, largest mean first; those of equal mean in the order of execution.
///
/// Shares are of the time of all nodes together, and add up to one. They are not shares of the compute
/// stage, which also holds what lies between the nodes.
pub(super) fn summarize(mut nodes: Vec<NodeRecord>) -> Vec<NodeSummary> {
    let time = |node: &NodeRecord| node.mean.0 as f64 * node.count as f64;
    let all: f64 = nodes.iter().map(time).sum();
    nodes.sort_by_key(|node| std::cmp::Reverse(node.mean));
    let summary = |node: NodeRecord| NodeSummary {
        share: six_decimals(if all > 0.0 { time(&node) / all } else { 0.0 }),
        count: node.count,
        mean_ms: node.mean.as_millis_f64(),
        max_ms: node.max.as_millis_f64(),
        name: node.name,
        operator: node.operator,
    };
    nodes.into_iter().map(summary).collect()
}
