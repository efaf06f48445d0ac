//! YOLOX: rows of `[x, y, w, h, objectness, class scores…]` for the cells of all grids, finest first.
//!
//! `centre = (cell + xy) · stride`, `size = exp(wh) · stride`; objectness and scores are sigmoid already.
//! Ge et al., "YOLOX: Exceeding YOLO Series in 2021".

use serde::Deserialize;

use super::super::nms::Candidates;
use super::{Decode, Geometry, HeadError, centred, check_strides, output};
use crate::tensor::TensorSet;

/// The YOLOX head.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct YoloxGrid {
    /// Output of shape `[1, cells, 5 + classes]`.
    pub output: String,
    /// Strides of the grids, in the order of the rows.
    #[serde(default = "usual_strides")]
    pub strides: Vec<u32>,
}

fn usual_strides() -> Vec<u32> {
    vec![8, 16, 32]
}

impl Decode for YoloxGrid {
    fn check(&self, geometry: &Geometry, problems: &mut Vec<String>) {
        check_strides(geometry, self.strides.iter().copied(), problems);
    }

    fn outputs(&self) -> Vec<&str> {
        vec![&self.output]
    }

    fn decode(
        &mut self,
        geometry: &Geometry,
        outputs: &TensorSet,
        found: &mut Candidates,
    ) -> Result<(), HeadError> {
        let cells = self.strides.iter().map(|s| geometry.cells(*s)).sum();
        let columns = 5 + geometry.classes;
        let (values, _) = output(outputs, &self.output, &[&[1, cells, columns]], || {
            format!(
                "{} classes and strides {:?} at {} × {}",
                geometry.classes, self.strides, geometry.width, geometry.height
            )
        })?;
        let mut rows = values.chunks_exact(columns);
        for &stride in &self.strides {
            for (cell, row) in geometry
                .each_cell(stride)
                .zip(rows.by_ref().take(geometry.cells(stride)))
            {
                let objectness = row[4];
                if objectness < found.threshold() {
                    continue; // no class score is above 1
                }
                let stride = stride as f32;
                found.push_cell(objectness, row[5..].iter().copied(), || {
                    centred(
                        (row[0] + cell[0]) * stride,
                        (row[1] + cell[1]) * stride,
                        row[2].exp() * stride,
                        row[3].exp() * stride,
                    )
                });
            }
        }
        Ok(())
    }
}
