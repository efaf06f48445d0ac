//! Numbers of small tensors carried along: exporters compute shapes with Shape, Gather, Concat and arithmetic, and a Reshape
//! further on needs them.

use super::layout::slices;
use crate::call::{Call, Stop, size};
use crate::element::Element;
use crate::onnx::Data;
use crate::value::Value;

/// As many elements as are carried along.
const MOST: u64 = 8192;

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

/// The elements of `data` at these places.
fn at_places(data: &Data, places: impl Iterator<Item = Option<usize>>) -> Option<Data> {
    Some(match data {
        Data::Ints(values) => Data::Ints(
            places
                .map(|place| values.get(place?).copied())
                .collect::<Option<_>>()?,
        ),
        Data::Floats(values) => Data::Floats(
            places
                .map(|place| values.get(place?).copied())
                .collect::<Option<_>>()?,
        ),
    })
}

/// Every index of a shape, in order.
fn indices(dims: &[u64]) -> impl Iterator<Item = Vec<usize>> {
    let total = size(dims).unwrap_or(0).min(MOST) as usize;
    let dims: Vec<usize> = dims.iter().map(|dim| *dim as usize).collect();
    (0..total).map(move |mut flat| {
        let mut index = vec![0; dims.len()];
        for (place, dim) in index.iter_mut().zip(&dims).rev() {
            *place = flat % dim;
            flat /= dim;
        }
        index
    })
}

/// Where an index lies in a tensor of this shape.
fn place(index: &[usize], dims: &[u64]) -> Option<usize> {
    index.iter().zip(dims).try_fold(0_usize, |flat, (at, dim)| {
        flat.checked_mul(usize::try_from(*dim).ok()?)?.checked_add(*at)
    })
}

