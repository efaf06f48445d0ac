//! The layers of a network as shapes: what a model of time or memory is fitted on.

use std::collections::HashMap;

use serde::Serialize;

use crate::error::WorkError;
use crate::given::{Given, resolve};
use crate::graph::Graph;
use crate::onnx::Node;
use crate::walk::walk;

/// A layer: a node of the outermost graph that computes or moves something when the network is executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LayerShape {
    /// Its name, or its first output's.
    pub name: String,
    /// Its operator.
    pub operator: String,
    /// The shape of its first input.
    pub input: Vec<u64>,
    /// The shape of its first output.
    pub output: Vec<u64>,
    /// Height and width of the kernel; 1 × 1 where there is none.
    pub kernel: [u64; 2],
    /// Stride down and across.
    pub strides: [u64; 2],
    /// Padding above and left.
    pub padding: [u64; 2],
    /// Groups of channels that do not see each other.
    pub groups: u64,
    /// Indices of the layers whose outputs it reads; empty for one that reads the network's inputs alone.
    pub reads: Vec<usize>,
    /// The constant tensor that holds its weights, by the name of the one that is stored: layers with the same name share it. None where the
    /// operator has none, or multiplies by what another layer made.
    pub weights: Option<String>,
    /// It computes with sizes, as exporters write it for a reshape, and so follows from the sizes that are given. A runtime that was told
    /// only some of them executes it on the host. Nothing counts as reading it.
    pub is_of_sizes: bool,
}

/// The layers of a network at some sizes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Layers {
    /// The first dimension of the network's first input, which mostly is the batch; 1 for a scalar.
    pub batch: u64,
    /// The layers, in the order of execution.
    pub layers: Vec<LayerShape>,
}

/// Operators that only look at a tensor in another way, or tell its sizes.
const VIEWS: [&str; 8] = [
    "Reshape",
    "Flatten",
    "Squeeze",
    "Unsqueeze",
    "Identity",
    "Shape",
    "Size",
    "Dropout",
];

/// Operators that pass a constant on as it is: exporters write equal weights once, and name them anew for each layer.
const PASSED_ON: [&str; 5] = ["Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze"];

/// Operators that multiply by weights, quantised or not; they may also multiply by what another layer made.
const MULTIPLY: [&str; 4] = ["Conv", "Gemm", "MatMul", "Attention"];

/// The layers of a network. Nodes that constants alone decide, views, and nodes whose sizes are not known are left out: what reads them reads
/// what they read.
///
/// # Errors
/// Sizes are missing or contradict the graph, or nodes contradict their inputs.
pub fn layers(graph: &Graph, given: &Given) -> Result<Layers, WorkError> {
    let resolved = resolve(graph, given, false)?;
    let first = resolved
        .inputs
        .first()
        .and_then(|(_, value)| value.shape.as_ref().ok());
    let batch = first.and_then(|shape| shape.dims.first()).copied().unwrap_or(1);
    let walk = walk(graph, &resolved)?;
    let shape = |name: &String| -> Option<Vec<u64>> {
        let value = walk.values.get(*walk.names.get(name)?)?;
        value.shape.as_ref().ok().map(|shape| shape.dims.clone())
    };
    let is_constant = |name: &String| {
        let value = walk.names.get(name).and_then(|id| walk.values.get(*id));
        value.is_none_or(|value| value.constant)
    };
    let is_number = |name: &String| {
        let value = walk.names.get(name).and_then(|id| walk.values.get(*id));
        value.is_some_and(|value| value.data.is_some())
    };
    let mut layers: Vec<LayerShape> = Vec::new();
    // By constant that is another one seen in another way, that one.
    let mut stored: HashMap<&str, &str> = HashMap::new();
    // By tensor, the layers that decide it.
    let mut made_by: HashMap<&str, Vec<usize>> = HashMap::new();
    for node in &graph.main.nodes {
        let mut reads: Vec<usize> = node
            .inputs
            .iter()
            .filter_map(|name| made_by.get(name.as_str()))
            .flatten()
            .copied()
            .collect();
        reads.sort_unstable();
        reads.dedup();
        let fed = node
            .inputs
            .iter()
            .find(|name| !name.is_empty() && !is_constant(name));
        if fed.is_none()
            && PASSED_ON.contains(&node.operator.as_str())
            && let (Some(from), Some(to)) = (node.inputs.first(), node.outputs.first())
        {
            stored.insert(to, stored.get(from.as_str()).copied().unwrap_or(from));
        }
        // Biases, scales and zero points have fewer dimensions.
        let is_weights = |name: &&String| is_constant(name) && shape(name).is_some_and(|dims| dims.len() > 1);
        let weights = MULTIPLY
            .iter()
            .any(|part| node.operator.contains(part))
            .then(|| node.inputs.iter().find(is_weights))
            .flatten()
            .map(|name| stored.get(name.as_str()).copied().unwrap_or(name).to_owned());
        let shapes = fed.and_then(shape).zip(node.outputs.first().and_then(shape));
        let is_of_sizes = node.outputs.first().is_some_and(is_number);
        let makes = match shapes {
            Some((input, output)) if is_of_sizes && !VIEWS.contains(&node.operator.as_str()) => {
                layers.push(LayerShape {
                    is_of_sizes,
                    ..layer(node, input, output, None, Vec::new(), None)
                });
                Vec::new()
            }
            _ if is_of_sizes => Vec::new(),
            Some((input, output)) if !VIEWS.contains(&node.operator.as_str()) => {
                let of_weights = node.inputs.get(1).and_then(shape);
                layers.push(layer(node, input, output, of_weights, reads, weights));
                vec![layers.len() - 1]
            }
            _ => reads,
        };
        for name in &node.outputs {
            made_by.insert(name, makes.clone());
        }
    }
    Ok(Layers { batch, layers })
}

