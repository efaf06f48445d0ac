//! The nodes of the dependency graph: stretches of host time, and work on the device.

use crate::record::Stage;
use crate::record::activity::Direction;

/// Of nothing: a node without frame, a call without node.
pub(in crate::analysis) const NONE: u32 = u32::MAX;
/// The tenant of what belongs to none.
pub(in crate::analysis) const NO_TENANT: u16 = u16::MAX;
/// What a node is. Names are numbers of definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::analysis) enum What {
    /// Work on the frame begins; takes no time.
    Start,
    /// The host is in a stage, and in no call.
    Stage(Stage),
    /// The host is in a call that waits for no work.
    Call(Option<u32>),
    /// The host begins to wait in a call; takes no time.
    Enter(Option<u32>),
    /// The call returns, from the end of the work that it waited for.
    Exit(Option<u32>),
    /// A kernel.
    Kernel(Option<u32>),
    /// A copy.
    Copy(Direction),
    /// A fill.
    Fill,
    /// A graph as a whole.
    Graph,
    /// The result is ready; takes no time.
    End,
}

impl What {
    /// Whether it is work on the device.
    pub(in crate::analysis) fn is_device(self) -> bool {
        matches!(self, What::Kernel(_) | What::Copy(_) | What::Fill | What::Graph)
    }
}

/// A stretch of the host's or the device's time.
#[derive(Clone, Copy, Debug)]
pub(in crate::analysis) struct Node {
    /// When it began.
    pub(in crate::analysis) from: i64,
    /// When it ended; not before it began.
    pub(in crate::analysis) to: i64,
    pub(in crate::analysis) what: What,
    /// Whose it is; [`NO_TENANT`] if that is unknown.
    pub(in crate::analysis) tenant: u16,
    /// Its frame's position in [`Graph::frames`]; [`NONE`] if it belongs to none.
    pub(in crate::analysis) frame: u32,
    /// Number of the layer's name; [`NONE`] if that is unknown.
    pub(in crate::analysis) layer: u32,
    /// Of a copy or fill.
    pub(in crate::analysis) bytes: u64,
    /// Of a call: the thread that it was in.
    pub(in crate::analysis) thread: u32,
}
