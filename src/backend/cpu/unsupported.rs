//! What the runtime cannot execute, or would execute otherwise than ONNX means it, found before anything runs.
//!
//! rten 0.27 refuses most of what it lacks when it loads a network ([`refused`] asks it node by node, to say which), but some only in
//! the middle of a run, and some it takes and computes something else. The rules for those are here: they come from its
//! sources and from ONNX's own cases for each operator, executed on it. What is looked at are the network's nodes as [`mend`](super::mend)
//! leaves them, and those of the graphs within.

use std::collections::HashSet;

use rten::ModelOptions;
use rten_onnx::onnx::{DataType, GraphProto, ModelProto, NodeProto, OperatorSetIdProto};

use super::known::{Known, attribute, operator};
use super::mend;
use crate::built;

/// A node that is not executed as ONNX means it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unsupported {
    /// Its name, or its place where it has none.
    pub(super) node: String,
    /// Its operator, with the domain where that is not the standard one.
    pub(super) operator: String,
    /// Why it would not be executed, or not correctly.
    pub(super) problem: String,
}

/// Outputs that are not computed: operator, from which output to which, what.
const OUTPUTS: [(&str, [usize; 2], &str); 8] = [
    (
        "Attention",
        [3, 3],
        "its score output (`qk_matmul_output`) is not computed",
    ),
    (
        "LayerNormalization",
        [1, 2],
        "only its first output is computed, not mean and deviation",
    ),
    ("MaxPool", [1, 1], "its index output is not computed"),
    (
        "SimplifiedLayerNormalization",
        [1, 1],
        "only its first output is computed",
    ),
    (
        "com.microsoft.GroupQueryAttention",
        [3, 3],
        "its score output is not computed",
    ),
    (
        "com.microsoft.MultiHeadAttention",
        [3, 3],
        "its score output is not computed",
    ),
    (
        "com.microsoft.SkipLayerNormalization",
        [1, 2],
        "mean and deviation are not computed",
    ),
    (
        "com.microsoft.SkipSimplifiedLayerNormalization",
        [1, 2],
        "mean and deviation are not computed",
    ),
];

/// Inputs that are refused in the middle of a run, or ignored: operator, input, what.
const INPUTS: [(&str, usize, &str); 7] = [
    (
        "GRU",
        4,
        "its sequence lengths (`sequence_lens`) would be ignored",
    ),
    (
        "LSTM",
        4,
        "its sequence lengths (`sequence_lens`) would be ignored",
    ),
    ("LSTM", 7, "its peephole weights (input `P`) are not supported"),
    ("Pad", 3, "its input `axes` is not supported"),
    (
        "com.microsoft.MatMulNBits",
        3,
        "its zero points are not supported",
    ),
    (
        "com.microsoft.MatMulNBits",
        4,
        "its group indices are not supported",
    ),
    ("com.microsoft.MatMulNBits", 5, "its bias is not supported"),
];

/// Operators that take no 8-bit integers.
const NO_8_BIT: [&str; 14] = [
    "Add",
    "Clip",
    "Div",
    "Equal",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
    "Max",
    "MaxPool",
    "Min",
    "Mod",
    "Mul",
    "Sub",
];

/// The nodes of a network that load and are not executed as ONNX means them.
pub(super) fn unsupported(model: &ModelProto) -> Vec<Unsupported> {
    let mut found = Vec::new();
    if let Some(graph) = &model.graph {
        let mut read = HashSet::new();
        names_read(graph, &mut read);
        look(graph, &Known::default(), &read, &mut found);
    }
    found
}

/// The nodes that the runtime refuses to load, each asked for alone.
pub(super) fn refused(model: &ModelProto) -> Vec<Unsupported> {
    let Some(graph) = &model.graph else {
        return Vec::new();
    };
    // Constants are no nodes to the runtime.
    let nodes = graph.node.iter().filter(|node| operator(node) != "Constant");
    nodes
        .filter_map(|node| refusal(node, model.ir_version, &model.opset_import))
        .collect()
}

