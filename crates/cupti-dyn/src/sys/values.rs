//! Enum values within records, kept as numbers with names for those that are known.

use std::fmt;

/// One enum value, as the crate has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueRow {
    /// The enum as the header writes it.
    pub class: &'static str,
    /// The constant as the header writes it, whole.
    pub name: &'static str,
    /// Its number.
    pub value: u32,
}

macro_rules! values {
    ($($(#[$doc:meta])* $type:ident = $class:literal, $prefix:literal {
        $($name:ident = $value:literal => $words:literal;)*
    })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub struct $type(pub u32);

            #[allow(missing_docs, reason = "the header's names")]
            impl $type {
                $(pub const $name: Self = Self($value);)*

                /// In words; none for what came after this crate.
                #[must_use]
                pub fn words(self) -> Option<&'static str> {
                    match self.0 {
                        $($value => Some($words),)*
                        _ => None,
                    }
                }
            }

            impl fmt::Display for $type {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    match self.words() {
                        Some(words) => f.write_str(words),
                        None => write!(f, "{} {}", stringify!($type), self.0),
                    }
                }
            }

            impl fmt::Debug for $type {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    write!(f, "{self}")
                }
            }
        )*

        static ROWS: &[ValueRow] = &[$($(ValueRow {
            class: $class,
            name: concat!($prefix, stringify!($name)),
            value: $value,
        },)*)*];
    };
}

values! {
    /// From where to where a copy goes.
    CopyKind = "CUpti_ActivityMemcpyKind", "CUPTI_ACTIVITY_MEMCPY_KIND_" {
        UNKNOWN = 0 => "unknown";
        HTOD = 1 => "host to device";
        DTOH = 2 => "device to host";
        HTOA = 3 => "host to array";
        ATOH = 4 => "array to host";
        ATOA = 5 => "array to array";
        ATOD = 6 => "array to device";
        DTOA = 7 => "device to array";
        DTOD = 8 => "device to device";
        HTOH = 9 => "host to host";
        PTOP = 10 => "device to another device";
    }
    /// What kind of memory a copy or a fill touches.
    MemoryKind = "CUpti_ActivityMemoryKind", "CUPTI_ACTIVITY_MEMORY_KIND_" {
        UNKNOWN = 0 => "unknown";
        PAGEABLE = 1 => "pageable";
        PINNED = 2 => "pinned";
        DEVICE = 3 => "device";
        ARRAY = 4 => "array";
        MANAGED = 5 => "managed";
        DEVICE_STATIC = 6 => "device, static";
        MANAGED_STATIC = 7 => "managed, static";
    }
    /// What took time for itself.
    OverheadKind = "CUpti_ActivityOverheadKind", "CUPTI_ACTIVITY_OVERHEAD_" {
        UNKNOWN = 0 => "unknown";
        DRIVER_COMPILER = 1 => "the driver's compiler";
        CUPTI_BUFFER_FLUSH = 65536 => "CUPTI flushes its buffers";
        CUPTI_INSTRUMENTATION = 131072 => "CUPTI instruments code";
        CUPTI_RESOURCE = 196608 => "CUPTI makes its resources";
        RUNTIME_TRIGGERED_MODULE_LOADING = 262144 => "the runtime loads a module";
        LAZY_FUNCTION_LOADING = 327680 => "a function is loaded at its first use";
        COMMAND_BUFFER_FULL = 393216 => "the command buffer is full";
        ACTIVITY_BUFFER_REQUEST = 458752 => "CUPTI asks for a buffer";
        UVM_ACTIVITY_INIT = 524288 => "CUPTI begins to watch unified memory";
    }
    /// How somebody waited.
    SyncKind = "CUpti_ActivitySynchronizationType", "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_" {
        UNKNOWN = 0 => "unknown";
        EVENT_SYNCHRONIZE = 1 => "the host for an event";
        STREAM_WAIT_EVENT = 2 => "a stream for an event";
        STREAM_SYNCHRONIZE = 3 => "the host for a stream";
        CONTEXT_SYNCHRONIZE = 4 => "the host for a context";
    }
    /// How a stream was made.
    StreamFlag = "CUpti_ActivityStreamFlag", "CUPTI_ACTIVITY_STREAM_CREATE_" {
        FLAG_UNKNOWN = 0 => "unknown";
        FLAG_DEFAULT = 1 => "default";
        FLAG_NON_BLOCKING = 2 => "non-blocking";
        FLAG_NULL = 3 => "null";
        MASK = 65535 => "mask";
    }
    /// What a name or an overhead belongs to.
    ObjectKind = "CUpti_ActivityObjectKind", "CUPTI_ACTIVITY_OBJECT_" {
        UNKNOWN = 0 => "unknown";
        PROCESS = 1 => "process";
        THREAD = 2 => "thread";
        DEVICE = 3 => "device";
        CONTEXT = 4 => "context";
        STREAM = 5 => "stream";
    }
    /// What a reading of the environment is of.
    EnvironmentKind = "CUpti_ActivityEnvironmentKind", "CUPTI_ACTIVITY_ENVIRONMENT_" {
        UNKNOWN = 0 => "unknown";
        SPEED = 1 => "clocks";
        TEMPERATURE = 2 => "temperature";
        POWER = 3 => "power";
        COOLING = 4 => "cooling";
    }
    /// What happened to memory.
    MemoryOperation = "CUpti_ActivityMemoryOperationType", "CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_" {
        INVALID = 0 => "invalid";
        ALLOCATION = 1 => "taken";
        RELEASE = 2 => "given back";
    }
    /// How a kernel was launched.
    LaunchType = "CUpti_ActivityLaunchType", "CUPTI_ACTIVITY_LAUNCH_TYPE_" {
        REGULAR = 0 => "regular";
        COOPERATIVE_SINGLE_DEVICE = 1 => "cooperative";
        COOPERATIVE_MULTI_DEVICE = 2 => "cooperative over devices";
        CBL_COMMANDLIST = 3 => "command list";
    }
    /// What kind of channel work went through.
    ChannelType = "CUpti_ChannelType", "CUPTI_CHANNEL_TYPE_" {
        INVALID = 0 => "none";
        COMPUTE = 1 => "compute";
        ASYNC_MEMCPY = 2 => "copies";
        DECOMP = 3 => "decompression";
    }
    /// Which stack an external number is on.
    ExternalKind = "CUpti_ExternalCorrelationKind", "CUPTI_EXTERNAL_CORRELATION_KIND_" {
        INVALID = 0 => "invalid";
        UNKNOWN = 1 => "unknown";
        OPENACC = 2 => "OpenACC";
        CUSTOM0 = 3 => "custom 0";
        CUSTOM1 = 4 => "custom 1";
        CUSTOM2 = 5 => "custom 2";
    }
    /// A setting of the library.
    Attribute = "CUpti_ActivityAttribute", "CUPTI_ACTIVITY_ATTR_" {
        DEVICE_BUFFER_SIZE = 0 => "size of the device's buffers";
        DEVICE_BUFFER_POOL_LIMIT = 2 => "most device buffers of a context";
        ZEROED_OUT_ACTIVITY_BUFFER = 5 => "buffers are handed out zeroed";
        DEVICE_BUFFER_PRE_ALLOCATE_VALUE = 6 => "device buffers made beforehand";
        MEM_ALLOCATION_TYPE_HOST_PINNED = 8 => "device buffers in pinned host memory";
        PER_THREAD_ACTIVITY_BUFFER = 9 => "a buffer for each thread";
    }
    /// How threads are numbered in records.
    ThreadIdType = "CUpti_ActivityThreadIdType", "CUPTI_ACTIVITY_THREAD_ID_TYPE_" {
        DEFAULT = 0 => "pthread_self, cut";
        SYSTEM = 1 => "gettid";
    }
    /// What a call belongs to.
    Domain = "CUpti_CallbackDomain", "CUPTI_CB_DOMAIN_" {
        INVALID = 0 => "none";
        DRIVER_API = 1 => "driver";
        RUNTIME_API = 2 => "runtime";
        RESOURCE = 3 => "resource";
        SYNCHRONIZE = 4 => "synchronisation";
        NVTX = 5 => "NVTX";
        STATE = 6 => "state";
    }
    /// What happened to a resource.
    ResourceCallback = "CUpti_CallbackIdResource", "CUPTI_CBID_RESOURCE_" {
        GRAPHNODE_CREATED = 13 => "a node of a graph was made";
        GRAPHNODE_CLONED = 20 => "a node of a graph was cloned";
    }
    /// Which service a context's device is used through.
    ComputeApi = "CUpti_ActivityComputeApiKind", "CUPTI_ACTIVITY_COMPUTE_API_" {
        UNKNOWN = 0 => "unknown";
        CUDA = 1 => "CUDA";
        CUDA_MPS = 2 => "CUDA over MPS";
    }
    /// How a kernel is made.
    ExecutionModel = "CUpti_FuncExecutionModel", "CUPTI_FUNC_EXECUTION_MODEL_" {
        UNKNOWN = 0 => "unknown";
        SIMT = 1 => "threads";
        TILE = 2 => "tiles";
        HYBRID = 3 => "threads and tiles";
    }
}

