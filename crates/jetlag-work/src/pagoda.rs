//! The estimate of Pagoda (arXiv 2509.20189), by its rules and with its defects, for comparisons with its published figures.
//! docs/work.md says where and why the true counts differ.
//!
//! What is open is 1; the batch is a factor, not a dimension; a node whose first input or output has no shape, a weight among
//! them, costs nothing; everything is 4 bytes an element; nodes of one name count once, the last of them.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use crate::error::WorkError;
use crate::given::{Given, resolve};
use crate::graph::Graph;
use crate::onnx::{Node, Tensor};
use crate::value::product;
use crate::walk::{Walk, walk};

/// Bytes of an element, whatever its type.
const ELEMENT: u64 = 4;

/// Pagoda's figures of a network.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Pagoda {
    /// Operations.
    pub flops: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Bytes of the weights.
    pub param_bytes: u64,
    /// Operations for each byte; none where nothing moves.
    pub intensity: Option<f64>,
    /// By operator: nodes, operations, bytes, bytes of weights.
    pub operators: BTreeMap<String, Share>,
}

/// One operator's part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// How many nodes.
    pub nodes: u64,
    /// Operations.
    pub flops: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Bytes of the weights.
    pub param_bytes: u64,
}

/// Counts as Pagoda does, for this batch; a training step is three times as much of work and traffic.
///
/// # Errors
/// The nodes contradict each other, or a number does not fit into 64 bits.
pub fn pagoda(graph: &Graph, given: &Given, batch: u64, is_training: bool) -> Result<Pagoda, WorkError> {
    let walk = walk(graph, &resolve(graph, given, true)?)?;
    let listed: HashSet<&str> = graph.main.inputs.iter().map(|input| &*input.name).collect();
    let table = Table {
        walk: &walk,
        weights: graph
            .main
            .initializers
            .iter()
            .map(|tensor| (&*tensor.name, tensor))
            .collect(),
        listed,
        batch,
    };
    let mut by_name: BTreeMap<&str, (&str, Share)> = BTreeMap::new();
    let mut nodes: BTreeMap<&str, u64> = BTreeMap::new();
    for node in &graph.main.nodes {
        let name = match node.name.is_empty() {
            false => &*node.name,
            true => node.outputs.first().map_or("", |name| name),
        };
        *nodes.entry(&node.operator).or_default() += 1;
        let share = table.share(node).ok_or_else(overflow)?;
        by_name.insert(name, (&node.operator, share));
    }
    let mut made = Pagoda::default();
    for (operator, share) in by_name.into_values() {
        let own = made.operators.entry(operator.to_owned()).or_default();
        own.nodes = nodes.get(operator).copied().unwrap_or(0);
        for (to, count) in [
            (&mut own.flops, share.flops),
            (&mut own.bytes, share.bytes),
            (&mut made.flops, share.flops),
            (&mut made.bytes, share.bytes),
            (&mut own.param_bytes, share.param_bytes),
            (&mut made.param_bytes, share.param_bytes),
        ] {
            *to = to.checked_add(count).ok_or_else(overflow)?;
        }
    }
    if is_training {
        made.flops = made.flops.checked_mul(3).ok_or_else(overflow)?;
        made.bytes = made.bytes.checked_mul(3).ok_or_else(overflow)?;
    }
    made.intensity = (made.bytes > 0).then(|| made.flops as f64 / made.bytes as f64);
    Ok(made)
}

fn overflow() -> WorkError {
    WorkError::Overflow {
        what: "Pagoda's estimate".to_owned(),
    }
}

struct Table<'a> {
    walk: &'a Walk,
    weights: HashMap<&'a str, &'a Tensor>,
    listed: HashSet<&'a str>,
    batch: u64,
}

