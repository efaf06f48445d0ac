//! `IExecutionContext`: runs an engine on a stream.
//!
//! [`ExecutionContext::enqueue`] is the hot path: one call through a function pointer that was read when the context
//! was made, and nothing else unless it fails. Names are `CStr`s ([`crate::TensorInfo::name`]), so that no call
//! allocates.

use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::{Arc, Mutex};

use crate::NotSync;
use crate::callback::Given;
use crate::callback::allocator::{GivenLender, OutputAllocator, lender};
use crate::callback::profiler::{Profiler, reporter};
use crate::callback::text;
use crate::engine::EngineInner;
use crate::error::{Error, Result};
use crate::object::{Owned, call, check};
use crate::shape::{Dims, from_dims32, from_dims64, is_valid, to_dims32, to_dims64};
use crate::sys::method::{Event, Stream, This};
use crate::sys::slots_runtime::context;
use crate::sys::values::ProfilingVerbosity;
use crate::version::Version;

/// Most names of inputs that [`ExecutionContext::infer_shapes`] can report at once.
const MAX_MISSING: usize = 64;

/// Runs one inference at a time. Fields drop in order: the C++ object goes before what it points to.
#[derive(Debug)]
pub struct ExecutionContext {
    pub(crate) object: Owned,
    enqueue: unsafe extern "C" fn(This, Stream) -> bool,
    this: This,
    profiler: Option<Given<Mutex<Box<dyn Profiler>>>>,
    allocators: Vec<(CString, GivenLender)>,
    /// The configuration and the cache that it was made with.
    _made_with: Vec<Arc<Owned>>,
    engine: Arc<EngineInner>,
    not_sync: NotSync,
}

// SAFETY: `this` is the implementation of `object`, which may move between threads; the callbacks are Send.
unsafe impl Send for ExecutionContext {}

impl ExecutionContext {
    pub(crate) fn new(object: Owned, engine: Arc<EngineInner>, made_with: Vec<Arc<Owned>>) -> Result<Self> {
        let (enqueue, this) = object.method(&context::ENQUEUE_V3)?;
        Ok(Self {
            object,
            enqueue,
            this,
            profiler: None,
            allocators: Vec::new(),
            _made_with: made_with,
            engine,
            not_sync: NotSync::default(),
        })
    }

    fn version(&self) -> Version {
        self.object.library().version()
    }

    /// The `nvinfer1::IExecutionContext` itself, for C++ code of the same process. It stays this value's: whoever uses it
    /// deletes nothing, and not while this value is used or after it is dropped.
    #[must_use]
    pub fn as_raw(&self) -> *mut c_void {
        self.object.as_ptr()
    }

    /// Starts an inference on `stream` and returns at once.
    ///
    /// # Safety
    /// `stream` is a stream of the engine's device (or null for the default one). Every input and output has an address
    /// of memory that is large enough for its shape, where the engine wants it, and that stays valid and is not
    /// otherwise written until the stream has passed this point; so is memory given by [`Self::set_device_memory`].
    ///
    /// # Errors
    /// Shapes or addresses are missing, or a launch failed.
    #[doc(alias = "enqueueV3")]
    pub unsafe fn enqueue(&mut self, stream: Stream) -> Result<()> {
        let mark = self.object.library().mark();
        // SAFETY: the function is this object's own `enqueueV3`; the caller vouches for stream and memory.
        if unsafe { (self.enqueue)(self.this, stream) } {
            return Ok(());
        }
        Err(self.object.failure(context::ENQUEUE_V3.row(), mark))
    }

    /// Sets an input's shape; each extent within its profile.
    ///
    /// # Errors
    /// There is no such input, or the shape lies outside the profile.
    #[doc(alias = "setInputShape")]
    pub fn set_input_shape(&mut self, input: &CStr, shape: &[i64]) -> Result<()> {
        if self.version().era().has_32_bit_dims() {
            let shape = to_dims32(shape)?;
            return check!(
                self.object,
                context::SET_INPUT_SHAPE_8,
                input.as_ptr(),
                &raw const shape
            );
        }
        let shape = to_dims64(shape)?;
        check!(
            self.object,
            context::SET_INPUT_SHAPE,
            input.as_ptr(),
            &raw const shape
        )
    }

