//! Networks that say something of the whole image: classifiers, and segmentation as the share of each class.

use super::super::nms::Candidates;
use super::grid::{Normal, Score};
use super::{Decode, Geometry, HeadError, sigmoid};
use crate::detector::Box2d;
use crate::record::fields;
use crate::tensor::{HostTensor, Numbers, TensorSet};
use crate::written::Rules;

fields! {
    /// A classifier: one score a class. What it finds lies on the whole image.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Classifier: no default, "Classifier", "fields of the head" {
        /// Output of as many values as there are classes, such as `[1, classes]`.
        pub output: String, required "output: \"logits\"";
        /// From raw scores to 0..=1.
        pub activation: Score = Score::Softmax;
    }
}

fields! {
    /// Semantic segmentation: the class of each pixel.
    ///
    /// A class that is there is a detection: its score is its share of the pixels, its box the bounds of them.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Segmentation: no default, "Segmentation", "fields of the head" {
        others: {
            /// The class of each pixel, row by row; kept between frames.
            map: Vec<u16> = Vec::new();
            /// Best score of each pixel so far.
            best: Vec<f32> = Vec::new();
            tallies: Vec<Tally> = Vec::new();
        }
        /// Output of scores `[1, C, h, w]` or `[1, h, w, C]`, or of class numbers `[1, h, w]` or `[1, 1, h, w]`.
        pub output: String, required "output: \"logits\"";
        /// The class number that is no class.
        pub background: Option<usize> = None;
    }
}

/// Where the pixels of a class lie.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tally {
    pixels: usize,
    x: [usize; 2],
    y: [usize; 2],
}

const NOWHERE: Tally = Tally {
    pixels: 0,
    x: [usize::MAX, 0],
    y: [usize::MAX, 0],
};

impl Segmentation {
    fn columns(&self, geometry: &Geometry) -> usize {
        geometry.classes + usize::from(self.background.is_some())
    }

    /// Fills the map; its width and height.
    fn read_map(&mut self, tensor: &HostTensor, columns: usize) -> Result<[usize; 2], HeadError> {
        let (size, kind) = match *tensor.shape().dims() {
            [1, c, h, w] if c == columns && c > 1 => ([w, h], Kind::Planes),
            [1, h, w, c] if c == columns && c > 1 => ([w, h], Kind::Pixels),
            [1, h, w] | [1, 1, h, w] | [1, h, w, 1] | [h, w] => ([w, h], Kind::Numbers),
            _ => {
                return Err(HeadError::Shape {
                    tensor: self.output.clone(),
                    found: *tensor.shape(),
                    expected: format!(
                        "[1, {columns}, height, width], [1, height, width, {columns}] or class numbers [1, height, width] \
                         ({columns} classes with the background, if any)"
                    ),
                });
            }
        };
        let pixels = size[0] * size[1];
        self.map.clear();
        self.map.resize(pixels, 0);
        match kind {
            Kind::Numbers => {
                let numbers = Numbers::of(tensor)?;
                for (pixel, class) in self.map.iter_mut().enumerate() {
                    let found = numbers.at(pixel).unwrap_or(f32::NAN);
                    let is_known = found >= 0.0 && found < columns as f32 && found.fract() == 0.0;
                    if !is_known {
                        return Err(HeadError::Value {
                            tensor: self.output.clone(),
                            found,
                            expected: format!("a class number from 0 to {}", columns.saturating_sub(1)),
                        });
                    }
                    *class = found as u16;
                }
            }
            Kind::Planes => {
                self.best.clear();
                self.best.resize(pixels, f32::NEG_INFINITY);
                for (class, plane) in (0u16..).zip(tensor.f32()?.chunks_exact(pixels.max(1))) {
                    let cells = self.map.iter_mut().zip(&mut self.best);
                    for ((of, best), score) in cells.zip(plane) {
                        // Written so that it compiles to selections, eight pixels at a time.
                        let better = *score > *best;
                        *best = if better { *score } else { *best };
                        *of = if better { class } else { *of };
                    }
                }
            }
            Kind::Pixels => {
                for (of, scores) in self.map.iter_mut().zip(tensor.f32()?.chunks_exact(columns)) {
                    let mut best = (0u16, f32::NEG_INFINITY);
                    for (class, score) in (0u16..).zip(scores) {
                        if *score > best.1 {
                            best = (class, *score);
                        }
                    }
                    *of = best.0;
                }
            }
        }
        Ok(size)
    }
}

/// How an output tells the class of each pixel.
enum Kind {
    Planes,
    Pixels,
    Numbers,
}

impl Decode for Classifier {
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
        let raw = tensor.f32()?;
        if raw.len() != geometry.classes {
            return Err(HeadError::Shape {
                tensor: self.output.clone(),
                found: *tensor.shape(),
                expected: format!("[1, {0}] ({0} classes)", geometry.classes),
            });
        }
        let whole = Box2d {
            x1: 0.0,
            y1: 0.0,
            x2: geometry.width as f32,
            y2: geometry.height as f32,
        };
        let normal = Normal::of(raw.iter().copied(), None);
        for (class, raw) in (0u16..).zip(raw) {
            let score = match self.activation {
                Score::Identity => *raw,
                Score::Sigmoid => sigmoid(*raw),
                Score::Softmax => normal.share(*raw),
            };
            found.push(score, class, whole);
        }
        Ok(())
    }
}

