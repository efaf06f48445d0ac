//! Preparing a stressor: its device, where it loads one.

use super::gpu::{Devices, OnDevice, on_device};
use crate::backend::Backend;
use crate::backend::stress::{NAME, OnGpu, StressBackend};
use crate::scenario::{Scenario, Stress};

/// A stressor's backend.
pub(super) fn backend(
    scenario: &Scenario,
    number: usize,
    devices: &Devices,
    stress: Stress,
) -> Result<Box<dyn Backend>, String> {
    let gpu = match stress.resource.is_on_gpu() {
        true => {
            let OnDevice {
                shared,
                claim,
                options,
            } = on_device(scenario, number, devices, NAME)?;
            Some(OnGpu {
                shared,
                claim,
                options,
            })
        }
        false => None,
    };
    Ok(Box::new(StressBackend { stress, gpu }))
}
