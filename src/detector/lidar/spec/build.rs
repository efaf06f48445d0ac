//! From a spec to the detector: its networks and steps, what fills its inputs, how its outputs are read.

use std::sync::Arc;

use super::{
    AnchorHeadSpec, AnchorSpec, EncoderSpec, HeadSpec, LayoutSpec, LidarSpec, RangeSpec, WholeInput,
};
use crate::backend::{DeviceInput, NetworkSource, Program, Step, TensorSpec};
use crate::detector::lidar::anchors::{Anchor, AnchorDecode, Head};
use crate::detector::lidar::cameras::SetInput;
use crate::detector::lidar::encode::{CELLS, Encoder, Layout, Planes, dims};
use crate::detector::lidar::grid::Grid;
use crate::detector::lidar::heatmap::{self, HeatmapDecode};
use crate::detector::lidar::nms::Suppress;
use crate::detector::lidar::preprocess::{CellInput, PillarInput, PointInput};
use crate::detector::lidar::scatter::Scatter;
use crate::detector::lidar::voxelise::Voxeliser;
use crate::detector::{Detector, Postprocess, Preprocess};
use crate::source::ContentKind;
use crate::tensor::ElementType;

type Tensors = Vec<(String, ElementType, crate::tensor::Shape)>;

impl LidarSpec {
    /// The detector of a spec that keeps the rules. `engines` are its [`networks`](Self::networks), in that order.
    pub(crate) fn build(self, engines: Vec<NetworkSource>) -> Detector {
        let grid = self.grid();
        let (mut preprocess, mut tensors, first) = self.preprocess(grid);
        let (mut input, mut cameras) = (ContentKind::Points, 0);
        if let Some(spec) = self.cameras.clone() {
            let of_cameras = spec.inputs();
            tensors.extend(of_cameras.tensors());
            (input, cameras) = (ContentKind::Set, of_cameras.count);
            preprocess = Box::new(SetInput {
                cameras: of_cameras,
                lidar: preprocess,
            });
        }
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
        let drop_empty = matches!(&self.head, HeadSpec::Anchors(how) if how.drop_empty);
        let read_back = drop_empty.then(|| CELLS.to_owned()).into_iter().collect();
        let nms = self.nms;
        let suppress = Suppress::new(nms.iou, nms.after, nms.per_class);
        Detector {
            reach: Some([self.range.x, self.range.y].map(|(from, to)| [from as f32, to as f32])),
            outputs: None,
            postprocess: self.postprocess(grid, suppress),
            name: self.name,
            input,
            cameras,
            classes: self.classes,
            program: Program {
                engines,
                steps,
                host_tensors,
                first: first.into_iter().collect(),
                read_back,
            },
            preprocess,
        }
    }

    /// Its networks as written, each with the field that names it.
    pub(crate) fn networks(&self) -> Vec<(&'static str, &str)> {
        let encoder = self
            .encoder
            .iter()
            .map(|e| ("encoder.network", e.network.as_str()));
        let backbone = self
            .backbone
            .iter()
            .map(|b| ("backbone.network", b.network.as_str()));
        let whole = self.whole.iter().map(|w| ("whole.network", w.network.as_str()));
        encoder.chain(backbone).chain(whole).collect()
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

    /// What reads the outputs of a spec without problems.
    fn postprocess(&self, grid: Grid, suppress: Suppress) -> Box<dyn Postprocess> {
        match &self.head {
            HeadSpec::Heatmap(how) => {
                let head = heatmap::Head {
                    how: how.clone(),
                    score_threshold: self.score_threshold,
                    before: self.nms.before,
                    min: [self.range.x.0, self.range.y.0],
                    pillar: [self.voxel.0, self.voxel.1],
                };
                Box::new(HeatmapDecode::new(head, grid, suppress))
            }
            HeadSpec::Anchors(how) => Box::new(AnchorDecode::new(self.anchor_head(how), grid, suppress)),
        }
    }

    /// How the outputs of a spec without problems are read, where they correct anchors.
    pub fn anchor_head(&self, how: &AnchorHeadSpec) -> Head {
        let AnchorHeadSpec {
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
        } = how;
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

    /// What fills the inputs, these in their largest shapes, and how a device does the same.
    fn preprocess(&self, grid: Grid) -> (Box<dyn Preprocess>, Tensors, Option<DeviceInput>) {
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
                return (Box::new(input), tensors, None);
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
        // What networks do with cells of rows that only fill up is theirs, so those that scatter by themselves get what they
        // always got.
        let on_device = || DeviceInput::Pillars(encoder.on_device(&voxeliser));
        let first = self.encoder.is_some().then(on_device);
        (
            Box::new(PillarInput {
                voxeliser,
                encoder,
                cells,
            }),
            tensors,
            first,
        )
    }
}

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
}
