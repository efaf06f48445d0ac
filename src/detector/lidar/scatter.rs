//! Pillar features onto the canvas: the step on the host between a pillar encoder and its backbone.
//!
//! The canvas is tens of megabytes and almost empty, so only the cells that the frame before wrote are
//! cleared. Which they were is kept with the slot, in a tensor of its own, because several frames may be in
//! flight. That tensor is one longer than a frame can need: the full length marks a slot that is new.

use super::encode::{CELLS, dims};
use crate::backend::{DeviceScatter, DeviceStep, HostStep};
use crate::device_step::CanvasShape;
use crate::tensor::{ElementType, Shape, TensorError, TensorSet};

/// Name of the tensor that keeps which cells of the canvas hold something: `i32 [1, pillars]`.
pub const WRITTEN: &str = "scattered_cells";

/// How an encoder lays out its features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
pub enum FeatureLayout {
    /// `[1, P, C]`, or `[P, C]`.
    #[default]
    PillarsChannels,
    /// `[1, C, P]`, or `[1, C, P, 1]`.
    ChannelsPillars,
}

/// Writes each pillar's features into its cell of a canvas `[1, C, ny, nx]`.
#[derive(Clone, Debug)]
pub struct Scatter {
    /// The name of the encoder's output.
    pub features: String,
    /// How it is laid out.
    pub layout: FeatureLayout,
    /// The name of the backbone's input.
    pub canvas: String,
    /// Channels of a pillar's features, and of the canvas.
    pub channels: usize,
    /// Cells along x and y.
    pub cells: [u32; 2],
    /// Most pillars in a frame.
    pub max_pillars: usize,
}

impl Scatter {
    /// The tensors that it needs set aside, in their largest shape.
    pub fn tensors(&self) -> Vec<(String, ElementType, Shape)> {
        vec![
            (self.canvas.clone(), ElementType::F32, self.canvas_shape()),
            (
                WRITTEN.to_owned(),
                ElementType::I32,
                dims([1, self.max_pillars + 1]),
            ),
        ]
    }

    fn canvas_shape(&self) -> Shape {
        let [nx, ny] = self.cells.map(|n| n as usize);
        dims([1, self.channels, ny, nx])
    }
}

impl HostStep for Scatter {
    fn name(&self) -> &str {
        "scatter"
    }

    fn on_device(&self) -> Option<DeviceStep> {
        Some(DeviceStep::Scatter(DeviceScatter {
            features: self.features.clone(),
            cells: CELLS.to_owned(),
            canvas: self.canvas.clone(),
            written: WRITTEN.to_owned(),
            shape: CanvasShape {
                channels: self.channels,
                cells: self.cells.map(|n| n as usize),
                max_pillars: self.max_pillars,
                channels_first: self.layout == FeatureLayout::ChannelsPillars,
            },
        }))
    }

