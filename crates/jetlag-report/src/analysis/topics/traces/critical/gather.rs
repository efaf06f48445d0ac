//! One process's activities as calls, work on the device, events and waits, each with its frame.
//!
//! Calls of one interface that another call makes within itself are part of that call. What a call asked for belongs to its
//! frame where the work itself says nothing. Calls that ask again and again whether the device is done are one wait.

use std::collections::{BTreeMap, HashMap};

use super::node::{NO_TENANT, NONE, What};
use crate::record::activity::{OnStream, Owner, WaitKind, Work};
use crate::record::{Activity, Definition};

/// What a call does, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallClass {
    /// Waits for work.
    Synchronize,
    /// Asks whether work is done.
    Query,
    /// Copies, and returns when that is done.
    BlockingCopy,
    /// Anything else.
    Other,
}

impl CallClass {
    fn of(name: &str) -> CallClass {
        if name.contains("EventQuery") || name.contains("StreamQuery") {
            CallClass::Query
        } else if name.contains("Synchronize") {
            CallClass::Synchronize
        } else if name.contains("Memcpy") && !name.contains("Async") && !name.contains("Graph") {
            CallClass::BlockingCopy
        } else {
            CallClass::Other
        }
    }
}

/// A call that no other call contains.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) thread: u32,
    pub(super) name: Option<u32>,
    pub(super) class: CallClass,
    pub(super) tenant: u16,
    /// Position of its frame; [`NONE`] if it has none.
    pub(super) frame: u32,
    /// What it waited for, in the process's [`Process::waits`]; [`NONE`] if there is no record of that.
    pub(super) wait: u32,
    /// The end of the work that it waited for, and its position in [`Process::works`].
    pub(super) awaited: Option<u32>,
    /// The node in which it ends, and that in which it began: another one if it waited.
    pub(super) node: u32,
    pub(super) enter: u32,
}

/// Work on the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Device {
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) what: What,
    pub(super) tenant: u16,
    pub(super) frame: u32,
    pub(super) layer: u32,
    pub(super) bytes: u64,
    pub(super) on: OnStream,
    /// Number of the graph that it was launched by; 0 where none.
    pub(super) graph: u32,
    pub(super) correlation: u32,
    /// The call that asked for it, in [`Process::calls`].
    pub(super) call: u32,
    /// When it was asked for, as far as known; else when it began.
    pub(super) asked: i64,
    pub(super) node: u32,
}

/// An event was put into a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventMark {
    pub(super) asked: i64,
    pub(super) on: OnStream,
    pub(super) event: u64,
}

/// Something waited.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waited {
    pub(super) asked: i64,
    pub(super) on: OnStream,
    pub(super) how: WaitKind,
    pub(super) event: u64,
}

/// One process's part of a traced phase.
#[derive(Debug, Default)]
pub(super) struct Process {
    /// By thread, then in order.
    pub(super) calls: Vec<Call>,
    /// In the order in which they began.
    pub(super) works: Vec<Device>,
    pub(super) events: Vec<EventMark>,
    pub(super) waits: Vec<Waited>,
}

/// Where each frame is among the frames, by tenant and sequence number.
pub(super) type FramePlaces = HashMap<(u16, u64), u32>;

/// Takes a process's activities apart.
pub(super) fn gather(
    activities: &[Activity],
    names: &BTreeMap<u32, Definition>,
    frames: &FramePlaces,
) -> Process {
    let place = |owner: Owner| -> (u16, u32) {
        let tenant = owner.tenant.unwrap_or(NO_TENANT);
        let frame = owner.frame.and_then(|number| frames.get(&(tenant, number)));
        (tenant, frame.copied().unwrap_or(NONE))
    };
    let (calls, of) = outermost(activities, names, &place);
    let mut process = Process {
        calls,
        ..Process::default()
    };
    let call_of = |correlation: u32| of.call(correlation);
    let asked = |process: &Process, call: u32, otherwise: i64| {
        process
            .calls
            .get(call as usize)
            .map_or(otherwise, |call| call.from)
    };
    for activity in activities {
        let (from, to) = (activity.from.0, activity.to.0.max(activity.from.0));
        match activity.work {
            Work::Kernel { .. } | Work::Copy { .. } | Work::Fill { .. } | Work::Graph { .. } => {
                let Some(device) = device(activity) else { continue };
                let call = call_of(device.correlation);
                let (mut tenant, mut frame) = place(activity.owner);
                if let Some(call) = process.calls.get(call as usize)
                    && (tenant == NO_TENANT || (tenant == call.tenant && activity.owner.frame.is_none()))
                {
                    (tenant, frame) = (call.tenant, call.frame);
                }
                process.works.push(Device {
                    from,
                    to,
                    tenant,
                    frame,
                    call,
                    asked: asked(&process, call, from),
                    ..device
                });
            }
            Work::Event {
                on,
                correlation,
                event,
            } => {
                let asked = asked(&process, call_of(correlation), from);
                process.events.push(EventMark { asked, on, event });
            }
            Work::Wait {
                on,
                correlation,
                how,
                event,
            } => {
                let call = call_of(correlation);
                let asked = asked(&process, call, from);
                if how != WaitKind::StreamForEvent
                    && let Some(call) = process.calls.get_mut(call as usize)
                {
                    call.wait = process.waits.len() as u32;
                }
                process.waits.push(Waited {
                    asked,
                    on,
                    how,
                    event,
                });
            }
            Work::Call { .. } | Work::Range { .. } | Work::Overhead { .. } | Work::Slice { .. } => {}
        }
    }
    process.works.sort_by_key(|work| (work.from, work.to));
    process
}

