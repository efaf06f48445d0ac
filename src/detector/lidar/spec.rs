//! LiDAR detectors as written in RON: the fields, and what they are where they are not written. What is wrong with a spec
//! is in `problems`, the detector that it makes in `build`.
//!
//! ```ron
//! Lidar(
//!     name: "pointpillars-kitti-car", classes: ["Car"],
//!     range: (x: (0.0, 69.12), y: (-39.68, 39.68), z: (-3.0, 1.0)), voxel: (0.16, 0.16, 4.0),
//!     max_points: 100, max_pillars: 12000,
//!     encoder: (
//!         network: "pfe.onnx",
//!         layout: PillarsPointsFeatures(tensor: "pillar_points", features: [X, Y, Z, Intensity]),
//!         output: "pillar_features", channels: 64,
//!     ),
//!     scatter: (tensor: "spatial_features"),
//!     backbone: (network: "rpn.onnx"),
//!     head: Anchors(
//!         boxes: "box_preds", classes: "cls_preds", directions: Some("dir_cls_preds"), stride: 2,
//!         anchors: [(class: 0, size: (1.6, 3.9, 1.56), z: -1.0, rotations: [0.0, 1.57])],
//!     ),
//!     score_threshold: 0.4, nms: (iou: 0.1, before: 1000, after: 300),
//! )
//! ```
//! In place of `encoder`, `scatter` and `backbone`, one network may do it all: `whole: (network: …, input: …)`. It may take images and
//! calibration of `cameras` as well.
//! `read` has how each field is written; every problem of a spec is reported at once.

mod build;
mod cameras;
mod problems;
mod read;

pub use cameras::CamerasSpec;

use super::columns::{CellColumn, PointColumn};

use super::anchors::{Activation, Convention, DirectionRule, HeadLayout, Placement, Scores};
use super::encode::Feature;
use super::heatmap::HeatmapSpec;
use super::scatter::FeatureLayout;
use super::voxelise::WhenFull;

/// A LiDAR detector as written.
#[derive(Clone, Debug, PartialEq)]
pub struct LidarSpec {
    /// Name of the detector in reports.
    pub name: String,
    /// Class names by index.
    pub classes: Vec<String>,
    /// What the network sees, in metres in the frame of the source.
    pub range: RangeSpec,
    /// Size of one pillar in metres: x, y, z. Along z it spans the range.
    pub voxel: (f64, f64, f64),
    /// Most points of one pillar.
    pub max_points: u32,
    /// Most pillars of one sweep.
    pub max_pillars: u32,
    /// What happens beyond that.
    pub when_full: WhenFull,
    /// The network from pillars to features.
    pub encoder: Option<EncoderSpec>,
    /// Where the features go.
    pub scatter: Option<ScatterSpec>,
    /// The network from the canvas to the head's outputs.
    pub backbone: Option<BackboneSpec>,
    /// One network that does it all.
    pub whole: Option<WholeSpec>,
    /// What that takes of cameras: its frames are sets of images and a sweep.
    pub cameras: Option<CamerasSpec>,
    /// How the outputs are read.
    pub head: HeadSpec,
    /// Least score that is reported, in 0..1.
    pub score_threshold: f32,
    /// Suppression of overlapping boxes.
    pub nms: NmsSpec,
}

/// Bounds in metres, each from and to.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "forward, left, up")]
pub struct RangeSpec {
    pub x: (f64, f64),
    pub y: (f64, f64),
    pub z: (f64, f64),
}

/// The network from pillars to features.
#[derive(Clone, Debug, PartialEq)]
pub struct EncoderSpec {
    /// ONNX file, relative to the spec.
    pub network: String,
    /// Names and order of its input tensors.
    pub layout: LayoutSpec,
    /// Name of its output tensor.
    pub output: String,
    /// How that is laid out.
    pub output_layout: FeatureLayout,
    /// Features of a pillar.
    pub channels: usize,
    /// Whether the inputs always have `max_pillars` rows.
    pub fixed_pillars: bool,
}

/// How a network takes pillars. `P` is the number of pillars, `N` is `max_points`.
#[derive(Clone, Debug, PartialEq)]
pub enum LayoutSpec {
    /// One tensor a quantity, `[1, 1, P, N]` each and `[1, P]` for the count.
    Planes {
        /// Tensors of coordinates and intensity; padding is 0.
        x: String,
        #[allow(missing_docs, reason = "see x")]
        y: String,
        #[allow(missing_docs, reason = "see x")]
        z: String,
        #[allow(missing_docs, reason = "see x")]
        intensity: String,
        /// Tensors of the pillar's middle along x and y.
        centre_x: String,
        #[allow(missing_docs, reason = "see centre_x")]
        centre_y: String,
        /// Tensor of 1 for a point and 0 for padding.
        mask: String,
        /// Tensor of the number of points in a pillar.
        count: String,
        /// The middle of pillar (0, 0) as the network was given it in training, where that is not the middle.
        first_centre: Option<(f64, f64)>,
    },
    /// One tensor `[1, P, N, F]`.
    PillarsPointsFeatures {
        /// Name of the tensor.
        tensor: String,
        /// Features of a point, in the order of dimension F.
        features: Vec<Feature>,
        /// A tensor `[1, P, N, 1]` of 1 for a point and 0 for padding.
        mask: Option<String>,
        /// Whether shapes begin with 1; otherwise `[P, N, F]`.
        batched: bool,
    },
    /// One tensor `[1, F, P, N]`.
    FeaturesPillarsPoints {
        /// Name of the tensor.
        tensor: String,
        /// Features of a point, in the order of dimension F.
        features: Vec<Feature>,
    },
}

