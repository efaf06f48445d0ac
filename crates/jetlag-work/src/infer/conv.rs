//! Convolutions and pooling: the sizes of what slides over what.

use super::Made;
use crate::call::{Call, Stop, spelled};
use crate::element::Element;
use crate::value::Value;

pub(super) fn infer(call: &Call) -> Made {
    Some(match call.operator() {
        "Conv" | "FusedConv" | "ConvTranspose" | "DeformConv" | "ConvInteger" | "QLinearConv" => {
            convolution(call)
        }
        "MaxPool" | "AveragePool" | "LpPool" => pool(call),
        "GlobalAveragePool" | "GlobalMaxPool" | "GlobalLpPool" => global_pool(call),
        "MaxUnpool" => max_unpool(call),
        "MaxRoiPool" => max_roi_pool(call),
        _ => return None,
    })
}

/// A convolution's sizes.
#[derive(Debug)]
pub(crate) struct Spatial {
    pub(crate) batch: u64,
    pub(crate) channels_in: u64,
    pub(crate) channels_out: u64,
    pub(crate) groups: u64,
    pub(crate) kernel: Vec<u64>,
    pub(crate) size_in: Vec<u64>,
    pub(crate) size_out: Vec<u64>,
}

/// Where the weight and the bias of a convolution come among its inputs.
fn places(operator: &str) -> (usize, Option<usize>) {
    match operator {
        "QLinearConv" => (3, Some(8)),
        "ConvInteger" => (1, None),
        "DeformConv" => (1, Some(3)),
        _ => (1, Some(2)),
    }
}

/// The sizes of a convolution, of any kind.
pub(crate) fn spatial(call: &Call) -> Result<Spatial, Stop> {
    let operator = call.operator();
    let (weight, bias) = places(operator);
    let input = call.dims(0, 2)?;
    let weight = call.dims(weight, 2)?;
    let ([batch, channels_in, size_in @ ..], [first, second, kernel @ ..]) = (input, weight) else {
        return Err(Stop::contradiction("its input or weight has too few dimensions"));
    };
    if size_in.len() != kernel.len() {
        let problem = format!(
            "the input is {} and the weight {}",
            spelled(input),
            spelled(weight)
        );
        return Err(Stop::contradiction(problem));
    }
    let groups = u64::try_from(call.int_or("group", 1)).unwrap_or(0).max(1);
    let is_transposed = operator.ends_with("ConvTranspose");
    let (channels_out, wanted) = match is_transposed {
        true => (second.checked_mul(groups).ok_or(Stop::Overflow)?, *first),
        false => (*first, second.checked_mul(groups).ok_or(Stop::Overflow)?),
    };
    if wanted != *channels_in {
        return Err(Stop::contradiction(format!(
            "the input has {channels_in} channels and the weight is for {wanted}"
        )));
    }
    if channels_out % groups != 0 || channels_in % groups != 0 {
        return Err(Stop::contradiction(format!(
            "{channels_in} and {channels_out} channels do not divide into {groups} groups"
        )));
    }
    if let Some(Ok(shape)) = bias.and_then(|at| call.input(at)).map(|bias| &bias.shape)
        && shape.dims != [channels_out]
    {
        let found = spelled(&shape.dims);
        return Err(Stop::contradiction(format!(
            "{channels_out} channels leave it, but the bias has the shape {found}"
        )));
    }
    if let Some(stated) = call.ints("kernel_shape")
        && !stated
            .iter()
            .map(|k| u64::try_from(*k).unwrap_or(0))
            .eq(kernel.iter().copied())
    {
        return Err(Stop::contradiction(format!(
            "kernel_shape is {stated:?} and the weight {}",
            spelled(weight)
        )));
    }
    let size_out = match is_transposed {
        true => transposed(call, size_in, kernel)?,
        false => slid(call, size_in, kernel)?,
    };
    Ok(Spatial {
        batch: *batch,
        channels_in: *channels_in,
        channels_out,
        groups,
        kernel: kernel.to_vec(),
        size_in: size_in.to_vec(),
        size_out,
    })
}

