//! Whom activities belong to: a pure function over what was gathered.
//!
//! A call belongs to the frame that its thread worked for, whose number was pushed around it; work on the device to the call
//! that asked for it; a kernel of a graph to the layer for which its node was captured. Streams that only one tenant's frames
//! were seen on are that tenant's. What remains belongs to nobody, and is not spread.

use std::collections::{HashMap, HashSet};

use cupti_dyn::NodeEvent;

use super::gather::{Gathered, Raw};
use jetlag_record::Activity;
use jetlag_record::activity::{Interface, OnStream, Owner, Work};
use jetlag_record::units::Stamp;

/// TensorRT's domain of ranges.
const TENSORRT: &str = "TensorRT";
/// Its ranges around a whole execution begin so.
const EXECUTION: &str = "ExecutionContext::";
/// Kernels of our own begin so.
const OWN: &str = "jetlag_";

/// Time of a thread that a library spent on one layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerSpan {
    /// By its number in the system.
    pub thread: u32,
    /// When it began to.
    pub from: Stamp,
    /// When it ended.
    pub to: Stamp,
    /// Number of its name.
    pub layer: u32,
}

/// The pushed number of a frame.
pub fn number(tenant: u16, frame: u64) -> u64 {
    u64::from(tenant) << 48 | frame & FRAME
}

const FRAME: u64 = (1 << 48) - 1;

fn owner(number: u64) -> Owner {
    Owner {
        tenant: Some((number >> 48) as u16),
        frame: Some(number & FRAME),
        layer: None,
    }
}

/// Layers by thread, to be asked in any order.
struct Layers(HashMap<u32, Vec<Placed>>);

/// A span, and the one that it lies in.
struct Placed {
    span: LayerSpan,
    /// Its place among the thread's.
    within: Option<usize>,
}

impl Layers {
    fn new(spans: Vec<LayerSpan>) -> Self {
        let mut by_thread: HashMap<u32, Vec<LayerSpan>> = HashMap::new();
        for span in spans {
            by_thread.entry(span.thread).or_default().push(span);
        }
        let placed = by_thread
            .into_iter()
            .map(|(thread, spans)| (thread, placed(spans)));
        Layers(placed.collect())
    }

    /// The innermost layer of a thread at a moment.
    fn at(&self, thread: u32, at: Stamp) -> Option<u32> {
        let spans = self.0.get(&thread)?;
        let mut place = spans
            .partition_point(|placed| placed.span.from <= at)
            .checked_sub(1);
        loop {
            let placed = spans.get(place?)?;
            if at <= placed.span.to {
                return Some(placed.span.layer);
            }
            place = placed.within;
        }
    }
}

/// Spans of one thread in order, each with the one that was open when it began.
fn placed(mut spans: Vec<LayerSpan>) -> Vec<Placed> {
    // Of spans that begin together the outer comes first.
    spans.sort_by_key(|span| (span.from, std::cmp::Reverse(span.to)));
    let mut all: Vec<Placed> = Vec::with_capacity(spans.len());
    let mut open: Vec<usize> = Vec::new();
    for span in spans {
        while open.last().is_some_and(|place| all[*place].span.to < span.from) {
            open.pop();
        }
        let within = open.last().copied();
        open.push(all.len());
        all.push(Placed { span, within });
    }
    all
}

/// Gives every activity its owner. `spans` are layers that come from elsewhere than ranges.
pub fn attribute(gathered: &mut Gathered, mut spans: Vec<LayerSpan>) {
    spans.extend(ranges_of_tensorrt(gathered));
    let layers = Layers::new(spans);
    let nodes = layers_of_nodes(&gathered.nodes, &layers);
    let own = own_layers(gathered);
    // Calls first: everything else is found by them.
    let mut calls: HashMap<u32, (Owner, Activity)> = HashMap::new();
    for raw in &mut gathered.all {
        if let Work::Call {
            thread,
            correlation,
            interface,
        } = raw.activity.work
        {
            let mut found = gathered
                .frames
                .get(&correlation)
                .map_or_else(Owner::default, |number| owner(*number));
            found.layer = layers.at(thread, raw.activity.from);
            raw.activity.owner = found;
            // A call of the runtime makes one of the driver, which may have the same number: the outer one counts.
            let outer = interface == Interface::Runtime || !calls.contains_key(&correlation);
            if outer {
                calls.insert(correlation, (found, raw.activity));
            }
        }
    }
    for raw in &mut gathered.all {
        let Some(correlation) = raw.activity.work.correlation() else {
            continue;
        };
        if matches!(raw.activity.work, Work::Call { .. }) {
            continue;
        }
        match calls.get(&correlation) {
            Some((found, call)) => {
                raw.activity.owner = *found;
                if matches!(raw.activity.work, Work::Event { .. }) {
                    (raw.activity.from, raw.activity.to) = (call.from, call.to);
                }
            }
            // Calls were not traced, or only those that launch.
            None => {
                if let Some(number) = gathered.frames.get(&correlation) {
                    raw.activity.owner = owner(*number);
                }
            }
        }
        let of_node = (raw.node != 0).then(|| nodes.get(&raw.node).copied().flatten());
        if let Some(layer) = of_node {
            raw.activity.owner.layer = layer;
        }
        if let Some(layer) = raw.activity.name.and_then(|name| own.get(&name)) {
            raw.activity.owner.layer = Some(*layer);
        }
    }
    // Nobody knows when those events were.
    gathered
        .all
        .retain(|raw| !matches!(raw.activity.work, Work::Event { .. }) || raw.activity.from != Stamp(0));
    ranges_of_frames(gathered);
    by_stream(&mut gathered.all);
}

