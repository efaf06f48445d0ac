//! Memory of a device, and pinned memory of the host that it reads and writes by itself.
//!
//! Both are freed only when nobody holds them and the device is done with everything under way, since copies and kernels
//! hold addresses that nothing else keeps alive. So no copy or kernel finds memory that is gone. What the compiler cannot see
//! is when the device writes to memory that the host looks at: every function that hands pinned memory to the device is
//! `unsafe`, and its caller vouches that nobody looks meanwhile.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::driver::{result, sys};

use super::device::driver_failed;
use super::{Gpu, GpuError, Span};
use crate::tensor::HostMemory;

/// Most bytes that one block may have; more is a mistake somewhere, and `isize` ends not far beyond.
const LARGEST: usize = 1 << 46;

/// What a block of device memory and its spans share.
#[derive(Debug)]
pub(super) struct DeviceBlock {
    address: sys::CUdeviceptr,
    bytes: usize,
    gpu: Arc<Gpu>,
}

impl DeviceBlock {
    pub(super) fn address(&self) -> u64 {
        self.address
    }
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// A block of device memory.
#[derive(Debug)]
pub struct DeviceMemory(Arc<DeviceBlock>);

impl DeviceMemory {
    /// `bytes` of unspecified content (at least one, so that every block has an address).
    ///
    /// # Errors
    /// The device has no such memory left: [`GpuError::OutOfMemory`].
    pub fn new(gpu: &Arc<Gpu>, bytes: usize) -> Result<Self, GpuError> {
        gpu.bind()?;
        let bytes = bytes.max(1);
        if bytes > LARGEST {
            return Err(out_of_memory(gpu, bytes));
        }
        // SAFETY: the context is this thread's.
        let address = unsafe { result::malloc_sync(bytes) }.map_err(|error| match error.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => out_of_memory(gpu, bytes),
            _ => driver_failed("cuMemAlloc")(error),
        })?;
        Ok(Self(Arc::new(DeviceBlock {
            address,
            bytes,
            gpu: Arc::clone(gpu),
        })))
    }

    /// Where it is, for kernels.
    pub fn address(&self) -> u64 {
        self.0.address
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// The whole block, for kernels: the span keeps it alive.
    pub fn span(&self) -> Span {
        Span::of_device(&self.0)
    }

    /// Copies `bytes` there and waits.
    ///
    /// # Errors
    /// The driver fails.
    pub fn fill(&self, bytes: &[u8]) -> Result<(), GpuError> {
        self.0.gpu.bind()?;
        let bytes = &bytes[..bytes.len().min(self.bytes())];
        // SAFETY: the block holds as many bytes.
        unsafe { result::memcpy_htod_sync(self.address(), bytes) }.map_err(driver_failed("cuMemcpyHtoD"))
    }

    /// Fills it with zeros and waits.
    ///
    /// # Errors
    /// The driver fails.
    pub fn clear(&self) -> Result<(), GpuError> {
        self.fill(&vec![0; self.bytes()])
    }

    /// Copies all of it to the host and waits; not for streams that write to it, which are synchronised before.
    ///
    /// # Errors
    /// The driver fails.
    pub fn read(&self) -> Result<Vec<u8>, GpuError> {
        self.0.gpu.bind()?;
        let mut bytes = vec![0; self.bytes()];
        // SAFETY: both hold as many bytes, and the call returns when they are copied.
        unsafe { result::memcpy_dtoh_sync(&mut bytes, self.address()) }
            .map_err(driver_failed("cuMemcpyDtoH"))?;
        Ok(bytes)
    }
}

impl Drop for DeviceBlock {
    fn drop(&mut self) {
        let _ = self.gpu.synchronize();
        // SAFETY: made by us, and nothing that uses it is under way.
        let _ = unsafe { result::free_sync(self.address) };
    }
}

fn out_of_memory(gpu: &Gpu, wanted: usize) -> GpuError {
    GpuError::OutOfMemory {
        wanted: wanted as u64,
        free: gpu.memory().ok().map(|(free, _)| free),
    }
}

/// How the device gets at host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// By copies between pinned memory and device memory.
    Copies,
    /// By its own reads and writes of pinned memory, which the GPU of a Jetson does not cache.
    Mapped,
    /// As managed memory, which both sides cache and which is the host's or the device's at a time ([`super::Stream::lend`]).
    Managed,
}

/// A block of pinned host memory, shared by the tensor that fills it, the slot that copies it, and spans.
#[derive(Debug)]
pub(super) struct PinnedBlock {
    at: NonNull<u8>,
    bytes: usize,
    reach: Reach,
    /// Where the device sees it, if it does.
    mapped: Option<u64>,
    gpu: Arc<Gpu>,
}

impl PinnedBlock {
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
    pub(super) fn mapped(&self) -> Option<u64> {
        self.mapped
    }
}

// SAFETY: the block is plain memory of no thread; only its one `PinnedMemory` makes references to it.
unsafe impl Send for PinnedBlock {}
// SAFETY: as above.
unsafe impl Sync for PinnedBlock {}

impl Drop for PinnedBlock {
    fn drop(&mut self) {
        let _ = self.gpu.synchronize();
        // SAFETY: made by us, and nothing that uses it is under way.
        let _ = unsafe {
            match self.reach {
                Reach::Managed => result::free_sync(self.at.as_ptr() as u64),
                Reach::Copies | Reach::Mapped => result::free_host(self.at.as_ptr().cast()),
            }
        };
    }
}

