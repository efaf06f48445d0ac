//! cuBLAS: products of matrices by NVIDIA's own library, which show what a device computes at most.
//!
//! The library comes with the CUDA toolkit and is found by its name; nothing is linked. The functions here keep their types
//! since CUDA 11.0, the oldest release that is looked for.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use libloading::Library;

use super::memory::DeviceMemory;
use super::stream::Stream;
use super::toolkit::Names;
use super::{Gpu, GpuError};

/// Why there is no product.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BlasError {
    /// The library was not found.
    #[error(
        "cuBLAS was not found (looked for {}). It comes with the CUDA toolkit: package libcublas-12-6 or nvidia-cublas-cu12 (pip) for your driver's release; on a Jetson libcublas, part of nvidia-jetpack. Set JETLAG_CUBLAS to the library or its folder",
        looked.join(", ")
    )]
    Missing {
        /// Names and files, in order.
        looked: Vec<String>,
    },
    /// A library that is not cuBLAS.
    #[error("{library} has no function {function}: it is not cuBLAS of CUDA 11.0 or newer")]
    NoFunction {
        /// The library file that was loaded.
        library: String,
        /// Name of the missing function.
        function: &'static str,
    },
    /// The device, or this release, does not compute with such numbers.
    #[error("cuBLAS {version} does not compute this on the device ({status})")]
    NotSupported {
        /// cuBLAS's release, such as `12.9.1`.
        version: String,
        /// Its answer.
        status: &'static str,
    },
    /// Any other call that failed.
    #[error("cuBLAS {version} failed at {call}: status {status}")]
    Failed {
        /// cuBLAS's release, such as `12.9.1`.
        version: String,
        /// Name of the function that failed.
        call: &'static str,
        /// `cublasStatus_t`.
        status: c_int,
    },
    /// A block is smaller than its matrix.
    #[error("a matrix of {wanted} bytes is in a block of {found}")]
    TooShort {
        /// Bytes of the matrix.
        wanted: usize,
        /// Bytes of the block.
        found: usize,
    },
    /// The driver fails.
    #[error(transparent)]
    Gpu(#[from] GpuError),
}

/// What the numbers of a product are, and what sums are kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// 32 bits, nothing rounded away.
    Fp32,
    /// 32 bits, which tensor cores multiply with 10 bits of mantissa.
    Tf32,
    /// 16 bits, sums of 32.
    Fp16,
    /// 16 bits, sums too.
    Fp16Sums16,
    /// Integers of 8 bits, sums of 32.
    Int8,
}

/// What cuBLAS calls them.
struct Types {
    factor: c_int,
    result: c_int,
    compute: c_int,
}

impl Numbers {
    /// Bytes of an element of a factor, and of the result.
    pub fn widths(self) -> (usize, usize) {
        match self {
            Numbers::Fp32 | Numbers::Tf32 => (4, 4),
            Numbers::Fp16 | Numbers::Fp16Sums16 => (2, 2),
            Numbers::Int8 => (1, 4),
        }
    }

    fn types(self) -> Types {
        // cudaDataType: CUDA_R_32F 0, CUDA_R_16F 2, CUDA_R_8I 3, CUDA_R_32I 10. cublasComputeType_t: 16F 64, 32F 68, 32I 72,
        // 32F_FAST_TF32 77.
        let (factor, result, compute) = match self {
            Numbers::Fp32 => (0, 0, 68),
            Numbers::Tf32 => (0, 0, 77),
            Numbers::Fp16 => (2, 2, 68),
            Numbers::Fp16Sums16 => (2, 2, 64),
            Numbers::Int8 => (3, 10, 72),
        };
        Types {
            factor,
            result,
            compute,
        }
    }

    /// 1 and 0 as the scalars of such a product, in the first bytes of a word.
    fn one_and_zero(self) -> (u32, u32) {
        match self {
            Numbers::Fp32 | Numbers::Tf32 | Numbers::Fp16 => (1.0_f32.to_bits(), 0),
            Numbers::Fp16Sums16 => (0x3c00, 0),
            Numbers::Int8 => (1, 0),
        }
    }
}

type Handle = *mut c_void;
type Create = unsafe extern "C" fn(*mut Handle) -> c_int;
type Destroy = unsafe extern "C" fn(Handle) -> c_int;
type SetStream = unsafe extern "C" fn(Handle, *mut c_void) -> c_int;
type GetProperty = unsafe extern "C" fn(c_int, *mut c_int) -> c_int;
type GemmEx = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_void,
    *const c_void,
    c_int,
    c_int,
    *const c_void,
    c_int,
    c_int,
    *const c_void,
    *mut c_void,
    c_int,
    c_int,
    c_int,
    c_int,
) -> c_int;

const NAMES: Names = Names {
    by_major: &[
        (11, "libcublas.so.11"),
        (12, "libcublas.so.12"),
        (13, "libcublas.so.13"),
        (14, "libcublas.so.14"),
    ],
    plain: "libcublas.so",
    variable: "JETLAG_CUBLAS",
};
const TRANSPOSED: c_int = 1;
const AS_IT_IS: c_int = 0;
/// CUBLAS_GEMM_DEFAULT: the library chooses.
const ITS_CHOICE: c_int = -1;

