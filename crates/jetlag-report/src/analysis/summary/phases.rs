//! What became of the frames in each phase.

use serde::Serialize;

use super::FrameCounts;
use crate::record::{EndReason, Phase};

/// One phase of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseSummary {
    /// In words: `camera alone`, `camera + lidar`, `camera at 50 Hz`.
    pub label: String,
    /// `together` is the measurement, `alone` the baseline of the scenario's own way of sharing; else `other`.
    pub kind: &'static str,
    /// As a scenario writes it; `None` in files older than version 1.3.
    pub sharing: Option<String>,
    /// Measured time in which all its tenants ran: what is compared between phases is of this time.
    pub compared_s: Option<f64>,
    /// Each tenant that ran in it.
    pub tenants: Vec<PhaseTenant>,
    #[serde(skip)]
    pub(in crate::analysis) phase: Phase,
}

/// What a tenant did in a phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseTenant {
    /// Name of the tenant.
    pub tenant: String,
    /// Its own measured time.
    pub measured_s: Option<f64>,
    /// Why it ended: `duration`, `frames`, `end-of-source`, `interrupted` or `failed`.
    pub ended: Option<&'static str>,
    /// What became of its frames.
    pub frames: FrameCounts,
    /// Releases later than the budget; `None` in a closed loop and in simulated time, where none can be late.
    pub late_releases: Option<u64>,
    /// Frames whose response times are compared with other phases'.
    pub compared: u64,
    /// Whether anything but frames that were served in time is to be told of it.
    #[serde(skip)]
    pub notable: bool,
    #[serde(skip)]
    pub(in crate::analysis) reason: Option<EndReason>,
}
