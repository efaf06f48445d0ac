//! CUPTI's version, as it answers itself: whether NVIDIA's profiling library is here and loads. Nothing is profiled.

use std::path::Path;

use libloading::Library;

/// Why CUPTI does not say its version.
#[derive(Debug, thiserror::Error)]
pub enum CuptiError {
    /// The loader does not take the file.
    #[error("{0}")]
    NotLoaded(#[from] libloading::Error),
    /// It is something else.
    #[error("it has no function cuptiGetVersion")]
    NotCupti,
    /// It answers an error.
    #[error("cuptiGetVersion failed with {code}")]
    Failed {
        /// CUPTI's error code, a `CUptiResult`.
        code: i32,
    },
}

/// Loads the library and asks for its version, as 24 for that of CUDA 12.6.
///
/// # Errors
/// It cannot be loaded, or is no CUPTI.
pub fn cupti_version(library: &Path) -> Result<u32, CuptiError> {
    // SAFETY: CUPTI's initialisers start nothing; the library stays until the process ends.
    let library = unsafe { Library::new(library) }?;
    let library = std::mem::ManuallyDrop::new(library);
    // SAFETY: `CUptiResult cuptiGetVersion(uint32_t *)` in every release of cupti_version.h.
    let version = unsafe { library.get::<unsafe extern "C" fn(*mut u32) -> i32>(b"cuptiGetVersion\0") };
    let version = version.map_err(|_| CuptiError::NotCupti)?;
    let mut number = 0;
    // SAFETY: it writes one number.
    match unsafe { version(&raw mut number) } {
        0 => Ok(number),
        code => Err(CuptiError::Failed { code }),
    }
}
