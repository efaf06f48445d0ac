//! What a phase prescribes to all its tenants.

use serde::{Deserialize, Serialize};

use crate::record::Phase;
use crate::scenario::Sharing;
use crate::units::Stamp;

/// When a phase begins and ends, and how its tenants share the device.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PhasePlan {
    /// The phase that it is the plan of.
    pub phase: Phase,
    /// The way of sharing that holds in it.
    pub sharing: Sharing,
    /// The common start of all its tenants.
    pub epoch: Stamp,
    /// Start of the measured window.
    pub measured_from: Stamp,
    /// End of it, and of releases.
    pub end: Stamp,
}