impl Decode for Segmentation {
    fn check(&self, geometry: &Geometry, rules: &mut Rules<'_>) {
        if let Some(number) = self.background {
            let last = geometry.classes;
            let wanted = format!("a class number of the output, from 0 to {last}");
            rules.require(number <= last, "head.background", number, wanted);
        }
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
        let columns = self.columns(geometry);
        let tensor = outputs.get(&self.output)?;
        let [across, down] = self.read_map(tensor, columns)?;
        if self.map.is_empty() {
            return Ok(());
        }
        self.tallies.clear();
        self.tallies.resize(columns, NOWHERE);
        for (y, row) in self.map.chunks_exact(across).enumerate() {
            for (x, class) in row.iter().enumerate() {
                if let Some(tally) = self.tallies.get_mut(usize::from(*class)) {
                    tally.pixels += 1;
                    tally.x = [tally.x[0].min(x), tally.x[1].max(x + 1)];
                    tally.y = [tally.y[0].min(y), tally.y[1].max(y + 1)];
                }
            }
        }
        let scale = [
            geometry.width as f32 / across as f32,
            geometry.height as f32 / down as f32,
        ];
        let all = self.map.len() as f32;
        let classes = self.tallies.iter().enumerate();
        let classes = classes.filter(|(number, _)| Some(*number) != self.background);
        for (class, (_, tally)) in (0u16..).zip(classes) {
            if tally.pixels > 0 {
                let place = Box2d {
                    x1: tally.x[0] as f32 * scale[0],
                    y1: tally.y[0] as f32 * scale[1],
                    x2: tally.x[1] as f32 * scale[0],
                    y2: tally.y[1] as f32 * scale[1],
                };
                found.push(tally.pixels as f32 / all, class, place);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::nms::{Candidate, Labels};
    use super::*;
    use crate::tensor::{ElementType, Shape};

    const GEOMETRY: Geometry = Geometry {
        width: 40,
        height: 20,
        classes: 2,
    };

    fn tensor(dims: &[usize], values: &[f32]) -> HostTensor {
        let mut tensor = HostTensor::zeroed("out", ElementType::F32, Shape::new(dims).unwrap());
        tensor.f32_mut().unwrap().copy_from_slice(values);
        tensor
    }

    fn decoded(head: &mut dyn Decode, tensor: HostTensor) -> Result<Vec<Candidate>, HeadError> {
        let mut found = Candidates::new(0.0, Labels::Best);
        head.decode(&GEOMETRY, &TensorSet::new(vec![tensor]), &mut found)?;
        Ok(found.as_slice().to_vec())
    }

    #[test]
    fn a_classifier_scores_each_class_on_the_whole_image() {
        let mut head = Classifier {
            output: "out".to_owned(),
            activation: Score::Softmax,
        };
        let found = decoded(&mut head, tensor(&[1, 2, 1, 1], &[1.0, 3.0])).unwrap();
        assert!((found[0].score + found[1].score - 1.0).abs() < 1e-6);
        assert!((found[1].score - sigmoid(2.0)).abs() < 1e-6);
        assert_eq!((found[1].place.x2, found[1].place.y2), (40.0, 20.0));
        let error = decoded(&mut head, tensor(&[1, 3], &[0.0; 3]))
            .unwrap_err()
            .to_string();
        assert!(error.contains("expected [1, 2] (2 classes)"), "{error}");
    }

    fn segmentation(background: Option<usize>) -> Segmentation {
        Segmentation {
            output: "out".to_owned(),
            background,
            map: Vec::new(),
            best: Vec::new(),
            tallies: Vec::new(),
        }
    }

    #[test]
    fn each_class_that_is_there_has_its_share_and_its_bounds() {
        // 4 × 2 pixels: background but for class 1 (number 2) at (1, 0), (2, 0), and class 0 (number 1) at (3, 1).
        let numbers = [0.0, 2.0, 2.0, 0.0, 0.0, 0.0, 0.0, 1.0];
        let mut planes = vec![0.0; 24];
        let mut pixels = vec![0.0; 24];
        for (pixel, class) in numbers.iter().enumerate() {
            planes[*class as usize * 8 + pixel] = 1.0;
            pixels[pixel * 3 + *class as usize] = 1.0;
        }
        for out in [
            tensor(&[1, 2, 4], &numbers),
            tensor(&[1, 3, 2, 4], &planes),
            tensor(&[1, 2, 4, 3], &pixels),
        ] {
            let found = decoded(&mut segmentation(Some(0)), out).unwrap();
            let told: Vec<_> = found
                .iter()
                .map(|c| (c.class, c.score, [c.place.x1, c.place.y1, c.place.x2, c.place.y2]))
                .collect();
            assert_eq!(
                told,
                [
                    (0, 0.125, [30.0, 10.0, 40.0, 20.0]),
                    (1, 0.25, [10.0, 0.0, 30.0, 10.0])
                ]
            );
        }
    }

    #[test]
    fn a_class_number_beyond_the_list_and_no_number_are_said() {
        for bad in [2.0, -1.0, f32::NAN, 0.5] {
            let error = decoded(&mut segmentation(None), tensor(&[1, 1, 2], &[0.0, bad])).unwrap_err();
            assert!(
                error.to_string().contains("expected a class number from 0 to 1"),
                "{error}"
            );
        }
    }
}
