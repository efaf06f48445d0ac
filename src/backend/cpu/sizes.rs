//! Networks whose own numbers ask for more memory than there is, told before the runtime asks for it.
//!
//! A runtime that is refused memory ends the process, and rten computes what depends on constants alone as soon as it loads a
//! network. So nodes that make a large tensor of a few numbers are looked at wherever these numbers are constants. What a
//! network computes of its frames, or of constants by way of other nodes, is not looked at.

use std::collections::HashMap;

use rten_onnx::onnx::{DataType, GraphProto, ModelProto, NodeProto, TensorProto};

use super::known::{attribute, operator};

/// As many elements as a tensor may have: 4 GiB of floats.
const MOST_ELEMENTS: f64 = (1_u64 << 30) as f64;
/// Constants of more elements are no sizes.
const MOST_NUMBERS: usize = 64;

/// The numbers of small constants by name; those of the graphs around too.
struct Numbers<'a> {
    own: HashMap<&'a str, Vec<f64>>,
    outer: Option<&'a Numbers<'a>>,
}

impl<'a> Numbers<'a> {
    fn of(graph: &'a GraphProto, outer: Option<&'a Numbers<'a>>) -> Self {
        let weights = graph
            .initializer
            .iter()
            .filter_map(|tensor| Some((tensor.name.as_deref()?, numbers(tensor)?)));
        let constants = graph.node.iter().filter_map(constant);
        Numbers {
            own: weights.chain(constants).collect(),
            outer,
        }
    }

    fn get(&self, name: &str) -> Option<&[f64]> {
        match self.own.get(name) {
            Some(numbers) => Some(numbers),
            None => self.outer?.get(name),
        }
    }
}

/// What is said of the first node that asks for too much.
pub(super) fn too_large(model: &ModelProto) -> Option<String> {
    in_graph(model.graph.as_ref()?, None)
}

fn in_graph(graph: &GraphProto, outer: Option<&Numbers<'_>>) -> Option<String> {
    let numbers = Numbers::of(graph, outer);
    graph.node.iter().find_map(|node| {
        let asked = elements(node, &numbers).filter(|asked| *asked > MOST_ELEMENTS);
        let said = asked.map(|asked| {
            format!(
                "its node `{}` ({}) needs a tensor of {asked:.0} elements, more than the limit of {MOST_ELEMENTS:.0}; export the network with the intended sizes",
                node.name.as_deref().unwrap_or_default().escape_debug(),
                operator(node).escape_debug(),
            )
        });
        let mut inner = node.attribute.iter().filter_map(|a| a.g.as_ref());
        said.or_else(|| inner.find_map(|graph| in_graph(graph, Some(&numbers))))
    })
}

/// The least number of elements that a node's output has by its constants; none where they do not say.
fn elements(node: &NodeProto, numbers: &Numbers<'_>) -> Option<f64> {
    let input = |input: usize| numbers.get(node.input.get(input)?);
    let ints = |name: &str| Some(attribute(node, name)?.ints.iter().map(|n| *n as f64));
    let product = |sizes: &[f64]| sizes.iter().map(|size| size.max(0.0)).product::<f64>();
    // Each axis is at least as long as what is put before and after it.
    let padded = |pads: &[f64]| {
        let (before, after) = pads.split_at(pads.len() / 2);
        let axes = before.iter().zip(after);
        axes.map(|(before, after)| (before + after).max(1.0)).product()
    };
    match operator(node) {
        "ConstantOfShape" => input(0).map(product),
        "Expand" | "Tile" => input(1).map(product),
        "Pad" => match input(1) {
            Some(pads) => Some(padded(pads)),
            None => ints("pads").map(|pads| padded(&pads.collect::<Vec<_>>())),
        },
        "OneHot" => input(1)?.first().copied(),
        "Range" => {
            let first = |place| input(place)?.first().copied();
            let steps = (first(1)? - first(0)?) / first(2)?;
            // With a step of 0 it would never end.
            Some(if steps.is_nan() { f64::INFINITY } else { steps })
        }
        "Resize" => match input(3) {
            Some(sizes) => Some(product(sizes)),
            None => input(2).map(product),
        },
        "Upsample" => input(1).map(product),
        "RandomNormal" | "RandomUniform" => Some(product(&ints("shape")?.collect::<Vec<_>>())),
        "ConvTranspose" => {
            let given = ints("output_shape").map_or(0.0, |shape| product(&shape.collect::<Vec<_>>()));
            let more = ints("output_padding").map_or(0.0, |more| product(&more.collect::<Vec<_>>()));
            Some(given.max(more))
        }
        "Conv" | "ConvInteger" | "QLinearConv" | "MaxPool" | "AveragePool" => {
            let strides = ints("strides").map_or(1.0, |strides| product(&strides.collect::<Vec<_>>()));
            Some(padded(&ints("pads")?.collect::<Vec<_>>()) / strides.max(1.0))
        }
        _ => None,
    }
}

