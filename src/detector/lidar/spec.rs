//! LiDAR detectors as written in RON, and the detector that a spec makes.
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
//! In place of `encoder`, `scatter` and `backbone`, one network may do it all: `whole: (network: …, input: …)`.
//! Every problem of a spec is reported at once.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Deserializer};

use super::anchors::{
    Activation, Anchor, AnchorDecode, Convention, DirectionRule, Head, HeadLayout, Placement, Scores,
};
use super::encode::{CELLS, Encoder, Feature, Layout, Planes, dims};
use super::grid::Grid;
use super::nms::Suppress;
use super::preprocess::{CellInput, PillarInput, PointInput};
use super::scatter::{FeatureLayout, Scatter, WRITTEN};
use super::voxelise::{Voxeliser, WhenFull};
use crate::backend::{NetworkSource, Program, Step, TensorSpec};
use crate::detector::{Detector, DetectorError, Preprocess};
use crate::source::ContentKind;
use crate::tensor::ElementType;

/// A LiDAR detector as written.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LidarSpec {
    /// Shown in reports.
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
    #[serde(default)]
    pub when_full: WhenFull,
    /// The network from pillars to features.
    #[serde(default, deserialize_with = "present")]
    pub encoder: Option<EncoderSpec>,
    /// Where the features go.
    #[serde(default, deserialize_with = "present")]
    pub scatter: Option<ScatterSpec>,
    /// The network from the canvas to the head's outputs.
    #[serde(default, deserialize_with = "present")]
    pub backbone: Option<BackboneSpec>,
    /// One network that does it all.
    #[serde(default, deserialize_with = "present")]
    pub whole: Option<WholeSpec>,
    /// How the outputs are read.
    pub head: HeadSpec,
    /// Least score that is reported, in 0..1.
    #[serde(default = "default_threshold")]
    pub score_threshold: f32,
    /// Suppression of overlapping boxes.
    #[serde(default)]
    pub nms: NmsSpec,
}

/// Bounds in metres, each from and to.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "forward, left, up")]
pub struct RangeSpec {
    pub x: (f64, f64),
    pub y: (f64, f64),
    pub z: (f64, f64),
}

/// The network from pillars to features.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncoderSpec {
    /// ONNX file, relative to the spec.
    pub network: String,
    /// Its inputs.
    pub layout: LayoutSpec,
    /// Its output.
    pub output: String,
    /// How that is laid out.
    #[serde(default)]
    pub output_layout: FeatureLayout,
    /// Features of a pillar.
    pub channels: usize,
    /// Whether the inputs always have `max_pillars` rows.
    #[serde(default)]
    pub fixed_pillars: bool,
}

/// How a network takes pillars. `P` is the number of pillars, `N` is `max_points`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum LayoutSpec {
    /// One tensor a quantity, `[1, 1, P, N]` each and `[1, P]` for the count.
    Planes {
        /// Tensors of coordinates and intensity; padding is 0.
        #[serde(default = "name_x")]
        x: String,
        #[allow(missing_docs, reason = "see x")]
        #[serde(default = "name_y")]
        y: String,
        #[allow(missing_docs, reason = "see x")]
        #[serde(default = "name_z")]
        z: String,
        #[allow(missing_docs, reason = "see x")]
        #[serde(default = "name_i")]
        intensity: String,
        /// Tensors of the pillar's middle along x and y.
        #[serde(default = "name_cx")]
        centre_x: String,
        #[allow(missing_docs, reason = "see centre_x")]
        #[serde(default = "name_cy")]
        centre_y: String,
        /// Tensor of 1 for a point and 0 for padding.
        #[serde(default = "name_mask")]
        mask: String,
        /// Tensor of the number of points in a pillar.
        #[serde(default = "name_count")]
        count: String,
        /// The middle of pillar (0, 0) as the network was given it in training, where that is not the middle.
        #[serde(default)]
        first_centre: Option<(f64, f64)>,
    },
    /// One tensor `[1, P, N, F]`.
    PillarsPointsFeatures {
        /// Its name.
        tensor: String,
        /// The last dimension.
        features: Vec<Feature>,
        /// A tensor `[1, P, N, 1]` of 1 for a point and 0 for padding.
        #[serde(default)]
        mask: Option<String>,
        /// Whether shapes begin with 1; otherwise `[P, N, F]`.
        #[serde(default = "yes")]
        batched: bool,
    },
    /// One tensor `[1, F, P, N]`.
    FeaturesPillarsPoints {
        /// Its name.
        tensor: String,
        /// The second dimension.
        features: Vec<Feature>,
    },
}

