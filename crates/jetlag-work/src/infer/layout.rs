//! Operators that arrange elements anew.

use super::Made;
use crate::call::{Call, Stop, broadcast, size, spelled};
use crate::value::Value;

pub(super) fn infer(call: &Call) -> Made {
    Some(match call.operator() {
        "Reshape" => reshape(call),
        "Flatten" => flatten(call),
        "Squeeze" => squeeze(call),
        "Unsqueeze" => unsqueeze(call),
        "Transpose" => transpose(call),
        "Concat" => concat(call),
        "Split" => split(call),
        "Slice" => slice(call),
        "Pad" => pad(call),
        "Tile" => tile(call),
        "Expand" => expand(call),
        "DepthToSpace" => blocks(call, true),
        "SpaceToDepth" => blocks(call, false),
        "CenterCropPad" => center_crop_pad(call),
        _ => return None,
    })
}

fn reshape(call: &Call) -> Result<Vec<Value>, Stop> {
    let from = &call.shape(0)?.dims;
    let Some(wanted) = call.setting("shape", 1)? else {
        return Err(Stop::contradiction("it has no shape"));
    };
    let total = size(from)?;
    let keeps_zero = call.int_or("allowzero", 0) != 0;
    let mut dims = Vec::with_capacity(wanted.len());
    let mut open = None;
    for (at, dim) in wanted.iter().enumerate() {
        dims.push(match *dim {
            -1 if open.is_none() => {
                open = Some(at);
                1
            }
            0 if !keeps_zero => match from.get(at) {
                Some(dim) => *dim,
                None => {
                    return Err(Stop::contradiction(format!(
                        "{wanted:?} keeps a dimension that {} has not",
                        spelled(from)
                    )));
                }
            },
            dim => u64::try_from(dim).map_err(|_| Stop::contradiction(format!("{wanted:?} is no shape")))?,
        });
    }
    let rest = size(&dims)?;
    let misfit = || Stop::contradiction(format!("{} does not become {wanted:?}", spelled(from)));
    if let Some(at) = open {
        dims[at] = match rest {
            0 if total == 0 => 0,
            0 => return Err(misfit()),
            rest if total % rest == 0 => total / rest,
            _ => return Err(misfit()),
        };
    }
    if size(&dims)? != total {
        return Err(misfit());
    }
    call.one(dims, call.element(0))
}

fn flatten(call: &Call) -> Result<Vec<Value>, Stop> {
    let dims = &call.shape(0)?.dims;
    let axis = call.int_or("axis", 1);
    let at = match axis == dims.len() as i64 {
        true => dims.len(),
        false => call.axis(axis, dims.len().max(1))?,
    };
    let (first, second) = dims.split_at(at.min(dims.len()));
    call.one([size(first)?, size(second)?], call.element(0))
}

fn squeeze(call: &Call) -> Result<Vec<Value>, Stop> {
    let dims = &call.shape(0)?.dims;
    let mut gone: Vec<bool> = dims.iter().map(|_| false).collect();
    match call.setting("axes", 1)? {
        None => gone = dims.iter().map(|dim| *dim == 1).collect(),
        Some(axes) => {
            for axis in axes {
                let at = call.axis(axis, dims.len())?;
                if dims[at] != 1 {
                    return Err(Stop::contradiction(format!(
                        "axis {axis} of {} is not 1",
                        spelled(dims)
                    )));
                }
                gone[at] = true;
            }
        }
    }
    let kept: Vec<u64> = dims
        .iter()
        .zip(gone)
        .filter(|(_, gone)| !gone)
        .map(|(dim, _)| *dim)
        .collect();
    call.one(kept, call.element(0))
}

fn unsqueeze(call: &Call) -> Result<Vec<Value>, Stop> {
    let dims = &call.shape(0)?.dims;
    let axes = call.setting("axes", 1)?.unwrap_or_default();
    let rank = dims.len() + axes.len();
    let mut new = vec![false; rank];
    for axis in axes {
        let at = call.axis(axis, rank)?;
        if std::mem::replace(&mut new[at], true) {
            return Err(Stop::contradiction(format!("axis {axis} is named twice")));
        }
    }
    let mut old = dims.iter();
    let made = new
        .iter()
        .map(|new| if *new { Some(1) } else { old.next().copied() });
    let made: Option<Vec<u64>> = made.collect();
    call.one(made.unwrap_or_default(), call.element(0))
}

