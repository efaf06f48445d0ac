//! What is known of a tensor while the graph is walked: its shape, its element type, and its numbers where they are few.

use std::sync::Arc;

use crate::element::Element;
use crate::onnx::Data;

/// Sizes of a tensor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) dims: Vec<u64>,
    /// The sizes depend on data and are the largest that can occur.
    pub(crate) bound: bool,
}

impl Shape {
    pub(crate) fn exact(dims: impl Into<Vec<u64>>) -> Shape {
        Shape {
            dims: dims.into(),
            bound: false,
        }
    }

    pub(crate) fn rank(&self) -> usize {
        self.dims.len()
    }
}

/// A tensor, as far as it is known.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    /// Or the reason that nobody knows it.
    pub(crate) shape: Result<Shape, Arc<str>>,
    pub(crate) element: Element,
    /// Its numbers, where they are few and follow from the file and the given sizes.
    pub(crate) data: Option<Data>,
    /// It follows from the file alone: a weight, or what is computed from weights.
    pub(crate) constant: bool,
}

impl Value {
    pub(crate) fn new(shape: Shape, element: Element) -> Value {
        Value {
            shape: Ok(shape),
            element,
            data: None,
            constant: false,
        }
    }

    pub(crate) fn unknown(reason: Arc<str>, element: Element) -> Value {
        Value {
            shape: Err(reason),
            element,
            data: None,
            constant: false,
        }
    }

    /// A list of whole numbers, as shapes and axes are.
    pub(crate) fn ints(values: Vec<i64>) -> Value {
        Value {
            shape: Ok(Shape::exact([values.len() as u64])),
            element: Element::Int64,
            data: Some(Data::Ints(values)),
            constant: false,
        }
    }

    /// The whole numbers of it, where they are known.
    pub(crate) fn as_ints(&self) -> Option<&[i64]> {
        match &self.data {
            Some(Data::Ints(values)) => Some(values),
            _ => None,
        }
    }

    /// The numbers of it with fractions, where they are known.
    pub(crate) fn as_floats(&self) -> Option<Vec<f64>> {
        match &self.data {
            Some(Data::Floats(values)) => Some(values.clone()),
            Some(Data::Ints(values)) => Some(values.iter().map(|value| *value as f64).collect()),
            None => None,
        }
    }
}

/// All sizes multiplied; none beyond 64 bits.
pub(crate) fn product(dims: &[u64]) -> Option<u64> {
    if dims.contains(&0) {
        return Some(0);
    }
    dims.iter().try_fold(1_u64, |all, dim| all.checked_mul(*dim))
}
