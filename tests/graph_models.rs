//! Whole architectures and single operators on the cpu backend: data/models/graphs, of the ONNX project.
//!
//! The architectures have constant weights, so that their output is uniform: they show that the graph loads
//! and runs with its weights made by nodes, and say little of its numerics. The operators do the opposite.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests fail and speak so")]

use crate::common::pipeline;

use std::path::Path;

use jetlag::backend::{NetworkSource, Program, Slot, Step, TensorSpec};
use jetlag::engine::network;
use jetlag::tensor::{ElementType, HostTensor, Shape};
use nvidia_doubles::machine;
use rten_onnx::onnx::{DataType, TensorProto};
use rten_onnx::protobuf::{DecodeMessage, ValueReader};

/// A stored tensor. Indices come as 32-bit integers, which is how the cpu backend takes them.
struct Stored {
    element: ElementType,
    dims: Vec<usize>,
    bytes: Vec<u8>,
}

fn stored(path: &Path) -> Stored {
    let file = std::fs::read(path).unwrap();
    let tensor = TensorProto::decode(ValueReader::from_buf(&file)).unwrap();
    let raw = tensor.raw_data.map(|raw| raw.into_inner()).unwrap_or_default();
    let wide = |values: &[i64]| values.iter().flat_map(|v| (*v as i32).to_le_bytes()).collect();
    let (element, bytes) = match tensor.data_type.unwrap() {
        DataType::FLOAT if raw.is_empty() => {
            let values = tensor.float_data.iter();
            (ElementType::F32, values.flat_map(|v| v.to_le_bytes()).collect())
        }
        DataType::FLOAT => (ElementType::F32, raw),
        DataType::INT64 if raw.is_empty() => (ElementType::I32, wide(&tensor.int64_data)),
        DataType::INT64 => {
            let values: Vec<i64> = raw
                .chunks_exact(8)
                .map(|b| i64::from_le_bytes(b.try_into().unwrap()))
                .collect();
            (ElementType::I32, wide(&values))
        }
        DataType::UINT8 if raw.is_empty() => {
            let values = tensor.int32_data.iter();
            (ElementType::U8, values.map(|v| *v as u8).collect())
        }
        DataType::UINT8 => (ElementType::U8, raw),
        other => panic!("{}: no case here has {other:?}", path.display()),
    };
    Stored {
        element,
        dims: tensor.dims.iter().map(|d| *d as usize).collect(),
        bytes,
    }
}

/// The network opened over inputs of these shapes, with what fills them written.
fn filled(path: &Path, inputs: Vec<(String, Stored)>) -> Result<Box<dyn Slot>, String> {
    let program = Program {
        engines: vec![NetworkSource::File(path.to_owned())],
        steps: vec![Step::Engine(0)],
        host_tensors: inputs
            .iter()
            .map(|(name, input)| TensorSpec {
                name: name.clone(),
                element: input.element,
                max_shape: Shape::new(&input.dims).unwrap(),
            })
            .collect(),
        ..Program::default()
    };
    let mut slot = pipeline::try_open_slot(&program).map_err(|e| e.to_string())?;
    for (name, input) in &inputs {
        let tensor = slot.tensors_mut().get_mut(name).unwrap();
        tensor.bytes_mut().copy_from_slice(&input.bytes);
    }
    slot.submit().map_err(|e| e.to_string())?;
    slot.wait().map_err(|e| e.to_string())?;
    Ok(slot)
}

/// The largest difference between a result and what was stored of it, relative to the largest value.
fn difference(found: &HostTensor, wanted: &Stored) -> f64 {
    assert_eq!(found.shape().dims(), wanted.dims, "{}", found.name());
    assert_eq!(found.element(), wanted.element, "{}", found.name());
    let values = |bytes: &[u8]| -> Vec<f64> {
        let whole = |b: &[u8]| [b[0], b[1], b[2], b[3]];
        match wanted.element {
            ElementType::F32 => bytes
                .chunks_exact(4)
                .map(|b| f64::from(f32::from_le_bytes(whole(b))))
                .collect(),
            ElementType::I32 => bytes
                .chunks_exact(4)
                .map(|b| f64::from(i32::from_le_bytes(whole(b))))
                .collect(),
            _ => bytes.iter().map(|b| f64::from(*b)).collect(),
        }
    };
    let (found, wanted) = (values(found.bytes()), values(&wanted.bytes));
    let largest = wanted.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
    let pairs = found.iter().zip(&wanted);
    pairs.fold(0.0, |most: f64, (a, b)| most.max((a - b).abs())) / largest.max(f64::MIN_POSITIVE)
}

