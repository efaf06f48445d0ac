//! In the place of a GPU's ceilings, in a jetlag that was built without GPUs.

use super::OfDevice;
use crate::built::LeftOut;
use crate::units::Nanos;

/// Why there are no ceilings of the GPU.
pub type DeviceError = LeftOut;

/// Measures nothing.
///
/// # Errors
/// Always: this jetlag was built without GPUs.
pub fn of_device(_ordinal: u16, _each: Nanos) -> Result<OfDevice, DeviceError> {
    Err(LeftOut::GPU)
}
