//! Pillars as a device makes them that is handed the sweep: which tensors, and what stands where in them. The kernels are
//! `gpu/kernels/pillars.cu`.

use super::{CELLS, Encoder, Feature, Layout, dims};
use crate::backend::{DevicePillars, TensorSpec};
use crate::detector::lidar::voxelise::Voxeliser;
use crate::device_step::{PillarRules, PillarTensor};
use crate::source::PointCloud;
use crate::tensor::{ElementType, HostTensor, TensorError};

/// Name of the block among a frame's tensors.
pub const BLOCK: &str = "jetlag.point_block";

/// Most points of a sweep: a second of most sensors, and two returns of the largest.
pub const MOST_POINTS: usize = 1 << 19;

/// Codes of the kernel beyond those of [`Feature`].
const IS_POINT: u8 = 11;
const FIRST_CENTRE: u8 = 12;
const COUNT: u8 = 14;
const TIME: u8 = 15;

impl Encoder {
    /// The step of a device that makes these tensors, all of `max_rows` rows: the host does not know how many pillars there
    /// are when it submits.
    pub fn on_device(&self, voxeliser: &Voxeliser) -> DevicePillars {
        let (rows, points) = (self.max_rows, self.points);
        let plane = |name: &String, code: u8| {
            let tensor = PillarTensor {
                slots: points,
                strides: [points, 1, 0],
                features: vec![code],
            };
            (name.clone(), tensor)
        };
        let code = |feature: &Feature| match feature {
            Feature::Time => TIME,
            other => *other as u8,
        };
        let codes = |features: &[Feature]| features.iter().map(code).collect();
        let mut first = [0.0; 2];
        let tensors = match &self.layout {
            Layout::Planes(planes) => {
                first = planes.first_centre;
                let named = |names: &[String], from: u8| -> Vec<_> {
                    names
                        .iter()
                        .zip(from..)
                        .map(|(name, code)| plane(name, code))
                        .collect()
                };
                let mut all = named(&planes.values, 0);
                all.extend(named(&planes.centres, FIRST_CENTRE));
                all.push(plane(&planes.mask, IS_POINT));
                let count = PillarTensor {
                    slots: 1,
                    strides: [1, 0, 0],
                    features: vec![COUNT],
                };
                all.push((planes.count.clone(), count));
                all
            }
            Layout::PillarsPointsFeatures {
                tensor,
                features,
                mask,
                ..
            } => {
                let width = features.len();
                let all = PillarTensor {
                    slots: points,
                    strides: [points * width, width, 1],
                    features: codes(features),
                };
                let mask = mask.iter().map(|mask| plane(mask, IS_POINT));
                std::iter::once((tensor.clone(), all)).chain(mask).collect()
            }
            Layout::FeaturesPillarsPoints { tensor, features } => {
                let all = PillarTensor {
                    slots: points,
                    strides: [points, 1, rows * points],
                    features: codes(features),
                };
                vec![(tensor.clone(), all)]
            }
        };
        DevicePillars {
            block: TensorSpec {
                name: BLOCK.to_owned(),
                element: ElementType::F32,
                max_shape: dims([rows_of(MOST_POINTS, self.takes_time()), 4]),
            },
            cells: CELLS.to_owned(),
            tensors,
            rules: PillarRules {
                low: self.grid.min,
                size: self.grid.size,
                cells: self.grid.cells,
                centre: self.grid.centre([0, 0]),
                first,
                max_points: points as u32,
                max_pillars: rows as u32,
                skips: voxeliser.skips(),
                capacity: MOST_POINTS as u32,
                has_times: self.takes_time(),
            },
        }
    }
}

/// Why a sweep cannot be handed to a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// It has too many points.
    #[error(
        "the sweep has {points} points, but voxelisation on the device takes at most {MOST_POINTS}: set \
         `preprocess: Host`"
    )]
    TooManyPoints {
        /// Number of points in the sweep.
        points: usize,
    },
    /// The block is too small, or not the host's.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

/// Rows of four words in a block of so many points.
fn rows_of(points: usize, with_time: bool) -> usize {
    let times = if with_time { points.div_ceil(4) } else { 0 };
    1 + points + times
}

/// Fills a block from a sweep; with `with_time`, the time of each point stands behind the points.
///
/// # Errors
/// It does not hold the sweep.
pub fn fill_block(cloud: &PointCloud, with_time: bool, block: &mut HostTensor) -> Result<(), BlockError> {
    let points = cloud.points.as_slice();
    if points.len() > MOST_POINTS {
        return Err(BlockError::TooManyPoints { points: points.len() });
    }
    block.set_shape(dims([rows_of(points.len(), with_time), 4]))?;
    let (head, rest) = block.host_bytes_mut()?.split_at_mut(16);
    head[..4].copy_from_slice(&(points.len() as u32).to_ne_bytes());
    let (xyzi, times) = rest.split_at_mut(size_of_val(points));
    xyzi.copy_from_slice(bytemuck::cast_slice(points));
    if with_time {
        let given: &[u8] = match cloud.time.len() == points.len() {
            true => bytemuck::cast_slice(&cloud.time),
            false => &[], // One sweep.
        };
        let (held, rest) = times.split_at_mut(given.len());
        held.copy_from_slice(given);
        rest.fill(0);
    }
    Ok(())
}
