//! YOLOX: rows of `[x, y, w, h, objectness, class scores…]` for the cells of all grids, finest first.
//!
//! `centre = (cell + xy) · stride`, `size = exp(wh) · stride`; objectness and scores are sigmoid already.
//! Ge et al., "YOLOX: Exceeding YOLO Series in 2021".

use super::super::nms::Candidates;
use super::{Decode, Geometry, HeadError, centred, check_strides, output};
use crate::record::fields;
use crate::tensor::TensorSet;
use crate::written::Rules;

fields! {
    /// The head of YOLOX: one output with the cells of all strides.
    #[derive(Clone, Debug, PartialEq)]
    pub struct YoloxGrid: no default, "YoloxGrid", "fields of the head" {
        /// Output of shape `[1, cells, 5 + classes]`.
        pub output: String, required "output: \"output\"";
        /// Strides of the grids, in the order of the rows.
        pub strides: Vec<u32> = vec![8, 16, 32];
    }
}

impl Decode for YoloxGrid {
    fn check(&self, geometry: &Geometry, rules: &mut Rules<'_>) {
        check_strides(geometry, "head.strides", "", self.strides.iter().copied(), rules);
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
