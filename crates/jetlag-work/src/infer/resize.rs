//! Operators that sample a picture at other places.

use super::Made;
use crate::call::{Call, Stop, spelled};
use crate::value::Value;

pub(super) fn infer(call: &Call) -> Made {
    Some(match call.operator() {
        "Resize" | "Upsample" => resize(call),
        "GridSample" => grid_sample(call),
        "RoiAlign" => roi_align(call),
        "AffineGrid" => affine_grid(call),
        "Col2Im" => col2im(call),
        _ => return None,
    })
}

/// How many axes a resize changes.
pub(crate) fn scaled_axes(from: &[u64], to: &[u64]) -> u32 {
    from.iter().zip(to).filter(|(from, to)| from != to).count() as u32
}

fn resize(call: &Call) -> Result<Vec<Value>, Stop> {
    let dims = &call.shape(0)?.dims;
    let is_old = call.operator() == "Upsample" || call.opset == 10;
    let (scales_at, sizes_at) = if is_old { (1, usize::MAX) } else { (2, 3) };
    let is_there = |at: usize| {
        call.input(at)
            .filter(|value| !matches!(&value.shape, Ok(shape) if shape.dims == [0]))
    };
    let axes = match call.ints("axes") {
        Some(axes) => axes
            .iter()
            .map(|axis| call.axis(*axis, dims.len()))
            .collect::<Result<Vec<_>, _>>()?,
        None => (0..dims.len()).collect(),
    };
    let mut made = dims.clone();
    let computed = || Stop::unknown("its sizes are computed from data");
    let misfit = |count: usize| {
        Stop::contradiction(format!(
            "{count} sizes or scales for {} axes of {}",
            axes.len(),
            spelled(dims)
        ))
    };
    if let Some(sizes) = is_there(sizes_at) {
        let sizes = sizes.as_ints().ok_or_else(computed)?;
        if sizes.len() != axes.len() {
            return Err(misfit(sizes.len()));
        }
        let wanted: Option<Vec<u64>> = sizes.iter().map(|size| u64::try_from(*size).ok()).collect();
        let wanted = wanted.ok_or_else(|| Stop::contradiction("a size is negative"))?;
        let ratios = axes
            .iter()
            .zip(&wanted)
            .map(|(at, size)| *size as f64 / dims[*at].max(1) as f64);
        let ratio = match call.text("keep_aspect_ratio_policy") {
            Some("not_larger") => ratios.fold(f64::INFINITY, f64::min),
            Some("not_smaller") => ratios.fold(0.0, f64::max),
            _ => {
                for (at, size) in axes.iter().zip(wanted) {
                    made[*at] = size;
                }
                return call.one(made, call.element(0));
            }
        };
        for at in axes {
            made[at] = (dims[at] as f64 * ratio + 0.5).floor() as u64;
        }
        return call.one(made, call.element(0));
    }
    let scales = match call
        .attribute("scales")
        .filter(|scales| !scales.floats.is_empty())
    {
        Some(scales) => scales.floats.iter().map(|scale| f64::from(*scale)).collect(),
        None => match is_there(scales_at) {
            Some(scales) => scales.as_floats().ok_or_else(computed)?,
            None => old_scales(call).ok_or_else(|| Stop::contradiction("it has neither sizes nor scales"))?,
        },
    };
    if scales.len() != axes.len() {
        return Err(misfit(scales.len()));
    }
    for (at, scale) in axes.iter().zip(scales) {
        // In singles, as runtimes multiply.
        let size = (dims[*at] as f32 * scale as f32).floor();
        if !(0.0..=9e15).contains(&size) {
            return Err(Stop::contradiction(format!("{} scaled by {scale}", dims[*at])));
        }
        made[*at] = size as u64;
    }
    call.one(made, call.element(0))
}

/// Upsample's first version.
fn old_scales(call: &Call) -> Option<Vec<f64>> {
    let scale = |name: &str| call.attribute(name)?.float;
    let (height, width) = (scale("height_scale")?, scale("width_scale")?);
    Some(vec![1.0, 1.0, height.into(), width.into()])
}

fn grid_sample(call: &Call) -> Result<Vec<Value>, Stop> {
    let (input, grid) = (call.dims(0, 3)?, call.dims(1, 3)?);
    let places = grid.get(1..grid.len() - 1).unwrap_or_default();
    if input.len() != grid.len() || places.len() + 2 != input.len() {
        let problem = format!("a grid of {} over {}", spelled(grid), spelled(input));
        return Err(Stop::contradiction(problem));
    }
    let mut dims = vec![input[0], input[1]];
    dims.extend(places);
    call.one(dims, call.element(0))
}

fn roi_align(call: &Call) -> Result<Vec<Value>, Stop> {
    let (input, rois) = (call.dims(0, 4)?, call.dims(1, 2)?);
    let out = |name: &str| u64::try_from(call.int_or(name, 1)).unwrap_or(1);
    let dims = [rois[0], input[1], out("output_height"), out("output_width")];
    call.one(dims, call.element(0))
}

fn affine_grid(call: &Call) -> Result<Vec<Value>, Stop> {
    let size = call.setting("size", 1)?.unwrap_or_default();
    let size: Option<Vec<u64>> = size.iter().map(|dim| u64::try_from(*dim).ok()).collect();
    let Some([batch, _, places @ ..]) = size.as_deref() else {
        return Err(Stop::contradiction("its size is no shape of a picture"));
    };
    let mut dims = vec![*batch];
    dims.extend(places);
    dims.push(places.len() as u64);
    call.one(dims, call.element(0))
}

fn col2im(call: &Call) -> Result<Vec<Value>, Stop> {
    let input = call.dims(0, 3)?;
    let sizes = |name: &str, at: usize| -> Result<Vec<u64>, Stop> {
        let values = call.setting(name, at)?.unwrap_or_default();
        let values: Option<Vec<u64>> = values.iter().map(|value| u64::try_from(*value).ok()).collect();
        values.ok_or_else(|| Stop::contradiction(format!("its {name} has a negative size")))
    };
    let (image, block) = (sizes("image shape", 1)?, sizes("block shape", 2)?);
    let block = crate::call::size(&block)?.max(1);
    let mut dims = vec![input[0], input[1] / block];
    dims.extend(image);
    call.one(dims, call.element(0))
}
