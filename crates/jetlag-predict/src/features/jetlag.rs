//! Our terms of a network: what it computes and moves, by class of layer, and what it has to hold.
//!
//! Every term is `a · batch + b`, so [`TermsOfOne`] reads the layers once and [`TermsOfOne::at`] answers for any batch.
//! Work is counted in multiply-adds, also as padded to tiles: matrix multiplies of 33 channels cost what 64 do where a kernel
//! computes tiles of 32. Depthwise layers multiply no matrices; their cost is their traffic.

use super::schedule::{folded, peak_blocks};
use super::{Device, peak_live_values};
use crate::layers::{Layer, LayerKind, LayerTable, Weights};

/// Tiles that work is padded to, in channels: vector loads, and the tiles of matrix multiplies in use.
const TILES: [f64; 4] = [4.0, 32.0, 64.0, 128.0];
const MIB: f64 = 1_048_576.0;

/// Names of [`Terms`]' values, in order, with units.
pub const TERM_NAMES: [&str; Term::COUNT] = [
    "batch",
    "layers_with_weights",
    "other_layers",
    "work_pointwise_gmac",
    "work_spatial_gmac",
    "work_depthwise_gmac",
    "work_pointwise_tile_4_gmac",
    "work_pointwise_tile_32_gmac",
    "work_pointwise_tile_64_gmac",
    "work_pointwise_tile_128_gmac",
    "work_spatial_tile_4_gmac",
    "work_spatial_tile_32_gmac",
    "work_spatial_tile_64_gmac",
    "work_spatial_tile_128_gmac",
    "written_mib",
    "written_spatial_mib",
    "written_depthwise_mib",
    "written_other_mib",
    "written_tile_32_mib",
    "read_mib",
    "read_pointwise_mib",
    "weights_mib",
    "transform_mib",
    "largest_transform_mib",
    "largest_patches_mib",
    "largest_tensor_mib",
    "live_peak_mib",
    "patches_mib",
    "weights_held_mib",
    "largest_kernel_mib",
    "blocks_mib",
    "ends_mib",
];

/// One of the terms; the place in [`Terms`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Term {
    Batch,
    Layers,
    OtherLayers,
    Pointwise,
    Spatial,
    Depthwise,
    Pointwise4,
    Pointwise32,
    Pointwise64,
    Pointwise128,
    Spatial4,
    Spatial32,
    Spatial64,
    Spatial128,
    Written,
    WrittenSpatial,
    WrittenDepthwise,
    WrittenOther,
    WrittenTile32,
    Read,
    ReadPointwise,
    Weights,
    Transform,
    LargestTransform,
    LargestPatches,
    LargestTensor,
    LivePeak,
    /// What convolutions' kernels see, laid out as matrices.
    Patches,
    /// Weights, and the copies that are made where a norm is folded into them.
    WeightsHeld,
    /// Weights of the convolution that has most.
    LargestKernel,
    /// Blocks of an allocator that reuses them whole.
    Blocks,
    /// The network's inputs and outputs.
    Ends,
}

impl Term {
    pub(crate) const COUNT: usize = 32;
}

/// The terms of a network for one batch: [`TERM_NAMES`].
#[derive(Debug, Clone, PartialEq)]
pub struct Terms(pub(crate) [f64; Term::COUNT]);

impl Terms {
    pub(crate) fn get(&self, term: Term) -> f64 {
        self.0[term as usize]
    }

    /// All multiply-adds, 10⁹.
    pub(crate) fn work(&self) -> f64 {
        self.get(Term::Pointwise) + self.get(Term::Spatial) + self.get(Term::Depthwise)
    }

    /// What every layer reads and writes, weights too, MiB.
    pub(crate) fn traffic(&self) -> f64 {
        self.get(Term::Read) + self.get(Term::Written) + self.get(Term::Weights)
    }
}

/// Our description of a network: [`TERM_NAMES`], then the board's `tflops`, `gb_s` and `cpu_ghz`.
pub fn jetlag(table: &LayerTable, batch: u32, device: &Device) -> Vec<f64> {
    let terms = TermsOfOne::of(table).at(batch);
    terms
        .0
        .into_iter()
        .chain([device.tflops, device.gb_s, device.cpu_ghz])
        .collect()
}

/// The parts of every term that grow with the batch, and those that do not.
#[derive(Debug, Clone, PartialEq)]
pub struct TermsOfOne {
    each: [f64; Term::COUNT],
    fixed: [f64; Term::COUNT],
}

impl TermsOfOne {
    /// Reads the layers.
    pub fn of(table: &LayerTable) -> Self {
        let mut terms = Self {
            each: [0.0; Term::COUNT],
            fixed: [0.0; Term::COUNT],
        };
        terms.each[Term::Batch as usize] = 1.0;
        for layer in table.layers() {
            terms.add(layer);
        }
        terms.each[Term::LivePeak as usize] = 4.0 * peak_live_values(table) / MIB;
        let blocks = peak_blocks(table);
        terms.each[Term::Blocks as usize] = 4.0 * blocks.values / MIB;
        terms.each[Term::Ends as usize] = 4.0 * blocks.ends / MIB;
        let copied: f64 = folded(table).into_iter().map(weights).sum();
        terms.fixed[Term::WeightsHeld as usize] += 4.0 * copied / MIB;
        terms
    }

