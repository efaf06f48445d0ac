//! `ICudaEngine`: a loaded plan, its tensors and profiles, and the contexts that run it.

use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex, PoisonError};

use crate::callback::text;
use crate::context::ExecutionContext;
use crate::error::{Error, Result};
use crate::inspector::Inspector;
use crate::memory::Plan;
use crate::object::{Owned, call, object};
use crate::runtime_cache::RuntimeConfig;
use crate::shape::{Dims, from_dims32, from_dims64, is_valid};
use crate::sys::slots_runtime::engine;
use crate::sys::values::{
    AllocationStrategy, DataType, HardwareCompatibility, ProfileSelector, ProfilingVerbosity, TensorIoMode,
    TensorLocation,
};
use crate::version::Version;

/// A loaded plan; a cheap handle that may be shared between threads.
#[derive(Clone, Debug)]
pub struct Engine {
    pub(crate) inner: Arc<EngineInner>,
}

#[derive(Debug)]
pub(crate) struct EngineInner {
    pub(crate) object: Owned,
    /// Making contexts and inspectors changes the engine; its getters do not.
    changes: Mutex<()>,
    _runtime: Arc<Owned>,
}

/// Who gives a context its activation memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContextMemory {
    /// The library, for the largest shapes, when the context is made.
    #[default]
    Own,
    /// The library, for the profile in use, anew whenever that changes (10.0 and later).
    OnProfileChange,
    /// The caller, through [`ExecutionContext::set_device_memory`]; contexts that never run at the same time can share.
    FromOutside,
}

/// An input or output of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// The tensor's name in the network.
    pub name: CString,
    /// Whether it is read or written.
    pub mode: Option<TensorIoMode>,
    /// The type of its elements; `None` for a type that this build does not know.
    pub data_type: Option<DataType>,
    /// Its shape; -1 where it is dynamic.
    pub shape: Dims,
    /// Where its memory must be.
    pub location: Option<TensorLocation>,
    /// Bytes of one component (-1 if it is not vectorised into components).
    pub bytes_per_component: i32,
    /// Components of one vectorised element (-1 if it is not).
    pub components_per_element: i32,
    /// The dimension that is vectorised (-1 if none is).
    pub vectorized_dimension: i32,
    /// The library's number for the memory layout (0 is linear).
    pub format: i32,
    /// The memory layout in the library's words.
    pub format_description: String,
    /// Whether its values are a shape, read on the host before running.
    pub is_shape: bool,
}

impl Engine {
    pub(crate) fn new(object: Owned, runtime: Arc<Owned>) -> Self {
        Self {
            inner: Arc::new(EngineInner {
                object,
                changes: Mutex::new(()),
                _runtime: runtime,
            }),
        }
    }

    fn object(&self) -> &Owned {
        &self.inner.object
    }

    /// The version of the library that made it.
    #[must_use]
    pub fn version(&self) -> Version {
        self.object().library().version()
    }

    /// A context that runs the engine.
    ///
    /// # Errors
    /// The library refuses (memory, most often), or the release does not know the kind of memory.
    #[doc(alias = "createExecutionContext")]
    #[doc(alias = "createExecutionContextWithoutDeviceMemory")]
    pub fn context(&self, memory: ContextMemory) -> Result<ExecutionContext> {
        let _changes = self.inner.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let strategy = match memory {
            ContextMemory::Own => AllocationStrategy::Static,
            ContextMemory::OnProfileChange => AllocationStrategy::OnProfileChange,
            ContextMemory::FromOutside => AllocationStrategy::UserManaged,
        };
        let context = match (strategy.value(self.version()), memory) {
            (Some(strategy), _) => object!(self.object(), engine::CREATE_EXECUTION_CONTEXT, strategy)?,
            (None, ContextMemory::Own) => object!(self.object(), engine::CREATE_EXECUTION_CONTEXT_8)?,
            (None, ContextMemory::FromOutside) => object!(
                self.object(),
                engine::CREATE_EXECUTION_CONTEXT_WITHOUT_DEVICE_MEMORY
            )?,
            (None, ContextMemory::OnProfileChange) => {
                return Err(Error::MissingValue {
                    value: strategy.name().to_owned(),
                    version: self.version(),
                });
            }
        };
        // SAFETY: made for us.
        ExecutionContext::new(
            unsafe { Owned::new(context) },
            Arc::clone(&self.inner),
            Vec::new(),
        )
    }