/// Why the runtime refuses to load a node alone, if it does.
pub(super) fn refusal(
    node: &NodeProto,
    ir_version: Option<i64>,
    opsets: &[OperatorSetIdProto],
) -> Option<Unsupported> {
    let mut options = ModelOptions::with_all_ops();
    options.enable_optimization(false);
    let alone = ModelProto {
        ir_version,
        opset_import: opsets.to_vec(),
        graph: Some(GraphProto {
            node: vec![node.clone()],
            ..GraphProto::default()
        }),
        ..ModelProto::default()
    };
    let error = options.load(alone.write_buf().ok()?).err()?.to_string();
    let said = error
        .split_once("operator error: ")
        .map_or(error.as_str(), |(_, said)| said);
    let lacks = said.ends_with("operator not supported or not enabled") && !said.contains("subgraph");
    Some(of(node, if lacks { "there is no such operator" } else { said }))
}

/// What is said of a network with such nodes: each operator with what it lacks and one node's name, and what to do.
pub(super) fn sentence(found: &[Unsupported]) -> String {
    format!("it cannot execute {}. {}", listing(found), way_out())
}

/// Each operator with what it lacks and one node's name.
pub(super) fn listing(found: &[Unsupported]) -> String {
    const MOST: usize = 4;
    let mut kinds: Vec<(&Unsupported, usize)> = Vec::new();
    for node in found {
        let same = |(kind, _): &&mut (&Unsupported, usize)| {
            kind.operator == node.operator && kind.problem == node.problem
        };
        match kinds.iter_mut().find(same) {
            Some((_, count)) => *count += 1,
            None => kinds.push((node, 1)),
        }
    }
    let told = kinds.iter().take(MOST).map(|(first, count)| {
        let more = match count {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        format!(
            "{} (node `{}`{more}): {}",
            first.operator, first.node, first.problem
        )
    });
    let mut told: Vec<String> = told.collect();
    if kinds.len() > MOST {
        told.push(format!("and {} more kinds of nodes", kinds.len() - MOST));
    }
    told.join("; ")
}

/// Who may execute what this backend does not.
pub(super) fn way_out() -> String {
    let mut way =
        "ONNX Runtime may support it: set the tenant's `backend: OnnxRuntime(provider: Cpu)`, or `Cuda` on a GPU (docs/onnxruntime.md)"
            .to_owned();
    if !built::FEATURES.contains(&("onnxruntime", true)) {
        way += "; ";
        way += &built::LeftOut::ONNXRUNTIME.to_string();
    }
    way
}

fn of(node: &NodeProto, problem: &str) -> Unsupported {
    Unsupported {
        node: node.name.clone().unwrap_or_default(),
        operator: full_name(node),
        problem: problem.to_owned(),
    }
}

fn full_name(node: &NodeProto) -> String {
    match node.domain.as_deref() {
        None | Some("" | "ai.onnx") => operator(node).to_owned(),
        Some(domain) => format!("{domain}.{}", operator(node)),
    }
}

/// What any node reads, in a graph and those within, and what leaves them.
pub(super) fn names_read<'a>(graph: &'a GraphProto, read: &mut HashSet<&'a str>) {
    read.extend(graph.output.iter().filter_map(|output| output.name.as_deref()));
    for node in &graph.node {
        read.extend(node.input.iter().map(String::as_str));
        let inner = node.attribute.iter().filter_map(|a| a.g.as_ref());
        inner.for_each(|graph| names_read(graph, read));
    }
}

fn look(graph: &GraphProto, outer: &Known, read: &HashSet<&str>, found: &mut Vec<Unsupported>) {
    let known = outer.within(graph);
    for node in &graph.node {
        let inner = node.attribute.iter().filter_map(|a| a.g.as_ref());
        inner.for_each(|graph| look(graph, &known, read, found));
        found.extend(problem_of(node, &known, &|name| read.contains(name)));
    }
}

/// Why a node would not be executed as ONNX means it; `is_read` says whether any node reads a value.
pub(super) fn problem_of(
    node: &NodeProto,
    known: &Known<'_>,
    is_read: &dyn Fn(&str) -> bool,
) -> Option<Unsupported> {
    let problem = listed(node, is_read)
        .or_else(|| of_its_kind(node, known))
        .or_else(|| beyond_32_bits(node, known));
    problem.map(|problem| of(node, problem))
}

