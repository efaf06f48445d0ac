//! Numbers of small tensors carried along: exporters compute shapes with Shape, Gather, Concat and arithmetic, and a Reshape
//! further on needs them.

mod numeric;
mod places;

use super::layout::slices;
use crate::call::{Call, Stop, size};
use crate::element::Element;
use crate::onnx::Data;
use crate::value::Value;
use numeric::{binary, reduce, select, unary, variadic};
use places::{at_places, indices, place, stretched};

/// As many elements as are carried along.
const MOST: u64 = places::MOST;

/// Fills in what the outputs hold, where the inputs' numbers are known and the outputs are small.
pub(super) fn fold(call: &Call, outputs: &mut [Value]) {
    if call.operator() == "Split" {
        return split(call, outputs);
    }
    let [output, ..] = outputs else { return };
    if output.data.is_some() {
        return;
    }
    let Ok(shape) = &output.shape else { return };
    let dims = shape.dims.clone();
    match size(&dims) {
        Ok(elements) if elements <= MOST => {}
        _ => return,
    }
    let data = numbers(call, &dims, output.element);
    if let Some(data) = data
        && size(&dims).ok() == Some(data.len() as u64)
    {
        output.data = Some(data);
    }
}

fn numbers(call: &Call, dims: &[u64], element: Element) -> Option<Data> {
    let data = |at: usize| call.input(at)?.data.as_ref();
    match call.operator() {
        "Identity" | "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" | "Dropout" => data(0).cloned(),
        "Cast" | "CastLike" => Some(cast(data(0)?, element)),
        "Gather" | "Slice" | "Transpose" | "Expand" | "Tile" => picked(call, dims),
        "Concat" => concat(call),
        "ConstantOfShape" => Some(filled(call, dims)),
        "Range" => range(call, dims),
        operator if super::is_binary(operator) => binary(call, dims),
        "Min" | "Max" | "Sum" => variadic(call, dims),
        "Where" => select(call, dims),
        operator if super::is_unary(operator) => unary(operator, data(0)?),
        "ReduceProd" | "ReduceSum" | "ReduceMax" | "ReduceMin" if dims.iter().all(|dim| *dim == 1) => {
            reduce(call.operator(), data(0)?)
        }
        _ => None,
    }
}

fn cast(data: &Data, element: Element) -> Data {
    let is_bool = element == Element::Bool;
    match data {
        Data::Ints(values) if is_bool => Data::Ints(values.iter().map(|v| (*v != 0).into()).collect()),
        Data::Floats(values) if is_bool => Data::Ints(values.iter().map(|v| (*v != 0.0).into()).collect()),
        Data::Ints(values) if element.is_float() => Data::Floats(values.iter().map(|v| *v as f64).collect()),
        Data::Floats(values) if element.is_integer() => {
            Data::Ints(values.iter().map(|v| *v as i64).collect())
        }
        data => data.clone(),
    }
}

