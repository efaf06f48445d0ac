//! From activities and frames to the dependency graph: ties calls, work on the device and frames together.

use std::collections::BTreeMap;

use super::align;
use super::gather::{FramePlaces, Process, gather};
use super::graph::{Builder, Graph, Via};
use super::host::{Chain, chain};
use super::node::{NONE, Node, What};
use super::order::{Before, order};
use super::path::usual;
use super::{Calls, Member};
use crate::analysis::gathering::traced::TracedPhase;
use crate::record::{Definition, FrameRecord, Outcome};

/// The graph of a phase, and all of its calls.
pub(in crate::analysis) fn build(
    phase: &TracedPhase,
    names: &BTreeMap<u32, Definition>,
    members: &[Member],
) -> (Graph, Calls) {
    let mut frames: Vec<FrameRecord> = phase.frames.iter().filter(|frame| ran(frame)).copied().collect();
    frames.sort_by_key(|frame| (frame.started, frame.tenant, frame.sequence));
    let places: FramePlaces = frames
        .iter()
        .zip(0..)
        .map(|(frame, place)| ((frame.tenant, frame.sequence), place))
        .collect();
    let residual = phase
        .traces
        .iter()
        .map(|trace| trace.clock_residual.0)
        .max()
        .unwrap_or(0)
        .clamp(0, 1_000_000);
    let mut builder = Builder::default();
    let mut calls = Calls::default();
    let mut chains: Vec<Chain> = Vec::with_capacity(frames.len());
    let mut moved = 0;
    let mut processes: Vec<(Process, Vec<Before>)> = phase
        .processes
        .values()
        .map(|activities| {
            let mut process = gather(activities, names, &places);
            moved = moved.max(align::behind_calls(&mut process));
            let before = order(&mut process, residual);
            moved = moved.max(align::before_returns(&mut process));
            (process, before)
        })
        .collect();
    // The calls of each frame are in one process; without any, the frame is a chain of its stages.
    let mut own: Vec<Vec<(u32, u32)>> = vec![Vec::new(); frames.len()];
    for ((process, _), number) in processes.iter().zip(0..) {
        for (call, at) in process.calls.iter().zip(0..) {
            if let Some(own) = own.get_mut(call.frame as usize) {
                own.push((number, at));
            }
        }
    }
    for ((frame, own), place) in frames.iter().zip(&own).zip(0..) {
        let number = own.first().map_or(0, |(number, _)| *number);
        let own: Vec<u32> = own
            .iter()
            .filter(|(of, _)| *of == number)
            .map(|(_, at)| *at)
            .collect();
        let made = match processes.get_mut(number as usize) {
            Some((Process { calls, works, .. }, _)) => {
                chain(&mut builder, place, frame, calls, &own, |call| {
                    Some(works[call.awaited? as usize].to)
                })
            }
            None => chain(&mut builder, place, frame, &mut [], &[], |_| None),
        };
        chains.push(made);
    }
    for (process, before) in &mut processes {
        devices(&mut builder, process, before, &chains);
        calls.add(process);
    }
    ends_without_wait(&mut builder, &chains, residual);
    between_frames(&mut builder, &frames, &chains, members);
    // As scenarios write them.
    let turns = ["RoundRobin", "Exclusive", "Edf"].contains(&phase.spec.sharing.as_str());
    let mut graph = builder.finish(turns);
    graph.usual = usual(&graph);
    graph.moved = moved;
    (graph, calls)
}

/// Whether the frame is a stretch of work that can be walked through.
pub(super) fn ran(frame: &FrameRecord) -> bool {
    matches!(frame.outcome, Outcome::Completed | Outcome::Failed)
        && frame.released <= frame.started
        && frame.started < frame.finished
}

