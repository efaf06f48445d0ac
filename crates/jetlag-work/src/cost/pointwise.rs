//! Operators that compute each element by itself, normalisations and reductions. A function that a mathematics library has
//! (exp, log, tanh, erf, sin, a root, a power) counts once.

use super::{Cost, Counted, out};
use crate::arithmetic::{sum, times};
use crate::call::{Call, Stop};
use crate::value::Value;

/// Operations an element of the output, of operators that compute each by itself.
pub(crate) fn per_element(operator: &str) -> Option<u64> {
    Some(match operator {
        "Add" | "Sub" | "Mul" | "Div" | "Mod" | "Pow" | "And" | "Or" | "Xor" | "Not" | "Equal"
        | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" | "Where" | "BitShift" | "BitwiseAnd"
        | "BitwiseOr" | "BitwiseXor" | "BitwiseNot" => 1,
        "Abs" | "Ceil" | "Floor" | "Neg" | "Relu" | "Round" | "Sign" | "IsNaN" | "IsInf" | "Reciprocal"
        | "Sqrt" | "Exp" | "Log" | "Sin" | "Cos" | "Tan" | "Sinh" | "Cosh" | "Tanh" | "Asin" | "Acos"
        | "Atan" | "Asinh" | "Acosh" | "Atanh" | "Erf" | "ThresholdedRelu" => 1,
        // Comparison and product.
        "LeakyRelu" | "PRelu" | "Shrink" | "Clip" | "Scale" => 2,
        "ImageScaler" | "Affine" | "ScaledTanh" => 2,
        // Sign, sum, division.
        "Softsign" => 3,
        // exp, sum, log.
        "Softplus" | "ParametricSoftplus" => 3,
        // Sign, exp, sum, division.
        "Sigmoid" => 4,
        // Product, sum, two bounds.
        "HardSigmoid" => 4,
        // Comparison, exp, difference, product.
        "Elu" => 4,
        "Selu" => 5,
        "Celu" => 6,
        // What the sigmoid takes, and a product.
        "HardSwish" | "Swish" => 5,
        // Softplus, tanh, product.
        "Mish" => 5,
        // Division, erf, sum, two products.
        "Gelu" => 5,
        "Cast" | "CastLike" | "Trilu" => 0,
        // Sum of a product: what depends on the channel alone is prepared once.
        "BatchNormalization" => 2,
        // Division, rounding, the zero point, two bounds.
        "QuantizeLinear" => 5,
        // Difference and product.
        "DequantizeLinear" => 2,
        _ => return None,
    })
}

pub(super) fn cost(call: &Call, outputs: &[Value]) -> Counted {
    let operator = call.operator();
    let each = |count: u64| out(outputs, 0).and_then(|out| Ok(Cost::of(0, times(&[out, count])?)));
    let of_input = |count: u64| {
        call.size(0)
            .and_then(|size| Ok(Cost::of(0, times(&[size, count])?)))
    };
    let given = |at: usize| u64::from(call.input(at).is_some());
    Some(match operator {
        "Clip" => each(
            given(1)
                + given(2)
                + u64::from(call.attribute("min").is_some())
                + u64::from(call.attribute("max").is_some()),
        ),
        // Three products, a power's two, a tanh, two sums.
        "Gelu" if call.text("approximate") == Some("tanh") => each(9),
        "Gelu" if !call.node.domain.is_empty() => each(5),
        "FastGelu" => each(9 + given(1)),
        "BiasGelu" => each(6),
        "QuickGelu" => each(6),
        "HardSwish" => each(5),
        // Without a zero point nothing is added.
        "QuantizeLinear" => each(4 + given(2)),
        "DequantizeLinear" => each(1 + given(2)),
        // The smallest, the largest, and then as QuantizeLinear.
        "DynamicQuantizeLinear" => of_input(7),
        "Max" | "Min" | "Sum" => each((call.inputs.len() as u64).saturating_sub(1)),
        "Mean" => each(call.inputs.len() as u64),
        "QLinearAdd" | "QLinearMul" => each(2 + 2 + 1 + 5),
        "BatchNormalization" if call.int_or("training_mode", 0) != 0 => each(7),
        // Largest, difference, exp, sum, division (or difference: the logarithm is one a row).
        "Softmax" | "LogSoftmax" => each(5),
        "Hardmax" => each(1),
        // Sum, difference, square, sum, product; scale and bias.
        "LayerNormalization" => each(5 + given(1) + given(2)),
        "SkipLayerNormalization" => each(8),
        "GroupNormalization" | "InstanceNormalization" => each(7),
        "MeanVarianceNormalization" => each(5),
        // Square, sum, product; scale.
        "RMSNormalization" | "SimplifiedLayerNormalization" => each(3 + given(1)),
        "SkipSimplifiedLayerNormalization" => each(5),
        "LpNormalization" => each(3),
        "LRN" => {
            let size = u64::try_from(call.int_or("size", 1)).unwrap_or(1);
            out(outputs, 0).and_then(|out| Ok(Cost::of(0, times(&[out, sum(&[size, 5])?])?)))
        }
        // Two products and a sum, or a difference, for each.
        "RotaryEmbedding" => each(3),
        "CumSum" | "CumProd" => each(1),
        "Bernoulli" | "RandomUniform" | "RandomNormal" | "RandomUniformLike" | "RandomNormalLike" => each(1),
        "SoftmaxCrossEntropyLoss" => of_input(6),
        "NegativeLogLikelihoodLoss" => call.size(1).map(|size| Cost::of(0, size)),
        "ArgMax" | "ArgMin" => of_input(1),
        "ReduceMean" => reduction(call, outputs, 1, 1),
        "ReduceL2" | "ReduceLogSum" => {
            reduction(call, outputs, if operator == "ReduceL2" { 2 } else { 1 }, 1)
        }
        "ReduceL1" | "ReduceSumSquare" => of_input(2),
        "ReduceLogSumExp" => reduction(call, outputs, 4, 2),
        operator if operator.starts_with("Reduce") => of_input(1),
        operator => match per_element(operator) {
            Some(count) => each(count),
            None => Ok(Cost::default()),
        },
    })
}

/// So many operations for each element that is reduced, and for each that is left.
fn reduction(call: &Call, outputs: &[Value], each: u64, left: u64) -> Result<Cost, Stop> {
    let reduced = times(&[call.size(0)?, each])?;
    Ok(Cost::of(0, sum(&[reduced, times(&[out(outputs, 0)?, left])?])?))
}
