//! What a stream's order, events and waits mean: which work each piece of work, and each waiting call, had to wait for.

use std::collections::{BTreeMap, HashMap};

use super::gather::{CallClass, Process};
use super::node::NONE;
use crate::record::activity::{OnStream, WaitKind};

/// What one piece of work had to wait for on the device, by positions in [`Process::works`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    /// The work before it in its stream, or in its graph.
    pub(super) stream: u32,
    /// Work of another stream that its stream was told to wait for.
    pub(super) event: u32,
}

/// One stream's work in its order.
#[derive(Debug, Default)]
struct Stream {
    works: Vec<u32>,
    /// When each was asked for; never falls.
    asked: Vec<i64>,
    /// Of all up to each, that which ended last.
    last: Vec<u32>,
}

impl Stream {
    /// Of the work asked for before `asked`, that which ended last.
    fn before(&self, asked: i64) -> u32 {
        match self.asked.partition_point(|&at| at < asked) {
            0 => NONE,
            count => self.last[count - 1],
        }
    }
}

/// Answers what each piece of work had to wait for, and notes at each call what it waited for. `residual`: how much stamps of
/// the device may be off.
pub(super) fn order(process: &mut Process, residual: i64) -> Vec<Before> {
    let mut before = vec![
        Before {
            stream: NONE,
            event: NONE,
        };
        process.works.len()
    ];
    let streams = streams(process, &mut before);
    let marks = marks(process, &streams);
    // Of an event: what was before it when it was put into a stream the last time before `asked`.
    let marked = |event: u64, asked: i64| -> Option<u32> {
        let marks = marks.get(&event)?;
        let count = marks.partition_point(|(at, _)| *at < asked);
        count.checked_sub(1).map(|at| marks[at].1)
    };
    for wait in &process.waits {
        if wait.how != WaitKind::StreamForEvent {
            continue;
        }
        let Some(stream) = streams.get(&wait.on) else {
            continue;
        };
        let next = stream.asked.partition_point(|&at| at <= wait.asked);
        let target = marked(wait.event, wait.asked).unwrap_or(NONE);
        if let Some(&next) = stream.works.get(next)
            && target != NONE
        {
            let later = |at: u32| process.works.get(at as usize).map(|work| work.to);
            let known = &mut before[next as usize].event;
            if later(*known) < later(target) {
                *known = target;
            }
        }
    }
    let mut ends: Vec<(u32, i64, u32)> = process
        .works
        .iter()
        .zip(0..)
        .filter(|(work, _)| work.frame != NONE)
        .map(|(work, at)| (work.frame, work.to, at))
        .collect();
    ends.sort_unstable();
    // Of the frame's work, the last that ended while the call was waiting.
    let last_within = |frame: u32, from: i64, to: i64| -> Option<u32> {
        let count = ends.partition_point(|&(of, end, _)| (of, end) <= (frame, to.saturating_add(residual)));
        let &(of, end, at) = ends.get(count.checked_sub(1)?)?;
        (of == frame && end > from).then_some(at)
    };
    let mut of_call: Vec<u32> = vec![NONE; process.calls.len()];
    for (work, at) in process.works.iter().zip(0..) {
        if let Some(of_call) = of_call.get_mut(work.call as usize) {
            *of_call = at;
        }
    }
    for (at, &asked_for) in of_call.iter().enumerate() {
        let call = process.calls[at];
        let recorded = process.waits.get(call.wait as usize).and_then(|wait| {
            let target = match wait.how {
                WaitKind::Stream => streams.get(&wait.on).map(|stream| stream.before(call.from)),
                WaitKind::Event => marked(wait.event, call.from),
                WaitKind::Context => streams
                    .iter()
                    .filter(|(on, _)| on.context == wait.on.context || wait.on.context == 0)
                    .map(|(_, stream)| stream.before(call.from))
                    .filter(|&at| at != NONE)
                    .max_by_key(|&at| process.works[at as usize].to),
                WaitKind::StreamForEvent | WaitKind::Unknown => None,
            };
            target.filter(|&at| at != NONE)
        });
        let waits = call.wait != NONE || matches!(call.class, CallClass::Synchronize | CallClass::Query);
        process.calls[at].awaited = match call.class {
            CallClass::BlockingCopy => Some(asked_for).filter(|&work| work != NONE),
            _ if !waits => None,
            _ => recorded.or_else(|| last_within(call.frame, call.from, call.to)),
        };
    }
    before
}

/// The streams, and at each work what was before it in its stream.
fn streams(process: &Process, before: &mut [Before]) -> BTreeMap<OnStream, Stream> {
    let mut streams: BTreeMap<OnStream, Stream> = BTreeMap::new();
    // Nodes of a graph may run on streams of its own; in the order they are where the first of them is.
    let mut graphs: HashMap<u32, Launched> = HashMap::new();
    for (work, at) in process.works.iter().zip(0u32..) {
        let launched = (work.graph != 0).then(|| {
            graphs.entry(work.correlation).or_insert_with(|| Launched {
                on: work.on,
                ..Launched::default()
            })
        });
        let on = launched.as_ref().map_or(work.on, |launched| launched.on);
        let stream = streams.entry(on).or_default();
        let last = stream.last.last().copied().unwrap_or(NONE);
        before[at as usize].stream = match launched {
            Some(launched) => launched.before(at, last, &process.works),
            None => last,
        };
        let end = |at: u32| process.works.get(at as usize).map(|work| work.to);
        let asked = stream
            .asked
            .last()
            .map_or(work.asked, |&last| last.max(work.asked));
        stream.works.push(at);
        stream.asked.push(asked);
        stream.last.push(match end(last) <= end(at) || last == NONE {
            true => at,
            false => last,
        });
    }
    streams
}

/// The nodes of one launch of a graph. What depends on what within it is not recorded: each is taken to follow the one that
/// ended last before it began.
#[derive(Debug, Default)]
struct Launched {
    on: OnStream,
    /// Before all of them in the stream.
    ahead: Option<u32>,
    /// Those that were not seen to end yet.
    running: Vec<(i64, u32)>,
    /// The last that has ended.
    ended: Option<(i64, u32)>,
}

impl Launched {
    fn before(&mut self, at: u32, last: u32, works: &[super::gather::Device]) -> u32 {
        let ahead = *self.ahead.get_or_insert(last);
        let work = works[at as usize];
        let ended = self
            .running
            .extract_if(.., |(end, _)| *end <= work.from)
            .max()
            .max(self.ended);
        self.ended = ended;
        self.running.push((work.to, at));
        ended.map_or(ahead, |(_, at)| at)
    }
}

/// When each event was put into a stream, and what was before it there.
fn marks(process: &Process, streams: &BTreeMap<OnStream, Stream>) -> HashMap<u64, Vec<(i64, u32)>> {
    let mut marks: HashMap<u64, Vec<(i64, u32)>> = HashMap::new();
    for mark in &process.events {
        let before = streams
            .get(&mark.on)
            .map_or(NONE, |stream| stream.before(mark.asked));
        marks.entry(mark.event).or_default().push((mark.asked, before));
    }
    for list in marks.values_mut() {
        list.sort_by_key(|(asked, _)| *asked);
    }
    marks
}
