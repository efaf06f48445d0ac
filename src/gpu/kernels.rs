//! Kernels of our own: compiled code loaded into the device's context, and launches.
//!
//! A [`Module`] is code that [`super::Nvrtc`] made of a file in `kernels/`; a kernel holds its module. Which memory a kernel
//! touches only its wrapper knows ([`super::LoadKernel`], [`super::Scatter`], …), so launching is theirs, and nobody else can launch anything.

use std::ffi::{CStr, c_uint, c_void};
use std::sync::Arc;

use cudarc::driver::{result, sys};

use super::device::driver_failed;
use super::stream::Stream;
use super::{Gpu, GpuError};

/// Threads of a block of every kernel here.
pub(super) const BLOCK: u32 = 256;
/// More than any kernel here takes.
const MOST_ARGUMENTS: usize = 12;

/// A source that is compiled at run time, and the name that messages have for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelSource {
    /// Name of the source file.
    pub name: &'static str,
    /// The source, in CUDA C.
    pub text: &'static str,
}

/// All kernel sources of jetlag.
pub const SOURCES: [KernelSource; 4] = [LOAD, SCATTER, FIT, PILLARS];

/// Loads of one resource each.
pub const LOAD: KernelSource = KernelSource {
    name: "load.cu",
    text: include_str!("kernels/load.cu"),
};

/// Pillar features onto a canvas.
pub const SCATTER: KernelSource = KernelSource {
    name: "scatter.cu",
    text: include_str!("kernels/scatter.cu"),
};

/// An image fitted into a network's input.
pub const FIT: KernelSource = KernelSource {
    name: "fit.cu",
    text: include_str!("kernels/fit.cu"),
};

/// Kernels that sort the points of a sweep into pillars.
pub const PILLARS: KernelSource = KernelSource {
    name: "pillars.cu",
    text: include_str!("kernels/pillars.cu"),
};

/// Compiled code of one source on one device.
#[derive(Debug)]
pub struct Module {
    raw: sys::CUmodule,
    source: KernelSource,
    gpu: Arc<Gpu>,
}

// SAFETY: the driver lets any thread use a module.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Module {
    /// Loads what NVRTC made of `source` for this device: machine code, or PTX that ends with a zero.
    ///
    /// # Safety
    /// `code` is whole, and what NVRTC made of this source: the driver trusts the lengths in it, and [`super::Fit`] and its like
    /// trust its kernels to take the arguments, and to touch the memory, that the source says.
    ///
    /// # Errors
    /// The driver does not take it.
    pub unsafe fn load(gpu: &Arc<Gpu>, source: KernelSource, code: &[u8]) -> Result<Arc<Self>, GpuError> {
        gpu.bind()?;
        let ends = code.starts_with(b"\x7fELF") || code.ends_with(b"\0");
        if !ends {
            return Err(GpuError::Driver {
                call: "cuModuleLoadData",
                problem: format!("{} bytes of code without an end", code.len()),
            });
        }
        // SAFETY: an ELF file states its own length, and is whole as the caller vouches; PTX ends with a zero, as was just asked.
        let raw = unsafe { result::module::load_data(code.as_ptr().cast()) }
            .map_err(driver_failed("cuModuleLoadData"))?;
        Ok(Arc::new(Self {
            raw,
            source,
            gpu: Arc::clone(gpu),
        }))
    }

    /// The GPU that they were compiled for.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// The source that it was made of.
    pub fn source(&self) -> KernelSource {
        self.source
    }

    pub(super) fn kernel(self: &Arc<Self>, name: &CStr) -> Result<Kernel, GpuError> {
        self.gpu.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the module is alive, and the name ends with a zero.
        unsafe { sys::cuModuleGetFunction(&raw mut raw, self.raw, name.as_ptr()) }
            .result()
            .map_err(driver_failed("cuModuleGetFunction"))?;
        Ok(Kernel {
            raw,
            module: Arc::clone(self),
        })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        let _ = self.gpu.synchronize();
        // SAFETY: made by us, its kernels hold it, and no launch of theirs is under way.
        let _ = unsafe { result::module::unload(self.raw) };
    }
}

/// A kernel that is loaded and can be launched.
#[derive(Debug)]
pub(super) struct Kernel {
    raw: sys::CUfunction,
    module: Arc<Module>,
}

// SAFETY: the driver lets any thread launch a kernel.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

impl Kernel {
    pub(super) fn gpu(&self) -> &Arc<Gpu> {
        &self.module.gpu
    }

    /// Enqueues `blocks` blocks of [`BLOCK`] threads; the thread has bound the device.
    ///
    /// # Safety
    /// The arguments are those of the kernel's declaration, each a pointer or `unsigned long long` there, and the memory that it
    /// touches through them is alive until it is done.
    pub(super) unsafe fn launch(
        &self,
        stream: &Stream,
        blocks: u32,
        arguments: &[u64],
    ) -> Result<(), GpuError> {
        assert!(arguments.len() <= MOST_ARGUMENTS, "no kernel here has so many");
        let mut values = [0_u64; MOST_ARGUMENTS];
        values[..arguments.len()].copy_from_slice(arguments);
        let mut pointers = [std::ptr::null_mut::<c_void>(); MOST_ARGUMENTS];
        for (pointer, value) in pointers.iter_mut().zip(&mut values) {
            *pointer = std::ptr::from_mut(value).cast();
        }
        let (grid, block): ((c_uint, c_uint, c_uint), _) = ((blocks.max(1), 1, 1), (BLOCK, 1, 1));
        // SAFETY: there is a value for each parameter, which the driver copies before it returns.
        unsafe { result::launch_kernel(self.raw, grid, block, 0, stream.raw().cast(), &mut pointers) }
            .map_err(driver_failed("cuLaunchKernel"))
    }
}