/// The output and the numbers of a constant's node.
fn constant(node: &NodeProto) -> Option<(&str, Vec<f64>)> {
    if operator(node) != "Constant" {
        return None;
    }
    let output = node.output.first()?.as_str();
    let numbers = node
        .attribute
        .iter()
        .find_map(|value| match value.name.as_deref()? {
            "value" => numbers(value.t.as_ref()?),
            "value_int" => Some(vec![value.i? as f64]),
            "value_float" => Some(vec![f64::from(value.f?)]),
            "value_ints" => few(value.ints.len()).then(|| value.ints.iter().map(|n| *n as f64).collect()),
            "value_floats" => {
                few(value.floats.len()).then(|| value.floats.iter().copied().map(f64::from).collect())
            }
            _ => None,
        })?;
    Some((output, numbers))
}

fn few(numbers: usize) -> bool {
    numbers <= MOST_NUMBERS
}

/// The numbers of a small tensor.
pub(super) fn numbers(tensor: &TensorProto) -> Option<Vec<f64>> {
    let raw = tensor.raw_data.as_ref().map(|raw| raw.borrow());
    let raw = raw.as_deref().map_or(&[][..], Vec::as_slice);
    if !few(raw.len() / 8) {
        return None;
    }
    let found: Vec<f64> = match tensor.data_type? {
        DataType::INT64 if raw.is_empty() => of_typed(&tensor.int64_data, |n| n as f64)?,
        DataType::INT32 if raw.is_empty() => of_typed(&tensor.int32_data, f64::from)?,
        DataType::FLOAT if raw.is_empty() => of_typed(&tensor.float_data, f64::from)?,
        DataType::DOUBLE if raw.is_empty() => of_typed(&tensor.double_data, |n| n)?,
        DataType::INT64 => raw
            .as_chunks()
            .0
            .iter()
            .map(|b| i64::from_le_bytes(*b) as f64)
            .collect(),
        DataType::INT32 => raw
            .as_chunks()
            .0
            .iter()
            .map(|b| i32::from_le_bytes(*b).into())
            .collect(),
        DataType::FLOAT => raw
            .as_chunks()
            .0
            .iter()
            .map(|b| f32::from_le_bytes(*b).into())
            .collect(),
        DataType::DOUBLE => raw.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
        _ => return None,
    };
    Some(found)
}

fn of_typed<T: Copy>(data: &[T], number: impl Fn(T) -> f64) -> Option<Vec<f64>> {
    few(data.len()).then(|| data.iter().copied().map(number).collect())
}

#[cfg(test)]
mod tests {
    use rten_onnx::onnx::AttributeProto;

    use super::*;

    fn node(operator: &str, inputs: &[&str], attributes: &[(&str, &[i64])]) -> NodeProto {
        NodeProto {
            name: Some("n".to_owned()),
            op_type: Some(operator.to_owned()),
            input: inputs.iter().map(|name| (*name).to_owned()).collect(),
            output: vec!["y".to_owned()],
            attribute: attributes
                .iter()
                .map(|(name, ints)| AttributeProto {
                    name: Some((*name).to_owned()),
                    ints: ints.to_vec(),
                    ..AttributeProto::default()
                })
                .collect(),
            ..NodeProto::default()
        }
    }

