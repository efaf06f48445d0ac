//! The features of perf4sight (A. Rajagopal, C.-S. Bouganis: perf4sight, ICCV 2021 workshop ERCVAD, arXiv 2108.05580),
//! written from a description of the method: sums over convolutions of what three ways to compute them need.

use super::Stage;
use crate::layers::{Layer, LayerKind, LayerTable};

/// The published vector of a network for a batch: 56 values for training, 15 for inference, in the published order. Kernels
/// count as square, and layers that are no convolutions do not count.
pub fn perf4sight(table: &LayerTable, batch: u32, stage: Stage) -> Vec<f64> {
    let per_layer: fn(&Layer, f64) -> Vec<f64> = match stage {
        Stage::Training => training,
        Stage::Inference => inference,
    };
    let width = match stage {
        Stage::Training => 56,
        Stage::Inference => 15,
    };
    let mut total = vec![0.0; width];
    for layer in table
        .layers()
        .iter()
        .filter(|layer| layer.kind == LayerKind::Convolution)
    {
        for (total, value) in total.iter_mut().zip(per_layer(layer, f64::from(batch))) {
            *total += value;
        }
    }
    total
}

/// The letters of the description: channels in and out, channels that one filter sees, kernel, heights of input and output.
struct Shape {
    c: f64,
    d: f64,
    e: f64,
    k: f64,
    x: f64,
    y: f64,
}

impl Shape {
    fn of(layer: &Layer) -> Self {
        let [k, s, p, x] =
            [layer.kernel[0], layer.stride[0], layer.padding[0], layer.input[0]].map(f64::from);
        let c = f64::from(layer.in_channels);
        Self {
            c,
            d: f64::from(layer.out_channels),
            e: c / f64::from(layer.groups),
            k,
            x,
            y: 1.0 + libm::floor((x + 2.0 * p - k) / s),
        }
    }
}

/// F(u) = u (1 + u), the size of a real-to-complex transform.
fn spectrum(u: f64) -> f64 {
    u * (1.0 + u)
}

/// Scratch is counted in whole values.
fn whole<const N: usize>(values: [f64; N]) -> [f64; N] {
    values.map(libm::trunc)
}

fn training(layer: &Layer, n: f64) -> Vec<f64> {
    let Shape { c, d, e, k, x, y } = Shape::of(layer);
    let (k2, x2, y2) = (k * k, x * x, y * y);
    let mut all = Vec::with_capacity(56);
    let tensors = [d * e * k2, n * d * e * k2, 2.0 * n * c * x2, 2.0 * n * d * y2];
    all.extend(whole(tensors));
    all.push(libm::trunc(tensors.iter().sum()));

    let (indices, matrix) = (n * y2, n * y2 * k2 * c);
    let (back_indices, back_matrix, weight_matrix) = (n * x2, n * x2 * k2 * c, n * y2 * k2 * e);
    all.extend(whole([
        indices,
        matrix,
        back_indices,
        back_matrix,
        weight_matrix,
        matrix + back_matrix + weight_matrix,
        2.0 * indices + back_indices,
    ]));
    let (forward, back) = (n * d * y2 * k2 * e, n * c * x2 * k2 * d);
    all.extend([forward, back, 2.0 * forward + back]);

    let (fx, fy) = (spectrum(x), spectrum(y));
    let [wx, ix, ox, wy, oy] = [fx * d * e, fx * n * c, fx * n * d, fy * d * e, fy * n * d];
    all.extend(whole([
        wx,
        ix,
        ox,
        wy,
        oy,
        ix + wx,
        oy + wy,
        ox + ix,
        wx + ix + ix + ox + wy + oy,
    ]));
    let s = n * c + n * d + d * e;
    let ops_x = x2 * libm::log2(x) * s + n * d * c * x2;
    let ops_y = y2 * libm::log2(y) * s + n * d * c * y2;
    // The leading factor is x, as published.
    let ops_w = x * libm::log2(x2) * s + n * d * c * x2;
    all.extend([ops_x, ops_y, ops_w, ops_x + ops_y + ops_w]);

    for (m, r) in [(4.0, 3.0), (3.0, 2.0)] {
        let t = (m + r - 1.0) * (m + r - 1.0);
        let (tiles_x, tiles_y) = (square(libm::ceil(x / m)), square(libm::ceil(y / m)));
        let (a, b, w) = (
            3.0 * n * d * t * tiles_x,
            3.0 * n * c * t * tiles_y,
            3.0 * n * d * e * t * tiles_x,
        );
        all.extend(whole([a, b, w, a + b, a + w, b + w, a + b + w]));
    }
    for (m, r) in [(4.0, 3.0), (3.0, 2.0)] {
        let t = (m + r - 1.0) * (m + r - 1.0);
        let (tiles, kernel, out) = (
            square(libm::ceil(x / m)),
            square(libm::ceil(k / r)),
            square(libm::ceil(y / r)),
        );
        let (a, b, w) = (
            n * d * e * tiles * kernel * t,
            n * c * d * tiles * kernel * t,
            n * d * e * tiles * out * t,
        );
        all.extend([a, b, w, a + b, a + w, b + w, a + b + w]);
    }
    all
}

fn inference(layer: &Layer, n: f64) -> Vec<f64> {
    let Shape { c, d, e, k, x, y } = Shape::of(layer);
    let (k2, x2, y2) = (k * k, x * x, y * y);
    let tensors = [d * e * k2, n * c * x2, n * d * y2];
    let mut all = Vec::with_capacity(15);
    all.extend(whole(tensors));
    all.push(libm::trunc(tensors.iter().sum()));
    all.extend(whole([n * y2, n * y2 * k2 * c]));
    all.push(n * d * y2 * k2 * e);
    let (weights, input) = (spectrum(x) * d * e, spectrum(x) * n * c);
    all.extend(whole([weights, input, weights + input]));
    all.push(x2 * libm::log2(x) * (n * c + n * d + d * e) + n * d * c * x2);
    let tile = |m: f64, r: f64| {
        (
            (m + r - 1.0) * (m + r - 1.0),
            square(libm::ceil(x / m)),
            square(libm::ceil(k / r)),
        )
    };
    let two = [tile(4.0, 3.0), tile(3.0, 2.0)];
    all.extend(whole(two.map(|(t, tiles, _)| 3.0 * n * d * t * tiles)));
    all.extend(two.map(|(t, tiles, kernel)| n * d * e * tiles * kernel * t));
    all
}

fn square(x: f64) -> f64 {
    x * x
}
