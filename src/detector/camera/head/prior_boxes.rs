//! SSD-like networks that decode their prior boxes themselves: class scores, and corners in 0..1.

use super::super::nms::Candidates;
use super::{Decode, Geometry, HeadError, output, rows};
use crate::detector::Box2d;
use crate::record::fields;
use crate::tensor::TensorSet;
use crate::written::Rules;

fields! {
    /// The head of networks that decode their prior boxes.
    #[derive(Clone, Debug, PartialEq)]
    pub struct PriorBoxes: no default, "PriorBoxes", "fields of the head" {
        /// Output of shape `[1, boxes, classes]`, plus one column if there is a background class; probabilities.
        pub scores: String, required "scores: \"scores\"";
        /// Output of shape `[1, boxes, 4]`: left, top, right, bottom as fractions of the input.
        pub boxes: String, required "boxes: \"boxes\"";
        /// Column of the background class, where there is one.
        pub background: Option<usize> = None;
    }
}

impl Decode for PriorBoxes {
    fn check(&self, geometry: &Geometry, rules: &mut Rules<'_>) {
        if let Some(column) = self.background {
            let last = geometry.classes;
            let wanted = format!("a column of the scores, from 0 to {last}");
            rules.require(column <= last, "head.background", column, wanted);
        }
    }

    fn outputs(&self) -> Vec<&str> {
        vec![&self.scores, &self.boxes]
    }

    fn decode(
        &mut self,
        geometry: &Geometry,
        outputs: &TensorSet,
        found: &mut Candidates,
    ) -> Result<(), HeadError> {
        let columns = geometry.classes + usize::from(self.background.is_some());
        let why = || {
            let background = if self.background.is_some() {
                " and background"
            } else {
                ""
            };
            format!("{} classes{background}", geometry.classes)
        };
        let corners = rows(outputs, &self.boxes, 4, || "four corners".to_owned())?;
        let expected = [1, corners.len() / 4, columns];
        let (scores, _) = output(outputs, &self.scores, &[&expected], why)?;
        let (width, height) = (geometry.width as f32, geometry.height as f32);
        for (scores, corners) in scores.chunks_exact(columns).zip(corners.chunks_exact(4)) {
            let (before, after) = match self.background {
                Some(column) => (&scores[..column], &scores[column + 1..]),
                None => (scores, &[][..]),
            };
            found.push_cell(1.0, before.iter().chain(after).copied(), || Box2d {
                x1: corners[0] * width,
                y1: corners[1] * height,
                x2: corners[2] * width,
                y2: corners[3] * height,
            });
        }
        Ok(())
    }
}
