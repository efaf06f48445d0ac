//! Values of the library's enums per era: several were renumbered between majors.
//!
//! Each enum answers its number in a given release, or `None` where the release has no such value. Held
//! against the recorded tables by `tests/tables.rs`, as the slots are.

use std::fmt;

use super::method::Slot;
use crate::version::{Era, Version};

/// One enumerator: its name in C++ and its number per era.
#[derive(Debug)]
pub struct ValueRow {
    /// The enum's name in C++.
    pub class: &'static str,
    /// The enumerator's name in C++.
    pub name: &'static str,
    /// Its numbers; an era that is absent does not have it.
    pub values: &'static [Slot],
}

impl ValueRow {
    /// Its number in a release; `None` where that release does not have it.
    #[must_use]
    pub fn value(&self, version: Version) -> Option<i32> {
        let slot = self.values.iter().find(|slot| slot.era == version.era())?;
        let (major, minor, patch) = slot.since;
        let value = i32::try_from(slot.index).ok()?;
        version.at_least(major, minor, patch).then_some(value)
    }
}

macro_rules! values {
    ($(
        $(#[$doc:meta])*
        $enum:ident $class:literal {
            $( $variant:ident = $name:literal
               [ $( $era:ident $index:literal $(from $major:literal $minor:literal $patch:literal)? ),* ] ; )*
        }
    )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
            #[non_exhaustive]
            pub enum $enum {
                $(
                    #[doc = concat!("`", $class, "::", $name, "`.")]
                    $variant,
                )*
            }

            impl $enum {
                /// Every variant known to this build.
                pub const ALL: &'static [Self] = &[ $( Self::$variant ),* ];

                const ROWS: &'static [ValueRow] = &[ $( ValueRow {
                    class: $class,
                    name: $name,
                    values: &[ $( $crate::sys::method::methods!(@slot $era $index $($major $minor $patch)?) ),* ],
                } ),* ];

                /// Its number in a release; `None` where that release has no such value.
                #[must_use]
                pub fn value(self, version: Version) -> Option<i32> {
                    Self::ROWS[self as usize].value(version)
                }

                /// The variant that a release means by a number; `None` for one that this build does not know.
                #[must_use]
                pub fn from_value(value: i32, version: Version) -> Option<Self> {
                    Self::ALL.iter().copied().find(|variant| variant.value(version) == Some(value))
                }

                /// Its name in C++.
                #[must_use]
                pub fn name(self) -> &'static str {
                    Self::ROWS[self as usize].name
                }
            }

            impl fmt::Display for $enum {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str(self.name())
                }
            }
        )*

        /// The rows of every enum above.
        pub const ROWS: &[&[ValueRow]] = &[ $( $enum::ROWS ),* ];
    };
}

