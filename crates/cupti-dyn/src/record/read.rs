//! From a buffer's bytes to records, with everything counted that was passed over.

use std::collections::BTreeMap;
use std::fmt;

use super::field::Reader;
use super::work::{GraphHostNode, HostLaunch};
use super::{
    Call, Context, ContextSwitch, Copy, Device, Environment, EventRecord, ExternalCorrelation, Fill,
    GraphLaunch, Kernel, Marker, MarkerData, Memory, MemoryPool, Name, Overhead, PeerCopy, Record, Stream,
    Synchronization,
};
use crate::sys::Kind;
use crate::text::Texts;
use crate::walk::{Lengths, Raw, Stop, Walk};

/// Why a record was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassedOver {
    /// Its kind is not read.
    Unknown,
    /// It is shorter than every release has it.
    Short,
}

/// Reads one record; gives it with how many of its enum values have no name here.
///
/// # Errors
/// It cannot be read.
pub fn parse(raw: Raw<'_>, texts: &mut dyn Texts) -> Result<(Record, u64), PassedOver> {
    let mut reader = Reader {
        bytes: raw.bytes,
        texts,
        unknown_values: 0,
    };
    let reader = &mut reader;
    let record = match raw.kind {
        Kind::KERNEL | Kind::CONCURRENT_KERNEL => Kernel::read(reader).map(Record::Kernel),
        Kind::MEMCPY => Copy::read(reader).map(Record::Copy),
        Kind::MEMCPY2 => PeerCopy::read(reader).map(Record::PeerCopy),
        Kind::MEMSET => Fill::read(reader).map(Record::Fill),
        Kind::GRAPH_TRACE => GraphLaunch::read(reader).map(Record::GraphLaunch),
        Kind::DRIVER => Call::read(reader).map(Record::DriverCall),
        Kind::RUNTIME => Call::read(reader).map(Record::RuntimeCall),
        Kind::INTERNAL_LAUNCH_API => Call::read(reader).map(Record::InternalCall),
        Kind::SYNCHRONIZATION => Synchronization::read(reader).map(Record::Synchronization),
        Kind::GRAPH_HOST_NODE => GraphHostNode::read(reader).map(|node| Record::HostWork(node.into())),
        Kind::HOST_LAUNCH => HostLaunch::read(reader).map(|launch| Record::HostWork(launch.into())),
        Kind::OVERHEAD => Overhead::read(reader).map(Record::Overhead),
        Kind::MARKER => Marker::read(reader).map(Record::Marker),
        Kind::MARKER_DATA => MarkerData::read(reader).map(Record::MarkerData),
        Kind::EXTERNAL_CORRELATION => ExternalCorrelation::read(reader).map(Record::ExternalCorrelation),
        Kind::DEVICE => Device::read(reader).map(Record::Device),
        Kind::CONTEXT => Context::read(reader).map(Record::Context),
        Kind::STREAM => Stream::read(reader).map(Record::Stream),
        Kind::CUDA_EVENT => EventRecord::read(reader).map(Record::EventRecord),
        Kind::NAME => Name::read(reader).map(Record::Name),
        Kind::ENVIRONMENT => Environment::read(reader).map(Record::Environment),
        Kind::MEMORY2 => Memory::read(reader).map(Record::Memory),
        Kind::MEMORY_POOL => MemoryPool::read(reader).map(Record::MemoryPool),
        Kind::COMPUTE_ENGINE_CTX_SWITCH => ContextSwitch::read(reader).map(Record::ContextSwitch),
        _ => return Err(PassedOver::Unknown),
    };
    // A record of no release may hold every field that is read and yet be none.
    let is_long_enough = raw.kind.oldest().is_none_or(|oldest| raw.bytes.len() >= oldest);
    let record = record.filter(|_| is_long_enough).ok_or(PassedOver::Short)?;
    Ok((record, reader.unknown_values))
}

/// What was read, and what was passed over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records that were read.
    pub records: u64,
    /// Records of kinds that are not read, by kind.
    pub unknown_kinds: BTreeMap<Kind, u64>,
    /// Records that were shorter than every release has them, by kind.
    pub short: BTreeMap<Kind, u64>,
    /// Records that were longer than the newest release that is known has them: what is known of them was read.
    pub longer: u64,
    /// Enum values without a name here; they keep their number.
    pub unknown_values: u64,
    /// Records of work on a device whose stamps CUPTI lost.
    pub lost_stamps: u64,
    /// Buffers whose walk ended early.
    pub stopped: u64,
    /// Bytes of those that were not read.
    pub left_bytes: u64,
    /// Why the last of those ended.
    pub last_stop: Option<Stop>,
}

impl Counts {
    /// Whether everything that was sent was read and has its place in time.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.short.is_empty() && self.lost_stamps == 0 && self.stopped == 0
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKind { kind, at, left } => {
                write!(
                    f,
                    "{kind} at byte {at}, of which this CUPTI does not tell the length; {left} bytes were not read"
                )
            }
            Self::Cut {
                kind,
                at,
                wanted,
                left,
            } => {
                write!(
                    f,
                    "{kind} at byte {at} takes {wanted} bytes, and {left} are there"
                )
            }
        }
    }
}

/// Reads the valid part of a buffer: each record goes to `sink`, what is passed over into `counts`.
pub fn read_buffer(
    bytes: &[u8],
    lengths: impl Lengths,
    texts: &mut dyn Texts,
    counts: &mut Counts,
    sink: &mut dyn FnMut(Record),
) {
    let mut walk = Walk::new(bytes, lengths);
    for raw in walk.by_ref() {
        match parse(raw, texts) {
            Ok((record, unknown_values)) => {
                counts.records += 1;
                counts.unknown_values += unknown_values;
                counts.lost_stamps += u64::from(record.has_lost_stamps());
                let newest = raw.kind.row().map_or(usize::MAX, |row| row.newest);
                counts.longer += u64::from(raw.bytes.len() > newest);
                sink(record);
            }
            Err(PassedOver::Unknown) => *counts.unknown_kinds.entry(raw.kind).or_default() += 1,
            Err(PassedOver::Short) => *counts.short.entry(raw.kind).or_default() += 1,
        }
    }
    if let Some(stop) = walk.stop() {
        counts.stopped += 1;
        counts.left_bytes += stop.left() as u64;
        counts.last_stop = Some(stop);
    }
}
