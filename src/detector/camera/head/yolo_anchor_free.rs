//! YOLOv8, YOLOv9, YOLO11: one output of `[cx, cy, w, h, class scores…]`, decoded to pixels and sigmoid.
//!
//! Exports are `[1, 4 + classes, boxes]`; some tools turn them round to `[1, boxes, 4 + classes]`. Both are
//! read; which one it is shows in the shape.

use super::super::nms::{Candidates, Labels};
use super::{Decode, Geometry, HeadError, centred};
use crate::record::fields;
use crate::tensor::TensorSet;
use crate::written::Rules;

fields! {
    /// The anchor-free YOLO head.
    #[derive(Clone, Debug, PartialEq)]
    pub struct YoloAnchorFree: no default, "YoloAnchorFree", "fields of the head" {
        others: {
            /// Best score and its class for each box, kept between frames.
            best: Vec<(f32, u16)> = Vec::new();
        }
        /// Output of shape `[1, 4 + classes, boxes]` or `[1, boxes, 4 + classes]`.
        pub output: String, required "output: \"output0\"";
    }
}

#[cfg(test)]
impl YoloAnchorFree {
    /// With the output of this name.
    pub(super) fn of(output: String) -> Self {
        YoloAnchorFree {
            output,
            best: Vec::new(),
        }
    }
}

impl Decode for YoloAnchorFree {
    fn check(&self, _: &Geometry, _: &mut Rules<'_>) {}

    fn outputs(&self) -> Vec<&str> {
        vec![&self.output]
    }

    fn decode(
        &mut self,
        geometry: &Geometry,
        outputs: &TensorSet,
        found: &mut Candidates,
    ) -> Result<(), HeadError> {
        let tensor = outputs.get(&self.output)?;
        let values = tensor.f32()?;
        let columns = 4 + geometry.classes;
        match *tensor.shape().dims() {
            [1, c, boxes] if c == columns => {
                self.decode_planes(values, boxes, found);
                Ok(())
            }
            [1, _, c] if c == columns => {
                for row in values.chunks_exact(columns) {
                    let (place, scores) = row.split_at(4);
                    found.push_cell(1.0, scores.iter().copied(), || {
                        centred(place[0], place[1], place[2], place[3])
                    });
                }
                Ok(())
            }
            _ => Err(HeadError::Shape {
                tensor: self.output.clone(),
                found: *tensor.shape(),
                expected: format!(
                    "[1, {columns}, boxes] or [1, boxes, {columns}] ({} classes)",
                    geometry.classes
                ),
            }),
        }
    }
}

impl YoloAnchorFree {
    /// One plane a value: walks plane by plane, because going box by box would miss the cache each time.
    fn decode_planes(&mut self, values: &[f32], boxes: usize, found: &mut Candidates) {
        if boxes == 0 {
            return;
        }
        let (places, scores) = values.split_at(4 * boxes);
        let place = |i: usize| {
            let at = |plane: usize| places[plane * boxes + i];
            centred(at(0), at(1), at(2), at(3))
        };
        let planes = (0u16..).zip(scores.chunks_exact(boxes));
        match found.labels() {
            Labels::Best => {
                self.best.clear();
                self.best.resize(boxes, (f32::NEG_INFINITY, 0));
                for (class, plane) in planes {
                    for (best, score) in self.best.iter_mut().zip(plane) {
                        if *score > best.0 {
                            *best = (*score, class);
                        }
                    }
                }
                for (i, (score, class)) in self.best.iter().enumerate() {
                    if *score >= found.threshold() {
                        found.push(*score, *class, place(i));
                    }
                }
            }
            Labels::Every => {
                for (class, plane) in planes {
                    for (i, score) in plane.iter().enumerate() {
                        if *score >= found.threshold() {
                            found.push(*score, class, place(i));
                        }
                    }
                }
            }
        }
    }
}