fn convolution(call: &Call) -> Result<Vec<Value>, Stop> {
    let spatial = spatial(call)?;
    let element = match call.operator() {
        "ConvInteger" => Element::Int32,
        "QLinearConv" => call.element(7),
        _ => call.element(0),
    };
    let mut dims = vec![spatial.batch, spatial.channels_out];
    dims.extend(spatial.size_out);
    call.one(dims, element)
}

/// A setting for each axis, or its default.
fn per_axis(call: &Call, name: &str, axes: usize, least: i64) -> Result<Vec<u64>, Stop> {
    let Some(values) = call.ints(name) else {
        return Ok(vec![least.cast_unsigned(); axes]);
    };
    if values.len() != axes || values.iter().any(|value| *value < least) {
        let problem = format!("{name} is {values:?}, and {axes} of at least {least} are needed");
        return Err(Stop::contradiction(problem));
    }
    Ok(values.iter().map(|value| value.cast_unsigned()).collect())
}

/// Pads before and after each axis. Negative ones crop.
fn pads(call: &Call, axes: usize) -> Result<Vec<(i64, i64)>, Stop> {
    let Some(values) = call.ints("pads") else {
        return Ok(vec![(0, 0); axes]);
    };
    if values.len() != 2 * axes || values.iter().any(|pad| pad.unsigned_abs() > 1 << 40) {
        let problem = format!("pads is {values:?}, and two for each of {axes} axes are needed");
        return Err(Stop::contradiction(problem));
    }
    let (before, after) = values.split_at(axes);
    Ok(before.iter().copied().zip(after.iter().copied()).collect())
}

/// How many places a kernel has as it slides over the input.
fn slid(call: &Call, size: &[u64], kernel: &[u64]) -> Result<Vec<u64>, Stop> {
    let axes = size.len();
    let strides = per_axis(call, "strides", axes, 1)?;
    let dilations = per_axis(call, "dilations", axes, 1)?;
    let pads = pads(call, axes)?;
    let auto = call.text("auto_pad").unwrap_or("NOTSET");
    let is_ceil = call.int_or("ceil_mode", 0) != 0;
    let each = size.iter().zip(kernel).zip(strides).zip(dilations).zip(pads);
    each.map(|((((size, kernel), stride), dilation), (before, after))| {
        if matches!(auto, "SAME_UPPER" | "SAME_LOWER") {
            return Ok(size.div_ceil(stride));
        }
        let (before, after) = if auto == "VALID" { (0, 0) } else { (before, after) };
        let reach = kernel
            .checked_sub(1)
            .ok_or_else(|| Stop::contradiction("the kernel is empty"))?
            .checked_mul(dilation)
            .and_then(|reach| reach.checked_add(1))
            .ok_or(Stop::Overflow)?;
        let padded = size
            .checked_add_signed(before)
            .and_then(|size| size.checked_add_signed(after));
        let padded = padded.ok_or_else(|| Stop::contradiction("its pads crop more than there is"))?;
        let Some(room) = padded.checked_sub(reach) else {
            return Err(Stop::contradiction(format!(
                "a kernel that reaches over {reach} does not fit into {padded}"
            )));
        };
        let places = match is_ceil {
            false => room / stride + 1,
            true => {
                let places = room.div_ceil(stride) + 1;
                // The last place may not begin in the padding behind the input.
                let begin = (places - 1).checked_mul(stride).ok_or(Stop::Overflow)?;
                let limit = size.saturating_add_signed(before);
                if begin >= limit { places - 1 } else { places }
            }
        };
        Ok(places)
    })
    .collect()
}