/// cuBLAS on one device. One thread uses it at a time.
pub struct Blas {
    handle: Handle,
    version: String,
    destroy: Destroy,
    set_stream: SetStream,
    gemm: GemmEx,
    gpu: Arc<Gpu>,
    /// Keeps the functions' addresses valid.
    _library: Library,
}

impl std::fmt::Debug for Blas {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cuBLAS {}", self.version)
    }
}

impl Blas {
    /// Finds the library that fits the driver: in `JETLAG_CUBLAS` (a file or a folder), else by name and in the toolkit's folder.
    ///
    /// # Errors
    /// There is none, what there is is not cuBLAS, or it finds no room on the device.
    pub fn find(gpu: &Arc<Gpu>) -> Result<Self, BlasError> {
        gpu.bind()?;
        let mut looked = Vec::new();
        for path in NAMES.candidates(gpu.device().driver_cuda, None) {
            // SAFETY: cuBLAS's library runs nothing of note when it is loaded.
            match unsafe { Library::new(&path) } {
                Ok(library) => return Self::over(library, &path.display().to_string(), gpu),
                Err(_) => looked.push(path.display().to_string()),
            }
        }
        Err(BlasError::Missing { looked })
    }

    fn over(library: Library, shown: &str, gpu: &Arc<Gpu>) -> Result<Self, BlasError> {
        let create: Create = function(&library, shown, "cublasCreate_v2\0")?;
        let get_property: GetProperty = function(&library, shown, "cublasGetProperty\0")?;
        // MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL
        let parts = [0, 1, 2].map(|property| {
            let mut value = 0;
            // SAFETY: writes one number.
            let _ = unsafe { get_property(property, &raw mut value) };
            value.to_string()
        });
        let mut blas = Blas {
            handle: std::ptr::null_mut(),
            version: parts.join("."),
            destroy: function(&library, shown, "cublasDestroy_v2\0")?,
            set_stream: function(&library, shown, "cublasSetStream_v2\0")?,
            gemm: function(&library, shown, "cublasGemmEx\0")?,
            gpu: Arc::clone(gpu),
            _library: library,
        };
        // SAFETY: the device's context is this thread's; one handle is written.
        let made = unsafe { create(&raw mut blas.handle) };
        blas.check(made, "cublasCreate")?;
        Ok(blas)
    }

    /// Its release, such as `12.9.1`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Enqueues `c = aᵀ · b`, square matrices of `size` rows. The thread has bound the device.
    ///
    /// # Errors
    /// [`BlasError::NotSupported`] where the device does not compute with such numbers; a block is too short; cuBLAS fails.
    pub fn product(
        &mut self,
        stream: &Stream,
        numbers: Numbers,
        size: u16,
        factors: [&DeviceMemory; 2],
        result: &DeviceMemory,
    ) -> Result<(), BlasError> {
        let elements = usize::from(size) * usize::from(size);
        let (of_factor, of_result) = numbers.widths();
        for (block, width) in [
            (factors[0], of_factor),
            (factors[1], of_factor),
            (result, of_result),
        ] {
            if block.bytes() < elements * width {
                return Err(BlasError::TooShort {
                    wanted: elements * width,
                    found: block.bytes(),
                });
            }
        }
        // SAFETY: both are alive, and of this device's context.
        let set = unsafe { (self.set_stream)(self.handle, stream.raw()) };
        self.check(set, "cublasSetStream")?;
        let (one, zero) = numbers.one_and_zero();
        let types = numbers.types();
        let size = c_int::from(size);
        let at = |block: &DeviceMemory| block.address() as *mut c_void;
        // SAFETY: every matrix is within its block, as checked above, and blocks wait for the device before they are freed. The
        // scalars are of the type that the computation has, and read before the call returns.
        let enqueued = unsafe {
            (self.gemm)(
                self.handle,
                TRANSPOSED,
                AS_IT_IS,
                size,
                size,
                size,
                (&raw const one).cast(),
                at(factors[0]),
                types.factor,
                size,
                at(factors[1]),
                types.factor,
                size,
                (&raw const zero).cast(),
                at(result),
                types.result,
                size,
                types.compute,
                ITS_CHOICE,
            )
        };
        self.check(enqueued, "cublasGemmEx")
    }

    fn check(&self, status: c_int, call: &'static str) -> Result<(), BlasError> {
        let version = || self.version.clone();
        match status {
            0 => Ok(()),
            8 => Err(BlasError::NotSupported {
                version: version(),
                status: "CUBLAS_STATUS_ARCH_MISMATCH",
            }),
            15 => Err(BlasError::NotSupported {
                version: version(),
                status: "CUBLAS_STATUS_NOT_SUPPORTED",
            }),
            status => Err(BlasError::Failed {
                version: version(),
                call,
                status,
            }),
        }
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        if !self.handle.is_null() && self.gpu.synchronize().is_ok() {
            // SAFETY: made by us, nothing of it is under way, and it is used no more.
            let _ = unsafe { (self.destroy)(self.handle) };
        }
    }
}

/// A function by its name, which ends with a zero.
fn function<F: Copy>(library: &Library, shown: &str, name: &'static str) -> Result<F, BlasError> {
    // SAFETY: the type is that of cublas_api.h since CUDA 11.0.
    let found = unsafe { library.get::<F>(name.as_bytes()) };
    found.map(|found| *found).map_err(|_| BlasError::NoFunction {
        library: shown.to_owned(),
        function: name.trim_end_matches('\0'),
    })
}
