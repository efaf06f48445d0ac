//! A caller's own numbers on calls: pushed before a call, told in a record with the call's correlation.
//!
//! Each thread has a stack for each [`ExternalKind`]; three are free for use: `CUSTOM0` to `CUSTOM2`. Numbers come as records
//! only while `EXTERNAL_CORRELATION` and calls of the runtime or the driver are traced.

use std::marker::PhantomData;

use crate::error::Result;
use crate::library::Library;
use crate::sys::ExternalKind;

/// While it lives, calls of this thread have its number.
#[derive(Debug)]
pub struct Tag {
    library: Library,
    kind: ExternalKind,
    /// It is on this thread's stack.
    _here: PhantomData<*const ()>,
}

impl Library {
    /// Puts a number on this thread's stack until [`Library::pop_tag`] takes it off, where a [`Tag`] cannot be kept.
    ///
    /// # Errors
    /// CUPTI refuses it.
    #[doc(alias = "cuptiActivityPushExternalCorrelationId")]
    pub fn push_tag(self, kind: ExternalKind, id: u64) -> Result<()> {
        // SAFETY: it takes two numbers.
        let status = unsafe { (self.functions().push_external)(kind.0, id) };
        self.check("cuptiActivityPushExternalCorrelationId", status)
    }

    /// Takes the last number of a kind off this thread's stack.
    ///
    /// # Errors
    /// CUPTI refuses; the stack may be empty where the trace ended meanwhile.
    #[doc(alias = "cuptiActivityPopExternalCorrelationId")]
    pub fn pop_tag(self, kind: ExternalKind) -> Result<()> {
        let mut last = 0;
        // SAFETY: the number lives through the call.
        let status = unsafe { (self.functions().pop_external)(kind.0, &mut last) };
        self.check("cuptiActivityPopExternalCorrelationId", status)
    }

    /// Puts a number on this thread's stack until the [`Tag`] is dropped. Those of one kind are dropped in the opposite order.
    ///
    /// # Errors
    /// CUPTI refuses it.
    #[doc(alias = "cuptiActivityPushExternalCorrelationId")]
    pub fn tag(self, kind: ExternalKind, id: u64) -> Result<Tag> {
        self.push_tag(kind, id)?;
        Ok(Tag {
            library: self,
            kind,
            _here: PhantomData,
        })
    }
}

impl Drop for Tag {
    fn drop(&mut self) {
        if let Err(error) = self.library.pop_tag(self.kind) {
            log::debug!("{error}");
        }
    }
}
