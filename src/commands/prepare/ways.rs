//! Which ways of sharing mean something to a scenario's tenants.

use crate::scenario::{Scenario, Sharing};

/// The ways of sharing that mean nothing to these tenants.
pub(super) fn without_gpu(scenario: &Scenario) -> Vec<String> {
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
        Some(format!(
            "sharing {way:?} {does}, but none of these tenants runs on a GPU; use Streams, RoundRobin, Exclusive or Edf, or set a tenant's backend to TensorRt or OnnxRuntime"
        ))
    };
    scenario
        .ways_of_sharing()
        .into_iter()
        .filter_map(problem)
        .collect()
}