/// What the tables say of a node.
fn listed(node: &NodeProto, is_read: &dyn Fn(&str) -> bool) -> Option<&'static str> {
    let name = full_name(node);
    let inputs = INPUTS.iter().filter(|(operator, ..)| *operator == name);
    let given = |input: usize| node.input.get(input).is_some_and(|name| !name.is_empty());
    let input = inputs.clone().rev().find(|(_, input, _)| given(*input));
    let outputs = OUTPUTS.iter().filter(|(operator, ..)| *operator == name);
    let wanted = |output: usize| node.output.get(output).is_some_and(|name| is_read(name));
    let output = outputs
        .clone()
        .find(|(_, [from, to], _)| (*from..=*to).any(wanted));
    input.map(|rule| rule.2).or(output.map(|rule| rule.2))
}

/// What depends on a node's attributes, or on what is known of its inputs.
fn of_its_kind(node: &NodeProto, known: &Known) -> Option<&'static str> {
    if !matches!(node.domain.as_deref(), None | Some("" | "ai.onnx")) {
        return None;
    }
    let element = |input: usize| node.input.get(input).and_then(|name| known.element(name));
    let rank = |input: usize| {
        node.input
            .get(input)
            .and_then(|name| known.dims(name))
            .map(<[_]>::len)
    };
    let is_float = |input| {
        matches!(
            element(input),
            Some(DataType::FLOAT | DataType::DOUBLE | DataType::FLOAT16)
        )
    };
    let is_8_bit = |input| matches!(element(input), Some(DataType::INT8 | DataType::UINT8));
    let operator = operator(node);
    if NO_8_BIT.contains(&operator) && (0..node.input.len()).any(is_8_bit) {
        return Some("it does not support 8-bit integers");
    }
    match operator {
        "BatchNormalization" if node.output.len() > 1 => Some(
            "with more than one output it would need the statistics of the current batch, as in training",
        ),
        "Cast" if int(node, "to") == Some(i64::from(DataType::BOOL.0)) && is_float(0) => {
            Some("conversion to bool truncates, so 0.5 would become false")
        }
        "Conv" | "ConvInteger" | "ConvTranspose" | "MaxPool" | "AveragePool" => of_a_window(node, known),
        "GridSample" if rank(0) == Some(5) => Some("3-D inputs are not supported"),
        "GRU" if int(node, "linear_before_reset").unwrap_or(0) == 0 => {
            Some("only `linear_before_reset` 1 is supported, and it has 0")
        }
        "NonMaxSuppression" => Some(
            "boxes would be measured against the rectangle around both instead of their union, and at a threshold, below 0 and \
             between classes others would stay than ONNX says; export the network without its suppression (Ultralytics: nms=False) and \
             let the spec's `nms` do it",
        ),
        "Attention" if is_mask_short(node, known) => {
            Some("a mask of fewer positions than there are keys is not filled up")
        }
        "BitCast"
            if not_bitwise(element(0))
                || not_bitwise(
                    int(node, "to")
                        .and_then(|to| i32::try_from(to).ok())
                        .map(DataType),
                ) =>
        {
            Some("whole numbers and flags are kept in 32 bits, whose bits are others")
        }
        "ReduceMax" | "ReduceMin" if element(0) == Some(DataType::BOOL) => Some("it does not support flags"),
        "ReduceL2" | "ReduceLogSum" | "ReduceLogSumExp" | "ReduceMean"
            if node.input.first().is_some_and(|input| known.is_whole(input)) =>
        {
            Some("it supports floats only")
        }
        _ if operator.starts_with("Reduce") && mend::is_left_alone(node) => {
            let axes = node.input.get(1).and_then(|name| known.dims(name));
            let is_known = node.input.len() < 2 || axes.is_some_and(|axes| axes.iter().all(Option::is_some));
            (!is_known).then_some(
                "`noop_with_empty_axes` with axes that are not known before the run would reduce all",
            )
        }
        "MatMul" if rank(1) == Some(1) && rank(0).is_some_and(|rank| rank > 2) => {
            Some("the product with one dimension would keep a last dimension of 1")
        }
        "OneHot" if is_float(0) || is_float(1) => Some("indices and depth are supported as integers only"),
        "Pow" if is_float(0) && matches!(element(1), Some(DataType::INT32 | DataType::INT64)) => {
            Some("powers of floats are supported with float exponents only")
        }
        "Resize" if text(node, "mode") == Some("cubic") => Some("cubic interpolation would run as linear"),
        _ => None,
    }
}

