//! Nodes in an order in which each comes after what it takes; files need not have them so.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet};

use crate::error::WorkError;
use crate::onnx::{GraphDef, Node};

/// Sorts a graph's nodes, and those of the graphs within, and checks that everything they take is there. As far as the
/// file's order will do, it stays.
///
/// # Errors
/// Nodes wait for each other, take what nothing makes, or make the same tensor twice.
pub(crate) fn sort_graph(graph: &mut GraphDef, outer: &HashSet<String>) -> Result<(), WorkError> {
    let mut known = outer.clone();
    known.extend(graph.inputs.iter().map(|input| input.name.clone()));
    known.extend(graph.initializers.iter().map(|tensor| tensor.name.clone()));
    sort(&mut graph.nodes, known)
}

/// As [`sort_graph`], of the nodes of a function with these inputs.
pub(crate) fn sort(nodes: &mut Vec<Node>, mut known: HashSet<String>) -> Result<(), WorkError> {
    let mut makers = HashMap::new();
    for (at, node) in nodes.iter().enumerate() {
        for name in node.outputs.iter().filter(|name| !name.is_empty()) {
            if makers.insert(name.clone(), at).is_some() {
                return Err(WorkError::Twice { tensor: name.clone() });
            }
        }
    }
    let mut waits: Vec<usize> = Vec::with_capacity(nodes.len());
    let mut followers: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (at, node) in nodes.iter().enumerate() {
        let mut before = BTreeSet::new();
        for name in taken(node) {
            match makers.get(name) {
                Some(maker) => {
                    before.insert(*maker);
                }
                None if known.contains(name) => {}
                None => {
                    return Err(WorkError::Undefined {
                        node: node.label().to_owned(),
                        tensor: name.to_owned(),
                    });
                }
            }
        }
        waits.push(before.len());
        for maker in before {
            if let Some(followers) = followers.get_mut(maker) {
                followers.push(at);
            }
        }
    }
    let mut ready: BinaryHeap<Reverse<usize>> = (0..nodes.len())
        .filter(|at| waits.get(*at) == Some(&0))
        .map(Reverse)
        .collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(Reverse(at)) = ready.pop() {
        order.push(at);
        for follower in followers.get(at).into_iter().flatten() {
            if let Some(waits) = waits.get_mut(*follower) {
                *waits -= 1;
                if *waits == 0 {
                    ready.push(Reverse(*follower));
                }
            }
        }
    }
    if order.len() < nodes.len() {
        let done: HashSet<usize> = order.into_iter().collect();
        let left = nodes.iter().enumerate().filter(|(at, _)| !done.contains(at));
        return Err(WorkError::Cycle {
            nodes: left.map(|(_, node)| node.label().to_owned()).collect(),
        });
    }
    let mut taken: Vec<Option<Node>> = std::mem::take(nodes).into_iter().map(Some).collect();
    nodes.extend(order.into_iter().filter_map(|at| taken.get_mut(at)?.take()));
    // The graphs within see everything around them.
    let has_inner = |node: &Node| node.attributes.iter().any(|attribute| attribute.graph.is_some());
    if nodes.iter().any(has_inner) {
        known.extend(makers.into_keys());
        for attribute in nodes.iter_mut().flat_map(|node| &mut node.attributes) {
            if let Some(graph) = &mut attribute.graph {
                sort_graph(graph, &known)?;
            }
        }
    }
    Ok(())
}

/// What a node takes: its inputs, and what the graphs within it take from around it.
pub(crate) fn taken(node: &Node) -> Vec<&str> {
    let mut names: Vec<&str> = node
        .inputs
        .iter()
        .map(|name| &**name)
        .filter(|name| !name.is_empty())
        .collect();
    for graph in node
        .attributes
        .iter()
        .filter_map(|attribute| attribute.graph.as_ref())
    {
        let own: HashSet<&str> = graph
            .nodes
            .iter()
            .flat_map(|node| &node.outputs)
            .chain(graph.inputs.iter().map(|input| &input.name))
            .chain(graph.initializers.iter().map(|tensor| &tensor.name))
            .map(|name| &**name)
            .collect();
        let inner = graph.nodes.iter().flat_map(taken);
        let outputs = graph
            .outputs
            .iter()
            .map(|output| &*output.name)
            .filter(|name| !name.is_empty());
        names.extend(inner.chain(outputs).filter(|name| !own.contains(name)));
    }
    names
}
