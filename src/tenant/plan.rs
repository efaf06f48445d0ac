//! What a phase prescribes to all its tenants.

use serde::{Deserialize, Serialize};

use crate::backend::{Beginning, Tracing};
use crate::record::Phase;
use crate::scenario::Sharing;
use crate::units::Stamp;

/// When a phase begins and ends, and how its tenants share the device.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PhasePlan {
    /// The phase that it is the plan of.
    pub phase: Phase,
    /// The phase whose random numbers it draws: its own, or that which it repeats.
    pub drawn_as: Phase,
    /// The way of sharing that holds in it.
    pub sharing: Sharing,
    /// The common start of all its tenants.
    pub epoch: Stamp,
    /// Start of the measured window.
    pub measured_from: Stamp,
    /// End of it, and of releases.
    pub end: Stamp,
    /// Whether the GPU is traced meanwhile.
    pub tracing: Tracing,
}

impl PhasePlan {
    /// What slots are told of it.
    pub(crate) fn beginning(&self) -> Beginning {
        Beginning {
            sharing: self.sharing,
            drawn_as: self.drawn_as,
            tracing: self.tracing,
        }
    }
}
