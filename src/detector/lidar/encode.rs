//! Pillars to the tensors that a network takes, in the layouts that published networks have.
//!
//! Each layout is written in the order of its memory, padding included, so that a tensor needs no clearing
//! and holds nothing of the frame before.

pub mod on_device;

use serde::Deserialize;

use super::grid::Grid;
use super::voxelise::Voxeliser;
use crate::tensor::{ElementType, HostTensor, Shape, TensorError, TensorSet};

/// One number about one point of a pillar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Feature {
    /// Forward, in metres, as measured.
    X,
    /// Metres to the left of the sensor.
    Y,
    /// Metres above the sensor.
    Z,
    /// As the source has it.
    Intensity,
    /// Forward from the mean of the pillar's kept points.
    MeanX,
    /// Metres to the left of the pillar's mean.
    MeanY,
    /// Metres above the pillar's mean.
    MeanZ,
    /// Forward from the middle of the pillar.
    CentreX,
    /// Metres to the left of the pillar's centre.
    CentreY,
    /// Metres above the pillar's centre.
    CentreZ,
    /// Always 0.
    Zero,
    /// Seconds by which the point's sweep is older than the newest of the frame; 0 where the frame is one sweep.
    Time,
}

impl Feature {
    /// How many there are.
    const COUNT: usize = 12;
}

/// Name of the tensor that says which cell each row belongs to: `i32 [1, rows, 2]` of `ix, iy`; −1 in a
/// row that only fills up.
pub const CELLS: &str = "pillar_cells";

/// The eight planes of the networks that come from second.pytorch through OpenVINO and TensorRT ports:
/// `[1, 1, P, N]` each, and `[1, P]` for the count. Padding is zero but for the centres, which are the
/// same in all points of a pillar.
#[derive(Clone, Debug, PartialEq)]
pub struct Planes {
    /// Tensors of x, y, z and intensity.
    pub values: [String; 4],
    /// Tensors of the pillar's middle along x and along y.
    pub centres: [String; 2],
    /// Tensor of 1 for a point and 0 for padding.
    pub mask: String,
    /// Tensor of the number of points; 1 in rows that only fill up, since networks divide by it.
    pub count: String,
    /// The middle of cell 0 along x and y, in metres, as the network was given it in training.
    pub first_centre: [f32; 2],
}

/// How pillars lie in memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Layout {
    /// One tensor a quantity.
    Planes(Planes),
    /// One tensor `[1, P, N, F]` (`[P, N, F]` if not batched), and if wanted a mask `[1, P, N, 1]`.
    PillarsPointsFeatures {
        /// The name of the network's input.
        tensor: String,
        /// What stands in each place of the last dimension.
        features: Vec<Feature>,
        /// A tensor of 1 for a point and 0 for padding.
        mask: Option<String>,
        /// Whether the shape begins with 1.
        batched: bool,
    },
    /// One tensor `[1, F, P, N]`.
    FeaturesPillarsPoints {
        /// The name of the network's input.
        tensor: String,
        /// What stands in each place of the second dimension.
        features: Vec<Feature>,
    },
}

/// Writes pillars into a network's inputs.
#[derive(Clone, Debug)]
pub struct Encoder {
    layout: Layout,
    grid: Grid,
    points: usize,
    max_rows: usize,
    fixed: bool,
}

impl Encoder {
    /// For pillars of at most `points` points; `fixed` if the tensors always have `max_rows` rows.
    pub fn new(layout: Layout, grid: Grid, points: usize, max_rows: usize, fixed: bool) -> Self {
        Encoder {
            layout,
            grid,
            points,
            max_rows,
            fixed,
        }
    }

    /// Whether a network takes the time of each point.
    pub fn takes_time(&self) -> bool {
        match &self.layout {
            Layout::Planes(_) => false,
            Layout::PillarsPointsFeatures { features, .. }
            | Layout::FeaturesPillarsPoints { features, .. } => features.contains(&Feature::Time),
        }
    }

    /// Whether a network takes the intensity of each point.
    pub fn takes_intensity(&self) -> bool {
        match &self.layout {
            Layout::Planes(_) => true,
            Layout::PillarsPointsFeatures { features, .. }
            | Layout::FeaturesPillarsPoints { features, .. } => features.contains(&Feature::Intensity),
        }
    }

