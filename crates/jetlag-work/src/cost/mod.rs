//! What a node computes and moves. One file a family of operators; the rules are in docs/work.md.

mod matrix;
mod pointwise;
mod recurrent;
mod sampling;

use crate::call::{Call, Stop};
use crate::value::Value;

pub(crate) use pointwise::per_element;

/// What one execution of a node costs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Multiply-adds of matrix products and convolutions.
    pub(crate) macs: u64,
    /// All other operations.
    pub(crate) other: u64,
    /// It may be less: what is computed depends on data.
    pub(crate) bound: bool,
    /// Elements read of an input, where it is not all of them.
    pub(crate) reads: Vec<(usize, u64)>,
    /// Elements written of the first output, where it is not all of them.
    pub(crate) writes: Option<u64>,
}

impl Cost {
    fn of(macs: u64, other: u64) -> Cost {
        Cost {
            macs,
            other,
            ..Cost::default()
        }
    }

    /// Two for each multiply-add, and the rest.
    pub(crate) fn flops(&self) -> Result<u64, Stop> {
        let twice = self.macs.checked_mul(2).ok_or(Stop::Overflow)?;
        twice.checked_add(self.other).ok_or(Stop::Overflow)
    }
}

/// How an operator lies in the flow of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The elements stay where they are under another shape.
    View,
    /// Nothing but numbers about shapes, or a constant.
    Free,
    /// Each element by itself: it can be computed while another operator's output is still on the chip.
    Pointwise,
    /// It only moves elements.
    Move,
    /// Everything else.
    Compute,
}

/// How this operator lies in the flow of data.
pub(crate) fn kind(domain: &str, operator: &str) -> Kind {
    match operator {
        "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" | "Identity" | "Dropout" => Kind::View,
        "Shape" | "Size" | "Constant" | "If" | "Loop" | "Scan" => Kind::Free,
        "BatchNormalization" | "QuantizeLinear" | "DequantizeLinear" | "Cast" | "CastLike" | "Clip"
        | "PRelu" => Kind::Pointwise,
        "Concat" | "Split" | "Slice" | "Transpose" | "Pad" | "Tile" | "Expand" | "DepthToSpace"
        | "SpaceToDepth" | "Gather" | "GatherElements" | "GatherND" | "Scatter" | "ScatterElements"
        | "ScatterND" | "CenterCropPad" | "ReverseSequence" | "OneHot" | "ConstantOfShape" | "Range"
        | "EyeLike" | "Trilu" | "Compress" | "TensorScatter" => Kind::Move,
        "Gelu" | "FastGelu" | "BiasGelu" | "QuickGelu" | "QLinearAdd" | "QLinearMul"
            if domain == "com.microsoft" =>
        {
            Kind::Pointwise
        }
        _ if domain.is_empty() && per_element(operator).is_some() => Kind::Pointwise,
        _ => Kind::Compute,
    }
}

/// How many of an operator's first inputs are data; what follows sets how it works and is not counted as traffic.
pub(crate) fn data_inputs(operator: &str) -> usize {
    match operator {
        "ConstantOfShape" | "Range" | "Shape" | "Size" | "Constant" => 0,
        "Clip" | "Reshape" | "Slice" | "Pad" | "Expand" | "Tile" | "Resize" | "Upsample" | "TopK"
        | "Unsqueeze" | "Squeeze" | "Dropout" | "Split" | "CumSum" | "Trilu" | "OneHot" | "CenterCropPad"
        | "Col2Im" | "AffineGrid" | "DFT" | "CastLike" => 1,
        "NonMaxSuppression" => 2,
        operator if operator.starts_with("Reduce") => 1,
        _ => usize::MAX,
    }
}

/// From which input on an operator's inputs are no weights, though they are read: scales, zero points, lengths.
pub(crate) fn is_weight(operator: &str, at: usize) -> bool {
    match operator {
        "QLinearConv" | "QLinearMatMul" => matches!(at, 0 | 3 | 8),
        "ConvInteger" | "MatMulInteger" => at < 2,
        "DequantizeLinear" | "QuantizeLinear" => at < 1,
        "MatMulNBits" => at < 2,
        "RoiAlign" | "MaxRoiPool" => at < 1,
        _ => at < data_inputs(operator),
    }
}

/// What a node costs.
///
/// # Errors
/// A count has more than 64 bits, or an input's shape is not known.
pub(crate) fn cost(call: &Call, outputs: &[Value]) -> Result<Cost, Stop> {
    let families = [matrix::cost, recurrent::cost, sampling::cost, pointwise::cost];
    let mut cost = Cost::default();
    for family in families {
        if let Some(counted) = family(call, outputs) {
            cost = counted?;
            break;
        }
    }
    let is_open = |value: &Value| matches!(&value.shape, Ok(shape) if shape.bound);
    cost.bound |= call.is_bound() || outputs.iter().any(is_open);
    Ok(cost)
}

/// Elements of an output.
fn out(outputs: &[Value], at: usize) -> Result<u64, Stop> {
    match outputs.get(at).map(|value| &value.shape) {
        Some(Ok(shape)) => crate::call::size(&shape.dims),
        Some(Err(why)) => Err(Stop::Unknown(why.clone())),
        None => Ok(0),
    }
}

/// What a family says of a node; none where it is another family's.
type Counted = Option<Result<Cost, Stop>>;