    /// A tensor's shape now; -1 where inputs are not set yet, or data decide.
    ///
    /// # Errors
    /// There is no such tensor.
    #[doc(alias = "getTensorShape")]
    pub fn tensor_shape(&self, tensor: &CStr) -> Result<Dims> {
        let (count, shape) = if self.version().era().has_32_bit_dims() {
            let dims = call!(self.object, context::GET_TENSOR_SHAPE_8, tensor.as_ptr())?;
            (dims.count, from_dims32(dims))
        } else {
            let dims = call!(self.object, context::GET_TENSOR_SHAPE, tensor.as_ptr())?;
            (dims.count, from_dims64(dims))
        };
        if is_valid(count) {
            Ok(shape)
        } else {
            Err(absent(tensor))
        }
    }

    /// A tensor's strides in elements.
    ///
    /// # Errors
    /// There is no such tensor.
    #[doc(alias = "getTensorStrides")]
    pub fn tensor_strides(&self, tensor: &CStr) -> Result<Dims> {
        let (count, strides) = if self.version().era().has_32_bit_dims() {
            let dims = call!(self.object, context::GET_TENSOR_STRIDES_8, tensor.as_ptr())?;
            (dims.count, from_dims32(dims))
        } else {
            let dims = call!(self.object, context::GET_TENSOR_STRIDES, tensor.as_ptr())?;
            (dims.count, from_dims64(dims))
        };
        if is_valid(count) {
            Ok(strides)
        } else {
            Err(absent(tensor))
        }
    }

    /// Sets the address of an input or output.
    ///
    /// # Safety
    /// Nothing is read or written before [`Self::enqueue`] (shape inputs are read by [`Self::infer_shapes`] too), whose
    /// demands the memory must meet.
    ///
    /// # Errors
    /// There is no such tensor, or the address is not aligned as the engine wants it.
    #[doc(alias = "setTensorAddress")]
    pub unsafe fn set_tensor_address(&mut self, tensor: &CStr, address: *mut c_void) -> Result<()> {
        check!(self.object, context::SET_TENSOR_ADDRESS, tensor.as_ptr(), address)
    }

    /// Sets the address of an input that the engine only reads.
    ///
    /// # Safety
    /// As [`Self::set_tensor_address`].
    ///
    /// # Errors
    /// There is no such input.
    #[doc(alias = "setInputTensorAddress")]
    pub unsafe fn set_input_address(&mut self, input: &CStr, address: *const c_void) -> Result<()> {
        check!(
            self.object,
            context::SET_INPUT_TENSOR_ADDRESS,
            input.as_ptr(),
            address
        )
    }

    /// Sets the address of an output.
    ///
    /// # Safety
    /// As [`Self::set_tensor_address`].
    ///
    /// # Errors
    /// There is no such output.
    #[doc(alias = "setOutputTensorAddress")]
    pub unsafe fn set_output_address(&mut self, output: &CStr, address: *mut c_void) -> Result<()> {
        if self.object.has(&context::SET_OUTPUT_TENSOR_ADDRESS) {
            return check!(
                self.object,
                context::SET_OUTPUT_TENSOR_ADDRESS,
                output.as_ptr(),
                address
            );
        }
        check!(self.object, context::SET_TENSOR_ADDRESS, output.as_ptr(), address)
    }

    /// The address of an input or output, null if it has none.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getTensorAddress")]
    pub fn tensor_address(&self, tensor: &CStr) -> Result<*const c_void> {
        call!(self.object, context::GET_TENSOR_ADDRESS, tensor.as_ptr())
    }

    /// Computes the shapes of all outputs from those of the inputs; answers the inputs whose shape or address is missing.
    ///
    /// # Errors
    /// The shapes contradict each other.
    #[doc(alias = "inferShapes")]
    pub fn infer_shapes(&mut self) -> Result<Vec<String>> {
        let mut names: [*const c_char; MAX_MISSING] = [std::ptr::null(); MAX_MISSING];
        let mark = self.object.library().mark();
        let missing = call!(
            self.object,
            context::INFER_SHAPES,
            MAX_MISSING as i32,
            names.as_mut_ptr()
        )?;
        let Ok(missing) = usize::try_from(missing) else {
            return Err(self.object.failure(context::INFER_SHAPES.row(), mark));
        };
        // SAFETY: the first entries were set to C strings that the engine owns.
        Ok(names[..missing.min(MAX_MISSING)]
            .iter()
            .map(|name| unsafe { text(*name) }.into_owned())
            .collect())
    }

