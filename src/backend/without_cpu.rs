//! In the place of the embedded CPU backend, in a jetlag that was built without it.

use super::{Backend, BackendError, NetworkSource, Opened, Program};
use crate::built::LeftOut;
use crate::record::Device;

const NAME: &str = "cpu";

/// Executes nothing, and says why.
pub struct CpuBackend;

impl CpuBackend {
    /// As the real one.
    pub fn new(_threads: usize, _profile: bool) -> Self {
        CpuBackend
    }
}

impl Backend for CpuBackend {
    fn name(&self) -> &'static str {
        NAME
    }

    fn device(&self) -> Device {
        Device::Host
    }

    fn open(&self, program: &Program, _slots: usize) -> Result<Opened, BackendError> {
        let network = program.engines.first().map(NetworkSource::to_string);
        Err(BackendError::Load {
            network: network.unwrap_or_else(|| "the detector".to_owned()),
            backend: NAME,
            problem: LeftOut {
                part: "the embedded cpu backend",
                feature: "cpu",
            }
            .to_string(),
        })
    }
}
