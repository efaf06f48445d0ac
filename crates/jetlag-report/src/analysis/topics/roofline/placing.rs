//! Which nodes of the network a layer of an engine is made of, from its name and operators alone.
//!
//! | a layer | its nodes |
//! |---|---|
//! | `/a/Conv` | the node of that name; `node_of_T` is a node without a name that makes T |
//! | `/a/Conv + PWN(/a/Sigmoid, /a/Mul)` | TensorRT's names of fused layers |
//! | `{ForeignNode[/a/MatMul.../b/Add]}` | all from the first to the last that no other layer has |
//! | `fused /a/Conv`, `/a/Conv_nchwc` | ONNX Runtime's names of fused nodes |
//! | a name, with the operators `Conv+Relu` | the embedded backend's: named after the last, the others come before it |
//! | no name | the next node of that operator |

use std::collections::HashMap;

use crate::analysis::gathering::layer_name::covered;

/// A node as far as placing needs it.
#[derive(Clone, Copy, Debug)]
pub struct NodeName<'a> {
    /// Its name, or its first output's.
    pub name: &'a str,
    /// Its operator.
    pub operator: &'a str,
    /// Whether it is computed when the network is loaded: no layer has it.
    pub at_load: bool,
}

/// Which nodes each layer has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placing {
    /// For each layer the positions of its nodes, in order; empty where none is known.
    pub nodes: Vec<Vec<usize>>,
    /// Positions of nodes that no layer has, without those that are computed at load.
    pub without_layer: Vec<usize>,
}

/// Places layers, given by name and operators in the order of execution, on nodes in the order of execution. No node is in two layers.
pub fn place(layers: &[(&str, &str)], nodes: &[NodeName<'_>]) -> Placing {
    let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, node) in nodes.iter().enumerate().rev() {
        // The first of equal names comes last, where it is taken first.
        by_name.entry(node.name).or_default().push(at);
    }
    let mut placer = Placer {
        nodes,
        by_name,
        taken: nodes.iter().map(|node| node.at_load).collect(),
        next: 0,
    };
    let mut placed: Vec<Vec<usize>> = vec![Vec::new(); layers.len()];
    for (layer, own) in layers.iter().zip(&mut placed) {
        if foreign(layer.0).is_none() {
            *own = placer.layer(layer.0, layer.1);
        }
    }
    // What such a layer spans may hold nodes that other layers have.
    for (layer, own) in layers.iter().zip(&mut placed) {
        if let Some(ends) = foreign(layer.0) {
            *own = placer.span(ends);
        }
    }
    Placing {
        nodes: placed,
        without_layer: (0..nodes.len())
            .filter(|at| placer.taken.get(*at) == Some(&false))
            .collect(),
    }
}

struct Placer<'a> {
    nodes: &'a [NodeName<'a>],
    by_name: HashMap<&'a str, Vec<usize>>,
    taken: Vec<bool>,
    /// After the last node that was found by its operator alone.
    next: usize,
}

impl Placer<'_> {
    /// The first node of this name that no layer has yet.
    fn named(&self, name: &str) -> Option<usize> {
        let free = |name: &str| {
            let all = self.by_name.get(name)?;
            all.iter().rev().copied().find(|at| self.is_free(*at))
        };
        let name = name.trim();
        free(name)
            .or_else(|| free(name.strip_prefix("node_of_")?))
            .or_else(|| free(name.strip_prefix("fused ")?))
            .or_else(|| free(name.strip_suffix("_nchwc")?))
    }

    fn is_free(&self, at: usize) -> bool {
        self.taken.get(at) == Some(&false)
    }

    fn take(&mut self, at: usize) {
        if let Some(taken) = self.taken.get_mut(at) {
            *taken = true;
        }
    }

    fn layer(&mut self, name: &str, operators: &str) -> Vec<usize> {
        let mut own = Vec::new();
        if name.is_empty() {
            own.extend(self.by_operator(operators.rsplit('+').next().unwrap_or_default()));
        } else {
            for part in covered(name) {
                own.extend(self.named(part));
                own.iter().for_each(|at| self.take(*at));
            }
        }
        own.iter().for_each(|at| self.take(*at));
        if let [last] = own[..] {
            own.extend(self.before(last, operators));
        }
        own.sort_unstable();
        own
    }

    /// The next free node of an operator.
    fn by_operator(&mut self, operator: &str) -> Option<usize> {
        let found = (self.next..self.nodes.len()).find(|at| {
            self.is_free(*at) && self.nodes.get(*at).is_some_and(|node| node.operator == operator)
        })?;
        self.next = found + 1;
        Some(found)
    }

    /// The nodes before the one that a layer is named after, by its operators from the last but one to the first.
    fn before(&mut self, last: usize, operators: &str) -> Vec<usize> {
        let mut found = Vec::new();
        let mut chain = operators.rsplit('+');
        if chain.next() != self.nodes.get(last).map(|node| node.operator) {
            return found;
        }
        let mut at = last;
        for operator in chain {
            let before = (0..at).rev().find(|at| {
                self.is_free(*at) && self.nodes.get(*at).is_some_and(|node| node.operator == operator)
            });
            let Some(before) = before else { continue };
            self.take(before);
            found.push(before);
            at = before;
        }
        found
    }

    /// All free nodes from the first known of these to the last known.
    fn span(&mut self, (first, last): (&str, &str)) -> Vec<usize> {
        let known = |name: &str| {
            let parts = covered(name);
            let places: Vec<usize> = parts.into_iter().filter_map(|part| self.named(part)).collect();
            places.iter().min().copied().zip(places.iter().max().copied())
        };
        let ends = match (known(first), known(last)) {
            (Some((from, other)), Some((another, to))) => Some((from.min(another), to.max(other))),
            (one, other) => one.or(other),
        };
        let Some((from, to)) = ends else {
            return Vec::new();
        };
        let own: Vec<usize> = (from..=to).filter(|at| self.is_free(*at)).collect();
        own.iter().for_each(|at| self.take(*at));
        own
    }
}

/// The first and the last node of a part of the network that is one layer: `{ForeignNode[/a/MatMul.../b/Add]}`.
fn foreign(layer: &str) -> Option<(&str, &str)> {
    let inside = layer.trim().strip_prefix("{ForeignNode[")?;
    let inside = inside.rsplit_once("]}").map_or(inside, |(inside, _)| inside);
    // Names may have dots of their own, but hardly three in a row.
    Some(inside.split_once("...").unwrap_or((inside, inside)))
}
