//! Networks that ONNX allows and the runtime does not execute, written in the form that it does.
//!
//! ONNX lets a convolution leave `kernel_shape` out, to be taken from its weights. rten 0.27 takes the number
//! of strides, dilations and pads from that attribute, loads the network without a word, and refuses the
//! first frame with "expected 2 stride values" (CenterPoint's published encoder is such a network). Because
//! nothing fails at load, every network is looked at; nearly all are left exactly as they are.

use std::collections::HashMap;

use rten_onnx::onnx::{AttributeProto, AttributeType, GraphProto, ModelProto};

use crate::backend::NetworkSource;

/// The network with every convolution's kernel stated, or `None` where there is nothing to mend: also where it
/// cannot be read (the runtime says so better), and where weights lie in other files, which only the runtime
/// finds, from the network's own path.
pub(super) fn kernel_shapes(network: &NetworkSource) -> Option<Vec<u8>> {
    let mut model = match network {
        NetworkSource::File(path) => ModelProto::parse_file(std::fs::File::open(path).ok()?),
        NetworkSource::Embedded { bytes, .. } => ModelProto::parse_buf(bytes),
    }
    .ok()?;
    // The runtime reads networks through these same types, so that what they do not keep it never saw.
    state_kernels(model.graph.as_mut()?).then(|| model.write_buf().ok())?
}

/// Adds what is missing; whether anything was.
fn state_kernels(graph: &mut GraphProto) -> bool {
    if graph.initializer.iter().any(|t| !t.external_data.is_empty()) {
        return false;
    }
    let weights: HashMap<&str, &[i64]> = graph
        .initializer
        .iter()
        .filter_map(|t| Some((t.name.as_deref()?, t.dims.as_slice())))
        .collect();
    let mut added = false;
    for node in &mut graph.node {
        let operator = node.op_type.as_deref().unwrap_or_default();
        let stated = |a: &AttributeProto| a.name.as_deref() == Some("kernel_shape");
        if !matches!(operator, "Conv" | "ConvInteger" | "ConvTranspose") || node.attribute.iter().any(stated)
        {
            continue;
        }
        // Weights are [outputs, inputs, kernel…]. Those that a node computes have no shape to be seen here.
        let Some([_, _, kernel @ ..]) = node.input.get(1).and_then(|w| weights.get(w.as_str())) else {
            continue;
        };
        node.attribute.push(AttributeProto {
            name: Some("kernel_shape".to_owned()),
            ints: kernel.to_vec(),
            r#type: Some(AttributeType::INTS),
            ..AttributeProto::default()
        });
        added = true;
    }
    added
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
            assert!(state_kernels(&mut graph));
            assert_eq!(kernel(&graph), Some(expected));
            assert_eq!(graph.node[0].attribute.len(), 2, "the others stay");
        }
    }

    #[test]
    fn whatever_is_complete_or_no_convolution_or_beyond_reach_stays_as_it_is() {
        assert!(!state_kernels(&mut graph(
            "Conv",
            &["kernel_shape"],
            &[8, 4, 1, 1]
        )));
        assert!(!state_kernels(&mut graph("MatMul", &[], &[8, 4, 1, 1])));
        assert!(!state_kernels(&mut graph("Conv", &[], &[8])));
        let mut computed = graph("Conv", &[], &[8, 4, 1, 1]);
        computed.initializer[0].name = Some("other".to_owned());
        assert!(!state_kernels(&mut computed));
        let mut external = graph("Conv", &[], &[8, 4, 1, 1]);
        external.initializer[0].external_data = vec![StringStringEntryProto {
            key: Some("location".to_owned()),
            value: Some("weights.bin".to_owned()),
        }];
        assert!(!state_kernels(&mut external));
        assert_eq!(kernel(&external), None);
    }
}
