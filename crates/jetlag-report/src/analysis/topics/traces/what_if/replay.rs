//! Runs a model: every node begins when all that it waits for is over, frames when they are released and their slot is free.
//!
//! A discrete-event simulation in order of readiness. Where tenants have the device one at a time, it goes to whoever was ready
//! first.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::model::Model;
use crate::analysis::topics::traces::critical::{NO_FRAME, Resource, Via, What};

/// When a frame was released, started and finished in a run of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ran {
    pub(super) released: i64,
    pub(super) started: i64,
    pub(super) finished: i64,
    /// How long it was in stages of the host, and in no call meanwhile; by their places.
    pub(super) stages: [i64; 9],
}

/// What waits for a node, and by which edge.
#[derive(Debug)]
pub(super) struct Successors {
    first: Vec<u32>,
    /// The node, and the edge's place among all.
    to: Vec<(u32, u32)>,
}

impl Successors {
    pub(super) fn of(model: &Model<'_>) -> Successors {
        let graph = model.graph;
        let mut first = vec![0u32; graph.nodes.len() + 1];
        let nodes = || 0..graph.nodes.len() as u32;
        for edge in nodes().flat_map(|node| graph.edges(node)) {
            first[edge.pred as usize + 1] += 1;
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut next = first.clone();
        let mut to = vec![(0, 0); graph.edge_count()];
        for node in nodes() {
            for (edge, at) in graph.edges(node).iter().zip(graph.first_edge(node)..) {
                let place = &mut next[edge.pred as usize];
                to[*place as usize] = (node, at as u32);
                *place += 1;
            }
        }
        Successors { first, to }
    }

    fn of_node(&self, node: u32) -> &[(u32, u32)] {
        let [from, to] = [0, 1].map(|more| self.first[node as usize + more] as usize);
        &self.to[from..to]
    }
}

/// Runs the model; answers each frame's stamps, `None` for those of tenants that are absent.
pub(super) fn replay(model: &Model<'_>, successors: &Successors) -> Vec<Option<Ran>> {
    let graph = model.graph;
    let count = graph.nodes.len();
    let is_there = |node: u32| !model.absent[node as usize];
    let mut waiting = vec![0u32; count];
    let mut ready = vec![i64::MIN; count];
    let mut heap = BinaryHeap::new();
    for (node, at) in graph.nodes.iter().zip(0u32..) {
        if !is_there(at) {
            continue;
        }
        waiting[at as usize] = graph.edges(at).iter().filter(|edge| is_there(edge.pred)).count() as u32;
        let frame = graph.frames.get(node.frame as usize);
        ready[at as usize] = match (node.what, frame) {
            (What::Start, Some(frame)) if !model.is_closed(&frame.record) => {
                frame.record.released.0 + model.after_release[node.frame as usize]
            }
            // Nothing is known that it waits for, or that lets it move.
            _ if graph.edges(at).is_empty() || node.frame == NO_FRAME => node.from,
            _ => i64::MIN,
        };
        if waiting[at as usize] == 0 {
            let from = &mut ready[at as usize];
            // All that it waited for is absent.
            *from = if *from == i64::MIN { node.from } else { *from };
            heap.push(Reverse((*from, at)));
        }
    }
    let mut began = vec![0i64; count];
    let mut ended = vec![0i64; count];
    // Until when each tenant has the device.
    let mut taken: HashMap<u16, i64> = HashMap::new();
    while let Some(Reverse((mut from, at))) = heap.pop() {
        let node = graph.nodes[at as usize];
        let takes_turn = model.in_turn && Resource::of(node.what) == Some(Resource::Compute);
        if takes_turn {
            let others = taken.iter().filter(|(tenant, _)| **tenant != node.tenant);
            from = from.max(others.map(|(_, until)| *until).max().unwrap_or(from));
        }
        let to = from + took(model, at, &ended);
        (began[at as usize], ended[at as usize]) = (from, to);
        if takes_turn {
            let until = taken.entry(node.tenant).or_insert(to);
            *until = to.max(*until);
        }
        for &(next, edge) in successors.of_node(at) {
            if !is_there(next) {
                continue;
            }
            let lag = model.lag[edge as usize];
            // Work may begin before the call returns, not before it began.
            let moment = (to + lag).max(from);
            let known = &mut ready[next as usize];
            *known = (*known).max(moment);
            waiting[next as usize] -= 1;
            if waiting[next as usize] == 0 {
                heap.push(Reverse((*known, next)));
            }
        }
    }
    let mut stages = vec![[0i64; 9]; graph.frames.len()];
    for (node, at) in graph.nodes.iter().zip(0..) {
        if let (What::Stage(stage), Some(stages)) = (node.what, stages.get_mut(node.frame as usize)) {
            stages[stage as usize] += ended[at] - began[at];
        }
    }
    graph
        .frames
        .iter()
        .zip(stages)
        .map(|(frame, stages)| {
            let started = began[frame.start as usize];
            is_there(frame.start).then_some(Ran {
                released: match model.is_closed(&frame.record) {
                    true => started,
                    false => frame.record.released.0,
                },
                started,
                finished: ended[frame.end as usize],
                stages,
            })
        })
        .collect()
}

/// How long a node takes: a waiting call that has not to wait returns sooner than one that must be woken.
fn took(model: &Model<'_>, node: u32, ended: &[i64]) -> i64 {
    let seen = model.took[node as usize];
    let graph = model.graph;
    let here = graph.nodes[node as usize];
    if !matches!(here.what, What::Exit(_)) {
        return seen;
    }
    let (mut entered, mut done, mut waited) = (i64::MIN, i64::MIN, false);
    for edge in graph.edges(node) {
        let pred = graph.nodes[edge.pred as usize];
        match edge.via {
            Via::Awaits if model.absent[edge.pred as usize] => {}
            Via::Awaits => done = done.max(ended[edge.pred as usize]),
            _ => {
                entered = entered.max(ended[edge.pred as usize]);
                waited = here.from > pred.to;
            }
        }
    }
    match (waited, done > entered) {
        (true, false) => model
            .quick
            .get(&here.tenant)
            .map_or(seen, |&quick| seen.min(quick)),
        (false, true) => model
            .woken
            .get(&here.tenant)
            .map_or(seen, |&woken| seen.max(woken)),
        _ => seen,
    }
}