    /// A context with the options of a [`RuntimeConfig`] (10.11 and later, RTX).
    ///
    /// # Errors
    /// The release has no such call, or the library refuses.
    #[doc(alias = "createExecutionContextWithRuntimeConfig")]
    pub fn context_with(&self, config: &RuntimeConfig) -> Result<ExecutionContext> {
        let _changes = self.inner.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let context = object!(
            self.object(),
            engine::CREATE_EXECUTION_CONTEXT_WITH_RUNTIME_CONFIG,
            self.object().taking("a configuration", &config.object)?
        )?;
        // SAFETY: made for us.
        ExecutionContext::new(
            unsafe { Owned::new(context) },
            Arc::clone(&self.inner),
            config.kept(),
        )
    }

    /// Options for contexts (10.11 and later, RTX).
    ///
    /// # Errors
    /// The release has none.
    #[doc(alias = "createRuntimeConfig")]
    pub fn runtime_config(&self) -> Result<RuntimeConfig> {
        let _changes = self.inner.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let config = object!(self.object(), engine::CREATE_RUNTIME_CONFIG)?;
        // SAFETY: made for us.
        Ok(RuntimeConfig::new(
            unsafe { Owned::new(config) },
            Arc::clone(&self.inner),
        ))
    }

    /// What the plan keeps of its layers.
    ///
    /// # Errors
    /// The library refuses.
    #[doc(alias = "createEngineInspector")]
    pub fn inspector(&self) -> Result<Inspector> {
        let _changes = self.inner.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let inspector = object!(self.object(), engine::CREATE_ENGINE_INSPECTOR)?;
        // SAFETY: made for us.
        Ok(Inspector::new(
            unsafe { Owned::new(inspector) },
            Arc::clone(&self.inner),
        ))
    }

    /// The plan again, as bytes.
    ///
    /// # Errors
    /// The library refuses.
    pub fn serialize(&self) -> Result<Plan> {
        let plan = object!(self.object(), engine::SERIALIZE)?;
        // SAFETY: made for us.
        Plan::new(unsafe { Owned::new(plan) })
    }

    /// The engine's name, often empty.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getName")]
    pub fn name(&self) -> Result<String> {
        let name = call!(self.object(), engine::GET_NAME)?;
        // SAFETY: a C string that the engine owns.
        Ok(unsafe { text(name) }.into_owned())
    }

    /// Number of layers after fusion.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getNbLayers")]
    pub fn layer_count(&self) -> Result<i32> {
        call!(self.object(), engine::GET_NB_LAYERS)
    }

    /// Number of profiles of input shapes.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getNbOptimizationProfiles")]
    pub fn optimization_profiles(&self) -> Result<i32> {
        call!(self.object(), engine::GET_NB_OPTIMIZATION_PROFILES)
    }

    /// Bytes of activation memory that a context needs for any shape.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getDeviceMemorySizeV2")]
    #[doc(alias = "getDeviceMemorySize")]
    pub fn device_memory_size(&self) -> Result<u64> {
        if self.object().has(&engine::GET_DEVICE_MEMORY_SIZE_V2) {
            let size = call!(self.object(), engine::GET_DEVICE_MEMORY_SIZE_V2)?;
            return Ok(u64::try_from(size).unwrap_or(0));
        }
        call!(self.object(), engine::GET_DEVICE_MEMORY_SIZE)
    }

    /// Bytes of activation memory that a context needs for the shapes of one profile (10.0 and later).
    ///
    /// # Errors
    /// The release does not tell.
    #[doc(alias = "getDeviceMemorySizeForProfileV2")]
    #[doc(alias = "getDeviceMemorySizeForProfile")]
    pub fn device_memory_size_for_profile(&self, profile: i32) -> Result<u64> {
        if self.object().has(&engine::GET_DEVICE_MEMORY_SIZE_FOR_PROFILE_V2) {
            let size = call!(
                self.object(),
                engine::GET_DEVICE_MEMORY_SIZE_FOR_PROFILE_V2,
                profile
            )?;
            return Ok(u64::try_from(size).unwrap_or(0));
        }
        call!(self.object(), engine::GET_DEVICE_MEMORY_SIZE_FOR_PROFILE, profile)
    }