/// Ranges that TensorRT opens for its layers; the outermost is the execution's own.
fn ranges_of_tensorrt(gathered: &Gathered) -> Vec<LayerSpan> {
    let definitions = gathered.names.definitions();
    let mut domain = None;
    let mut executions = HashSet::new();
    for known in definitions.iter().filter(|known| known.launch.is_none()) {
        if known.text == TENSORRT {
            domain = Some(known.number);
        }
        if known.text.starts_with(EXECUTION) {
            executions.insert(known.number);
        }
    }
    let Some(domain) = domain else {
        return Vec::new();
    };
    let layers = gathered.all.iter().filter_map(|raw| match raw.activity.work {
        Work::Range {
            thread,
            domain: Some(of),
            ..
        } if of == domain => Some(LayerSpan {
            thread,
            from: raw.activity.from,
            to: raw.activity.to,
            layer: raw.activity.name.filter(|name| !executions.contains(name))?,
        }),
        _ => None,
    });
    layers.collect()
}

/// The layer that each node of a graph was captured for.
fn layers_of_nodes(events: &[NodeEvent], layers: &Layers) -> HashMap<u64, Option<u32>> {
    let mut found: HashMap<u64, Option<u32>> = HashMap::new();
    for event in events {
        match *event {
            NodeEvent::Created {
                node, thread, at_ns, ..
            } => {
                let at = Stamp(i64::try_from(at_ns).unwrap_or(i64::MAX));
                found.insert(node, layers.at(thread, at));
            }
            NodeEvent::Cloned { node, of } => {
                let layer = found.get(&of).copied().flatten();
                found.insert(node, layer);
            }
        }
    }
    found
}

/// By a kernel of our own: the name of what it does, which is its layer.
fn own_layers(gathered: &mut Gathered) -> HashMap<u32, u32> {
    let own: Vec<(u32, String)> = gathered
        .names
        .definitions()
        .into_iter()
        .filter(|known| known.launch.is_some())
        .filter_map(|known| Some((known.number, own_layer(&known.text)?)))
        .collect();
    own.into_iter()
        .filter_map(|(kernel, layer)| Some((kernel, gathered.names.number(&layer.into(), None)?)))
        .collect()
}

/// `jetlag_pillars_count` is the layer `jetlag: pillars`.
fn own_layer(kernel: &str) -> Option<String> {
    let step = kernel.strip_prefix(OWN)?.split('_').next()?;
    Some(format!("jetlag: {step}"))
}

/// Ranges belong to the frame of the calls within them, if that is one.
fn ranges_of_frames(gathered: &mut Gathered) {
    let mut calls: HashMap<u32, Vec<(Stamp, Owner)>> = HashMap::new();
    for raw in &gathered.all {
        if let Work::Call { thread, .. } = raw.activity.work
            && raw.activity.owner.frame.is_some()
        {
            calls
                .entry(thread)
                .or_default()
                .push((raw.activity.from, raw.activity.owner));
        }
    }
    for calls in calls.values_mut() {
        calls.sort_by_key(|(from, _)| *from);
    }
    for raw in &mut gathered.all {
        let Work::Range { thread, .. } = raw.activity.work else {
            continue;
        };
        let Some(calls) = calls.get(&thread) else {
            continue;
        };
        let within = |at: Stamp| calls.partition_point(|(from, _)| *from < at);
        let (first, end) = (within(raw.activity.from), within(raw.activity.to));
        if let (Some((_, first)), Some((_, last))) = (
            calls.get(first),
            end.checked_sub(1).and_then(|last| calls.get(last)),
        ) && first.tenant == last.tenant
            && first.frame == last.frame
        {
            raw.activity.owner = Owner {
                layer: None,
                ..*first
            };
        }
    }
}

/// Work without a frame on a stream that one tenant alone was seen on is that tenant's.
fn by_stream(all: &mut [Raw]) {
    let mut tenants: HashMap<OnStream, Option<u16>> = HashMap::new();
    for raw in all.iter() {
        if let (Some(on), Some(tenant)) = (raw.activity.work.on_device(), raw.activity.owner.tenant) {
            let seen = tenants.entry(on).or_insert(Some(tenant));
            if *seen != Some(tenant) {
                *seen = None;
            }
        }
    }
    for raw in all {
        if let (Some(on), None) = (raw.activity.work.on_device(), raw.activity.owner.tenant) {
            raw.activity.owner.tenant = tenants.get(&on).copied().flatten();
        }
    }
}

#[cfg(test)]
mod tests;
