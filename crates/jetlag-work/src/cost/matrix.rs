//! Convolutions, matrix products and attention.

use super::{Cost, Counted, out};
use crate::arithmetic::{sum, times};
use crate::call::{Call, Stop, size};
use crate::infer::{equation, heads, operands, spatial, terms};
use crate::value::Value;

pub(super) fn cost(call: &Call, outputs: &[Value]) -> Counted {
    Some(match call.operator() {
        "Conv" | "FusedConv" | "ConvTranspose" | "ConvInteger" | "QLinearConv" | "DeformConv" => {
            convolution(call, outputs)
        }
        "MatMul" | "MatMulInteger" => product(call, 0, 1, 0),
        // Scaling, rounding, the zero point and two bounds.
        "QLinearMatMul" => out(outputs, 0).and_then(|out| product(call, 0, 3, times(&[out, 5])?)),
        "FusedMatMul" => fused(call, outputs),
        "MatMulNBits" => n_bits(call, outputs),
        "Gemm" | "FusedGemm" => gemm(call, outputs),
        "Einsum" => einsum(call, outputs),
        "Attention" if call.node.domain.is_empty() => attention(call),
        "Det" => determinant(call),
        _ => return None,
    })
}

fn convolution(call: &Call, outputs: &[Value]) -> Result<Cost, Stop> {
    let s = spatial(call)?;
    let out = out(outputs, 0)?;
    let kernel = size(&s.kernel)?;
    let per_group = s.channels_in / s.groups;
    let operator = call.operator();
    let macs = match operator {
        // Each element of the input goes through the whole kernel, whatever is cropped of the result.
        "ConvTranspose" => {
            let places = size(&s.size_in)?;
            times(&[s.batch, s.channels_in, places, s.channels_out / s.groups, kernel])?
        }
        _ => times(&[out, per_group, kernel])?,
    };
    let biased = |at: usize| if call.input(at).is_some() { out } else { 0 };
    let other = match operator {
        "Conv" | "ConvTranspose" => biased(2),
        "FusedConv" => sum(&[biased(2), out])?,
        // The bias; then scaling, rounding, the zero point and two bounds.
        "QLinearConv" => sum(&[biased(8), times(&[out, 5])?])?,
        "DeformConv" => {
            // Every channel is sampled at every place of the kernel: four products and three sums; the mask is one more.
            let taps = times(&[s.batch, s.channels_in, kernel, size(&s.size_out)?])?;
            let each = if call.input(4).is_some() { 8 } else { 7 };
            sum(&[biased(3), times(&[taps, each])?])?
        }
        _ => 0,
    };
    Ok(Cost::of(macs, other))
}

fn of_terms(one: &[u64], other: &[u64]) -> Result<u64, Stop> {
    let terms = terms(one, other)?;
    times(&[size(&terms.batch)?, terms.rows, terms.columns, terms.depth])
}

fn product(call: &Call, one: usize, other: usize, after: u64) -> Result<Cost, Stop> {
    let macs = of_terms(&call.shape(one)?.dims, &call.shape(other)?.dims)?;
    Ok(Cost::of(macs, after))
}

fn fused(call: &Call, outputs: &[Value]) -> Result<Cost, Stop> {
    let (one, other) = operands(call)?;
    let scaled = if call.float_or("alpha", 1.0) == 1.0 {
        0
    } else {
        out(outputs, 0)?
    };
    Ok(Cost::of(of_terms(&one, &other)?, scaled))
}

fn n_bits(call: &Call, outputs: &[Value]) -> Result<Cost, Stop> {
    let depth = u64::try_from(call.int_or("K", 0)).unwrap_or(0);
    let columns = u64::try_from(call.int_or("N", 0)).unwrap_or(0);
    let macs = times(&[out(outputs, 0)?, depth])?;
    // Each weight is taken out of its block: one difference and one product.
    Ok(Cost::of(macs, times(&[depth, columns, 2])?))
}

fn gemm(call: &Call, outputs: &[Value]) -> Result<Cost, Stop> {
    let out = out(outputs, 0)?;
    let dims = call.dims(0, 1)?;
    let depth = match (dims, call.int_or("transA", 0)) {
        ([depth, _], 1..) => *depth,
        (dims, _) => size(dims.get(1..).unwrap_or_default())?,
    };
    let scaled = if call.float_or("alpha", 1.0) == 1.0 {
        0
    } else {
        out
    };
    let added = match call.input(2) {
        Some(_) if call.float_or("beta", 1.0) == 1.0 => out,
        Some(_) => times(&[out, 2])?,
        None => 0,
    };
    let activated = if call.operator() == "FusedGemm" { out } else { 0 };
    Ok(Cost::of(times(&[out, depth])?, sum(&[scaled, added, activated])?))
}

/// Two operands: a product over all letters. More of them are taken at once, which is the most that any order costs for
/// operands that share no letter, and is said to be a bound.
fn einsum(call: &Call, outputs: &[Value]) -> Result<Cost, Stop> {
    let (sizes, output) = equation(call)?;
    let all: Vec<u64> = sizes.values().copied().collect();
    let all = times(&all)?;
    let out = out(outputs, 0)?;
    let is_summed = sizes.keys().any(|letter| !output.contains(letter));
    Ok(match (call.inputs.len(), is_summed) {
        (1, true) => Cost::of(0, all),
        (1, false) => Cost::of(0, 0),
        (2, true) => Cost::of(all, 0),
        (2, false) => Cost::of(0, out),
        (count, _) => Cost {
            bound: true,
            ..Cost::of(times(&[all, count as u64 - 1])?, 0)
        },
    })
}

fn attention(call: &Call) -> Result<Cost, Stop> {
    let h = heads(call)?;
    let scores = times(&[h.batch, h.heads, h.queries, h.keys])?;
    let macs = sum(&[times(&[scores, h.depth])?, times(&[scores, h.depth_out])?])?;
    let masked = u64::from(call.input(3).is_some() || call.int_or("is_causal", 0) != 0);
    let capped = if call.float_or("softcap", 0.0) == 0.0 {
        0
    } else {
        3
    };
    // Scaling, softmax, and what is asked for.
    let other = times(&[scores, 1 + 5 + masked + capped])?;
    Ok(Cost::of(macs, other))
}

/// By elimination.
fn determinant(call: &Call) -> Result<Cost, Stop> {
    let dims = call.dims(0, 2)?;
    let n = dims.last().copied().unwrap_or(0);
    let count = size(dims.get(..dims.len() - 2).unwrap_or_default())?;
    Ok(Cost::of(0, times(&[count, n, n, n, 2])?.div_ceil(3)))
}
