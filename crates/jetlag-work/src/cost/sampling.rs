//! Pooling, resizing, sampling, picking and putting.

use super::{Cost, Counted, out};
use crate::arithmetic::{sum, times};
use crate::call::{Call, Stop, size};
use crate::infer::scaled_axes;
use crate::value::Value;

pub(super) fn cost(call: &Call, outputs: &[Value]) -> Counted {
    Some(match call.operator() {
        "MaxPool" | "AveragePool" | "LpPool" => pool(call, outputs),
        "GlobalAveragePool" | "GlobalMaxPool" => call.size(0).map(|size| Cost::of(0, size)),
        "GlobalLpPool" => call.size(0).and_then(|size| Ok(Cost::of(0, times(&[size, 2])?))),
        "MaxRoiPool" => call.size(0).map(|size| Cost {
            bound: true,
            ..Cost::of(0, size)
        }),
        "Resize" | "Upsample" => resize(call, outputs),
        "GridSample" => grid_sample(call, outputs),
        "RoiAlign" => roi_align(call, outputs),
        "AffineGrid" => out(outputs, 0).and_then(|out| {
            let axes = call.dims(0, 2)?[1];
            Ok(Cost::of(0, times(&[out, axes, 2])?))
        }),
        "NonMaxSuppression" => suppression(call),
        "TopK" => top_k(call),
        "Gather" | "GatherElements" | "GatherND" => out(outputs, 0).map(read_only),
        "Slice" => out(outputs, 0).map(read_only),
        "Pad" | "CenterCropPad" => out(outputs, 0).and_then(|out| Ok(read_only(out.min(call.size(0)?)))),
        "Scatter" | "ScatterElements" | "ScatterND" | "TensorScatter" => scatter(call),
        "Col2Im" => call.size(0).map(|size| Cost::of(0, size)),
        "Unique" => call.size(0).and_then(|size| {
            Ok(Cost {
                bound: true,
                ..Cost::of(0, times(&[size, log2(size)])?)
            })
        }),
        "DFT" => dft(call, outputs),
        "STFT" => stft(call, outputs),
        _ => return None,
    })
}

/// Nothing is computed, and so much of the first input is read.
fn read_only(elements: u64) -> Cost {
    Cost {
        reads: vec![(0, elements)],
        ..Cost::default()
    }
}

/// Halvings until one is left, rounded up; at least 1.
fn log2(number: u64) -> u64 {
    u64::from(number.max(2).next_power_of_two().trailing_zeros())
}

fn pool(call: &Call, outputs: &[Value]) -> Result<Cost, Stop> {
    let kernel = call.ints("kernel_shape").unwrap_or_default();
    let kernel: Vec<u64> = kernel.iter().map(|size| size.unsigned_abs()).collect();
    let kernel = size(&kernel)?;
    let each = match call.operator() {
        "MaxPool" => kernel.saturating_sub(1),
        // Sums, and a division.
        "AveragePool" => kernel,
        _ => kernel.checked_mul(2).ok_or(Stop::Overflow)?,
    };
    Ok(Cost::of(0, times(&[out(outputs, 0)?, each])?))
}

/// A product for each neighbour and the sums between them.
fn blended(neighbours: u64) -> u64 {
    (2 * neighbours).saturating_sub(1)
}

fn resize(call: &Call, outputs: &[Value]) -> Result<Cost, Stop> {
    let elements = out(outputs, 0)?;
    let from = &call.shape(0)?.dims;
    let axes = match outputs.first().map(|value| &value.shape) {
        Some(Ok(shape)) => scaled_axes(from, &shape.dims).min(8),
        _ => 0,
    };
    let each = match call.text("mode") {
        Some("linear" | "bilinear") if axes > 0 => blended(2_u64.pow(axes)),
        Some("cubic") if axes > 0 => blended(4_u64.pow(axes)),
        _ => 0,
    };
    Ok(Cost::of(0, times(&[elements, each])?))
}

