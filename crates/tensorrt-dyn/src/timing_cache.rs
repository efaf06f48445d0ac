//! `ITimingCache`: measured kernel times, kept between builds.

use std::sync::Arc;

use crate::NotSync;
use crate::error::Result;
use crate::memory::HostMemory;
use crate::object::{Owned, check, object};
use crate::sys::slots_builder::timing_cache;

/// Kernel timings of one GPU and release. It outlives the configurations that it is given to.
#[derive(Debug)]
pub struct TimingCache {
    pub(crate) object: Arc<Owned>,
    not_sync: NotSync,
}

impl TimingCache {
    pub(crate) fn new(object: Owned) -> Self {
        Self {
            object: Arc::new(object),
            not_sync: NotSync::default(),
        }
    }

    /// The cache as bytes, for the next build.
    ///
    /// # Errors
    /// The library refuses.
    pub fn serialize(&self) -> Result<HostMemory> {
        let memory = object!(self.object, timing_cache::SERIALIZE)?;
        // SAFETY: made for us.
        HostMemory::new(unsafe { Owned::new(memory) })
    }

    /// Takes over the timings of another cache; `ignore_mismatch` takes those of another GPU too.
    ///
    /// # Errors
    /// The caches are of different GPUs or releases.
    pub fn combine(&self, other: &Self, ignore_mismatch: bool) -> Result<()> {
        check!(
            self.object,
            timing_cache::COMBINE,
            self.object.taking("a timing cache", &other.object)?.cast_const(),
            ignore_mismatch
        )
    }

    /// Forgets all timings.
    ///
    /// # Errors
    /// The library refuses.
    pub fn reset(&self) -> Result<()> {
        check!(self.object, timing_cache::RESET)
    }
}