    /// Whether every input's shape is known.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "allInputDimensionsSpecified")]
    pub fn has_all_input_shapes(&self) -> Result<bool> {
        call!(self.object, context::ALL_INPUT_DIMENSIONS_SPECIFIED)
    }

    /// An upper bound on an output's bytes for the shapes set, -1 if there is none.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getMaxOutputSize")]
    pub fn max_output_size(&self, output: &CStr) -> Result<i64> {
        call!(self.object, context::GET_MAX_OUTPUT_SIZE, output.as_ptr())
    }

    /// Chooses the profile of input shapes; its work is done on `stream`.
    ///
    /// # Safety
    /// `stream` is a stream of the engine's device or null. The next [`Self::enqueue`] is on the same stream or after it.
    ///
    /// # Errors
    /// There is no such profile, or another context uses it (where profiles are not shared).
    #[doc(alias = "setOptimizationProfileAsync")]
    pub unsafe fn set_optimization_profile(&mut self, profile: i32, stream: Stream) -> Result<()> {
        check!(
            self.object,
            context::SET_OPTIMIZATION_PROFILE_ASYNC,
            profile,
            stream
        )
    }

    /// The profile of input shapes in use, -1 for none.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getOptimizationProfile")]
    pub fn optimization_profile(&self) -> Result<i32> {
        call!(self.object, context::GET_OPTIMIZATION_PROFILE)
    }

    /// Lends activation memory to a context made with [`crate::ContextMemory::FromOutside`].
    ///
    /// # Safety
    /// `memory` points to `bytes` of device memory, aligned to 256, that no other running context uses, valid until
    /// the last enqueue is done.
    ///
    /// # Errors
    /// It is smaller than the engine needs (for the shapes set, where the release can tell).
    #[doc(alias = "setDeviceMemoryV2")]
    #[doc(alias = "setDeviceMemory")]
    pub unsafe fn set_device_memory(&mut self, memory: *mut c_void, bytes: u64) -> Result<()> {
        if self.object.has(&context::SET_DEVICE_MEMORY_V2) {
            let size = i64::try_from(bytes).unwrap_or(i64::MAX);
            let mark = self.object.library().mark();
            call!(self.object, context::SET_DEVICE_MEMORY_V2, memory, size)?;
            // It answers nothing; what it does not take it logs as an error.
            return match self.object.library().has_errors_since(mark) {
                true => Err(self.object.failure(context::SET_DEVICE_MEMORY_V2.row(), mark)),
                false => Ok(()),
            };
        }
        // This form takes no size, so what is too small has to be found here.
        let needed = crate::Engine {
            inner: Arc::clone(&self.engine),
        }
        .device_memory_size()?;
        if bytes < needed {
            return Err(Error::TooSmall {
                what: "the context's device memory",
                needed,
                given: bytes,
            });
        }
        call!(self.object, context::SET_DEVICE_MEMORY, memory)
    }

    /// Bytes of activation memory for the shapes set (10.0 and later; for memory from outside).
    ///
    /// # Errors
    /// The release does not tell.
    #[doc(alias = "updateDeviceMemorySizeForShapes")]
    pub fn device_memory_size_for_shapes(&mut self) -> Result<u64> {
        call!(self.object, context::UPDATE_DEVICE_MEMORY_SIZE_FOR_SHAPES)
    }

    /// Streams for branches of the network that run at the same time (8.6 and later).
    ///
    /// # Safety
    /// They are streams of the engine's device that outlive the context, and none is the one given to enqueue.
    ///
    /// # Errors
    /// The release has no such call.
    #[doc(alias = "setAuxStreams")]
    pub unsafe fn set_aux_streams(&mut self, streams: &mut [Stream]) -> Result<()> {
        let count = i32::try_from(streams.len()).unwrap_or(i32::MAX);
        call!(self.object, context::SET_AUX_STREAMS, streams.as_mut_ptr(), count)
    }

    /// An event that is recorded when the inputs may be overwritten; null for none.
    ///
    /// # Safety
    /// `event` is an event of the engine's device that outlives the context, or null.
    ///
    /// # Errors
    /// The library refuses it.
    #[doc(alias = "setInputConsumedEvent")]
    pub unsafe fn set_input_consumed_event(&mut self, event: Event) -> Result<()> {
        check!(self.object, context::SET_INPUT_CONSUMED_EVENT, event)
    }