fn grid_sample(call: &Call, outputs: &[Value]) -> Result<Cost, Stop> {
    let elements = out(outputs, 0)?;
    let axes = call.dims(0, 3)?.len() as u32 - 2;
    let axes = axes.min(8);
    let each = match call.text("mode") {
        Some("nearest") => 0,
        Some("cubic" | "bicubic") => blended(4_u64.pow(axes)),
        _ => blended(2_u64.pow(axes)),
    };
    // A product and a sum turn each coordinate of the grid into pixels.
    let places = times(&[call.size(1)?, 2])?;
    Ok(Cost::of(0, sum(&[times(&[elements, each])?, places])?))
}

fn roi_align(call: &Call, outputs: &[Value]) -> Result<Cost, Stop> {
    let elements = out(outputs, 0)?;
    let input = call.dims(0, 4)?;
    let stated = u64::try_from(call.int_or("sampling_ratio", 0)).unwrap_or(0);
    let size = |name: &str| u64::try_from(call.int_or(name, 1)).unwrap_or(1).max(1);
    let samples = match stated {
        // As many as the region has pixels in each bin; it is at most the whole picture.
        0 => times(&[
            input[2].div_ceil(size("output_height")),
            input[3].div_ceil(size("output_width")),
        ])?,
        stated => times(&[stated, stated])?,
    };
    // Four products and three sums each, and the sum or the largest of them.
    Ok(Cost {
        bound: stated == 0,
        ..Cost::of(0, times(&[elements, samples, 8])?)
    })
}

/// Every box against every box that is kept: four comparisons, five differences and clamps, two products, a division and a
/// comparison with the threshold. Sorting the scores is a comparison for each halving.
fn suppression(call: &Call) -> Result<Cost, Stop> {
    let (boxes, scores) = (call.dims(0, 3)?, call.dims(1, 3)?);
    let most = call
        .input(2)
        .map_or(Some(0), |most| most.as_ints()?.first().copied());
    let count = boxes[1];
    let kept = most.map_or(count, |most| u64::try_from(most).unwrap_or(0).min(count));
    let lists = times(&[boxes[0], scores[1]])?;
    let pairs = times(&[lists, count, kept, 13])?;
    let sorted = times(&[lists, count, log2(count)])?;
    Ok(Cost {
        bound: true,
        ..Cost::of(0, sum(&[pairs, sorted])?)
    })
}

fn top_k(call: &Call) -> Result<Cost, Stop> {
    let k = call
        .input(1)
        .map_or(call.int("k"), |k| k.as_ints()?.first().copied());
    let k = k.and_then(|k| u64::try_from(k).ok()).unwrap_or(u64::MAX >> 1);
    let size = call.size(0)?;
    Ok(Cost {
        bound: true,
        ..Cost::of(0, times(&[size, log2(k.min(size))])?)
    })
}

/// The data is copied and the updates are put into it.
fn scatter(call: &Call) -> Result<Cost, Stop> {
    let other = match call.text("reduction") {
        None | Some("none") => 0,
        Some(_) => call.size(2)?,
    };
    Ok(Cost::of(0, other))
}

fn dft(call: &Call, outputs: &[Value]) -> Result<Cost, Stop> {
    let dims = call.dims(0, 2)?;
    let elements = out(outputs, 0)?.max(size(dims)?);
    let axis = call.int_or("axis", if call.opset < 20 { 1 } else { -2 });
    let length = call.axis(axis, dims.len()).map_or(1, |axis| dims[axis]);
    // Half of the usual 5 n log n, by complex element of two numbers.
    Ok(Cost {
        bound: true,
        ..Cost::of(0, times(&[elements, log2(length), 5])?.div_ceil(2))
    })
}

fn stft(call: &Call, outputs: &[Value]) -> Result<Cost, Stop> {
    let Some(Ok(shape)) = outputs.first().map(|value| &value.shape) else {
        return Ok(Cost::default());
    };
    let [batch, frames, bins, _] = *shape.dims else {
        return Ok(Cost::default());
    };
    let length = match call.int_or("onesided", 1) {
        0 => bins,
        _ => times(&[bins.saturating_sub(1), 2])?,
    };
    let windowed = u64::from(call.input(2).is_some());
    let each = times(&[length, sum(&[times(&[log2(length), 5])?, windowed])?])?;
    Ok(Cost {
        bound: true,
        ..Cost::of(0, times(&[batch, frames, each])?)
    })
}
