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
//! - Relu and Clip of what is not a number are not a number; rten gives their bounds, so that a network that overflowed would look
//!   healthy. They are written as Elu with `alpha` 0, and as Max and Min; Relu of whole numbers, of which rten has none, as Max.
//!   Softplus of 89 and more is infinite in rten: beyond 20 it is its input.
//! - ArgMax and ArgMin of several equal values are the first; rten gives the last, so the axis is turned round, unless what is not a
//!   number is among them, of which it gives the first. Sign of 0 is 0; in rten it is 1.
//! - A reduction over no axes that is told to do nothing then (`noop_with_empty_axes`) is what it does to each element; one that is not
//!   told so reduces all axes. rten takes an empty list of axes otherwise.
//! - Squeeze and Unsqueeze at one axis that is no list, which functions of ONNX have, get a list.
//! - `QuantizeLinear` without a zero point has 0 as uint8; rten refuses it in the middle of a run.
//! - An `If` whose condition is a constant is the branch that is taken.
//! - A node without a name gets one, for else an error in the middle of a run speaks of `operator ""`.

use rten_onnx::onnx::{
    AttributeProto, AttributeType, DataType, GraphProto, ModelProto, NodeProto, TensorProto,
};

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
        changed |= without_empty_axes(&mut node, &known);
        if let Some(branch) = taken_branch(&node, &known) {
            changed = true;
            // What names it has are its own, also among the nodes around it.
            let GraphProto {
                node: mut within,
                initializer,
                output,
                ..
            } = *branch;
            graph.initializer.extend(initializer);
            let ends = output.iter().zip(&node.output);
            within.extend(ends.filter_map(|(end, outer)| {
                Some(NodeProto {
                    name: Some(format!("{}:{outer}", node.name.as_deref().unwrap_or_default())),
                    op_type: Some("Identity".to_owned()),
                    input: vec![end.name.clone()?],
                    output: vec![outer.clone()],
                    ..NodeProto::default()
                })
            }));
            nodes.extend(within);
            continue;
        }
        let made = is_old.then(|| as_meant_of_old(&node, &known)).flatten();
        match made.or_else(|| as_executed(&node, &known)) {
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

/// The branch of an `If` whose condition is a constant, so that what the other would need refuses nothing.
fn taken_branch(node: &NodeProto, known: &Known) -> Option<Box<GraphProto>> {
    if operator(node) != "If" {
        return None;
    }
    let branch = match known.is_true(node.input.first()?)? {
        true => "then_branch",
        false => "else_branch",
    };
    attribute(node, branch)?.g.clone().map(Box::new)
}

/// Leaves off a list of no axes, which means all of them.
fn without_empty_axes(node: &mut NodeProto, known: &Known) -> bool {
    let is_reduction = operator(node).starts_with("Reduce");
    if is_reduction && !is_left_alone(node) && node.input.len() == 2 && is_empty(node, known) {
        node.input.pop();
        return true;
    }
    false
}

/// Whether a reduction without axes is one of none.
pub(super) fn is_left_alone(node: &NodeProto) -> bool {
    attribute(node, "noop_with_empty_axes").and_then(|noop| noop.i) == Some(1)
}

/// Whether a reduction is known to be given no axes.
fn is_empty(node: &NodeProto, known: &Known) -> bool {
    let axes = node.input.get(1).filter(|name| !name.is_empty());
    match axes {
        Some(axes) => known.dims(axes) == Some(&[Some(0)]),
        None => attribute(node, "axes").is_none_or(|axes| axes.ints.is_empty()),
    }
}

/// The nodes that the runtime executes as ONNX means this one, or `None` where it does already.
fn as_executed(node: &NodeProto, known: &Known) -> Option<Vec<NodeProto>> {
    if !matches!(node.domain.as_deref(), None | Some("" | "ai.onnx")) {
        return None;
    }
    let (Some(input), [output]) = (node.input.first(), &node.output[..]) else {
        return None;
    };
    let part = |name: &str| format!("{output}:{name}");
    let made = |operator: &str, inputs: &[&str], output: &str| NodeProto {
        name: node.name.as_ref().map(|name| format!("{name}:{operator}")),
        op_type: Some(operator.to_owned()),
        input: inputs.iter().map(|name| (*name).to_owned()).collect(),
        output: vec![output.to_owned()],
        ..NodeProto::default()
    };
    // Where one node stands for another, it keeps the name.
    let renamed = |operator: &str, inputs: &[&str]| NodeProto {
        name: node.name.clone(),
        ..made(operator, inputs, output)
    };
    let number = |name: &str, value: f32| NodeProto {
        attribute: vec![tensor(
            "value",
            TensorProto {
                data_type: Some(DataType::FLOAT),
                float_data: vec![value],
                ..TensorProto::default()
            },
        )],
        ..made("Constant", &[], name)
    };
    match operator(node) {
        "Relu" if known.is_whole(input) => {
            let zero = NodeProto {
                attribute: vec![int("value_int", 0)],
                ..made("Constant", &[], &part("zero"))
            };
            Some(vec![zero, renamed("Max", &[input, &part("zero")])])
        }
        "Relu" => {
            let mut elu = renamed("Elu", &[input]);
            elu.attribute.push(AttributeProto {
                name: Some("alpha".to_owned()),
                f: Some(0.0),
                r#type: Some(AttributeType::FLOAT),
                ..AttributeProto::default()
            });
            Some(vec![elu])
        }
        "Clip" if !known.is_whole(input) => {
            let mut nodes = Vec::new();
            let mut last = input.clone();
            for (place, bound, operator) in [(1, "min", "Max"), (2, "max", "Min")] {
                let stated = attribute(node, bound).and_then(|bound| bound.f);
                let limit = match node.input.get(place).filter(|name| !name.is_empty()) {
                    Some(name) => name.clone(),
                    None => {
                        let Some(stated) = stated else { continue };
                        nodes.push(number(&part(bound), stated));
                        part(bound)
                    }
                };
                let limited = part(operator);
                nodes.push(made(operator, &[&last, &limit], &limited));
                last = limited;
            }
            match nodes.last_mut() {
                Some(whole) => {
                    whole.output = vec![output.clone()];
                    whole.name.clone_from(&node.name);
                }
                None => nodes.push(renamed("Identity", &[input])),
            }
            Some(nodes)
        }
        "Softplus" => {
            let [limit, is_large, small] = ["limit", "is_large", "small"].map(part);
            Some(vec![
                number(&limit, SOFTPLUS_IS_LINEAR),
                made("Greater", &[input, &limit], &is_large),
                NodeProto {
                    output: vec![small.clone()],
                    ..node.clone()
                },
                renamed("Where", &[&is_large, input, &small]),
            ])
        }
        "Sign" if !known.is_whole(input) => {
            let [opposite, is_zero, sign] = ["opposite", "is_zero", "sign"].map(part);
            Some(vec![
                made("Neg", &[input], &opposite),
                made("Equal", &[input, &opposite], &is_zero),
                NodeProto {
                    output: vec![sign.clone()],
                    ..node.clone()
                },
                renamed("Where", &[&is_zero, input, &sign]),
            ])
        }
        "ArgMax" | "ArgMin" if attribute(node, "select_last_index").and_then(|last| last.i) != Some(1) => {
            let axis = attribute(node, "axis").and_then(|axis| axis.i).unwrap_or(0);
            let whole = |name: &str, numbers: &[i64]| NodeProto {
                attribute: vec![ints("value_ints", numbers.to_vec())],
                ..made("Constant", &[], name)
            };
            let [from, to, axes, step] = ["from", "to", "axes", "step"].map(part);
            let [turned, last, shape, size, one, end] =
                ["turned", "last", "shape", "size", "one", "end"].map(part);
            let mut nodes = vec![
                whole(&from, &[-1]),
                // Before the first.
                whole(&to, &[i64::from(i32::MIN)]),
                whole(&axes, &[axis]),
                whole(&step, &[-1]),
                made("Slice", &[input, &from, &to, &axes, &step], &turned),
                NodeProto {
                    input: vec![turned],
                    output: vec![last.clone()],
                    ..node.clone()
                },
                made("Shape", &[input], &shape),
                made("Gather", &[&shape, &axes], &size),
                whole(&one, &[1]),
                made("Sub", &[&size, &one], &end),
            ];
            if known.is_whole(input) {
                nodes.push(renamed("Sub", &[&end, &last]));
                return Some(nodes);
            }
            // Of several that are no numbers rten gives the first, unless they are turned round.
            let [first, first_nan, best, is_number] = ["first", "first_nan", "best", "is_number"].map(part);
            let keepdims = attribute(node, "keepdims").and_then(|keep| keep.i).unwrap_or(1);
            nodes.extend([
                made("Sub", &[&end, &last], &first),
                NodeProto {
                    output: vec![first_nan.clone()],
                    ..node.clone()
                },
                NodeProto {
                    attribute: vec![int("keepdims", keepdims)],
                    ..made("ReduceMax", &[input, &axes], &best)
                },
                made("Equal", &[&best, &best], &is_number),
                renamed("Where", &[&is_number, &first, &first_nan]),
            ]);
            Some(nodes)
        }
        "Squeeze" | "Unsqueeze" if node.input.get(1).and_then(|axes| known.dims(axes)) == Some(&[]) => {
            let [one, axes] = ["one", "axes"].map(part);
            let mut listed = node.clone();
            let single = std::mem::replace(listed.input.get_mut(1)?, axes.clone());
            Some(vec![
                NodeProto {
                    attribute: vec![ints("value_ints", vec![1])],
                    ..made("Constant", &[], &one)
                },
                made("Reshape", &[&single, &one], &axes),
                listed,
            ])
        }
        reduction if reduction.starts_with("Reduce") && is_left_alone(node) && is_empty(node, known) => {
            let each = match reduction {
                "ReduceL2" | "ReduceLogSum" if known.is_whole(input) => return None,
                "ReduceL1" | "ReduceL2" => renamed("Abs", &[input]),
                "ReduceSumSquare" => renamed("Mul", &[input, input]),
                "ReduceLogSum" => renamed("Log", &[input]),
                _ => renamed("Identity", &[input]),
            };
            Some(vec![each])
        }
        "QuantizeLinear" if node.input.len() == 2 && attribute(node, "output_dtype").is_none() => {
            let scale = known.dims(&node.input[1])?;
            let dims = scale.iter().copied().collect::<Option<Vec<i64>>>()?;
            let elements = dims.iter().try_fold(1_usize, |all, extent| {
                all.checked_mul(usize::try_from(*extent).ok()?)
            })?;
            let zero = TensorProto {
                data_type: Some(DataType::UINT8),
                dims,
                int32_data: vec![0; elements],
                ..TensorProto::default()
            };
            let constant = NodeProto {
                attribute: vec![tensor("value", zero)],
                ..made("Constant", &[], &part("zero"))
            };
            let mut quantise = node.clone();
            quantise.input.push(part("zero"));
            Some(vec![constant, quantise])
        }
        _ => None,
    }
}

/// From here on e⁻ˣ is less than half of the last place of x.
const SOFTPLUS_IS_LINEAR: f32 = 20.0;

fn tensor(name: &str, value: TensorProto) -> AttributeProto {
    AttributeProto {
        name: Some(name.to_owned()),
        t: Some(value),
        r#type: Some(AttributeType::TENSOR),
        ..AttributeProto::default()
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