/// Where an index lies in a tensor that is stretched to its shape.
fn stretched(index: &[usize], dims: &[u64]) -> Option<usize> {
    let own = index.get(index.len().checked_sub(dims.len())?..)?;
    let own: Vec<usize> = own
        .iter()
        .zip(dims)
        .map(|(at, dim)| if *dim == 1 { 0 } else { *at })
        .collect();
    place(&own, dims)
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

fn binary(call: &Call, dims: &[u64]) -> Option<Data> {
    let (a, b) = (call.input(0)?, call.input(1)?);
    let (shape_a, shape_b) = (&call.shape(0).ok()?.dims, &call.shape(1).ok()?.dims);
    let operator = call.operator();
    if let (Some(Data::Ints(a)), Some(Data::Ints(b))) = (&a.data, &b.data) {
        let both = indices(dims).map(|index| {
            let a = *a.get(stretched(&index, shape_a)?)?;
            let b = *b.get(stretched(&index, shape_b)?)?;
            whole(operator, a, b, call.int_or("fmod", 0) != 0)
        });
        return Some(Data::Ints(both.collect::<Option<_>>()?));
    }
    let (a, b) = (a.as_floats()?, b.as_floats()?);
    let both = indices(dims).map(|index| {
        Some((
            *a.get(stretched(&index, shape_a)?)?,
            *b.get(stretched(&index, shape_b)?)?,
        ))
    });
    let both = both.collect::<Option<Vec<(f64, f64)>>>()?;
    let compared =
        |holds: fn(f64, f64) -> bool| Data::Ints(both.iter().map(|(a, b)| holds(*a, *b).into()).collect());
    let computed = |make: fn(f64, f64) -> f64| Data::Floats(both.iter().map(|(a, b)| make(*a, *b)).collect());
    Some(match operator {
        "Add" => computed(|a, b| a + b),
        "Sub" => computed(|a, b| a - b),
        "Mul" => computed(|a, b| a * b),
        "Div" => computed(|a, b| a / b),
        "Pow" => computed(f64::powf),
        "Equal" => compared(|a, b| a == b),
        "Less" => compared(|a, b| a < b),
        "LessOrEqual" => compared(|a, b| a <= b),
        "Greater" => compared(|a, b| a > b),
        "GreaterOrEqual" => compared(|a, b| a >= b),
        _ => return None,
    })
}

fn whole(operator: &str, a: i64, b: i64, is_fmod: bool) -> Option<i64> {
    match operator {
        "Add" => a.checked_add(b),
        "Sub" => a.checked_sub(b),
        "Mul" => a.checked_mul(b),
        "Div" => a.checked_div(b),
        "Mod" if is_fmod => a.checked_rem(b),
        "Mod" => a.checked_rem(b).map(|rest| {
            if rest != 0 && (rest < 0) != (b < 0) {
                rest + b
            } else {
                rest
            }
        }),
        "Pow" => a.checked_pow(u32::try_from(b).ok()?),
        "Equal" => Some((a == b).into()),
        "Less" => Some((a < b).into()),
        "LessOrEqual" => Some((a <= b).into()),
        "Greater" => Some((a > b).into()),
        "GreaterOrEqual" => Some((a >= b).into()),
        "And" => Some((a != 0 && b != 0).into()),
        "Or" => Some((a != 0 || b != 0).into()),
        "Xor" => Some(((a != 0) != (b != 0)).into()),
        _ => None,
    }
}

fn variadic(call: &Call, dims: &[u64]) -> Option<Data> {
    let choose = |operator: &str, a: i64, b: i64| match operator {
        "Min" => Some(a.min(b)),
        "Max" => Some(a.max(b)),
        _ => a.checked_add(b),
    };
    let mut all: Option<Vec<i64>> = None;
    for (at, input) in call.inputs.iter().enumerate() {
        let values = (*input)?.as_ints()?;
        let shape = &call.shape(at).ok()?.dims;
        let here = indices(dims).map(|index| values.get(stretched(&index, shape)?).copied());
        let here = here.collect::<Option<Vec<i64>>>()?;
        all = Some(match all {
            None => here,
            Some(all) => {
                let both = all
                    .iter()
                    .zip(&here)
                    .map(|(a, b)| choose(call.operator(), *a, *b));
                both.collect::<Option<_>>()?
            }
        });
    }
    all.map(Data::Ints)
}

fn select(call: &Call, dims: &[u64]) -> Option<Data> {
    let which = call.input(0)?.as_ints()?;
    let shape = &call.shape(0).ok()?.dims;
    let (a, b) = (call.input(1)?, call.input(2)?);
    let (shape_a, shape_b) = (&call.shape(1).ok()?.dims, &call.shape(2).ok()?.dims);
    let (Some(Data::Ints(a)), Some(Data::Ints(b))) = (&a.data, &b.data) else {
        return None;
    };
    let each = indices(dims).map(|index| match *which.get(stretched(&index, shape)?)? {
        0 => b.get(stretched(&index, shape_b)?).copied(),
        _ => a.get(stretched(&index, shape_a)?).copied(),
    });
    Some(Data::Ints(each.collect::<Option<_>>()?))
}

fn unary(operator: &str, data: &Data) -> Option<Data> {
    match data {
        Data::Ints(values) => {
            let each = values.iter().map(|value| match operator {
                "Neg" => value.checked_neg(),
                "Abs" => value.checked_abs(),
                "Not" => Some((*value == 0).into()),
                "Sign" => Some(value.signum()),
                _ => None,
            });
            Some(Data::Ints(each.collect::<Option<_>>()?))
        }
        Data::Floats(values) => {
            let make: fn(f64) -> f64 = match operator {
                "Neg" => |value| -value,
                "Abs" => f64::abs,
                "Floor" => f64::floor,
                "Ceil" => f64::ceil,
                "Round" => f64::round_ties_even,
                "Sqrt" => f64::sqrt,
                "Exp" => f64::exp,
                "Log" => f64::ln,
                "Reciprocal" => f64::recip,
                _ => return None,
            };
            Some(Data::Floats(values.iter().map(|value| make(*value)).collect()))
        }
    }
}

fn reduce(operator: &str, data: &Data) -> Option<Data> {
    let Data::Ints(values) = data else { return None };
    let reduced = match operator {
        "ReduceProd" => values
            .iter()
            .try_fold(1_i64, |all, value| all.checked_mul(*value))?,
        "ReduceSum" => values
            .iter()
            .try_fold(0_i64, |all, value| all.checked_add(*value))?,
        "ReduceMax" => *values.iter().max()?,
        _ => *values.iter().min()?,
    };
    Some(Data::Ints(vec![reduced]))
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
