//! Kinds of records (`CUpti_ActivityKind`), kept as numbers: newer libraries send kinds that nobody here knows.

use std::fmt;

/// A kind of record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(pub u32);

/// What is known of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindRow {
    /// The kind.
    pub kind: Kind,
    /// The constant as the header writes it, without `CUPTI_ACTIVITY_KIND_`.
    pub name: &'static str,
    /// The record's struct as the header writes it, without the number at its end; empty where the crate does not read it.
    pub structure: &'static str,
    /// The record's length in the oldest release that has it; 0 where the crate does not read it. Shorter ones are of no
    /// release that is known, and refused.
    pub oldest: usize,
    /// The record's length in the newest release that is known.
    pub newest: usize,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $value:literal $($structure:literal $oldest:literal, $newest:literal)?;)*) => {
        impl Kind {
            $($(#[$doc])* pub const $name: Self = Self($value);)*
        }

        static ROWS: &[KindRow] = &[$(KindRow {
            kind: Kind::$name,
            name: stringify!($name),
            structure: kinds!(@first $($structure)?, ""),
            oldest: kinds!(@first $($oldest)?, 0),
            newest: kinds!(@first $($newest)?, 0),
        },)*];
    };
    (@first $value:literal, $default:literal) => { $value };
    (@first , $default:literal) => { $default };
}

kinds! {
    /// A copy between host and device, or within one of them.
    MEMCPY = 1 "CUpti_ActivityMemcpy" 80, 112;
    /// A fill.
    MEMSET = 2 "CUpti_ActivityMemset" 80, 104;
    /// A kernel; enabling it serialises kernels: [`Self::CONCURRENT_KERNEL`] does not.
    KERNEL = 3 "CUpti_ActivityKernel" 168, 248;
    /// A call of the driver.
    DRIVER = 4 "CUpti_ActivityAPI" 40, 40;
    /// A call of the runtime.
    RUNTIME = 5 "CUpti_ActivityAPI" 40, 40;
    /// Gone in 13.0.
    EVENT = 6;
    /// Gone in 13.0.
    METRIC = 7;
    /// A device, told once.
    DEVICE = 8 "CUpti_ActivityDevice" 144, 192;
    /// A context, told when it is made.
    CONTEXT = 9 "CUpti_ActivityContext" 16, 40;
    /// A kernel, without serialising them.
    CONCURRENT_KERNEL = 10 "CUpti_ActivityKernel" 168, 248;
    /// The name that NVTX gave to a thread, a device, a context or a stream.
    NAME = 11 "CUpti_ActivityName" 32, 32;
    /// Begin or end of an NVTX range, or a mark.
    MARKER = 12 "CUpti_ActivityMarker" 56, 56;
    /// Payload, colour and category of a range.
    MARKER_DATA = 13 "CUpti_ActivityMarkerData" 32, 40;
    /// Not read.
    SOURCE_LOCATOR = 14;
    /// Not read.
    GLOBAL_ACCESS = 15;
    /// Not read.
    BRANCH = 16;
    /// Time that CUPTI, the driver or the compiler took for itself.
    OVERHEAD = 17 "CUpti_ActivityOverhead" 40, 56;
    /// Not read.
    CDP_KERNEL = 18;
    /// Not read.
    PREEMPTION = 19;
    /// Clocks, temperature, power and fan of a device.
    ENVIRONMENT = 20 "CUpti_ActivityEnvironment" 40, 40;
    /// Not read.
    EVENT_INSTANCE = 21;
    /// A copy between devices.
    MEMCPY2 = 22 "CUpti_ActivityMemcpyPtoP" 88, 96;
    /// Not read.
    METRIC_INSTANCE = 23;
    /// Not read.
    INSTRUCTION_EXECUTION = 24;
    /// Not read.
    UNIFIED_MEMORY_COUNTER = 25;
    /// Not read.
    FUNCTION = 26;
    /// Not read.
    MODULE = 27;
    /// Not read.
    DEVICE_ATTRIBUTE = 28;
    /// Not read.
    SHARED_ACCESS = 29;
    /// Gone in 13.0.
    PC_SAMPLING = 30;
    /// Gone in 13.0.
    PC_SAMPLING_RECORD_INFO = 31;
    /// Not read.
    INSTRUCTION_CORRELATION = 32;
    /// Not read.
    OPENACC_DATA = 33;
    /// Not read.
    OPENACC_LAUNCH = 34;
    /// Not read.
    OPENACC_OTHER = 35;
    /// An event that was recorded.
    CUDA_EVENT = 36 "CUpti_ActivityCudaEvent" 24, 80;
    /// A stream, told when it is made.
    STREAM = 37 "CUpti_ActivityStream" 24, 24;
    /// Somebody waited.
    SYNCHRONIZATION = 38 "CUpti_ActivitySynchronization" 40, 56;
    /// Ties a caller's own number to a call.
    EXTERNAL_CORRELATION = 39 "CUpti_ActivityExternalCorrelation" 24, 24;
    /// Laid out anew in 13.2, so it is not read.
    NVLINK = 40;
    /// Not read.
    INSTANTANEOUS_EVENT = 41;
    /// Not read.
    INSTANTANEOUS_EVENT_INSTANCE = 42;
    /// Not read.
    INSTANTANEOUS_METRIC = 43;
    /// Not read.
    INSTANTANEOUS_METRIC_INSTANCE = 44;
    /// Superseded by [`Self::MEMORY2`].
    MEMORY = 45;
    /// Not read.
    PCIE = 46;
    /// Not read.
    OPENMP = 47;
    /// A launch from within the driver.
    INTERNAL_LAUNCH_API = 48 "CUpti_ActivityAPI" 40, 40;
    /// Memory was taken or given back.
    MEMORY2 = 49 "CUpti_ActivityMemory" 112, 128;
    /// A pool of memory was made, trimmed or destroyed.
    MEMORY_POOL = 50 "CUpti_ActivityMemoryPool" 64, 80;
    /// A launch of a graph as a whole, from 11.7 on; enabling it ends the records of its nodes for the session.
    GRAPH_TRACE = 51 "CUpti_ActivityGraphTrace" 48, 56;
    /// Not read.
    JIT = 52;
    /// Not read.
    DEVICE_GRAPH_TRACE = 53;
    /// Not read.
    MEM_DECOMPRESS = 54;
    /// Not read.
    CONFIDENTIAL_COMPUTE_ROTATION = 55;
    /// A host function of a graph, from 13.1 on.
    GRAPH_HOST_NODE = 56 "CUpti_ActivityGraphHostNode" 56, 56;
    /// The device changed from one context to another, from 13.1 on.
    COMPUTE_ENGINE_CTX_SWITCH = 57 "CUpti_ActivityComputeEngineCtxSwitch" 24, 24;
    /// A host function of a stream, from 13.1 on.
    HOST_LAUNCH = 58 "CUpti_ActivityHostLaunch" 48, 48;
    /// Not read.
    GREEN_CONTEXT = 59;
}

impl Kind {
    /// What is known of it; none for kinds that came after this crate.
    #[must_use]
    pub fn row(self) -> Option<&'static KindRow> {
        ROWS.iter().find(|row| row.kind == self)
    }

    /// The length of the oldest record that is read; none for kinds that are not.
    #[must_use]
    pub fn oldest(self) -> Option<usize> {
        self.row().map(|row| row.oldest).filter(|length| *length > 0)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row() {
            Some(row) => f.write_str(row.name),
            None => write!(f, "kind {}", self.0),
        }
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Every kind that is known.
pub fn kinds() -> impl Iterator<Item = &'static KindRow> {
    ROWS.iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_kind_keeps_its_number() {
        assert_eq!(Kind(4711).to_string(), "kind 4711");
        assert_eq!(Kind::MEMCPY2.to_string(), "MEMCPY2");
        assert_eq!(Kind(4711).oldest(), None);
        assert_eq!(Kind::NVLINK.oldest(), None);
        assert_eq!(Kind::CONCURRENT_KERNEL.oldest(), Some(168));
    }
}
