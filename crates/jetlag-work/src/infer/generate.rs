//! Operators that make tensors of settings: constants, ranges, shapes, chance.

use super::Made;
use crate::call::{Call, Stop};
use crate::element::Element;
use crate::onnx::{Data, Tensor};
use crate::value::{Shape, Value};

pub(super) fn infer(call: &Call) -> Made {
    Some(match call.operator() {
        "Constant" => constant(call),
        "ConstantOfShape" => constant_of_shape(call),
        "ConstantFill" | "GivenTensorFill" => filled(call),
        "Shape" => shape(call),
        "Size" => call.size(0).map(|size| vec![scalar(size)]),
        "Range" => range(call),
        "EyeLike" => like(call),
        "RandomUniform" | "RandomNormal" => random(call),
        "RandomUniformLike" | "RandomNormalLike" => like(call),
        "Multinomial" => multinomial(call),
        _ => return None,
    })
}

fn of(tensor: &Tensor) -> Value {
    Value {
        shape: Ok(Shape::exact(tensor.dims.clone())),
        element: tensor.element,
        data: tensor.data.clone(),
        constant: true,
    }
}

fn constant(call: &Call) -> Result<Vec<Value>, Stop> {
    if let Some(tensor) = call.tensor("value").or_else(|| call.tensor("sparse_value")) {
        return Ok(vec![of(tensor)]);
    }
    let made = |dims: &[u64], element, data| Value {
        shape: Ok(Shape::exact(dims)),
        element,
        data,
        constant: true,
    };
    let list = |name: &str| call.attribute(name);
    let value = if let Some(value) = call.int("value_int") {
        made(&[], Element::Int64, Some(Data::Ints(vec![value])))
    } else if let Some(attribute) = list("value_ints") {
        let length = attribute.ints.len() as u64;
        made(
            &[length],
            Element::Int64,
            Some(Data::Ints(attribute.ints.clone())),
        )
    } else if let Some(value) = list("value_float").and_then(|attribute| attribute.float) {
        made(&[], Element::Float, Some(Data::Floats(vec![value.into()])))
    } else if let Some(attribute) = list("value_floats") {
        let floats: Vec<f64> = attribute.floats.iter().map(|value| f64::from(*value)).collect();
        made(&[floats.len() as u64], Element::Float, Some(Data::Floats(floats)))
    } else if list("value_string").is_some() {
        made(&[], Element::String, None)
    } else if let Some(attribute) = list("value_strings") {
        made(&[attribute.texts as u64], Element::String, None)
    } else {
        return Err(Stop::unknown("it has no value"));
    };
    Ok(vec![value])
}

fn sizes(shape: &[i64]) -> Result<Vec<u64>, Stop> {
    let dims: Option<Vec<u64>> = shape.iter().map(|dim| u64::try_from(*dim).ok()).collect();
    dims.ok_or_else(|| Stop::contradiction(format!("its shape {shape:?} has a negative size")))
}

fn constant_of_shape(call: &Call) -> Result<Vec<Value>, Stop> {
    let dims = sizes(&call.setting("shape", 0)?.unwrap_or_default())?;
    let element = call
        .tensor("value")
        .map_or(Element::Float, |tensor| tensor.element);
    call.one(dims, element)
}

/// Of Caffe2's early exporters.
fn filled(call: &Call) -> Result<Vec<Value>, Stop> {
    let dims = sizes(&call.setting("shape", 0)?.unwrap_or_default())?;
    call.one(dims, Element::of(call.int_or("dtype", 1)))
}

fn scalar(size: u64) -> Value {
    Value {
        shape: Ok(Shape::default()),
        element: Element::Int64,
        data: i64::try_from(size).ok().map(|size| Data::Ints(vec![size])),
        constant: false,
    }
}

fn shape(call: &Call) -> Result<Vec<Value>, Stop> {
    let shape = call.shape(0)?;
    let rank = shape.rank() as i64;
    let place = |at: i64| (if at < 0 { at + rank } else { at }).clamp(0, rank) as usize;
    let (start, end) = (
        place(call.int_or("start", 0)),
        place(call.int("end").unwrap_or(rank)),
    );
    let dims = shape.dims.get(start..end.max(start)).unwrap_or_default();
    let dims: Result<Vec<i64>, _> = dims.iter().map(|dim| i64::try_from(*dim)).collect();
    let mut value = Value::ints(dims.map_err(|_| Stop::Overflow)?);
    if shape.bound {
        // What is computed of these sizes are no longer those of the data; shapes made of them are bounds as well.
        value.shape = Ok(call.derived([value.as_ints().map_or(0, <[i64]>::len) as u64]));
    }
    Ok(vec![value])
}

fn range(call: &Call) -> Result<Vec<Value>, Stop> {
    let number = |at: usize| -> Result<f64, Stop> {
        let values = call.require(at)?.as_floats();
        values
            .and_then(|values| values.first().copied())
            .ok_or_else(|| Stop::unknown("its range is computed from data"))
    };
    let (start, limit, step) = (number(0)?, number(1)?, number(2)?);
    let length = ((limit - start) / step).ceil().max(0.0);
    if !length.is_finite() || length > 1e15 {
        return Err(Stop::contradiction(format!(
            "from {start} to {limit} by {step} has no end"
        )));
    }
    call.one([length as u64], call.element(0))
}

fn like(call: &Call) -> Result<Vec<Value>, Stop> {
    let element = call.int("dtype").map_or(call.element(0), Element::of);
    call.one(call.shape(0)?.dims.clone(), element)
}

fn random(call: &Call) -> Result<Vec<Value>, Stop> {
    let dims = sizes(call.ints("shape").unwrap_or_default())?;
    call.one(dims, Element::of(call.int_or("dtype", 1)))
}

fn multinomial(call: &Call) -> Result<Vec<Value>, Stop> {
    let batch = call.dims(0, 1)?[0];
    let samples = u64::try_from(call.int_or("sample_size", 1)).unwrap_or(1);
    call.one([batch, samples], Element::of(call.int_or("dtype", 6)))
}
