//! Operators that ONNX Runtime's optimiser writes into saved networks (the domain `com.microsoft`).

use crate::call::{Call, Stop, broadcast, spelled};
use crate::value::Value;

pub(super) fn infer(call: &Call) -> Result<Vec<Value>, Stop> {
    match call.operator() {
        "Gelu" | "FastGelu" | "BiasGelu" | "QuickGelu" | "QLinearSigmoid" | "QLinearLeakyRelu"
        | "QLinearSoftmax" | "QuantizeLinear" | "RotaryEmbedding" => same(call),
        "DequantizeLinear" => call.one(call.shape(0)?.dims.clone(), call.element(1)),
        "SkipLayerNormalization" | "SkipSimplifiedLayerNormalization" | "SimplifiedLayerNormalization" => {
            let mut made = same(call)?;
            for _ in 1..call.node.outputs.len() {
                made.extend(same(call)?);
            }
            Ok(made)
        }
        "FusedConv" => super::conv::infer(call).unwrap_or_else(|| same(call)),
        "FusedGemm" => super::matmul::infer(call).unwrap_or_else(|| same(call)),
        "FusedMatMul" => fused_matmul(call),
        "QLinearAdd" | "QLinearMul" => call.one(
            broadcast(&call.shape(0)?.dims, &call.shape(3)?.dims)?,
            call.element(0),
        ),
        "MatMulNBits" => n_bits(call),
        "Attention" | "MultiHeadAttention" | "GroupQueryAttention" => Err(Stop::operator(format!(
            "{} of com.microsoft is not known here; export with ONNX's own operators",
            call.operator()
        ))),
        operator => Err(Stop::operator(format!(
            "the operator com.microsoft.{operator} is not known here"
        ))),
    }
}

fn same(call: &Call) -> Result<Vec<Value>, Stop> {
    call.one(call.shape(0)?.dims.clone(), call.element(0))
}

fn fused_matmul(call: &Call) -> Result<Vec<Value>, Stop> {
    let (one, other) = operands(call)?;
    let terms = super::terms(&one, &other)?;
    let mut dims = terms.batch;
    dims.extend([terms.rows, terms.columns]);
    call.one(dims, call.element(0))
}

/// The operands of a product that may turn them first.
pub(crate) fn operands(call: &Call) -> Result<(Vec<u64>, Vec<u64>), Stop> {
    let turned = |at: usize, name: &str| -> Result<Vec<u64>, Stop> {
        let mut dims = call.dims(at, 2)?.to_vec();
        if call.int_or(name, 0) != 0 {
            let rank = dims.len();
            dims.swap(rank - 2, rank - 1);
        }
        Ok(dims)
    };
    Ok((turned(0, "transA")?, turned(1, "transB")?))
}

fn n_bits(call: &Call) -> Result<Vec<Value>, Stop> {
    let mut dims = call.dims(0, 1)?.to_vec();
    let size = |name: &str| u64::try_from(call.int_or(name, 0)).unwrap_or(0);
    let (depth, columns) = (size("K"), size("N"));
    if dims.last() != Some(&depth) {
        let problem = format!("{} by {depth}x{columns}", spelled(&dims));
        return Err(Stop::contradiction(problem));
    }
    if let Some(last) = dims.last_mut() {
        *last = columns;
    }
    call.one(dims, call.element(0))
}
