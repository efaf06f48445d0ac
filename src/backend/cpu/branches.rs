//! Branches of an `If` that is decided in the run: what one of them holds and the runtime does not execute rightly refuses nothing, as
//! long as that branch is not taken.
//!
//! Such a node is put in place of one that fails when it is executed, whose name says what failed. So a network is loaded, frames that
//! go the other way are right, and a frame that comes there fails for the true reason instead of being answered wrongly.

use std::collections::HashSet;

use rten_onnx::onnx::{DataType, GraphProto, ModelProto, NodeProto, TensorProto};

use super::known::{Known, operator};
use super::unsupported::{self, Unsupported, names_read, problem_of};

/// Replaces what is not executed in branches; what that was. To be called on a network as it was mended, whose `If`s have conditions
/// that are not known.
pub(super) fn set_aside(model: &mut ModelProto) -> Vec<Unsupported> {
    let mut found = Vec::new();
    let Some(graph) = &mut model.graph else {
        return found;
    };
    let mut read = HashSet::new();
    names_read(graph, &mut read);
    let read: HashSet<String> = read.into_iter().map(str::to_owned).collect();
    let refused = |node: &NodeProto| unsupported::refusal(node, model.ir_version, &model.opset_import);
    walk(graph, &Known::default(), false, &read, &refused, &mut found);
    found
}

/// Looks at a graph and those within; `is_branch` says that it may not be executed at all.
fn walk(
    graph: &mut GraphProto,
    outer: &Known<'_>,
    is_branch: bool,
    read: &HashSet<String>,
    refused: &dyn Fn(&NodeProto) -> Option<Unsupported>,
    found: &mut Vec<Unsupported>,
) {
    let known = outer.within(graph);
    let mut nodes = Vec::with_capacity(graph.node.len());
    let mut constants = Vec::new();
    for mut node in std::mem::take(&mut graph.node) {
        let is_if = operator(&node) == "If";
        let inner = node.attribute.iter_mut().filter_map(|a| a.g.as_mut());
        inner.for_each(|graph| walk(graph, &known, is_branch || is_if, read, refused, found));
        let has_graph = node.attribute.iter().any(|a| a.g.is_some());
        let problem = match is_branch {
            true if operator(&node) != "Constant" && !has_graph => {
                problem_of(&node, &known, &|name| read.contains(name)).or_else(|| refused(&node))
            }
            _ => None,
        };
        match problem {
            None => nodes.push(node),
            Some(problem) => {
                let (failing, shape) = failing(&node, &problem);
                constants.push(shape);
                nodes.extend(failing);
                found.push(problem);
            }
        }
    }
    graph.node = nodes;
    graph.initializer.extend(constants);
}

/// Nodes of the same outputs that fail whatever they are given, and the shape that makes them: two lengths that are to be found out.
fn failing(node: &NodeProto, problem: &Unsupported) -> (Vec<NodeProto>, TensorProto) {
    let outputs: Vec<&String> = node.output.iter().filter(|name| !name.is_empty()).collect();
    let first = outputs.first().map_or("", |name| name.as_str());
    let shape = format!("{first}:no shape");
    let name = format!(
        "{} `{}`, which the embedded backend does not execute rightly: {}",
        problem.operator, problem.node, problem.problem
    );
    let input = node.input.iter().find(|name| !name.is_empty());
    let named = |operator: &str, inputs: Vec<String>, output: &str| NodeProto {
        name: Some(name.clone()),
        op_type: Some(operator.to_owned()),
        input: inputs,
        output: vec![output.to_owned()],
        ..NodeProto::default()
    };
    let input = input.cloned().unwrap_or_else(|| shape.clone());
    let mut nodes = vec![named("Reshape", vec![input, shape.clone()], first)];
    let others = outputs.iter().skip(1);
    nodes.extend(others.map(|other| named("Identity", vec![first.to_owned()], other)));
    let shape = TensorProto {
        name: Some(shape),
        data_type: Some(DataType::INT64),
        dims: vec![2],
        int64_data: vec![-1, -1],
        ..TensorProto::default()
    };
    (nodes, shape)
}
