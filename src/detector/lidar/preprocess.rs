//! A sweep to the inputs of a LiDAR network: by pillars, or point by point.

use super::columns::{CellColumn, PointColumn};
use super::encode::{Encoder, dims, on_device, shaped};
use super::voxelise::Voxeliser;
use crate::detector::{Carry, DetectorError, Preprocess};
use crate::source::wants::Wants;
use crate::source::{Content, ContentKind, Frame, PointCloud};
use crate::tensor::{ElementType, Shape, TensorError, TensorSet};

/// The cells of pillars as a network of its own takes them.
#[derive(Clone, Debug)]
pub struct CellInput {
    /// The name of an input `i32 [P, columns]`.
    pub tensor: String,
    /// What stands in each column.
    pub columns: Vec<CellColumn>,
    /// `i32 [1]`: how many pillars there are.
    pub count: Option<String>,
    /// Whether the tensor always has as many rows as there may be pillars.
    pub fixed_rows: Option<usize>,
}

/// Groups points into pillars and writes what the network is given of them.
pub struct PillarInput {
    /// Sorts points into pillars.
    pub voxeliser: Voxeliser,
    /// Writes the pillars into the network's inputs.
    pub encoder: Encoder,
    /// For networks that scatter by themselves.
    pub cells: Option<CellInput>,
}

impl Preprocess for PillarInput {
    fn run(&mut self, frame: &Frame, inputs: &mut TensorSet, _: &mut Carry) -> Result<u32, DetectorError> {
        let cloud = sweep(frame)?;
        // A slot whose device does this has a place for the points instead.
        if let Some(place) = inputs.find(on_device::BLOCK) {
            let with_time = self.encoder.takes_time();
            return match on_device::fill_block(cloud, with_time, &mut inputs.as_mut_slice()[place]) {
                Ok(()) => Ok(cloud.points.len() as u32),
                Err(error) => Err(DetectorError::BadFrame {
                    index: frame.index,
                    problem: error.to_string(),
                }),
            };
        }
        let tally = self.voxeliser.run(&cloud.points);
        if tally.not_finite > 0 {
            log::debug!(
                "frame {}: {} points are not finite",
                frame.index,
                tally.not_finite
            );
        }
        if self.encoder.takes_time() {
            self.voxeliser.gather_times(&cloud.time);
        }
        self.encoder.fill(&self.voxeliser, inputs)?;
        if let Some(input) = &self.cells {
            input.fill(&self.voxeliser, inputs)?;
        }
        Ok(tally.kept)
    }

    fn wants(&self) -> Wants {
        Wants {
            intensity: self.encoder.takes_intensity(),
            ..Wants::default()
        }
    }
}

impl CellInput {
    fn fill(&self, pillars: &Voxeliser, inputs: &mut TensorSet) -> Result<(), TensorError> {
        let rows = self.fixed_rows.unwrap_or(pillars.filled().max(1));
        let width = self.columns.len();
        let out = shaped(inputs, &self.tensor, dims([rows, width]))?.i32_mut()?;
        out.fill(0);
        for (row, ([ix, iy], _)) in out.chunks_exact_mut(width).zip(pillars.pillars()) {
            for (to, column) in row.iter_mut().zip(&self.columns) {
                *to = match column {
                    CellColumn::Zero => 0,
                    CellColumn::X => ix as i32,
                    CellColumn::Y => iy as i32,
                };
            }
        }
        if let Some(count) = &self.count {
            shaped(inputs, count, dims([1]))?.i32_mut()?[0] = pillars.filled() as i32;
        }
        Ok(())
    }
}

/// Hands the points over as they are: `f32 [1, N, columns]`.
#[derive(Clone, Debug)]
pub struct PointInput {
    /// The name of the network's input.
    pub tensor: String,
    /// What stands in each column.
    pub columns: Vec<PointColumn>,
    /// Most points; what a sweep holds beyond is left out.
    pub max_points: usize,
    /// Whether there are always that many rows; those beyond the sweep are then zero.
    pub fixed: bool,
}

impl PointInput {
    /// The tensor that it writes, in its largest shape.
    pub fn tensors(&self) -> Vec<(String, ElementType, Shape)> {
        let shape = dims([1, self.max_points, self.columns.len()]);
        vec![(self.tensor.clone(), ElementType::F32, shape)]
    }
}

impl Preprocess for PointInput {
    fn run(&mut self, frame: &Frame, inputs: &mut TensorSet, _: &mut Carry) -> Result<u32, DetectorError> {
        let cloud = sweep(frame)?;
        let width = self.columns.len();
        let tensor = shaped(inputs, &self.tensor, dims([1, self.max_points, width]))?;
        let all = cloud.points.iter().enumerate();
        let finite = all.filter(|(_, p)| p.iter().all(|v| v.is_finite()));
        let of = |values: &[f32], at: usize| values.get(at).copied().filter(|v| v.is_finite()).unwrap_or(0.0);
        let mut used = 0;
        let mut rows = tensor.f32_mut()?.chunks_exact_mut(width);
        for (row, (at, point)) in (&mut rows).zip(finite) {
            for (to, column) in row.iter_mut().zip(&self.columns) {
                *to = match column {
                    PointColumn::X => point[0],
                    PointColumn::Y => point[1],
                    PointColumn::Z => point[2],
                    PointColumn::Intensity => point[3],
                    PointColumn::Time => of(&cloud.time, at),
                    PointColumn::Ring => of(&cloud.ring, at),
                    PointColumn::Zero => 0.0,
                };
            }
            used += 1;
        }
        if self.fixed {
            tensor.f32_mut()?[used * width..].fill(0.0);
        } else {
            // One row of zeros where there is no point: few networks take none.
            if used == 0 {
                tensor.f32_mut()?[..width].fill(0.0);
            }
            tensor.set_shape(dims([1, used.max(1), width]))?;
        }
        Ok(used as u32)
    }

    fn wants(&self) -> Wants {
        Wants {
            intensity: self.columns.contains(&PointColumn::Intensity),
            ring: self.columns.contains(&PointColumn::Ring),
            zeros: false,
        }
    }
}

fn sweep(frame: &Frame) -> Result<&PointCloud, DetectorError> {
    let found = match frame.content() {
        Content::Points(cloud) => return Ok(cloud),
        other => other.kind(),
    };
    Err(DetectorError::WrongContent {
        wanted: ContentKind::Points,
        found,
    })
}
