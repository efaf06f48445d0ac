//! Networks with a few wrong bytes, loaded and executed: each is refused or computes something, and none ends the process.
//!
//! Left out are those whose numbers are sizes beyond what is tried here: they may ask for all memory, and get it.
//! More cases: `PROPTEST_CASES=100000 cargo test --features full --lib backend::cpu::damage`.

use proptest::prelude::*;
use rten_onnx::onnx::{
    AttributeProto, AttributeType, DataType, GraphProto, ModelProto, NodeProto, OperatorSetIdProto,
    TensorProto, ValueInfoProto,
};
use rten_tensor::prelude::*;

use super::*;

fn node(operator: &str, inputs: &[&str], output: &str, attributes: &[(&str, &[i64])]) -> NodeProto {
    NodeProto {
        name: Some(output.to_owned()),
        op_type: Some(operator.to_owned()),
        input: inputs.iter().map(|name| (*name).to_owned()).collect(),
        output: vec![output.to_owned()],
        attribute: attributes
            .iter()
            .map(|(name, ints)| AttributeProto {
                name: Some((*name).to_owned()),
                ints: ints.to_vec(),
                r#type: Some(AttributeType::INTS),
                ..AttributeProto::default()
            })
            .collect(),
        ..NodeProto::default()
    }
}

fn whole_numbers(name: &str, numbers: &[i64]) -> TensorProto {
    TensorProto {
        name: Some(name.to_owned()),
        data_type: Some(DataType::INT64),
        dims: vec![numbers.len() as i64],
        raw_data: Some(
            numbers
                .iter()
                .flat_map(|n| n.to_le_bytes())
                .collect::<Vec<u8>>()
                .into(),
        ),
        ..TensorProto::default()
    }
}

fn floats(name: &str, dims: &[i64], value: f32) -> TensorProto {
    TensorProto {
        name: Some(name.to_owned()),
        data_type: Some(DataType::FLOAT),
        dims: dims.to_vec(),
        float_data: vec![value; dims.iter().product::<i64>() as usize],
        ..TensorProto::default()
    }
}

/// A network of operators whose sizes its own numbers say.
fn whole() -> Vec<u8> {
    let spatial: &[(&str, &[i64])] = &[
        ("kernel_shape", &[3, 3]),
        ("pads", &[1, 1, 1, 1]),
        ("strides", &[1, 1]),
        ("dilations", &[1, 1]),
    ];
    let nodes = vec![
        node("Conv", &["x", "kernel"], "convolved", spatial),
        node(
            "MaxPool",
            &["convolved"],
            "pooled",
            &[("kernel_shape", &[2, 2]), ("strides", &[2, 2])],
        ),
        node(
            "ConvTranspose",
            &["pooled", "back"],
            "enlarged",
            &[("kernel_shape", &[2, 2]), ("strides", &[2, 2])],
        ),
        node("Resize", &["pooled", "", "scales"], "resized", &[]),
        node("Pad", &["pooled", "pads"], "padded", &[]),
        node("Reshape", &["pooled", "shape"], "reshaped", &[]),
        node("Expand", &["one", "sizes"], "expanded", &[]),
        node("Tile", &["pooled", "repeats"], "tiled", &[]),
        node("Slice", &["convolved", "starts", "ends"], "sliced", &[]),
        node("ConstantOfShape", &["sizes"], "filled", &[]),
        node("Range", &["first", "last", "step"], "counted", &[]),
        node("OneHot", &["indices", "depth", "both"], "marked", &[]),
    ];
    let output = |node: &NodeProto| ValueInfoProto {
        name: node.name.clone(),
        ..ValueInfoProto::default()
    };
    let scalar = |name: &str, value: f32| floats(name, &[], value);
    let graph = GraphProto {
        output: nodes.iter().map(output).collect(),
        node: nodes,
        input: vec![ValueInfoProto {
            name: Some("x".to_owned()),
            ..ValueInfoProto::default()
        }],
        initializer: vec![
            floats("kernel", &[4, 3, 3, 3], 0.5),
            floats("back", &[4, 2, 2, 2], 0.5),
            floats("scales", &[4], 1.0),
            floats("one", &[1], 1.0),
            floats("both", &[2], 1.0),
            whole_numbers("pads", &[0, 0, 1, 1, 0, 0, 1, 1]),
            whole_numbers("shape", &[1, 4, 16]),
            whole_numbers("sizes", &[3, 4]),
            whole_numbers("repeats", &[1, 1, 2, 2]),
            whole_numbers("starts", &[0, 1, 0, 0]),
            whole_numbers("ends", &[1, 3, 8, 8]),
            whole_numbers("indices", &[1, 2]),
            whole_numbers("depth", &[5]),
            scalar("first", 0.0),
            scalar("last", 9.0),
            scalar("step", 1.0),
        ],
        ..GraphProto::default()
    };
    let model = ModelProto {
        ir_version: Some(8),
        opset_import: vec![OperatorSetIdProto {
            version: Some(17),
            ..OperatorSetIdProto::default()
        }],
        graph: Some(graph),
        ..ModelProto::default()
    };
    model.write_buf().unwrap()
}

/// Loads and executes; what was wrong with the outputs that were not computed.
fn executed(bytes: Vec<u8>) -> Result<Vec<String>, String> {
    let source = NetworkSource::Embedded {
        name: "made-up",
        bytes: bytes.into(),
    };
    let model = load_model(&source).map_err(|error| error.to_string())?;
    let frame = rten_tensor::Tensor::<f32>::full(&[1, 3, 8, 8], 2.0);
    let mut wrong = Vec::new();
    // One by one, so that one that fails hides no other.
    for output in model.output_ids() {
        let inputs = model.input_ids().iter();
        let inputs = inputs.map(|id| (*id, frame.view().into())).collect();
        let run = catch_unwind(AssertUnwindSafe(|| model.run(inputs, &[*output], None)));
        match run {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => wrong.push(error.to_string()),
            Err(_) => wrong.push("panicked".to_owned()),
        }
    }
    Ok(wrong)
}

/// Whether no number in it is a size that would take long.
fn is_modest(bytes: &[u8]) -> bool {
    const MOST: i64 = 64;
    if network::check_bytes(bytes).is_err() {
        return true; // It is not executed.
    }
    let Ok(model) = ModelProto::parse_buf(bytes) else {
        return true;
    };
    let Some(graph) = model.graph else { return true };
    let mut attributes = graph.node.iter().flat_map(|node| &node.attribute);
    let tensors = graph.initializer.iter();
    let is_few = |number: f64| number.abs() <= MOST as f64;
    attributes.all(|attribute| attribute.ints.iter().all(|n| n.unsigned_abs() <= MOST as u64))
        && tensors.filter_map(sizes::numbers).flatten().all(is_few)
}

#[test]
fn undamaged_all_of_it_is_computed() {
    assert_eq!(executed(whole()), Ok(Vec::new()));
}

proptest! {
    #[test]
    fn no_wrong_bytes_end_the_process(places in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![
        any::<u8>(), Just(0), Just(0x7f), Just(0x80), Just(0xff)
    ]), 1..5)) {
        let mut bytes = whole();
        for (place, byte) in places {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if is_modest(&bytes) {
            let _ = executed(bytes);
        }
    }
}
