//! What became of the frames in each phase.

use serde::Serialize;

use super::FrameCounts;
use crate::record::{EndReason, Phase};

/// One phase of a run, or all turns of the same tenants, sharing in the same way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseSummary {
    /// In words: `camera alone`, `camera + lidar`, `camera at 50 Hz`.
    pub label: String,
    /// `together` is the measurement, `alone` a tenant alone in the scenario's own way of sharing; else `other`.
    pub kind: &'static str,
    /// How many turns it is of; `None` of a phase in one piece.
    pub turns: Option<u64>,
    /// As a scenario writes it; `None` in files older than version 1.3.
    pub sharing: Option<String>,
    /// Measured time in which all its tenants ran, in all its turns: what is compared between phases is of this time.
    pub compared_s: Option<f64>,
    /// Each tenant that ran in it.
    pub tenants: Vec<PhaseTenant>,
    #[serde(skip)]
    pub(in crate::analysis) phases: Vec<Phase>,
}

impl PhaseSummary {
    /// Whether it is the measurement.
    pub(in crate::analysis) fn is_measurement(&self) -> bool {
        self.phases == [Phase::Together]
    }

    /// Its label, told from that of the measurement.
    pub(in crate::analysis) fn in_words(&self) -> String {
        match self.turns {
            Some(_) => format!("{} in turns", self.label),
            None => self.label.clone(),
        }
    }
}

/// What a tenant did in a phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseTenant {
    /// Name of the tenant.
    pub tenant: String,
    /// Its own measured time.
    pub measured_s: Option<f64>,
    /// Why it ended, of turns the first that did not end with its time: `duration`, `frames`, `end-of-source`, `interrupted` or `failed`.
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
    /// Frames that waited at the end, of phases and turns in which these were more than a few.
    #[serde(skip)]
    pub(in crate::analysis) waiting: u64,
    #[serde(skip)]
    pub(in crate::analysis) reason: Option<EndReason>,
}