fn picked(call: &Call, dims: &[u64]) -> Option<Data> {
    let data = call.input(0)?.data.as_ref()?;
    let from = &call.shape(0).ok()?.dims;
    match call.operator() {
        "Gather" => {
            let axis = call.axis(call.int_or("axis", 0), from.len()).ok()?;
            let which = call.input(1)?.as_ints()?;
            let shape = &call.shape(1).ok()?.dims;
            let length = i64::try_from(*from.get(axis)?).ok()?;
            at_places(
                data,
                indices(dims).map(|index| {
                    let (before, rest) = index.split_at_checked(axis)?;
                    let (chosen, after) = rest.split_at_checked(shape.len())?;
                    let chosen = *which.get(place(chosen, shape)?)?;
                    let chosen = if chosen < 0 { chosen + length } else { chosen };
                    if !(0..length).contains(&chosen) {
                        return None;
                    }
                    let mut index = before.to_vec();
                    index.push(chosen as usize);
                    index.extend(after);
                    place(&index, from)
                }),
            )
        }
        "Slice" => {
            let slices = slices(call).ok()?;
            at_places(
                data,
                indices(dims).map(|mut index| {
                    for (at, start, _, step) in &slices {
                        let place = index.get_mut(*at)?;
                        let moved = (*place as i64).checked_mul(*step)?.checked_add(*start)?;
                        *place = usize::try_from(moved).ok()?;
                    }
                    place(&index, from)
                }),
            )
        }
        "Transpose" => {
            let order: Vec<usize> = match call.ints("perm") {
                Some(order) => order
                    .iter()
                    .map(|at| call.axis(*at, from.len()))
                    .collect::<Result<_, Stop>>()
                    .ok()?,
                None => (0..from.len()).rev().collect(),
            };
            at_places(
                data,
                indices(dims).map(|index| {
                    let mut original = vec![0; index.len()];
                    for (at, from) in index.iter().zip(&order) {
                        *original.get_mut(*from)? = *at;
                    }
                    place(&original, from)
                }),
            )
        }
        "Tile" => at_places(
            data,
            indices(dims).map(|index| {
                let index: Vec<usize> = index
                    .iter()
                    .zip(from)
                    .map(|(at, dim)| at % (*dim).max(1) as usize)
                    .collect();
                place(&index, from)
            }),
        ),
        _ => at_places(data, indices(dims).map(|index| stretched(&index, from))),
    }
}

fn concat(call: &Call) -> Option<Data> {
    // Lists alone, which shapes are.
    if call.shape(0).ok()?.rank() != 1 {
        return None;
    }
    let parts: Vec<&Data> = call
        .inputs
        .iter()
        .map(|input| (*input)?.data.as_ref())
        .collect::<Option<_>>()?;
    let is_float = parts.iter().any(|part| matches!(part, Data::Floats(_)));
    if is_float {
        let floats = parts.iter().flat_map(|part| match part {
            Data::Floats(values) => values.clone(),
            Data::Ints(values) => values.iter().map(|value| *value as f64).collect(),
        });
        return Some(Data::Floats(floats.collect()));
    }
    let ints = parts.iter().flat_map(|part| match part {
        Data::Ints(values) => values.clone(),
        Data::Floats(_) => Vec::new(),
    });
    Some(Data::Ints(ints.collect()))
}

fn filled(call: &Call, dims: &[u64]) -> Data {
    let length = size(dims).unwrap_or(0) as usize;
    match call.tensor("value").and_then(|tensor| tensor.data.as_ref()) {
        Some(Data::Ints(values)) => Data::Ints(vec![values.first().copied().unwrap_or(0); length]),
        Some(Data::Floats(values)) => Data::Floats(vec![values.first().copied().unwrap_or(0.0); length]),
        None => Data::Floats(vec![0.0; length]),
    }
}

fn range(call: &Call, dims: &[u64]) -> Option<Data> {
    let length = *dims.first()?;
    let (start, step) = (call.input(0)?, call.input(2)?);
    Some(match (&start.data, &step.data) {
        (Some(Data::Ints(start)), Some(Data::Ints(step))) => {
            let (start, step) = (*start.first()?, *step.first()?);
            let each = (0..length as i64).map(|at| at.checked_mul(step)?.checked_add(start));
            Data::Ints(each.collect::<Option<_>>()?)
        }
        _ => {
            let (start, step) = (*start.as_floats()?.first()?, *step.as_floats()?.first()?);
            Data::Floats((0..length).map(|at| start + at as f64 * step).collect())
        }
    })
}

fn split(call: &Call, outputs: &mut [Value]) {
    let Some(data) = call.input(0).and_then(|input| input.data.as_ref()) else {
        return;
    };
    if !matches!(call.shape(0), Ok(shape) if shape.rank() == 1) {
        return;
    }
    let mut from = 0_usize;
    for output in outputs {
        let Ok(shape) = &output.shape else { return };
        let Some(length) = shape
            .dims
            .first()
            .and_then(|length| usize::try_from(*length).ok())
        else {
            return;
        };
        output.data = at_places(data, (from..from.saturating_add(length)).map(Some));
        from = from.saturating_add(length);
    }
}