    /// Receives layer times from now on; running slows down, since each layer is timed.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "setProfiler")]
    pub fn set_profiler(&mut self, profiler: Option<Box<dyn Profiler>>) -> Result<()> {
        let profiler = profiler.map(|profiler| reporter(self.version().era(), profiler));
        let pointer = profiler
            .as_ref()
            .map_or(std::ptr::null_mut(), |profiler| profiler.as_ptr());
        call!(self.object, context::SET_PROFILER, pointer)?;
        self.profiler = profiler;
        Ok(())
    }

    /// Whether enqueue waits and reports layer times itself, or leaves that to [`Self::report_to_profiler`].
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "setEnqueueEmitsProfile")]
    pub fn set_enqueue_emits_profile(&mut self, on: bool) -> Result<()> {
        call!(self.object, context::SET_ENQUEUE_EMITS_PROFILE, on)
    }

    /// Whether enqueue reports layer times itself.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getEnqueueEmitsProfile")]
    pub fn enqueue_emits_profile(&self) -> Result<bool> {
        call!(self.object, context::GET_ENQUEUE_EMITS_PROFILE)
    }

    /// Reports the layer times of the last inference, once its stream is done.
    ///
    /// # Errors
    /// There is no profiler, or nothing ran.
    #[doc(alias = "reportToProfiler")]
    pub fn report_to_profiler(&self) -> Result<()> {
        check!(self.object, context::REPORT_TO_PROFILER)
    }

    /// Lends memory for an output whose size the data decide.
    ///
    /// # Safety
    /// What the allocator returns is device memory of the size asked for.
    ///
    /// # Errors
    /// There is no such output.
    #[doc(alias = "setOutputAllocator")]
    pub unsafe fn set_output_allocator(
        &mut self,
        output: &CStr,
        allocator: Box<dyn OutputAllocator>,
    ) -> Result<()> {
        let allocator = lender(self.version(), allocator);
        check!(
            self.object,
            context::SET_OUTPUT_ALLOCATOR,
            output.as_ptr(),
            allocator.as_ptr()
        )?;
        self.allocators.retain(|(name, _)| name.as_c_str() != output);
        self.allocators.push((output.to_owned(), allocator));
        Ok(())
    }

    /// Bytes of the GPU's cache that activations may persist in.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "setPersistentCacheLimit")]
    pub fn set_persistent_cache_limit(&mut self, bytes: u64) -> Result<()> {
        call!(self.object, context::SET_PERSISTENT_CACHE_LIMIT, bytes)
    }

    /// How much of the layers shows as NVTX ranges.
    ///
    /// # Errors
    /// It is more than the plan keeps.
    #[doc(alias = "setNvtxVerbosity")]
    pub fn set_nvtx_verbosity(&mut self, verbosity: ProfilingVerbosity) -> Result<()> {
        let value = self
            .object
            .library()
            .value(verbosity.value(self.version()), verbosity.name())?;
        check!(self.object, context::SET_NVTX_VERBOSITY, value)
    }

    /// Waits for the GPU after every layer, so that a failure names its layer.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "setDebugSync")]
    pub fn set_debug_sync(&mut self, on: bool) -> Result<()> {
        call!(self.object, context::SET_DEBUG_SYNC, on)
    }

    /// Names the context in the library's messages.
    ///
    /// # Errors
    /// A NUL byte in the name.
    #[doc(alias = "setName")]
    pub fn set_name(&mut self, name: &str) -> Result<()> {
        let name = CString::new(name).map_err(|error| Error::nul("a context's name", &error))?;
        call!(self.object, context::SET_NAME, name.as_ptr())
    }

    /// The context's name.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getName")]
    pub fn name(&self) -> Result<String> {
        let name = call!(self.object, context::GET_NAME)?;
        // SAFETY: a C string that the context owns.
        Ok(unsafe { text(name) }.into_owned())
    }

    /// Whether the next enqueue can be captured into a CUDA graph (RTX 1.5 and later).
    ///
    /// # Safety
    /// `stream` is a stream of the engine's device or null.
    ///
    /// # Errors
    /// The release does not tell.
    #[doc(alias = "isStreamCapturable")]
    pub unsafe fn is_stream_capturable(&self, stream: Stream) -> Result<bool> {
        call!(self.object, context::IS_STREAM_CAPTURABLE, stream)
    }
}

fn absent(tensor: &CStr) -> Error {
    Error::Absent {
        what: "tensor",
        wanted: tensor.to_string_lossy().into_owned(),
        there: "see Engine::tensors".into(),
    }
}