    /// The tensors that [`fill`](Self::fill) writes, in their largest shape.
    pub fn tensors(&self) -> Vec<(String, ElementType, Shape)> {
        let (p, n) = (self.max_rows, self.points);
        let f32s = |name: &String, shape| (name.clone(), ElementType::F32, shape);
        let mut all = match &self.layout {
            Layout::Planes(planes) => {
                let wide = planes.values.iter().chain(&planes.centres);
                let mut all: Vec<_> = wide.map(|name| f32s(name, dims([1, 1, p, n]))).collect();
                all.push(f32s(&planes.mask, dims([1, 1, p, n])));
                all.push(f32s(&planes.count, dims([1, p])));
                all
            }
            Layout::PillarsPointsFeatures {
                tensor,
                features,
                mask,
                batched,
            } => {
                let mut all = vec![f32s(tensor, points_shape(*batched, p, n, features.len()))];
                all.extend(
                    mask.iter()
                        .map(|mask| f32s(mask, points_shape(*batched, p, n, 1))),
                );
                all
            }
            Layout::FeaturesPillarsPoints { tensor, features } => {
                vec![f32s(tensor, dims([1, features.len(), p, n]))]
            }
        };
        all.push((CELLS.to_owned(), ElementType::I32, dims([1, p, 2])));
        all
    }

    /// Writes the pillars of the last sweep, and their cells into [`CELLS`].
    ///
    /// A sweep without any pillar is given one row of padding, whose cell is −1: networks with a dynamic
    /// number of rows are seldom made for none.
    pub fn fill(&self, pillars: &Voxeliser, tensors: &mut TensorSet) -> Result<(), TensorError> {
        let used = pillars.filled();
        let rows = if self.fixed { self.max_rows } else { used.max(1) };
        // Rows of a fixed shape that the frame before did not use are padding already.
        let before = tensors
            .get(CELLS)?
            .shape()
            .dims()
            .get(1)
            .copied()
            .unwrap_or(self.max_rows);
        let touched = if self.fixed { before.max(used).max(1) } else { rows };
        let plan = Plan {
            encoder: self,
            pillars,
            rows,
            touched: touched.min(rows),
        };
        match &self.layout {
            Layout::Planes(planes) => plan.planes(planes, tensors)?,
            Layout::PillarsPointsFeatures {
                tensor,
                features,
                mask,
                batched,
            } => {
                let shape = |f| points_shape(*batched, rows, self.points, f);
                plan.points_features(shaped(tensors, tensor, shape(features.len()))?, features)?;
                if let Some(mask) = mask {
                    plan.plane(shaped(tensors, mask, shape(1))?, 0.0, |_, _, _| 1.0)?;
                }
            }
            Layout::FeaturesPillarsPoints { tensor, features } => {
                let shape = dims([1, features.len(), rows, self.points]);
                plan.features_pillars(shaped(tensors, tensor, shape)?, features)?;
            }
        }
        let cells = shaped(tensors, CELLS, dims([1, used.max(1), 2]))?.i32_mut()?;
        cells.fill(-1);
        for (row, (cell, _)) in cells.chunks_exact_mut(2).zip(pillars.pillars()) {
            row.copy_from_slice(&cell.map(|i| i as i32));
        }
        Ok(())
    }
}

/// What is needed to write the encoder's inputs for one frame.
struct Plan<'a> {
    encoder: &'a Encoder,
    pillars: &'a Voxeliser,
    /// Rows that the tensors have.
    rows: usize,
    /// Rows that may hold something.
    touched: usize,
}

