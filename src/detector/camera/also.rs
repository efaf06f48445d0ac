//! What a network takes beside its image: how large that was, how it was fitted, or numbers that stay the same.
//!
//! RT-DETR's exports scale their boxes by `orig_target_sizes`, Paddle's by `im_shape` and `scale_factor`, Caffe's by `im_info`, and
//! networks with their suppression inside take its thresholds. None of them is a case of its own here: a tensor is a list of
//! [`Fact`]s.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::fit::Placement;
use crate::detector::inputs::{check_names, takes_element, takes_shape};
use crate::engine::network::Port;
use crate::tensor::{ElementType, HostTensor, Shape, TensorError, TensorSet};
use crate::written::{Kind, Node, ProblemKind, Reader, Rules, one_of, shown};

/// A number that is known of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Known {
    /// Width of the image in pixels, as the source gives it.
    ImageWidth,
    /// Its height.
    ImageHeight,
    /// Width of the network's input in pixels.
    InputWidth,
    /// Its height.
    InputHeight,
    /// Width of the image in the input in pixels, without padding.
    FittedWidth,
    /// Its height.
    FittedHeight,
    /// `FittedWidth` over `ImageWidth`.
    ScaleX,
    /// `FittedHeight` over `ImageHeight`.
    ScaleY,
}

/// A value of a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fact {
    /// Of each image its own.
    Known(Known),
    /// The same for all.
    Number(f64),
}

/// A tensor beside the image, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct Also {
    /// Name of the network's input.
    pub tensor: String,
    /// Type of its elements.
    pub element: ElementType,
    /// What it holds: as many values as its shape has, or one for all.
    pub values: Vec<Fact>,
    /// Its shape; `[1, values]` where it is not written.
    pub shape: Option<Vec<usize>>,
}

/// The most elements of such a tensor: it is filled for each frame.
const MOST: usize = 1 << 20;

/// Sizes of an image on its way into the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) image: [usize; 2],
    pub(super) input: [usize; 2],
    pub(super) fitted: [usize; 2],
}

impl Sizes {
    pub(super) fn of(image: [usize; 2], input: [usize; 2], placement: Placement) -> Self {
        Sizes {
            image,
            input,
            fitted: [placement.width, placement.height],
        }
    }
}

impl Known {
    fn of(self, sizes: Sizes) -> f64 {
        let Sizes { image, input, fitted } = sizes;
        let scale = |axis: usize| fitted[axis] as f64 / image[axis] as f64;
        match self {
            Known::ImageWidth => image[0] as f64,
            Known::ImageHeight => image[1] as f64,
            Known::InputWidth => input[0] as f64,
            Known::InputHeight => input[1] as f64,
            Known::FittedWidth => fitted[0] as f64,
            Known::FittedHeight => fitted[1] as f64,
            Known::ScaleX => scale(0),
            Known::ScaleY => scale(1),
        }
    }

    /// Whether it has a fraction.
    fn is_scale(self) -> bool {
        matches!(self, Known::ScaleX | Known::ScaleY)
    }
}

impl Fact {
    fn read(r: &mut Reader, node: &Node, field: &str) -> Option<Self> {
        match &node.kind {
            Kind::Number(_) => r.number(node, field).map(Fact::Number),
            _ => r.word(node, "value").map(Fact::Known),
        }
    }

    fn of(self, sizes: Sizes) -> f64 {
        match self {
            Fact::Known(known) => known.of(sizes),
            Fact::Number(number) => number,
        }
    }
}

impl Also {
    pub(super) fn read(r: &mut Reader, node: &Node, _: &str) -> Option<Self> {
        let example = "(tensor: \"orig_target_sizes\", values: [ImageWidth, ImageHeight], element: I64)";
        let known = &["tensor", "values", "element", "shape"];
        let f = r.record(node, "a tensor of `also`", "Also", example, known)?;
        let tensor = r.needed(&f, "tensor", "tensor: \"orig_target_sizes\"", Reader::text);
        let values = r.needed(
            &f,
            "values",
            "values: [ImageWidth, ImageHeight]",
            |r, node, field| {
                let expected = "a list of facts and numbers, such as [ImageWidth, ImageHeight] or [0.5]";
                r.values(node, field, expected, Fact::read)
            },
        );
        let element = r.optional(&f, "element", one_of("element")).or(ElementType::F32);
        let shape = r.optional(&f, "shape", |r, node, field| {
            r.values(node, field, "a list of extents, such as [1, 2]", Reader::whole)
        });
        Some(Also {
            tensor: tensor?,
            element,
            values: values?,
            shape: shape.given().map(|spot| spot.value.clone()),
        })
    }