/// Where an encoder's features go.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScatterSpec {
    /// The backbone's input, `[1, channels, ny, nx]`.
    pub tensor: String,
}

/// The network from the canvas on.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackboneSpec {
    /// ONNX file, relative to the spec.
    pub network: String,
}

/// One network that does it all.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WholeSpec {
    /// ONNX file, relative to the spec.
    pub network: String,
    /// What it takes.
    pub input: WholeInput,
}

/// What a whole network takes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(
    clippy::large_enum_variant,
    reason = "one is read for each detector, and dropped once it is built"
)]
pub enum WholeInput {
    /// Pillars, and the cells that they belong to.
    Pillars {
        /// Of the points.
        layout: LayoutSpec,
        /// Tensor `i32 [P, columns]` of cells.
        cells: String,
        /// Its columns.
        #[serde(default = "batch_z_y_x")]
        cell_columns: Vec<CellColumn>,
        /// Tensor `i32 [1]` of the number of pillars.
        #[serde(default)]
        count: Option<String>,
        /// Whether there are always `max_pillars` rows.
        #[serde(default)]
        fixed_pillars: bool,
    },
    /// Points, `[1, N, columns]`.
    Points {
        /// The tensor.
        tensor: String,
        /// Its columns.
        #[serde(default = "x_y_z_intensity")]
        columns: Vec<PointColumn>,
        /// Most points of a sweep.
        max: usize,
        /// Whether there are always that many rows.
        #[serde(default)]
        fixed: bool,
    },
}

/// A column of a tensor of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum CellColumn {
    /// 0: the index in a batch of one, or along z.
    Zero,
    /// Along x.
    X,
    /// Along y.
    Y,
}

/// A column of a tensor of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub enum PointColumn {
    X,
    Y,
    Z,
    Intensity,
    /// 0: a ring or time that the source does not have.
    Zero,
}

/// How a network's outputs are read.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum HeadSpec {
    /// Corrections of anchors.
    Anchors {
        /// Tensor of seven corrections an anchor: x, y, z, three sides, rotation.
        boxes: String,
        /// Tensor of scores.
        classes: String,
        /// Tensor of two direction classes an anchor.
        #[serde(default)]
        directions: Option<String>,
        /// How they are used.
        #[serde(default)]
        direction_rule: DirectionRule,
        /// Of all three.
        #[serde(default)]
        layout: HeadLayout,
        /// What the scores are of.
        #[serde(default)]
        scores: Scores,
        /// From a network's score to 0..=1.
        #[serde(default)]
        activation: Activation,
        /// What sides and rotations mean.
        #[serde(default)]
        convention: Convention,
        /// Where the anchors lie.
        #[serde(default)]
        placement: Placement,
        /// Pillars per cell of the head, along x and along y.
        stride: u32,
        /// The anchors of each cell, in the network's order: entry by entry, rotation by rotation.
        anchors: Vec<AnchorSpec>,
        /// Whether anchors over fewer than two occupied pillars are left out.
        #[serde(default)]
        drop_empty: bool,
    },
}

/// Anchors of one size.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
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
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
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

fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}
fn default_threshold() -> f32 {
    0.3
}
fn yes() -> bool {
    true
}
fn batch_z_y_x() -> Vec<CellColumn> {
    vec![CellColumn::Zero, CellColumn::Zero, CellColumn::Y, CellColumn::X]
}
fn x_y_z_intensity() -> Vec<PointColumn> {
    vec![
        PointColumn::X,
        PointColumn::Y,
        PointColumn::Z,
        PointColumn::Intensity,
    ]
}
macro_rules! names {
    ($($function:ident $name:literal)*) => { $(fn $function() -> String { $name.to_owned() })* };
}
names! {
    name_x "pillar_x" name_y "pillar_y" name_z "pillar_z" name_i "pillar_i"
    name_cx "x_sub_shaped" name_cy "y_sub_shaped" name_mask "mask" name_count "num_points_per_pillar"
}

/// Most cells that a grid may have: a typing error in `voxel` should not take all memory.
const MAX_CELLS: f64 = 64e6;

