//! Device memory that the host fills: one named block each, kept and used again.

use std::collections::BTreeMap;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, DriverError};

use super::GpuError;
use super::device::driver_failed;

/// Copies host bytes to named blocks of device memory.
#[derive(Debug)]
pub struct Uploads {
    stream: Arc<CudaStream>,
    blocks: BTreeMap<String, CudaSlice<u8>>,
}

impl Uploads {
    /// On a device, in its primary context, which becomes this thread's.
    ///
    /// # Errors
    /// There is no driver or no such device.
    pub fn open(ordinal: u16) -> Result<Self, GpuError> {
        // Asks for the driver first: cudarc panics without one.
        super::devices()?;
        let context =
            CudaContext::new(usize::from(ordinal)).map_err(driver_failed("cuDevicePrimaryCtxRetain"))?;
        Ok(Self {
            stream: context.default_stream(),
            blocks: BTreeMap::new(),
        })
    }

    /// Copies `bytes` into the block called `name` and answers its address, which stays until other bytes of another
    /// length come under this name.
    ///
    /// # Errors
    /// The device has no memory left, or the copy fails.
    pub fn upload(&mut self, name: &str, bytes: &[u8]) -> Result<u64, GpuError> {
        self.copy(name, bytes).map_err(driver_failed("cuMemcpyHtoD"))
    }

    fn copy(&mut self, name: &str, bytes: &[u8]) -> Result<u64, DriverError> {
        self.stream.context().bind_to_thread()?;
        match self
            .blocks
            .get_mut(name)
            .filter(|block| block.len() == bytes.len())
        {
            Some(block) => self.stream.memcpy_htod(bytes, block)?,
            None => {
                let block = self.stream.clone_htod(bytes)?;
                self.blocks.insert(name.to_owned(), block);
            }
        }
        self.stream.synchronize()?;
        Ok(self
            .blocks
            .get(name)
            .map_or(0, |block| block.device_ptr(&self.stream).0))
    }
}
