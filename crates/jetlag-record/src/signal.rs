//! What sensors say, and what their readings mean.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::measurand::Measurand;
use crate::units::{Nanos, Stamp};

/// One reading of one signal.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleRecord {
    /// When it was taken.
    pub at: Stamp,
    /// The sampler that read it: `host`, `rails`, ….
    pub source: String,
    /// What was sampled: `cpu_load`, `memory_used`.
    pub signal: String,
    /// In the unit that the signal's schema states; `None` if it could not be read.
    pub value: Option<f64>,
    /// `percent`, `bytes`, `mhz`, ….
    pub unit: String,
}

/// How a reading relates to time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Averaging {
    /// The sensor does not say.
    #[default]
    Unknown = 0,
    /// The value at one moment.
    Instant = 1,
    /// A mean over a window before it.
    Mean = 2,
    /// A sum that only grows.
    Counter = 3,
    /// A filter of the first order, whose time constant is the window.
    Filter = 4,
}

/// What a power line is to the whole; decides what may be added to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum RailRole {
    /// The signal is no power line.
    #[default]
    None = 0,
    /// All that the module, the card or the processor takes.
    Total = 1,
    /// One of those that together are all.
    Summand = 2,
    /// It is a part of the total, so both must not be added.
    Part = 3,
    /// Within another line, so that adding it counts twice.
    Within = 4,
    /// Before the module: carrier and fan are in it.
    Input = 5,
    /// A power line whose place is not known.
    Unknown = 6,
}

/// The role's word, as JSON has it.
impl fmt::Display for RailRole {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            RailRole::Total => "total",
            RailRole::Summand => "summand",
            RailRole::Part => "part",
            RailRole::Within => "within",
            RailRole::Input => "input",
            // Readings of power that nothing describes are of a line whose place is not known.
            RailRole::None | RailRole::Unknown => "unknown",
        })
    }
}

impl Serialize for RailRole {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

/// What the readings of one signal mean; recorded once, beside the first of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SignalRecord {
    /// The sampler, as in [`SampleRecord::source`].
    pub source: String,
    /// The signal's name, as in [`SampleRecord::signal`].
    pub signal: String,
    /// The unit, as in [`SampleRecord::unit`].
    pub unit: String,
    /// What it measures, and of what.
    pub measurand: Measurand,
    /// The file, the field or the program that it is read from.
    pub origin: String,
    /// Between two readings, as planned.
    pub period: Option<Nanos>,
    /// How often the sensor renews its value, as it says.
    pub refresh: Option<Nanos>,
    /// Whether it is of one moment, or a mean, or a sum.
    pub averaging: Averaging,
    /// What a mean is over; a filter's time constant.
    pub window: Option<Nanos>,
    /// Smallest difference that the sensor tells, in the signal's unit.
    pub step: Option<f64>,
    /// For a power line, its place in the whole.
    pub role: RailRole,
    /// The line that it hangs off, for [`RailRole::Within`].
    pub within: Option<String>,
}

/// A stretch of time with a name, beside the tenants' phases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowRecord {
    /// The kind of window: [`IDLE_WINDOW`] or [`RECORDING_WINDOW`].
    pub name: String,
    /// The beginning of the window.
    pub from: Stamp,
    /// The end of the window.
    pub to: Stamp,
}

/// The window in which only the samplers ran: the baseline of power.
pub const IDLE_WINDOW: &str = "idle";

/// The window of a recording without tenants.
pub const RECORDING_WINDOW: &str = "recording";
