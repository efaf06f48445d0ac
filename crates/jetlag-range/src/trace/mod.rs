//! Ranges for NVIDIA's profilers (NVTX), so that a timeline of the device shows whose frame it works for.
//!
//! With the feature `nvtx`, and only while a tool has asked for them, each stage of a frame is a range on the thread that
//! does it, in a domain named `jetlag`: `camera 17 preprocess`, with the frame's number as payload and a category for each
//! tenant. Without the feature, everything here does nothing and is compiled to nothing. How a tool is found and spoken to
//! is the affair of `nvtx`; jetlag's own stage times never come from here.

#[cfg(any(feature = "nvtx", test))]
mod name;
#[cfg(feature = "nvtx")]
mod nvtx;

use jetlag_record::FrameRecord;

/// Whose range it is.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "nvtx"), allow(dead_code, reason = "nothing is traced"))]
pub struct Traced<'a> {
    /// Position in the scenario.
    pub tenant: u16,
    /// The name that a profiler shows.
    pub name: &'a str,
    /// Number of the frame.
    pub frame: u64,
}

/// The ranges of a frame of the tenant of this name.
#[inline(always)]
pub fn traced<'a>(frame: &FrameRecord, name: &'a str) -> Traced<'a> {
    Traced {
        tenant: frame.tenant,
        name,
        frame: frame.sequence,
    }
}

impl Traced<'_> {
    /// A stage begins on this thread; it ends with the guard, which stays on it.
    #[inline(always)]
    pub fn stage(self, _stage: &str) -> Stage {
        #[cfg(feature = "nvtx")]
        nvtx::push_stage(self, _stage);
        Stage(std::marker::PhantomData)
    }
}

/// A stage under way.
#[must_use = "the stage ends when this is dropped"]
#[derive(Debug)]
pub struct Stage(std::marker::PhantomData<*const ()>);

#[cfg(feature = "nvtx")]
impl Drop for Stage {
    #[inline(always)]
    fn drop(&mut self) {
        nvtx::pop();
    }
}

/// A range of this name begins on this thread.
#[inline(always)]
pub fn push(_name: &str) {
    #[cfg(feature = "nvtx")]
    nvtx::push(_name);
}

/// The range that began last on this thread ends.
#[inline(always)]
pub fn pop() {
    #[cfg(feature = "nvtx")]
    nvtx::pop();
}
