//! What networks give on ONNX Runtime, in the same slots and under the same detectors as on the backend `cpu`.

use std::sync::Arc;

use jetlag::backend::cpu::CpuBackend;
use jetlag::backend::onnxruntime::{CpuProvider, find};
use jetlag::backend::{Backend, BackendError, NetworkSource, Program, Slot, Step, TensorSpec};
use jetlag::commands::opening;
use jetlag::detector::Carry;
use jetlag::record::Amount;
use jetlag::scenario::{DetectorRef, Sensor};
use jetlag::source::synthetic::SyntheticSource;
use jetlag::tensor::{ElementType, Shape, TensorSet};
use rten_onnx::onnx::{
    DataType, Dimension, GraphProto, TensorShapeProto, TypeProto, TypeProtoTensor, ValueInfoProto,
};

use super::{environment, next_frame};
use crate::common::onnx;
use crate::heads;

/// A provider of the wheel's library, which stays loaded in this process.
pub(super) fn provider(threads: usize) -> Option<CpuProvider> {
    let folder = environment()?;
    let library = find(Some(&folder)).unwrap();
    assert!(library.path().starts_with(folder.canonicalize().unwrap()));
    assert!(library.path().to_string_lossy().ends_with(library.version()));
    assert!(!library.has_cuda());
    Some(CpuProvider {
        library,
        threads,
        profile: false,
    })
}

pub(super) fn slot(backend: &dyn Backend, program: &Program) -> Box<dyn Slot> {
    backend.open(program, 2).unwrap().slots.pop().unwrap()
}

#[test]
fn a_session_s_arena_is_not_known_and_says_so_while_its_tensors_are() {
    let Some(onnxruntime) = provider(1) else { return };
    let detector = opening::detector(&DetectorRef::Builtin("camera".to_owned())).unwrap();
    let opened = onnxruntime.open(&detector.program, 2).unwrap();
    let tensors = opened.slots.iter().flat_map(|slot| slot.tensors().as_slice());
    let bytes: u64 = tensors.map(|tensor| tensor.bytes().len() as u64).sum();
    assert!(bytes > 2 * 3 * 384 * 640 * 4, "{bytes}");
    assert_eq!(opened.memory.host_tensors, Some(Amount::Bytes(bytes)));
    let networks = opened.memory.networks.unwrap();
    assert!(networks.unknown().unwrap().contains("arena"), "{networks:?}");
}

#[test]
fn the_demos_networks_give_what_they_give_on_the_embedded_backend() {
    let Some(onnxruntime) = provider(2) else { return };
    for (name, sensor) in [("camera", Sensor::Camera), ("lidar", Sensor::Lidar)] {
        let mut detector = opening::detector(&DetectorRef::Builtin(name.to_owned())).unwrap();
        let mut source = SyntheticSource::open(sensor, 3, 4, true);
        let mut ours = slot(&CpuBackend::new(2, false), &detector.program);
        let mut theirs = slot(&onnxruntime, &detector.program);
        for _ in 0..3 {
            let frame = next_frame(&mut source);
            for slot in [&mut ours, &mut theirs] {
                let mut carry = Carry::default();
                detector
                    .preprocess
                    .run(&frame, slot.tensors_mut(), &mut carry)
                    .unwrap();
                slot.submit().unwrap();
                let times = slot.wait().unwrap();
                assert!(times.compute.unwrap().0 > 0 && times.queue.is_some() && times.h2d.is_none());
            }
            let outputs = assert_equal(ours.tensors(), theirs.tensors(), name);
            assert!(outputs > 1000, "{name}: only {outputs} elements were compared");
        }
    }
}

#[test]
fn every_head_finds_what_it_finds_on_the_embedded_backend() {
    let Some(onnxruntime) = provider(1) else { return };
    let ours = heads::found_on(|program| slot(&CpuBackend::new(1, false), program));
    let theirs = heads::found_on(|program| slot(&onnxruntime, program));
    let theirs = theirs.into_iter().map(|(name, found)| (name.to_owned(), found));
    heads::assert_same(&ours, &theirs.collect(), "ONNX Runtime");
}

