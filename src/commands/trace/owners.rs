//! Whom a process's activities belong to: its tenant, the batch whose thread asked for them, the innermost range around. Pure.

use std::collections::HashMap;

use jetlag_activity::spool::Range;
use jetlag_activity::{Gathered, LayerSpan, attribute, number};

use super::ranges::{Batch, is_batch};
use crate::record::activity::Work;
use crate::units::Stamp;

/// In the place of a layer: a batch is none itself, and hides those around it.
const NO_LAYER: u32 = u32::MAX;
/// TensorRT's ranges around a whole execution, in its domain: no layers.
const EXECUTION: (&str, &str) = ("TensorRT", "ExecutionContext::");

/// Gives every activity its owner.
pub(super) fn own(gathered: &mut Gathered, ranges: &[Range], batches: &[Batch], batch: &str, tenant: u16) {
    let frames = Frames::new(batches);
    for raw in &gathered.all {
        if let Work::Call {
            thread, correlation, ..
        } = raw.activity.work
            && let Some(frame) = frames.at(thread, raw.activity.from)
        {
            gathered.frames.insert(correlation, number(tenant, frame));
        }
    }
    let layers = layers(gathered, ranges, batch);
    attribute(gathered, layers);
    for raw in &mut gathered.all {
        let owner = &mut raw.activity.owner;
        // A process is one tenant.
        owner.tenant = Some(tenant);
        owner.layer = owner.layer.filter(|layer| *layer != NO_LAYER);
    }
}

/// Ranges that were pushed, as layers of their threads.
fn layers(gathered: &Gathered, ranges: &[Range], batch: &str) -> Vec<LayerSpan> {
    let text = |name: Option<u32>| {
        name.and_then(|name| gathered.names.text(name))
            .map(|text| &**text)
    };
    let layer = |range: &Range| {
        let name = text(range.name)?;
        if text(range.domain) == Some(EXECUTION.0) && name.starts_with(EXECUTION.1) {
            return None;
        }
        Some(LayerSpan {
            thread: range.thread,
            from: range.from,
            to: range.to,
            layer: match is_batch(name, batch) {
                true => NO_LAYER,
                false => range.name?,
            },
        })
    };
    ranges
        .iter()
        // Of ranges with the same stamps the inner one was written first.
        .rev()
        .filter(|range| !range.started)
        .filter_map(layer)
        .collect()
}

/// Batches by thread.
struct Frames {
    /// In order; they do not overlap.
    pushed: HashMap<u32, Vec<(Stamp, Stamp, u64)>>,
    /// They may overlap.
    started: HashMap<u32, Vec<(Stamp, Stamp, u64)>>,
}

impl Frames {
    fn new(batches: &[Batch]) -> Self {
        let mut frames = Frames {
            pushed: HashMap::new(),
            started: HashMap::new(),
        };
        for (batch, index) in batches.iter().zip(0..) {
            let of = match batch.started {
                true => &mut frames.started,
                false => &mut frames.pushed,
            };
            of.entry(batch.thread)
                .or_default()
                .push((batch.from, batch.to, index));
        }
        frames
    }

    /// The batch that a thread worked for at a moment; none if that could be several.
    fn at(&self, thread: u32, at: Stamp) -> Option<u64> {
        // Only a few begin before a moment and end after it.
        const NEAR: usize = 64;
        let open = |of: &HashMap<u32, Vec<(Stamp, Stamp, u64)>>| {
            let all = of.get(&thread)?;
            let begun = all.partition_point(|(from, ..)| *from <= at);
            let mut open = all[..begun]
                .iter()
                .rev()
                .take(NEAR)
                .filter(|(_, to, _)| at <= *to)
                .map(|(.., index)| *index);
            Some((open.next()?, open.next().is_none()))
        };
        match open(&self.pushed).or_else(|| open(&self.started)) {
            Some((index, true)) => Some(index),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jetlag_activity::Raw;

    use super::*;
    use crate::record::activity::{Interface, OnStream, Owner};
    use crate::record::{Activity, Launch};

    fn batch(thread: u32, from: i64, to: i64, started: bool) -> Batch {
        Batch {
            thread,
            from: Stamp(from),
            to: Stamp(to),
            items: 1,
            stages: [None; 9],
            started,
        }
    }

    #[test]
    fn a_thread_works_for_its_own_batch_and_for_none_where_it_could_be_two() {
        let frames = Frames::new(&[
            batch(1, 0, 10, false),
            batch(2, 5, 30, true),
            batch(1, 12, 20, false),
            batch(2, 15, 40, true),
        ]);
        let at = |thread, at| frames.at(thread, Stamp(at));
        assert_eq!(
            [at(1, 5), at(1, 11), at(1, 12), at(1, 21)],
            [Some(0), None, Some(2), None]
        );
        assert_eq!(
            [at(2, 4), at(2, 10), at(2, 20), at(2, 35)],
            [None, Some(1), None, Some(3)]
        );
        assert_eq!(at(3, 5), None);
    }

    #[test]
    fn a_kernel_has_the_batch_of_its_thread_and_the_innermost_range_that_is_no_batch() {
        let mut gathered = Gathered::of_process(0);
        let mut name = |text: &str, launch| gathered.names.number(&Arc::from(text), launch);
        let (epoch, one, conv, kernel) = (
            name("epoch", None),
            name("batch_0", None),
            name("conv", None),
            name("k", Some(Launch::default())),
        );
        let range = |from, to, name| Range {
            thread: 7,
            from: Stamp(from),
            to: Stamp(to),
            name,
            domain: None,
            payload: None,
            started: false,
        };
        let ranges = [range(20, 30, conv), range(10, 90, one), range(0, 100, epoch)];
        for (correlation, at) in [(1, 25), (2, 50), (3, 95)] {
            let mut push = |from: i64, name, work| {
                gathered.keep(Raw {
                    activity: Activity {
                        from: Stamp(from),
                        to: Stamp(from + 2),
                        name,
                        owner: Owner::default(),
                        work,
                    },
                    node: 0,
                });
            };
            push(
                at,
                None,
                Work::Call {
                    thread: 7,
                    correlation,
                    interface: Interface::Runtime,
                },
            );
            push(
                1000 * i64::from(correlation),
                kernel,
                Work::Kernel {
                    on: OnStream::default(),
                    correlation,
                    graph: 0,
                },
            );
        }
        own(&mut gathered, &ranges, &[batch(7, 10, 90, false)], "batch", 3);
        let owners: Vec<Owner> = (gathered.all.iter())
            .filter(|raw| matches!(raw.activity.work, Work::Kernel { .. }))
            .map(|raw| raw.activity.owner)
            .collect();
        let owner = |frame, layer| Owner {
            tenant: Some(3),
            frame,
            layer,
        };
        assert_eq!(
            owners,
            [owner(Some(0), conv), owner(Some(0), None), owner(None, epoch)]
        );
    }
}