impl Table<'_> {
    /// The shape of a tensor, which weights have none of.
    fn shape(&self, name: &str) -> Option<&[u64]> {
        if self.weights.contains_key(name) && !self.listed.contains(name) {
            return None;
        }
        let value = self.walk.values.get(*self.walk.names.get(name)?)?;
        Some(&value.shape.as_ref().ok()?.dims)
    }

    /// None beyond 64 bits.
    fn share(&self, node: &Node) -> Option<Share> {
        let shapes = node.inputs.first().zip(node.outputs.first());
        let shapes = shapes.and_then(|(input, output)| Some((self.shape(input)?, self.shape(output)?)));
        let Some((input, output)) = shapes else {
            return Some(Share::default());
        };
        let (read, made) = (product(input)?, product(output)?);
        let batch = self.batch;
        let mul = |factors: &[u64]| product(factors);
        let all = |parts: &[u64]| parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(*part));
        let share = |flops: u64, bytes: u64, param_bytes: u64| {
            Some(Share {
                nodes: 0,
                flops,
                bytes,
                param_bytes,
            })
        };
        let each = |count: u64| share(mul(&[count, batch, made])?, mul(&[2, batch, made, ELEMENT])?, 0);
        let moved = || mul(&[all(&[read, made])?, ELEMENT, batch]);
        let weight = node.inputs.get(1).and_then(|name| self.weights.get(&**name));
        match (&*node.operator, weight) {
            ("Conv", Some(weight)) => {
                let ([out, per_group, high, wide], [_, _, space @ ..]) = (&*weight.dims, input) else {
                    return Some(Share::default());
                };
                let group = node
                    .attribute("group")
                    .and_then(|group| group.int)
                    .unwrap_or(1)
                    .unsigned_abs();
                let reduced = mul(&[*per_group, *high, *wide])?;
                let elements = mul(&[batch, *out, product(output.get(2..).unwrap_or_default())?])?;
                let params = mul(&[*out, reduced, ELEMENT])?;
                let fed = mul(&[batch, *per_group, group, product(space)?, ELEMENT])?;
                let flops = all(&[mul(&[2, elements, reduced])?, elements])?;
                share(flops, all(&[params, fed, mul(&[elements, ELEMENT])?])?, params)
            }
            ("Gemm", Some(weight)) => {
                let [out, wide] = *weight.dims else {
                    return Some(Share::default());
                };
                let params = mul(&[out, wide, ELEMENT])?;
                let bytes = all(&[
                    params,
                    mul(&[batch, wide, ELEMENT])?,
                    mul(&[batch, out, ELEMENT])?,
                ])?;
                share(mul(&[2, batch, wide, out])?, bytes, params)
            }
            ("MatMul", _) => {
                let (depth, columns) = (
                    input.last().copied().unwrap_or(1),
                    output.last().copied().unwrap_or(1),
                );
                let rows = read.checked_div(depth).unwrap_or(0);
                let params = mul(&[depth, columns, ELEMENT])?;
                let fed = mul(&[batch, rows, depth, ELEMENT])?;
                let bytes = all(&[params, fed, mul(&[batch, rows, columns, ELEMENT])?])?;
                share(mul(&[2, batch, rows, columns, depth])?, bytes, params)
            }
            ("LSTM", _) => lstm(node, input, output),
            ("Relu", _) => each(1),
            ("Sigmoid" | "HardSigmoid", _) => each(4),
            ("Tanh" | "HardSwish" | "Swish", _) => each(5),
            ("Softmax", _) => each(7),
            ("Erf", _) => each(8),
            ("BatchNormalization", _) => {
                let params = mul(&[2, input.get(1).copied().unwrap_or(1), ELEMENT])?;
                let bytes = all(&[params, mul(&[2, batch, made, ELEMENT])?])?;
                share(mul(&[2, batch, made])?, bytes, params)
            }
            ("MaxPool" | "AveragePool", _) => {
                let kernel = node
                    .attribute("kernel_shape")
                    .map(|kernel| &*kernel.ints)
                    .unwrap_or_default();
                let kernel: Vec<u64> = kernel.iter().map(|size| size.unsigned_abs()).collect();
                let kernel = product(&kernel)?;
                let count = if node.operator == "MaxPool" {
                    kernel.saturating_sub(1)
                } else {
                    kernel
                };
                share(mul(&[count, batch, made])?, moved()?, 0)
            }
            ("GlobalAveragePool", _) => {
                let space = product(input.get(2..).unwrap_or_default())?;
                share(mul(&[space, batch, made])?, moved()?, 0)
            }
            ("Add" | "Sub" | "Mul" | "Div", _) => {
                share(mul(&[batch, made])?, mul(&[3, batch, made, ELEMENT])?, 0)
            }
            ("Transpose" | "Flatten" | "Identity", _) => share(0, moved()?, 0),
            ("Concat", _) => {
                let shaped = node.inputs.iter().filter_map(|name| self.shape(name));
                let sizes: Option<Vec<u64>> = shaped.map(product).collect();
                let sizes = sizes?;
                match sizes.len() {
                    0 | 1 => Some(Share::default()),
                    _ => share(0, mul(&[all(&[all(&sizes)?, made])?, ELEMENT, batch])?, 0),
                }
            }
            ("ConstantOfShape", _) => share(0, mul(&[batch, made, ELEMENT])?, 0),
            _ => Some(Share::default()),
        }
    }
}

/// Once for each multiply-add, without the batch, and no weights: half of what is computed.
fn lstm(node: &Node, input: &[u64], _output: &[u64]) -> Option<Share> {
    let [length, batch, wide] = *input else {
        return Some(Share::default());
    };
    let hidden = node
        .attribute("hidden_size")
        .and_then(|hidden| hidden.int)
        .unwrap_or(0)
        .unsigned_abs();
    let steps = product(&[batch, length])?;
    let mul = |factors: &[u64]| product(factors);
    let all = |parts: &[u64]| parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(*part));
    let flops = all(&[
        mul(&[4, wide, hidden, steps])?,
        mul(&[4, hidden, hidden, steps])?,
        mul(&[4 + 3 * 4 + 5 + 3, hidden, steps])?,
    ])?;
    let bytes = all(&[
        mul(&[4, hidden, wide.checked_add(hidden)?, ELEMENT])?,
        mul(&[steps, wide, ELEMENT])?,
        mul(&[steps, hidden, ELEMENT])?,
        mul(&[2, batch, hidden, ELEMENT])?,
    ])?;
    Some(Share {
        nodes: 0,
        flops,
        bytes,
        param_bytes: 0,
    })
}
