//! Which nodes of the ONNX network a layer of an engine covers, by its name.
//!
//! TensorRT calls a fused layer by its nodes, joined by ` + `, or by ` || ` where it computes them side by side; `PWN(…)` stands
//! around pointwise ones.

use std::collections::BTreeSet;

/// The nodes that a layer covers, by its name; the name itself where it is no list of nodes.
pub(in crate::analysis) fn covered(layer: &str) -> BTreeSet<&str> {
    let parts = layer.split(" + ").flat_map(|part| part.split(" || "));
    let nodes: BTreeSet<&str> = parts
        .flat_map(|part| match pointwise(part) {
            Some(inside) => inside.split(", ").map(bare).collect::<Vec<_>>(),
            None => vec![bare(part)],
        })
        .filter(|node| !node.is_empty())
        .collect();
    if nodes.is_empty() {
        BTreeSet::from([layer])
    } else {
        nodes
    }
}

/// What stands within `PWN(…)`.
fn pointwise(part: &str) -> Option<&str> {
    let at = part.trim().strip_prefix("PWN(")?;
    at.strip_suffix(')')
}

/// A node's name without what is around it.
fn bare(node: &str) -> &str {
    let mut node = node.trim();
    while let Some(inside) = pointwise(node) {
        node = inside.trim();
    }
    // A list within a list was cut at its commas, so one side of its brackets is elsewhere.
    while let Some(rest) = node.strip_prefix("PWN(") {
        node = rest.trim();
    }
    let open = node.matches('(').count();
    let mut close = node.matches(')').count();
    while close > open && node.ends_with(')') {
        node = &node[..node.len() - 1];
        close -= 1;
    }
    node
}
