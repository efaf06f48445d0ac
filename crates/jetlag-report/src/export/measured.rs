//! Which frames the tables hold unless all are asked for: those that the report's figures are of.

use crate::record::{Event, Manifest, OVERHEAD_TENANT, Phase};

/// Tells the measured frames of a run from the rest: warm-up, baselines and other phases, loads, jetlag's own cost.
#[derive(Clone, Debug)]
pub struct Measured {
    /// By the tenants' numbers.
    is_load: Vec<bool>,
}

impl Measured {
    /// For a run of this manifest.
    pub fn new(manifest: &Manifest) -> Self {
        let tenants = manifest.scenario().map_or(&[][..], |scenario| &scenario.tenants);
        Measured {
            is_load: tenants.iter().map(|tenant| tenant.stress().is_some()).collect(),
        }
    }

    /// Whether an event is a frame that no figure of the report is of.
    pub fn leaves_out(&self, event: &Event) -> bool {
        let Event::Frame(frame) = event else {
            return false;
        };
        let is_load = self.is_load.get(usize::from(frame.tenant)).copied();
        frame.warmup
            || frame.phase != Phase::Together
            || frame.tenant == OVERHEAD_TENANT
            || is_load.unwrap_or(false)
    }
}