    /// The terms for a batch.
    pub fn at(&self, batch: u32) -> Terms {
        let mut values = self.fixed;
        for (value, each) in values.iter_mut().zip(self.each) {
            *value += f64::from(batch) * each;
        }
        Terms(values)
    }

    fn add(&mut self, layer: &Layer) {
        if layer.kind == LayerKind::Sizes {
            self.fixed[Term::OtherLayers as usize] += 1.0;
            return;
        }
        let [c, d, g] = [layer.in_channels, layer.out_channels, layer.groups].map(f64::from);
        let in_area = f64::from(layer.input[0]) * f64::from(layer.input[1]);
        let out_area = f64::from(layer.output[0]) * f64::from(layer.output[1]);
        let (read, written) = (4.0 * c * in_area / MIB, 4.0 * d * out_area / MIB);
        let each = &mut self.each;
        each[Term::Written as usize] += written;
        each[Term::Read as usize] += read;
        let largest = &mut each[Term::LargestTensor as usize];
        *largest = largest.max(written).max(read);
        if !layer.has_weights() {
            self.fixed[Term::OtherLayers as usize] += 1.0;
            each[Term::WrittenOther as usize] += written;
            return;
        }
        self.fixed[Term::Layers as usize] += 1.0;
        each[Term::WrittenTile32 as usize] += written * padded(d, 32.0) / d;
        let kernel = f64::from(layer.kernel[0]) * f64::from(layer.kernel[1]);
        let own = 4.0 * weights(layer) / MIB;
        match layer.weights {
            Weights::Made => each[Term::Read as usize] += own,
            Weights::Own | Weights::Shared => self.fixed[Term::Weights as usize] += own,
        }
        if layer.weights == Weights::Own {
            self.fixed[Term::WeightsHeld as usize] += own;
        }
        if layer.kind == LayerKind::Convolution {
            let largest = &mut self.fixed[Term::LargestKernel as usize];
            *largest = largest.max(own);
        }
        let work = d * (c / g) * kernel * layer.kernel_places() / 1e9;
        if layer.is_depthwise() {
            each[Term::Depthwise as usize] += work;
            each[Term::WrittenDepthwise as usize] += written;
        } else {
            let (all, first) = match kernel > 1.0 {
                true => (Term::Spatial, Term::Spatial4),
                false => (Term::Pointwise, Term::Pointwise4),
            };
            each[all as usize] += work;
            for (step, tile) in TILES.into_iter().enumerate() {
                each[first as usize + step] += work * padding(c / g, d / g, tile);
            }
        }
        if kernel > 1.0 {
            each[Term::WrittenSpatial as usize] += written;
            self.spatial(layer, kernel);
        } else {
            each[Term::ReadPointwise as usize] += read;
        }
    }

    /// Scratch of layers with a kernel: patches of an explicit matrix multiply, and Winograd's transforms.
    fn spatial(&mut self, layer: &Layer, kernel: f64) {
        let [c, d, g] = [layer.in_channels, layer.out_channels, layer.groups].map(f64::from);
        let out_area = f64::from(layer.output[0]) * f64::from(layer.output[1]);
        let largest = &mut self.each[Term::LargestPatches as usize];
        *largest = largest.max(4.0 * out_area * kernel * c / MIB);
        if !layer.is_depthwise() {
            self.each[Term::Patches as usize] += 4.0 * layer.kernel_places() * kernel * c / MIB;
        }
        // Grouped layers too, as perf4sight counts them: that libraries keep scratch for them is what left-out networks show.
        let is_winograd =
            layer.kernel == [3, 3] && layer.stride == [1, 1] && layer.kind == LayerKind::Convolution;
        if !is_winograd {
            return;
        }
        // F(4 × 4, 3 × 3): tiles of 6 × 6 values for 4 × 4 outputs, of input and output.
        let tiles = layer.output.map(|side| libm::ceil(f64::from(side) / 4.0));
        let each = 4.0 * 36.0 * tiles[0] * tiles[1] * (c + d) / MIB;
        let fixed = 4.0 * 36.0 * d * c / g / MIB;
        self.each[Term::Transform as usize] += each;
        self.fixed[Term::Transform as usize] += fixed;
        let (largest, own) = (Term::LargestTransform as usize, each + fixed);
        if own > self.each[largest] + self.fixed[largest] {
            (self.each[largest], self.fixed[largest]) = (each, fixed);
        }
    }
}

/// How many weights a layer has.
fn weights(layer: &Layer) -> f64 {
    let [c, d, g, down, across] = [
        layer.in_channels,
        layer.out_channels,
        layer.groups,
        layer.kernel[0],
        layer.kernel[1],
    ]
    .map(f64::from);
    d * (c / g) * down * across
}

/// What padding both sides of a matrix of weights to tiles multiplies the work by: the mean of the forward multiply (which pads
/// outputs), the gradient of the input (inputs) and the gradient of the weights (both).
fn padding(seen: f64, made: f64, tile: f64) -> f64 {
    let (inputs, outputs) = (padded(seen, tile) / seen, padded(made, tile) / made);
    (outputs + inputs + inputs * outputs) / 3.0
}

fn padded(channels: f64, tile: f64) -> f64 {
    libm::ceil(channels / tile) * tile
}