values! {
    /// A switch of the builder's configuration.
    BuilderFlag "BuilderFlag" {
        Fp16 = "kFP16" [A 0, B 0, D 0];
        Int8 = "kINT8" [A 1, B 1, D 1];
        Debug = "kDEBUG" [A 2, B 2, C 2, D 2, E 2];
        GpuFallback = "kGPU_FALLBACK" [A 3, B 3, C 3, D 3, E 3];
        Refit = "kREFIT" [A 5, B 4, C 4, D 4, E 4];
        DisableTimingCache = "kDISABLE_TIMING_CACHE" [A 6, B 5, C 5, D 5, E 5];
        Tf32 = "kTF32" [A 7, B 6, C 6, D 6, E 6];
        SparseWeights = "kSPARSE_WEIGHTS" [A 8, B 7, C 7, D 7, E 7];
        ObeyPrecisionConstraints = "kOBEY_PRECISION_CONSTRAINTS" [A 10, B 9, D 9];
        PreferPrecisionConstraints = "kPREFER_PRECISION_CONSTRAINTS" [A 11, B 10, D 10];
        DirectIo = "kDIRECT_IO" [A 12, B 11, C 11, D 11, E 11];
        VersionCompatible = "kVERSION_COMPATIBLE" [A 15 from 8 6 1, B 13, C 12, D 13, E 12];
        ExcludeLeanRuntime = "kEXCLUDE_LEAN_RUNTIME" [A 16 from 8 6 1, B 14, C 13, D 14, E 13];
        Fp8 = "kFP8" [A 17 from 8 6 1, B 15, D 15];
        ErrorOnTimingCacheMiss = "kERROR_ON_TIMING_CACHE_MISS" [A 18 from 9 1 0, B 16, C 15, D 16, E 15];
        Bf16 = "kBF16" [A 19 from 9 1 0, B 17, D 17];
        StripPlan = "kSTRIP_PLAN" [B 19, C 18, D 19, E 18];
        Int4 = "kINT4" [B 22 from 10 1 0, D 22];
        Fp4 = "kFP4" [B 26 from 10 8 0, D 26];
        EditableTimingCache = "kEDITABLE_TIMING_CACHE" [B 27 from 10 8 0, C 26, D 27, E 26];
    }

    /// A property of a network, fixed when it is created.
    NetworkFlag "NetworkDefinitionCreationFlag" {
        ExplicitBatch = "kEXPLICIT_BATCH" [A 0, B 0, D 0];
        StronglyTyped = "kSTRONGLY_TYPED" [A 2 from 9 1 0, B 1, C 0, D 1, E 0];
    }

    /// The type of a tensor's elements.
    DataType "DataType" {
        Float = "kFLOAT" [A 0, B 0, C 0, D 0, E 0];
        Half = "kHALF" [A 1, B 1, C 1, D 1, E 1];
        Int8 = "kINT8" [A 2, B 2, C 2, D 2, E 2];
        Int32 = "kINT32" [A 3, B 3, C 3, D 3, E 3];
        Bool = "kBOOL" [A 4, B 4, C 4, D 4, E 4];
        Uint8 = "kUINT8" [A 5, B 5, C 5, D 5, E 5];
        Fp8 = "kFP8" [A 6 from 8 6 1, B 6, C 6, D 6, E 6];
        Bf16 = "kBF16" [A 7 from 9 1 0, B 7, C 7, D 7, E 7];
        Int64 = "kINT64" [A 8 from 9 1 0, B 8, C 8, D 8, E 8];
        Int4 = "kINT4" [B 9, C 9, D 9, E 9];
        Fp4 = "kFP4" [B 10 from 10 8 0, C 10, D 10, E 10];
        E8m0 = "kE8M0" [B 11 from 10 12 0, C 11, D 11, E 11];
    }

    /// A pool of memory that the builder or the plan may use.
    MemoryPool "MemoryPoolType" {
        Workspace = "kWORKSPACE" [A 0, B 0, C 0, D 0, E 0];
        DlaManagedSram = "kDLA_MANAGED_SRAM" [A 1, B 1, C 1, D 1, E 1];
        DlaLocalDram = "kDLA_LOCAL_DRAM" [A 2, B 2, C 2, D 2, E 2];
        DlaGlobalDram = "kDLA_GLOBAL_DRAM" [A 3, B 3, C 3, D 3, E 3];
        TacticDram = "kTACTIC_DRAM" [A 4 from 8 6 1, B 4, C 4, D 4, E 4];
        TacticSharedMemory = "kTACTIC_SHARED_MEMORY" [B 5, C 5, D 5, E 5];
    }

    /// How much of the layers a plan keeps for inspectors and profilers.
    ProfilingVerbosity "ProfilingVerbosity" {
        LayerNamesOnly = "kLAYER_NAMES_ONLY" [A 0, B 0, C 0, D 0, E 0];
        None = "kNONE" [A 1, B 1, C 1, D 1, E 1];
        Detailed = "kDETAILED" [A 2, B 2, C 2, D 2, E 2];
    }

    /// Which other GPUs a plan may run on.
    HardwareCompatibility "HardwareCompatibilityLevel" {
        None = "kNONE" [A 0 from 8 6 1, B 0, C 0, D 0, E 0];
        AmperePlus = "kAMPERE_PLUS" [A 1 from 8 6 1, B 1, C 1, D 1, E 1];
        SameComputeCapability = "kSAME_COMPUTE_CAPABILITY" [B 2 from 10 9 0, C 2, D 2, E 2];
    }

    /// Where a layer runs.
    DeviceType "DeviceType" {
        Gpu = "kGPU" [A 0, B 0, C 0, D 0, E 0];
        Dla = "kDLA" [A 1, B 1, C 1, D 1, E 1];
    }

    /// Which of the three shapes of an optimization profile.
    ProfileSelector "OptProfileSelector" {
        Min = "kMIN" [A 0, B 0, C 0, D 0, E 0];
        Opt = "kOPT" [A 1, B 1, C 1, D 1, E 1];
        Max = "kMAX" [A 2, B 2, C 2, D 2, E 2];
    }

    /// A library of kernels that the builder may choose from.
    TacticSource "TacticSource" {
        Cublas = "kCUBLAS" [A 0, B 0, D 0];
        CublasLt = "kCUBLAS_LT" [A 1, B 1, D 1];
        Cudnn = "kCUDNN" [A 2, B 2, D 2];
        EdgeMaskConvolutions = "kEDGE_MASK_CONVOLUTIONS" [A 3, B 3, C 0, D 3, E 0];
        JitConvolutions = "kJIT_CONVOLUTIONS" [A 4, B 4, C 1, D 4, E 1];
    }

    /// A behaviour that is on trial in a release.
    PreviewFeature "PreviewFeature" {
        FasterDynamicShapes0805 = "kFASTER_DYNAMIC_SHAPES_0805" [A 0];
        DisableExternalTacticSourcesForCore0805 = "kDISABLE_EXTERNAL_TACTIC_SOURCES_FOR_CORE_0805" [A 1];
        ProfileSharing0806 = "kPROFILE_SHARING_0806" [A 2 from 8 6 1, B 0, D 0];
        AliasedPluginIo10_03 = "kALIASED_PLUGIN_IO_10_03" [B 1 from 10 3 0, C 0, D 1, E 0];
        RuntimeActivationResize10_10 = "kRUNTIME_ACTIVATION_RESIZE_10_10" [B 2 from 10 10 0, C 1, D 2, E 1];
        MultideviceRuntime10_16 = "kMULTIDEVICE_RUNTIME_10_16" [B 3 from 10 16 0, D 3 from 1 4 0];
    }

    /// Who allocates a context's activation memory, and when.
    AllocationStrategy "ExecutionContextAllocationStrategy" {
        Static = "kSTATIC" [B 0, C 0, D 0, E 0];
        OnProfileChange = "kON_PROFILE_CHANGE" [B 1, C 1, D 1, E 1];
        UserManaged = "kUSER_MANAGED" [B 2, C 2, D 2, E 2];
    }

    /// Whether a tensor is an input or an output.
    TensorIoMode "TensorIOMode" {
        None = "kNONE" [A 0, B 0, C 0, D 0, E 0];
        Input = "kINPUT" [A 1, B 1, C 1, D 1, E 1];
        Output = "kOUTPUT" [A 2, B 2, C 2, D 2, E 2];
    }

    /// Where a tensor's memory must be.
    TensorLocation "TensorLocation" {
        Device = "kDEVICE" [A 0, B 0, C 0, D 0, E 0];
        Host = "kHOST" [A 1, B 1, C 1, D 1, E 1];
    }

    /// The form of the inspector's answer.
    LayerInformationFormat "LayerInformationFormat" {
        Oneline = "kONELINE" [A 0, B 0, C 0, D 0, E 0];
        Json = "kJSON" [A 1, B 1, C 1, D 1, E 1];
    }

    /// Whether a plan can be loaded here (RTX).
    EngineValidity "EngineValidity" {
        Valid = "kVALID" [D 0, E 0];
        Suboptimal = "kSUBOPTIMAL" [D 1, E 1];
        Invalid = "kINVALID" [D 2, E 2];
    }

    /// Whether RTX captures CUDA graphs by itself.
    CudaGraphStrategy "CudaGraphStrategy" {
        Disabled = "kDISABLED" [D 0, E 0];
        WholeGraphCapture = "kWHOLE_GRAPH_CAPTURE" [D 1, E 1];
    }

    /// When RTX specialises kernels for dynamic shapes.
    KernelSpecialization "DynamicShapesKernelSpecializationStrategy" {
        Lazy = "kLAZY" [D 0, E 0];
        Eager = "kEAGER" [D 1, E 1];
        None = "kNONE" [D 2, E 2];
    }

    /// A switch of the ONNX parser.
    ParserFlag "nvonnxparser::OnnxParserFlag" {
        NativeInstancenorm = "kNATIVE_INSTANCENORM" [A 0 from 8 6 1, B 0, C 0, D 0, E 0];
        EnableUint8AndAsymmetricQuantizationDla = "kENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA" [B 1 from 10 11 0, C 1, D 1, E 1];
        ReportCapabilityDla = "kREPORT_CAPABILITY_DLA" [B 2 from 10 15 1, C 2, D 2, E 2];
        EnablePluginOverride = "kENABLE_PLUGIN_OVERRIDE" [B 3 from 10 15 1, C 3, D 3, E 3];
        AdjustForDla = "kADJUST_FOR_DLA" [B 4 from 10 16 0, C 4, D 4 from 1 4 0, E 4];
    }

    /// What kind of error the parser met.
    ParserErrorCode "nvonnxparser::ErrorCode" {
        Success = "kSUCCESS" [A 0, B 0, C 0, D 0, E 0];
        InternalError = "kINTERNAL_ERROR" [A 1, B 1, C 1, D 1, E 1];
        MemAllocFailed = "kMEM_ALLOC_FAILED" [A 2, B 2, C 2, D 2, E 2];
        ModelDeserializeFailed = "kMODEL_DESERIALIZE_FAILED" [A 3, B 3, C 3, D 3, E 3];
        InvalidValue = "kINVALID_VALUE" [A 4, B 4, C 4, D 4, E 4];
        InvalidGraph = "kINVALID_GRAPH" [A 5, B 5, C 5, D 5, E 5];
        InvalidNode = "kINVALID_NODE" [A 6, B 6, C 6, D 6, E 6];
        UnsupportedGraph = "kUNSUPPORTED_GRAPH" [A 7, B 7, C 7, D 7, E 7];
        UnsupportedNode = "kUNSUPPORTED_NODE" [A 8, B 8, C 8, D 8, E 8];
        UnsupportedNodeAttr = "kUNSUPPORTED_NODE_ATTR" [A 9 from 9 1 0, B 9, C 9, D 9, E 9];
        UnsupportedNodeInput = "kUNSUPPORTED_NODE_INPUT" [A 10 from 9 1 0, B 10, C 10, D 10, E 10];
        UnsupportedNodeDatatype = "kUNSUPPORTED_NODE_DATATYPE" [A 11 from 9 1 0, B 11, C 11, D 11, E 11];
        UnsupportedNodeDynamic = "kUNSUPPORTED_NODE_DYNAMIC" [A 12 from 9 1 0, B 12, C 12, D 12, E 12];
        UnsupportedNodeShape = "kUNSUPPORTED_NODE_SHAPE" [A 13 from 9 1 0, B 13, C 13, D 13, E 13];
        RefitFailed = "kREFIT_FAILED" [B 14, C 14, D 14, E 14];
    }

    /// What kind of error the library met.
    ErrorCode "ErrorCode" {
        Success = "kSUCCESS" [A 0, B 0, C 0, D 0, E 0];
        UnspecifiedError = "kUNSPECIFIED_ERROR" [A 1, B 1, C 1, D 1, E 1];
        InternalError = "kINTERNAL_ERROR" [A 2, B 2, C 2, D 2, E 2];
        InvalidArgument = "kINVALID_ARGUMENT" [A 3, B 3, C 3, D 3, E 3];
        InvalidConfig = "kINVALID_CONFIG" [A 4, B 4, C 4, D 4, E 4];
        FailedAllocation = "kFAILED_ALLOCATION" [A 5, B 5, C 5, D 5, E 5];
        FailedInitialization = "kFAILED_INITIALIZATION" [A 6, B 6, C 6, D 6, E 6];
        FailedExecution = "kFAILED_EXECUTION" [A 7, B 7, C 7, D 7, E 7];
        FailedComputation = "kFAILED_COMPUTATION" [A 8, B 8, C 8, D 8, E 8];
        InvalidState = "kINVALID_STATE" [A 9, B 9, C 9, D 9, E 9];
        UnsupportedState = "kUNSUPPORTED_STATE" [A 10, B 10, C 10, D 10, E 10];
    }

    /// The kind of a layer of a network (before fusion).
    LayerType "LayerType" {
        Convolution = "kCONVOLUTION" [A 0, B 0, C 0, D 0, E 0];
        FullyConnected = "kFULLY_CONNECTED" [A 1];
        Activation = "kACTIVATION" [A 2, B 2, C 2, D 2, E 2];
        Pooling = "kPOOLING" [A 3, B 3, C 3, D 3, E 3];
        Lrn = "kLRN" [A 4, B 4, C 4, D 4, E 4];
        Scale = "kSCALE" [A 5, B 5, C 5, D 5, E 5];
        Softmax = "kSOFTMAX" [A 6, B 6, C 6, D 6, E 6];
        Deconvolution = "kDECONVOLUTION" [A 7, B 7, C 7, D 7, E 7];
        Concatenation = "kCONCATENATION" [A 8, B 8, C 8, D 8, E 8];
        Elementwise = "kELEMENTWISE" [A 9, B 9, C 9, D 9, E 9];
        Plugin = "kPLUGIN" [A 10, B 10, C 10, D 10, E 10];
        Unary = "kUNARY" [A 11, B 11, C 11, D 11, E 11];
        Padding = "kPADDING" [A 12, B 12, C 12, D 12, E 12];
        Shuffle = "kSHUFFLE" [A 13, B 13, C 13, D 13, E 13];
        Reduce = "kREDUCE" [A 14, B 14, C 14, D 14, E 14];
        Topk = "kTOPK" [A 15, B 15, C 15, D 15, E 15];
        Gather = "kGATHER" [A 16, B 16, C 16, D 16, E 16];
        MatrixMultiply = "kMATRIX_MULTIPLY" [A 17, B 17, C 17, D 17, E 17];
        RaggedSoftmax = "kRAGGED_SOFTMAX" [A 18, B 18, C 18, D 18, E 18];
        Constant = "kCONSTANT" [A 19, B 19, C 19, D 19, E 19];
        RnnV2 = "kRNN_V2" [A 20];
        Identity = "kIDENTITY" [A 21, B 20, C 20, D 20, E 20];
        PluginV2 = "kPLUGIN_V2" [A 22, B 21, C 21, D 21, E 21];
        Slice = "kSLICE" [A 23, B 22, C 22, D 22, E 22];
        Shape = "kSHAPE" [A 24, B 23, C 23, D 23, E 23];
        ParametricRelu = "kPARAMETRIC_RELU" [A 25, B 24, C 24, D 24, E 24];
        Resize = "kRESIZE" [A 26, B 25, C 25, D 25, E 25];
        TripLimit = "kTRIP_LIMIT" [A 27, B 26, C 26, D 26, E 26];
        Recurrence = "kRECURRENCE" [A 28, B 27, C 27, D 27, E 27];
        Iterator = "kITERATOR" [A 29, B 28, C 28, D 28, E 28];
        LoopOutput = "kLOOP_OUTPUT" [A 30, B 29, C 29, D 29, E 29];
        Select = "kSELECT" [A 31, B 30, C 30, D 30, E 30];
        Fill = "kFILL" [A 32, B 31, C 31, D 31, E 31];
        Quantize = "kQUANTIZE" [A 33, B 32, C 32, D 32, E 32];
        Dequantize = "kDEQUANTIZE" [A 34, B 33, C 33, D 33, E 33];
        Condition = "kCONDITION" [A 35, B 34, C 34, D 34, E 34];
        ConditionalInput = "kCONDITIONAL_INPUT" [A 36, B 35, C 35, D 35, E 35];
        ConditionalOutput = "kCONDITIONAL_OUTPUT" [A 37, B 36, C 36, D 36, E 36];
        Scatter = "kSCATTER" [A 38, B 37, C 37, D 37, E 37];
        Einsum = "kEINSUM" [A 39, B 38, C 38, D 38, E 38];
        Assertion = "kASSERTION" [A 40, B 39, C 39, D 39, E 39];
        OneHot = "kONE_HOT" [A 41, B 40, C 40, D 40, E 40];
        NonZero = "kNON_ZERO" [A 42, B 41, C 41, D 41, E 41];
        GridSample = "kGRID_SAMPLE" [A 43, B 42, C 42, D 42, E 42];
        Nms = "kNMS" [A 44, B 43, C 43, D 43, E 43];
        ReverseSequence = "kREVERSE_SEQUENCE" [A 45 from 8 6 1, B 44, C 44, D 44, E 44];
        Normalization = "kNORMALIZATION" [A 46 from 8 6 1, B 45, C 45, D 45, E 45];
        Cast = "kCAST" [A 47 from 8 6 1, B 1, C 1, D 1, E 1];
        PluginV3 = "kPLUGIN_V3" [B 46, C 46, D 46, E 46];
        Squeeze = "kSQUEEZE" [B 47 from 10 7 0, C 47, D 47, E 47];
        Unsqueeze = "kUNSQUEEZE" [B 48 from 10 7 0, C 48, D 48, E 48];
        Cumulative = "kCUMULATIVE" [B 49 from 10 8 0, C 49, D 49, E 49];
        DynamicQuantize = "kDYNAMIC_QUANTIZE" [B 50 from 10 8 0, C 50, D 50, E 50];
        AttentionInput = "kATTENTION_INPUT" [B 51 from 10 14 1, C 51, D 51, E 51];
        AttentionOutput = "kATTENTION_OUTPUT" [B 52 from 10 14 1, C 52, D 52, E 52];
        RotaryEmbedding = "kROTARY_EMBEDDING" [B 53 from 10 15 1, C 53, D 53, E 53];
        KvcacheUpdate = "kKVCACHE_UPDATE" [B 54 from 10 15 1, C 54, D 54, E 54];
        Moe = "kMOE" [B 55 from 10 16 0, C 55, D 55 from 1 4 0, E 55];
        DistCollective = "kDIST_COLLECTIVE" [B 56 from 10 16 0, C 56, D 56 from 1 4 0, E 56];
    }
}
