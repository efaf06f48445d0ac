//! What a run and its tenants' processes say to each other besides records: one JSON text each.

use serde::{Deserialize, Serialize};

use crate::record::TenantManifest;
use crate::scenario::{Arrival, Scenario};
use crate::tenant::PhasePlan;

/// The first line to a process: the tenant that it is to run.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::commands) struct Setup {
    pub(in crate::commands) scenario: Scenario,
    /// Its position in the scenario.
    pub(in crate::commands) tenant: usize,
}

/// What a tenant's process answers to its parent.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::commands) enum Answer {
    /// It is ready and waits for orders.
    Ready {
        manifest: Box<TenantManifest>,
        /// Why it cannot run, where the others go on without it.
        failed: Option<String>,
    },
    /// The scenario cannot be run here.
    Refused { problems: Vec<String> },
}

/// Every later line to a process.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::commands) enum Order {
    /// Run a phase; its stamps are of CLOCK_MONOTONIC, which is one clock for all processes.
    Phase { plan: PhasePlan, arrival: Arrival },
    /// End the phase, as after Ctrl-C.
    Stop,
}
