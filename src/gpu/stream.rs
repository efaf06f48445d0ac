//! Streams: queues of the device. Work of one stream is done in order, that of several may overlap.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::{DriverError, result, sys};

use super::device::driver_failed;
use super::event::Event;
use super::memory::{DeviceMemory, PinnedAddress};
use super::partition::Partition;
use super::{Gpu, GpuError, Span};

/// A stream that does not wait for the default one. The thread that uses it has bound its [`Gpu`].
#[derive(Debug)]
pub struct Stream {
    raw: sys::CUstream,
    gpu: Arc<Gpu>,
    /// The part of the device that its kernels stay in; it goes after the stream.
    _partition: Option<Arc<Partition>>,
}

// SAFETY: the driver lets any thread use a stream, several at a time; each call locks for itself.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// A stream of this priority (the driver's number, see [`Gpu::stream_priorities`]).
    ///
    /// # Errors
    /// The driver fails.
    pub fn new(gpu: &Arc<Gpu>, priority: i32) -> Result<Self, GpuError> {
        gpu.bind()?;
        let raw = result::stream::create_with_priority(result::stream::StreamKind::NonBlocking, priority)
            .map_err(driver_failed("cuStreamCreateWithPriority"))?;
        Ok(Self {
            raw,
            gpu: Arc::clone(gpu),
            _partition: None,
        })
    }

    /// A stream whose kernels run on the multiprocessors of `partition` alone.
    ///
    /// # Errors
    /// The driver fails.
    pub fn within(partition: &Arc<Partition>, priority: i32) -> Result<Self, GpuError> {
        let raw = partition.stream(priority)?;
        Ok(Self {
            raw,
            gpu: Arc::clone(partition.gpu()),
            _partition: Some(Arc::clone(partition)),
        })
    }

    /// The GPU that the stream belongs to.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// The `CUstream`, for libraries that enqueue on it.
    pub fn raw(&self) -> *mut c_void {
        self.raw.cast()
    }

    /// Stamps `event` when everything enqueued so far is done.
    ///
    /// # Errors
    /// The driver fails, or work before it did.
    pub fn record(&self, event: &Event) -> Result<(), GpuError> {
        // SAFETY: both are alive; the driver refuses an event of another device.
        unsafe { result::event::record(event.raw(), self.raw) }.map_err(driver_failed("cuEventRecord"))
    }

    /// What is enqueued from now on waits for `event`.
    ///
    /// # Errors
    /// The driver fails.
    pub fn wait_for(&self, event: &Event) -> Result<(), GpuError> {
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: both are alive.
        unsafe { result::stream::wait_event(self.raw, event.raw(), flags) }
            .map_err(driver_failed("cuStreamWaitEvent"))
    }

    /// Copies the first `bytes` of host memory to the device, in order with the stream; `bytes` is cut to what both blocks hold.
    ///
    /// # Safety
    /// Until the stream has passed the copy, nobody writes to the [`super::PinnedMemory`] of `from`.
    ///
    /// # Errors
    /// The driver fails.
    pub unsafe fn upload(
        &self,
        to: &DeviceMemory,
        from: &PinnedAddress,
        bytes: usize,
    ) -> Result<(), GpuError> {
        let bytes = bytes.min(to.bytes()).min(from.bytes());
        // SAFETY: both blocks hold as many bytes, and neither is freed before the device is done (their `Drop`). The host's is not
        // written meanwhile, as the caller vouches.
        unsafe { sys::cuMemcpyHtoDAsync_v2(to.address(), from.as_ptr().cast(), bytes, self.raw) }
            .result()
            .map_err(driver_failed("cuMemcpyHtoDAsync"))
    }

    /// Copies the first `bytes` of device memory to the host, in order with the stream; `bytes` is cut to what both blocks hold.
    ///
    /// # Safety
    /// Until the stream has passed the copy, nobody reads or writes the [`super::PinnedMemory`] of `to`.
    ///
    /// # Errors
    /// The driver fails.
    pub unsafe fn download(
        &self,
        to: &PinnedAddress,
        from: &DeviceMemory,
        bytes: usize,
    ) -> Result<(), GpuError> {
        let bytes = bytes.min(to.bytes()).min(from.bytes());
        // SAFETY: as in `upload`; the host's is neither read nor written meanwhile, as the caller vouches.
        unsafe { sys::cuMemcpyDtoHAsync_v2(to.as_ptr().cast(), from.address(), bytes, self.raw) }
            .result()
            .map_err(driver_failed("cuMemcpyDtoHAsync"))
    }

    /// Copies the first `bytes` of one block of device memory to another, in order with the stream; `bytes` is cut to what both
    /// blocks hold.
    ///
    /// # Errors
    /// The driver fails.
    pub fn copy(&self, to: &DeviceMemory, from: &DeviceMemory, bytes: usize) -> Result<(), GpuError> {
        let bytes = bytes.min(to.bytes()).min(from.bytes());
        // SAFETY: both blocks hold as many bytes, are two (a block has one owner), and are not freed before the device is done.
        unsafe { sys::cuMemcpyDtoDAsync_v2(to.address(), from.address(), bytes, self.raw) }
            .result()
            .map_err(driver_failed("cuMemcpyDtoDAsync"))
    }

    /// Fills the first `bytes` of device memory with zeros, in order with the stream.
    ///
    /// # Errors
    /// The driver fails.
    pub fn clear(&self, span: &Span, bytes: usize) -> Result<(), GpuError> {
        let bytes = bytes.min(span.bytes());
        // SAFETY: the block holds as many bytes, and is not freed before the device is done (its `Drop`).
        unsafe { sys::cuMemsetD8Async(span.address(), 0, bytes, self.raw) }
            .result()
            .map_err(driver_failed("cuMemsetD8Async"))
    }

    /// Gives managed memory to the device, in order with the stream.
    ///
    /// # Safety
    /// Until the stream has passed a later [`Stream::give_back`], nobody reads or writes the block's [`super::PinnedMemory`]:
    /// a host that cannot reach memory of a busy device is ended by the system.
    ///
    /// # Errors
    /// The driver fails, or the memory is not managed.
    pub unsafe fn lend(&self, memory: &PinnedAddress) -> Result<(), GpuError> {
        self.attach(memory, sys::CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL)
    }

    /// Gives managed memory back to the host, which may touch it when the stream has passed this point.
    ///
    /// # Errors
    /// The driver fails, or the memory is not managed.
    pub fn give_back(&self, memory: &PinnedAddress) -> Result<(), GpuError> {
        self.attach(memory, sys::CUmemAttach_flags::CU_MEM_ATTACH_HOST)
    }

    fn attach(&self, memory: &PinnedAddress, to: sys::CUmemAttach_flags) -> Result<(), GpuError> {
        // SAFETY: the block is alive, and the driver refuses what is not managed. A length of 0 is the whole of it.
        unsafe { result::stream::attach_mem_async(self.raw, memory.as_ptr() as u64, 0, to) }
            .map_err(driver_failed("cuStreamAttachMemAsync"))
    }

    /// Whether all of its work is done. The thread has bound the device.
    ///
    /// # Errors
    /// Something in it failed.
    pub fn is_done(&self) -> Result<bool, GpuError> {
        // SAFETY: the stream is alive.
        match unsafe { sys::cuStreamQuery(self.raw) }.result() {
            Ok(()) => Ok(true),
            Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
            Err(error) => Err(driver_failed("cuStreamQuery")(error)),
        }
    }

    /// Waits until all of its work is done.
    ///
    /// # Errors
    /// Something in it failed.
    pub fn synchronize(&self) -> Result<(), GpuError> {
        self.gpu.bind()?;
        // SAFETY: the stream is alive.
        unsafe { result::stream::synchronize(self.raw) }.map_err(driver_failed("cuStreamSynchronize"))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let _ = self.gpu.bind();
        // SAFETY: made by us and used no more; the driver finishes its work by itself.
        let _ = unsafe { result::stream::destroy(self.raw) };
    }
}
