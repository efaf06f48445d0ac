//! Records as types: what each kind says, read from the bytes at fixed offsets, as far as the record goes.
//!
//! A field that came later is an `Option`: none where the library at hand is older. Stamps are nanoseconds of the session's
//! clock; 0 and 0 mean that CUPTI lost them. Numbers of streams, contexts, graphs and correlations are CUPTI's own.

mod field;
mod other;
mod read;
mod work;

pub use other::{
    Context, ContextSwitch, Device, Environment, EventRecord, ExternalCorrelation, Marker, MarkerData,
    Memory, MemoryPool, Name, Overhead, Reading, Stream,
};
pub use read::{Counts, PassedOver, parse, read_buffer};
pub use work::{Call, Copy, Fill, GraphLaunch, HostWork, Kernel, PeerCopy, Synchronization};

use crate::sys::{FieldRow, Kind};

/// One record.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Record {
    /// A kernel.
    Kernel(Kernel),
    /// A copy.
    Copy(Copy),
    /// A copy between devices.
    PeerCopy(PeerCopy),
    /// A fill.
    Fill(Fill),
    /// A launch of a graph as a whole.
    GraphLaunch(GraphLaunch),
    /// A call of the driver.
    DriverCall(Call),
    /// A call of the runtime.
    RuntimeCall(Call),
    /// A launch from within the driver.
    InternalCall(Call),
    /// Somebody waited.
    Synchronization(Synchronization),
    /// A host function of a stream or of a graph.
    HostWork(HostWork),
    /// Time that was not the program's.
    Overhead(Overhead),
    /// Begin or end of a range, or a mark.
    Marker(Marker),
    /// Payload and category of a range.
    MarkerData(MarkerData),
    /// Ties a caller's number to a call.
    ExternalCorrelation(ExternalCorrelation),
    /// A device.
    Device(Device),
    /// A context.
    Context(Context),
    /// A stream.
    Stream(Stream),
    /// An event was recorded.
    EventRecord(EventRecord),
    /// A name that NVTX gave.
    Name(Name),
    /// A reading of a device.
    Environment(Environment),
    /// Memory was taken or given back.
    Memory(Memory),
    /// A pool of memory changed.
    MemoryPool(MemoryPool),
    /// The device changed context.
    ContextSwitch(ContextSwitch),
}

impl Record {
    /// The kind that it is of. For a kernel it is not told whether kernels were serialised.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Kernel(_) => Kind::CONCURRENT_KERNEL,
            Self::Copy(_) => Kind::MEMCPY,
            Self::PeerCopy(_) => Kind::MEMCPY2,
            Self::Fill(_) => Kind::MEMSET,
            Self::GraphLaunch(_) => Kind::GRAPH_TRACE,
            Self::DriverCall(_) => Kind::DRIVER,
            Self::RuntimeCall(_) => Kind::RUNTIME,
            Self::InternalCall(_) => Kind::INTERNAL_LAUNCH_API,
            Self::Synchronization(_) => Kind::SYNCHRONIZATION,
            Self::HostWork(work) if work.node.is_some() => Kind::GRAPH_HOST_NODE,
            Self::HostWork(_) => Kind::HOST_LAUNCH,
            Self::Overhead(_) => Kind::OVERHEAD,
            Self::Marker(_) => Kind::MARKER,
            Self::MarkerData(_) => Kind::MARKER_DATA,
            Self::ExternalCorrelation(_) => Kind::EXTERNAL_CORRELATION,
            Self::Device(_) => Kind::DEVICE,
            Self::Context(_) => Kind::CONTEXT,
            Self::Stream(_) => Kind::STREAM,
            Self::EventRecord(_) => Kind::CUDA_EVENT,
            Self::Name(_) => Kind::NAME,
            Self::Environment(_) => Kind::ENVIRONMENT,
            Self::Memory(_) => Kind::MEMORY2,
            Self::MemoryPool(_) => Kind::MEMORY_POOL,
            Self::ContextSwitch(_) => Kind::COMPUTE_ENGINE_CTX_SWITCH,
        }
    }

    /// Begin and end on the device, where the record is of work on it.
    #[must_use]
    pub fn device_span(&self) -> Option<(u64, u64)> {
        Some(match self {
            Self::Kernel(kernel) => (kernel.start, kernel.end),
            Self::Copy(copy) => (copy.start, copy.end),
            Self::PeerCopy(copy) => (copy.start, copy.end),
            Self::Fill(fill) => (fill.start, fill.end),
            Self::GraphLaunch(launch) => (launch.start, launch.end),
            _ => return None,
        })
    }

    /// Whether CUPTI lost its stamps: they are 0, and the work has no place in time.
    #[must_use]
    pub fn has_lost_stamps(&self) -> bool {
        self.device_span() == Some((0, 0))
    }
}

/// Every field that is read, for tests: a record that several kinds share is listed once.
pub fn fields() -> impl Iterator<Item = FieldRow> {
    work::FIELDS
        .iter()
        .chain(other::FIELDS)
        .flat_map(|rows| rows.iter().copied())
}
