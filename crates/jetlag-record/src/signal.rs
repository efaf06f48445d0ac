//! What sensors say, and what their readings mean.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::measurand::Measurand;
use crate::units::{Nanos, Stamp};

/// One reading of one signal.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleRecord {
    /// When the reading was taken.
    pub at: Stamp,
    /// The sampler that read it: `host`, `rails`, ….
    pub source: String,
    /// Name of the signal: `cpu_load`, `memory_used`, ….
    pub signal: String,
    /// The value in `unit`; `None` if it could not be read.
    pub value: Option<f64>,
    /// Unit of the value: `percent`, `bytes`, `mhz`, ….
    pub unit: String,
}

/// How a reading relates to time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Averaging {
    /// Unknown: the sensor does not say.
    #[default]
    Unknown = 0,
    /// The value at one moment.
    Instant = 1,
    /// A mean over a window before the reading.
    Mean = 2,
    /// A counter, which only grows.
    Counter = 3,
    /// A first-order filter, whose time constant is the window.
    Filter = 4,
}

/// The relation of a power line to the total; decides which lines may be added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum RailRole {
    /// The signal is not a power line.
    #[default]
    None = 0,
    /// The total of the module, the card or the processor.
    Total = 1,
    /// One of the lines that together are the total.
    Summand = 2,
    /// A part of the total; the two must not be added.
    Part = 3,
    /// A line fed by another line, so that adding both counts it twice.
    Within = 4,
    /// The input of the board: it includes carrier and fan.
    Input = 5,
    /// A power line of unknown relation.
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

/// The description of one signal; recorded once, before the first of its readings.
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
    /// The file, the field or the program from which it is read.
    pub origin: String,
    /// Planned time between two readings.
    pub period: Option<Nanos>,
    /// Refresh interval of the sensor, if it is stated.
    pub refresh: Option<Nanos>,
    /// Whether a reading is a moment's value, a mean, or a counter.
    pub averaging: Averaging,
    /// Averaging window of a mean; time constant of a filter.
    pub window: Option<Nanos>,
    /// Resolution of the sensor, in the signal's unit.
    pub step: Option<f64>,
    /// For a power line, its relation to the total.
    pub role: RailRole,
    /// The line that feeds it, for [`RailRole::Within`].
    pub within: Option<String>,
}

/// A named stretch of time that is not a phase of the tenants.
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
