//! `IEngineInspector`: what a plan keeps of its layers, as text or JSON.

use std::ffi::c_char;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::NotSync;
use crate::callback::text;
use crate::context::ExecutionContext;
use crate::engine::EngineInner;
use crate::error::Result;
use crate::object::{Owned, call, check};
use crate::sys::slots_runtime::inspector;
use crate::sys::values::LayerInformationFormat;

/// Looks into an engine; how much there is to see was decided by the build's profiling verbosity.
#[derive(Debug)]
pub struct Inspector {
    object: Owned,
    _engine: Arc<EngineInner>,
    not_sync: NotSync,
}

/// An inspector that resolves shapes with the help of a context.
#[derive(Debug)]
pub struct InspectorWithContext<'context> {
    inspector: Inspector,
    context: PhantomData<&'context ExecutionContext>,
}

impl Inspector {
    pub(crate) fn new(object: Owned, engine: Arc<EngineInner>) -> Self {
        Self {
            object,
            _engine: engine,
            not_sync: NotSync::default(),
        }
    }

    /// Lets the inspector resolve dynamic shapes from a context.
    ///
    /// # Errors
    /// The context is of another engine.
    #[doc(alias = "setExecutionContext")]
    pub fn with_context(self, context: &ExecutionContext) -> Result<InspectorWithContext<'_>> {
        check!(
            self.object,
            inspector::SET_EXECUTION_CONTEXT,
            self.object.taking("a context", &context.object)?.cast_const()
        )?;
        Ok(InspectorWithContext {
            inspector: self,
            context: PhantomData,
        })
    }

    /// All layers.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getEngineInformation")]
    pub fn engine_information(&self, format: LayerInformationFormat) -> Result<String> {
        let format = self.format(format)?;
        self.words(call!(self.object, inspector::GET_ENGINE_INFORMATION, format)?)
    }

    /// One layer, by its index in the engine.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getLayerInformation")]
    pub fn layer_information(&self, layer: i32, format: LayerInformationFormat) -> Result<String> {
        let format = self.format(format)?;
        self.words(call!(
            self.object,
            inspector::GET_LAYER_INFORMATION,
            layer,
            format
        )?)
    }

    fn format(&self, format: LayerInformationFormat) -> Result<i32> {
        let library = self.object.library();
        library.value(format.value(library.version()), format.name())
    }

    fn words(&self, words: *const c_char) -> Result<String> {
        // SAFETY: a C string that the inspector owns until the next call.
        Ok(unsafe { text(words) }.into_owned())
    }
}

impl std::ops::Deref for InspectorWithContext<'_> {
    type Target = Inspector;

    fn deref(&self) -> &Inspector {
        &self.inspector
    }
}