fn transposed(call: &Call, size: &[u64], kernel: &[u64]) -> Result<Vec<u64>, Stop> {
    let axes = size.len();
    if let Some(stated) = call.ints("output_shape") {
        let spatial = stated
            .get(stated.len().saturating_sub(axes)..)
            .unwrap_or_default();
        let dims: Option<Vec<u64>> = spatial.iter().map(|dim| u64::try_from(*dim).ok()).collect();
        return match dims {
            Some(dims) if dims.len() == axes => Ok(dims),
            _ => Err(Stop::contradiction(format!("output_shape is {stated:?}"))),
        };
    }
    let strides = per_axis(call, "strides", axes, 1)?;
    let dilations = per_axis(call, "dilations", axes, 1)?;
    let extra = per_axis(call, "output_padding", axes, 0)?;
    let pads = pads(call, axes)?;
    let auto = call.text("auto_pad").unwrap_or("NOTSET");
    let each = size
        .iter()
        .zip(kernel)
        .zip(strides)
        .zip(dilations)
        .zip(pads)
        .zip(extra);
    each.map(
        |(((((size, kernel), stride), dilation), (before, after)), extra)| {
            if matches!(auto, "SAME_UPPER" | "SAME_LOWER") {
                return size.checked_mul(stride).ok_or(Stop::Overflow);
            }
            if *size == 0 || *kernel == 0 {
                return Err(Stop::contradiction("its input or kernel is empty"));
            }
            let (before, after) = if auto == "VALID" { (0, 0) } else { (before, after) };
            let reach = (kernel - 1).checked_mul(dilation).ok_or(Stop::Overflow)?;
            let whole = (size - 1)
                .checked_mul(stride)
                .and_then(|whole| whole.checked_add(reach))
                .and_then(|whole| whole.checked_add(1))
                .and_then(|whole| whole.checked_add(extra))
                .ok_or(Stop::Overflow)?;
            let cropped = whole
                .checked_add_signed(-before)
                .and_then(|whole| whole.checked_add_signed(-after));
            cropped.ok_or_else(|| Stop::contradiction("its pads crop more than there is"))
        },
    )
    .collect()
}

fn pool(call: &Call) -> Result<Vec<Value>, Stop> {
    let dims = call.dims(0, 3)?;
    let [batch, channels, size @ ..] = dims else {
        return Err(Stop::contradiction("its input has too few dimensions"));
    };
    let kernel = per_axis(call, "kernel_shape", size.len(), 1)?;
    let mut out = vec![*batch, *channels];
    out.extend(slid(call, size, &kernel)?);
    let mut made = call.one(out.clone(), call.element(0))?;
    if call.node.outputs.len() > 1 {
        made.extend(call.one(out, Element::Int64)?);
    }
    Ok(made)
}

fn global_pool(call: &Call) -> Result<Vec<Value>, Stop> {
    let dims = call.dims(0, 2)?;
    let out: Vec<u64> = dims
        .iter()
        .enumerate()
        .map(|(at, dim)| if at < 2 { *dim } else { 1 })
        .collect();
    call.one(out, call.element(0))
}

fn max_unpool(call: &Call) -> Result<Vec<Value>, Stop> {
    if call.input(2).is_some() {
        let shape = call.setting("output shape", 2)?.unwrap_or_default();
        let dims: Option<Vec<u64>> = shape.iter().map(|dim| u64::try_from(*dim).ok()).collect();
        let dims = dims.ok_or_else(|| Stop::contradiction("its output shape has negative sizes"))?;
        return call.one(dims, call.element(0));
    }
    let dims = call.dims(0, 3)?;
    let [batch, channels, size @ ..] = dims else {
        return Err(Stop::contradiction("its input has too few dimensions"));
    };
    let kernel = per_axis(call, "kernel_shape", size.len(), 1)?;
    let mut out = vec![*batch, *channels];
    out.extend(transposed(call, size, &kernel)?);
    call.one(out, call.element(0))
}

fn max_roi_pool(call: &Call) -> Result<Vec<Value>, Stop> {
    let channels = call.dims(0, 4)?[1];
    let rois = call.dims(1, 1)?[0];
    let size = call.ints("pooled_shape").unwrap_or_default();
    let [height, width] = size else {
        return Err(Stop::contradiction("pooled_shape needs two sizes"));
    };
    let out = [rois, channels, height.unsigned_abs(), width.unsigned_abs()];
    call.one(out, call.element(0))
}
