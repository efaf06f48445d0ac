//! The critical path of a frame: from its result back to its release, at each step to what let the step begin last.
//!
//! The segments tile the response time exactly. Time in which a node merely waits is never its own: the wait of the host is
//! the time of the work that it waited for, and the time in which work was ready and the device was not is told by who had the
//! device. The path stays within the frame: what held it up from outside is a segment with the outsider's name.

use std::collections::BTreeMap;

use jetlag_stats::median::upper_median;

use super::busy::Resource;
use super::graph::{Edge, Graph, Via};
use super::node::{NO_TENANT, NONE, What};
use crate::record::Stage;
use crate::units::Stamp;

/// Cases from which what is usual is known.
const ENOUGH: usize = 11;

/// To what a segment is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::analysis) enum Account {
    /// The tenant woke late for the release.
    Lateness,
    /// The frame waited until the tenant could begin with it.
    Queueing,
    /// Host time in a stage.
    Stage(Stage),
    /// Host time in a call; the name's number.
    Call(Option<u32>),
    /// Host time in no call and no stage.
    Host(Gap),
    /// A kernel.
    Kernel(Option<u32>),
    /// A copy; as in [`What::Copy`].
    Copy(crate::record::activity::Direction),
    /// A fill.
    Fill,
    /// A graph as a whole.
    Graph,
    /// From the launch to the begin of work, with the device free.
    Launch,
    /// From work to the next work of the frame on the device, with the device free.
    Between,
    /// The work was ready, and a tenant's other work had the device.
    Busy(u16),
    /// Time of which no activity was recorded.
    Unknown,
}

/// Where the host was in no call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::analysis) enum Gap {
    /// After preparing, before the first call.
    BeforeCalls,
    /// Between two calls.
    BetweenCalls,
    /// After the last call, or after the device was done.
    AfterCalls,
    /// Between stages, or in a frame without any, where no call was made.
    NoCalls,
    /// Before work whose launch was not recorded.
    Submitting,
}

/// A part of a critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analysis) struct Segment {
    pub(in crate::analysis) from: i64,
    pub(in crate::analysis) to: i64,
    pub(in crate::analysis) account: Account,
    /// The node whose own time it is; [`NONE`] for time between nodes.
    pub(in crate::analysis) node: u32,
}

/// The critical path of a frame, from its end to its release.
pub(in crate::analysis) fn path(graph: &Graph, place: u32) -> Vec<Segment> {
    let Some(frame) = graph.frames.get(place as usize) else {
        return Vec::new();
    };
    let released = frame.record.released.0;
    let mut way = Way {
        at: frame.record.finished.0,
        released,
        segments: Vec::new(),
    };
    let mut node = frame.end;
    while way.at > released {
        let here = graph.nodes[node as usize];
        way.own(here.from, account_of(here.what), node);
        if node == frame.start {
            break;
        }
        let Some((edge, let_begin)) = last_to_let(graph, node, place) else {
            way.back_to(frame.record.started.0, Account::Unknown);
            break;
        };
        held(graph, node, Some((edge, let_begin)), &mut way);
        node = edge.pred;
    }
    let late = Stamp(released) + frame.record.lateness;
    way.back_to(late.0, Account::Queueing);
    way.back_to(released, Account::Lateness);
    way.segments
}

/// How long a piece of work was ready and others had the device, by whom.
pub(in crate::analysis) fn held_up(graph: &Graph, node: u32) -> Vec<(u16, i64)> {
    let here = graph.nodes[node as usize];
    match (Resource::of(here.what), last_to_let(graph, node, here.frame)) {
        (Some(resource), Some((edge, from))) => {
            let usual = usual_of(graph, node, edge.via);
            holders(graph, resource, (from, here.from), usual).collect()
        }
        _ => Vec::new(),
    }
}

/// Who had the device in a stretch, beyond the `usual` time that work takes to begin on a free device: others that merely run
/// meanwhile hold nothing up.
fn holders(
    graph: &Graph,
    resource: Resource,
    (from, to): (i64, i64),
    usual: i64,
) -> impl Iterator<Item = (u16, i64)> {
    let mut left = (to - from - usual).max(0);
    graph
        .busy
        .within(resource, from, to)
        .map_while(move |(tenant, took)| {
            let took = took.min(left);
            left -= took;
            (took > 0).then_some((tenant, took))
        })
}

fn usual_of(graph: &Graph, node: u32, via: Via) -> i64 {
    let here = graph.nodes[node as usize];
    let is_launch = match via {
        Via::Launch => true,
        Via::Stream | Via::Event => false,
        _ => return 0,
    };
    let known = |tenant| graph.usual.get(&(tenant, is_launch)).copied();
    known(here.tenant).or_else(|| known(NO_TENANT)).unwrap_or(0)
}

