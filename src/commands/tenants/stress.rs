//! Tenants that are stressors: the device, where one loads one.

use super::gpu::{Devices, NotUsable, on_device};
use crate::backend::Backend;
use crate::backend::stress::{NAME, StressBackend};
use crate::scenario::{Scenario, Stress};

/// Makes the backend of a stressor.
pub(super) fn backend(
    scenario: &Scenario,
    number: usize,
    devices: &Devices,
    stress: Stress,
) -> Result<Box<dyn Backend>, NotUsable> {
    let gpu = match stress.resource.is_on_gpu() {
        true => Some(on_device(scenario, number, devices, NAME)?),
        false => None,
    };
    Ok(Box::new(StressBackend { stress, gpu }))
}
