//! A network's layers as a model of latency takes them: images of channels, height and width.

use jetlag_predict::{Layer, LayerKind};
use jetlag_work::LayerShape;

/// The layers for a batch of one, and the batch that the shapes are of.
///
/// A tensor of two dimensions is an image of one pixel, one of three (a sequence) an image of width 1.
pub(super) fn of(shapes: &[LayerShape]) -> (Vec<Layer>, u32) {
    let batch = shapes.first().and_then(|first| first.input.first()).copied();
    let layers = shapes.iter().map(layer).collect();
    (
        layers,
        batch
            .and_then(|batch| u32::try_from(batch).ok())
            .unwrap_or(1)
            .max(1),
    )
}

fn layer(shape: &LayerShape) -> Layer {
    let kind = kind(&shape.operator);
    let [in_channels, height, width] = image(&shape.input, kind);
    let [out_channels, out_height, out_width] = image(&shape.output, kind);
    let is_convolution = kind == LayerKind::Convolution;
    Layer {
        name: shape.name.clone(),
        kind,
        in_channels,
        out_channels,
        kernel: shape.kernel.map(small),
        stride: shape.strides.map(small),
        padding: shape.padding.map(|pad| u32::try_from(pad).unwrap_or(u32::MAX)),
        groups: if is_convolution { small(shape.groups) } else { 1 },
        input: [height, width],
        output: [out_height, out_width],
        reads: shape.reads.clone(),
    }
}

fn small(size: u64) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX).max(1)
}

/// Channels, height and width, the batch left out.
fn image(dims: &[u64], kind: LayerKind) -> [u32; 3] {
    let sizes = match (dims, kind) {
        ([_, c, h, w], _) => [*c, *h, *w],
        // A sequence of vectors: a matrix multiply takes the last dimension.
        ([_, length, values], LayerKind::Linear) => [*values, *length, 1],
        ([_, c, length], _) => [*c, *length, 1],
        ([_, c], _) => [*c, 1, 1],
        ([_, c, rest @ ..], _) => [*c, rest.iter().product(), 1],
        _ => [1, 1, 1],
    };
    sizes.map(small)
}

fn kind(operator: &str) -> LayerKind {
    match operator {
        "Conv" | "ConvTranspose" | "ConvInteger" | "QLinearConv" | "DeformConv" => LayerKind::Convolution,
        "Gemm" | "MatMul" | "MatMulInteger" | "QLinearMatMul" | "Attention" => LayerKind::Linear,
        "MaxPool" | "AveragePool" | "GlobalAveragePool" | "GlobalMaxPool" | "LpPool" => LayerKind::Pool,
        "Add"
        | "Sub"
        | "Mul"
        | "Div"
        | "Relu"
        | "LeakyRelu"
        | "PRelu"
        | "Sigmoid"
        | "HardSigmoid"
        | "HardSwish"
        | "Swish"
        | "Gelu"
        | "Elu"
        | "Selu"
        | "Softplus"
        | "Mish"
        | "Tanh"
        | "Erf"
        | "Exp"
        | "Log"
        | "Sqrt"
        | "Pow"
        | "Clip"
        | "InstanceNormalization"
        | "LayerNormalization"
        | "GroupNormalization"
        | "LRN"
        | "Softmax"
        | "LogSoftmax"
        | "Sum"
        | "Max"
        | "Min"
        | "Where"
        | "Neg"
        | "Abs"
        | "Dropout"
        | "QuantizeLinear"
        | "DequantizeLinear"
        | "Cast" => LayerKind::Elementwise,
        "BatchNormalization" => LayerKind::BatchNorm,
        "Concat" | "Resize" | "Upsample" | "Transpose" | "Slice" | "Split" | "Pad" | "Gather" | "Expand"
        | "Tile" | "DepthToSpace" | "SpaceToDepth" => LayerKind::Move,
        _ => LayerKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(operator: &str, input: &[u64], output: &[u64]) -> LayerShape {
        LayerShape {
            name: "one".to_owned(),
            operator: operator.to_owned(),
            input: input.to_vec(),
            output: output.to_vec(),
            kernel: [3, 3],
            strides: [2, 2],
            padding: [1, 1],
            groups: 4,
            reads: vec![],
        }
    }

    #[test]
    fn a_convolution_keeps_its_sizes_and_the_batch_is_told_apart() {
        let (layers, batch) = of(&[shape("Conv", &[8, 16, 32, 24], &[8, 64, 16, 12])]);
        assert_eq!(batch, 8);
        let one = &layers[0];
        assert_eq!(
            (one.kind, one.in_channels, one.out_channels),
            (LayerKind::Convolution, 16, 64)
        );
        assert_eq!((one.input, one.output, one.groups), ([32, 24], [16, 12], 4));
    }

    #[test]
    fn a_matrix_multiply_takes_the_last_dimension_of_a_sequence() {
        let (layers, _) = of(&[shape("MatMul", &[1, 197, 768], &[1, 197, 3072])]);
        let one = &layers[0];
        assert_eq!(
            (one.in_channels, one.out_channels, one.input),
            (768, 3072, [197, 1])
        );
        assert_eq!(one.groups, 1);
    }
}
