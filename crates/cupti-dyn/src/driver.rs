//! The CUDA driver's library: CUPTI is entered only where it can be loaded.
//!
//! Without it CUPTI 13.2 crashes at its first call, and later ones answer an error to everything. Nothing is asked of it
//! but its version, which takes no `cuInit`.

use std::ffi::c_int;

use libloading::os::unix::{Library as Handle, RTLD_LAZY, RTLD_LOCAL};

use crate::error::{Error, Result};

/// The name that every driver's library has.
const NAME: &str = "libcuda.so.1";

/// A driver that is loaded, and stays so until the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driver {
    version: u32,
}

impl Driver {
    /// Loads it.
    ///
    /// # Errors
    /// It is not there, or is not the driver.
    pub fn open() -> Result<Self> {
        let absent = |reason: String| Error::NoDriver { reason };
        // SAFETY: loading the driver's library runs its initialisers and nothing else; every CUDA program does it.
        let handle = unsafe { Handle::open(Some(NAME), RTLD_LAZY | RTLD_LOCAL) };
        let handle = handle.map_err(|error| absent(crate::loading::words(NAME.as_ref(), &error)))?;
        // SAFETY: the function has this type in every driver.
        let get = unsafe { handle.get::<unsafe extern "C" fn(*mut c_int) -> c_int>(b"cuDriverGetVersion") };
        let get = *get.map_err(|_| absent("it has no cuDriverGetVersion".into()))?;
        let mut version = 0;
        // SAFETY: as above; the number lives through the call.
        let status = unsafe { get(&mut version) };
        // CUPTI opens it too and keeps pointers into it.
        std::mem::forget(handle);
        match (status, u32::try_from(version)) {
            (0, Ok(version @ 1..)) => Ok(Self { version }),
            _ => Err(absent(format!(
                "cuDriverGetVersion answers {status} and version {version}"
            ))),
        }
    }

    /// The newest CUDA that it knows, as 13000.
    #[must_use]
    pub fn version(self) -> u32 {
        self.version
    }

    /// The major of that.
    #[must_use]
    pub fn major(self) -> u32 {
        self.version / 1000
    }
}
