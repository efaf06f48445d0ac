//! Networks that ONNX allows and the runtime does not execute rightly, written in the form that it does.
//!
//! Nothing of this fails at load, so every network is looked at; nearly all are left exactly as they are.
//!
//! - ONNX lets a convolution leave `kernel_shape` out, to be taken from its weights. rten 0.27 takes the number
//!   of strides, dilations and pads from that attribute and refuses the first frame with "expected 2 stride
//!   values" (CenterPoint's published encoder is such a network). It is stated.
//! - Until opset 13 a Softmax without `axis` began at axis 1; rten takes the last, as is right from 13 on, and
//!   without a word gives every class of a `[1, C, 1, 1]` the score 1. Axis 1 is stated. (It then meant all axes
//!   from 1 on together, which is the same where the later ones are of length 1.)

use std::collections::HashMap;

use rten_onnx::onnx::{AttributeProto, AttributeType, GraphProto, ModelProto, ValueInfoProto};

use crate::backend::NetworkSource;

/// The network with what it leaves open stated, or `None` where there is nothing to mend: also where it cannot be
/// read (the runtime says so better), and where weights lie in other files, which only the runtime finds, from the
/// network's own path.
pub(super) fn mended(network: &NetworkSource) -> Option<Vec<u8>> {
    let mut model = match network {
        NetworkSource::File(path) => ModelProto::parse_file(std::fs::File::open(path).ok()?),
        NetworkSource::Embedded { bytes, .. } => ModelProto::parse_buf(bytes),
    }
    .ok()?;
    // The runtime reads networks through these same types, so that what they do not keep it never saw.
    let old = model.opset_import.iter().any(|set| {
        let standard = matches!(set.domain.as_deref(), None | Some("" | "ai.onnx"));
        standard && set.version.is_some_and(|version| version < 13)
    });
    state_what_is_open(model.graph.as_mut()?, old).then(|| model.write_buf().ok())?
}

/// Adds what is missing; whether anything was. `old` is an opset before 13.
fn state_what_is_open(graph: &mut GraphProto, old: bool) -> bool {
    if graph.initializer.iter().any(|t| !t.external_data.is_empty()) {
        return false;
    }
    let inputs = graph
        .input
        .iter()
        .filter_map(|v| Some((v.name.as_deref()?, known_shape(v)?)));
    let weights = graph
        .initializer
        .iter()
        .filter_map(|t| Some((t.name.as_deref()?, t.dims.clone())));
    let shapes: HashMap<&str, Vec<i64>> = inputs.chain(weights).collect();
    let mut added = false;
    for node in &mut graph.node {
        let stated = |name: &str| node.attribute.iter().any(|a| a.name.as_deref() == Some(name));
        let missing = match node.op_type.as_deref().unwrap_or_default() {
            "Conv" | "ConvInteger" | "ConvTranspose" if !stated("kernel_shape") => {
                // Weights are [outputs, inputs, kernel…]. Those that a node computes have no shape here.
                let weights = node.input.get(1).and_then(|name| shapes.get(name.as_str()));
                let Some([_, _, kernel @ ..]) = weights.map(Vec::as_slice) else {
                    continue;
                };
                AttributeProto {
                    name: Some("kernel_shape".to_owned()),
                    ints: kernel.to_vec(),
                    r#type: Some(AttributeType::INTS),
                    ..AttributeProto::default()
                }
            }
            "Softmax" | "LogSoftmax" if old && !stated("axis") => AttributeProto {
                name: Some("axis".to_owned()),
                i: Some(1),
                r#type: Some(AttributeType::INT),
                ..AttributeProto::default()
            },
            _ => continue,
        };
        node.attribute.push(missing);
        added = true;
    }
    added
}

/// The shape of an input all of whose dimensions are numbers.
fn known_shape(value: &ValueInfoProto) -> Option<Vec<i64>> {
    let shape = value.r#type.as_ref()?.tensor_type.as_ref()?.shape.as_ref()?;
    shape.dim.iter().map(|d| d.dim_value).collect()
}

#[cfg(test)]
mod tests {
    use rten_onnx::onnx::{NodeProto, StringStringEntryProto, TensorProto};

    use super::*;

    fn graph(operator: &str, attributes: &[&str], dims: &[i64]) -> GraphProto {
        let attribute = |name: &&str| AttributeProto {
            name: Some((*name).to_owned()),
            ints: vec![3, 3],
            ..AttributeProto::default()
        };
        GraphProto {
            node: vec![NodeProto {
                op_type: Some(operator.to_owned()),
                input: vec!["x".to_owned(), "w".to_owned()],
                attribute: attributes.iter().map(attribute).collect(),
                ..NodeProto::default()
            }],
            initializer: vec![TensorProto {
                name: Some("w".to_owned()),
                dims: dims.to_vec(),
                ..TensorProto::default()
            }],
            ..GraphProto::default()
        }
    }

    fn kernel(graph: &GraphProto) -> Option<&[i64]> {
        let mut attributes = graph.node[0].attribute.iter();
        attributes
            .find(|a| a.name.as_deref() == Some("kernel_shape"))
            .map(|a| a.ints.as_slice())
    }

    #[test]
    fn a_convolution_without_its_kernel_gets_it_from_its_weights() {
        for (dims, expected) in [
            (&[8, 4, 1, 5][..], &[1, 5][..]),
            (&[8, 4, 7], &[7]),
            (&[8, 4, 1, 2, 3], &[1, 2, 3]),
        ] {
            let mut graph = graph("Conv", &["strides"], dims);
            assert!(state_what_is_open(&mut graph, true));
            assert_eq!(kernel(&graph), Some(expected));
            assert_eq!(graph.node[0].attribute.len(), 2, "the others stay");
        }
    }

    #[test]
    fn whatever_is_complete_or_no_convolution_or_beyond_reach_stays_as_it_is() {
        assert!(!state_what_is_open(
            &mut graph("Conv", &["kernel_shape"], &[8, 4, 1, 1]),
            true
        ));
        assert!(!state_what_is_open(
            &mut graph("MatMul", &[], &[8, 4, 1, 1]),
            true
        ));
        assert!(!state_what_is_open(&mut graph("Conv", &[], &[8]), true));
        let mut computed = graph("Conv", &[], &[8, 4, 1, 1]);
        computed.initializer[0].name = Some("other".to_owned());
        assert!(!state_what_is_open(&mut computed, true));
        let mut external = graph("Conv", &[], &[8, 4, 1, 1]);
        external.initializer[0].external_data = vec![StringStringEntryProto {
            key: Some("location".to_owned()),
            value: Some("weights.bin".to_owned()),
        }];
        assert!(!state_what_is_open(&mut external, true));
        assert_eq!(kernel(&external), None);
    }

    #[test]
    fn a_softmax_of_old_gets_the_axis_that_it_had_by_default() {
        let mut old = graph("Softmax", &[], &[]);
        assert!(state_what_is_open(&mut old, true));
        assert_eq!(old.node[0].attribute[0].i, Some(1));
        assert!(!state_what_is_open(&mut graph("Softmax", &[], &[]), false));
        assert!(!state_what_is_open(&mut graph("Softmax", &["axis"], &[]), true));
    }
}
