//! Memory of a device, and pinned memory of the host that it reads and writes by itself.
//!
//! Both are freed only when the device is done with everything under way, since copies and kernels hold addresses that
//! nothing else keeps alive.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::driver::{result, sys};

use super::device::driver_failed;
use super::{Gpu, GpuError};
use crate::tensor::HostMemory;

/// Most bytes that one block may have; more is a mistake somewhere, and `isize` ends not far beyond.
const LARGEST: usize = 1 << 46;

/// A block of device memory.
#[derive(Debug)]
pub struct DeviceMemory {
    address: sys::CUdeviceptr,
    bytes: usize,
    gpu: Arc<Gpu>,
}

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
        Ok(Self {
            address,
            bytes,
            gpu: Arc::clone(gpu),
        })
    }

    /// Where it is, for kernels.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Copies `bytes` there and waits.
    ///
    /// # Errors
    /// The driver fails.
    pub fn fill(&self, bytes: &[u8]) -> Result<(), GpuError> {
        self.gpu.bind()?;
        let bytes = &bytes[..bytes.len().min(self.bytes)];
        // SAFETY: the block holds as many bytes.
        unsafe { result::memcpy_htod_sync(self.address, bytes) }.map_err(driver_failed("cuMemcpyHtoD"))
    }
}

impl DeviceMemory {
    /// Fills it with zeros and waits.
    ///
    /// # Errors
    /// The driver fails.
    pub fn clear(&self) -> Result<(), GpuError> {
        self.fill(&vec![0; self.bytes])
    }
}

impl Drop for DeviceMemory {
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
    /// By copies.
    Copies,
    /// By its own reads and writes of pinned memory, which the GPU of a Jetson does not cache.
    Mapped,
    /// As managed memory, which both sides cache and which is the host's or the device's at a time ([`super::Stream::lend`]).
    Managed,
}

/// A block of pinned host memory, shared by the tensor that fills it and the slot that copies it.
#[derive(Debug)]
struct Pinned {
    at: NonNull<u8>,
    bytes: usize,
    reach: Reach,
    /// Where the device sees it, if it does.
    mapped: Option<u64>,
    gpu: Arc<Gpu>,
}

// SAFETY: the block is plain memory; who may write when is the slot's protocol (filled before it is submitted, read
// after it was waited for).
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

impl Drop for Pinned {
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
pub struct PinnedMemory(Arc<Pinned>);

/// Where a block of pinned memory is; keeps it alive.
#[derive(Clone, Debug)]
pub struct PinnedAddress(Arc<Pinned>);

impl PinnedMemory {
    /// `bytes` of zeros.
    ///
    /// # Errors
    /// The host has no such memory left ([`GpuError::PinnedFull`]), or the device cannot map it.
    pub fn new(gpu: &Arc<Gpu>, bytes: usize, reach: Reach) -> Result<Self, GpuError> {
        gpu.bind()?;
        let bytes = bytes.max(1);
        let (call, pinned) = match reach {
            Reach::Copies => ("cuMemHostAlloc", Some(0)),
            Reach::Mapped => ("cuMemHostAlloc", Some(sys::CU_MEMHOSTALLOC_DEVICEMAP)),
            Reach::Managed => ("cuMemAllocManaged", None),
        };
        // SAFETY: the context is this thread's.
        let made = unsafe {
            match pinned {
                Some(flags) => result::malloc_host(bytes.min(LARGEST), flags),
                // The host's, until a stream lends it to the device.
                None => {
                    result::malloc_managed(bytes.min(LARGEST), sys::CUmemAttach_flags::CU_MEM_ATTACH_HOST)
                        .map(|address| address as *mut std::ffi::c_void)
                }
            }
        };
        let at = made.map_err(|error| match error.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => GpuError::PinnedFull { wanted: bytes as u64 },
            _ => driver_failed(call)(error),
        })?;
        let at = NonNull::new(at.cast::<u8>()).ok_or_else(|| driver_gave_nothing(call, bytes))?;
        // SAFETY: the block has that many bytes, and is nobody else's yet.
        unsafe { at.as_ptr().write_bytes(0, bytes) };
        let mut block = Pinned {
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
        // SAFETY: the block lives as long as `self`, and while a tensor is looked at no copy into it is under way.
        unsafe { std::slice::from_raw_parts(self.0.at.as_ptr(), self.0.bytes) }
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; there is one `PinnedMemory` a block, and `PinnedAddress` gives no references.
        unsafe { std::slice::from_raw_parts_mut(self.0.at.as_ptr(), self.0.bytes) }
    }
}

impl PinnedAddress {
    /// Its size.
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }
    /// How the device gets at it.
    pub fn reach(&self) -> Reach {
        self.0.reach
    }
    /// Where the device sees it; none if it only copies.
    pub fn mapped(&self) -> Option<u64> {
        self.0.mapped
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
        let fits = |block: &DeviceMemory| block.bytes() == bytes.len().max(1);
        if !self.blocks.get(name).is_some_and(fits) {
            self.blocks
                .insert(name.to_owned(), DeviceMemory::new(&self.gpu, bytes.len())?);
        }
        let Some(block) = self.blocks.get(name) else {
            return Ok(0);
        };
        block.fill(bytes)?;
        Ok(block.address())
    }
}
