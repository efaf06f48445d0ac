//! Ranges as plain values.

use rtrb::Consumer;

/// The other end of a thread's queue.
pub(crate) type Feed = Consumer<Ended>;

/// A range that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) thread: u32,
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    pub(crate) name: Option<u32>,
    pub(crate) domain: Option<u32>,
    pub(crate) payload: Option<i64>,
    /// Started and ended by number, and not pushed and popped.
    pub(crate) started: bool,
}

/// A range that is open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Started {
    pub(crate) thread: u32,
    pub(crate) from_ns: u64,
    pub(crate) name: Option<u32>,
    pub(crate) domain: Option<u32>,
    pub(crate) payload: Option<i64>,
}