/// What work on the device says itself.
fn device(activity: &Activity) -> Option<Device> {
    let (what, correlation, graph, bytes) = match activity.work {
        Work::Kernel {
            correlation, graph, ..
        } => (What::Kernel(activity.name), correlation, graph, 0),
        Work::Copy {
            correlation,
            graph,
            direction,
            bytes,
            ..
        } => (What::Copy(direction), correlation, graph, bytes),
        Work::Fill {
            correlation,
            graph,
            bytes,
            ..
        } => (What::Fill, correlation, graph, bytes),
        // The record of a graph as a whole is one piece of work in its stream.
        Work::Graph { correlation, .. } => (What::Graph, correlation, 0, 0),
        _ => return None,
    };
    Some(Device {
        from: 0,
        to: 0,
        what,
        tenant: NO_TENANT,
        frame: NONE,
        layer: activity.owner.layer.unwrap_or(NONE),
        bytes,
        on: activity.work.on_device()?,
        graph,
        correlation,
        call: NONE,
        asked: 0,
        node: NONE,
    })
}

/// Calls that no other call contains, by thread and time, and which of them has a correlation number.
fn outermost(
    activities: &[Activity],
    names: &BTreeMap<u32, Definition>,
    place: &impl Fn(Owner) -> (u16, u32),
) -> (Vec<Call>, Correlations) {
    let classes: HashMap<u32, CallClass> = names
        .iter()
        .map(|(number, definition)| (*number, CallClass::of(&definition.text)))
        .collect();
    let mut all: Vec<(u32, i64, i64, u32, &Activity)> = activities
        .iter()
        .filter_map(|activity| match activity.work {
            Work::Call {
                thread, correlation, ..
            } => Some((
                thread,
                activity.from.0,
                activity.to.0.max(activity.from.0),
                correlation,
                activity,
            )),
            _ => None,
        })
        .collect();
    all.sort_by_key(|(thread, from, to, _, _)| (*thread, *from, std::cmp::Reverse(*to)));
    let mut calls: Vec<Call> = Vec::with_capacity(all.len());
    let mut of: Vec<(u32, u32)> = Vec::with_capacity(all.len());
    for (thread, from, to, correlation, activity) in all {
        let (tenant, frame) = place(activity.owner);
        let class = activity
            .name
            .and_then(|name| classes.get(&name).copied())
            .unwrap_or(CallClass::Other);
        let last = calls.last_mut().filter(|last| last.thread == thread);
        if let Some(last) = last {
            let is_within = to <= last.to && (from < last.to || from == to && from == last.from);
            let asks_again = class == CallClass::Query
                && last.class == CallClass::Query
                && (last.tenant, last.frame) == (tenant, frame);
            if is_within || asks_again {
                if last.tenant == NO_TENANT {
                    (last.tenant, last.frame) = (tenant, frame);
                }
                last.to = last.to.max(to);
                let at = (calls.len() - 1) as u32;
                of.push((correlation, at));
                continue;
            }
        }
        // Of two that overlap, which is an error of stamps, the later one is cut.
        let from = calls
            .last()
            .filter(|last| last.thread == thread)
            .map_or(from, |last| from.max(last.to));
        of.push((correlation, calls.len() as u32));
        calls.push(Call {
            from,
            to: to.max(from),
            thread,
            name: activity.name,
            class,
            tenant,
            frame,
            wait: NONE,
            awaited: None,
            node: NONE,
            enter: NONE,
        });
    }
    (calls, Correlations::new(of))
}

/// Which call has a correlation number.
#[derive(Debug, Default)]
struct Correlations(Vec<(u32, u32)>);

impl Correlations {
    fn new(mut pairs: Vec<(u32, u32)>) -> Correlations {
        pairs.sort_unstable();
        Correlations(pairs)
    }

    /// The call's position; [`NONE`] if no call has the number.
    fn call(&self, correlation: u32) -> u32 {
        let at = self.0.partition_point(|(known, _)| *known < correlation);
        match self.0.get(at) {
            Some(&(known, call)) if known == correlation => call,
            _ => NONE,
        }
    }
}
