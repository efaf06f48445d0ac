//! Fields that many messages have: the wall-clock stamp for other programs, and the phase.

use crate::Phase;
use crate::cdr::{CdrError, Decoder, Encoder};

/// Wall-clock nanoseconds as builtin_interfaces/Time, whose seconds end in 2038.
pub(super) fn time(e: &mut Encoder<'_>, unix_ns: u64) {
    e.i32(i32::try_from(unix_ns / 1_000_000_000).unwrap_or(i32::MAX));
    e.u32((unix_ns % 1_000_000_000) as u32);
}

/// The same, passed over: stamps of the run's clock are exact, this one is for other programs.
pub(super) fn skip_time(d: &mut Decoder<'_>) -> Result<(), CdrError> {
    d.u32()?;
    d.u32()?;
    Ok(())
}

pub(super) fn phase(value: u8) -> Result<Phase, CdrError> {
    Ok(match value {
        0 => Phase::Together,
        1 => Phase::Alone,
        2 => Phase::Overhead,
        // Its number comes last in the message.
        3 => Phase::Other(0),
        _ => return Err(unknown("phase", value)),
    })
}

/// The number of a phase that has one, after the fields that all phases have.
pub(super) fn put_number(e: &mut Encoder<'_>, phase: Phase) {
    if let Phase::Other(number) = phase {
        e.u16(number);
    }
}

pub(super) fn read_number(d: &mut Decoder<'_>, phase: &mut Phase) -> Result<(), CdrError> {
    if let Phase::Other(number) = phase {
        *number = d.u16()?;
    }
    Ok(())
}

pub(super) fn unknown(field: &'static str, value: u8) -> CdrError {
    CdrError::UnknownValue {
        field,
        value: u64::from(value),
    }
}
