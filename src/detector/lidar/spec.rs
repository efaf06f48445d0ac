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
use super::heatmap::{HeatmapSpec, RotationOrder, Sides};
use super::scatter::FeatureLayout;
use super::voxelise::WhenFull;
use crate::record::{fields, words};

words! {
    WhenFull: "when_full";
    FeatureLayout: "output layout";
    Feature: "feature", "a list of features, such as [X, Y, Z, Intensity]";
    PointColumn: "column", "a list of columns, such as [X, Y, Z, Intensity]";
    CellColumn: "column", "a list of columns, such as [Zero, Zero, Y, X]";
    HeadLayout: "layout";
    Scores: "scores";
    Activation: "activation";
    Convention: "convention";
    Placement: "placement";
    Sides: "sides";
    RotationOrder: "rotation_order";
}

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

fields! {
    /// Bounds in metres, each from and to.
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[allow(missing_docs, reason = "forward, left, up")]
    pub struct RangeSpec: no default, "Range", "fields, such as (x: (0.0, 70.4), y: (-40.0, 40.0), z: (-3.0, 1.0))" {
        pub x: (f64, f64), required "x: (0.0, 70.4)";
        pub y: (f64, f64), required "y: (-40.0, 40.0)";
        pub z: (f64, f64), required "z: (-3.0, 1.0)";
    }
}

fields! {
    /// The network from pillars to features.
    #[derive(Clone, Debug, PartialEq)]
    pub struct EncoderSpec: no default, "Encoder", "fields, such as (network: \"encoder.onnx\", layout: …, output: \"features\", channels: 64)" {
        /// ONNX file, relative to the spec.
        pub network: String, required "network: \"encoder.onnx\"";
        /// Names and order of its input tensors.
        pub layout: LayoutSpec, required "layout: PillarsPointsFeatures(tensor: \"points\", features: [X, Y, Z])";
        /// Name of its output tensor.
        pub output: String, required "output: \"features\"";
        /// How that is laid out.
        pub output_layout: FeatureLayout = FeatureLayout::default();
        /// Features of a pillar.
        pub channels: usize, required "channels: 64";
        /// Whether the inputs always have `max_pillars` rows.
        pub fixed_pillars: bool = false;
    }
}

fields! {
    /// How a network takes pillars. `P` is the number of pillars, `N` is `max_points`.
    #[derive(Clone, Debug, PartialEq)]
    pub enum LayoutSpec: "layout", else "PillarsPointsFeatures" {
        /// One tensor a quantity, `[1, 1, P, N]` each and `[1, P]` for the count.
        Planes(0, "Planes()") {
            /// Tensors of coordinates and intensity; padding is 0.
            x: String = "pillar_x".to_owned();
            #[allow(missing_docs, reason = "see x")]
            y: String = "pillar_y".to_owned();
            #[allow(missing_docs, reason = "see x")]
            z: String = "pillar_z".to_owned();
            #[allow(missing_docs, reason = "see x")]
            intensity: String = "pillar_i".to_owned();
            /// Tensors of the pillar's middle along x and y.
            centre_x: String = "x_sub_shaped".to_owned();
            #[allow(missing_docs, reason = "see centre_x")]
            centre_y: String = "y_sub_shaped".to_owned();
            /// Tensor of 1 for a point and 0 for padding.
            mask: String = "mask".to_owned();
            /// Tensor of the number of points in a pillar.
            count: String = "num_points_per_pillar".to_owned();
            /// The middle of pillar (0, 0) as the network was given it in training, where that is not the middle.
            first_centre: Option<(f64, f64)> = None;
        },
        /// One tensor `[1, P, N, F]`.
        PillarsPointsFeatures(0, "PillarsPointsFeatures(tensor: \"points\", features: [X, Y, Z])") {
            /// Name of the tensor.
            tensor: String, required "tensor: \"points\"";
            /// Features of a point, in the order of dimension F.
            features: Vec<Feature>, required "features: [X, Y, Z, Intensity]";
            /// A tensor `[1, P, N, 1]` of 1 for a point and 0 for padding.
            mask: Option<String> = None;
            /// Whether shapes begin with 1; otherwise `[P, N, F]`.
            batched: bool = true;
        },
        /// One tensor `[1, F, P, N]`.
        FeaturesPillarsPoints(0, "FeaturesPillarsPoints(tensor: \"points\", features: [X, Y, Z])") {
            /// Name of the tensor.
            tensor: String, required "tensor: \"points\"";
            /// Features of a point, in the order of dimension F.
            features: Vec<Feature>, required "features: [X, Y, Z, Intensity]";
        },
    }
}

fields! {
    /// Where an encoder's features go.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ScatterSpec: no default, "Scatter", "fields, such as (tensor: \"canvas\")" {
        /// The backbone's input, `[1, channels, ny, nx]`.
        pub tensor: String, required "tensor: \"canvas\"";
    }
}

fields! {
    /// The network from the canvas on.
    #[derive(Clone, Debug, PartialEq)]
    pub struct BackboneSpec: no default, "Backbone", "fields, such as (network: \"backbone.onnx\")" {
        /// ONNX file, relative to the spec.
        pub network: String, required "network: \"backbone.onnx\"";
    }
}