/// Whether the runtime keeps a type in other bits than ONNX.
fn not_bitwise(element: Option<DataType>) -> bool {
    matches!(
        element,
        Some(DataType::BOOL | DataType::INT64 | DataType::UINT64 | DataType::DOUBLE)
    )
}

/// Whether the mask of an Attention is known to have fewer columns than there are keys: the last dimension but one of these.
fn is_mask_short(node: &NodeProto, known: &Known) -> bool {
    let extent = |input: usize, from_end: usize| {
        let dims = known.dims(node.input.get(input)?)?;
        dims.get(dims.len().checked_sub(from_end)?).copied().flatten()
    };
    matches!((extent(3, 1), extent(1, 2)), (Some(mask), Some(keys)) if 1 < mask && mask < keys)
}

/// The runtime keeps whole numbers in 32 bits, and cuts those beyond at the ends. To where a slice ends, and to the bounds of whole
/// numbers, that does not matter.
fn beyond_32_bits(node: &NodeProto, known: &Known) -> Option<&'static str> {
    let is_bound = |place: usize| match operator(node) {
        "Slice" => place > 0,
        "Clip" | "Max" | "Min" => true,
        _ => false,
    };
    let mut inputs = node.input.iter().enumerate();
    inputs
        .any(|(place, name)| !is_bound(place) && known.is_large(name))
        .then_some("it is given a whole number beyond 32 bits, in which the runtime keeps them")
}

/// What is not supported of an operator that passes a window over its input.
fn of_a_window(node: &NodeProto, known: &Known) -> Option<&'static str> {
    let dims = |input: usize| node.input.get(input).and_then(|name| known.dims(name));
    let is_pool = operator(node).ends_with("Pool");
    let kernel = ints(node, "kernel_shape");
    let axes = match kernel {
        [] if is_pool => None,
        [] => dims(1).map(|weights| weights.len().saturating_sub(2)),
        kernel => Some(kernel.len()),
    };
    if axes.is_some_and(|axes| axes > 2) {
        return Some("only one or two spatial dimensions are supported");
    }
    if kernel.is_empty() && !is_pool {
        return Some("it has no `kernel_shape`, and its weights are not known before the run");
    }
    let pad = text(node, "auto_pad").unwrap_or("NOTSET");
    if pad == "SAME_LOWER" && !pads_alike(node, kernel, dims(0)) {
        return Some("`auto_pad: SAME_LOWER` would run as SAME_UPPER");
    }
    let pads = pad.starts_with("SAME") || ints(node, "pads").iter().any(|pad| *pad != 0);
    let has_zero_point = node.input.get(2).is_some_and(|name| !name.is_empty());
    (operator(node) == "ConvInteger" && has_zero_point && pads)
        .then_some("it would be padded with 0 instead of its zero point")
}

/// Whether the same is padded at both ends, so that SAME_LOWER means SAME_UPPER. With strides that depends on the input's size,
/// and where that is not known the answer is no.
fn pads_alike(node: &NodeProto, kernel: &[i64], input: Option<&[Option<i64>]>) -> bool {
    let (strides, dilations) = (ints(node, "strides"), ints(node, "dilations"));
    let is_transposed = operator(node) == "ConvTranspose";
    kernel.iter().enumerate().all(|(axis, kernel)| {
        let stride = strides.get(axis).copied().unwrap_or(1);
        let dilation = dilations.get(axis).copied().unwrap_or(1);
        let reach = kernel.saturating_sub(1).saturating_mul(dilation);
        let size = input.and_then(|dims| dims.get(2 + axis).copied().flatten());
        // Before the first and after the last step, the window is beyond the input by this much together.
        let beyond = match size {
            _ if is_transposed || stride == 1 => reach.saturating_add(1).saturating_sub(stride),
            Some(size) if stride > 0 && size > 0 => reach - (size - 1) % stride,
            _ => return false,
        };
        beyond.max(0) % 2 == 0
    })
}

fn int(node: &NodeProto, name: &str) -> Option<i64> {
    attribute(node, name)?.i
}

fn ints<'a>(node: &'a NodeProto, name: &str) -> &'a [i64] {
    attribute(node, name).map_or(&[], |attribute| &attribute.ints)
}

fn text<'a>(node: &'a NodeProto, name: &str) -> Option<&'a str> {
    attribute(node, name)?.s.as_deref()
}

#[cfg(test)]
mod tests;
