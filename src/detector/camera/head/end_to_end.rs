//! Networks that end in finished boxes: YOLOv10, and every network with its suppression inside.
//!
//! One output of rows whose columns the spec names, with scores, classes and the number of boxes in it or beside it:
//! TensorRT's EfficientNMS, TensorFlow's detection models, mmdeploy, torchvision, Caffe's DetectionOutput.

use serde::Deserialize;

use super::super::nms::Candidates;
use super::{Decode, Geometry, HeadError, centred};
use crate::detector::Box2d;
use crate::record::{fields, words};
use crate::tensor::{HostTensor, Numbers, TensorSet};
use crate::written::Rules;

fields! {
    /// The head of networks that end in finished boxes.
    #[derive(Clone, Debug, PartialEq)]
    pub struct EndToEnd: no default, "EndToEnd", "fields of the head" {
        /// Output of shape `[1, N, K]` or `[N, K]`: a row a box.
        pub boxes: String, required "boxes: \"output0\"";
        /// What the columns of `boxes` are.
        pub columns: Vec<RowColumn> = vec![X1, Y1, X2, Y2, Score, Class];
        /// Output of `N` scores, where `columns` has none.
        pub scores: Option<String> = None;
        /// Output of `N` class numbers, where `columns` has none.
        pub classes: Option<String> = None;
        /// Output of one number: how many of the rows are boxes. Without it all are.
        pub count: Option<String> = None;
        /// What positions are counted in.
        pub units: BoxUnits = BoxUnits::Pixels;
        /// The class number of the first class; lower ones are no class.
        pub first_class: u32 = 0;
    }
}

/// What a column of a finished box is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub enum RowColumn {
    X1,
    Y1,
    X2,
    Y2,
    /// Centre.
    X,
    Y,
    Width,
    Height,
    /// From 0 to 1.
    Score,
    /// The number of the class.
    Class,
    /// Something else, such as the number of the image in its batch.
    Skip,
}

/// What the positions of finished boxes are counted in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum BoxUnits {
    /// Pixels of the network's input.
    #[default]
    Pixels,
    /// Fractions of its width and height.
    Fractions,
    /// Pixels of the image itself, whose size the network was told.
    ImagePixels,
}

words! {
    RowColumn: "column", "a list of columns, such as [X1, Y1, X2, Y2, Score, Class]";
    BoxUnits: "units";
}

use RowColumn::{Class, Height, Score, Skip, Width, X, X1, X2, Y, Y1, Y2};

const CORNERS: [RowColumn; 4] = [X1, Y1, X2, Y2];
const CENTRED: [RowColumn; 4] = [X, Y, Width, Height];

impl EndToEnd {
    fn at(&self, wanted: RowColumn) -> Option<usize> {
        self.columns.iter().position(|column| *column == wanted)
    }

    fn place_columns(&self) -> Option<(bool, [usize; 4])> {
        let all = |columns: [RowColumn; 4]| {
            let [a, b, c, d] = columns.map(|column| self.at(column));
            Some([a?, b?, c?, d?])
        };
        let corners = all(CORNERS).map(|at| (true, at));
        corners.or_else(|| all(CENTRED).map(|at| (false, at)))
    }

    /// How many of the rows are boxes.
    fn counted(&self, outputs: &TensorSet, rows: usize) -> Result<usize, HeadError> {
        let Some(name) = &self.count else { return Ok(rows) };
        let tensor = outputs.get(name)?;
        let numbers = Numbers::of(tensor)?;
        let found = numbers.at(0).filter(|_| numbers.len() == 1);
        let Some(found) = found else {
            return Err(shape(tensor, "one number".to_owned()));
        };
        let whole = found >= 0.0 && found.fract() == 0.0 && found <= rows as f32;
        if !whole {
            return Err(HeadError::Value {
                tensor: name.clone(),
                found,
                expected: format!("a number of boxes from 0 to {rows}, the rows of `{}`", self.boxes),
            });
        }
        Ok(found as usize)
    }

    /// The values of an output of one number a row.
    fn beside<'a>(
        outputs: &'a TensorSet,
        name: Option<&String>,
        rows: usize,
    ) -> Result<Option<Numbers<'a>>, HeadError> {
        let Some(name) = name else { return Ok(None) };
        let tensor = outputs.get(name)?;
        let numbers = Numbers::of(tensor)?;
        if numbers.len() != rows {
            return Err(shape(tensor, format!("[1, {rows}], one number a box")));
        }
        Ok(Some(numbers))
    }
}

fn shape(tensor: &HostTensor, expected: String) -> HeadError {
    HeadError::Shape {
        tensor: tensor.name().to_owned(),
        found: *tensor.shape(),
        expected,
    }
}