impl Plan<'_> {
    fn planes(&self, planes: &Planes, tensors: &mut TensorSet) -> Result<(), TensorError> {
        let wide = dims([1, 1, self.rows, self.encoder.points]);
        for (lane, name) in planes.values.iter().enumerate() {
            self.plane(shaped(tensors, name, wide)?, 0.0, |_, _, point| point[lane])?;
        }
        self.plane(shaped(tensors, &planes.mask, wide)?, 0.0, |_, _, _| 1.0)?;
        for (axis, name) in planes.centres.iter().enumerate() {
            let (size, first) = (self.encoder.grid.size[axis], planes.first_centre[axis]);
            let out = shaped(tensors, name, wide)?.f32_mut()?;
            let mut rows = out.chunks_exact_mut(self.encoder.points).take(self.touched);
            for ((cell, _), row) in self.pillars.pillars().zip(&mut rows) {
                row.fill(cell[axis] as f32 * size + first);
            }
            rows.for_each(|row| row.fill(0.0));
        }
        let counts = shaped(tensors, &planes.count, dims([1, self.rows]))?.f32_mut()?;
        counts.fill(1.0);
        for ((_, points), count) in self.pillars.pillars().zip(counts) {
            *count = points.len() as f32;
        }
        Ok(())
    }

    /// One value a point, `padding` beyond a pillar's last.
    fn plane(
        &self,
        out: &mut HostTensor,
        padding: f32,
        value: impl Fn([u32; 2], usize, &[f32; 4]) -> f32,
    ) -> Result<(), TensorError> {
        let mut rows = out
            .f32_mut()?
            .chunks_exact_mut(self.encoder.points)
            .take(self.touched);
        for ((cell, points), row) in self.pillars.pillars().zip(&mut rows) {
            let (held, rest) = row.split_at_mut(points.len());
            for (n, (to, point)) in held.iter_mut().zip(points).enumerate() {
                *to = value(cell, n, point);
            }
            rest.fill(padding);
        }
        rows.for_each(|row| row.fill(padding));
        Ok(())
    }

    fn points_features(&self, out: &mut HostTensor, features: &[Feature]) -> Result<(), TensorError> {
        let width = features.len();
        // Most published encoders take the first nine or ten features in their order here.
        let as_listed = features
            .iter()
            .enumerate()
            .all(|(n, feature)| *feature as usize == n);
        let out = out.f32_mut()?;
        let mut rows = out
            .chunks_exact_mut(self.encoder.points * width)
            .take(self.touched);
        for ((cell, points), row) in self.pillars.pillars().zip(&mut rows) {
            let origin = Origins::of(&self.encoder.grid, cell, points);
            let (held, rest) = row.split_at_mut(points.len() * width);
            match width {
                9 if as_listed => origin.write::<9>(held, points),
                10 if as_listed => origin.write::<10>(held, points),
                _ => {
                    for (to, point) in held.chunks_exact_mut(width).zip(points) {
                        let values = origin.values(point);
                        for (to, feature) in to.iter_mut().zip(features) {
                            *to = values[*feature as usize];
                        }
                    }
                }
            }
            rest.fill(0.0);
        }
        rows.for_each(|row| row.fill(0.0));
        // Written over afterwards, so that the loop above is not slower for networks that take no time.
        let places = features.iter().enumerate().filter(|(_, f)| **f == Feature::Time);
        for (place, _) in places {
            let rows = out.chunks_exact_mut(self.encoder.points * width);
            for (times, row) in self.pillars.times().zip(rows) {
                for (to, time) in row.chunks_exact_mut(width).zip(times) {
                    to[place] = *time;
                }
            }
        }
        Ok(())
    }

    fn features_pillars(&self, out: &mut HostTensor, features: &[Feature]) -> Result<(), TensorError> {
        let n = self.encoder.points;
        let out = out.f32_mut()?;
        for (feature, plane) in features.iter().zip(out.chunks_exact_mut(self.rows * n)) {
            let mut rows = plane.chunks_exact_mut(n).take(self.touched);
            for ((cell, points), row) in self.pillars.pillars().zip(&mut rows) {
                let origin = Origins::of(&self.encoder.grid, cell, points);
                let (held, rest) = row.split_at_mut(points.len());
                for (to, point) in held.iter_mut().zip(points) {
                    *to = origin.values(point)[*feature as usize];
                }
                rest.fill(0.0);
            }
            rows.for_each(|row| row.fill(0.0));
            if *feature == Feature::Time {
                for (times, row) in self.pillars.times().zip(plane.chunks_exact_mut(n)) {
                    row[..times.len()].copy_from_slice(times);
                }
            }
        }
        Ok(())
    }
}

/// What a pillar's points are measured from.
struct Origins {
    mean: [f32; 3],
    centre: [f32; 3],
}

impl Origins {
    #[inline]
    fn of(grid: &Grid, cell: [u32; 2], points: &[[f32; 4]]) -> Self {
        let mut sum = [0.0; 4];
        for point in points {
            for (sum, value) in sum.iter_mut().zip(point) {
                *sum += value;
            }
        }
        let count = points.len() as f32;
        Origins {
            mean: [sum[0] / count, sum[1] / count, sum[2] / count],
            centre: grid.centre(cell),
        }
    }

    /// The first `W` features of each point: of a known number, so that a point is a few vectors.
    #[inline]
    fn write<const W: usize>(&self, to: &mut [f32], points: &[[f32; 4]]) {
        for (to, point) in to.as_chunks_mut::<W>().0.iter_mut().zip(points) {
            to.copy_from_slice(&self.values(point)[..W]);
        }
    }

    /// All features of a point, in the order of [`Feature`]; its time is written afterwards.
    #[inline(always)]
    fn values(&self, &[x, y, z, intensity]: &[f32; 4]) -> [f32; Feature::COUNT] {
        let ([mx, my, mz], [cx, cy, cz]) = (self.mean, self.centre);
        [
            x,
            y,
            z,
            intensity,
            x - mx,
            y - my,
            z - mz,
            x - cx,
            y - cy,
            z - cz,
            0.0,
            0.0,
        ]
    }
}

/// A shape of dimensions whose number is known here.
pub(super) fn dims<const N: usize>(dims: [usize; N]) -> Shape {
    Shape::new(&dims).expect("no tensor of this module has more than four dimensions")
}

fn points_shape(batched: bool, p: usize, n: usize, f: usize) -> Shape {
    if batched {
        dims([1, p, n, f])
    } else {
        dims([p, n, f])
    }
}

/// The tensor of that name, given that shape.
pub(super) fn shaped<'a>(
    tensors: &'a mut TensorSet,
    name: &str,
    shape: Shape,
) -> Result<&'a mut HostTensor, TensorError> {
    let tensor = tensors.get_mut(name)?;
    tensor.set_shape(shape)?;
    Ok(tensor)
}

#[cfg(test)]
mod tests;
