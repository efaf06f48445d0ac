//! Slots of what runs: runtime, engine, context, inspector, RTX's runtime cache, and the plugin registry.
//!
//! Generated once from the releases' headers, then kept by hand; `tests/tables.rs` holds every row against
//! the recorded tables of 35 releases. A constant that ends in `_8` has the argument types of TensorRT 8 and 9.

use std::ffi::{c_char, c_void};

use super::layout::{Dims32, Dims64};
use super::method::{Event, Method, Row, Slot, Stream, This, methods};
use crate::version::Era;

methods! {
    /// `IRuntime`: loads plans.
    runtime "VRuntime" {
        DESERIALIZE_ENGINE_8: fn(*const c_void, u64, *mut c_void) -> *mut c_void = "deserializeCudaEngine" [A 2];
        DESERIALIZE_ENGINE: fn(*const c_void, u64) -> *mut c_void = "deserializeCudaEngine" [B 3, C 3, D 3, E 3];
        SET_DLA_CORE: fn(i32) = "setDLACore" [A 3, B 5, C 4, D 5, E 4];
        GET_DLA_CORE: fn() -> i32 = "getDLACore" [A 4, B 6, C 5, D 6, E 5];
        GET_NB_DLA_CORES: fn() -> i32 = "getNbDLACores" [A 5, B 7, C 6, D 7, E 6];
        SET_ERROR_RECORDER: fn(*mut c_void) = "setErrorRecorder" [A 7, B 9, C 8, D 9, E 8];
        GET_LOGGER: fn() -> *mut c_void = "getLogger" [A 9, B 11, C 10, D 11, E 10];
        SET_MAX_THREADS: fn(i32) -> bool = "setMaxThreads" [A 10, B 12, C 11, D 12, E 11];
        GET_MAX_THREADS: fn() -> i32 = "getMaxThreads" [A 11, B 13, C 12, D 13, E 12];
        SET_ENGINE_HOST_CODE_ALLOWED: fn(bool) = "setEngineHostCodeAllowed" [A 20 from 8 6 1, B 21, C 20, D 21, E 20];
        GET_ENGINE_HOST_CODE_ALLOWED: fn() -> bool = "getEngineHostCodeAllowed" [A 21 from 8 6 1, B 22, C 21, D 22, E 21];
        GET_ENGINE_HEADER_SIZE: fn() -> i64 = "getEngineHeaderSize" [D 24, E 23];
        GET_ENGINE_VALIDITY: fn(*const c_void, i64, *mut u64) -> i32 = "getEngineValidity" [D 25, E 24];
    }

    /// `IHostMemory`: a block of bytes that the library owns.
    host_memory "VHostMemory" {
        DATA: fn() -> *mut c_void = "data" [A 2, B 2, C 2, D 2, E 2];
        SIZE: fn() -> u64 = "size" [A 3, B 3, C 3, D 3, E 3];
    }

    /// `ICudaEngine`: a loaded plan.
    engine "VCudaEngine" {
        GET_NB_LAYERS: fn() -> i32 = "getNbLayers" [A 9, B 3, C 3, D 3, E 3];
        SERIALIZE: fn() -> *mut c_void = "serialize" [A 10, B 4, C 4, D 4, E 4];
        CREATE_EXECUTION_CONTEXT_8: fn() -> *mut c_void = "createExecutionContext" [A 11];
        CREATE_EXECUTION_CONTEXT: fn(i32) -> *mut c_void = "createExecutionContext" [B 5, C 5, D 5, E 5];
        CREATE_EXECUTION_CONTEXT_WITHOUT_DEVICE_MEMORY: fn() -> *mut c_void = "createExecutionContextWithoutDeviceMemory" [A 13, B 6];
        CREATE_EXECUTION_CONTEXT_WITH_RUNTIME_CONFIG: fn(*mut c_void) -> *mut c_void = "createExecutionContextWithRuntimeConfig" [B 55 from 10 11 0, C 47, D 53, E 47];
        CREATE_RUNTIME_CONFIG: fn() -> *mut c_void = "createRuntimeConfig" [B 56 from 10 11 0, C 48, D 54, E 48];
        GET_DEVICE_MEMORY_SIZE: fn() -> u64 = "getDeviceMemorySize" [A 14, B 7];
        GET_DEVICE_MEMORY_SIZE_FOR_PROFILE: fn(i32) -> u64 = "getDeviceMemorySizeForProfile" [B 41, D 39];
        GET_DEVICE_MEMORY_SIZE_V2: fn() -> i64 = "getDeviceMemorySizeV2" [B 52 from 10 1 0, C 44, D 50, E 44];
        GET_DEVICE_MEMORY_SIZE_FOR_PROFILE_V2: fn(i32) -> i64 = "getDeviceMemorySizeForProfileV2" [B 53 from 10 1 0, C 45, D 51, E 45];
        IS_REFITTABLE: fn() -> bool = "isRefittable" [A 15, B 8, C 6, D 6, E 6];
        GET_NAME: fn() -> *const c_char = "getName" [A 21, B 9, C 7, D 7, E 7];
        GET_NB_OPTIMIZATION_PROFILES: fn() -> i32 = "getNbOptimizationProfiles" [A 22, B 10, C 8, D 8, E 8];
        GET_ENGINE_CAPABILITY: fn() -> i32 = "getEngineCapability" [A 27, B 12, C 9, D 10, E 9];
        GET_TACTIC_SOURCES: fn() -> u32 = "getTacticSources" [A 31, B 16, C 12, D 14, E 12];
        GET_PROFILING_VERBOSITY: fn() -> i32 = "getProfilingVerbosity" [A 32, B 17, C 13, D 15, E 13];
        CREATE_ENGINE_INSPECTOR: fn() -> *mut c_void = "createEngineInspector" [A 33, B 18, C 14, D 16, E 14];
        GET_TENSOR_SHAPE_8: fn(*const c_char) -> Dims32 = "getTensorShape" [A 34];
        GET_TENSOR_SHAPE: fn(*const c_char) -> Dims64 = "getTensorShape" [B 19, C 15, D 17, E 15];
        GET_TENSOR_DATA_TYPE: fn(*const c_char) -> i32 = "getTensorDataType" [A 35, B 20, C 16, D 18, E 16];
        GET_TENSOR_LOCATION: fn(*const c_char) -> i32 = "getTensorLocation" [A 36, B 21, C 17, D 19, E 17];
        IS_SHAPE_INFERENCE_IO: fn(*const c_char) -> bool = "isShapeInferenceIO" [A 37, B 22, C 18, D 20, E 18];
        GET_TENSOR_IO_MODE: fn(*const c_char) -> i32 = "getTensorIOMode" [A 38, B 23, C 19, D 21, E 19];
        GET_TENSOR_BYTES_PER_COMPONENT: fn(*const c_char) -> i32 = "getTensorBytesPerComponent" [A 39, B 24, C 20, D 22, E 20];
        GET_TENSOR_COMPONENTS_PER_ELEMENT: fn(*const c_char) -> i32 = "getTensorComponentsPerElement" [A 40, B 25, C 21, D 23, E 21];
        GET_TENSOR_FORMAT: fn(*const c_char) -> i32 = "getTensorFormat" [A 41, B 26, C 22, D 24, E 22];
        GET_TENSOR_FORMAT_DESC: fn(*const c_char) -> *const c_char = "getTensorFormatDesc" [A 42, B 27, C 23, D 25, E 23];
        GET_TENSOR_VECTORIZED_DIM: fn(*const c_char) -> i32 = "getTensorVectorizedDim" [A 43, B 28, C 24, D 26, E 24];
        GET_PROFILE_SHAPE_8: fn(*const c_char, i32, i32) -> Dims32 = "getProfileShape" [A 44];
        GET_PROFILE_SHAPE: fn(*const c_char, i32, i32) -> Dims64 = "getProfileShape" [B 29, C 25, D 27, E 25];
        GET_NB_IO_TENSORS: fn() -> i32 = "getNbIOTensors" [A 45, B 30, C 26, D 28, E 26];
        GET_IO_TENSOR_NAME: fn(i32) -> *const c_char = "getIOTensorName" [A 46, B 31, C 27, D 29, E 27];
        GET_HARDWARE_COMPATIBILITY_LEVEL: fn() -> i32 = "getHardwareCompatibilityLevel" [A 47 from 8 6 1, B 32, C 28, D 30, E 28];
        GET_NB_AUX_STREAMS: fn() -> i32 = "getNbAuxStreams" [A 49 from 8 6 1, B 33, C 29, D 31, E 29];
        GET_PROFILE_TENSOR_VALUES: fn(*const c_char, i32, i32) -> *const i32 = "getProfileTensorValues" [B 11, D 9];
        GET_PROFILE_TENSOR_VALUES_V2: fn(*const c_char, i32, i32) -> *const i64 = "getProfileTensorValuesV2" [B 54 from 10 11 0, C 46, D 52, E 46];
    }

    /// `IExecutionContext`: the state of one execution of an engine.
    context "VExecutionContext" {
        SET_DEBUG_SYNC: fn(bool) = "setDebugSync" [A 4, B 3, C 3, D 3, E 3];
        SET_PROFILER: fn(*mut c_void) = "setProfiler" [A 6, B 5, C 5, D 5, E 5];
        SET_NAME: fn(*const c_char) = "setName" [A 9, B 8, C 8, D 8, E 8];
        GET_NAME: fn() -> *const c_char = "getName" [A 10, B 9, C 9, D 9, E 9];
        SET_DEVICE_MEMORY: fn(*mut c_void) = "setDeviceMemory" [A 11, B 10, C 10, D 10, E 10];
        SET_DEVICE_MEMORY_V2: fn(*mut c_void, i64) = "setDeviceMemoryV2" [B 49 from 10 1 0, C 48, D 49, E 48];
        GET_OPTIMIZATION_PROFILE: fn() -> i32 = "getOptimizationProfile" [A 14, B 11, C 11, D 11, E 11];
        ALL_INPUT_DIMENSIONS_SPECIFIED: fn() -> bool = "allInputDimensionsSpecified" [A 19, B 12, C 12, D 12, E 12];
        SET_OPTIMIZATION_PROFILE_ASYNC: fn(i32, Stream) -> bool = "setOptimizationProfileAsync" [A 25, B 17, C 16, D 17, E 16];
        SET_ENQUEUE_EMITS_PROFILE: fn(bool) = "setEnqueueEmitsProfile" [A 26, B 18, C 17, D 18, E 17];
        GET_ENQUEUE_EMITS_PROFILE: fn() -> bool = "getEnqueueEmitsProfile" [A 27, B 19, C 18, D 19, E 18];
        REPORT_TO_PROFILER: fn() -> bool = "reportToProfiler" [A 28, B 20, C 19, D 20, E 19];
        SET_INPUT_SHAPE_8: fn(*const c_char, *const Dims32) -> bool = "setInputShape" [A 29];
        SET_INPUT_SHAPE: fn(*const c_char, *const Dims64) -> bool = "setInputShape" [B 21, C 20, D 21, E 20];
        GET_TENSOR_SHAPE_8: fn(*const c_char) -> Dims32 = "getTensorShape" [A 30];
        GET_TENSOR_SHAPE: fn(*const c_char) -> Dims64 = "getTensorShape" [B 22, C 21, D 22, E 21];
        GET_TENSOR_STRIDES_8: fn(*const c_char) -> Dims32 = "getTensorStrides" [A 31];
        GET_TENSOR_STRIDES: fn(*const c_char) -> Dims64 = "getTensorStrides" [B 23, C 22, D 23, E 22];
        SET_TENSOR_ADDRESS: fn(*const c_char, *mut c_void) -> bool = "setTensorAddress" [A 32, B 24, C 23, D 24, E 23];
        GET_TENSOR_ADDRESS: fn(*const c_char) -> *const c_void = "getTensorAddress" [A 33, B 25, C 24, D 25, E 24];
        SET_INPUT_TENSOR_ADDRESS: fn(*const c_char, *const c_void) -> bool = "setInputTensorAddress" [A 34, B 26, C 25, D 26, E 25];
        SET_OUTPUT_TENSOR_ADDRESS: fn(*const c_char, *mut c_void) -> bool = "setOutputTensorAddress" [B 27, C 26, D 27, E 26];
        INFER_SHAPES: fn(i32, *mut *const c_char) -> i32 = "inferShapes" [A 35, B 28, C 27, D 28, E 27];
        SET_INPUT_CONSUMED_EVENT: fn(Event) -> bool = "setInputConsumedEvent" [A 36, B 29, C 28, D 29, E 28];
        SET_OUTPUT_ALLOCATOR: fn(*const c_char, *mut c_void) -> bool = "setOutputAllocator" [A 39, B 32, C 31, D 32, E 31];
        GET_MAX_OUTPUT_SIZE: fn(*const c_char) -> i64 = "getMaxOutputSize" [A 41, B 34, C 33, D 34, E 33];
        ENQUEUE_V3: fn(Stream) -> bool = "enqueueV3" [A 44, B 37, C 36, D 37, E 36];
        SET_PERSISTENT_CACHE_LIMIT: fn(u64) = "setPersistentCacheLimit" [A 45, B 38, C 37, D 38, E 37];
        SET_NVTX_VERBOSITY: fn(i32) -> bool = "setNvtxVerbosity" [A 47, B 40, C 39, D 40, E 39];
        SET_AUX_STREAMS: fn(*mut Stream, i32) = "setAuxStreams" [A 50 from 8 6 1, B 42, C 41, D 42, E 41];
        UPDATE_DEVICE_MEMORY_SIZE_FOR_SHAPES: fn() -> u64 = "updateDeviceMemorySizeForShapes" [B 48, C 47, D 48, E 47];
        IS_STREAM_CAPTURABLE: fn(Stream) -> bool = "isStreamCapturable" [E 52];
    }

    /// `IEngineInspector`: describes an engine's layers as JSON.
    inspector "VEngineInspector" {
        SET_EXECUTION_CONTEXT: fn(*const c_void) -> bool = "setExecutionContext" [A 2, B 3, C 3, D 3, E 3];
        GET_LAYER_INFORMATION: fn(i32, i32) -> *const c_char = "getLayerInformation" [A 4, B 5, C 5, D 5, E 5];
        GET_ENGINE_INFORMATION: fn(i32) -> *const c_char = "getEngineInformation" [A 5, B 6, C 6, D 6, E 6];
    }

    /// `IRuntimeConfig`: the options of an execution context.
    runtime_config "VRuntimeConfig" {
        SET_EXECUTION_CONTEXT_ALLOCATION_STRATEGY: fn(i32) = "setExecutionContextAllocationStrategy" [B 3 from 10 11 0, C 3, D 3, E 3];
        GET_EXECUTION_CONTEXT_ALLOCATION_STRATEGY: fn() -> i32 = "getExecutionContextAllocationStrategy" [B 4 from 10 11 0, C 4, D 4, E 4];
        CREATE_RUNTIME_CACHE: fn() -> *mut c_void = "createRuntimeCache" [D 5, E 5];
        SET_RUNTIME_CACHE: fn(*const c_void) -> bool = "setRuntimeCache" [D 6, E 6];
        SET_DYNAMIC_SHAPES_KERNEL_SPECIALIZATION_STRATEGY: fn(i32) = "setDynamicShapesKernelSpecializationStrategy" [D 8, E 8];
        SET_CUDA_GRAPH_STRATEGY: fn(i32) -> bool = "setCudaGraphStrategy" [D 10, E 10];
    }

    /// `IRuntimeCache`: kernels that TensorRT-RTX compiled at run time.
    runtime_cache "VRuntimeCache" {
        SERIALIZE: fn() -> *mut c_void = "serialize" [D 2, E 2];
        DESERIALIZE: fn(*const c_void, u64) -> bool = "deserialize" [D 3, E 3];
        RESET: fn() -> bool = "reset" [D 4, E 4];
    }

    /// `IPluginRegistry`: the plugins that the process has loaded.
    plugin_registry "IPluginRegistry" {
        LOAD_LIBRARY: fn(*const c_char) -> *mut c_void = "loadLibrary" [A 10 from 8 6 1, B 10, C 6, D 10, E 6];
    }
}
