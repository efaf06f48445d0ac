//! What the GPU did in a traced phase, and the host for it: kernels, copies, calls, waits, ranges.
//!
//! Activities come in batches, each of one process and one phase. Texts and the shapes of launches repeat thousands of times,
//! so an activity has the number of a [`Definition`], which is recorded before it. Stamps are of the run's clock; numbers of
//! contexts, streams, graphs and events are the tracer's own, and mean something within one process alone.

use crate::phase::Phase;
use crate::units::{Nanos, Stamp};

/// A text that activities refer to by number; for a kernel also how it is launched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Definition {
    /// Its number, unique in the run file.
    pub number: u32,
    /// A kernel's or call's name, a layer's, a range's.
    pub text: String,
    /// Of a kernel: the shape of its launches. The same kernel with another shape has another number.
    pub launch: Option<Launch>,
}

/// The shape of a kernel's launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Launch {
    /// Blocks in each direction.
    pub grid: [u32; 3],
    /// Threads of a block in each direction.
    pub block: [u32; 3],
    /// Blocks of a cluster in each direction; 0 where there are no clusters, or the tracer does not say.
    pub cluster: [u32; 3],
    /// Registers of a thread.
    pub registers: u32,
    /// Shared memory of a block that the kernel declares, in bytes.
    pub static_shared_bytes: u32,
    /// Shared memory of a block that the launch asks for, in bytes.
    pub dynamic_shared_bytes: u32,
    /// Local memory of a thread, in bytes.
    pub local_bytes: u32,
}

/// Activities of one process in one phase.
#[derive(Clone, Debug, PartialEq)]
pub struct ActivityBatch {
    /// The phase in which they were traced.
    pub phase: Phase,
    /// The process, by its number in the system.
    pub process: u32,
    /// In order of their begin, within this batch.
    pub activities: Vec<Activity>,
}

impl ActivityBatch {
    /// What its stamps are stored after: when its first activity began.
    pub(crate) fn base(&self) -> Stamp {
        self.activities
            .iter()
            .map(|activity| activity.from)
            .min()
            .unwrap_or_default()
    }
}

/// One activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// When it began.
    pub from: Stamp,
    /// When it ended.
    pub to: Stamp,
    /// Number of the [`Definition`] with its name; `None` for what has none.
    pub name: Option<u32>,
    /// Whom it belongs to.
    pub owner: Owner,
    /// What it was.
    pub work: Work,
}

impl Activity {
    /// How long it took: `to − from`.
    pub fn duration(&self) -> Nanos {
        self.to - self.from
    }
}

/// Whom an activity belongs to, as far as that is known. What is not known stays `None`; nothing is spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Owner {
    /// Position of the tenant in the scenario.
    pub tenant: Option<u16>,
    /// The frame's sequence number, in the batch's phase.
    pub frame: Option<u64>,
    /// Number of the [`Definition`] with the name of the layer.
    pub layer: Option<u32>,
}

/// A stream of a device, by the tracer's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OnStream {
    /// The device, by CUDA's number in the process.
    pub device: u16,
    /// The context.
    pub context: u32,
    /// The stream.
    pub stream: u32,
}