    /// The shape for one image of a tensor without problems.
    pub(super) fn shape(&self) -> Shape {
        let shape = match &self.shape {
            Some(dims) => Shape::new(dims),
            None => Shape::new(&[1, self.values.len()]),
        };
        shape.expect("a shape of more dimensions is a problem of the spec")
    }

    /// What must hold of the tensors in `also`; `image` is the input that has the image.
    pub(super) fn check_all(all: &[Also], image: &str, rules: &mut Rules<'_>) {
        let mut names = BTreeSet::from([image]);
        for (n, also) in all.iter().enumerate() {
            let path = format!("also[{n}]");
            let name = also.tensor.as_str();
            let wanted = "the name of an input of the network";
            rules.require(
                !name.trim().is_empty(),
                &format!("{path}.tensor"),
                "empty",
                wanted,
            );
            if !names.insert(name) {
                let why = format!("two tensors are named `{}`", shown(name));
                rules.contradiction(&format!("{path}.tensor"), why, "each needs a name of its own");
            }
            also.check(&path, rules);
        }
    }

    /// What must hold between the tensors in `also` and the network's inputs.
    pub(super) fn check_inputs(all: &[Also], inputs: &[Port], rules: &mut Rules<'_>) {
        let named = all.iter().enumerate();
        let named = named.map(|(n, also)| (also.tensor.as_str(), format!("also[{n}].tensor")));
        check_names(named, inputs, rules);
        for (n, also) in all.iter().enumerate() {
            let shape = match &also.shape {
                Some(dims) => dims.clone(),
                None => vec![1, also.values.len()],
            };
            let Some(port) = inputs.iter().find(|port| port.name == also.tensor) else {
                continue;
            };
            let dims: Vec<Option<usize>> = shape.iter().copied().map(Some).collect();
            let path = format!("also[{n}]");
            if !takes_shape(port, &dims) {
                let kind = ProblemKind::OutOfRange {
                    what: format!("the shape of `{}` in `also[{n}]`", shown(&also.tensor)),
                    found: format!("{shape:?}"),
                    wanted: format!(
                        "[{}], which the network takes; give it as many values, or `shape`",
                        port.shape.join(", ")
                    ),
                };
                rules.report(&path, kind);
            }
            if !takes_element(port, also.element) {
                let kind = ProblemKind::OutOfRange {
                    what: format!("the `element` of `{}` in `also[{n}]`", shown(&also.tensor)),
                    found: format!("{:?}", also.element),
                    wanted: format!("{}, which the network takes", port.element),
                };
                rules.report(&path, kind);
            }
        }
    }

    fn check(&self, path: &str, rules: &mut Rules<'_>) {
        let count = self.values.len();
        let values = format!("{path}.values");
        rules.require(
            (1..=MOST).contains(&count),
            &values,
            format!("a list of {count}"),
            format!("from 1 to {MOST} values"),
        );
        if let Some(dims) = &self.shape {
            let elements = Shape::new(dims).map(|shape| shape.len());
            let fits = elements.is_some_and(|n| (1..=MOST).contains(&n) && (count == n || count == 1));
            let wanted = match count {
                1 => format!("of 1 to {MOST} elements in at most 8 dimensions"),
                _ => format!("of {count} elements in at most 8 dimensions, one for each of `values`"),
            };
            rules.require(fits, &format!("{path}.shape"), format!("{dims:?}"), wanted);
        }
        for (n, fact) in self.values.iter().enumerate() {
            let at = format!("{values}[{n}]");
            match fact {
                Fact::Known(known) if known.is_scale() => rules.require(
                    self.element.has_fractions(),
                    &at,
                    format!("{known:?}, which has a fraction"),
                    format!(
                        "a whole number, since the elements are {:?}; write element: F32",
                        self.element
                    ),
                ),
                // Sizes of images: whether one is too large shows with the image.
                Fact::Known(_) => {}
                Fact::Number(number) => rules.require(
                    self.element.holds(*number),
                    &at,
                    number,
                    format!("a number that {:?} holds", self.element),
                ),
            }
        }
    }