impl LidarSpec {
    /// The detector that this describes. `base` is the folder that networks' paths start from, `spec_name` what
    /// messages call the spec. No file is read.
    ///
    /// # Errors
    /// [`DetectorError::BadSpec`], with everything that contradicts itself.
    pub fn build(self, base: &Path, spec_name: &str) -> Result<Detector, DetectorError> {
        let problems = self.problems();
        if !problems.is_empty() {
            return Err(DetectorError::BadSpec {
                spec: spec_name.to_owned(),
                problem: problems.join("; "),
            });
        }
        let engines = [
            self.encoder.as_ref().map(|e| &e.network),
            self.backbone.as_ref().map(|b| &b.network),
            self.whole.as_ref().map(|w| &w.network),
        ]
        .into_iter()
        .flatten()
        .map(|network| NetworkSource::File(base.join(network)))
        .collect();
        let grid = self.grid();
        let (preprocess, mut tensors) = self.preprocess(grid);
        let steps = match &self.encoder {
            Some(encoder) => {
                let scatter = self.scatter_step(encoder, grid);
                tensors.extend(scatter.tensors());
                vec![Step::Engine(0), Step::Host(Arc::new(scatter)), Step::Engine(1)]
            }
            None => vec![Step::Engine(0)],
        };
        let host_tensors = tensors
            .into_iter()
            .map(|(name, element, max_shape)| TensorSpec {
                name,
                element,
                max_shape,
            })
            .collect();
        let nms = self.nms;
        let suppress = Suppress::new(nms.iou, nms.after, nms.per_class);
        Ok(Detector {
            reach: Some([self.range.x, self.range.y].map(|(from, to)| [from as f32, to as f32])),
            postprocess: Box::new(AnchorDecode::new(self.head(), grid, suppress)),
            name: self.name,
            input: ContentKind::Points,
            classes: self.classes,
            program: Program {
                engines,
                steps,
                host_tensors,
            },
            preprocess,
        })
    }

    /// The grid of a spec without problems.
    pub fn grid(&self) -> Grid {
        let RangeSpec { x, y, z } = self.range;
        let cells = |(from, to): (f64, f64), size: f64| ((to - from) / size).round() as u32;
        Grid {
            min: [x.0 as f32, y.0 as f32, z.0 as f32],
            size: [self.voxel.0 as f32, self.voxel.1 as f32, self.voxel.2 as f32],
            cells: [cells(x, self.voxel.0), cells(y, self.voxel.1)],
        }
    }

    /// How the outputs of a spec without problems are read.
    pub fn head(&self) -> Head {
        let HeadSpec::Anchors {
            boxes,
            classes,
            directions,
            direction_rule,
            layout,
            scores,
            activation,
            convention,
            placement,
            stride,
            anchors,
            drop_empty,
        } = &self.head;
        let of_entry = |a: &AnchorSpec| {
            let (class, size, z) = (a.class, [a.size.0, a.size.1, a.size.2], a.z);
            let with = move |rotation| Anchor {
                class,
                size,
                z,
                rotation,
            };
            a.rotations.clone().into_iter().map(with)
        };
        Head {
            boxes: boxes.clone(),
            scores: classes.clone(),
            directions: directions.clone().map(|name| (name, *direction_rule)),
            layout: *layout,
            score_kind: *scores,
            activation: *activation,
            classes: self.classes.len(),
            anchors: anchors.iter().flat_map(of_entry).collect(),
            convention: *convention,
            placement: *placement,
            min: [self.range.x.0, self.range.y.0],
            pillar: [self.voxel.0, self.voxel.1],
            stride: *stride,
            drop_empty: *drop_empty,
            score_threshold: self.score_threshold,
            before: self.nms.before,
        }
    }

    fn scatter_step(&self, encoder: &EncoderSpec, grid: Grid) -> Scatter {
        Scatter {
            features: encoder.output.clone(),
            layout: encoder.output_layout,
            canvas: self
                .scatter
                .as_ref()
                .map(|s| s.tensor.clone())
                .unwrap_or_default(),
            channels: encoder.channels,
            cells: grid.cells,
            max_pillars: self.max_pillars as usize,
        }
    }

