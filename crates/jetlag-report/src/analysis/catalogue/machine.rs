//! Findings about a machine whose state changed: throttled, still warming up, a changed clock or power mode.

use serde::Serialize;

use crate::analysis::code::Code;

/// Something that changed what the machine can do while it was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(in super::super) enum MachineLimit {
    /// A GPU's clock was held down in a share of the readings.
    Throttled {
        /// Its number; none of a board's only one.
        gpu: Option<u32>,
        by: SlowedBy,
        share: f64,
    },
    /// The kernel slowed a part down because of heat, in a share of the readings.
    Cooled { part: String, share: f64 },
    /// A rail's alarm was up in a share of the readings.
    RailOverCurrent { rail: String, share: f64 },
    /// The board's guard acted.
    OverCurrentEvents {
        guard: Guard,
        events: f64,
        /// In which they happened.
        #[serde(rename = "measured_s")]
        seconds: f64,
    },
    /// By the modes' numbers.
    PowerModeChanged {
        #[serde(rename = "from_mode")]
        from: f64,
        #[serde(rename = "to_mode")]
        to: f64,
    },
    /// A temperature still rose, °C.
    TemperatureRising {
        sensor: String,
        #[serde(rename = "from_c")]
        from: f64,
        #[serde(rename = "to_c")]
        to: f64,
    },
    /// The fan still sped up in the last half, percent.
    FanRising {
        #[serde(rename = "from_percent")]
        from: f64,
        #[serde(rename = "to_percent")]
        to: f64,
    },
    /// MHz in the first and the last third.
    ClockFell {
        #[serde(flatten)]
        of: ClockOf,
        #[serde(rename = "from_mhz")]
        from: f64,
        #[serde(rename = "to_mhz")]
        to: f64,
    },
    /// Lowest and highest, MHz.
    ClockMoved {
        #[serde(flatten)]
        of: ClockOf,
        #[serde(rename = "low_mhz")]
        low: f64,
        #[serde(rename = "high_mhz")]
        high: f64,
    },
}

/// Why a GPU's clock was held down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(in super::super) enum SlowedBy {
    Temperature,
    PowerLimit,
    Hardware,
}

/// The part of a Jetson's guard that counts an event (Jetson Linux's developer guide).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(in super::super) enum Guard {
    /// OC1, under-voltage at the input.
    InputVoltage,
    /// OC2, the mean of the input power.
    MeanPower,
    /// OC3, peaks of the input power.
    PeakPower,
    /// A counter with another number.
    Unknown,
}

/// The unit whose clock it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "clock", rename_all = "kebab-case")]
pub(in super::super) enum ClockOf {
    /// A GPU by its number, or a board's only one.
    Gpu {
        gpu: Option<u32>,
    },
    /// Of such a GPU.
    GpuMemory {
        gpu: Option<u32>,
    },
    MemoryController,
    /// The highest of all.
    Processors,
}

impl MachineLimit {
    pub(super) fn code(&self) -> Code {
        match self {
            MachineLimit::Throttled { .. } | MachineLimit::Cooled { .. } => Code::Throttled,
            MachineLimit::RailOverCurrent { .. } | MachineLimit::OverCurrentEvents { .. } => {
                Code::OverCurrent
            }
            MachineLimit::PowerModeChanged { .. } => Code::PowerModeChanged,
            MachineLimit::TemperatureRising { .. } | MachineLimit::FanRising { .. } => {
                Code::TemperatureRising
            }
            MachineLimit::ClockFell { .. } => Code::ClockFell,
            MachineLimit::ClockMoved { .. } => Code::ClocksMoved,
        }
    }

