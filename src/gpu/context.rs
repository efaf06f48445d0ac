//! A device in use: its primary context, which every stream, event and block of memory keeps alive.
//!
//! The primary context is the one that TensorRT, ONNX Runtime and the CUDA runtime use too, so that memory and streams
//! made here can be handed to them. A thread has to make it current before it calls the driver ([`Gpu::bind`]).

use std::sync::Arc;

use cudarc::driver::{CudaContext, result, sys};

use super::device::{Device, driver_failed};
use super::{GpuError, devices};

/// A device with its primary context. Dropped when the last thing made in it is.
#[derive(Debug)]
pub struct Gpu {
    device: Device,
    context: Arc<CudaContext>,
}

impl Gpu {
    /// Opens a device by the driver's number; its context becomes this thread's.
    ///
    /// # Errors
    /// There is no driver, no such device, or no room on it.
    pub fn open(ordinal: u16) -> Result<Arc<Self>, GpuError> {
        let mut devices = devices()?;
        let found = devices.len();
        let Some(position) = devices.iter().position(|device| device.ordinal == ordinal) else {
            return Err(GpuError::NoSuchDevice { ordinal, found });
        };
        let context = CudaContext::new(usize::from(ordinal)).map_err(|error| match error.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => GpuError::NoRoomForContext,
            _ => driver_failed("cuDevicePrimaryCtxRetain")(error),
        })?;
        Ok(Arc::new(Self {
            device: devices.swap_remove(position),
            context,
        }))
    }

    /// What the driver says of the device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Makes the context this thread's; every thread that submits or waits does so once.
    ///
    /// # Errors
    /// The context is broken, by a kernel that failed, say.
    pub fn bind(&self) -> Result<(), GpuError> {
        self.context
            .bind_to_thread()
            .map_err(driver_failed("cuCtxSetCurrent"))
    }

    /// Free and total device memory in bytes.
    ///
    /// # Errors
    /// The driver fails.
    pub fn memory(&self) -> Result<(u64, u64), GpuError> {
        self.bind()?;
        let (free, total) = result::mem_get_info().map_err(driver_failed("cuMemGetInfo"))?;
        Ok((free as u64, total as u64))
    }

    /// The least and the greatest priority that a stream can have; the driver counts downwards, so the greatest is the
    /// smallest number. Both are 0 where there are none.
    ///
    /// # Errors
    /// The driver fails.
    pub fn stream_priorities(&self) -> Result<(i32, i32), GpuError> {
        self.bind()?;
        result::stream::get_priority_range().map_err(driver_failed("cuCtxGetStreamPriorityRange"))
    }

    /// Streaming multiprocessors of the device.
    ///
    /// # Errors
    /// The driver fails.
    pub fn multiprocessors(&self) -> Result<u32, GpuError> {
        let count = self.attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        Ok(u32::try_from(count).unwrap_or(0))
    }

    /// Threads that a multiprocessor holds at once.
    ///
    /// # Errors
    /// The driver fails.
    pub fn threads_per_multiprocessor(&self) -> Result<u32, GpuError> {
        let count =
            self.attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?;
        Ok(u32::try_from(count).unwrap_or(0))
    }

    /// Bytes of the second-level cache.
    ///
    /// # Errors
    /// The driver fails.
    pub fn l2_bytes(&self) -> Result<usize, GpuError> {
        let bytes = self.attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?;
        Ok(usize::try_from(bytes).unwrap_or(0))
    }

    fn attribute(&self, attribute: sys::CUdevice_attribute) -> Result<i32, GpuError> {
        self.context
            .attribute(attribute)
            .map_err(driver_failed("cuDeviceGetAttribute"))
    }

    /// Waits until nothing is under way on the device for this process.
    ///
    /// # Errors
    /// Something that was under way failed.
    pub fn synchronize(&self) -> Result<(), GpuError> {
        self.bind()?;
        result::ctx::synchronize().map_err(driver_failed("cuCtxSynchronize"))
    }

    pub(super) fn handle(&self) -> sys::CUdevice {
        self.context.cu_device()
    }
}