    fn preprocess(&self, grid: Grid) -> (Box<dyn Preprocess>, Tensors) {
        let (layout, fixed, cells) = match (&self.encoder, self.whole.as_ref().map(|w| &w.input)) {
            (
                _,
                Some(WholeInput::Points {
                    tensor,
                    columns,
                    max,
                    fixed,
                }),
            ) => {
                let input = PointInput {
                    tensor: tensor.clone(),
                    columns: columns.clone(),
                    max_points: *max,
                    fixed: *fixed,
                };
                let tensors = input.tensors();
                return (Box::new(input), tensors);
            }
            (
                _,
                Some(WholeInput::Pillars {
                    layout,
                    cells,
                    cell_columns,
                    count,
                    fixed_pillars,
                }),
            ) => {
                let cells = CellInput {
                    tensor: cells.clone(),
                    columns: cell_columns.clone(),
                    count: count.clone(),
                    fixed_rows: fixed_pillars.then_some(self.max_pillars as usize),
                };
                (layout, *fixed_pillars, Some(cells))
            }
            (Some(encoder), None) => (&encoder.layout, encoder.fixed_pillars, None),
            (None, None) => unreachable!("a spec without networks has problems"),
        };
        let (rows, points) = (self.max_pillars as usize, self.max_points as usize);
        let encoder = Encoder::new(layout.resolve(&grid), grid, points, rows, fixed);
        let mut tensors = encoder.tensors();
        if let Some(input) = &cells {
            let shape = dims([rows, input.columns.len()]);
            tensors.push((input.tensor.clone(), ElementType::I32, shape));
            tensors.extend(
                input
                    .count
                    .iter()
                    .map(|count| (count.clone(), ElementType::I32, dims([1]))),
            );
        }
        let voxeliser = Voxeliser::new(grid, self.max_points, self.max_pillars, self.when_full);
        (
            Box::new(PillarInput {
                voxeliser,
                encoder,
                cells,
            }),
            tensors,
        )
    }

    /// All that is wrong with the spec itself, in words.
    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut check = |holds: bool, problem: &dyn Fn() -> String| {
            if !holds {
                problems.push(problem());
            }
        };
        check(!self.classes.is_empty(), &|| {
            "`classes` is empty: name at least one".into()
        });
        check(self.max_points > 0, &|| {
            "`max_points` is 0: a pillar holds at least one point".into()
        });
        check(self.max_pillars > 0, &|| {
            "`max_pillars` is 0: a sweep needs at least one".into()
        });
        let buffer = f64::from(self.max_points) * f64::from(self.max_pillars);
        check(buffer <= MAX_CELLS, &|| {
            format!("`max_points` × `max_pillars` is {buffer}: at most {MAX_CELLS} points are set aside")
        });
        let axes = [
            ("x", self.range.x, self.voxel.0),
            ("y", self.range.y, self.voxel.1),
            ("z", self.range.z, self.voxel.2),
        ];
        for (axis, (from, to), size) in axes {
            let cells = (to - from) / size;
            check(from < to, &|| {
                format!("`range.{axis}` goes from {from} to {to}: the second must be larger")
            });
            check(size > 0.0, &|| {
                format!("`voxel` is {size} along {axis}: it must be above 0")
            });
            let whole = (cells - cells.round()).abs() < 1e-3 && cells >= 0.5;
            check(!(from < to && size > 0.0) || whole, &|| {
                format!("`range.{axis}` holds {cells:.3} voxels of {size} m: it must be a whole number")
            });
        }
        let [nx, ny, nz] = axes.map(|(_, (from, to), size)| ((to - from) / size).round());
        check(nx * ny <= MAX_CELLS, &|| {
            format!("the grid has {nx} × {ny} pillars: at most {MAX_CELLS} are allowed")
        });
        check(!nz.is_finite() || nz <= 1.0, &|| {
            format!(
                "`voxel` divides the range into {nz} layers along z: a pillar spans it, so give its height"
            )
        });
        check((0.0..1.0).contains(&self.score_threshold), &|| {
            format!(
                "`score_threshold` is {}: it must be from 0 to below 1",
                self.score_threshold
            )
        });
        let nms = &self.nms;
        check((0.0..=1.0).contains(&nms.iou), &|| {
            format!("`nms.iou` is {}: it must be from 0 to 1", nms.iou)
        });
        check(nms.before > 0 && nms.after > 0, &|| {
            "`nms.before` and `nms.after` must be above 0".into()
        });
        self.network_problems(&mut check);
        self.head_problems([nx, ny], &mut check);
        problems
    }

    fn network_problems(&self, check: &mut dyn FnMut(bool, &dyn Fn() -> String)) {
        let parts = [
            self.encoder.is_some(),
            self.scatter.is_some(),
            self.backbone.is_some(),
        ];
        let complete = if self.whole.is_some() {
            parts == [false; 3]
        } else {
            parts == [true; 3]
        };
        check(complete, &|| {
            "give either `encoder`, `scatter` and `backbone`, or `whole` alone: the networks are not clear"
                .into()
        });
        let mut names: Vec<&str> = vec![CELLS, WRITTEN];
        let mut layouts = Vec::new();
        if let Some(encoder) = &self.encoder {
            check(encoder.channels > 0, &|| {
                "`encoder.channels` is 0: give the features of a pillar".into()
            });
            names.push(&encoder.output);
            layouts.push(&encoder.layout);
        }
        names.extend(self.scatter.iter().map(|s| s.tensor.as_str()));
        match self.whole.as_ref().map(|w| &w.input) {
            Some(WholeInput::Pillars {
                layout,
                cells,
                cell_columns,
                count,
                ..
            }) => {
                check(!cell_columns.is_empty(), &|| {
                    "`whole.input.cell_columns` is empty".into()
                });
                names.push(cells);
                names.extend(count.iter().map(String::as_str));
                layouts.push(layout);
            }
            Some(WholeInput::Points {
                tensor, columns, max, ..
            }) => {
                check(*max > 0, &|| {
                    "`whole.input.max` is 0: give the most points of a sweep".into()
                });
                check(!columns.is_empty(), &|| "`whole.input.columns` is empty".into());
                names.push(tensor);
            }
            None => {}
        }
        for layout in layouts {
            layout.check(&mut names, check);
        }
        names.sort_unstable();
        for pair in names.windows(2) {
            check(pair[0] != pair[1], &|| {
                format!("two tensors are named `{}`", pair[0])
            });
        }
    }

    fn head_problems(&self, [nx, ny]: [f64; 2], check: &mut dyn FnMut(bool, &dyn Fn() -> String)) {
        let HeadSpec::Anchors {
            stride,
            anchors,
            drop_empty,
            ..
        } = &self.head;
        let divides = *stride > 0 && nx % f64::from(*stride) == 0.0 && ny % f64::from(*stride) == 0.0;
        check(divides, &|| {
            format!("`head.stride` is {stride}: it must divide the {nx} × {ny} pillars")
        });
        check(anchors.iter().any(|a| !a.rotations.is_empty()), &|| {
            "`head.anchors` holds no anchor".into()
        });
        for (index, anchor) in anchors.iter().enumerate() {
            let known = usize::from(anchor.class) < self.classes.len();
            check(known, &|| {
                let last = self.classes.len().saturating_sub(1);
                format!(
                    "`head.anchors[{index}].class` is {}: classes go from 0 to {last}",
                    anchor.class
                )
            });
            let (a, b, c) = anchor.size;
            check(a > 0.0 && b > 0.0 && c > 0.0, &|| {
                format!(
                    "`head.anchors[{index}].size` is {:?}: each side must be above 0",
                    anchor.size
                )
            });
        }
        let by_points = matches!(&self.whole, Some(w) if matches!(w.input, WholeInput::Points { .. }));
        check(!(*drop_empty && by_points), &|| {
            "`head.drop_empty` needs pillars, and `whole.input` gives points: set it to false".into()
        });
    }
}