fn transpose(call: &Call) -> Result<Vec<Value>, Stop> {
    let dims = &call.shape(0)?.dims;
    let order: Vec<i64> = match call.ints("perm") {
        Some(order) => order.to_vec(),
        None => (0..dims.len() as i64).rev().collect(),
    };
    let mut seen = vec![false; dims.len()];
    let mut made = Vec::with_capacity(dims.len());
    for axis in &order {
        let at = call.axis(*axis, dims.len())?;
        seen[at] = true;
        made.push(dims[at]);
    }
    if made.len() != dims.len() || seen.contains(&false) {
        return Err(Stop::contradiction(format!(
            "perm {order:?} is no order of {}",
            spelled(dims)
        )));
    }
    call.one(made, call.element(0))
}

fn concat(call: &Call) -> Result<Vec<Value>, Stop> {
    let mut dims = call.dims(0, 1)?.to_vec();
    let axis = call.axis(call.int_or("axis", 1), dims.len())?;
    for at in 1..call.inputs.len() {
        let more = &call.shape(at)?.dims;
        let same = |(at, (a, b)): (usize, (&u64, &u64))| at == axis || a == b;
        if more.len() != dims.len() || !dims.iter().zip(more).enumerate().all(same) {
            return Err(Stop::contradiction(format!(
                "{} and {} do not lie side by side along axis {axis}",
                spelled(&dims),
                spelled(more)
            )));
        }
        dims[axis] = dims[axis].checked_add(more[axis]).ok_or(Stop::Overflow)?;
    }
    call.one(dims, call.element(0))
}

fn split(call: &Call) -> Result<Vec<Value>, Stop> {
    let dims = call.dims(0, 1)?;
    let axis = call.axis(call.int_or("axis", 0), dims.len())?;
    let whole = dims[axis];
    let parts = match call.setting("split", 1)? {
        Some(parts) if !parts.is_empty() => {
            let parts: Option<Vec<u64>> = parts.iter().map(|part| u64::try_from(*part).ok()).collect();
            parts.ok_or_else(|| Stop::contradiction("a part has a negative size"))?
        }
        _ => {
            let count = match call.int("num_outputs") {
                Some(count) => u64::try_from(count).unwrap_or(0),
                None => call.node.outputs.len() as u64,
            };
            if count == 0 || count > 100_000 {
                return Err(Stop::contradiction(format!("it splits into {count} parts")));
            }
            let each = whole.div_ceil(count);
            (0..count)
                .map(|at| each.min(whole.saturating_sub(at * each)))
                .collect()
        }
    };
    if parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(*part)) != Some(whole) {
        return Err(Stop::contradiction(format!(
            "parts of {parts:?} do not make {whole}"
        )));
    }
    let part = |size: &u64| {
        let mut dims = dims.to_vec();
        dims[axis] = *size;
        Value::new(call.derived(dims), call.element(0))
    };
    Ok(parts.iter().map(part).collect())
}

/// Starts, ends and steps by axis; the same for values (`fold`).
pub(crate) fn slices(call: &Call) -> Result<Vec<(usize, i64, i64, i64)>, Stop> {
    let dims = &call.shape(0)?.dims;
    let starts = call.setting("starts", 1)?.unwrap_or_default();
    let ends = call.setting("ends", 2)?.unwrap_or_default();
    let axes = match call.setting("axes", 3)? {
        Some(axes) => axes,
        None => (0..starts.len() as i64).collect(),
    };
    let steps = call.setting("steps", 4)?.unwrap_or_else(|| vec![1; starts.len()]);
    if starts.len() != ends.len() || starts.len() != axes.len() || starts.len() != steps.len() {
        return Err(Stop::contradiction(
            "its starts, ends, axes and steps differ in number",
        ));
    }
    let each = starts.iter().zip(ends).zip(axes).zip(steps);
    each.map(|(((start, end), axis), step)| {
        let at = call.axis(axis, dims.len())?;
        let length = i64::try_from(dims[at]).map_err(|_| Stop::Overflow)?;
        let place = |at: i64, low: i64, high: i64| {
            let at = if at < 0 { at.saturating_add(length) } else { at };
            at.clamp(low, high.max(low))
        };
        match step {
            0 => Err(Stop::contradiction("a step is 0")),
            1.. => Ok((at, place(*start, 0, length), place(end, 0, length), step)),
            _ => Ok((at, place(*start, 0, length - 1), place(end, -1, length - 1), step)),
        }
    })
    .collect()
}

fn slice(call: &Call) -> Result<Vec<Value>, Stop> {
    let mut dims = call.shape(0)?.dims.clone();
    match slices(call) {
        Ok(slices) => {
            for (at, start, end, step) in slices {
                let length = if step > 0 { end - start } else { start - end };
                dims[at] = length.max(0).unsigned_abs().div_ceil(step.unsigned_abs());
            }
            call.one(dims, call.element(0))
        }
        // No more is left than there was.
        Err(Stop::Unknown(_)) => {
            let mut shape = call.derived(dims);
            shape.bound = true;
            Ok(vec![Value::new(shape, call.element(0))])
        }
        Err(stop) => Err(stop),
    }
}