/// What an activity was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A kernel ran.
    Kernel {
        /// Where.
        on: OnStream,
        /// The call that launched it has the same number; all kernels of a graph have that of the graph's launch.
        correlation: u32,
        /// The graph that it was launched by; 0 where none.
        graph: u32,
    },
    /// Memory was copied.
    Copy {
        /// Where.
        on: OnStream,
        /// As of a kernel.
        correlation: u32,
        /// As of a kernel.
        graph: u32,
        /// From what to what.
        direction: Direction,
        /// The memory that was read.
        source: MemoryKind,
        /// The memory that was written.
        destination: MemoryKind,
        /// How much.
        bytes: u64,
    },
    /// Memory was filled.
    Fill {
        /// Where.
        on: OnStream,
        /// As of a kernel.
        correlation: u32,
        /// As of a kernel.
        graph: u32,
        /// The memory.
        memory: MemoryKind,
        /// How much.
        bytes: u64,
    },
    /// A graph ran as a whole: its nodes were not traced.
    Graph {
        /// Where it was launched.
        on: OnStream,
        /// The call that launched it has the same number.
        correlation: u32,
        /// The graph.
        graph: u32,
    },
    /// The host was in a call of CUDA.
    Call {
        /// The thread, by its number in the system.
        thread: u32,
        /// Work that it asked for has the same number.
        correlation: u32,
        /// Which of CUDA's two interfaces.
        interface: Interface,
    },
    /// The host or a stream waited.
    Wait {
        /// The stream that was waited for, or that waited for an event; 0 where the context or the device was waited for.
        on: OnStream,
        /// The call that waited has the same number.
        correlation: u32,
        /// What for.
        how: WaitKind,
        /// The event; 0 where none.
        event: u64,
    },
    /// An event was recorded in a stream.
    Event {
        /// Where.
        on: OnStream,
        /// The call that recorded it has the same number.
        correlation: u32,
        /// The event.
        event: u64,
    },
    /// A range of an application's or library's own, of NVTX.
    Range {
        /// The thread that opened it, by its number in the system.
        thread: u32,
        /// Number of the [`Definition`] with its domain's name; `None` for the default domain.
        domain: Option<u32>,
        /// What the range carries, such as the items of a batch; `None` where it carries nothing.
        payload: Option<i64>,
    },
    /// Time that the tracer or the driver took for itself; the name says for what.
    Overhead {
        /// The thread; 0 where it belongs to none.
        thread: u32,
    },
    /// The device worked for a process: a time slice.
    Slice {
        /// The device.
        device: u16,
        /// The process that had it.
        process: u32,
    },
}

impl Work {
    /// Where it ran, if it is work on the device: kernel, copy, fill or graph.
    pub fn on_device(&self) -> Option<OnStream> {
        match *self {
            Work::Kernel { on, .. }
            | Work::Copy { on, .. }
            | Work::Fill { on, .. }
            | Work::Graph { on, .. } => Some(on),
            _ => None,
        }
    }

    /// The number that ties calls to the work that they asked for.
    pub fn correlation(&self) -> Option<u32> {
        match *self {
            Work::Kernel { correlation, .. }
            | Work::Copy { correlation, .. }
            | Work::Fill { correlation, .. }
            | Work::Graph { correlation, .. }
            | Work::Call { correlation, .. }
            | Work::Wait { correlation, .. }
            | Work::Event { correlation, .. } => Some(correlation),
            Work::Range { .. } | Work::Overhead { .. } | Work::Slice { .. } => None,
        }
    }
}

/// An enum with numbers that a newer version may add to: what is not known is `Unknown`.
macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $number:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name {
            /// The tracer does not say, or says something newer.
            #[default]
            Unknown = 0,
            $($(#[$variant_doc])* $variant = $number,)+
        }

        impl $name {
            /// That with a number of the run file.
            pub(crate) const fn of_number(number: u8) -> Self {
                match number {
                    $($number => Self::$variant,)+
                    _ => Self::Unknown,
                }
            }
        }
    };
}

numbered! {
    /// From what to what memory was copied.
    Direction {
        /// From the host to the device.
        HostToDevice = 1,
        /// From the device to the host.
        DeviceToHost = 2,
        /// Within the device.
        DeviceToDevice = 3,
        /// Within the host.
        HostToHost = 4,
        /// From one device to another.
        Peer = 5,
    }
}

numbered! {
    /// A kind of memory.
    MemoryKind {
        /// The host's, that may be paged out: copies go through the driver's own buffer.
        Pageable = 1,
        /// The host's, page-locked.
        Pinned = 2,
        /// The device's.
        Device = 3,
        /// A texture's array.
        Array = 4,
        /// Managed, that moves by itself.
        Managed = 5,
    }
}