    pub(super) fn message(&self) -> String {
        match self {
            MachineLimit::Throttled { gpu, by, share } => format!(
                "{} was throttled {} in {:.0} % of the readings.",
                gpu_name(*gpu),
                match by {
                    SlowedBy::Temperature => "by its temperature",
                    SlowedBy::PowerLimit => "by its power limit",
                    SlowedBy::Hardware => "by its hardware",
                },
                share * 100.0
            ),
            MachineLimit::Cooled { part, share } => format!(
                "The kernel throttled {part} because of heat in {:.0} % of the readings.",
                share * 100.0
            ),
            MachineLimit::RailOverCurrent { rail, share } => format!(
                "{rail} drew more current than its limit: its alarm was active in {:.0} % of the readings.",
                share * 100.0
            ),
            MachineLimit::OverCurrentEvents {
                guard,
                events,
                seconds,
            } => format!(
                "The board throttled the processors and the GPU {events:.0} times ({:.1} per second) during the \
                 measurement, because {}.",
                events / seconds,
                match guard {
                    Guard::InputVoltage => "its input voltage fell too low (OC1)",
                    Guard::MeanPower => "it drew too much power on average (OC2)",
                    Guard::PeakPower => "it drew too much power for a moment (OC3)",
                    Guard::Unknown => "its over-current guard acted",
                }
            ),
            MachineLimit::PowerModeChanged { from, to } => {
                format!("The power mode changed from {from} to {to} during the run.")
            }
            MachineLimit::TemperatureRising { sensor, from, to } => {
                format!("Temperature {sensor} was still rising: from {from:.1} to {to:.1} °C over the run.")
            }
            MachineLimit::FanRising { from, to } => format!(
                "The fan was still speeding up: from {from:.0} to {to:.0} % in the last half of the run."
            ),
            MachineLimit::ClockFell { of, from, to } => format!(
                "{} clock fell from {from:.0} to {to:.0} MHz between the first and the last third of the run.",
                of.in_words()
            ),
            MachineLimit::ClockMoved { of, low, high } => format!(
                "{} clock moved between {low:.0} and {high:.0} MHz during the run.",
                of.in_words()
            ),
        }
    }

    pub(super) fn advice(&self) -> &'static str {
        match self {
            MachineLimit::Throttled { by, .. } => match by {
                SlowedBy::Temperature => {
                    "Improve cooling, let it cool down first, or lower the power limit until the clock holds."
                }
                SlowedBy::PowerLimit => {
                    "Lock a clock that it can hold (`jetlag clocks`), or compare only runs with the same limit."
                }
                SlowedBy::Hardware => "Check its power supply and cables: the card itself lowered its clock.",
            },
            MachineLimit::Cooled { .. } => {
                "Improve cooling (a fan, its profile), let the board cool down first, or use a lower power mode."
            }
            MachineLimit::RailOverCurrent { .. } => {
                "Use a stronger supply, or a lower power mode; the board throttles to protect itself."
            }
            MachineLimit::OverCurrentEvents { guard, .. } => match guard {
                Guard::InputVoltage => {
                    "Use a stronger supply and a shorter, thicker cable, and check what else it supplies."
                }
                Guard::MeanPower => {
                    "Use a power mode below the board's limit (`nvpmodel -q` shows the current one), or lower the \
                     load."
                }
                Guard::PeakPower => {
                    "Use a power mode with lower peaks, or lower clocks; in the unlimited modes (MAXN) these events \
                     are common, and results are valid only with them."
                }
                Guard::Unknown => "Use a stronger supply, or a lower power mode.",
            },
            MachineLimit::PowerModeChanged { .. } => "Run again in one mode; `sudo nvpmodel -m ID` sets it.",
            MachineLimit::TemperatureRising { .. } | MachineLimit::FanRising { .. } => {
                "Warm up for longer (`warmup: …`) until temperatures settle: power grows with them, and clocks may fall."
            }
            MachineLimit::ClockFell { .. } | MachineLimit::ClockMoved { .. } => {
                "Hold the clocks (`sudo jetlag clocks max`) and run again; a longer warm-up \
                 helps where that is not possible."
            }
        }
    }
}

impl ClockOf {
    /// As the beginning of a sentence.
    fn in_words(self) -> String {
        match self {
            ClockOf::Gpu { gpu } => format!("{}'s", gpu_name(gpu)),
            ClockOf::GpuMemory { gpu } => format!("{}'s memory", gpu_name(gpu)),
            ClockOf::MemoryController => "The memory controller's".to_owned(),
            ClockOf::Processors => "The processors' highest".to_owned(),
        }
    }
}

fn gpu_name(gpu: Option<u32>) -> String {
    gpu.map_or_else(|| "The GPU".to_owned(), |number| format!("GPU {number}"))
}
