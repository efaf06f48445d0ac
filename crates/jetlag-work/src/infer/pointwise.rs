//! Operators that compute each element by itself, and normalisations, which keep the shape too.

use super::Made;
use crate::call::{Call, Stop, broadcast};
use crate::element::Element;
use crate::value::Value;

/// One input decides the shape.
pub(crate) fn is_unary(operator: &str) -> bool {
    matches!(
        operator,
        "Abs"
            | "Acos"
            | "Acosh"
            | "Asin"
            | "Asinh"
            | "Atan"
            | "Atanh"
            | "Bernoulli"
            | "BitwiseNot"
            | "Cast"
            | "CastLike"
            | "Ceil"
            | "Celu"
            | "Clip"
            | "Cos"
            | "Cosh"
            | "CumSum"
            | "CumProd"
            | "DequantizeLinear"
            | "Dropout"
            | "Elu"
            | "Erf"
            | "Exp"
            | "Floor"
            | "Gelu"
            | "Hardmax"
            | "HardSigmoid"
            | "HardSwish"
            | "Identity"
            | "InstanceNormalization"
            | "IsInf"
            | "IsNaN"
            | "GroupNormalization"
            | "LRN"
            | "LeakyRelu"
            | "Log"
            | "LogSoftmax"
            | "LpNormalization"
            | "MeanVarianceNormalization"
            | "Mish"
            | "Neg"
            | "Not"
            | "QuantizeLinear"
            | "Reciprocal"
            | "Relu"
            | "ReverseSequence"
            | "Round"
            | "RotaryEmbedding"
            | "RMSNormalization"
            | "Selu"
            | "Shrink"
            | "Sigmoid"
            | "Sign"
            | "Sin"
            | "Sinh"
            | "Softmax"
            | "Softplus"
            | "Softsign"
            | "Sqrt"
            | "Swish"
            | "Tan"
            | "Tanh"
            | "ThresholdedRelu"
            | "Trilu"
            | "ScaledTanh"
            | "ParametricSoftplus"
            | "ImageScaler"
            | "Scale"
            | "Affine"
    )
}

/// Two inputs that stretch to each other.
pub(crate) fn is_binary(operator: &str) -> bool {
    matches!(
        operator,
        "Add"
            | "And"
            | "BitShift"
            | "BitwiseAnd"
            | "BitwiseOr"
            | "BitwiseXor"
            | "Div"
            | "Equal"
            | "Greater"
            | "GreaterOrEqual"
            | "Less"
            | "LessOrEqual"
            | "Mod"
            | "Mul"
            | "Or"
            | "PRelu"
            | "Pow"
            | "Sub"
            | "Xor"
    )
}

/// Any number of inputs that stretch to each other.
pub(crate) fn is_variadic(operator: &str) -> bool {
    matches!(operator, "Max" | "Mean" | "Min" | "Sum" | "Where")
}

pub(super) fn infer(call: &Call) -> Made {
    let operator = call.operator();
    Some(match operator {
        "BatchNormalization" => batch_normalization(call),
        "LayerNormalization" => layer_normalization(call),
        "DynamicQuantizeLinear" => dynamic_quantize(call),
        "SoftmaxCrossEntropyLoss" | "NegativeLogLikelihoodLoss" => loss(call),
        _ if is_unary(operator) => unary(call),
        _ if is_binary(operator) => binary(call),
        _ if is_variadic(operator) => variadic(call),
        _ => return None,
    })
}

fn unary(call: &Call) -> Result<Vec<Value>, Stop> {
    let element = match call.operator() {
        "Cast" => Element::of(call.int_or("to", 0)),
        "CastLike" => call.element(1),
        "IsInf" | "IsNaN" | "Not" => Element::Bool,
        "Bernoulli" => call.int("dtype").map_or(call.element(0), Element::of),
        "QuantizeLinear" => match (call.input(2), call.int("output_dtype")) {
            (Some(zero), _) => zero.element,
            (None, Some(number)) if number != 0 => Element::of(number),
            _ => Element::Uint8,
        },
        "DequantizeLinear" => match call.int("output_dtype") {
            Some(number) if number != 0 => Element::of(number),
            _ => call.input(1).map_or(Element::Float, |scale| scale.element),
        },
        _ => call.element(0),
    };
    let mut made = call.one(call.shape(0)?.dims.clone(), element)?;
    if call.operator() == "Dropout" && call.node.outputs.len() > 1 {
        // In old versions the mask has the type of the data.
        let mask = if call.opset < 10 { element } else { Element::Bool };
        made.extend(call.one(call.shape(0)?.dims.clone(), mask)?);
    }
    Ok(made)
}

fn binary(call: &Call) -> Result<Vec<Value>, Stop> {
    let (one, other) = (&call.shape(0)?.dims, &call.shape(1)?.dims);
    let dims = match (call.opset < 7, call.operator()) {
        // The second stretched only where asked, and lay along an axis.
        (true, _) | (_, "PRelu") => one.clone(),
        _ => broadcast(one, other)?,
    };
    let element = match call.operator() {
        "And" | "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" | "Or" | "Xor" => {
            Element::Bool
        }
        _ => call.element(0),
    };
    call.one(dims, element)
}

fn variadic(call: &Call) -> Result<Vec<Value>, Stop> {
    let mut dims = call.shape(0)?.dims.clone();
    for at in 1..call.inputs.len() {
        dims = broadcast(&dims, &call.shape(at)?.dims)?;
    }
    let element = match call.operator() {
        "Where" => call.element(1),
        _ => call.element(0),
    };
    call.one(dims, element)
}

fn batch_normalization(call: &Call) -> Result<Vec<Value>, Stop> {
    let dims = call.dims(0, 1)?;
    let channels = dims.get(1).copied().unwrap_or(1);
    if let Ok(scale) = call.shape(1)
        && scale.dims != [channels]
    {
        let found = crate::call::spelled(&scale.dims);
        let problem = format!("{channels} channels, but the scale has the shape {found}");
        return Err(Stop::contradiction(problem));
    }
    let mut made = call.one(dims, call.element(0))?;
    for _ in 1..call.node.outputs.len() {
        made.extend(call.one([channels], call.element(0))?);
    }
    Ok(made)
}

fn layer_normalization(call: &Call) -> Result<Vec<Value>, Stop> {
    let dims = &call.shape(0)?.dims;
    let axis = call.axis(call.int_or("axis", -1), dims.len().max(1))?;
    let mut made = call.one(dims.clone(), call.element(0))?;
    let kept = dims
        .iter()
        .enumerate()
        .map(|(at, dim)| if at < axis { *dim } else { 1 });
    let statistics: Vec<u64> = kept.collect();
    for _ in 1..call.node.outputs.len() {
        made.extend(call.one(statistics.clone(), Element::Float)?);
    }
    Ok(made)
}

fn dynamic_quantize(call: &Call) -> Result<Vec<Value>, Stop> {
    let mut made = call.one(call.shape(0)?.dims.clone(), Element::Uint8)?;
    made.extend(call.one([], Element::Float)?);
    made.extend(call.one([], Element::Uint8)?);
    Ok(made)
}

fn loss(call: &Call) -> Result<Vec<Value>, Stop> {
    let labels = match call.text("reduction") {
        Some("none") => call.shape(1)?.dims.clone(),
        _ => Vec::new(),
    };
    let mut made = call.one(labels, call.element(0))?;
    if call.node.outputs.len() > 1 {
        made.extend(call.one(call.shape(0)?.dims.clone(), call.element(0))?);
    }
    Ok(made)
}
