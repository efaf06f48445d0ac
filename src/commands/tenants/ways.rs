//! Which ways of sharing mean something to a scenario's tenants.

use super::Obstacle;
use crate::scenario::{Scenario, Sharing};

/// The ways of sharing that mean nothing to these tenants.
pub(super) fn without_gpu(scenario: &Scenario) -> Vec<Obstacle> {
    if scenario.tenants.iter().any(|tenant| tenant.device().is_gpu()) {
        return Vec::new();
    }
    let problem = |way: Sharing| {
        let does = match way {
            Sharing::SingleStream => "puts all tenants on one CUDA stream",
            Sharing::Priority => "gives tenants CUDA streams of different priority",
            Sharing::Partition => "divides a GPU's multiprocessors among tenants",
            Sharing::Streams
            | Sharing::RoundRobin
            | Sharing::Exclusive
            | Sharing::Edf
            | Sharing::Processes => {
                return None;
            }
        };
        Some(Obstacle::SharingWithoutGpu { way, does })
    };
    scenario
        .ways_of_sharing()
        .into_iter()
        .filter_map(problem)
        .collect()
}