#[test]
fn whole_architectures_answer_a_ramp_as_stored_or_say_what_is_lacking() {
    let Some(folder) = machine::shared("data/models/graphs") else {
        return;
    };
    for (name, lacking) in [
        ("densenet121", None),
        ("inception_v1", Some("LRN")),
        ("resnet50", None),
        ("shufflenet", None),
        ("squeezenet", None),
    ] {
        let path = folder.join(format!("light_{name}.onnx"));
        let facts = network::read(&path).unwrap();
        let dims: Vec<usize> = facts.inputs[0].shape.iter().map(|d| d.parse().unwrap()).collect();
        let count = dims.iter().product::<usize>();
        let ramp = Stored {
            element: ElementType::F32,
            bytes: (0..count)
                .flat_map(|k| (k as f32 / (count - 1) as f32).to_le_bytes())
                .collect(),
            dims,
        };
        let ran = filled(&path, vec![(facts.inputs[0].name.clone(), ramp)]);
        let slot = match (ran, lacking) {
            (Ok(slot), None) => slot,
            (Err(told), Some(operator)) => {
                assert!(
                    told.contains(operator) && told.contains("backend: OnnxRuntime(provider: Cpu)"),
                    "{told}"
                );
                continue;
            }
            (Err(told), None) => panic!("{name}: {told}"),
            (Ok(_), Some(operator)) => panic!("{name} ran: the cpu backend has {operator} now"),
        };
        let wanted = stored(&folder.join(format!("light_{name}_output_0.pb")));
        let found = slot.tensors().get(&facts.outputs[0].name).unwrap();
        if name == "resnet50" {
            // Its constant weights make logits of 1.3e19, so that the last bit of a sum decides which of them
            // take all of the Softmax. That it is one, over all classes, is left to be seen.
            let sum: f32 = found.f32().unwrap().iter().sum();
            assert!(
                found.shape().dims() == wanted.dims && (sum - 1.0).abs() < 1e-3,
                "{sum}"
            );
            continue;
        }
        let off = difference(found, &wanted);
        eprintln!("{name}: off by {off:.1e}");
        assert!(off < 1e-3, "{name}: off by {off:.1e}");
    }
}

/// One conformance case; the words of the backend where it does not execute it.
fn case(folder: &Path) -> Result<f64, String> {
    let path = folder.join("model.onnx");
    let facts = network::read(&path).unwrap();
    let data = folder.join("test_data_set_0");
    let inputs = facts.inputs.iter().enumerate().map(|(k, port)| {
        let stored = stored(&data.join(format!("input_{k}.pb")));
        (port.name.clone(), stored)
    });
    let slot = filled(&path, inputs.collect())?;
    let outputs = facts.outputs.iter().filter(|port| !port.name.is_empty());
    let offs = outputs.enumerate().map(|(k, port)| {
        let wanted = stored(&data.join(format!("output_{k}.pb")));
        difference(slot.tensors().get(&port.name).unwrap(), &wanted)
    });
    Ok(offs.fold(0.0, f64::max))
}

#[test]
fn single_operators_give_what_the_standard_says_or_a_sentence() {
    let Some(folder) = machine::shared("data/models/graphs/node") else {
        return;
    };
    for (name, lacking) in [
        ("test_attention_4d", None),
        ("test_convtranspose", None),
        ("test_gridsample_bilinear", None),
        (
            "test_gru_with_initial_bias",
            Some("GRU (node `GRU #0`): only `linear_before_reset` 1"),
        ),
        ("test_lstm_defaults", None),
        (
            "test_nonmaxsuppression_center_point_box_format",
            Some("NonMaxSuppression (node `NonMaxSuppression #0`): boxes would be measured"),
        ),
        ("test_qlinearconv", Some("QLinearConv (node `QLinearConv #0`)")),
        ("test_scatternd", None),
    ] {
        let came = case(&folder.join(name));
        eprintln!("{name}: {came:?}");
        match (came, lacking) {
            (Ok(off), None) => assert!(off < 1e-4, "{name}: off by {off:.1e}"),
            (Err(told), Some(what)) => assert!(told.contains(what), "{name}: {told}"),
            (came, _) => panic!("{name}: {came:?}, and the cpu backend was thought to lack {lacking:?}"),
        }
    }
}
