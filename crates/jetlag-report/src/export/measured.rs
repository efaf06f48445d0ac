//! Which frames the tables hold unless all are asked for: those that the report's figures are of.

use crate::analysis::stamps::StampCheck;
use crate::record::{Event, Manifest, OVERHEAD_TENANT, Phase};

/// Tells the measured frames of a run from the rest: warm-up, baselines and other phases, loads, jetlag's own cost.
#[derive(Clone, Debug)]
pub struct Measured {
    /// By the tenants' numbers.
    is_load: Vec<bool>,
    stamps: StampCheck,
}

impl Measured {
    /// For a run of this manifest.
    pub fn new(manifest: &Manifest) -> Self {
        let tenants = manifest.scenario().map_or(&[][..], |scenario| &scenario.tenants);
        Measured {
            stamps: StampCheck::new(manifest),
            is_load: tenants.iter().map(|tenant| tenant.stress().is_some()).collect(),
        }
    }

    /// Whether an event is a frame that no figure of the report is of.
    pub fn leaves_out(&mut self, event: &Event) -> bool {
        let passes = self.stamps.passes(event);
        let Event::Frame(frame) = event else {
            return false;
        };
        let is_load = self.is_load.get(usize::from(frame.tenant)).copied();
        !passes
            || frame.warmup
            || frame.phase != Phase::Together
            || frame.tenant == OVERHEAD_TENANT
            || is_load.unwrap_or(false)
    }
}