fn pad(call: &Call) -> Result<Vec<Value>, Stop> {
    let mut dims = call.shape(0)?.dims.clone();
    let pads = match call.setting("pads", 1)? {
        Some(pads) => pads,
        // The name of the first version.
        None => call.ints("paddings").unwrap_or_default().to_vec(),
    };
    let axes = match call.setting("axes", 3)? {
        Some(axes) => axes
            .iter()
            .map(|axis| call.axis(*axis, dims.len()))
            .collect::<Result<Vec<_>, _>>()?,
        None => (0..dims.len()).collect(),
    };
    if pads.len() != 2 * axes.len() {
        return Err(Stop::contradiction(format!(
            "{} pads for {} axes",
            pads.len(),
            axes.len()
        )));
    }
    let (before, after) = pads.split_at(axes.len());
    for ((at, before), after) in axes.iter().zip(before).zip(after) {
        let size = i128::from(dims[*at]) + i128::from(*before) + i128::from(*after);
        dims[*at] = match size {
            ..0 => {
                return Err(Stop::contradiction(format!(
                    "pads {pads:?} crop more than there is"
                )));
            }
            _ => u64::try_from(size).map_err(|_| Stop::Overflow)?,
        };
    }
    call.one(dims, call.element(0))
}

fn tile(call: &Call) -> Result<Vec<Value>, Stop> {
    let mut dims = call.shape(0)?.dims.clone();
    let mut repeats = call.setting("repeats", 1)?.unwrap_or_default();
    // The first version took a number and an axis.
    if let (true, [times], Some([axis])) = (
        call.inputs.len() == 3,
        &*repeats,
        call.input(2).and_then(|axis| axis.as_ints()),
    ) {
        let at = call.axis(*axis, dims.len())?;
        let times = *times;
        repeats = vec![1; dims.len()];
        repeats[at] = times;
    }
    if repeats.len() != dims.len() {
        return Err(Stop::contradiction(format!(
            "{} repeats of {}",
            repeats.len(),
            spelled(&dims)
        )));
    }
    for (dim, times) in dims.iter_mut().zip(&repeats) {
        let times = u64::try_from(*times).map_err(|_| Stop::contradiction("a repeat is negative"))?;
        *dim = dim.checked_mul(times).ok_or(Stop::Overflow)?;
    }
    call.one(dims, call.element(0))
}

fn expand(call: &Call) -> Result<Vec<Value>, Stop> {
    let wanted = call.setting("shape", 1)?.unwrap_or_default();
    let wanted: Option<Vec<u64>> = wanted.iter().map(|dim| u64::try_from(*dim).ok()).collect();
    let wanted = wanted.ok_or_else(|| Stop::contradiction("its shape has a negative size"))?;
    call.one(broadcast(&call.shape(0)?.dims, &wanted)?, call.element(0))
}

fn blocks(call: &Call, is_to_space: bool) -> Result<Vec<Value>, Stop> {
    let [batch, channels, height, width] = *call.dims(0, 4)? else {
        return Err(Stop::contradiction("its input has not four dimensions"));
    };
    let block = u64::try_from(call.int_or("blocksize", 0)).unwrap_or(0);
    let area = block.checked_mul(block).ok_or(Stop::Overflow)?;
    let fits = match is_to_space {
        true => area > 0 && channels % area == 0,
        false => area > 0 && height % block == 0 && width % block == 0,
    };
    if !fits {
        let shape = spelled(&[batch, channels, height, width]);
        return Err(Stop::contradiction(format!(
            "{shape} does not divide into blocks of {block}"
        )));
    }
    let more = |size: u64, by: u64| size.checked_mul(by).ok_or(Stop::Overflow);
    let dims = match is_to_space {
        true => [batch, channels / area, more(height, block)?, more(width, block)?],
        false => [batch, more(channels, area)?, height / block, width / block],
    };
    call.one(dims, call.element(0))
}

fn center_crop_pad(call: &Call) -> Result<Vec<Value>, Stop> {
    let mut dims = call.shape(0)?.dims.clone();
    let sizes = call.setting("shape", 1)?.unwrap_or_default();
    let axes: Vec<i64> = match call.ints("axes") {
        Some(axes) => axes.to_vec(),
        None => (0..dims.len() as i64).collect(),
    };
    if axes.len() != sizes.len() {
        return Err(Stop::contradiction(format!(
            "{} sizes for {} axes",
            sizes.len(),
            axes.len()
        )));
    }
    for (axis, size) in axes.iter().zip(sizes) {
        let at = call.axis(*axis, dims.len())?;
        dims[at] = u64::try_from(size).map_err(|_| Stop::contradiction("a size is negative"))?;
    }
    call.one(dims, call.element(0))
}
