//! What was traced of a phase, until it is recorded: attributed, and as messages of the run file.

use cupti_dyn::{Clock as StampClock, Ended, Library};
use jetlag_activity::{Gathered, LayerSpan, Names, attribute, notes};

use crate::backend::NodeSpan;
use crate::record::activity::Work;
use crate::record::{ActivityBatch, Event, Phase, TraceRecord};
use crate::scenario::{Graphs, Trace};
use crate::units::{Nanos, Stamp};

/// Activities of one message.
const BATCH: usize = 4096;
/// Begin and length of a node's span are rounded down to a microsecond each, so it may end so much later than it says. A call there
/// that is of the next node lies in that one's span too, which began later and therefore counts.
const ROUNDED: Nanos = Nanos(1_999);

/// A phase that was traced.
#[derive(Debug)]
pub struct Traced {
    gathered: Gathered,
    calls: bool,
    record: TraceRecord,
}

impl Traced {
    /// From what the tracer's thread gathered.
    pub(super) fn new(
        phase: Phase,
        (from, to): (Stamp, Stamp),
        plan: Trace,
        library: Library,
        mut gathered: Gathered,
        ended: &Ended,
    ) -> Traced {
        if ended.clock == StampClock::Cupti {
            for raw in &mut gathered.all {
                for stamp in [&mut raw.activity.from, &mut raw.activity.to] {
                    let ours = ended.brackets.to_monotonic(stamp.0.unsigned_abs());
                    *stamp = Stamp(i64::try_from(ours).unwrap_or(i64::MAX));
                }
            }
        }
        let record = TraceRecord {
            phase: Some(phase),
            process: std::process::id(),
            from,
            to,
            tracer: library.version().to_string(),
            graph_nodes: plan.graphs == Graphs::Nodes,
            calls: plan.calls,
            calls_left_out: 0,
            activities: 0,
            dropped: ended.loss.dropped,
            lost_stamps: ended.loss.counts.lost_stamps,
            not_kept: gathered.not_kept,
            clock_residual: Nanos(i64::try_from(ended.brackets.residual_ns()).unwrap_or(i64::MAX)),
            notes: notes(ended),
            devices: std::mem::take(&mut gathered.devices),
        };
        Traced {
            gathered,
            calls: plan.calls,
            record,
        }
    }

    /// So many functions' calls were not traced.
    pub(super) fn calls_left_out(&mut self, functions: u32) {
        self.record.calls_left_out = functions;
    }

    /// From its begin to its end.
    pub fn span(&self) -> (Stamp, Stamp) {
        (self.record.from, self.record.to)
    }

    /// Everything that is to be recorded. `names` are those of its process, which its activities refer to. `nodes` is when the host
    /// launched nodes of networks: they are the layers of what was launched meanwhile.
    pub(super) fn events(mut self, names: &mut Names, nodes: &[NodeSpan]) -> Vec<Event> {
        self.gathered.names = std::mem::take(names);
        let layers = self.layers(nodes);
        attribute(&mut self.gathered, layers);
        let Traced {
            mut gathered,
            calls,
            mut record,
        } = self;
        if !calls {
            gathered
                .all
                .retain(|raw| !matches!(raw.activity.work, Work::Call { .. }));
        }
        gathered
            .all
            .sort_by_key(|raw| (raw.activity.from, raw.activity.to));
        record.activities = gathered.all.len() as u64;
        let definitions = gathered.names.readable_news().into_iter().map(Event::Definition);
        let batches = gathered.all.chunks(BATCH).filter_map(|raws| {
            Some(Event::Activities(ActivityBatch {
                phase: record.phase?,
                process: record.process,
                activities: raws.iter().map(|raw| raw.activity).collect(),
            }))
        });
        let mut events: Vec<Event> = definitions.chain(batches).collect();
        events.push(Event::Trace(record));
        *names = gathered.names;
        events
    }

    fn layers(&mut self, nodes: &[NodeSpan]) -> Vec<LayerSpan> {
        let named = nodes.iter().filter_map(|node| {
            Some(LayerSpan {
                thread: node.thread,
                from: node.from,
                to: node.to + ROUNDED,
                layer: self.gathered.names.number(&node.name.as_str().into(), None)?,
            })
        });
        named.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jetlag_activity::Raw;

    use super::*;
    use crate::record::Activity;
    use crate::record::activity::{Interface, OnStream, Owner};

    const THREAD: u32 = 7;

    fn launch(gathered: &mut Gathered, correlation: u32, at_ns: i64) {
        let call = Work::Call {
            thread: THREAD,
            correlation,
            interface: Interface::Runtime,
        };
        let kernel = Work::Kernel {
            on: OnStream {
                device: 0,
                context: 1,
                stream: 7,
            },
            correlation,
            graph: 0,
        };
        for (work, later) in [(call, 0), (kernel, 50_000)] {
            gathered.keep(Raw {
                activity: Activity {
                    from: Stamp(at_ns + later),
                    to: Stamp(at_ns + later + 1_000),
                    name: None,
                    owner: Owner::default(),
                    work,
                },
                node: 0,
            });
        }
    }

    fn node(name: &str, thread: u32, from_us: i64, took_us: i64) -> NodeSpan {
        NodeSpan {
            thread,
            from: Stamp(from_us * 1_000),
            to: Stamp((from_us + took_us) * 1_000),
            name: name.to_owned(),
        }
    }

    #[test]
    fn a_kernel_is_of_the_node_that_launched_it() {
        let mut gathered = Gathered::default();
        // Within the first, beyond its rounded end, in the second that begins in the same microsecond, in the inner of two, in
        // none.
        for (correlation, at_ns) in [(1, 10_500), (2, 15_900), (3, 16_100), (4, 31_000), (5, 90_000)] {
            launch(&mut gathered, correlation, at_ns);
        }
        let nodes = [
            node("conv", THREAD, 10, 5),
            node("relu", THREAD, 16, 4),
            node("inner", THREAD, 30, 3),
            node("loop", THREAD, 25, 20),
            node("another thread's", 8, 0, 200),
        ];
        let traced = Traced {
            gathered,
            calls: true,
            record: TraceRecord {
                phase: Some(Phase::Together),
                ..TraceRecord::default()
            },
        };
        let (mut names, mut texts) = (Names::of_process(1), BTreeMap::new());
        let mut layers = BTreeMap::new();
        for event in traced.events(&mut names, &nodes) {
            match event {
                Event::Definition(known) => drop(texts.insert(known.number, known.text)),
                Event::Activities(batch) => {
                    for activity in batch.activities {
                        if let Work::Kernel { correlation, .. } = activity.work {
                            layers.insert(
                                correlation,
                                activity.owner.layer.map(|layer| texts[&layer].clone()),
                            );
                        }
                    }
                }
                _ => {}
            }
        }
        let of = |correlation: u32| layers[&correlation].as_deref();
        assert_eq!(
            [1, 2, 3, 4, 5].map(of),
            [Some("conv"), Some("conv"), Some("relu"), Some("inner"), None]
        );
        // The next phase goes on counting.
        assert_eq!(names.readable_news(), []);
        assert!(names.number(&"conv".into(), None).is_some());
        assert_eq!(names.readable_news(), []);
    }
}