/// What a marker is, in bits (`CUpti_ActivityFlag`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MarkerFlags(pub u32);

impl MarkerFlags {
    const INSTANTANEOUS: u32 = 1;
    const START: u32 = 2;
    const END: u32 = 4;

    /// In words: bits that have none are left out, so there always are some.
    #[must_use]
    pub fn words(self) -> Option<&'static str> {
        Some(match () {
            () if self.is_start() => "start",
            () if self.is_end() => "end",
            () if self.is_mark() => "mark",
            () => "other",
        })
    }

    /// A mark.
    #[must_use]
    pub fn is_mark(self) -> bool {
        self.0 & Self::INSTANTANEOUS != 0
    }

    /// The begin of a range; it carries the name.
    #[must_use]
    pub fn is_start(self) -> bool {
        self.0 & Self::START != 0
    }

    /// The end of a range; it carries no name.
    #[must_use]
    pub fn is_end(self) -> bool {
        self.0 & Self::END != 0
    }
}

static FLAGS: [ValueRow; 3] = [
    flag(
        "CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS",
        MarkerFlags::INSTANTANEOUS,
    ),
    flag("CUPTI_ACTIVITY_FLAG_MARKER_START", MarkerFlags::START),
    flag("CUPTI_ACTIVITY_FLAG_MARKER_END", MarkerFlags::END),
];

const fn flag(name: &'static str, value: u32) -> ValueRow {
    ValueRow {
        class: "CUpti_ActivityFlag",
        name,
        value,
    }
}

/// Every enum value of the crate but the kinds and the statuses.
pub fn value_rows() -> impl Iterator<Item = ValueRow> {
    ROWS.iter().chain(&FLAGS).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_speak_and_unknown_ones_keep_their_number() {
        assert_eq!(CopyKind::HTOD.to_string(), "host to device");
        assert_eq!(CopyKind(99).to_string(), "CopyKind 99");
        assert_eq!(MemoryKind::PINNED.to_string(), "pinned");
        assert!(MarkerFlags(2).is_start() && !MarkerFlags(2).is_end());
    }
}