type Tensors = Vec<(String, ElementType, crate::tensor::Shape)>;

impl LayoutSpec {
    /// As the encoder wants it.
    fn resolve(&self, grid: &Grid) -> Layout {
        match self.clone() {
            LayoutSpec::Planes {
                x,
                y,
                z,
                intensity,
                centre_x,
                centre_y,
                mask,
                count,
                first_centre,
            } => {
                let [cx, cy, _] = grid.centre([0, 0]);
                Layout::Planes(Planes {
                    values: [x, y, z, intensity],
                    centres: [centre_x, centre_y],
                    mask,
                    count,
                    first_centre: first_centre.map_or([cx, cy], |(x, y)| [x as f32, y as f32]),
                })
            }
            LayoutSpec::PillarsPointsFeatures {
                tensor,
                features,
                mask,
                batched,
            } => Layout::PillarsPointsFeatures {
                tensor,
                features,
                mask,
                batched,
            },
            LayoutSpec::FeaturesPillarsPoints { tensor, features } => {
                Layout::FeaturesPillarsPoints { tensor, features }
            }
        }
    }

    fn check<'a>(&'a self, names: &mut Vec<&'a str>, check: &mut dyn FnMut(bool, &dyn Fn() -> String)) {
        match self {
            LayoutSpec::Planes {
                x,
                y,
                z,
                intensity,
                centre_x,
                centre_y,
                mask,
                count,
                ..
            } => {
                names.extend([x, y, z, intensity, centre_x, centre_y, mask, count].map(String::as_str));
            }
            LayoutSpec::PillarsPointsFeatures {
                tensor,
                features,
                mask,
                ..
            } => {
                check(!features.is_empty(), &|| "`layout.features` is empty".into());
                names.push(tensor);
                names.extend(mask.iter().map(String::as_str));
            }
            LayoutSpec::FeaturesPillarsPoints { tensor, features } => {
                check(!features.is_empty(), &|| "`layout.features` is empty".into());
                names.push(tensor);
            }
        }
    }
}

#[cfg(test)]
mod tests;
