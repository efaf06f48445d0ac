//! DETR and its descendants: a fixed number of queries, each with class scores and a box.

use serde::Deserialize;

use super::super::nms::Candidates;
use super::grid::{Normal, Score};
use super::{Decode, Geometry, HeadError, centred, logit, output, rows, sigmoid};
use crate::record::{fields, words};
use crate::tensor::TensorSet;
use crate::written::Rules;

fields! {
    /// The head of DETR, Deformable DETR, DINO, RT-DETR.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Queries: no default, "Queries", "fields of the head" {
        /// Output of shape `[1, queries, classes]`, plus one column where there is a class for no object.
        pub scores: String, required "scores: \"logits\"";
        /// Output of shape `[1, queries, 4]`: centre and size as fractions of the input.
        pub boxes: String, required "boxes: \"pred_boxes\"";
        /// From raw scores to 0..=1.
        pub activation: Score = Score::Sigmoid;
        /// Where the column of no object stands.
        pub no_object: NoObject = NoObject::Absent;
    }
}

/// Where the class scores have a column for no object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum NoObject {
    /// There is none.
    #[default]
    Absent,
    /// Before the first class.
    First,
    /// After the last class (DETR).
    Last,
}

words! {
    NoObject: "no_object";
}

impl Decode for Queries {
    fn check(&self, _: &Geometry, _: &mut Rules<'_>) {}

    fn outputs(&self) -> Vec<&str> {
        vec![&self.scores, &self.boxes]
    }

    fn decode(
        &mut self,
        geometry: &Geometry,
        outputs: &TensorSet,
        found: &mut Candidates,
    ) -> Result<(), HeadError> {
        let columns = geometry.classes + usize::from(self.no_object != NoObject::Absent);
        let places = rows(outputs, &self.boxes, 4, || "centre and size".to_owned())?;
        let expected = [1, places.len() / 4, columns];
        let (scores, _) = output(outputs, &self.scores, &[&expected], || {
            let with = if self.no_object == NoObject::Absent {
                ""
            } else {
                " and no object"
            };
            format!("{} classes{with}", geometry.classes)
        })?;
        let least = match self.activation {
            Score::Sigmoid => logit(found.threshold()),
            Score::Identity => found.threshold(),
            Score::Softmax => f32::NEG_INFINITY,
        };
        let size = [geometry.width as f32, geometry.height as f32];
        for (raw, place) in scores.chunks_exact(columns).zip(places.chunks_exact(4)) {
            let (classes, none) = match self.no_object {
                NoObject::Absent => (raw, None),
                NoObject::First => (&raw[1..], raw.first().copied()),
                NoObject::Last => (&raw[..geometry.classes], raw.last().copied()),
            };
            if !classes.iter().any(|score| *score >= least) {
                continue;
            }
            let place = || {
                centred(
                    place[0] * size[0],
                    place[1] * size[1],
                    place[2] * size[0],
                    place[3] * size[1],
                )
            };
            match self.activation {
                Score::Identity => found.push_cell(1.0, classes.iter().copied(), place),
                Score::Sigmoid => found.push_cell(1.0, classes.iter().map(|raw| sigmoid(*raw)), place),
                Score::Softmax => {
                    let normal = Normal::of(classes.iter().copied(), none);
                    found.push_cell(1.0, classes.iter().map(|raw| normal.share(*raw)), place);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::nms::{Candidate, Labels};
    use super::*;
    use crate::tensor::{ElementType, HostTensor, Shape};

    fn tensor(name: &str, dims: &[usize], values: &[f32]) -> HostTensor {
        let mut tensor = HostTensor::zeroed(name, ElementType::F32, Shape::new(dims).unwrap());
        tensor.f32_mut().unwrap().copy_from_slice(values);
        tensor
    }

    fn decoded(activation: Score, no_object: NoObject, logits: &[f32], labels: Labels) -> Vec<Candidate> {
        let geometry = Geometry {
            width: 200,
            height: 100,
            classes: 2,
        };
        let mut head = Queries {
            scores: "logits".to_owned(),
            boxes: "boxes".to_owned(),
            activation,
            no_object,
        };
        let places = [0.5, 0.5, 0.2, 0.4, 0.1, 0.1, 0.1, 0.1];
        let tensors = TensorSet::new(vec![
            tensor("logits", &[1, 2, logits.len() / 2], logits),
            tensor("boxes", &[1, 2, 4], &places),
        ]);
        let mut found = Candidates::new(0.25, labels);
        head.decode(&geometry, &tensors, &mut found).unwrap();
        found.as_slice().to_vec()
    }

    #[test]
    fn detr_has_a_class_for_no_object() {
        let logits = [2.0, 1.0, 0.0, 0.0, 0.0, 9.0];
        let found = decoded(Score::Softmax, NoObject::Last, &logits, Labels::Best);
        assert_eq!((found.len(), found[0].class), (1, 0));
        let share = 2f32.exp() / (2f32.exp() + 1f32.exp() + 1.0);
        assert!((found[0].score - share).abs() < 1e-6);
        let place = found[0].place;
        for (found, wanted) in [place.x1, place.y1, place.x2, place.y2]
            .iter()
            .zip([80.0, 30.0, 120.0, 70.0])
        {
            assert!((found - wanted).abs() < 1e-4, "{place:?}");
        }
    }

    #[test]
    fn rt_detr_gives_a_query_every_class_above_the_threshold() {
        let logits = [2.0, 1.0, -5.0, -5.0];
        let found = decoded(Score::Sigmoid, NoObject::Absent, &logits, Labels::Every);
        let told: Vec<_> = found.iter().map(|c| c.class).collect();
        assert_eq!(told, [0, 1]);
        assert!((found[1].score - sigmoid(1.0)).abs() < 1e-6);
    }
}
