//! Networks that ONNX allows and the runtime does not execute rightly, written in the form that it does.
//!
//! Nothing of this fails at load, so every network is looked at, and the graphs within its nodes; nearly all are left exactly as
//! they are.
//!
//! - ONNX lets a convolution leave `kernel_shape` out, to be taken from its weights. rten 0.27 takes the number
//!   of strides, dilations and pads from that attribute and refuses the first frame with "expected 2 stride
//!   values" (CenterPoint's published encoder is such a network). It is stated. So are the strides of a pooling, all 1 where they are
//!   left out, which rten refuses as well.
//! - `QuantizeLinear` without `axis` scales along axis 1; rten takes the last. It is stated.
//! - Until opset 13 a Softmax meant all axes from `axis` on together, by default from 1 on; rten takes one axis, by default the last,
//!   and without a word gives every class of a `[1, C, 1, 1]` the score 1. Unless its axis is known to be the last it is
//!   written as what it means: the axes made one, the Softmax of that, and the shape of before.
//! - Inputs and outputs that are listed and left empty at the end are left off: rten counts them.
//! - A node without a name gets one, for else an error in the middle of a run speaks of `operator ""`.

use rten_onnx::onnx::{AttributeProto, AttributeType, GraphProto, ModelProto, NodeProto};

use super::known::{Known, attribute, operator};

/// Writes the network as the runtime executes it; whether anything was changed.
///
/// The runtime reads networks through these same types, so that what they do not keep it never saw.
pub(super) fn mend(model: &mut ModelProto) -> bool {
    let opset = standard_opset(model);
    let Some(graph) = model.graph.as_mut() else {
        return false;
    };
    mend_graph(graph, opset < 13, &Known::default())
}

/// The version of the standard operators; the newest where none is stated.
pub(super) fn standard_opset(model: &ModelProto) -> i64 {
    let standard = |domain: Option<&str>| matches!(domain, None | Some("" | "ai.onnx"));
    let mut sets = model.opset_import.iter();
    let set = sets.find(|set| standard(set.domain.as_deref()));
    set.and_then(|set| set.version).unwrap_or(i64::MAX)
}

fn mend_graph(graph: &mut GraphProto, is_old: bool, outer: &Known) -> bool {
    let known = outer.within(graph);
    let mut changed = false;
    let mut nodes = Vec::with_capacity(graph.node.len());
    for (place, mut node) in std::mem::take(&mut graph.node).into_iter().enumerate() {
        let inner = node.attribute.iter_mut().filter_map(|a| a.g.as_mut());
        for graph in inner {
            changed |= mend_graph(graph, is_old, &known);
        }
        changed |= without_empty_ends(&mut node);
        if node.name.as_deref().unwrap_or_default().is_empty() {
            node.name = Some(format!("{} #{place}", operator(&node)));
            changed = true;
        }
        if let Some(missing) = missing_attribute(&node, &known) {
            node.attribute.push(missing);
            changed = true;
        }
        match is_old.then(|| as_meant_of_old(&node, &known)).flatten() {
            Some(meant) => {
                nodes.extend(meant);
                changed = true;
            }
            None => nodes.push(node),
        }
    }
    graph.node = nodes;
    changed
}

/// Cuts off what is listed and empty at the end.
fn without_empty_ends(node: &mut NodeProto) -> bool {
    let mut cut = false;
    for names in [&mut node.input, &mut node.output] {
        while names.last().is_some_and(String::is_empty) {
            names.pop();
            cut = true;
        }
    }
    cut
}

/// What ONNX takes from elsewhere, or by default, and the runtime does not.
fn missing_attribute(node: &NodeProto, known: &Known) -> Option<AttributeProto> {
    let stated = |name| attribute(node, name).is_some();
    match operator(node) {
        "Conv" | "ConvInteger" | "ConvTranspose" if !stated("kernel_shape") => {
            // Weights are [outputs, inputs, kernel…]. Those that a node computes have no shape here.
            let [_, _, kernel @ ..] = known.dims(node.input.get(1)?)? else {
                return None;
            };
            let kernel: Option<Vec<i64>> = kernel.iter().copied().collect();
            Some(ints("kernel_shape", kernel?))
        }
        "MaxPool" | "AveragePool" if !stated("strides") => {
            let kernel = attribute(node, "kernel_shape")?;
            Some(ints("strides", vec![1; kernel.ints.len()]))
        }
        "QuantizeLinear" if !stated("axis") => Some(int("axis", 1)),
        _ => None,
    }
}

/// The nodes that say what a Softmax before opset 13 meant, or `None` where it is none, or means the same today.
fn as_meant_of_old(node: &NodeProto, known: &Known) -> Option<Vec<NodeProto>> {
    let ("Softmax" | "LogSoftmax", [input], [output]) = (operator(node), &node.input[..], &node.output[..])
    else {
        return None;
    };
    // Unsaid it is 1, which is the last of two; the runtime's default is the last.
    let axis = attribute(node, "axis").map_or(1, |axis| axis.i.unwrap_or_default());
    let rank = known.dims(input).map(|dims| dims.len() as i64);
    if axis == -1 || rank.is_some_and(|rank| axis.rem_euclid(rank.max(1)) + 1 == rank) {
        return None;
    }
    let [flat, scores, shape] = ["flat", "scores", "shape"].map(|what| format!("{output}:{what}"));
    let named = |operator: &str, inputs: [&str; 2], output: &str| NodeProto {
        name: node.name.as_ref().map(|name| format!("{name}:{operator}")),
        op_type: Some(operator.to_owned()),
        input: inputs
            .into_iter()
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect(),
        output: vec![output.to_owned()],
        ..NodeProto::default()
    };
    let mut flatten = named("Flatten", [input, ""], &flat);
    flatten.attribute.push(int("axis", axis));
    let softmax = NodeProto {
        input: vec![flat],
        output: vec![scores.clone()],
        ..with_axis(node, 1)
    };
    let measure = named("Shape", [input, ""], &shape);
    let reshape = named("Reshape", [&scores, &shape], output);
    Some(vec![flatten, softmax, measure, reshape])
}

fn with_axis(node: &NodeProto, axis: i64) -> NodeProto {
    NodeProto {
        attribute: vec![int("axis", axis)],
        ..node.clone()
    }
}

fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto {
        name: Some(name.to_owned()),
        i: Some(value),
        r#type: Some(AttributeType::INT),
        ..AttributeProto::default()
    }
}

fn ints(name: &str, values: Vec<i64>) -> AttributeProto {
    AttributeProto {
        name: Some(name.to_owned()),
        ints: values,
        r#type: Some(AttributeType::INTS),
        ..AttributeProto::default()
    }
}
