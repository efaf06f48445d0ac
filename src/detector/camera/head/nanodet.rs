//! NanoDet: class scores and, for each side of the box, a distribution over distances, a level.
//!
//! A side's distance is the expectation of its softmax over `bins` bins, times the stride (generalised
//! focal loss: Li et al. 2020). Boxes are clipped to the input, as NanoDet's own decoders do.

use serde::Deserialize;

use super::super::nms::Candidates;
use super::{Decode, Geometry, HeadError, check_strides, logit, output, sigmoid};
use crate::detector::Box2d;
use crate::record::{fields, words};
use crate::tensor::TensorSet;
use crate::written::Rules;

fields! {
    /// The head of NanoDet: scores, and sides as distributions, one pair of outputs per stride.
    #[derive(Clone, Debug, PartialEq)]
    pub struct NanoDet: no default, "NanoDet", "fields of the head" {
        /// One entry a stride.
        pub levels: Vec<NanoDetLevel>, required "levels: [(scores: …, boxes: …, stride: 8)]";
        /// Bins of each side's distribution (`reg_max + 1`).
        pub bins: usize = 8;
        /// Where a cell's centre is taken to be.
        pub cell_centre: CellCentre = CellCentre::Middle;
        /// Whether class scores are raw; `false`, the default, where the network ends in a sigmoid.
        pub logits: bool = false;
    }
}

fields! {
    /// The outputs of one stride.
    #[derive(Clone, Debug, PartialEq)]
    pub struct NanoDetLevel: no default, "Level", "(scores: \"scores\", boxes: \"boxes\", stride: 8)",
        list "a level", "a list of levels, such as [(scores: …, boxes: …, stride: 8)]" {
        /// Output of shape `[1, cells, classes]`.
        pub scores: String, required "scores: \"scores\"";
        /// Output of shape `[1, cells, 4 · bins]`: left, top, right, bottom.
        pub boxes: String, required "boxes: \"boxes\"";
        /// Pixels of the input a cell.
        pub stride: u32, required "stride: 8";
    }
}

/// Where a cell's centre is taken to be, in pixels of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum CellCentre {
    /// `cell · stride + (stride − 1) / 2`: NanoDet.
    #[default]
    Middle,
    /// `cell · stride`: NanoDet-Plus.
    Corner,
}

words! {
    CellCentre: "cell_centre";
}

impl Decode for NanoDet {
    fn check(&self, geometry: &Geometry, rules: &mut Rules<'_>) {
        let strides = self.levels.iter().map(|level| level.stride);
        check_strides(geometry, "head.levels", ".stride", strides, rules);
        rules.require(self.bins >= 2, "head.bins", self.bins, "at least 2");
    }

    fn outputs(&self) -> Vec<&str> {
        self.levels
            .iter()
            .flat_map(|level| [level.scores.as_str(), level.boxes.as_str()])
            .collect()
    }

    fn decode(
        &mut self,
        geometry: &Geometry,
        outputs: &TensorSet,
        found: &mut Candidates,
    ) -> Result<(), HeadError> {
        let bins = self.bins;
        let least = if self.logits {
            logit(found.threshold())
        } else {
            found.threshold()
        };
        for level in &self.levels {
            let cells = geometry.cells(level.stride);
            let why = || {
                format!(
                    "{} classes, {bins} bins, stride {} at {} × {}",
                    geometry.classes, level.stride, geometry.width, geometry.height
                )
            };
            let (scores, _) = output(outputs, &level.scores, &[&[1, cells, geometry.classes]], why)?;
            let (sides, _) = output(outputs, &level.boxes, &[&[1, cells, 4 * bins]], why)?;
            let stride = level.stride as f32;
            let offset = match self.cell_centre {
                CellCentre::Middle => 0.5 * (stride - 1.0),
                CellCentre::Corner => 0.0,
            };
            let rows = scores
                .chunks_exact(geometry.classes)
                .zip(sides.chunks_exact(4 * bins));
            for (cell, (scores, sides)) in geometry.each_cell(level.stride).zip(rows) {
                if !scores.iter().any(|score| *score >= least) {
                    continue;
                }
                let place = || {
                    let distance = |side: usize| expectation(&sides[side * bins..(side + 1) * bins]) * stride;
                    let [cx, cy] = cell.map(|c| c * stride + offset);
                    let (width, height) = (geometry.width as f32, geometry.height as f32);
                    Box2d {
                        x1: (cx - distance(0)).clamp(0.0, width),
                        y1: (cy - distance(1)).clamp(0.0, height),
                        x2: (cx + distance(2)).clamp(0.0, width),
                        y2: (cy + distance(3)).clamp(0.0, height),
                    }
                };
                if self.logits {
                    found.push_cell(1.0, scores.iter().map(|raw| sigmoid(*raw)), place);
                } else {
                    found.push_cell(1.0, scores.iter().copied(), place);
                }
            }
        }
        Ok(())
    }
}

/// Mean bin of the softmax of `raw`.
fn expectation(raw: &[f32]) -> f32 {
    let largest = raw.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    let mut weighted = 0.0;
    for (bin, value) in raw.iter().enumerate() {
        let weight = (value - largest).exp();
        sum += weight;
        weighted += weight * bin as f32;
    }
    weighted / sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_bin_of_a_flat_distribution_is_its_middle_and_of_a_peak_its_place() {
        assert!((expectation(&[1000.0; 8]) - 3.5).abs() < 1e-5);
        let mut peak = [-50.0; 8];
        peak[6] = 50.0;
        assert!((expectation(&peak) - 6.0).abs() < 1e-5);
    }
}
