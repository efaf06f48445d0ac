//! In the place of loads of the GPU, in a jetlag that was built without it.

use crate::backend::{BackendError, Opened};
use crate::record::Device;
use crate::scenario::Resource;
use crate::units::Nanos;

/// A device that does not exist: this build has no GPU support.
pub enum OnDevice {}

impl OnDevice {
    /// Never called, since there is no value of this type.
    pub(super) fn device(&self) -> Device {
        match *self {}
    }
}

/// Never called: nobody has a GPU to call it with.
pub(super) fn open(
    on: &OnDevice,
    _resource: Resource,
    _burst: Nanos,
    _slots: usize,
) -> Result<Opened, BackendError> {
    match *on {}
}
