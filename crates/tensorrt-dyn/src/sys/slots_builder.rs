//! Slots of what builds: builder, configuration, network, tensors, layers, profiles, timing cache.
//!
//! Generated once from the releases' headers, then kept by hand; `tests/tables.rs` holds every row against
//! the recorded tables of 35 releases. A constant that ends in `_8` has the argument types of TensorRT 8 and 9.

use std::ffi::{c_char, c_void};

use super::layout::{Dims32, Dims64};
use super::method::{Method, Row, Slot, Stream, This, methods};
use crate::version::Era;

methods! {
    /// `IBuilder`: builds plans from networks.
    builder "VBuilder" {
        PLATFORM_HAS_FAST_FP16: fn() -> bool = "platformHasFastFp16" [A 4, B 2, D 2];
        PLATFORM_HAS_FAST_INT8: fn() -> bool = "platformHasFastInt8" [A 5, B 3, D 3];
        GET_MAX_DLA_BATCH_SIZE: fn() -> i32 = "getMaxDLABatchSize" [A 6, B 4, C 2, D 4, E 2];
        GET_NB_DLA_CORES: fn() -> i32 = "getNbDLACores" [A 7, B 5, C 3, D 5, E 3];
        CREATE_BUILDER_CONFIG: fn() -> *mut c_void = "createBuilderConfig" [A 9, B 7, C 5, D 7, E 5];
        CREATE_NETWORK_V2: fn(u32) -> *mut c_void = "createNetworkV2" [A 11, B 8, C 6, D 8, E 6];
        CREATE_OPTIMIZATION_PROFILE: fn() -> *mut c_void = "createOptimizationProfile" [A 12, B 9, C 7, D 9, E 7];
        SET_ERROR_RECORDER: fn(*mut c_void) = "setErrorRecorder" [A 13, B 10, C 8, D 10, E 8];
        PLATFORM_HAS_TF32: fn() -> bool = "platformHasTf32" [A 16, B 13, D 13];
        BUILD_SERIALIZED_NETWORK: fn(*mut c_void, *mut c_void) -> *mut c_void = "buildSerializedNetwork" [A 17, B 14, C 11, D 14, E 11];
        IS_NETWORK_SUPPORTED: fn(*const c_void, *const c_void) -> bool = "isNetworkSupported" [A 18, B 15, C 12, D 15, E 12];
        GET_LOGGER: fn() -> *mut c_void = "getLogger" [A 19, B 16, C 13, D 16, E 13];
        SET_MAX_THREADS: fn(i32) -> bool = "setMaxThreads" [A 20, B 17, C 14, D 17, E 14];
        GET_MAX_THREADS: fn() -> i32 = "getMaxThreads" [A 21, B 18, C 15, D 18, E 15];
    }

    /// `IBuilderConfig`: the options of a build.
    config "VBuilderConfig" {
        SET_AVG_TIMING_ITERATIONS: fn(i32) = "setAvgTimingIterations" [A 4, B 2, C 2, D 2, E 2];
        SET_INT8_CALIBRATOR: fn(*mut c_void) = "setInt8Calibrator" [A 8, B 6];
        GET_FLAGS: fn() -> u32 = "getFlags" [A 13, B 9, C 7, D 7, E 7];
        CLEAR_FLAG: fn(i32) = "clearFlag" [A 14, B 10, C 8, D 8, E 8];
        SET_FLAG: fn(i32) = "setFlag" [A 15, B 11, C 9, D 9, E 9];
        GET_FLAG: fn(i32) -> bool = "getFlag" [A 16, B 12, C 10, D 10, E 10];
        CAN_RUN_ON_DLA: fn(*const c_void) -> bool = "canRunOnDLA" [A 21, B 17, C 15, D 15, E 15];
        SET_DLA_CORE: fn(i32) = "setDLACore" [A 22, B 18, C 16, D 16, E 16];
        GET_DLA_CORE: fn() -> i32 = "getDLACore" [A 23, B 19, C 17, D 17, E 17];
        SET_DEFAULT_DEVICE_TYPE: fn(i32) = "setDefaultDeviceType" [A 24, B 20, C 18, D 18, E 18];
        GET_DEFAULT_DEVICE_TYPE: fn() -> i32 = "getDefaultDeviceType" [A 25, B 21, C 19, D 19, E 19];
        SET_PROFILE_STREAM: fn(Stream) = "setProfileStream" [A 27, B 23, C 21, D 21, E 21];
        ADD_OPTIMIZATION_PROFILE: fn(*const c_void) -> i32 = "addOptimizationProfile" [A 29, B 25, C 23, D 23, E 23];
        GET_NB_OPTIMIZATION_PROFILES: fn() -> i32 = "getNbOptimizationProfiles" [A 30, B 26, C 24, D 24, E 24];
        SET_PROFILING_VERBOSITY: fn(i32) = "setProfilingVerbosity" [A 31, B 27, C 25, D 25, E 25];
        GET_PROFILING_VERBOSITY: fn() -> i32 = "getProfilingVerbosity" [A 32, B 28, C 26, D 26, E 26];
        SET_CALIBRATION_PROFILE: fn(*const c_void) -> bool = "setCalibrationProfile" [A 35, B 31];
        SET_TACTIC_SOURCES: fn(u32) -> bool = "setTacticSources" [A 42, B 38, C 27, D 27, E 27];
        GET_TACTIC_SOURCES: fn() -> u32 = "getTacticSources" [A 43, B 39, C 28, D 28, E 28];
        CREATE_TIMING_CACHE: fn(*const c_void, u64) -> *mut c_void = "createTimingCache" [A 44, B 40, C 29, D 29, E 29];
        SET_TIMING_CACHE: fn(*const c_void, bool) -> bool = "setTimingCache" [A 45, B 41, C 30, D 30, E 30];
        GET_TIMING_CACHE: fn() -> *const c_void = "getTimingCache" [A 46, B 42, C 31, D 31, E 31];
        SET_MEMORY_POOL_LIMIT: fn(i32, u64) = "setMemoryPoolLimit" [A 47, B 43, C 32, D 32, E 32];
        GET_MEMORY_POOL_LIMIT: fn(i32) -> u64 = "getMemoryPoolLimit" [A 48, B 44, C 33, D 33, E 33];
        SET_PREVIEW_FEATURE: fn(i32, bool) = "setPreviewFeature" [A 49, B 45, C 34, D 34, E 34];
        GET_PREVIEW_FEATURE: fn(i32) -> bool = "getPreviewFeature" [A 50, B 46, C 35, D 35, E 35];
        SET_BUILDER_OPTIMIZATION_LEVEL: fn(i32) = "setBuilderOptimizationLevel" [A 51 from 8 6 1, B 47, C 36, D 36, E 36];
        GET_BUILDER_OPTIMIZATION_LEVEL: fn() -> i32 = "getBuilderOptimizationLevel" [A 52 from 8 6 1, B 48, C 37, D 37, E 37];
        SET_HARDWARE_COMPATIBILITY_LEVEL: fn(i32) = "setHardwareCompatibilityLevel" [A 53 from 8 6 1, B 49, C 38, D 38, E 38];
        GET_HARDWARE_COMPATIBILITY_LEVEL: fn() -> i32 = "getHardwareCompatibilityLevel" [A 54 from 8 6 1, B 50, C 39, D 39, E 39];
        SET_PLUGINS_TO_SERIALIZE: fn(*const c_void, i32) = "setPluginsToSerialize" [A 55 from 8 6 1, B 51, C 40, D 40, E 40];
        SET_MAX_AUX_STREAMS_UNCHECKED: fn(i32) = "setMaxAuxStreams" [A 58 from 8 6 1, B 54, D 43];
        SET_MAX_AUX_STREAMS: fn(i32) -> bool = "setMaxAuxStreams" [C 43, E 43];
        GET_MAX_AUX_STREAMS: fn() -> i32 = "getMaxAuxStreams" [A 59 from 8 6 1, B 55, C 44, D 44, E 44];
        SET_PROGRESS_MONITOR: fn(*mut c_void) = "setProgressMonitor" [A 60 from 9 1 0, B 56, C 45, D 45, E 45];
        SET_TILING_OPTIMIZATION_LEVEL: fn(i32) -> bool = "setTilingOptimizationLevel" [B 62 from 10 8 0, C 51, D 51, E 51];
        SET_NB_COMPUTE_CAPABILITIES: fn(i32) -> bool = "setNbComputeCapabilities" [D 55, E 55];
        GET_NB_COMPUTE_CAPABILITIES: fn() -> i32 = "getNbComputeCapabilities" [D 56, E 56];
        SET_COMPUTE_CAPABILITY: fn(i32, i32) -> bool = "setComputeCapability" [D 57, E 57];
        GET_COMPUTE_CAPABILITY: fn(i32) -> i32 = "getComputeCapability" [D 58, E 58];
    }

    /// `INetworkDefinition`: the network that is built.
    network "VNetworkDefinition" {
        MARK_OUTPUT: fn(*mut c_void) = "markOutput" [A 3, B 3, C 3, D 3, E 3];
        UNMARK_OUTPUT: fn(*mut c_void) = "unmarkOutput" [A 32, B 26, C 26, D 26, E 26];
        GET_NB_LAYERS: fn() -> i32 = "getNbLayers" [A 17, B 12, C 12, D 12, E 12];
        GET_LAYER: fn(i32) -> *mut c_void = "getLayer" [A 18, B 13, C 13, D 13, E 13];
        GET_NB_INPUTS: fn() -> i32 = "getNbInputs" [A 19, B 14, C 14, D 14, E 14];
        GET_INPUT: fn(i32) -> *mut c_void = "getInput" [A 20, B 15, C 15, D 15, E 15];
        GET_NB_OUTPUTS: fn() -> i32 = "getNbOutputs" [A 21, B 16, C 16, D 16, E 16];
        GET_OUTPUT: fn(i32) -> *mut c_void = "getOutput" [A 22, B 17, C 17, D 17, E 17];
        SET_NAME: fn(*const c_char) = "setName" [A 35, B 30, C 30, D 28, E 28];
        GET_NAME: fn() -> *const c_char = "getName" [A 36, B 31, C 31, D 29, E 29];
        GET_FLAGS: fn() -> u32 = "getFlags" [A 70 from 9 1 0, B 64, C 61, D 60, E 59];
    }

    /// `ITensor`: a tensor of a network.
    tensor "VTensor" {
        SET_NAME: fn(*const c_char) = "setName" [A 2, B 2, C 2, D 2, E 2];
        GET_NAME: fn() -> *const c_char = "getName" [A 3, B 3, C 3, D 3, E 3];
        SET_DIMENSIONS_8: fn(Dims32) = "setDimensions" [A 4];
        SET_DIMENSIONS: fn(*const Dims64) = "setDimensions" [B 4, C 4, D 4, E 4];
        GET_DIMENSIONS_8: fn() -> Dims32 = "getDimensions" [A 5];
        GET_DIMENSIONS: fn() -> Dims64 = "getDimensions" [B 5, C 5, D 5, E 5];
        SET_TYPE: fn(i32) = "setType" [A 6, B 6, D 6];
        GET_TYPE: fn() -> i32 = "getType" [A 7, B 7, C 6, D 7, E 6];
        SET_DYNAMIC_RANGE: fn(f32, f32) -> bool = "setDynamicRange" [A 8, B 8];
        DYNAMIC_RANGE_IS_SET: fn() -> bool = "dynamicRangeIsSet" [A 15, B 15];
        SET_ALLOWED_FORMATS: fn(u32) = "setAllowedFormats" [A 19, B 19, C 13, D 10, E 9];
        GET_ALLOWED_FORMATS: fn() -> u32 = "getAllowedFormats" [A 20, B 20, C 14, D 11, E 10];
        IS_SHAPE_TENSOR: fn() -> bool = "isShapeTensor" [A 21, B 21, C 15, D 12, E 11];
        IS_EXECUTION_TENSOR: fn() -> bool = "isExecutionTensor" [A 22, B 22, C 16, D 13, E 12];
    }

    /// `ILayer`: a layer of a network.
    layer "VLayer" {
        GET_TYPE: fn() -> i32 = "getType" [A 2, B 2, C 2, D 2, E 2];
        GET_NAME: fn() -> *const c_char = "getName" [A 4, B 4, C 4, D 4, E 4];
        GET_NB_INPUTS: fn() -> i32 = "getNbInputs" [A 5, B 5, C 5, D 5, E 5];
        GET_INPUT: fn(i32) -> *mut c_void = "getInput" [A 6, B 6, C 6, D 6, E 6];
        GET_NB_OUTPUTS: fn() -> i32 = "getNbOutputs" [A 7, B 7, C 7, D 7, E 7];
        GET_OUTPUT: fn(i32) -> *mut c_void = "getOutput" [A 8, B 8, C 8, D 8, E 8];
        SET_PRECISION: fn(i32) = "setPrecision" [A 10, B 10, D 10];
        SET_OUTPUT_TYPE: fn(i32, i32) = "setOutputType" [A 14, B 14, D 14];
    }

    /// `IOptimizationProfile`: the range of shapes that a plan accepts.
    profile "VOptimizationProfile" {
        SET_DIMENSIONS_8: fn(*const c_char, i32, Dims32) -> bool = "setDimensions" [A 2];
        SET_DIMENSIONS: fn(*const c_char, i32, *const Dims64) -> bool = "setDimensions" [B 2, C 2, D 2, E 2];
        GET_DIMENSIONS_8: fn(*const c_char, i32) -> Dims32 = "getDimensions" [A 3];
        GET_DIMENSIONS: fn(*const c_char, i32) -> Dims64 = "getDimensions" [B 3, C 3, D 3, E 3];
        SET_SHAPE_VALUES: fn(*const c_char, i32, *const i32, i32) -> bool = "setShapeValues" [A 4, B 4, D 4];
        SET_SHAPE_VALUES_V2: fn(*const c_char, i32, *const i64, i32) -> bool = "setShapeValuesV2" [B 10 from 10 11 0, C 8, D 10, E 8];
        IS_VALID: fn() -> bool = "isValid" [A 9, B 9, C 7, D 9, E 7];
    }

    /// `ITimingCache`: kernel timings of earlier builds.
    timing_cache "VTimingCache" {
        SERIALIZE: fn() -> *mut c_void = "serialize" [A 2, B 2, C 2, D 2, E 2];
        COMBINE: fn(*const c_void, bool) -> bool = "combine" [A 3, B 3, C 3, D 3, E 3];
        RESET: fn() -> bool = "reset" [A 4, B 4, C 4, D 4, E 4];
    }
}