/// Where an encoder's features go.
#[derive(Clone, Debug, PartialEq)]
pub struct ScatterSpec {
    /// The backbone's input, `[1, channels, ny, nx]`.
    pub tensor: String,
}

/// The network from the canvas on.
#[derive(Clone, Debug, PartialEq)]
pub struct BackboneSpec {
    /// ONNX file, relative to the spec.
    pub network: String,
}

/// One network that does it all.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeSpec {
    /// ONNX file, relative to the spec.
    pub network: String,
    /// The input that it takes: pillars or points.
    pub input: WholeInput,
}

/// What a whole network takes.
#[derive(Clone, Debug, PartialEq)]
#[allow(
    clippy::large_enum_variant,
    reason = "one is read for each detector, and dropped once it is built"
)]
pub enum WholeInput {
    /// Pillars, and the cells that they belong to.
    Pillars {
        /// Tensors of the points within the pillars.
        layout: LayoutSpec,
        /// Tensor `i32 [P, columns]` of cells.
        cells: String,
        /// The columns of `cells`, in order.
        cell_columns: Vec<CellColumn>,
        /// Tensor `i32 [1]` of the number of pillars.
        count: Option<String>,
        /// Whether there are always `max_pillars` rows.
        fixed_pillars: bool,
    },
    /// Points, `[1, N, columns]`.
    Points {
        /// Name of the input tensor.
        tensor: String,
        /// The columns of the tensor, in order.
        columns: Vec<PointColumn>,
        /// Most points of a sweep.
        max: usize,
        /// Whether there are always that many rows.
        fixed: bool,
    },
}

/// How a network's outputs are read.
#[derive(Clone, Debug, PartialEq)]
pub enum HeadSpec {
    /// Boxes as corrections of fixed anchors.
    Anchors(AnchorHeadSpec),
    /// Boxes by the peaks of heat maps.
    Heatmap(HeatmapSpec),
}

/// How corrections of anchors are read.
#[derive(Clone, Debug, PartialEq)]
pub struct AnchorHeadSpec {
    /// Tensor of seven corrections an anchor: x, y, z, three sides, rotation.
    pub boxes: String,
    /// Name of the tensor with a score for each anchor and class.
    pub classes: String,
    /// Tensor of two direction classes an anchor.
    pub directions: Option<String>,
    /// How they are used.
    pub direction_rule: DirectionRule,
    /// Order of the dimensions of these tensors.
    pub layout: HeadLayout,
    /// What the scores are of.
    pub scores: Scores,
    /// From a network's score to 0..=1.
    pub activation: Activation,
    /// What sides and rotations mean.
    pub convention: Convention,
    /// Where the anchors lie.
    pub placement: Placement,
    /// Pillars per cell of the head, along x and along y.
    pub stride: u32,
    /// The anchors of each cell, in the network's order: entry by entry, rotation by rotation.
    pub anchors: Vec<AnchorSpec>,
    /// Whether anchors over fewer than two occupied pillars are left out.
    pub drop_empty: bool,
}

/// Anchors of one size.
#[derive(Clone, Debug, PartialEq)]
pub struct AnchorSpec {
    /// Index into the classes.
    pub class: u16,
    /// Sides in metres: along x, along y (both at rotation 0) and along z.
    pub size: (f64, f64, f64),
    /// Height of the middle in metres.
    pub z: f64,
    /// In radians; one anchor each.
    pub rotations: Vec<f64>,
}

/// Suppression of overlapping boxes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NmsSpec {
    /// A box goes if it overlaps a better one by more than this, seen from above.
    pub iou: f64,
    /// Most boxes that are compared, best first.
    pub before: usize,
    /// Most boxes that stay.
    pub after: usize,
    /// Whether boxes suppress only those of their own class.
    pub per_class: bool,
}

impl Default for NmsSpec {
    fn default() -> Self {
        NmsSpec {
            iou: 0.1,
            before: 1000,
            after: 300,
            per_class: true,
        }
    }
}

#[cfg(test)]
mod tests;