    /// Fills its tensor.
    ///
    /// # Errors
    /// The slot has no such tensor, or the image's size does not fit its elements.
    pub(super) fn fill(&self, sizes: Sizes, inputs: &mut TensorSet) -> Result<(), Unfilled> {
        let tensor = inputs.get_mut(&self.tensor)?;
        tensor.set_shape(self.shape())?;
        match &self.values[..] {
            [one] => {
                let value = one.of(sizes);
                for at in 0..tensor.shape().len() {
                    self.write(tensor, at, value)?;
                }
            }
            all => {
                for (at, fact) in all.iter().enumerate() {
                    self.write(tensor, at, fact.of(sizes))?;
                }
            }
        }
        Ok(())
    }

    fn write(&self, tensor: &mut HostTensor, at: usize, value: f64) -> Result<(), Unfilled> {
        // A backend may hold whole numbers in another width than the spec says.
        let element = tensor.element();
        if !element.holds(value) {
            return Err(Unfilled::TooLarge {
                tensor: self.tensor.clone(),
                value,
                element: element.name(),
            });
        }
        Ok(tensor.set_number(at, value)?)
    }
}

/// Why a tensor beside the image cannot be filled.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unfilled {
    #[error(transparent)]
    Tensor(#[from] TensorError),
    #[error(
        "`{tensor}` takes {value} of this image, and its {element} elements do not hold that; give it another `element`"
    )]
    TooLarge {
        tensor: String,
        value: f64,
        element: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Numbers;

    const SIZES: Sizes = Sizes {
        image: [160, 120],
        input: [64, 32],
        fitted: [43, 32],
    };

    fn also(element: ElementType, values: Vec<Fact>) -> Also {
        Also {
            tensor: "sizes".to_owned(),
            element,
            values,
            shape: None,
        }
    }

    fn filled(also: &Also, held: ElementType) -> Result<Vec<f32>, Unfilled> {
        let mut tensors = TensorSet::new(vec![HostTensor::zeroed("sizes", held, also.shape())]);
        also.fill(SIZES, &mut tensors)?;
        let tensor = tensors.get("sizes").unwrap();
        let numbers = Numbers::of(tensor).unwrap();
        Ok((0..numbers.len()).map(|at| numbers.at(at).unwrap()).collect())
    }

    #[test]
    fn each_fact_is_a_number_of_the_image_and_of_how_it_lies_in_the_input() {
        use Known::*;
        let all = [
            ImageWidth,
            ImageHeight,
            InputWidth,
            InputHeight,
            FittedWidth,
            FittedHeight,
            ScaleX,
            ScaleY,
        ];
        let mut facts = all.map(Fact::Known).to_vec();
        facts.push(Fact::Number(-0.5));
        let wanted = [
            160.0,
            120.0,
            64.0,
            32.0,
            43.0,
            32.0,
            43.0 / 160.0,
            32.0 / 120.0,
            -0.5,
        ];
        let found = filled(&also(ElementType::F32, facts), ElementType::F32).unwrap();
        assert_eq!(found, wanted.map(|value: f64| value as f32));
    }

    #[test]
    fn one_value_fills_the_whole_shape_in_whatever_width_the_backend_holds_it() {
        let mut mask = also(ElementType::I64, vec![Fact::Number(1.0)]);
        mask.shape = Some(vec![1, 2, 3]);
        for held in [ElementType::I64, ElementType::I32, ElementType::Bool] {
            assert_eq!(filled(&mask, held).unwrap(), [1.0; 6]);
        }
    }

    #[test]
    fn an_image_that_is_larger_than_the_elements_hold_is_told_in_a_sentence() {
        let small = also(ElementType::I8, vec![Fact::Known(Known::ImageWidth)]);
        let error = filled(&small, ElementType::I8).unwrap_err().to_string();
        assert!(
            error.starts_with("`sizes` takes 160 of this image, and its i8 elements"),
            "{error}"
        );
        let absent = small
            .fill(SIZES, &mut TensorSet::default())
            .unwrap_err()
            .to_string();
        assert!(absent.contains("no tensor is named `sizes`"), "{absent}");
    }
}