/// Every f32 tensor of one set is in the other, within the rounding of sums; how many elements are not zero.
pub(super) fn assert_equal(ours: &TensorSet, theirs: &TensorSet, name: &str) -> usize {
    assert_eq!(ours.as_slice().len(), theirs.as_slice().len());
    let mut compared = 0;
    for tensor in ours.as_slice() {
        let other = theirs.get(tensor.name()).unwrap();
        assert_eq!(tensor.shape(), other.shape(), "{name}: {}", tensor.name());
        let Ok(values) = tensor.f32() else {
            assert_eq!(tensor.bytes(), other.bytes(), "{name}: {}", tensor.name());
            continue;
        };
        let scale = values.iter().fold(1.0_f32, |most, value| most.max(value.abs()));
        for (a, b) in values.iter().zip(other.f32().unwrap()) {
            assert!(
                (a - b).abs() <= 1e-4 * scale,
                "{name}: {}: {a} and {b}",
                tensor.name()
            );
            compared += usize::from(*a != 0.0);
        }
    }
    compared
}

/// `output = operator(x)`, with these shapes.
fn network(operator: &str, input: &[Dimension], output: (DataType, &[Dimension])) -> NetworkSource {
    let value = |name: &str, element, dims: &[Dimension]| ValueInfoProto {
        name: Some(name.to_owned()),
        r#type: Some(TypeProto {
            tensor_type: Some(TypeProtoTensor {
                elem_type: Some(element),
                shape: Some(TensorShapeProto { dim: dims.to_vec() }),
            }),
            ..TypeProto::default()
        }),
    };
    let graph = GraphProto {
        node: vec![onnx::node(operator, &["x"], "y")],
        input: vec![value("x", DataType::FLOAT, input)],
        output: vec![value("y", output.0, output.1)],
        ..GraphProto::default()
    };
    NetworkSource::Embedded {
        name: "made",
        bytes: Arc::from(onnx::bytes(graph)),
    }
}

fn number(extent: i64) -> Dimension {
    Dimension {
        dim_value: Some(extent),
        dim_param: None,
    }
}

fn symbol(name: &str) -> Dimension {
    Dimension {
        dim_value: None,
        dim_param: Some(name.to_owned()),
    }
}

fn shape(dims: &[usize]) -> Shape {
    Shape::new(dims).unwrap()
}

fn program(network: NetworkSource, input: &str, element: ElementType, dims: &[usize]) -> Program {
    Program {
        engines: vec![network],
        steps: vec![Step::Engine(0)],
        host_tensors: vec![TensorSpec {
            name: input.to_owned(),
            element,
            max_shape: shape(dims),
        }],
        ..Program::default()
    }
}

fn run(slot: &mut dyn Slot, dims: &[usize], values: &[f32]) {
    let input = slot.tensors_mut().get_mut("x").unwrap();
    input.set_shape(shape(dims)).unwrap();
    input.f32_mut().unwrap().copy_from_slice(values);
    slot.submit().unwrap();
    slot.wait().unwrap();
}

#[test]
fn a_named_dimension_may_change_from_frame_to_frame_and_stays_in_the_slots_memory() {
    let Some(onnxruntime) = provider(1) else { return };
    let dims = [symbol("points"), number(2)];
    let network = network("Neg", &dims, (DataType::FLOAT, &dims));
    let mut slot = slot(&onnxruntime, &program(network, "x", ElementType::F32, &[4, 2]));
    let address = |slot: &dyn Slot| slot.tensors().get("y").unwrap().bytes().as_ptr();
    let before = address(slot.as_ref());
    for rows in [4, 1, 3] {
        let values: Vec<f32> = (0..rows * 2).map(|value| value as f32).collect();
        run(slot.as_mut(), &[rows, 2], &values);
        let output = slot.tensors().get("y").unwrap();
        assert_eq!(output.shape(), &shape(&[rows, 2]));
        let negated: Vec<f32> = values.iter().map(|value| -value).collect();
        assert_eq!(output.f32().unwrap(), negated);
    }
    assert_eq!(
        address(slot.as_ref()),
        before,
        "written where the slot's memory is"
    );
}

