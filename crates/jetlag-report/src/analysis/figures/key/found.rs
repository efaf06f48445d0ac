//! A figure as a run has it: its value with what supports it, or why there is none.

use jetlag_figure::Support;

pub(crate) use super::absent::Absent;
use crate::analysis::gathering::lack::Lack;

/// What a run has of a figure.
pub(crate) type Reading = Result<Found, Absent>;

/// A figure that a run has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) value: f64,
    pub(crate) support: Support,
    /// Why it does not show that a line holds, where it covers too little.
    pub(crate) doubt: Option<Absent>,
}

impl Found {
    pub(in crate::analysis::figures) fn with(value: f64, support: Support) -> Found {
        Found {
            value,
            support,
            doubt: None,
        }
    }

    pub(in crate::analysis::figures) fn of_run(value: f64) -> Found {
        Found::with(value, Support::ThisRun)
    }

    pub(in crate::analysis::figures) fn between(value: f64, interval: Option<[f64; 2]>) -> Found {
        Found::with(value, Support::of(interval))
    }
}

/// What was counted.
pub(in crate::analysis::figures) fn exact(count: u64) -> Reading {
    Ok(Found::with(count as f64, Support::Exact))
}

/// What was counted, of what there is only in some runs.
pub(in crate::analysis::figures) fn count(count: Option<u64>) -> Reading {
    exact(count.ok_or(Absent::Nothing)?)
}

/// What is of this run, and has no interval.
pub(in crate::analysis::figures) fn of_run(value: Option<f64>) -> Reading {
    value.map(Found::of_run).ok_or(Absent::Nothing)
}

/// What has an interval, or is of this run where it has none.
pub(in crate::analysis::figures) fn between(value: Option<f64>, interval: Option<[f64; 2]>) -> Reading {
    let value = value.ok_or(Absent::Nothing)?;
    Ok(Found::between(value, interval))
}

/// What is of this run, or what frames lack where it is not there.
pub(in crate::analysis::figures) fn lacking(value: Option<f64>, lack: Option<Lack>) -> Reading {
    value.map(Found::of_run).ok_or_else(|| Absent::of_frames(lack))
}
