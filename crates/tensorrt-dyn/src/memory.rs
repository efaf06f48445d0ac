//! `IHostMemory`: bytes that the library allocated (plans, caches).

use std::fmt;

use crate::error::Result;
use crate::object::{Owned, call};
use crate::sys::slots_runtime::host_memory;

/// Bytes that belong to the library until this is dropped.
pub struct HostMemory {
    object: Owned,
}

/// An engine as bytes: what is kept in a file and loaded again.
pub type Plan = HostMemory;

impl HostMemory {
    pub(crate) fn new(object: Owned) -> Result<Self> {
        // Both methods exist in every release; asked once, so that `bytes` cannot fail.
        call!(object, host_memory::DATA)?;
        call!(object, host_memory::SIZE)?;
        Ok(Self { object })
    }

    /// The bytes, which live as long as this.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        let data = call!(self.object, host_memory::DATA).unwrap_or(std::ptr::null_mut());
        let size = call!(self.object, host_memory::SIZE).unwrap_or(0);
        match usize::try_from(size) {
            // SAFETY: the library's block is `size` bytes, constant, and alive as long as the object.
            Ok(size) if !data.is_null() => unsafe { std::slice::from_raw_parts(data.cast(), size) },
            _ => &[],
        }
    }
}

impl AsRef<[u8]> for HostMemory {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

impl fmt::Debug for HostMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostMemory")
            .field("bytes", &self.bytes().len())
            .finish()
    }
}
