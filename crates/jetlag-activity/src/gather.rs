//! CUPTI's records as activities, as they come: named, not yet attributed. What ties them together is kept beside them.

use std::collections::HashMap;
use std::sync::Arc;

use cupti_dyn::sys::{CopyKind, Domain, ExternalKind, MemoryKind as CuptiMemory, SyncKind};
use cupti_dyn::{Library, NodeEvent, Record, record};

use super::names::Names;
use jetlag_record::activity::{
    Direction, Interface, MemoryKind, OnStream, Owner, TracedDevice, WaitKind, Work,
};
use jetlag_record::units::Stamp;
use jetlag_record::{Activity, Launch};

/// Activities that are kept of a phase: at 112 bytes each, some 340 MB.
const MOST: usize = 3_000_000;
/// The domain of our own ranges (`jetlag_range::trace`).
const OWN_RANGES: &str = "jetlag";
/// The stack of numbers that frames are pushed on.
pub const FRAMES: ExternalKind = ExternalKind::CUSTOM0;

/// An activity, and the node of a graph that it was.
#[derive(Clone, Copy, Debug)]
pub struct Raw {
    /// The activity.
    pub activity: Activity,
    /// 0 where it is of no graph.
    pub node: u64,
}

/// Everything of a phase.
#[derive(Debug, Default)]
pub struct Gathered {
    /// In the order in which they came.
    pub all: Vec<Raw>,
    /// Their names.
    pub names: Names,
    /// The pushed number of a call, by its correlation.
    pub frames: HashMap<u32, u64>,
    /// What happened to nodes of graphs, in order.
    pub nodes: Vec<NodeEvent>,
    /// The devices.
    pub devices: Vec<TracedDevice>,
    /// Activities beyond `MOST`.
    pub not_kept: u64,
    /// Ranges that have begun, by their numbers.
    open: HashMap<u32, Open>,
    payloads: HashMap<u32, i64>,
    calls: HashMap<(u32, u32), Option<u32>>,
}

/// A range that has begun.
#[derive(Clone, Copy, Debug)]
struct Open {
    from: u64,
    name: Option<u32>,
    domain: Option<u32>,
    thread: u32,
}

impl Gathered {
    /// Nothing yet; names are numbered as those of the process at this place.
    pub fn of_process(place: u16) -> Self {
        Gathered::after(Names::of_process(place))
    }

    /// Nothing yet, in a process that has given numbers already.
    pub fn after(names: Names) -> Self {
        Gathered {
            names,
            ..Gathered::default()
        }
    }

    fn name(&mut self, text: Option<&Arc<str>>) -> Option<u32> {
        self.names.number(text?, None)
    }

    fn push(&mut self, (from, to): (u64, u64), name: Option<u32>, work: Work, node: u64) {
        self.keep(Raw {
            activity: Activity {
                from: stamp(from),
                to: stamp(to),
                name,
                owner: Owner::default(),
                work,
            },
            node,
        });
    }

    /// Keeps an activity while there is room.
    pub fn keep(&mut self, raw: Raw) {
        match self.all.len() < MOST {
            true => self.all.push(raw),
            false => self.not_kept += 1,
        }
    }

