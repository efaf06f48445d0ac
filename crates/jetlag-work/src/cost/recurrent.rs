//! Recurrent networks: products with the weights at each step, and what happens at the gates.

use super::{Cost, Counted};
use crate::arithmetic::{sum, times};
use crate::call::{Call, Stop};
use crate::value::Value;

pub(super) fn cost(call: &Call, _outputs: &[Value]) -> Counted {
    let gates = match call.operator() {
        "LSTM" => 4,
        "GRU" => 3,
        "RNN" => 1,
        _ => return None,
    };
    Some(recurrent(call, gates))
}

fn recurrent(call: &Call, gates: u64) -> Result<Cost, Stop> {
    let (input, recurrence) = (call.dims(0, 3)?, call.dims(2, 3)?);
    let (directions, hidden) = (recurrence[0], recurrence[2]);
    // Length and batch, in whichever order.
    let steps = times(&[input[0], input[1], directions])?;
    let width = sum(&[input[2], hidden])?;
    let macs = times(&[steps, gates, hidden, width])?;
    let has_bias = u64::from(call.input(3).is_some());
    let each = match call.operator() {
        // Three sigmoids of 4 and two tanh; forgetting and taking in, 3; what comes out, 1; three peepholes of 2.
        "LSTM" => 4 * has_bias + 12 + 2 + 3 + 1 + 6 * u64::from(call.input(7).is_some()),
        // Two sigmoids of 4 and a tanh; resetting, 1; mixing, 4.
        "GRU" => {
            3 * has_bias + has_bias * u64::from(call.int_or("linear_before_reset", 0) != 0) + 8 + 1 + 1 + 4
        }
        _ => has_bias + 1,
    };
    let other = times(&[steps, hidden, each])?;
    Ok(Cost {
        // Sequences may be shorter than the longest.
        bound: call.input(4).is_some_and(|lengths| lengths.data.is_none()),
        ..Cost::of(macs, other)
    })
}
