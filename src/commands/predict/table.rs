//! A network's layers as a model of latency takes them: images of channels, height and width.

use std::collections::HashSet;

use jetlag_predict::{Layer, LayerKind, Weights};
use jetlag_work::LayerShape;

/// As large as a model lets any side be.
const LARGEST: u64 = 1 << 20;

/// The layers for a batch of one, of layers for a batch.
///
/// Not every tensor has the batch in front: windows of attention are folded into it, sequences may come first. What counts is how many
/// values there are for one item. A matrix multiply takes the last dimension, and all others are places of an image.
pub(super) fn of(shapes: &[LayerShape], batch: u32) -> Vec<Layer> {
    let mut known = HashSet::new();
    let layers = shapes.iter().map(|shape| {
        let weights = match &shape.weights {
            Some(name) if known.insert(name.as_str()) => Weights::Own,
            Some(_) => Weights::Shared,
            None => Weights::Made,
        };
        layer(shape, weights, batch.into())
    });
    layers.collect()
}

fn layer(shape: &LayerShape, weights: Weights, batch: u64) -> Layer {
    let kind = match shape.is_of_sizes {
        true => LayerKind::Sizes,
        false => kind(&shape.operator),
    };
    let is_convolution = kind == LayerKind::Convolution;
    let (input, output) = (
        image(&shape.input, kind, batch),
        image(&shape.output, kind, batch),
    );
    let plain = Sizes {
        input,
        output,
        groups: if is_convolution { shape.groups } else { 1 },
    };
    let is_product = kind == LayerKind::Linear && weights == Weights::Made;
    let sizes = is_product
        .then(|| product(&shape.input, &shape.output, batch))
        .flatten()
        .unwrap_or(plain);
    let [in_channels, height, width] = sizes.input.map(small);
    let [out_channels, out_height, out_width] = sizes.output.map(small);
    let has_weights = matches!(kind, LayerKind::Convolution | LayerKind::Linear);
    Layer {
        name: shape.name.clone(),
        kind,
        in_channels,
        out_channels,
        kernel: shape.kernel.map(small),
        stride: shape.strides.map(small),
        padding: shape.padding.map(|pad| u32::try_from(pad).unwrap_or(u32::MAX)),
        groups: small(sizes.groups),
        input: [height, width],
        output: [out_height, out_width],
        reads: shape.reads.clone(),
        weights: if has_weights { weights } else { Weights::Own },
    }
}

/// Channels, height and width on both sides.
struct Sizes {
    input: [u64; 3],
    output: [u64; 3],
    groups: u64,
}

/// The product of two tensors, as in attention: a matrix for each head (and window), which are groups that do not see each other.
fn product(input: &[u64], output: &[u64], batch: u64) -> Option<Sizes> {
    let ([heads @ .., _, within], [.., places, columns]) = (input, output) else {
        return None;
    };
    let groups = per_item(heads, batch);
    let of = |values: u64| [groups.saturating_mul(values), *places, 1];
    let sizes = Sizes {
        input: of(*within),
        output: of(*columns),
        groups,
    };
    let is_small = |side: &[u64; 3]| side.iter().all(|size| *size <= LARGEST);
    (!heads.is_empty() && is_small(&sizes.input) && is_small(&sizes.output)).then_some(sizes)
}

/// Values of one item, of dimensions that hold those of a batch.
fn per_item(dims: &[u64], batch: u64) -> u64 {
    let all = dims.iter().fold(1_u64, |all, size| all.saturating_mul(*size));
    all.div_ceil(batch).max(1)
}

fn small(size: u64) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX).max(1)
}

