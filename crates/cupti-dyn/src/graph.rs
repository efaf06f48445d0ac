//! Tags of CUDA graphs: what a node was captured for.
//!
//! A kernel in a graph carries the number of its node, and no number that was pushed around a call: external numbers mark only
//! the graph's launch. So the tag is taken when the node is made, which is in the thread that captures, and followed to the
//! clones of which an executable graph is made.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::clock::{monotonic_ns, thread_number};
use crate::library::Library;
use crate::sys::{Domain, GraphData, ResourceCallback, ResourceData, Status};

/// What happened to a node of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeEvent {
    /// It was made, by a thread with this tag.
    Created {
        /// The node's number, as records have it.
        node: u64,
        /// The tag, if the thread had one.
        tag: Option<u64>,
        /// The thread, by its number in the system.
        thread: u32,
        /// When, on CLOCK_MONOTONIC.
        at_ns: u64,
    },
    /// It was made as the clone of another.
    Cloned {
        /// The node's number.
        node: u64,
        /// The other's.
        of: u64,
    },
}

/// Nodes by tag, from the events in their order.
#[derive(Clone, Debug, Default)]
pub struct NodeTags(HashMap<u64, u64>);

impl NodeTags {
    /// Takes in what happened.
    pub fn push(&mut self, event: NodeEvent) {
        let (node, tag) = match event {
            NodeEvent::Created { node, tag, .. } => (node, tag),
            NodeEvent::Cloned { node, of } => (node, self.0.get(&of).copied()),
        };
        match tag {
            Some(tag) => drop(self.0.insert(node, tag)),
            // A number may be used again.
            None => drop(self.0.remove(&node)),
        }
    }

    /// What a node was captured for.
    #[must_use]
    pub fn tag(&self, node: u64) -> Option<u64> {
        self.0.get(&node).copied()
    }
}

thread_local! {
    static TAG: Cell<Option<u64>> = const { Cell::new(None) };
}

/// While it lives, nodes that this thread captures have its tag.
#[derive(Debug)]
pub struct CaptureTag {
    before: Option<u64>,
    /// It belongs to this thread.
    _here: PhantomData<*const ()>,
}

impl CaptureTag {
    /// Sets this thread's tag; what it was before comes back when this is dropped.
    #[must_use = "nodes have the tag while this lives"]
    pub fn set(tag: u64) -> Self {
        Self {
            before: TAG.replace(Some(tag)),
            _here: PhantomData,
        }
    }
}

impl Drop for CaptureTag {
    fn drop(&mut self) {
        TAG.set(self.before);
    }
}

/// Events that are kept until somebody takes them: graphs are captured seldom.
const MOST_EVENTS: usize = 1 << 18;

/// What was noted since somebody took it, and how many events were not.
#[derive(Debug)]
struct Log {
    events: Vec<NodeEvent>,
    lost: u64,
}

static LOG: Mutex<Log> = Mutex::new(Log {
    events: Vec::new(),
    lost: 0,
});

fn log() -> MutexGuard<'static, Log> {
    LOG.lock().unwrap_or_else(PoisonError::into_inner)
}

fn note(event: NodeEvent) {
    let mut log = log();
    match log.events.len() < MOST_EVENTS {
        true => log.events.push(event),
        false => log.lost += 1,
    }
}

/// Takes what was noted: the events, and how many were lost before they were taken.
pub(crate) fn take() -> (Vec<NodeEvent>, u64) {
    let mut log = log();
    (std::mem::take(&mut log.events), std::mem::take(&mut log.lost))
}

/// `CUpti_CallbackFunc`: the only one that a session has. Its pointer is a [`Library`]'s.
///
/// # Safety
/// `library` is the pointer that was subscribed with, and `data` is what CUPTI's headers say of domain and number.
pub(crate) unsafe extern "C" fn callback(library: *mut c_void, domain: u32, id: u32, data: *const c_void) {
    if Domain(domain) != Domain::RESOURCE || library.is_null() || data.is_null() {
        return;
    }
    // SAFETY: the caller vouches for it.
    let library = unsafe { Library::from_pointer(library) };
    let noted = AssertUnwindSafe(|| {
        // SAFETY: data of the domain RESOURCE begins so in every release.
        let resource = unsafe { &*data.cast::<ResourceData>() };
        if resource.descriptor.is_null() {
            return;
        }
        let number = |node: *mut c_void| {
            let mut number = 0;
            // SAFETY: a node that CUPTI has just told of; the number lives through the call.
            let status = Status(unsafe { (library.functions().graph_node_id)(node, &mut number) });
            status.is_success().then_some(number)
        };
        match ResourceCallback(id) {
            ResourceCallback::GRAPHNODE_CREATED => {
                // SAFETY: for callbacks of graphs' nodes the descriptor is this, in every release.
                let graph = unsafe { &*resource.descriptor.cast::<GraphData>() };
                if let Some(node) = number(graph.node) {
                    let tag = TAG.try_with(Cell::get).ok().flatten();
                    note(NodeEvent::Created {
                        node,
                        tag,
                        thread: thread_number(),
                        at_ns: monotonic_ns(),
                    });
                }
            }
            ResourceCallback::GRAPHNODE_CLONED => {
                // SAFETY: as above.
                let graph = unsafe { &*resource.descriptor.cast::<GraphData>() };
                if let (Some(node), Some(of)) = (number(graph.node), number(graph.original_node)) {
                    note(NodeEvent::Cloned { node, of });
                }
            }
            _ => {}
        }
    });
    let _ = catch_unwind(noted);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn created(node: u64, tag: Option<u64>) -> NodeEvent {
        NodeEvent::Created {
            node,
            tag,
            thread: thread_number(),
            at_ns: monotonic_ns(),
        }
    }

    #[test]
    fn a_clone_has_the_tag_of_what_it_was_made_of() {
        let mut tags = NodeTags::default();
        tags.push(created(1, Some(7)));
        tags.push(created(2, None));
        tags.push(NodeEvent::Cloned { node: 11, of: 1 });
        tags.push(NodeEvent::Cloned { node: 12, of: 2 });
        tags.push(NodeEvent::Cloned { node: 21, of: 11 });
        let all = [1, 2, 11, 12, 21].map(|node| tags.tag(node));
        assert_eq!(all, [Some(7), None, Some(7), None, Some(7)]);
        tags.push(created(11, None));
        assert_eq!(tags.tag(11), None, "the number was used again");
    }

    #[test]
    fn tags_of_a_thread_nest() {
        let outer = CaptureTag::set(1);
        {
            let _inner = CaptureTag::set(2);
            assert_eq!(TAG.get(), Some(2));
        }
        assert_eq!(TAG.get(), Some(1));
        drop(outer);
        assert_eq!(TAG.get(), None);
    }
}
