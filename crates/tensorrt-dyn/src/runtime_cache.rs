//! `IRuntimeConfig` (10.11 and later) and `IRuntimeCache` (RTX): how a context is made.
//!
//! TensorRT-RTX compiles kernels on the target GPU when a context is made; the runtime cache keeps them for the
//! next process.

use std::sync::Arc;

use crate::NotSync;
use crate::engine::EngineInner;
use crate::error::Result;
use crate::memory::HostMemory;
use crate::object::{Owned, call, check, object};
use crate::sys::slots_runtime::{runtime_cache, runtime_config};
use crate::sys::values::{AllocationStrategy, CudaGraphStrategy, KernelSpecialization};

/// How contexts of an engine are made, beyond their memory.
#[derive(Debug)]
pub struct RuntimeConfig {
    pub(crate) object: Arc<Owned>,
    cache: Option<Arc<Owned>>,
    engine: Arc<EngineInner>,
    not_sync: NotSync,
}

/// Kernels that TensorRT-RTX compiled for the GPU at hand.
#[derive(Debug)]
pub struct RuntimeCache {
    object: Arc<Owned>,
    _engine: Arc<EngineInner>,
    not_sync: NotSync,
}

impl RuntimeConfig {
    pub(crate) fn new(object: Owned, engine: Arc<EngineInner>) -> Self {
        Self {
            object: Arc::new(object),
            cache: None,
            engine,
            not_sync: NotSync::default(),
        }
    }

    /// What a context made with this must keep.
    pub(crate) fn kept(&self) -> Vec<Arc<Owned>> {
        self.cache.iter().chain([&self.object]).map(Arc::clone).collect()
    }

    /// Who allocates activation memory.
    ///
    /// # Errors
    /// Only if the release lacks the value.
    #[doc(alias = "setExecutionContextAllocationStrategy")]
    pub fn set_allocation_strategy(&self, strategy: AllocationStrategy) -> Result<()> {
        let library = self.object.library();
        let value = library.value(strategy.value(library.version()), strategy.name())?;
        call!(
            self.object,
            runtime_config::SET_EXECUTION_CONTEXT_ALLOCATION_STRATEGY,
            value
        )
    }

    /// Who allocates activation memory.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getExecutionContextAllocationStrategy")]
    pub fn allocation_strategy(&self) -> Result<Option<AllocationStrategy>> {
        let value = call!(
            self.object,
            runtime_config::GET_EXECUTION_CONTEXT_ALLOCATION_STRATEGY
        )?;
        Ok(AllocationStrategy::from_value(
            value,
            self.object.library().version(),
        ))
    }

    /// An empty cache of compiled kernels (RTX only).
    ///
    /// # Errors
    /// The release has none.
    #[doc(alias = "createRuntimeCache")]
    pub fn create_runtime_cache(&self) -> Result<RuntimeCache> {
        let cache = object!(self.object, runtime_config::CREATE_RUNTIME_CACHE)?;
        // SAFETY: made for us.
        let object = unsafe { Owned::new(cache) };
        Ok(RuntimeCache {
            object: Arc::new(object),
            _engine: Arc::clone(&self.engine),
            not_sync: NotSync::default(),
        })
    }

    /// Uses a cache of compiled kernels, and fills it (RTX only).
    ///
    /// # Errors
    /// The release has none, or refuses it.
    #[doc(alias = "setRuntimeCache")]
    pub fn set_runtime_cache(&mut self, cache: &RuntimeCache) -> Result<()> {
        check!(
            self.object,
            runtime_config::SET_RUNTIME_CACHE,
            self.object.taking("a cache", &cache.object)?.cast_const()
        )?;
        self.cache = Some(Arc::clone(&cache.object));
        Ok(())
    }

    /// When kernels are specialised for dynamic shapes (RTX only).
    ///
    /// # Errors
    /// The release has no such option.
    #[doc(alias = "setDynamicShapesKernelSpecializationStrategy")]
    pub fn set_kernel_specialization(&self, strategy: KernelSpecialization) -> Result<()> {
        let library = self.object.library();
        let value = library.value(strategy.value(library.version()), strategy.name())?;
        call!(
            self.object,
            runtime_config::SET_DYNAMIC_SHAPES_KERNEL_SPECIALIZATION_STRATEGY,
            value
        )
    }

    /// Whether the library captures CUDA graphs by itself (RTX only).
    ///
    /// # Errors
    /// The release has no such option, or refuses it.
    #[doc(alias = "setCudaGraphStrategy")]
    pub fn set_cuda_graph_strategy(&self, strategy: CudaGraphStrategy) -> Result<()> {
        let library = self.object.library();
        let value = library.value(strategy.value(library.version()), strategy.name())?;
        check!(self.object, runtime_config::SET_CUDA_GRAPH_STRATEGY, value)
    }
}

impl RuntimeCache {
    /// The cache as bytes, for the next process.
    ///
    /// # Errors
    /// The library refuses.
    pub fn serialize(&self) -> Result<HostMemory> {
        let memory = object!(self.object, runtime_cache::SERIALIZE)?;
        // SAFETY: made for us.
        HostMemory::new(unsafe { Owned::new(memory) })
    }

    /// Reads the bytes of an earlier cache.
    ///
    /// # Errors
    /// They are damaged, or of another GPU or release.
    pub fn deserialize(&self, bytes: &[u8]) -> Result<()> {
        check!(
            self.object,
            runtime_cache::DESERIALIZE,
            bytes.as_ptr().cast(),
            bytes.len() as u64
        )
    }

    /// Forgets all kernels.
    ///
    /// # Errors
    /// The library refuses.
    pub fn reset(&self) -> Result<()> {
        check!(self.object, runtime_cache::RESET)
    }
}
