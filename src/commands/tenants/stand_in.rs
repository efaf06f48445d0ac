//! Whether the network that stands in for the one of a detector's spec fits that spec.

use super::Obstacle;
use crate::commands::{fits, opening};
use crate::engine::plan::is_plan;
use crate::scenario::{DetectorRef, Tenant};

/// What keeps a network that stands in for a spec's own from it, before a backend is asked: a list of networks may have any in it. Of a
/// plan nothing is known here, and of several frames at once the first batch tells.
pub(super) fn obstacles(tenant: &Tenant) -> Vec<Obstacle> {
    let Some(reference @ DetectorRef::WithNetwork { network, .. }) = &tenant.detector else {
        return Vec::new();
    };
    if is_plan(network) || !tenant.batch.is_single() {
        return Vec::new();
    }
    let Ok(mut detector) = opening::fed(reference, None) else {
        return Vec::new(); // told where it is opened
    };
    let obstacle = |problem| Obstacle::OtherNetwork {
        network: network.display().to_string(),
        problem,
    };
    fits::detector(&mut detector)
        .problems
        .into_iter()
        .map(obstacle)
        .collect()
}
