//! Time per node: from what the run recorded of each to its share of them all.

use super::stats::six_decimals;
use super::summary::{NodeSummary, OperatorSummary};
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

/// The nodes of each operator together, largest first.
pub(super) fn by_operator(nodes: &[NodeSummary]) -> Vec<OperatorSummary> {
    let mut operators: Vec<OperatorSummary> = Vec::new();
    for node in nodes {
        let known = operators
            .iter()
            .position(|operator| operator.operator == node.operator);
        let place = known.unwrap_or_else(|| {
            operators.push(OperatorSummary {
                operator: node.operator.clone(),
                layers: 0,
                mean_ms: 0.0,
                share: 0.0,
            });
            operators.len() - 1
        });
        let operator = &mut operators[place];
        operator.layers += 1;
        operator.mean_ms += node.mean_ms;
        operator.share += node.share;
    }
    for operator in &mut operators {
        (operator.mean_ms, operator.share) = (six_decimals(operator.mean_ms), six_decimals(operator.share));
    }
    operators.sort_by(|a, b| b.mean_ms.total_cmp(&a.mean_ms));
    operators
}

/// A layer of two runs, side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerPair {
    /// Its name; of those that only one run has, that one's.
    pub name: String,
    /// Its operator.
    pub operator: String,
    /// Mean time in the first run and in the second; `None` where it has no layer of that name.
    pub mean_ms: [Option<f64>; 2],
    /// Second over first, less one.
    pub change: Option<f64>,
}

/// The layers of two runs by name: those of which the time differs most come first, then those that one run alone has.
///
/// Fused layers are named for all that is in them, so that an engine built otherwise shares few names: then the time
/// by operator, from [`operators_beside`], says more.
pub fn layers_beside(first: &[NodeSummary], second: &[NodeSummary]) -> Vec<LayerPair> {
    let keys = |nodes: &[NodeSummary]| -> Vec<(String, String, f64)> {
        let all = nodes.iter().filter(|node| !node.name.is_empty());
        all.map(|node| (node.name.clone(), node.operator.clone(), node.mean_ms))
            .collect()
    };
    beside(keys(first), keys(second))
}

/// The operators of two runs.
pub fn operators_beside(first: &[OperatorSummary], second: &[OperatorSummary]) -> Vec<LayerPair> {
    let keys = |operators: &[OperatorSummary]| -> Vec<(String, String, f64)> {
        let all = operators.iter();
        all.map(|of| (of.operator.clone(), of.operator.clone(), of.mean_ms))
            .collect()
    };
    beside(keys(first), keys(second))
}

fn beside(first: Vec<(String, String, f64)>, second: Vec<(String, String, f64)>) -> Vec<LayerPair> {
    let mut rest: Vec<Option<(String, String, f64)>> = second.into_iter().map(Some).collect();
    let mut pairs: Vec<LayerPair> = first
        .into_iter()
        .map(|(name, operator, mean_ms)| {
            let other = rest
                .iter_mut()
                .find(|other| other.as_ref().is_some_and(|(known, ..)| *known == name))
                .and_then(Option::take)
                .map(|(_, _, ms)| ms);
            LayerPair {
                change: other
                    .filter(|_| mean_ms > 0.0)
                    .map(|ms| six_decimals(ms / mean_ms - 1.0)),
                mean_ms: [Some(mean_ms), other],
                name,
                operator,
            }
        })
        .collect();
    pairs.extend(rest.into_iter().flatten().map(|(name, operator, ms)| LayerPair {
        name,
        operator,
        mean_ms: [None, Some(ms)],
        change: None,
    }));
    let difference = |pair: &LayerPair| match pair.mean_ms {
        [Some(a), Some(b)] => (0, -(a - b).abs()),
        [a, b] => (1, -a.or(b).unwrap_or_default()),
    };
    pairs.sort_by(|a, b| {
        let (a, b) = (difference(a), difference(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, operator: &str, mean_ms: f64) -> NodeSummary {
        NodeSummary {
            name: name.to_owned(),
            operator: operator.to_owned(),
            count: 10,
            mean_ms,
            max_ms: mean_ms * 2.0,
            share: mean_ms / 10.0,
        }
    }

    #[test]
    fn operators_are_the_sums_of_their_nodes() {
        let nodes = [
            node("a", "Conv", 3.0),
            node("b", "Resize", 5.0),
            node("c", "Conv", 2.5),
        ];
        let operators = by_operator(&nodes);
        let shown: Vec<(&str, u64, f64, f64)> = operators
            .iter()
            .map(|o| (o.operator.as_str(), o.layers, o.mean_ms, o.share))
            .collect();
        assert_eq!(shown, [("Conv", 2, 5.5, 0.55), ("Resize", 1, 5.0, 0.5)]);
    }

    #[test]
    fn layers_of_two_runs_are_matched_by_name_and_the_most_changed_comes_first() {
        let first = [
            node("a", "Conv", 3.0),
            node("b", "Conv", 5.0),
            node("only a", "Add", 1.0),
            node("", "X", 1.0),
        ];
        let second = [
            node("b", "Conv", 2.5),
            node("a", "Conv", 3.3),
            node("only b", "Mul", 2.0),
        ];
        let pairs = layers_beside(&first, &second);
        let names: Vec<&str> = pairs.iter().map(|pair| pair.name.as_str()).collect();
        assert_eq!(names, ["b", "a", "only b", "only a"]);
        assert_eq!((pairs[0].change, pairs[1].change), (Some(-0.5), Some(0.1)));
        assert_eq!(pairs[2].mean_ms, [None, Some(2.0)]);
    }
}