/// Pinned memory as a tensor has it; there is one for each block.
#[derive(Debug)]
pub struct PinnedMemory(Arc<PinnedBlock>);

/// Where a block of pinned memory is; keeps it alive.
#[derive(Clone, Debug)]
pub struct PinnedAddress(Arc<PinnedBlock>);

impl PinnedMemory {
    /// `bytes` of zeros.
    ///
    /// # Errors
    /// The host has no such memory left ([`GpuError::PinnedFull`]), or the device cannot map it.
    pub fn new(gpu: &Arc<Gpu>, bytes: usize, reach: Reach) -> Result<Self, GpuError> {
        gpu.bind()?;
        let bytes = bytes.max(1);
        let full = || GpuError::PinnedFull { wanted: bytes as u64 };
        if bytes > LARGEST {
            return Err(full());
        }
        let (call, pinned) = match reach {
            Reach::Copies => ("cuMemHostAlloc", Some(0)),
            Reach::Mapped => ("cuMemHostAlloc", Some(sys::CU_MEMHOSTALLOC_DEVICEMAP)),
            Reach::Managed => ("cuMemAllocManaged", None),
        };
        // SAFETY: the context is this thread's.
        let made = unsafe {
            match pinned {
                Some(flags) => result::malloc_host(bytes, flags),
                // The host's, until a stream lends it to the device.
                None => result::malloc_managed(bytes, sys::CUmemAttach_flags::CU_MEM_ATTACH_HOST)
                    .map(|address| address as *mut std::ffi::c_void),
            }
        };
        let at = made.map_err(|error| match error.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => full(),
            _ => driver_failed(call)(error),
        })?;
        let at = NonNull::new(at.cast::<u8>()).ok_or_else(|| driver_gave_nothing(call, bytes))?;
        // SAFETY: the block has that many bytes, and is nobody else's yet.
        unsafe { at.as_ptr().write_bytes(0, bytes) };
        let mut block = PinnedBlock {
            at,
            bytes,
            reach,
            mapped: (reach == Reach::Managed).then_some(at.as_ptr() as u64),
            gpu: Arc::clone(gpu),
        };
        if reach == Reach::Mapped {
            let mut address = 0;
            // SAFETY: the block was allocated with the flag that this needs.
            unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut address, at.as_ptr().cast(), 0) }
                .result()
                .map_err(driver_failed("cuMemHostGetDevicePointer"))?;
            block.mapped = Some(address);
        }
        Ok(Self(Arc::new(block)))
    }

    /// Its address, for copies.
    pub fn address(&self) -> PinnedAddress {
        PinnedAddress(Arc::clone(&self.0))
    }
}

fn driver_gave_nothing(call: &'static str, bytes: usize) -> GpuError {
    GpuError::Driver {
        call,
        problem: format!("it returned no address for {bytes} bytes"),
    }
}

impl HostMemory for PinnedMemory {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the block lives as long as `self`, and its bytes were written in `new`. The device writes to it by copies and
        // spans alone, whose makers vouch that nobody looks meanwhile (`Stream::download`, `PinnedAddress::span`).
        unsafe { std::slice::from_raw_parts(self.0.at.as_ptr(), self.0.bytes) }
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, also where the device reads (`Stream::upload`); there is one `PinnedMemory` a block, and
        // `PinnedAddress` gives no references.
        unsafe { std::slice::from_raw_parts_mut(self.0.at.as_ptr(), self.0.bytes) }
    }
}

impl PinnedAddress {
    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }
    /// How the device gets at it.
    pub fn reach(&self) -> Reach {
        self.0.reach
    }
    /// The whole block as kernels see it; none if the device only copies.
    ///
    /// # Safety
    /// While work that was given the span, or a copy of it, is under way, nobody reads or writes the block's [`PinnedMemory`].
    pub unsafe fn span(&self) -> Option<Span> {
        Span::of_pinned(&self.0)
    }
    /// Where the host sees it.
    pub fn as_ptr(&self) -> *mut u8 {
        self.0.at.as_ptr()
    }
}

/// Copies host bytes to named blocks of device memory, kept and used again.
#[derive(Debug)]
pub struct Uploads {
    gpu: Arc<Gpu>,
    blocks: BTreeMap<String, DeviceMemory>,
}

impl Uploads {
    /// On a device, in its primary context, which becomes this thread's.
    ///
    /// # Errors
    /// There is no driver or no such device.
    pub fn open(ordinal: u16) -> Result<Self, GpuError> {
        Ok(Self {
            gpu: Gpu::open(ordinal)?,
            blocks: BTreeMap::new(),
        })
    }

    /// Copies `bytes` into the block called `name` and answers its address, which stays until other bytes of another
    /// length come under this name.
    ///
    /// # Errors
    /// The device has no memory left, or the copy fails.
    pub fn upload(&mut self, name: &str, bytes: &[u8]) -> Result<u64, GpuError> {
        let known = self.blocks.remove(name);
        let block = match known.filter(|block| block.bytes() == bytes.len().max(1)) {
            Some(block) => block,
            None => DeviceMemory::new(&self.gpu, bytes.len())?,
        };
        block.fill(bytes)?;
        let address = block.address();
        self.blocks.insert(name.to_owned(), block);
        Ok(address)
    }
}
