//! CUPTI's version, as it answers itself: whether NVIDIA's profiling library is here and loads. Nothing is profiled.

use std::path::Path;

use libloading::Library;

/// Loads the library and asks for its version, as 24 for that of CUDA 12.6.
///
/// # Errors
/// The loader's words, or that it is no CUPTI.
pub fn cupti_version(library: &Path) -> Result<u32, String> {
    // SAFETY: CUPTI's initialisers start nothing; the library stays until the process ends.
    let library = unsafe { Library::new(library) }.map_err(|error| error.to_string())?;
    let library = std::mem::ManuallyDrop::new(library);
    // SAFETY: `CUptiResult cuptiGetVersion(uint32_t *)` in every release of cupti_version.h.
    let version = unsafe { library.get::<unsafe extern "C" fn(*mut u32) -> i32>(b"cuptiGetVersion\0") };
    let version = version.map_err(|_| "it has no function cuptiGetVersion".to_owned())?;
    let mut number = 0;
    // SAFETY: it writes one number.
    match unsafe { version(&raw mut number) } {
        0 => Ok(number),
        code => Err(format!("cuptiGetVersion failed with {code}")),
    }
}
