//! Operators that pick elements, and put them: by indices, or by what they are.

use super::Made;
use crate::call::{Call, Stop, size, spelled};
use crate::element::Element;
use crate::onnx::Data;
use crate::value::{Shape, Value};

pub(super) fn infer(call: &Call) -> Made {
    Some(match call.operator() {
        "Gather" => gather(call),
        "GatherElements" => call
            .shape(1)
            .and_then(|indices| call.one(indices.dims.clone(), call.element(0))),
        "GatherND" => gather_nd(call),
        "Scatter" | "ScatterElements" | "ScatterND" | "TensorScatter" => call
            .shape(0)
            .and_then(|data| call.one(data.dims.clone(), call.element(0))),
        "OneHot" => one_hot(call),
        "TopK" => top_k(call),
        "NonZero" => non_zero(call),
        "NonMaxSuppression" => suppression(call),
        "Compress" => compress(call),
        "Unique" => unique(call),
        _ => return None,
    })
}

/// Sizes that depend on data, at most these.
fn at_most(dims: impl Into<Vec<u64>>) -> Shape {
    Shape {
        dims: dims.into(),
        bound: true,
    }
}

fn gather(call: &Call) -> Result<Vec<Value>, Stop> {
    let (data, indices) = (call.dims(0, 1)?, &call.shape(1)?.dims);
    let axis = call.axis(call.int_or("axis", 0), data.len())?;
    let mut dims = data[..axis].to_vec();
    dims.extend(indices);
    dims.extend(&data[axis + 1..]);
    call.one(dims, call.element(0))
}

fn gather_nd(call: &Call) -> Result<Vec<Value>, Stop> {
    let (data, indices) = (call.dims(0, 1)?, call.dims(1, 1)?);
    let batch = usize::try_from(call.int_or("batch_dims", 0)).unwrap_or(0);
    let (last, kept) = match indices {
        [kept @ .., last] => (usize::try_from(*last).unwrap_or(usize::MAX), kept),
        [] => return Err(Stop::contradiction("its indices are a scalar")),
    };
    let rest = batch
        .checked_add(last)
        .and_then(|from| data.get(from..))
        .ok_or_else(|| Stop::contradiction(format!("indices {} into {}", spelled(indices), spelled(data))))?;
    let mut dims = kept.to_vec();
    dims.extend(rest);
    call.one(dims, call.element(0))
}

fn one_hot(call: &Call) -> Result<Vec<Value>, Stop> {
    let indices = &call.shape(0)?.dims;
    let depth = call
        .require(1)?
        .as_floats()
        .and_then(|depth| depth.first().copied());
    let depth = depth.ok_or_else(|| Stop::unknown("its depth is computed from data"))?;
    let mut dims = indices.clone();
    let axis = call.axis(call.int_or("axis", -1), indices.len() + 1)?;
    dims.insert(axis, depth.max(0.0) as u64);
    call.one(dims, call.element(2))
}

fn top_k(call: &Call) -> Result<Vec<Value>, Stop> {
    let mut dims = call.dims(0, 1)?.to_vec();
    let axis = call.axis(call.int_or("axis", -1), dims.len())?;
    let mut shape = call.derived(dims.clone());
    match call.setting("k", 1) {
        Ok(k) => {
            let k = k.and_then(|k| k.first().copied()).unwrap_or(0);
            let k = u64::try_from(k).unwrap_or(0);
            if k > dims[axis] && !shape.bound {
                return Err(Stop::contradiction(format!("the best {k} of {}", dims[axis])));
            }
            dims[axis] = k.min(dims[axis]);
            shape.dims = dims;
        }
        // All of them, at most.
        Err(Stop::Unknown(_)) => shape.bound = true,
        Err(stop) => return Err(stop),
    }
    Ok(vec![
        Value::new(shape.clone(), call.element(0)),
        Value::new(shape, Element::Int64),
    ])
}

fn non_zero(call: &Call) -> Result<Vec<Value>, Stop> {
    let dims = &call.shape(0)?.dims;
    if let Some(numbers) = call.input(0).and_then(|input| input.as_floats()) {
        return Ok(vec![places(dims, &numbers, call)]);
    }
    let shape = at_most([dims.len() as u64, size(dims)?]);
    Ok(vec![Value::new(shape, Element::Int64)])
}

/// Where the numbers of a tensor are not zero: old exporters compute indices so.
fn places(dims: &[u64], numbers: &[f64], call: &Call) -> Value {
    let found: Vec<usize> = (0..numbers.len())
        .filter(|at| numbers.get(*at) != Some(&0.0))
        .collect();
    let mut table = Vec::new();
    let mut below: u64 = dims.iter().product();
    for dim in dims {
        below /= (*dim).max(1);
        table.extend(found.iter().map(|at| (*at as u64 / below.max(1) % dim) as i64));
    }
    let shape = call.derived([dims.len() as u64, found.len() as u64]);
    Value {
        data: Some(Data::Ints(table)),
        ..Value::new(shape, Element::Int64)
    }
}

/// Boxes that are kept, at most: of each class of each image.
fn suppression(call: &Call) -> Result<Vec<Value>, Stop> {
    let ([batch, boxes, ..], [_, classes, ..]) = (call.dims(0, 3)?, call.dims(1, 3)?) else {
        return Err(Stop::contradiction("its boxes or scores have too few dimensions"));
    };
    let most = match call.setting("most boxes", 2) {
        Ok(most) => most.and_then(|most| most.first().copied()).unwrap_or(0),
        Err(Stop::Unknown(_)) => i64::MAX,
        Err(stop) => return Err(stop),
    };
    let most = u64::try_from(most).unwrap_or(0).min(*boxes);
    let kept = crate::arithmetic::times(&[*batch, *classes, most])?;
    Ok(vec![Value::new(at_most([kept, 3]), Element::Int64)])
}

fn compress(call: &Call) -> Result<Vec<Value>, Stop> {
    let dims = &call.shape(0)?.dims;
    let kept = call.size(1)?;
    let dims = match call.int("axis") {
        None => vec![size(dims)?.min(kept)],
        Some(axis) => {
            let mut dims = dims.clone();
            let at = call.axis(axis, dims.len())?;
            dims[at] = dims[at].min(kept);
            dims
        }
    };
    Ok(vec![Value::new(at_most(dims), call.element(0))])
}

fn unique(call: &Call) -> Result<Vec<Value>, Stop> {
    let dims = &call.shape(0)?.dims;
    let (kept, along, whole) = match call.int("axis") {
        None => {
            let all = size(dims)?;
            (vec![all], all, all)
        }
        Some(axis) => {
            let at = call.axis(axis, dims.len())?;
            (dims.clone(), dims[at], dims[at])
        }
    };
    let list = |length: u64| Value::new(at_most([length]), Element::Int64);
    Ok(vec![
        Value::new(at_most(kept), call.element(0)),
        list(along),
        Value::new(call.derived([whole]), Element::Int64),
        list(along),
    ])
}