    /// A graph of this node and these constants, half of them kept one way and half the other.
    fn graph(node: NodeProto, constants: &[(&str, &[f64])]) -> GraphProto {
        let initializer = constants.iter().enumerate().map(|(place, (name, numbers))| {
            let mut tensor = TensorProto {
                name: Some((*name).to_owned()),
                ..TensorProto::default()
            };
            if place % 2 == 0 {
                tensor.data_type = Some(DataType::INT64);
                let bytes = numbers.iter().flat_map(|n| (*n as i64).to_le_bytes());
                tensor.raw_data = Some(bytes.collect::<Vec<u8>>().into());
            } else {
                tensor.data_type = Some(DataType::FLOAT);
                tensor.float_data = numbers.iter().map(|n| *n as f32).collect();
            }
            tensor
        });
        GraphProto {
            initializer: initializer.collect(),
            node: vec![node],
            ..GraphProto::default()
        }
    }

    fn said(graph: GraphProto) -> Option<String> {
        too_large(&ModelProto {
            graph: Some(graph),
            ..ModelProto::default()
        })
    }

    #[test]
    fn a_tensor_beyond_all_memory_is_told_by_its_node() {
        let huge: &[f64] = &[1e6, 1e6];
        let cases = [
            graph(node("ConstantOfShape", &["s"], &[]), &[("s", huge)]),
            graph(node("Expand", &["x", "s"], &[]), &[("s", huge)]),
            graph(node("Tile", &["x", "s"], &[]), &[("s", huge)]),
            graph(node("Pad", &["x", "s"], &[]), &[("s", &[0.0, 0.0, 1e6, 1e6])]),
            graph(node("OneHot", &["x", "s", "v"], &[]), &[("s", &[1e12])]),
            graph(
                node("Range", &["a", "b", "c"], &[]),
                &[("a", &[0.0]), ("b", &[1e12]), ("c", &[1.0])],
            ),
            graph(
                node("Range", &["a", "b", "c"], &[]),
                &[("a", &[0.0]), ("b", &[1.0]), ("c", &[0.0])],
            ),
            graph(node("Resize", &["x", "", "", "s"], &[]), &[("s", huge)]),
            graph(node("Resize", &["x", "", "s"], &[]), &[("", &[]), ("s", huge)]),
            graph(
                node("RandomNormal", &[], &[("shape", &[1_000_000, 1_000_000])]),
                &[],
            ),
            graph(
                node("Conv", &["x", "w"], &[("pads", &[0, 0, 1_000_000, 1_000_000])]),
                &[],
            ),
        ];
        for graph in cases {
            let operator = graph.node[0].op_type.clone().unwrap();
            let said = said(graph).unwrap_or_else(|| panic!("{operator}: nothing was said"));
            assert!(said.contains(&format!("`n` ({operator}) needs")), "{said}");
        }
    }

    #[test]
    fn also_within_a_branch_by_a_constant_outside() {
        let inner = graph(node("ConstantOfShape", &["s"], &[]), &[]);
        let mut choice = node("If", &["c"], &[]);
        choice.attribute.push(AttributeProto {
            name: Some("then_branch".to_owned()),
            g: Some(inner),
            ..AttributeProto::default()
        });
        assert!(said(graph(choice, &[("s", &[1e6, 1e6])])).is_some());
    }

    #[test]
    fn what_networks_ask_for_is_taken() {
        let sizes: &[f64] = &[1.0, 64.0, 512.0, 512.0];
        for graph in [
            graph(node("ConstantOfShape", &["s"], &[]), &[("s", sizes)]),
            graph(node("Expand", &["x", "s"], &[]), &[("s", &[-1.0, 1e6])]),
            graph(node("Pad", &["x", "s"], &[]), &[("s", &[-3.0, 0.0, 0.0, 9.0])]),
            graph(
                node("Range", &["a", "b", "c"], &[]),
                &[("a", &[100.0]), ("b", &[0.0]), ("c", &[-1.0])],
            ),
            graph(node("Expand", &["x", "computed"], &[]), &[]),
            graph(node("Conv", &["x", "w"], &[("pads", &[3, 3, 3, 3])]), &[]),
        ] {
            assert_eq!(said(graph), None);
        }
    }
}
