//! Traced phases for tests, made by hand or by a simulator.

use std::collections::BTreeMap;

use super::Member;
use crate::analysis::gathering::traced::TracedPhase;
use crate::record::activity::{Direction, Interface, MemoryKind, OnStream, Owner, WaitKind, Work};
use crate::record::{Activity, Definition, FrameRecord, Phase, PhaseSpec, Stage, TraceRecord};
use crate::units::{Nanos, Stamp};

/// A traced phase that is made by hand or by a simulator; names are numbered as they come.
#[derive(Debug)]
pub(in crate::analysis) struct Recorded {
    pub(in crate::analysis) phase: TracedPhase,
    pub(in crate::analysis) names: BTreeMap<u32, Definition>,
    correlation: u32,
}

/// The thread on which tests make calls, and that on which they wait.
pub(in crate::analysis) const MAKER: u32 = 1;
pub(in crate::analysis) const FINISHER: u32 = 2;

impl Recorded {
    pub(in crate::analysis) fn new() -> Recorded {
        Recorded {
            phase: TracedPhase {
                spec: PhaseSpec {
                    at: Stamp(0),
                    phase: Phase::Other(1),
                    label: "camera + lidar".to_owned(),
                    sharing: "Streams".to_owned(),
                    members: vec![0, 1],
                    rate: None,
                    traced: true,
                    round: None,
                },
                traces: vec![TraceRecord {
                    calls: true,
                    graph_nodes: true,
                    ..TraceRecord::default()
                }],
                processes: BTreeMap::new(),
                frames: Vec::new(),
            },
            names: BTreeMap::new(),
            correlation: 0,
        }
    }

    pub(in crate::analysis) fn name(&mut self, text: &str) -> u32 {
        let known = self.names.values().find(|name| name.text == text);
        if let Some(known) = known {
            return known.number;
        }
        let number = self.names.len() as u32;
        self.names.insert(
            number,
            Definition {
                number,
                text: text.to_owned(),
                launch: None,
            },
        );
        number
    }

    pub(super) fn push(&mut self, (from, to): (i64, i64), name: Option<&str>, owner: Owner, work: Work) {
        let name = name.map(|name| self.name(name));
        self.phase.processes.entry(7).or_default().push(Activity {
            from: Stamp(from),
            to: Stamp(to),
            name,
            owner,
            work,
        });
    }

    /// A call; answers its correlation number.
    pub(in crate::analysis) fn call(
        &mut self,
        owner: Owner,
        thread: u32,
        name: &str,
        span: (i64, i64),
    ) -> u32 {
        self.correlation += 1;
        let correlation = self.correlation;
        let work = Work::Call {
            thread,
            correlation,
            interface: Interface::Driver,
        };
        self.push(span, Some(name), owner, work);
        correlation
    }

    pub(in crate::analysis) fn kernel(
        &mut self,
        owner: Owner,
        stream: u32,
        correlation: u32,
        name: &str,
        span: (i64, i64),
    ) {
        self.kernel_of(owner, stream, correlation, 0, name, span);
    }

    pub(in crate::analysis) fn kernel_of(
        &mut self,
        owner: Owner,
        stream: u32,
        correlation: u32,
        graph: u32,
        name: &str,
        span: (i64, i64),
    ) {
        let work = Work::Kernel {
            on: on(stream),
            correlation,
            graph,
        };
        self.push(span, Some(name), owner, work);
    }

    pub(in crate::analysis) fn copy(
        &mut self,
        owner: Owner,
        stream: u32,
        correlation: u32,
        direction: Direction,
        span: (i64, i64),
    ) {
        let work = Work::Copy {
            on: on(stream),
            correlation,
            graph: 0,
            direction,
            source: MemoryKind::Pinned,
            destination: MemoryKind::Device,
            bytes: 1000,
        };
        self.push(span, None, owner, work);
    }

    pub(in crate::analysis) fn wait(
        &mut self,
        owner: Owner,
        correlation: u32,
        how: WaitKind,
        (stream, event): (u32, u64),
        span: (i64, i64),
    ) {
        let work = Work::Wait {
            on: on(stream),
            correlation,
            how,
            event,
        };
        self.push(span, None, owner, work);
    }

    pub(in crate::analysis) fn event(
        &mut self,
        owner: Owner,
        stream: u32,
        correlation: u32,
        event: u64,
        at: i64,
    ) {
        let work = Work::Event {
            on: on(stream),
            correlation,
            event,
        };
        self.push((at, at), None, owner, work);
    }

    /// A frame with preprocessing and postprocessing of these lengths.
    pub(in crate::analysis) fn frame(
        &mut self,
        owner: Owner,
        [released, started, finished]: [i64; 3],
        (pre, post): (i64, i64),
    ) {
        let mut stages = [None; 9];
        stages[Stage::Preprocess as usize] = (pre > 0).then_some(Nanos(pre));
        stages[Stage::Postprocess as usize] = (post > 0).then_some(Nanos(post));
        self.phase.frames.push(FrameRecord {
            tenant: owner.tenant.unwrap(),
            phase: Phase::Other(1),
            sequence: owner.frame.unwrap(),
            started: Stamp(started),
            stages,
            ..FrameRecord::completed(Stamp(released), Stamp(finished))
        });
    }

    pub(in crate::analysis) fn settle(&mut self) {
        for activities in self.phase.processes.values_mut() {
            activities.sort_by_key(|activity| (activity.from, activity.to));
        }
    }
}

pub(in crate::analysis) fn on(stream: u32) -> OnStream {
    OnStream {
        device: 0,
        context: 1,
        stream,
    }
}

pub(in crate::analysis) fn of(tenant: u16, frame: u64) -> Owner {
    Owner {
        tenant: Some(tenant),
        frame: Some(frame),
        layer: None,
    }
}

pub(in crate::analysis) fn members() -> Vec<Member> {
    ["camera", "lidar"]
        .map(|name| Member {
            name: name.to_owned(),
            depth: 1,
            closed: false,
        })
        .to_vec()
}
