//! The graph of an engine: its layers, and what comes in and goes out.

use std::collections::BTreeMap;

use super::{Edge, Graph, Node, Paint};
use crate::engine::graph::{EngineLayer, EngineTensor, edges};

/// Boxes of an engine's layers in the order of execution.
pub fn of_engine(title: String, layers: &[EngineLayer]) -> Graph {
    let all = edges(layers);
    // Inputs come first, so that each box stands behind what it takes from.
    let mut inputs: BTreeMap<&str, usize> = BTreeMap::new();
    let mut nodes = Vec::new();
    for (from, _, tensor) in &all {
        if from.is_none() && !inputs.contains_key(tensor.name.as_str()) {
            inputs.insert(&tensor.name, nodes.len());
            nodes.push(outside("input", tensor));
        }
    }
    let first = nodes.len();
    nodes.extend(layers.iter().map(node));
    let mut drawn = Vec::new();
    for (from, to, tensor) in all {
        let from = match from {
            Some(from) => first + from,
            None => inputs.get(tensor.name.as_str()).copied().unwrap_or(0),
        };
        let to = to.map_or_else(
            || {
                nodes.push(outside("output", tensor));
                nodes.len() - 1
            },
            |to| first + to,
        );
        drawn.push(Edge {
            from,
            to,
            tooltip: format!("{}\n{}\n{}", tensor.name, tensor.shape, tensor.format),
        });
    }
    Graph {
        title,
        nodes,
        edges: drawn,
    }
}

fn outside(what: &str, tensor: &EngineTensor) -> Node {
    Node {
        name: tensor.name.clone(),
        lines: vec![
            what.to_owned(),
            tensor.shape.clone(),
            tensor.precision().unwrap_or_default().to_owned(),
        ],
        tooltip: format!("{what} {}\n{}\n{}", tensor.name, tensor.shape, tensor.format),
        paint: Paint::Outside,
    }
}

fn node(layer: &EngineLayer) -> Node {
    let shape = |tensors: &[EngineTensor]| {
        tensors
            .first()
            .map_or(String::new(), |tensor| tensor.shape.clone())
    };
    let (inwards, outwards) = (shape(&layer.inputs), shape(&layer.outputs));
    let kind: Vec<&str> = [Some(layer.kind.as_str()), layer.precision()]
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect();
    let sides = [("in", &layer.inputs), ("out", &layer.outputs)];
    let tensors = sides.into_iter().flat_map(|(side, all)| {
        all.iter()
            .map(move |tensor| format!("{side} {} {} {}", tensor.name, tensor.shape, tensor.format))
    });
    let mut said = vec![layer.name.clone(), kind.join(", ")];
    said.extend(layer.tactic.iter().map(|tactic| format!("tactic {tactic}")));
    said.extend(tensors);
    said.retain(|line| !line.is_empty());
    Node {
        name: layer.name.clone(),
        lines: vec![
            kind.join(", "),
            match inwards.is_empty() && outwards.is_empty() {
                true => String::new(),
                false => format!("{inwards} → {outwards}"),
            },
            layer.tactic.clone().unwrap_or_default(),
        ],
        tooltip: said.join("\n"),
        paint: paint(&layer.kind),
    }
}

fn paint(kind: &str) -> Paint {
    let kind = kind.to_ascii_lowercase();
    let is = |names: &[&str]| names.iter().any(|name| kind.contains(name));
    if is(&["reformat", "shuffle", "reshape", "noop"]) {
        Paint::Reformat
    } else if is(&["conv", "gemm", "matrixmultiply", "matmul", "fullyconnected"]) {
        Paint::Product
    } else if is(&[
        "pointwise",
        "elementwise",
        "activation",
        "scale",
        "unary",
        "softmax",
    ]) {
        Paint::Pointwise
    } else {
        Paint::Plain
    }
}
