//! Spectra and windows.

use super::Made;
use crate::call::{Call, Stop};
use crate::element::Element;
use crate::value::Value;

pub(super) fn infer(call: &Call) -> Made {
    Some(match call.operator() {
        "DFT" => dft(call),
        "STFT" => stft(call),
        "BlackmanWindow" | "HannWindow" | "HammingWindow" => window(call),
        "MelWeightMatrix" => mel(call),
        _ => return None,
    })
}

fn one_int(call: &Call, name: &str, at: usize) -> Result<u64, Stop> {
    let values = call.setting(name, at)?.unwrap_or_default();
    let value = values.first().and_then(|value| u64::try_from(*value).ok());
    value.ok_or_else(|| Stop::unknown(format!("its {name} is not known")))
}

fn dft(call: &Call) -> Result<Vec<Value>, Stop> {
    let mut dims = call.dims(0, 2)?.to_vec();
    let axis = match call.input(2) {
        Some(_) => call
            .setting("axis", 2)?
            .and_then(|axes| axes.first().copied())
            .unwrap_or(-2),
        None => call.int_or("axis", if call.opset < 20 { 1 } else { -2 }),
    };
    let axis = call.axis(axis, dims.len())?;
    if call.input(1).is_some() {
        dims[axis] = one_int(call, "dft_length", 1)?;
    }
    let is_inverse = call.int_or("inverse", 0) != 0;
    let is_onesided = call.int_or("onesided", 0) != 0;
    let last = dims.len() - 1;
    dims[last] = 2;
    match (is_onesided, is_inverse) {
        (true, false) => dims[axis] = dims[axis] / 2 + 1,
        (true, true) => {
            dims[last] = 1;
            if call.input(1).is_none() {
                dims[axis] = dims[axis]
                    .saturating_sub(1)
                    .checked_mul(2)
                    .ok_or(Stop::Overflow)?;
            }
        }
        _ => {}
    }
    call.one(dims, call.element(0))
}

fn stft(call: &Call) -> Result<Vec<Value>, Stop> {
    let signal = call.dims(0, 2)?;
    let step = one_int(call, "frame_step", 1)?.max(1);
    let length = match (call.input(3), call.input(2)) {
        (Some(_), _) => one_int(call, "frame_length", 3)?,
        (None, Some(_)) => call.dims(2, 1)?[0],
        (None, None) => return Err(Stop::contradiction("it has neither a window nor a frame_length")),
    };
    let room = signal[1].checked_sub(length).ok_or_else(|| {
        Stop::contradiction(format!(
            "a frame of {length} is longer than the signal of {}",
            signal[1]
        ))
    })?;
    let bins = match call.int_or("onesided", 1) {
        0 => length,
        _ => length / 2 + 1,
    };
    call.one([signal[0], room / step + 1, bins, 2], call.element(0))
}

fn window(call: &Call) -> Result<Vec<Value>, Stop> {
    let size = one_int(call, "size", 0)?;
    call.one([size], Element::of(call.int_or("output_datatype", 1)))
}

fn mel(call: &Call) -> Result<Vec<Value>, Stop> {
    let (bins, length) = (one_int(call, "num_mel_bins", 0)?, one_int(call, "dft_length", 1)?);
    call.one(
        [length / 2 + 1, bins],
        Element::of(call.int_or("output_datatype", 1)),
    )
}
