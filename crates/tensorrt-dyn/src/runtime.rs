//! `IRuntime`: loads plans.

use std::sync::Arc;

use crate::NotSync;
use crate::engine::Engine;
use crate::error::Result;
use crate::object::{Owned, call, check, object};
use crate::sys::slots_runtime::runtime;
use crate::sys::values::EngineValidity;
use crate::version::Version;

/// Loads plans. Engines keep it alive.
#[derive(Debug)]
pub struct Runtime {
    object: Arc<Owned>,
    not_sync: NotSync,
}

/// What TensorRT-RTX says of a plan before it is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanValidity {
    /// Whether it can be loaded here; `None` for an answer that this build does not know.
    pub validity: Option<EngineValidity>,
    /// Why not, as bits: 1 version, 2 compute capability, 4 driver too old, 8 CUDA runtime too old, 16 GPU memory,
    /// 32 malformed, 64 a CUDA error. Invalid with no bit set means that there is no driver to ask.
    pub diagnostics: u64,
}

impl PlanValidity {
    /// The diagnostics in words.
    #[must_use]
    pub fn reasons(&self) -> Vec<&'static str> {
        const WORDS: [&str; 7] = [
            "it was built by another version",
            "it was built for another compute capability",
            "the CUDA driver is too old",
            "the CUDA runtime is too old",
            "the GPU has too little memory",
            "it is malformed",
            "CUDA reported an error",
        ];
        let mut reasons: Vec<_> = (0..WORDS.len())
            .filter(|bit| self.diagnostics >> bit & 1 == 1)
            .map(|bit| WORDS[bit])
            .collect();
        if self.validity == Some(EngineValidity::Invalid) && reasons.is_empty() {
            reasons.push("there is no CUDA driver to check it with");
        }
        reasons
    }
}

impl Runtime {
    pub(crate) fn new(object: Owned) -> Self {
        Self {
            object: Arc::new(object),
            not_sync: NotSync::default(),
        }
    }

    /// The version of the library that made it.
    #[must_use]
    pub fn version(&self) -> Version {
        self.object.library().version()
    }

    /// Loads a plan.
    ///
    /// # Errors
    /// The plan is of another version, for another GPU, damaged, or there is no GPU; in the library's words.
    #[doc(alias = "deserializeCudaEngine")]
    pub fn engine(&self, plan: &[u8]) -> Result<Engine> {
        let (data, size) = (plan.as_ptr().cast(), plan.len() as u64);
        let engine = if self.object.has(&runtime::DESERIALIZE_ENGINE_8) {
            object!(
                self.object,
                runtime::DESERIALIZE_ENGINE_8,
                data,
                size,
                std::ptr::null_mut()
            )?
        } else {
            object!(self.object, runtime::DESERIALIZE_ENGINE, data, size)?
        };
        // SAFETY: made for us.
        Ok(Engine::new(
            unsafe { Owned::new(engine) },
            Arc::clone(&self.object),
        ))
    }

    /// Whether a plan could be loaded here, from its first [`Self::plan_header_size`] bytes or more (RTX only).
    ///
    /// # Errors
    /// The release has no such call.
    #[doc(alias = "getEngineValidity")]
    pub fn plan_validity(&self, plan: &[u8]) -> Result<PlanValidity> {
        let mut diagnostics = 0;
        let size = i64::try_from(plan.len()).unwrap_or(i64::MAX);
        let value = call!(
            self.object,
            runtime::GET_ENGINE_VALIDITY,
            plan.as_ptr().cast(),
            size,
            &raw mut diagnostics
        )?;
        Ok(PlanValidity {
            validity: EngineValidity::from_value(value, self.version()),
            diagnostics,
        })
    }

    /// How many bytes of a plan [`Self::plan_validity`] needs (RTX only).
    ///
    /// # Errors
    /// The release has no such call.
    #[doc(alias = "getEngineHeaderSize")]
    pub fn plan_header_size(&self) -> Result<i64> {
        call!(self.object, runtime::GET_ENGINE_HEADER_SIZE)
    }

    /// Number of deep-learning accelerators.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getNbDLACores")]
    pub fn dla_cores(&self) -> Result<i32> {
        call!(self.object, runtime::GET_NB_DLA_CORES)
    }

    /// The deep-learning accelerator that engines loaded from now on use.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "setDLACore")]
    pub fn set_dla_core(&self, core: i32) -> Result<()> {
        call!(self.object, runtime::SET_DLA_CORE, core)
    }

    /// The deep-learning accelerator in use, -1 for none.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getDLACore")]
    pub fn dla_core(&self) -> Result<i32> {
        call!(self.object, runtime::GET_DLA_CORE)
    }

    /// Limits the runtime's own threads (this one included).
    ///
    /// # Errors
    /// The library refuses the number.
    #[doc(alias = "setMaxThreads")]
    pub fn set_max_threads(&self, threads: i32) -> Result<()> {
        check!(self.object, runtime::SET_MAX_THREADS, threads)
    }

    /// The limit on the runtime's threads.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getMaxThreads")]
    pub fn max_threads(&self) -> Result<i32> {
        call!(self.object, runtime::GET_MAX_THREADS)
    }

    /// Lets plans run host code that they carry: version-compatible plans hold a lean runtime (8.6 and later).
    ///
    /// # Errors
    /// The release has no version-compatible plans.
    #[doc(alias = "setEngineHostCodeAllowed")]
    pub fn allow_engine_host_code(&self, allowed: bool) -> Result<()> {
        call!(self.object, runtime::SET_ENGINE_HOST_CODE_ALLOWED, allowed)
    }

    /// Whether plans may run host code that they carry.
    ///
    /// # Errors
    /// The release has no version-compatible plans.
    #[doc(alias = "getEngineHostCodeAllowed")]
    pub fn allows_engine_host_code(&self) -> Result<bool> {
        call!(self.object, runtime::GET_ENGINE_HOST_CODE_ALLOWED)
    }

    /// Whether the library kept the logger of this crate (another component of the process may have come first).
    #[must_use]
    pub fn uses_our_logger(&self) -> bool {
        call!(self.object, runtime::GET_LOGGER).is_ok_and(|logger| logger == self.object.library().logger())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_nothing_could_check_is_not_called_bad() {
        let absent = PlanValidity {
            validity: Some(EngineValidity::Invalid),
            diagnostics: 0,
        };
        assert_eq!(absent.reasons(), ["there is no CUDA driver to check it with"]);
        let old = PlanValidity {
            validity: Some(EngineValidity::Invalid),
            diagnostics: 0b101,
        };
        assert_eq!(
            old.reasons(),
            ["it was built by another version", "the CUDA driver is too old"]
        );
        assert!(
            PlanValidity {
                validity: Some(EngineValidity::Valid),
                diagnostics: 0
            }
            .reasons()
            .is_empty()
        );
    }
}