fields! {
    /// One network that does it all.
    #[derive(Clone, Debug, PartialEq)]
    pub struct WholeSpec: no default, "Whole", "fields, such as (network: \"detector.onnx\", input: …)" {
        /// ONNX file, relative to the spec.
        pub network: String, required "network: \"detector.onnx\"";
        /// The input that it takes: pillars or points.
        pub input: WholeInput, required "input: Points(tensor: \"points\", max: 100000)";
    }
}

fields! {
    /// What a whole network takes.
    #[derive(Clone, Debug, PartialEq)]
    #[allow(
        clippy::large_enum_variant,
        reason = "one is read for each detector, and dropped once it is built"
    )]
    pub enum WholeInput: "input", else "Pillars" {
        /// Pillars, and the cells that they belong to.
        Pillars(0, "Pillars(layout: …, cells: \"cells\")") {
            /// Tensors of the points within the pillars.
            layout: LayoutSpec, required "layout: PillarsPointsFeatures(tensor: \"points\", features: [X, Y, Z])";
            /// Tensor `i32 [P, columns]` of cells.
            cells: String, required "cells: \"cells\"";
            /// The columns of `cells`, in order.
            cell_columns: Vec<CellColumn> = vec![CellColumn::Zero, CellColumn::Zero, CellColumn::Y, CellColumn::X];
            /// Tensor `i32 [1]` of the number of pillars.
            count: Option<String> = None;
            /// Whether there are always `max_pillars` rows.
            fixed_pillars: bool = false;
        },
        /// Points, `[1, N, columns]`.
        Points(0, "Points(tensor: \"points\", max: 100000)") {
            /// Name of the input tensor.
            tensor: String, required "tensor: \"points\"";
            /// The columns of the tensor, in order.
            columns: Vec<PointColumn> = vec![PointColumn::X, PointColumn::Y, PointColumn::Z, PointColumn::Intensity];
            /// Most points of a sweep.
            max: usize, required "max: 100000";
            /// Whether there are always that many rows.
            fixed: bool = false;
        },
    }
}

fields! {
    /// How a network's outputs are read.
    #[derive(Clone, Debug, PartialEq)]
    pub enum HeadSpec: "head", else "Anchors" {
        /// Boxes as corrections of fixed anchors.
        Anchors[AnchorHeadSpec, 0, "Anchors(boxes: \"boxes\", classes: \"scores\", stride: 2, anchors: […])"],
        /// Boxes by the peaks of heat maps.
        Heatmap[HeatmapSpec, 0, "Heatmap(tasks: [(classes: [0, 1, 2])])"],
    }
}

fields! {
    /// How corrections of anchors are read.
    #[derive(Clone, Debug, PartialEq)]
    pub struct AnchorHeadSpec: no default, "Anchors", "fields of an anchor head" {
        /// Tensor of seven corrections an anchor: x, y, z, three sides, rotation.
        pub boxes: String, required "boxes: \"boxes\"";
        /// Name of the tensor with a score for each anchor and class.
        pub classes: String, required "classes: \"scores\"";
        /// Tensor of two direction classes an anchor.
        pub directions: Option<String> = None;
        /// How they are used.
        pub direction_rule: DirectionRule = DirectionRule::default();
        /// Order of the dimensions of these tensors.
        pub layout: HeadLayout = HeadLayout::default();
        /// What the scores are of.
        pub scores: Scores = Scores::default();
        /// From a network's score to 0..=1.
        pub activation: Activation = Activation::default();
        /// What sides and rotations mean.
        pub convention: Convention = Convention::default();
        /// Where the anchors lie.
        pub placement: Placement = Placement::default();
        /// Pillars per cell of the head, along x and along y.
        pub stride: u32, required "stride: 2";
        /// The anchors of each cell, in the network's order: entry by entry, rotation by rotation.
        pub anchors: Vec<AnchorSpec>, required "anchors: [(class: 0, …)]";
        /// Whether anchors over fewer than two occupied pillars are left out.
        pub drop_empty: bool = false;
    }
}

fields! {
    /// Anchors of one size.
    #[derive(Clone, Debug, PartialEq)]
    pub struct AnchorSpec: no default, "Anchor", "(class: 0, size: (1.6, 3.9, 1.56), z: -1.0, rotations: [0.0, 1.57])",
        list "an anchor", "a list of anchors, such as [(class: 0, …)]" {
        /// Index into the classes.
        pub class: u16, required "class: 0";
        /// Sides in metres: along x, along y (both at rotation 0) and along z.
        pub size: (f64, f64, f64), required "size: (1.6, 3.9, 1.56)";
        /// Height of the middle in metres.
        pub z: f64, required "z: -1.0";
        /// In radians; one anchor each.
        pub rotations: Vec<f64>, required "rotations: [0.0, 1.57]";
    }
}

fields! {
    /// Suppression of overlapping boxes.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct NmsSpec: "Nms", "fields, such as (iou: 0.1)" {
        /// A box goes if it overlaps a better one by more than this, seen from above.
        pub iou: f64 = 0.1;
        /// Most boxes that are compared, best first.
        pub before: usize = 1000;
        /// Most boxes that stay.
        pub after: usize = 300;
        /// Whether boxes suppress only those of their own class.
        pub per_class: bool = true;
    }
}

#[cfg(test)]
mod tests;