    /// Takes in a record.
    pub fn take(&mut self, library: Library, record: Record) {
        if record.has_lost_stamps() {
            // Counted with what was lost: it has no place in time.
            return;
        }
        match record {
            Record::Kernel(kernel) => self.kernel(&kernel),
            Record::Copy(copy) => {
                let work = Work::Copy {
                    on: on(copy.device, copy.context, copy.stream),
                    correlation: copy.correlation,
                    graph: copy.graph,
                    direction: direction(copy.kind),
                    source: memory(copy.source.0),
                    destination: memory(copy.destination.0),
                    bytes: copy.bytes,
                };
                self.push((copy.start, copy.end), None, work, copy.graph_node);
            }
            Record::PeerCopy(copy) => {
                let work = Work::Copy {
                    on: on(copy.device, copy.context, copy.stream),
                    correlation: copy.correlation,
                    graph: copy.graph,
                    direction: Direction::Peer,
                    source: memory(copy.source.0),
                    destination: memory(copy.destination.0),
                    bytes: copy.bytes,
                };
                self.push((copy.start, copy.end), None, work, copy.graph_node);
            }
            Record::Fill(fill) => {
                let work = Work::Fill {
                    on: on(fill.device, fill.context, fill.stream),
                    correlation: fill.correlation,
                    graph: fill.graph,
                    memory: memory(fill.memory.0),
                    bytes: fill.bytes,
                };
                self.push((fill.start, fill.end), None, work, fill.graph_node);
            }
            Record::GraphLaunch(launch) => {
                let work = Work::Graph {
                    on: on(launch.device, launch.context, launch.stream),
                    correlation: launch.correlation,
                    graph: launch.graph,
                };
                self.push((launch.start, launch.end), None, work, 0);
            }
            Record::RuntimeCall(call) => self.call(library, Domain::RUNTIME_API, &call),
            Record::DriverCall(call) => self.call(library, Domain::DRIVER_API, &call),
            Record::Synchronization(wait) => {
                let work = Work::Wait {
                    on: on(0, wait.context, no_number(wait.stream)),
                    correlation: wait.correlation,
                    how: how(wait.kind),
                    event: u64::from(no_number(wait.event)),
                };
                self.push((wait.start, wait.end), None, work, 0);
            }
            Record::EventRecord(event) => {
                let work = Work::Event {
                    on: on(event.device.unwrap_or(0), event.context, event.stream),
                    correlation: event.correlation,
                    event: event.event.into(),
                };
                // It has no time of its own; that of its call is put in later.
                self.push((0, 0), None, work, 0);
            }
            Record::ExternalCorrelation(tie) if tie.kind == FRAMES => {
                self.frames.insert(tie.correlation, tie.id);
            }
            Record::Marker(marker) => self.marker(&marker),
            Record::MarkerData(data) => {
                self.payloads.insert(data.id, data.payload as i64);
            }
            Record::Overhead(overhead) => {
                let text: Arc<str> = overhead.kind.to_string().into();
                let name = self.name(Some(&text));
                let thread = overhead.object_second;
                self.push((overhead.start, overhead.end), name, Work::Overhead { thread }, 0);
            }
            Record::Device(device) => self.device(&device),
            _ => {}
        }
    }

    fn kernel(&mut self, kernel: &record::Kernel) {
        let positive = |number: i32| u32::try_from(number).unwrap_or(0);
        let launch = Launch {
            grid: [kernel.grid_x, kernel.grid_y, kernel.grid_z].map(positive),
            block: [kernel.block_x, kernel.block_y, kernel.block_z].map(positive),
            cluster: [kernel.cluster_x, kernel.cluster_y, kernel.cluster_z].map(|blocks| blocks.unwrap_or(0)),
            registers: kernel.registers.into(),
            static_shared_bytes: positive(kernel.static_shared_bytes),
            dynamic_shared_bytes: positive(kernel.dynamic_shared_bytes),
            local_bytes: kernel.local_thread_bytes,
        };
        let name = kernel
            .name
            .as_ref()
            .and_then(|text| self.names.number(text, Some(launch)));
        let work = Work::Kernel {
            on: on(kernel.device, kernel.context, kernel.stream),
            correlation: kernel.correlation,
            graph: kernel.graph,
        };
        self.push((kernel.start, kernel.end), name, work, kernel.graph_node);
    }

    fn call(&mut self, library: Library, domain: Domain, call: &record::Call) {
        let key = (domain.0, call.function);
        let name = match self.calls.get(&key) {
            Some(known) => *known,
            None => {
                let text: Option<Arc<str>> = library
                    .call_name(domain, call.function)
                    .map(|name| plain(&name).into());
                let name = self.name(text.as_ref());
                self.calls.insert(key, name);
                name
            }
        };
        let work = Work::Call {
            thread: call.thread,
            correlation: call.correlation,
            interface: match domain {
                Domain::DRIVER_API => Interface::Driver,
                _ => Interface::Runtime,
            },
        };
        self.push((call.start, call.end), name, work, 0);
    }