/// What work takes to begin with the device free: the median of each tenant, and of all as [`NO_TENANT`], where it was seen
/// [`ENOUGH`] times.
pub(super) fn usual(graph: &Graph) -> BTreeMap<(u16, bool), i64> {
    let mut seen: BTreeMap<(u16, bool), Vec<i64>> = BTreeMap::new();
    for (node, at) in graph.nodes.iter().zip(0u32..) {
        let (Some(resource), Some((edge, from))) =
            (Resource::of(node.what), last_to_let(graph, at, node.frame))
        else {
            continue;
        };
        if !matches!(edge.via, Via::Launch | Via::Stream | Via::Event)
            || graph.busy.within(resource, from, node.from).next().is_some()
        {
            continue;
        }
        for tenant in [node.tenant, NO_TENANT] {
            let of = seen.entry((tenant, edge.via == Via::Launch)).or_default();
            of.push(node.from - from);
        }
    }
    seen.into_iter()
        .filter(|(_, values)| values.len() >= ENOUGH)
        .filter_map(|(key, mut values)| Some((key, upper_median(&mut values, Ord::cmp)?)))
        .collect()
}

/// Of what a node waited for within its frame, that which let it begin last, and when.
pub(in crate::analysis) fn last_to_let(graph: &Graph, node: u32, frame: u32) -> Option<(Edge, i64)> {
    graph
        .edges(node)
        .iter()
        .filter(|edge| frame != NONE && graph.nodes[edge.pred as usize].frame == frame)
        .map(|edge| (*edge, graph.let_begin(node, *edge)))
        .max_by_key(|(edge, at)| (*at, graph.nodes[edge.pred as usize].what.is_device()))
}

/// The way back through a frame.
struct Way {
    at: i64,
    released: i64,
    segments: Vec<Segment>,
}

impl Way {
    /// Charges the time back to a moment to an account. Never goes forwards, nor beyond the release.
    fn back_to(&mut self, moment: i64, account: Account) {
        self.own(moment, account, NONE);
    }

    /// The same for a node's own time.
    fn own(&mut self, moment: i64, account: Account, node: u32) {
        let from = moment.max(self.released);
        if from < self.at {
            self.segments.push(Segment {
                from,
                to: self.at,
                account,
                node,
            });
            self.at = from;
        }
    }
}

/// Charges the time between a node's begin and what let it begin.
fn held(graph: &Graph, node: u32, from: Option<(Edge, i64)>, way: &mut Way) {
    let Some((edge, from)) = from else { return };
    let (here, pred) = (graph.nodes[node as usize], graph.nodes[edge.pred as usize]);
    let rest = match edge.via {
        Via::Launch => Account::Launch,
        Via::Untraced => Account::Host(Gap::Submitting),
        Via::Stream | Via::Event => Account::Between,
        Via::Awaits => Account::Host(Gap::AfterCalls),
        Via::Thread | Via::Slot | Via::Maker | Via::Finisher => match (pred.what, here.what) {
            (_, What::Exit(name)) => Account::Call(name),
            (What::Start | What::Stage(_), What::Call(_) | What::Enter(_)) => Account::Host(Gap::BeforeCalls),
            (_, What::Call(_) | What::Enter(_)) => Account::Host(Gap::BetweenCalls),
            (What::Start | What::Stage(_), _) => Account::Host(Gap::NoCalls),
            _ => Account::Host(Gap::AfterCalls),
        },
    };
    let resource = match (here.what, rest) {
        // A call that waited for the work of others.
        (What::Exit(_), _) => Some(Resource::Compute),
        (_, Account::Host(Gap::BeforeCalls)) if graph.turns => Some(Resource::Compute),
        (_, Account::Host(_)) => None,
        _ => Resource::of(here.what),
    };
    let to = way.at.min(here.from);
    if let Some(resource) = resource {
        let usual = usual_of(graph, node, edge.via);
        for (tenant, took) in holders(graph, resource, (from, to), usual) {
            way.back_to(way.at.saturating_sub(took), Account::Busy(tenant));
        }
    }
    way.back_to(from, rest);
}

/// To what a node's own time is charged.
pub(in crate::analysis) fn account_of(what: What) -> Account {
    match what {
        What::Stage(stage) => Account::Stage(stage),
        What::Call(name) | What::Enter(name) | What::Exit(name) => Account::Call(name),
        What::Kernel(name) => Account::Kernel(name),
        What::Copy(direction) => Account::Copy(direction),
        What::Fill => Account::Fill,
        What::Graph => Account::Graph,
        What::Start | What::End => Account::Unknown,
    }
}
