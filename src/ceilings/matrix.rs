//! The peak of fp32 as the embedded backend reaches it: a square matrix product, as a network of one node.

use rten_onnx::onnx::{
    DataType, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, ValueInfoProto,
};

use super::Product;
use crate::backend::cpu::CpuBackend;
use crate::backend::{Backend, BackendError, NetworkSource, Program, Step, TensorSpec};
use crate::clock::{Clock, RealClock};
use crate::tensor::{ElementType, Shape};
use crate::units::Nanos;

/// Rows and columns that are tried: which is fastest depends on caches and threads.
const SIZES: [usize; 3] = [512, 1024, 1536];
/// As few repetitions as one counts of.
const LEAST: u32 = 3;

/// The fastest of all sizes.
pub(super) fn best(threads: usize, each: Nanos) -> Result<Product, BackendError> {
    let mut best = Product {
        threads,
        size: 0,
        flops_per_s: 0.0,
    };
    let began = RealClock.now();
    for size in SIZES {
        // The first is always measured; a short time is not overdrawn by the large ones.
        if best.size > 0 && RealClock.now() - began > each {
            break;
        }
        let took = fastest(threads, size, Nanos(each.0 / SIZES.len() as i64))?;
        let flops_per_s = 2.0 * (size as f64).powi(3) / (took.0.max(1) as f64 / 1e9);
        if flops_per_s > best.flops_per_s {
            best = Product {
                threads,
                size,
                flops_per_s,
            };
        }
    }
    Ok(best)
}

/// The shortest time of a product.
fn fastest(threads: usize, size: usize, within: Nanos) -> Result<Nanos, BackendError> {
    let shape = Shape::new(&[size, size]).ok_or_else(|| BackendError::Load {
        network: NAME.to_owned(),
        backend: "cpu",
        problem: format!("{size} x {size} is no shape"),
    })?;
    let program = Program {
        engines: vec![NetworkSource::Embedded {
            name: NAME,
            bytes: network(size)?.into(),
        }],
        steps: vec![Step::Engine(0)],
        host_tensors: vec![TensorSpec {
            name: "a".to_owned(),
            element: ElementType::F32,
            max_shape: shape,
        }],
        ..Program::default()
    };
    let mut slots = CpuBackend::new(threads, false).open(&program, 1)?.slots;
    let mut shortest = Nanos(i64::MAX);
    let (began, mut count) = (RealClock.now(), 0);
    while let Some(slot) = slots.first_mut() {
        if count == 0
            && let Some(tensor) = slot.tensors_mut().as_mut_slice().first_mut()
            && let Ok(values) = tensor.f32_mut()
        {
            values.fill(0.5);
        }
        let from = RealClock.now();
        slot.submit()?;
        slot.wait()?;
        let took = RealClock.now() - from;
        count += 1;
        // The first one finds nothing in the caches.
        if count > 1 {
            shortest = shortest.min(took);
        }
        if count > LEAST && RealClock.now() - began > within {
            break;
        }
    }
    Ok(shortest)
}

const NAME: &str = "a matrix product";

/// `c = a · b` with `b` among the weights, as ONNX.
fn network(size: usize) -> Result<Vec<u8>, BackendError> {
    let value = |name: &str| ValueInfoProto {
        name: Some(name.to_owned()),
        ..ValueInfoProto::default()
    };
    let product = NodeProto {
        name: Some("product".to_owned()),
        op_type: Some("MatMul".to_owned()),
        input: vec!["a".to_owned(), "b".to_owned()],
        output: vec!["c".to_owned()],
        ..NodeProto::default()
    };
    let weights = TensorProto {
        name: Some("b".to_owned()),
        data_type: Some(DataType::FLOAT),
        dims: vec![size as i64; 2],
        float_data: vec![0.25; size * size],
        ..TensorProto::default()
    };
    let model = ModelProto {
        ir_version: Some(8),
        opset_import: vec![OperatorSetIdProto {
            version: Some(17),
            ..OperatorSetIdProto::default()
        }],
        graph: Some(GraphProto {
            node: vec![product],
            initializer: vec![weights],
            input: vec![value("a")],
            output: vec![value("c")],
            ..GraphProto::default()
        }),
        ..ModelProto::default()
    };
    model.write_buf().map_err(|error| BackendError::Load {
        network: NAME.to_owned(),
        backend: "cpu",
        problem: error.to_string(),
    })
}