numbered! {
    /// Which of CUDA's interfaces a call is of.
    Interface {
        /// `cu…`
        Driver = 1,
        /// `cuda…`
        Runtime = 2,
    }
}

numbered! {
    /// What was waited for.
    WaitKind {
        /// The host waited for an event.
        Event = 1,
        /// A stream was told to wait for an event.
        StreamForEvent = 2,
        /// The host waited for a stream.
        Stream = 3,
        /// The host waited for a context or device.
        Context = 4,
    }
}

impl Direction {
    /// As reports and exports have it.
    pub const fn word(self) -> &'static str {
        match self {
            Direction::HostToDevice => "host to device",
            Direction::DeviceToHost => "device to host",
            Direction::DeviceToDevice => "device to device",
            Direction::HostToHost => "host to host",
            Direction::Peer => "peer",
            Direction::Unknown => "unknown",
        }
    }
}

impl MemoryKind {
    /// As reports and exports have it.
    pub const fn word(self) -> &'static str {
        match self {
            MemoryKind::Pageable => "pageable",
            MemoryKind::Pinned => "pinned",
            MemoryKind::Device => "device",
            MemoryKind::Array => "array",
            MemoryKind::Managed => "managed",
            MemoryKind::Unknown => "unknown",
        }
    }
}

impl Work {
    /// What kind of activity it is, as exports have it.
    pub const fn word(&self) -> &'static str {
        match self {
            Work::Kernel { .. } => "kernel",
            Work::Copy { .. } => "copy",
            Work::Fill { .. } => "fill",
            Work::Graph { .. } => "graph",
            Work::Call { .. } => "call",
            Work::Wait { .. } => "wait",
            Work::Event { .. } => "event",
            Work::Range { .. } => "range",
            Work::Overhead { .. } => "overhead",
            Work::Slice { .. } => "slice",
        }
    }
}

/// How a phase was traced in one process, and what was lost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceRecord {
    /// The phase that was traced.
    pub phase: Option<Phase>,
    /// The process, by its number in the system.
    pub process: u32,
    /// When tracing began.
    pub from: Stamp,
    /// When it ended.
    pub to: Stamp,
    /// The tracer, as `CUPTI of CUDA 13.0.1`.
    pub tracer: String,
    /// Whether nodes of graphs were traced, else graphs as a whole.
    pub graph_nodes: bool,
    /// Whether calls of CUDA were traced.
    pub calls: bool,
    /// Functions of CUDA whose calls were left out, since they only ask.
    pub calls_left_out: u32,
    /// Activities that were recorded.
    pub activities: u64,
    /// Records that the tracer dropped for want of buffers.
    pub dropped: u64,
    /// Kernels, copies and fills without stamps, which are not among the activities.
    pub lost_stamps: u64,
    /// Activities that were not kept, since there were more than memory was set aside for.
    pub not_kept: u64,
    /// The most that stamps are off by since the tracer's clock is another; 0 if it is the run's own.
    pub clock_residual: Nanos,
    /// What limits the trace beside that, a sentence each.
    pub notes: Vec<String>,
    /// The devices that were traced.
    pub devices: Vec<TracedDevice>,
}

/// A device, as the tracer describes it: what limits how many blocks it runs at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracedDevice {
    /// CUDA's number in the process.
    pub device: u16,
    /// Its name.
    pub name: String,
    /// Compute capability, as 87 for 8.7.
    pub capability: u32,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Warps that a multiprocessor holds.
    pub most_warps: u32,
    /// Blocks that a multiprocessor holds.
    pub most_blocks: u32,
    /// Registers of a multiprocessor.
    pub registers: u32,
    /// Shared memory of a multiprocessor, in bytes.
    pub shared_bytes: u32,
    /// Threads of a warp.
    pub warp_threads: u32,
}

impl TraceRecord {
    /// Whether every activity is there.
    pub fn is_whole(&self) -> bool {
        self.dropped == 0 && self.lost_stamps == 0 && self.not_kept == 0
    }
}
