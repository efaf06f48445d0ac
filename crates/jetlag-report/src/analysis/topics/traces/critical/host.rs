//! A frame on the host: its stages and calls as one chain of nodes, thread by thread.
//!
//! The record of a frame has the stages before and after the device; calls of CUDA lie within and between them. A frame
//! changes threads, so the first node on a thread follows whatever of the frame ended last before it.

use super::gather::Call;
use super::graph::{Builder, FrameNodes, Via};
use super::node::{NONE, Node, What};
use crate::analysis::gathering::trace;
use crate::record::{FrameRecord, Stage};

/// Where stages are: the record does not say on which thread.
const STAGES: u32 = NONE;

/// The host's nodes of a frame, which other nodes are tied to.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub(super) start: u32,
    pub(super) end: u32,
    /// In order of their begin.
    pub(super) nodes: Vec<u32>,
    /// The first node after the device's part: postprocessing, or the end.
    pub(super) after: u32,
    /// Calls that waited for the device, by their positions.
    pub(super) waits: Vec<u32>,
    /// The last node of preparing, and the last call before the first wait.
    pub(super) prepared: u32,
    pub(super) submitted: u32,
    /// The thread of the first call, and of the last that waited.
    pub(super) submitter: Option<u32>,
    pub(super) finisher: Option<u32>,
}

/// A stretch of the chain before it is a node.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: i64,
    to: i64,
    thread: u32,
    what: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Stage(Stage),
    /// By its position among the process's calls.
    Call(u32),
}

/// Builds the chain of a frame. `own` are its calls, in order of their begin, as positions in `calls`; `awaited` says when the work
/// ended that a call waited for, if it waited for any.
pub(super) fn chain(
    builder: &mut Builder,
    place: u32,
    frame: &FrameRecord,
    calls: &mut [Call],
    own: &[u32],
    awaited: impl Fn(&Call) -> Option<i64>,
) -> Chain {
    let (started, finished) = (frame.started.0, frame.finished.0);
    let node = |from: i64, to: i64, what: What, thread: u32| Node {
        from,
        to,
        what,
        tenant: frame.tenant,
        frame: place,
        layer: NONE,
        bytes: 0,
        thread,
    };
    let start = builder.node(node(started, started, What::Start, STAGES));
    let mut chain = Chain {
        start,
        end: start,
        nodes: vec![start],
        after: NONE,
        waits: Vec::new(),
        prepared: start,
        submitted: NONE,
        submitter: None,
        finisher: None,
    };
    // The last node of each thread, and when it ended.
    let mut last: Vec<(u32, u32, i64)> = vec![(STAGES, start, started)];
    let mut post = false;
    for piece in pieces(frame, calls, own) {
        let pred = last
            .iter()
            .filter(|(_, _, to)| *to <= piece.from)
            .max_by_key(|(thread, _, to)| (*to, *thread == piece.thread))
            .map_or(start, |(_, node, _)| *node);
        let of_call = |at: u32| calls[at as usize];
        let (entered, left) = match piece.what {
            Kind::Stage(stage) => {
                let at = builder.node(node(piece.from, piece.to, What::Stage(stage), STAGES));
                if stage == Stage::Postprocess {
                    if !post {
                        chain.after = at;
                    }
                    post = true;
                } else {
                    chain.prepared = at;
                }
                (at, at)
            }
            Kind::Call(call) => match awaited(&of_call(call)) {
                Some(done) => {
                    let name = of_call(call).name;
                    let done = done.clamp(piece.from, piece.to);
                    let enter = builder.node(node(piece.from, piece.from, What::Enter(name), piece.thread));
                    let exit = builder.node(node(done, piece.to, What::Exit(name), piece.thread));
                    builder.edge(exit, enter, Via::Thread);
                    chain.nodes.push(enter);
                    chain.waits.push(call);
                    chain.finisher = Some(piece.thread);
                    (enter, exit)
                }
                None => {
                    let name = of_call(call).name;
                    let at = builder.node(node(piece.from, piece.to, What::Call(name), piece.thread));
                    if chain.waits.is_empty() {
                        chain.submitted = at;
                    }
                    chain.submitter = chain.submitter.or(Some(piece.thread));
                    (at, at)
                }
            },
        };
        if let Kind::Call(call) = piece.what {
            let call = &mut calls[call as usize];
            (call.enter, call.node) = (entered, left);
        }
        builder.edge(entered, pred, Via::Thread);
        chain.nodes.push(left);
        match last.iter_mut().find(|(thread, _, _)| *thread == piece.thread) {
            Some(known) => *known = (piece.thread, left, piece.to),
            None => last.push((piece.thread, left, piece.to)),
        }
    }
    chain.end = builder.node(node(finished, finished, What::End, STAGES));
    let (_, latest, _) = last
        .iter()
        .max_by_key(|(_, _, to)| *to)
        .copied()
        .unwrap_or((STAGES, start, started));
    builder.edge(chain.end, latest, Via::Thread);
    if chain.after == NONE {
        chain.after = chain.end;
    }
    builder.frames.push(FrameNodes {
        record: *frame,
        start: chain.start,
        end: chain.end,
        works: 0,
        calls: own.len() as u32,
    });
    chain
}

/// Calls and, around them, stages, within the frame's service, in order of their begin.
fn pieces(frame: &FrameRecord, calls: &[Call], own: &[u32]) -> Vec<Piece> {
    let (started, finished) = (frame.started.0, frame.finished.0);
    let mut pieces: Vec<Piece> = own
        .iter()
        .map(|&at| (at, &calls[at as usize]))
        .filter(|(_, call)| call.from < finished && call.to >= started)
        .map(|(at, call)| Piece {
            from: call.from.max(started),
            to: call.to.min(finished),
            thread: call.thread,
            what: Kind::Call(at),
        })
        .collect();
    pieces.sort_by_key(|piece| (piece.from, piece.to));
    let mut around = Vec::new();
    for (stage, span) in trace::stages(frame) {
        if !matches!(
            stage,
            Stage::Acquire | Stage::Decode | Stage::Preprocess | Stage::Postprocess
        ) {
            continue;
        }
        let (mut at, end) = (span.from.0, span.to.0);
        let mut add = |from: i64, to: i64| {
            if to > from {
                around.push(Piece {
                    from,
                    to,
                    thread: STAGES,
                    what: Kind::Stage(stage),
                });
            }
        };
        for call in pieces
            .iter()
            .filter(|call| call.to > span.from.0 && call.from < end)
        {
            add(at, call.from.min(end));
            at = at.max(call.to);
        }
        add(at, end);
    }
    pieces.append(&mut around);
    pieces.sort_by_key(|piece| (piece.from, piece.to, piece.thread));
    pieces
}
