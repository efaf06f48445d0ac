//! What a tracer is told of a frame's way, in a traced phase alone: which frame a thread works for.
//!
//! In every other phase there is nobody to tell, and a step costs one comparison with that.

use crate::record::FrameRecord;

/// Whoever is told.
pub trait Marks: Send + Sync {
    /// From now on this thread works for this frame.
    fn begin(&self, tenant: u16, frame: u64);
    /// It does so no more.
    fn end(&self);
}

/// While it lives, this thread works for a frame.
pub(super) struct Mark<'a>(Option<&'a dyn Marks>);

impl<'a> Mark<'a> {
    /// Tells it, if somebody wants to know.
    pub(super) fn of(marks: Option<&'a dyn Marks>, frame: &FrameRecord) -> Self {
        if let Some(marks) = marks {
            marks.begin(frame.tenant, frame.sequence);
        }
        Mark(marks)
    }
}

impl Drop for Mark<'_> {
    fn drop(&mut self) {
        if let Some(marks) = self.0 {
            marks.end();
        }
    }
}