/// Work on the device, and what it waited for.
fn devices(builder: &mut Builder, process: &mut Process, before: &[Before], chains: &[Chain]) {
    for work in &mut process.works {
        work.node = builder.node(Node {
            from: work.from,
            to: work.to,
            what: work.what,
            tenant: work.tenant,
            frame: work.frame,
            layer: work.layer,
            bytes: work.bytes,
            thread: NONE,
        });
        if let Some(frame) = builder.frames.get_mut(work.frame as usize) {
            frame.works += 1;
        }
    }
    let node_of = |at: u32| process.works.get(at as usize).map_or(NONE, |work| work.node);
    for (work, before) in process.works.iter().zip(before) {
        builder.edge(work.node, node_of(before.stream), Via::Stream);
        builder.edge(work.node, node_of(before.event), Via::Event);
        let call = process
            .calls
            .get(work.call as usize)
            .filter(|call| call.node != NONE);
        match (call, chains.get(work.frame as usize)) {
            (Some(call), _) => builder.edge(work.node, call.enter, Via::Launch),
            // The host's latest before it.
            (None, Some(chain)) => {
                let began = |node: &u32| builder.nodes[*node as usize].from < work.from;
                let count = chain.nodes.partition_point(began);
                let host = count.checked_sub(1).map_or(chain.start, |at| chain.nodes[at]);
                builder.edge(work.node, host, Via::Untraced);
            }
            _ => {}
        }
    }
    for call in process.calls.iter().filter(|call| call.node != call.enter) {
        let awaited = call.awaited.map_or(NONE, node_of);
        builder.edge(call.node, awaited, Via::Awaits);
    }
}

/// Where no call of a frame is known to have waited, what comes after the device waited for the last of the frame's work.
fn ends_without_wait(builder: &mut Builder, chains: &[Chain], residual: i64) {
    let mut last: Vec<u32> = vec![NONE; chains.len()];
    for (node, at) in builder.nodes.iter().zip(0u32..) {
        let Some(chain) = chains.get(node.frame as usize) else {
            continue;
        };
        if !node.what.is_device() || !chain.waits.is_empty() {
            continue;
        }
        let until = builder.nodes[chain.after as usize].from.saturating_add(residual);
        let known = &mut last[node.frame as usize];
        let later = builder
            .nodes
            .get(*known as usize)
            .is_none_or(|known| known.to <= node.to);
        if node.to <= until && later {
            *known = at;
        }
    }
    for (chain, work) in chains.iter().zip(last) {
        builder.edge(chain.after, work, Via::Awaits);
    }
}

/// What a frame waits for that came before it: its slot, and the threads that it passes.
fn between_frames(builder: &mut Builder, frames: &[FrameRecord], chains: &[Chain], members: &[Member]) {
    let mut of_tenant: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
    for (frame, at) in frames.iter().zip(0..) {
        of_tenant.entry(frame.tenant).or_default().push(at);
    }
    for (tenant, own) in of_tenant {
        let depth = members
            .get(usize::from(tenant))
            .map_or(1, |member| member.depth.max(1));
        for (nth, &at) in own.iter().enumerate() {
            let chain = &chains[at];
            let earlier = |back: usize| nth.checked_sub(back).map(|nth| &chains[own[nth]]);
            if let Some(before) = earlier(depth) {
                builder.edge(chain.start, before.end, Via::Slot);
            }
            let Some(before) = earlier(1).filter(|_| depth > 1) else {
                continue;
            };
            // A frame that another thread submitted leaves the preparing thread when it is made.
            let started = builder.nodes[chain.start as usize].from;
            let ended = |node: u32| {
                builder
                    .nodes
                    .get(node as usize)
                    .is_some_and(|node| node.to <= started)
            };
            let left = [before.submitted, before.prepared]
                .into_iter()
                .find(|&node| ended(node));
            builder.edge(chain.start, left.unwrap_or(NONE), Via::Maker);
            let is_handed_over = chain.finisher.is_some()
                && chain.finisher == before.finisher
                && chain.finisher != chain.submitter;
            let first_wait = chain.nodes.iter().find(|&&node| {
                matches!(builder.nodes[node as usize].what, What::Enter(_))
                    && Some(builder.nodes[node as usize].thread) == chain.finisher
            });
            if let (true, Some(&wait)) = (is_handed_over, first_wait) {
                let before_it = builder.nodes[before.end as usize].to <= builder.nodes[wait as usize].from;
                builder.edge(wait, if before_it { before.end } else { NONE }, Via::Finisher);
            }
        }
    }
}