fn layer(
    node: &Node,
    input: Vec<u64>,
    output: Vec<u64>,
    of_weights: Option<Vec<u64>>,
    reads: Vec<usize>,
    weights: Option<String>,
) -> LayerShape {
    let ints = |name: &str| node.attribute(name).map(|attribute| attribute.ints.as_slice());
    let pair = |values: Option<&[i64]>, usual: u64| {
        let at = |axis: usize| {
            let value = values.and_then(|values| values.get(axis)).copied();
            value.map_or(usual, |value| u64::try_from(value).unwrap_or(usual))
        };
        match values.map_or(0, <[i64]>::len) {
            // Of one spatial dimension: down.
            1 => [at(0), usual],
            _ => [at(0), at(1)],
        }
    };
    // Where the attribute is left out, a convolution's weights tell it.
    let kernel_of_weights = || match (
        node.operator.ends_with("Conv") || node.operator.starts_with("Conv"),
        of_weights.as_deref(),
    ) {
        (true, Some([_, _, down, across, ..])) => [*down, *across],
        (true, Some([_, _, down])) => [*down, 1],
        _ => [1, 1],
    };
    let kernel = match ints("kernel_shape") {
        Some(values) => pair(Some(values), 1),
        None => kernel_of_weights(),
    };
    let strides = pair(ints("strides"), 1);
    // Beginnings of all axes come before their ends.
    let padding = match node
        .attribute("auto_pad")
        .and_then(|attribute| attribute.text.as_deref())
    {
        Some("SAME_UPPER" | "SAME_LOWER") => same_padding(&input, &output, kernel, strides),
        _ => {
            let pads = ints("pads").filter(|pads| pads.len() >= 2);
            pair(pads.map(|pads| &pads[..pads.len() / 2]), 0)
        }
    };
    let groups = node.attribute("group").and_then(|attribute| attribute.int);
    LayerShape {
        name: node.label().to_owned(),
        operator: node.operator.clone(),
        input,
        output,
        kernel,
        strides,
        padding,
        groups: groups
            .and_then(|groups| u64::try_from(groups).ok())
            .unwrap_or(1)
            .max(1),
        reads,
        weights,
        is_of_sizes: false,
    }
}

/// Half of what is missing for the output's size, above and left.
fn same_padding(input: &[u64], output: &[u64], kernel: [u64; 2], strides: [u64; 2]) -> [u64; 2] {
    [0, 1].map(|axis| {
        let sizes = input.get(axis + 2).zip(output.get(axis + 2));
        sizes.map_or(0, |(from, to)| {
            let reach = to
                .saturating_sub(1)
                .saturating_mul(strides[axis])
                .saturating_add(kernel[axis]);
            reach.saturating_sub(*from) / 2
        })
    })
}