/// Channels, height and width of one item.
fn image(dims: &[u64], kind: LayerKind, batch: u64) -> [u64; 3] {
    // How many images of one item the first dimension holds.
    let images = dims
        .first()
        .filter(|first| *first % batch == 0)
        .map(|first| first / batch);
    match (dims, kind, images) {
        (_, LayerKind::Sizes, _) => [1, 1, 1],
        ([_, .., values], LayerKind::Linear, _) | ([_, .., values], _, None) => {
            with_places(*values, per_item(dims, batch) / (*values).max(1))
        }
        ([_, c, h, w], _, Some(1)) => [*c, *h, *w],
        // The kernel still has to fit into each side.
        ([_, c, h, w], LayerKind::Convolution, Some(images)) => [*c, h.saturating_mul(images), *w],
        ([_, c, rest @ ..], _, Some(images)) => with_places(*c, per_item(rest, 1).saturating_mul(images)),
        _ => [1, 1, 1],
    }
}

/// An image of so many channels and places; one side holds them unless they are very many.
fn with_places(channels: u64, places: u64) -> [u64; 3] {
    const ACROSS: u64 = 4096;
    match places <= LARGEST {
        true => [channels, places, 1],
        false => [channels, places.div_ceil(ACROSS), ACROSS],
    }
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
            weights: Some("w".to_owned()),
            is_of_sizes: false,
        }
    }

    #[test]
    fn a_convolution_keeps_its_sizes_and_the_batch_is_told_apart() {
        let layers = of(&[shape("Conv", &[8, 16, 32, 24], &[8, 64, 16, 12])], 8);
        let one = &layers[0];
        assert_eq!(
            (one.kind, one.in_channels, one.out_channels),
            (LayerKind::Convolution, 16, 64)
        );
        assert_eq!((one.input, one.output, one.groups), ([32, 24], [16, 12], 4));
    }

    #[test]
    fn a_matrix_multiply_takes_the_last_dimension_of_a_sequence() {
        let layers = of(&[shape("MatMul", &[1, 197, 768], &[1, 197, 3072])], 1);
        let one = &layers[0];
        assert_eq!(
            (one.in_channels, one.out_channels, one.input),
            (768, 3072, [197, 1])
        );
        assert_eq!(one.groups, 1);
    }

    #[test]
    fn windows_in_front_and_sequences_before_the_batch_keep_their_values() {
        let first = shape("Conv", &[2, 3, 32, 32], &[2, 96, 8, 8]);
        let windows = shape("MatMul", &[2 * 16, 49, 96], &[2 * 16, 49, 288]);
        let sequence = shape("Add", &[197, 2, 768], &[197, 2, 768]);
        let layers = of(&[first, windows, sequence], 2);
        let sizes = |at: usize| (layers[at].in_channels, layers[at].out_channels, layers[at].input);
        assert_eq!(sizes(1), (96, 288, [16 * 49, 1]));
        // 197 is no multiple of 2, so it is no batch.
        assert_eq!(sizes(2), (768, 768, [197, 1]));
    }

    #[test]
    fn pillars_in_front_are_places_of_one_frame() {
        let layers = of(&[shape("Conv", &[12_000, 9, 32, 1], &[12_000, 64, 32, 1])], 1);
        assert_eq!(layers[0].output, [12_000 * 32, 1]);
        let layers = of(&[shape("Relu", &[12_000, 64, 32, 8], &[12_000, 64, 32, 8])], 1);
        assert_eq!(layers[0].output, [750, 4096]);
    }

    #[test]
    fn heads_of_attention_are_groups_and_weights_that_are_named_again_are_shared() {
        let mut scores = shape("MatMul", &[1, 12, 197, 64], &[1, 12, 64, 197]);
        scores.output = vec![1, 12, 197, 197];
        scores.weights = None;
        let first = shape("Conv", &[1, 3, 32, 32], &[1, 96, 8, 8]);
        let layers = of(&[first.clone(), first, scores], 1);
        let weights: Vec<Weights> = layers.iter().map(|layer| layer.weights).collect();
        assert_eq!(weights, [Weights::Own, Weights::Shared, Weights::Made]);
        let scores = &layers[2];
        assert_eq!(
            (
                scores.groups,
                scores.in_channels,
                scores.out_channels,
                scores.output
            ),
            (12, 12 * 64, 12 * 197, [197, 1])
        );
    }
}