    /// Whether the weights can be replaced.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "isRefittable")]
    pub fn is_refittable(&self) -> Result<bool> {
        call!(self.object(), engine::IS_REFITTABLE)
    }

    /// The library's number for what the engine was restricted to (0 standard, 1 safety, 2 DLA alone).
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getEngineCapability")]
    pub fn capability(&self) -> Result<i32> {
        call!(self.object(), engine::GET_ENGINE_CAPABILITY)
    }

    /// The libraries of kernels in use, as the library's bits.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getTacticSources")]
    pub fn tactic_sources(&self) -> Result<u32> {
        call!(self.object(), engine::GET_TACTIC_SOURCES)
    }

    /// How much of its layers the plan keeps.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getProfilingVerbosity")]
    pub fn profiling_verbosity(&self) -> Result<Option<ProfilingVerbosity>> {
        let value = call!(self.object(), engine::GET_PROFILING_VERBOSITY)?;
        Ok(ProfilingVerbosity::from_value(value, self.version()))
    }

    /// Which other GPUs the plan may run on (8.6 and later).
    ///
    /// # Errors
    /// The release does not tell.
    #[doc(alias = "getHardwareCompatibilityLevel")]
    pub fn hardware_compatibility(&self) -> Result<Option<HardwareCompatibility>> {
        let value = call!(self.object(), engine::GET_HARDWARE_COMPATIBILITY_LEVEL)?;
        Ok(HardwareCompatibility::from_value(value, self.version()))
    }

    /// How many streams beside its own a context uses (8.6 and later).
    ///
    /// # Errors
    /// The release does not tell.
    #[doc(alias = "getNbAuxStreams")]
    pub fn aux_streams(&self) -> Result<i32> {
        call!(self.object(), engine::GET_NB_AUX_STREAMS)
    }

    /// The inputs and outputs, in the engine's order.
    ///
    /// # Errors
    /// Only if the release lacks one of the calls.
    #[doc(alias = "getNbIOTensors")]
    #[doc(alias = "getIOTensorName")]
    pub fn tensors(&self) -> Result<Vec<TensorInfo>> {
        let count = call!(self.object(), engine::GET_NB_IO_TENSORS)?;
        (0..count).map(|index| self.tensor(index)).collect()
    }

    fn tensor(&self, index: i32) -> Result<TensorInfo> {
        let mark = self.object().library().mark();
        let name = call!(self.object(), engine::GET_IO_TENSOR_NAME, index)?;
        if name.is_null() {
            return Err(self.object().failure(engine::GET_IO_TENSOR_NAME.row(), mark));
        }
        // SAFETY: a C string that the engine owns.
        let name = unsafe { CStr::from_ptr(name) }.to_owned();
        let version = self.version();
        let c_name = name.as_ptr();
        let format_description = call!(self.object(), engine::GET_TENSOR_FORMAT_DESC, c_name)?;
        Ok(TensorInfo {
            mode: TensorIoMode::from_value(
                call!(self.object(), engine::GET_TENSOR_IO_MODE, c_name)?,
                version,
            ),
            data_type: DataType::from_value(
                call!(self.object(), engine::GET_TENSOR_DATA_TYPE, c_name)?,
                version,
            ),
            shape: self.tensor_shape(&name)?,
            location: TensorLocation::from_value(
                call!(self.object(), engine::GET_TENSOR_LOCATION, c_name)?,
                version,
            ),
            bytes_per_component: call!(self.object(), engine::GET_TENSOR_BYTES_PER_COMPONENT, c_name)?,
            components_per_element: call!(self.object(), engine::GET_TENSOR_COMPONENTS_PER_ELEMENT, c_name)?,
            vectorized_dimension: call!(self.object(), engine::GET_TENSOR_VECTORIZED_DIM, c_name)?,
            format: call!(self.object(), engine::GET_TENSOR_FORMAT, c_name)?,
            // SAFETY: a C string that the engine owns.
            format_description: unsafe { text(format_description) }.into_owned(),
            is_shape: call!(self.object(), engine::IS_SHAPE_INFERENCE_IO, c_name)?,
            name,
        })
    }