impl Decode for EndToEnd {
    fn check(&self, _: &Geometry, rules: &mut Rules<'_>) {
        let found = || format!("{:?}", self.columns);
        rules.require(
            self.place_columns().is_some(),
            "head.columns",
            found(),
            "with X1, Y1, X2, Y2 or X, Y, Width, Height",
        );
        for (column, beside, field) in [(Score, &self.scores, "scores"), (Class, &self.classes, "classes")] {
            let once = self.at(column).is_some() != beside.is_some();
            let wanted =
                format!("with {column:?}, or else without it and the name of that output in `{field}`");
            rules.require(once, "head.columns", found(), wanted);
        }
        let twice = |column: &&RowColumn| {
            **column != Skip && self.columns.iter().filter(|other| other == column).count() > 1
        };
        if let Some(column) = self.columns.iter().find(twice) {
            let why = format!("{column:?} stands there twice");
            rules.contradiction("head.columns", why, "write Skip for what is not used");
        }
    }

    fn outputs(&self) -> Vec<&str> {
        let beside = [&self.scores, &self.classes, &self.count];
        let beside = beside.into_iter().flatten().map(String::as_str);
        std::iter::once(self.boxes.as_str()).chain(beside).collect()
    }

    fn decode(
        &mut self,
        geometry: &Geometry,
        outputs: &TensorSet,
        found: &mut Candidates,
    ) -> Result<(), HeadError> {
        let tensor = outputs.get(&self.boxes)?;
        let width = self.columns.len();
        let rows = match tensor.shape().dims() {
            [leading @ .., rows, columns] if *columns == width && leading.iter().all(|d| *d == 1) => *rows,
            _ => {
                let expected = format!("[1, boxes, {width}] ({width} columns)");
                return Err(shape(tensor, expected));
            }
        };
        let values = Numbers::of(tensor)?;
        let scores = Self::beside(outputs, self.scores.as_ref(), rows)?;
        let classes = Self::beside(outputs, self.classes.as_ref(), rows)?;
        let boxes = self.counted(outputs, rows)?;
        let Some((corners, place)) = self.place_columns() else {
            return Ok(());
        };
        let [across, down] = match self.units {
            BoxUnits::Pixels | BoxUnits::ImagePixels => [1.0, 1.0],
            BoxUnits::Fractions => [geometry.width as f32, geometry.height as f32],
        };
        let (score_at, class_at) = (self.at(Score), self.at(Class));
        for row in 0..boxes {
            let column = |at: usize| values.at(row * width + at).unwrap_or(f32::NAN);
            let one = |beside: &Option<Numbers<'_>>, at: Option<usize>| match (beside, at) {
                (Some(numbers), _) => numbers.at(row).unwrap_or(f32::NAN),
                (None, Some(at)) => column(at),
                (None, None) => f32::NAN,
            };
            let score = one(&scores, score_at);
            // Rows of padding may hold anything, NaN too.
            if score.is_nan() || score < found.threshold() {
                continue;
            }
            let class = one(&classes, class_at);
            let number = class - self.first_class as f32;
            if number < 0.0 {
                continue;
            }
            let is_known = number.fract() == 0.0 && number < geometry.classes as f32;
            if !is_known {
                return Err(HeadError::Value {
                    tensor: self.classes.as_ref().unwrap_or(&self.boxes).clone(),
                    found: class,
                    expected: format!(
                        "a class from {} to {}, since the spec has {} classes",
                        self.first_class,
                        u64::from(self.first_class) + geometry.classes.saturating_sub(1) as u64,
                        geometry.classes
                    ),
                });
            }
            let [a, b, c, d] = place.map(column);
            let [a, b, c, d] = [a * across, b * down, c * across, d * down];
            let place = match corners {
                true => Box2d {
                    x1: a,
                    y1: b,
                    x2: c,
                    y2: d,
                },
                false => centred(a, b, c, d),
            };
            found.push(score, number as u16, place);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::nms::Labels;
    use super::*;
    use crate::tensor::{ElementType, Shape};

    const GEOMETRY: Geometry = Geometry {
        width: 200,
        height: 100,
        classes: 3,
    };

    fn floats(name: &str, dims: &[usize], values: &[f32]) -> HostTensor {
        let mut tensor = HostTensor::zeroed(name, ElementType::F32, Shape::new(dims).unwrap());
        tensor.f32_mut().unwrap().copy_from_slice(values);
        tensor
    }

    fn wholes(name: &str, dims: &[usize], values: &[i32]) -> HostTensor {
        let mut tensor = HostTensor::zeroed(name, ElementType::I32, Shape::new(dims).unwrap());
        tensor.i32_mut().unwrap().copy_from_slice(values);
        tensor
    }

    fn yolov10() -> EndToEnd {
        EndToEnd {
            boxes: "out".to_owned(),
            columns: vec![X1, Y1, X2, Y2, Score, Class],
            scores: None,
            classes: None,
            count: None,
            units: BoxUnits::Pixels,
            first_class: 0,
        }
    }

    fn beside(columns: Vec<RowColumn>, units: BoxUnits, first_class: u32) -> EndToEnd {
        EndToEnd {
            columns,
            scores: Some("scores".to_owned()),
            classes: Some("labels".to_owned()),
            count: Some("count".to_owned()),
            units,
            first_class,
            ..yolov10()
        }
    }

    fn decoded(mut head: EndToEnd, tensors: Vec<HostTensor>) -> Result<Vec<(u16, f32, [f32; 4])>, HeadError> {
        let mut found = Candidates::new(0.25, Labels::Best);
        head.decode(&GEOMETRY, &TensorSet::new(tensors), &mut found)?;
        let told = found
            .as_slice()
            .iter()
            .map(|c| (c.class, c.score, [c.place.x1, c.place.y1, c.place.x2, c.place.y2]));
        Ok(told.collect())
    }

    #[test]
    fn rows_of_yolov10() {
        let rows = [
            10.0,
            20.0,
            30.0,
            40.0,
            0.9,
            2.0,
            1.0,
            1.0,
            2.0,
            2.0,
            0.1,
            77.0,
            0.0,
            0.0,
            5.0,
            5.0,
            f32::NAN,
            0.0,
        ];
        let found = decoded(yolov10(), vec![floats("out", &[1, 3, 6], &rows)]).unwrap();
        assert_eq!(found, [(2, 0.9, [10.0, 20.0, 30.0, 40.0])]);
    }

    #[test]
    fn tensorflow_counts_its_boxes_and_begins_with_class_1() {
        let head = beside(vec![Y1, X1, Y2, X2], BoxUnits::Fractions, 1);
        let tensors = || {
            vec![
                floats(
                    "out",
                    &[1, 3, 4],
                    &[0.25, 0.25, 0.5, 0.5, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0],
                ),
                floats("scores", &[1, 3], &[0.8, 0.7, 0.6]),
                floats("labels", &[1, 3], &[3.0, 0.0, 1.0]),
                floats("count", &[1], &[2.0]),
            ]
        };
        let found = decoded(head.clone(), tensors()).unwrap();
        assert_eq!(found, [(2, 0.8, [50.0, 25.0, 100.0, 50.0])]);
        for (count, said) in [
            (4.0, "`count` holds 4, expected a number of boxes from 0 to 3"),
            (-1.0, "holds -1"),
            (f32::NAN, "holds NaN"),
        ] {
            let mut tensors = tensors();
            tensors[3] = floats("count", &[1], &[count]);
            let error = decoded(head.clone(), tensors).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn whole_numbers_of_efficient_nms_and_a_class_beyond_the_list() {
        let head = beside(vec![X1, Y1, X2, Y2], BoxUnits::Pixels, 0);
        let tensors = |class| {
            vec![
                floats("out", &[1, 2, 4], &[1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0]),
                floats("scores", &[1, 2], &[0.8, 0.0]),
                wholes("labels", &[1, 2], &[class, -1]),
                wholes("count", &[1, 1], &[1]),
            ]
        };
        let found = decoded(head.clone(), tensors(1)).unwrap();
        assert_eq!(found, [(1, 0.8, [1.0, 2.0, 3.0, 4.0])]);
        let error = decoded(head, tensors(3)).unwrap_err().to_string();
        assert!(
            error.contains("`labels` holds 3, expected a class from 0 to 2, since the spec has 3 classes"),
            "{error}"
        );
    }

    #[test]
    fn an_output_of_another_size_says_what_was_expected() {
        let error = decoded(yolov10(), vec![floats("out", &[1, 1, 7], &[0.0; 7])]).unwrap_err();
        assert!(
            error.to_string().contains("expected [1, boxes, 6] (6 columns)"),
            "{error}"
        );
        let head = beside(vec![X1, Y1, X2, Y2], BoxUnits::Pixels, 0);
        let error = decoded(
            head,
            vec![
                floats("out", &[2, 4], &[0.0; 8]),
                floats("scores", &[3], &[0.0; 3]),
                floats("labels", &[2], &[0.0; 2]),
                floats("count", &[1], &[0.0]),
            ],
        );
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("output `scores` has shape [3], expected [1, 2], one number a box"),
            "{error}"
        );
    }
}
