//! Arithmetic on small tensors.

use super::places::{indices, stretched};
use crate::call::Call;
use crate::onnx::Data;

pub(super) fn binary(call: &Call, dims: &[u64]) -> Option<Data> {
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

pub(super) fn variadic(call: &Call, dims: &[u64]) -> Option<Data> {
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

pub(super) fn select(call: &Call, dims: &[u64]) -> Option<Data> {
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

pub(super) fn unary(operator: &str, data: &Data) -> Option<Data> {
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

pub(super) fn reduce(operator: &str, data: &Data) -> Option<Data> {
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
