//! Plans of tenants on TensorRT, before these are made ready: which are lacking, how they are built, and which are the same.

use super::{Obstacle, Obstacles, gpu, networks};
use crate::commands::opening;
use crate::scenario::{BackendChoice, Scenario, Tenant};

/// Whether a tenant's networks are plans already.
fn runs_plans(tenant: &Tenant) -> bool {
    let detector = tenant.detector.as_ref();
    let opened = detector.and_then(|detector| opening::fed(detector, tenant.made.as_ref()).ok());
    opened.is_some_and(|detector| networks::are_plans(&detector.program))
}

/// The networks of a tenant on TensorRT whose plans are still to be built.
///
/// # Errors
/// What keeps them from being built, in a sentence.
pub(in crate::commands) fn unbuilt(tenant: &Tenant) -> Result<Vec<String>, String> {
    match &tenant.backend {
        BackendChoice::TensorRt { build, plans, .. } if plans.is_empty() && !runs_plans(tenant) => {
            gpu::unbuilt(tenant, build).map_err(|error| error.to_string())
        }
        _ => Ok(Vec::new()),
    }
}

/// Builds the plans that a tenant on TensorRT lacks.
pub(in crate::commands) fn build(scenario: &Scenario, name: &str) -> Result<(), Obstacles> {
    let named = scenario.tenants.iter().find(|tenant| tenant.name == name);
    if let Some(tenant) = named
        && let BackendChoice::TensorRt { build, plans, .. } = &tenant.backend
        && plans.is_empty()
        && !runs_plans(tenant)
    {
        gpu::build(tenant, build)
            .map_err(|problem| Obstacles(vec![(Some(name.to_owned()), Obstacle::Gpu(problem))]))?;
    }
    Ok(())
}

/// What a tenant's plans are built of and how, as far as the scenario says; none where none are built for it, or where each run
/// is to build its own. Equal ones are the same plans.
pub(in crate::commands) fn plans_of(scenario: &Scenario, tenant: &Tenant) -> Option<String> {
    match &tenant.backend {
        BackendChoice::TensorRt { build, plans, .. }
            if plans.is_empty() && !runs_plans(tenant) && !build.iter().any(|word| word == "--no-cache") =>
        {
            let (detector, made, gpu) = (&tenant.detector, &tenant.made, tenant.gpu.gpu);
            // It decides how much of an integrated GPU is on, for which a plan is built.
            let mode = &scenario.power_mode;
            Some(format!(
                "{detector:?} {made:?} {gpu} {} {build:?} {mode:?}",
                tenant.depth
            ))
        }
        _ => None,
    }
}