    fn run(&self, tensors: &mut TensorSet) -> Result<(), TensorError> {
        let at = [
            tensors.position(&self.features)?,
            tensors.position(CELLS)?,
            tensors.position(&self.canvas)?,
            tensors.position(WRITTEN)?,
        ];
        let [features, cells, canvas, written] = tensors
            .as_mut_slice()
            .get_disjoint_mut(at)
            .expect("tensors of different names stand at different positions");

        let pillars = cells.i32()?.as_chunks::<2>().0;
        let rows = features.shape().len() / self.channels;
        if rows < pillars.len() || rows * self.channels != features.shape().len() {
            return Err(TensorError::WrongShape {
                name: self.features.clone(),
                found: *features.shape(),
                wanted: format!("{} channels of at least {} pillars", self.channels, pillars.len()),
            });
        }
        let is_new = written.shape().len() > self.max_pillars;
        canvas.set_shape(self.canvas_shape())?;
        let canvas = canvas.f32_mut()?;
        let area = canvas.len() / self.channels;
        if is_new {
            canvas.fill(0.0);
            written.set_shape(dims([1, 0]))?;
        }
        // Plane after plane: one plane stays in the cache, where one pillar's channels lie far apart.
        let old = written.i32()?;
        for plane in canvas.chunks_exact_mut(area) {
            for cell in old {
                plane[*cell as usize] = 0.0;
            }
        }
        let used = pillars.iter().take_while(|cell| cell[0] >= 0).count();
        written.set_shape(dims([1, used]))?;
        let new = written.i32_mut()?;
        for (flat, [ix, iy]) in new.iter_mut().zip(pillars) {
            *flat = iy * self.cells[0] as i32 + ix;
        }
        let values = features.f32()?;
        for (channel, plane) in canvas.chunks_exact_mut(area).enumerate() {
            match self.layout {
                FeatureLayout::ChannelsPillars => {
                    for (cell, value) in new.iter().zip(&values[channel * rows..]) {
                        plane[*cell as usize] = *value;
                    }
                }
                FeatureLayout::PillarsChannels => {
                    for (cell, row) in new.iter().zip(values.chunks_exact(self.channels)) {
                        plane[*cell as usize] = row[channel];
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::HostTensor;

    fn step(layout: FeatureLayout) -> Scatter {
        Scatter {
            features: "features".to_owned(),
            layout,
            canvas: "canvas".to_owned(),
            channels: 2,
            cells: [4, 3],
            max_pillars: 5,
        }
    }

    fn slot(step: &Scatter) -> TensorSet {
        let mut set = TensorSet::default();
        set.push(HostTensor::zeroed("features", ElementType::F32, dims([1, 5, 2])));
        set.push(HostTensor::zeroed(CELLS, ElementType::I32, dims([1, 5, 2])));
        for (name, element, shape) in step.tensors() {
            let mut tensor = HostTensor::zeroed(name, element, shape);
            tensor.bytes_mut().fill(0x7f); // Memory that a backend sets aside need not be zero.
            set.push(tensor);
        }
        set
    }

    /// Features numbered `first + pillar × 2 + channel`, put in cells.
    fn frame(step: &Scatter, set: &mut TensorSet, cells: &[[i32; 2]], first: f32) -> Vec<f32> {
        let p = cells.len();
        let cell_tensor = set.get_mut(CELLS).unwrap();
        cell_tensor.set_shape(dims([1, p, 2])).unwrap();
        cell_tensor
            .i32_mut()
            .unwrap()
            .copy_from_slice(cells.as_flattened());
        let features = set.get_mut("features").unwrap();
        features.set_shape(dims([1, p, 2])).unwrap();
        let values = features.f32_mut().unwrap();
        for pillar in 0..p {
            for channel in 0..2 {
                let at = match step.layout {
                    FeatureLayout::PillarsChannels => pillar * 2 + channel,
                    FeatureLayout::ChannelsPillars => channel * p + pillar,
                };
                values[at] = first + (pillar * 2 + channel) as f32;
            }
        }
        step.run(set).unwrap();
        set.get("canvas").unwrap().f32().unwrap().to_vec()
    }

    fn expected(cells: &[[i32; 2]], first: f32) -> Vec<f32> {
        let mut canvas = vec![0.0; 24];
        for (pillar, [ix, iy]) in cells.iter().enumerate() {
            for channel in 0..2 {
                canvas[channel * 12 + (*iy * 4 + *ix) as usize] = first + (pillar * 2 + channel) as f32;
            }
        }
        canvas
    }

    #[test]
    fn each_slot_holds_its_own_frame_and_nothing_of_the_one_before() {
        for layout in [FeatureLayout::PillarsChannels, FeatureLayout::ChannelsPillars] {
            let step = step(layout);
            let (mut one, mut two) = (slot(&step), slot(&step));
            let frames: [&[[i32; 2]]; 3] = [&[[0, 0], [3, 2], [1, 1]], &[[1, 1]], &[[2, 0], [0, 0]]];
            for (n, cells) in frames.iter().enumerate() {
                let first = 1.0 + 100.0 * n as f32;
                assert_eq!(frame(&step, &mut one, cells, first), expected(cells, first));
                if n != 1 {
                    assert_eq!(frame(&step, &mut two, cells, first), expected(cells, first));
                }
            }
        }
    }

    #[test]
    fn a_row_that_only_fills_up_is_not_written() {
        let step = step(FeatureLayout::PillarsChannels);
        let mut set = slot(&step);
        assert_eq!(frame(&step, &mut set, &[[-1, -1]], 5.0), vec![0.0; 24]);
    }

    #[test]
    fn too_few_features_are_an_error_that_says_what_was_expected() {
        let step = step(FeatureLayout::PillarsChannels);
        let mut set = slot(&step);
        set.get_mut("features")
            .unwrap()
            .set_shape(dims([1, 2, 2]))
            .unwrap();
        let error = step.run(&mut set).unwrap_err().to_string();
        assert!(
            error.contains("[1, 2, 2]") && error.contains("at least 5 pillars"),
            "{error}"
        );
    }

    #[test]
    fn a_device_is_told_which_tensors_and_how_they_are_laid_out() {
        for (layout, channels_first) in [
            (FeatureLayout::PillarsChannels, false),
            (FeatureLayout::ChannelsPillars, true),
        ] {
            let Some(DeviceStep::Scatter(scatter)) = step(layout).on_device() else {
                panic!("a scatter");
            };
            let names = [
                &scatter.features,
                &scatter.cells,
                &scatter.canvas,
                &scatter.written,
            ];
            assert_eq!(names, ["features", CELLS, "canvas", WRITTEN]);
            assert_eq!(
                scatter.shape,
                CanvasShape {
                    channels: 2,
                    cells: [4, 3],
                    max_pillars: 5,
                    channels_first,
                }
            );
        }
    }
}