    fn marker(&mut self, marker: &record::Marker) {
        // Our own ranges say what the run file says better.
        if marker.flags.is_mark() || marker.domain.as_deref() == Some(OWN_RANGES) {
            return;
        }
        if marker.flags.is_start() {
            let open = Open {
                from: marker.timestamp,
                name: self.name(marker.name.as_ref()),
                domain: self.name(marker.domain.as_ref()),
                thread: marker.object_second,
            };
            self.open.insert(marker.id, open);
            return;
        }
        let Some(open) = self.open.remove(&marker.id) else {
            return;
        };
        let work = Work::Range {
            thread: open.thread,
            domain: open.domain,
            payload: self.payloads.remove(&marker.id),
        };
        self.push((open.from, marker.timestamp), open.name, work, 0);
    }

    fn device(&mut self, device: &record::Device) {
        let number = u16::try_from(device.device).unwrap_or(u16::MAX);
        if self.devices.iter().any(|known| known.device == number) {
            return;
        }
        self.devices.push(TracedDevice {
            device: number,
            name: device.name.as_deref().unwrap_or_default().to_owned(),
            capability: device.capability_major * 10 + device.capability_minor,
            multiprocessors: device.multiprocessors,
            most_warps: device.most_warps,
            most_blocks: device.most_blocks,
            registers: device.registers,
            shared_bytes: device.shared_bytes,
            warp_threads: device.warp_threads,
        });
    }
}

fn stamp(ns: u64) -> Stamp {
    Stamp(i64::try_from(ns).unwrap_or(i64::MAX))
}

fn on(device: u32, context: u32, stream: u32) -> OnStream {
    OnStream {
        device: u16::try_from(device).unwrap_or(u16::MAX),
        context,
        stream,
    }
}

/// CUPTI's "does not apply".
fn no_number(number: u32) -> u32 {
    match number {
        u32::MAX => 0,
        number => number,
    }
}

/// A call's name without the version that the driver's symbols end in: `cuLaunchKernel_v11060` is `cuLaunchKernel`.
fn plain(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((plain, version))
            if !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            plain
        }
        _ => name,
    }
}

fn direction(kind: CopyKind) -> Direction {
    match kind {
        CopyKind::HTOD | CopyKind::HTOA => Direction::HostToDevice,
        CopyKind::DTOH | CopyKind::ATOH => Direction::DeviceToHost,
        CopyKind::DTOD | CopyKind::ATOA | CopyKind::ATOD | CopyKind::DTOA => Direction::DeviceToDevice,
        CopyKind::HTOH => Direction::HostToHost,
        CopyKind::PTOP => Direction::Peer,
        _ => Direction::Unknown,
    }
}

fn memory(kind: u32) -> MemoryKind {
    match CuptiMemory(kind) {
        CuptiMemory::PAGEABLE => MemoryKind::Pageable,
        CuptiMemory::PINNED => MemoryKind::Pinned,
        CuptiMemory::DEVICE | CuptiMemory::DEVICE_STATIC => MemoryKind::Device,
        CuptiMemory::ARRAY => MemoryKind::Array,
        CuptiMemory::MANAGED | CuptiMemory::MANAGED_STATIC => MemoryKind::Managed,
        _ => MemoryKind::Unknown,
    }
}

fn how(kind: SyncKind) -> WaitKind {
    match kind {
        SyncKind::EVENT_SYNCHRONIZE => WaitKind::Event,
        SyncKind::STREAM_WAIT_EVENT => WaitKind::StreamForEvent,
        SyncKind::STREAM_SYNCHRONIZE => WaitKind::Stream,
        SyncKind::CONTEXT_SYNCHRONIZE => WaitKind::Context,
        _ => WaitKind::Unknown,
    }
}