#[test]
fn an_output_whose_size_the_data_decide_is_taken_over() {
    let Some(onnxruntime) = provider(1) else { return };
    let network = network(
        "NonZero",
        &[number(4)],
        (DataType::INT64, &[number(1), symbol("n")]),
    );
    let mut slot = slot(&onnxruntime, &program(network, "x", ElementType::F32, &[4]));
    for (values, places) in [
        ([0.0, 1.0, 0.0, 1.0], vec![1_i64, 3]),
        ([1.0, 1.0, 1.0, 1.0], vec![0, 1, 2, 3]),
        ([0.0; 4], vec![]),
        ([5.0, 0.0, 0.0, 0.0], vec![0]),
    ] {
        run(slot.as_mut(), &[4], &values);
        let output = slot.tensors().get("y").unwrap();
        assert_eq!(output.shape(), &shape(&[1, places.len()]));
        assert_eq!(output.element(), ElementType::I64);
        let bytes: Vec<u8> = places.iter().flat_map(|place| place.to_ne_bytes()).collect();
        assert_eq!(output.bytes(), bytes);
    }
}

fn refused(program: &Program) -> Option<String> {
    let onnxruntime = provider(1)?;
    match onnxruntime.open(program, 1) {
        Ok(_) => panic!("it was taken"),
        Err(error @ BackendError::Load { .. }) => Some(error.to_string()),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn inputs_that_do_not_fit_the_detector_are_all_told_at_once() {
    let dims = [number(4), number(2)];
    let made = || network("Neg", &dims, (DataType::FLOAT, &dims));
    let Some(text) = refused(&program(made(), "images", ElementType::F32, &[4, 2])) else {
        return;
    };
    for phrase in [
        "cannot load made (in the binary) on the onnxruntime-cpu backend",
        "the network's input is `x`, the spec says `images`; set `tensor: \"x\"`",
    ] {
        assert!(text.contains(phrase), "`{phrase}` is not in: {text}");
    }
    let text = refused(&program(made(), "x", ElementType::F32, &[5, 2])).unwrap();
    assert!(
        text.contains("input `x` has shape [4, 2], but the detector produces [5, 2]"),
        "{text}"
    );
    let text = refused(&program(made(), "x", ElementType::U8, &[4, 2])).unwrap();
    assert!(
        text.contains("input `x` has type f32, but the detector produces u8"),
        "{text}"
    );
}

#[test]
fn what_is_no_network_is_told_and_what_the_library_refuses_in_its_words() {
    let garbage = NetworkSource::Embedded {
        name: "garbage",
        bytes: Arc::from(*b"no network"),
    };
    let Some(text) = refused(&program(garbage, "x", ElementType::F32, &[1])) else {
        return;
    };
    assert!(
        text.contains("garbage (in the binary)") && text.contains("incomplete or damaged: at byte 0"),
        "{text}"
    );
    let missing = NetworkSource::File("/nowhere/net.onnx".into());
    let text = refused(&program(missing, "x", ElementType::F32, &[1])).unwrap();
    assert!(
        text.contains("/nowhere/net.onnx") && text.contains("does not exist"),
        "{text}"
    );
    let unknown = network("NoSuchOperator", &[number(1)], (DataType::FLOAT, &[number(1)]));
    let text = refused(&program(unknown, "x", ElementType::F32, &[1])).unwrap();
    assert!(text.contains("NoSuchOperator"), "{text}");
}

#[test]
fn a_frame_that_fails_leaves_the_slot_usable() {
    let Some(onnxruntime) = provider(1) else { return };
    let network = network("Neg", &[number(2)], (DataType::FLOAT, &[number(2)]));
    let mut slot = slot(&onnxruntime, &program(network, "x", ElementType::F32, &[2]));
    slot.tensors_mut()
        .get_mut("x")
        .unwrap()
        .set_shape(shape(&[1]))
        .unwrap();
    slot.submit().unwrap();
    let error = slot.wait().unwrap_err();
    assert!(matches!(error, BackendError::Execute { .. }), "{error}");
    assert!(error.to_string().contains("made (in the binary)"), "{error}");
    run(slot.as_mut(), &[2], &[1.0, 2.0]);
    assert_eq!(slot.tensors().get("y").unwrap().f32().unwrap(), [-1.0, -2.0]);
}
