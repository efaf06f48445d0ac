//! The result of a duty-cycle sweep.

use serde::Serialize;

use super::{FrameCounts, Stats};

/// A sweep of one tenant's rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DutyCycle {
    /// Name of the tenant whose rate was changed.
    pub tenant: String,
    /// Each rate, in the order in which they ran.
    pub steps: Vec<Step>,
}

/// The figures at one rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Frames per second; `None` is the closed loop.
    pub hz: Option<f64>,
    /// Share of the measured time in which the tenant had no frame in service.
    pub idle_share: Option<f64>,
    /// What became of its frames in this step.
    pub frames: FrameCounts,
    /// Response times in this step, of the time in which all tenants ran.
    pub response_ms: Stats,
    /// The GPU's clock in this step, where it was sampled.
    pub gpu_clock: Option<Clock>,
    /// The processors' clocks in this step, where they were sampled.
    pub cpu_clock: Option<Clock>,
}

/// A clock over a stretch of time, over all units of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Clock {
    /// Mean of all readings above zero: zero is a unit that was switched off.
    pub mean_mhz: f64,
    /// The lowest of them.
    pub min_mhz: f64,
}
