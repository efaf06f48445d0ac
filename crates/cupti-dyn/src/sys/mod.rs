//! What CUPTI's headers declare, as far as the crate uses it: kinds of records, enum values, functions. No calls.
//!
//! One set of offsets serves every release, since records only ever grew at their end: a field is read if it lies within
//! the record that the library at hand writes. Each table is listed for tests: [`kinds`], [`value_rows`], [`statuses`],
//! [`functions`], and [`crate::record::fields`].

mod function;
mod kind;
mod status;
mod values;

pub use function::{FunctionRow, functions};
pub(crate) use function::{Functions, GraphData, ResourceData, Subscriber, SubscriberParams};
pub use kind::{Kind, KindRow, kinds};
pub use status::{Status, statuses};
pub use values::{
    Attribute, ChannelType, ComputeApi, CopyKind, Domain, EnvironmentKind, ExecutionModel, ExternalKind,
    LaunchType, MarkerFlags, MemoryKind, MemoryOperation, ObjectKind, OverheadKind, ResourceCallback,
    StreamFlag, SyncKind, ThreadIdType, ValueRow, value_rows,
};

/// One field of a record, as the crate reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldRow {
    /// The kind of record.
    pub kind: Kind,
    /// The field as the header writes it; with dots where it lies in a nested member.
    pub name: &'static str,
    /// Where it begins, in bytes.
    pub offset: usize,
    /// How long it is, in bytes.
    pub width: usize,
    /// The shortest record that has it. In shorter ones the bytes may be there and mean nothing.
    pub from: usize,
}
