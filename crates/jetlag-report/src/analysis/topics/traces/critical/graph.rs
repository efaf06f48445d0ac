//! The dependency graph of a traced phase: what was done, and what each piece had to wait for.
//!
//! Nodes are stretches of host time and work on the device. An edge says that a node could not begin before another one had
//! ended. Nodes stand in the order of their begin, and edges lead from earlier to later ones only, so there is no circle,
//! whatever a file says.

use std::collections::BTreeMap;

use super::busy::Busy;
use super::node::{NONE, Node};
use crate::record::FrameRecord;

/// Stamps beyond this are a damaged file's; within it, differences and sums of a few do not overflow.
const FARTHEST: i64 = 1 << 60;

/// Why a node had to wait for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::analysis) enum Via {
    /// The host did that before.
    Thread,
    /// The host's call asked for the work.
    Launch,
    /// The work was asked for by a call that was not recorded, after this.
    Untraced,
    /// The stream has its work in order.
    Stream,
    /// The stream was told to wait.
    Event,
    /// The host waited for the work.
    Awaits,
    /// The frame that had the slot before.
    Slot,
    /// The frame that the preparing thread had before.
    Maker,
    /// The frame that the finishing thread had before.
    Finisher,
}

/// A node had to wait for another.
#[derive(Clone, Copy, Debug)]
pub(in crate::analysis) struct Edge {
    /// The other.
    pub(in crate::analysis) pred: u32,
    pub(in crate::analysis) via: Via,
}

/// A frame and the nodes at its two ends.
#[derive(Clone, Copy, Debug)]
pub(in crate::analysis) struct FrameNodes {
    pub(in crate::analysis) record: FrameRecord,
    /// [`What::Start`].
    pub(in crate::analysis) start: u32,
    /// [`What::End`].
    pub(in crate::analysis) end: u32,
    /// Work on the device that is known to be the frame's.
    pub(in crate::analysis) works: u32,
    /// Calls that are known to be the frame's.
    pub(in crate::analysis) calls: u32,
}

/// The dependency graph of a phase.
#[derive(Debug, Default)]
pub(in crate::analysis) struct Graph {
    pub(in crate::analysis) nodes: Vec<Node>,
    edges: Vec<Edge>,
    /// Where the edges of each node begin; one more than there are nodes.
    first: Vec<u32>,
    /// In the order in which they were started.
    pub(in crate::analysis) frames: Vec<FrameNodes>,
    pub(in crate::analysis) busy: Busy,
    /// Whether tenants take turns on the device: a frame may wait for its turn before its first call.
    pub(in crate::analysis) turns: bool,
    /// What work takes to begin with the device free, by tenant: after its launch (`true`), and after other work.
    pub(in crate::analysis) usual: BTreeMap<(u16, bool), i64>,
    /// The most that stamps of the device were moved by, since they contradicted the host's.
    pub(in crate::analysis) moved: i64,
}

impl Graph {
    /// What a node had to wait for.
    pub(in crate::analysis) fn edges(&self, node: u32) -> &[Edge] {
        let [from, to] = [0, 1].map(|more| self.first.get(node as usize + more).copied().unwrap_or(0));
        self.edges.get(from as usize..to as usize).unwrap_or(&[])
    }

    /// Where the edges of a node begin among all edges.
    pub(in crate::analysis) fn first_edge(&self, node: u32) -> usize {
        self.first.get(node as usize).copied().unwrap_or(0) as usize
    }

    /// How many edges there are.
    pub(in crate::analysis) fn edge_count(&self) -> usize {
        self.edges.len()
    }

    /// When an edge let the node begin, as seen: the end of the other node. Work may begin while the call that asks for it
    /// has not returned.
    pub(in crate::analysis) fn let_begin(&self, node: u32, edge: Edge) -> i64 {
        self.nodes[edge.pred as usize]
            .to
            .min(self.nodes[node as usize].from)
    }
}

/// A graph while it is built. Numbers of nodes are those of the builder until [`Builder::finish`] gives them new ones.
#[derive(Debug, Default)]
pub(super) struct Builder {
    pub(super) nodes: Vec<Node>,
    edges: Vec<(u32, Edge)>,
    pub(super) frames: Vec<FrameNodes>,
}

impl Builder {
    /// Adds a node; answers its number.
    pub(super) fn node(&mut self, mut node: Node) -> u32 {
        node.from = node.from.clamp(-FARTHEST, FARTHEST);
        node.to = node.to.clamp(node.from, FARTHEST);
        self.nodes.push(node);
        u32::try_from(self.nodes.len() - 1).unwrap_or(NONE)
    }

    /// Adds an edge.
    pub(super) fn edge(&mut self, node: u32, pred: u32, via: Via) {
        if node != NONE && pred != NONE && node != pred {
            self.edges.push((node, Edge { pred, via }));
        }
    }

    /// Puts nodes in order, and leaves out edges that lead back in time.
    pub(super) fn finish(self, turns: bool) -> Graph {
        let Builder { nodes, edges, frames } = self;
        let mut order: Vec<u32> = (0..nodes.len() as u32).collect();
        order.sort_by_key(|&at| (nodes[at as usize].from, nodes[at as usize].to, at));
        let mut place = vec![0u32; nodes.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old as usize] = new as u32;
        }
        let mut edges: Vec<(u32, Edge)> = edges
            .into_iter()
            .map(|(node, edge)| {
                let pred = place[edge.pred as usize];
                (place[node as usize], Edge { pred, ..edge })
            })
            .filter(|(node, edge)| edge.pred < *node)
            .collect();
        edges.sort_by_key(|(node, edge)| (*node, edge.pred, edge.via));
        edges.dedup_by_key(|(node, edge)| (*node, edge.pred));
        let mut first = vec![0u32; nodes.len() + 1];
        for (node, _) in &edges {
            first[*node as usize + 1] += 1;
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let nodes: Vec<Node> = order.iter().map(|&old| nodes[old as usize]).collect();
        Graph {
            turns,
            usual: BTreeMap::new(),
            moved: 0,
            busy: Busy::of(&nodes),
            edges: edges.into_iter().map(|(_, edge)| edge).collect(),
            first,
            frames: frames
                .into_iter()
                .map(|frame| FrameNodes {
                    start: place[frame.start as usize],
                    end: place[frame.end as usize],
                    ..frame
                })
                .collect(),
            nodes,
        }
    }
}
