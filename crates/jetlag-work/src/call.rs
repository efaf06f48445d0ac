//! A node together with what is known of its inputs: what rules about operators are written on.

use std::sync::Arc;

use crate::element::Element;
use crate::onnx::{Attribute, Node, Tensor};
use crate::value::{Shape, Value, product};

/// Why a rule gives no answer.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// Sizes cannot be known; the reason, as a phrase.
    Unknown(Arc<str>),
    /// No rule is written for the operator; the reason, as a phrase.
    Operator(Arc<str>),
    /// The inputs do not fit the operator.
    Contradiction(String),
    /// More than 64 bits.
    Overflow,
}

impl Stop {
    pub(crate) fn unknown(reason: impl Into<Arc<str>>) -> Stop {
        Stop::Unknown(reason.into())
    }

    pub(crate) fn operator(reason: impl Into<Arc<str>>) -> Stop {
        Stop::Operator(reason.into())
    }

    pub(crate) fn contradiction(problem: impl Into<String>) -> Stop {
        Stop::Contradiction(problem.into())
    }
}

/// A node at work.
pub(crate) struct Call<'a> {
    pub(crate) node: &'a Node,
    /// The version of the operator set that the node is of.
    pub(crate) opset: i64,
    pub(crate) inputs: Vec<Option<&'a Value>>,
}

impl<'a> Call<'a> {
    pub(crate) fn operator(&self) -> &'a str {
        &self.node.operator
    }

    /// An input that may be left out.
    pub(crate) fn input(&self, at: usize) -> Option<&'a Value> {
        self.inputs.get(at).copied().flatten()
    }

    pub(crate) fn require(&self, at: usize) -> Result<&'a Value, Stop> {
        self.input(at)
            .ok_or_else(|| Stop::contradiction(format!("its input {at} is missing")))
    }

    pub(crate) fn shape(&self, at: usize) -> Result<&'a Shape, Stop> {
        self.require(at)?
            .shape
            .as_ref()
            .map_err(|why| Stop::Unknown(why.clone()))
    }

    /// The dimensions of an input that has exactly so many, or more.
    pub(crate) fn dims(&self, at: usize, least: usize) -> Result<&'a [u64], Stop> {
        let dims = &self.shape(at)?.dims;
        match dims.len() >= least {
            true => Ok(dims),
            false => Err(Stop::contradiction(format!(
                "its input {at} has {} dimensions, and at least {least} are needed",
                dims.len()
            ))),
        }
    }

    pub(crate) fn element(&self, at: usize) -> Element {
        self.input(at).map_or(Element::Unknown, |value| value.element)
    }

    /// Elements of an input.
    pub(crate) fn size(&self, at: usize) -> Result<u64, Stop> {
        size(&self.shape(at)?.dims)
    }

    /// Whether the sizes of any input are upper bounds.
    pub(crate) fn is_bound(&self) -> bool {
        let shapes = self
            .inputs
            .iter()
            .flatten()
            .filter_map(|value| value.shape.as_ref().ok());
        shapes.into_iter().any(|shape| shape.bound)
    }

    /// A shape that follows from those of the inputs.
    pub(crate) fn derived(&self, dims: impl Into<Vec<u64>>) -> Shape {
        Shape {
            dims: dims.into(),
            bound: self.is_bound(),
        }
    }

    /// One output of this shape and type.
    pub(crate) fn one(&self, dims: impl Into<Vec<u64>>, element: Element) -> Result<Vec<Value>, Stop> {
        Ok(vec![Value::new(self.derived(dims), element)])
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<&'a Attribute> {
        self.node.attribute(name)
    }

    pub(crate) fn int(&self, name: &str) -> Option<i64> {
        self.attribute(name)?.int
    }

    pub(crate) fn int_or(&self, name: &str, otherwise: i64) -> i64 {
        self.int(name).unwrap_or(otherwise)
    }

    pub(crate) fn float_or(&self, name: &str, otherwise: f32) -> f32 {
        self.attribute(name)
            .and_then(|attribute| attribute.float)
            .unwrap_or(otherwise)
    }

    pub(crate) fn ints(&self, name: &str) -> Option<&'a [i64]> {
        let attribute = self.attribute(name)?;
        match attribute.ints.is_empty() {
            false => Some(&attribute.ints),
            true => attribute.int.as_ref().map(std::slice::from_ref),
        }
    }

    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        self.attribute(name)?.text.as_deref()
    }

    pub(crate) fn tensor(&self, name: &str) -> Option<&'a Tensor> {
        self.attribute(name)?.tensor.as_ref()
    }

    /// Whole numbers that are an attribute in older versions of an operator and an input in newer ones.
    pub(crate) fn setting(&self, name: &str, at: usize) -> Result<Option<Vec<i64>>, Stop> {
        if let Some(values) = self.ints(name) {
            return Ok(Some(values.to_vec()));
        }
        match self.input(at) {
            None => Ok(None),
            Some(value) => match value.as_ints() {
                Some(values) => Ok(Some(values.to_vec())),
                None => {
                    let is = if name.ends_with('s') && name != "axis" {
                        "are"
                    } else {
                        "is"
                    };
                    Err(Stop::unknown(format!("its {name} {is} computed from data")))
                }
            },
        }
    }

    /// An axis of so many, counted from the end where it is negative.
    pub(crate) fn axis(&self, axis: i64, rank: usize) -> Result<usize, Stop> {
        let from_start = if axis < 0 { axis + rank as i64 } else { axis };
        match usize::try_from(from_start) {
            Ok(at) if at < rank => Ok(at),
            _ => Err(Stop::contradiction(format!("axis {axis} is none of {rank}"))),
        }
    }
}

/// Elements of a shape.
pub(crate) fn size(dims: &[u64]) -> Result<u64, Stop> {
    product(dims).ok_or(Stop::Overflow)
}

/// A shape that both sides stretch to, as ONNX broadcasts.
pub(crate) fn broadcast(one: &[u64], other: &[u64]) -> Result<Vec<u64>, Stop> {
    let rank = one.len().max(other.len());
    let at = |dims: &[u64], axis: usize| match (axis + dims.len()).checked_sub(rank) {
        Some(own) => dims.get(own).copied().unwrap_or(1),
        None => 1,
    };
    (0..rank)
        .map(|axis| match (at(one, axis), at(other, axis)) {
            (a, b) if a == b => Ok(a),
            (1, b) => Ok(b),
            (a, 1) => Ok(a),
            _ => Err(Stop::contradiction(format!(
                "{} and {} do not broadcast",
                spelled(one),
                spelled(other)
            ))),
        })
        .collect()
}

/// `1x3x224x224`.
pub(crate) fn spelled(dims: &[u64]) -> String {
    let dims: Vec<String> = dims.iter().map(u64::to_string).collect();
    match dims.is_empty() {
        true => "a scalar".to_owned(),
        false => dims.join("x"),
    }
}
