//! What a run was to do, for the rules that compare what happened with it.
//!
//! A recording without a scenario (ranges of an application, sensors of a machine) promised nothing. Its tenants are taken as they
//! are: one batch at a time, nothing dropped, nothing measured beforehand, no end planned.

use crate::record::{ApplicationTenant, Manifest, TenantManifest};
use crate::scenario::{Arrival, BackendChoice, Scenario, Tenant};
use crate::units::Nanos;

/// The run's scenario, or what is assumed without one.
pub(in crate::analysis) fn of(manifest: &Manifest) -> Scenario {
    match manifest.scenario() {
        Some(scenario) => scenario.clone(),
        None => Scenario {
            tenants: manifest.tenants.iter().map(unplanned).collect(),
            ..Scenario::empty(manifest.name())
        },
    }
}

/// A tenant as its application describes it.
fn unplanned(tenant: &TenantManifest) -> Tenant {
    let ApplicationTenant { hz, deadline } = tenant.application.clone().unwrap_or_default();
    Tenant {
        arrival: hz.map_or(Arrival::Closed, |hz| Arrival::Periodic {
            hz,
            phase: Nanos::ZERO,
            jitter: Nanos::ZERO,
        }),
        deadline,
        // What executed is in the manifest; a scenario has no word for an application.
        ..Tenant::of_backend(&tenant.name, BackendChoice::Null)
    }
}
