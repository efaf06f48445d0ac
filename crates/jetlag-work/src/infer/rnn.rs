//! Recurrent networks.

use super::Made;
use crate::call::{Call, Stop};
use crate::value::Value;

pub(super) fn infer(call: &Call) -> Made {
    matches!(call.operator(), "LSTM" | "GRU" | "RNN").then(|| recurrent(call))
}

fn recurrent(call: &Call) -> Result<Vec<Value>, Stop> {
    let (input, recurrence) = (call.dims(0, 3)?, call.dims(2, 3)?);
    let ([first, second, ..], [directions, _, hidden, ..]) = (input, recurrence) else {
        return Err(Stop::contradiction("its input or weight has too few dimensions"));
    };
    let weight = call.dims(1, 3)?;
    if weight[2] != input[2] {
        let problem = format!(
            "the input is {} wide and the weight is for {}",
            input[2], weight[2]
        );
        return Err(Stop::contradiction(problem));
    }
    let element = call.element(0);
    let (all, last) = match call.int_or("layout", 0) {
        0 => (
            [*first, *directions, *second, *hidden],
            [*directions, *second, *hidden],
        ),
        _ => (
            [*first, *second, *directions, *hidden],
            [*first, *directions, *hidden],
        ),
    };
    let mut made = call.one(all, element)?;
    made.extend(call.one(last, element)?);
    made.extend(call.one(last, element)?);
    Ok(made)
}