    /// A tensor's shape; -1 where it is dynamic.
    ///
    /// # Errors
    /// There is no such tensor.
    #[doc(alias = "getTensorShape")]
    pub fn tensor_shape(&self, name: &CStr) -> Result<Dims> {
        let (count, shape) = if self.version().era().has_32_bit_dims() {
            let dims = call!(self.object(), engine::GET_TENSOR_SHAPE_8, name.as_ptr())?;
            (dims.count, from_dims32(dims))
        } else {
            let dims = call!(self.object(), engine::GET_TENSOR_SHAPE, name.as_ptr())?;
            (dims.count, from_dims64(dims))
        };
        if is_valid(count) {
            Ok(shape)
        } else {
            Err(self.absent(name))
        }
    }

    /// One of the three shapes of an input in a profile.
    ///
    /// # Errors
    /// There is no such input or profile.
    #[doc(alias = "getProfileShape")]
    pub fn profile_shape(&self, input: &CStr, profile: i32, selector: ProfileSelector) -> Result<Dims> {
        let selector = self
            .object()
            .library()
            .value(selector.value(self.version()), selector.name())?;
        let (count, shape) = if self.version().era().has_32_bit_dims() {
            let dims = call!(
                self.object(),
                engine::GET_PROFILE_SHAPE_8,
                input.as_ptr(),
                profile,
                selector
            )?;
            (dims.count, from_dims32(dims))
        } else {
            let dims = call!(
                self.object(),
                engine::GET_PROFILE_SHAPE,
                input.as_ptr(),
                profile,
                selector
            )?;
            (dims.count, from_dims64(dims))
        };
        if is_valid(count) {
            Ok(shape)
        } else {
            Err(self.absent(input))
        }
    }

    /// One of the three sets of values of a shape input in a profile; `None` for an input that is no shape input
    /// (10.0 and later, RTX; before, only [`Self::profile_shape`] tells of profiles).
    ///
    /// # Errors
    /// The release does not tell, or there is no such input.
    #[doc(alias = "getProfileTensorValuesV2")]
    #[doc(alias = "getProfileTensorValues")]
    pub fn profile_shape_values(
        &self,
        input: &CStr,
        profile: i32,
        selector: ProfileSelector,
    ) -> Result<Option<Vec<i64>>> {
        let selector = self
            .object()
            .library()
            .value(selector.value(self.version()), selector.name())?;
        // The values are as many as the input has elements, which is known: shape inputs have static shapes.
        let count = self
            .tensor_shape(input)?
            .iter()
            .try_fold(1_usize, |count, extent| {
                count.checked_mul(usize::try_from(*extent).ok()?)
            })
            .unwrap_or(0);
        if self.object().has(&engine::GET_PROFILE_TENSOR_VALUES_V2) {
            let values = call!(
                self.object(),
                engine::GET_PROFILE_TENSOR_VALUES_V2,
                input.as_ptr(),
                profile,
                selector
            )?;
            // SAFETY: null, or as many values as the input has elements, which the engine owns.
            let values = (!values.is_null()).then(|| unsafe { std::slice::from_raw_parts(values, count) });
            return Ok(values.map(<[i64]>::to_vec));
        }
        let values = call!(
            self.object(),
            engine::GET_PROFILE_TENSOR_VALUES,
            input.as_ptr(),
            profile,
            selector
        )?;
        // SAFETY: as above.
        let values = (!values.is_null()).then(|| unsafe { std::slice::from_raw_parts(values, count) });
        Ok(values.map(|values| values.iter().map(|value| i64::from(*value)).collect()))
    }

    fn absent(&self, name: &CStr) -> Error {
        let names = self.tensors().unwrap_or_default();
        let names: Vec<_> = names
            .iter()
            .map(|tensor| tensor.name.to_string_lossy().into_owned())
            .collect();
        Error::Absent {
            what: "tensor",
            wanted: name.to_string_lossy().into_owned(),
            there: format!("the engine has {}", names.join(", ")),
        }
    }
}
