//! Traced phases that never happened: a few calls for a run of which every figure is known. Times are in microseconds.

use std::collections::HashMap;

use crate::analysis::Summarizer;
use crate::analysis::Summary;
use crate::record::activity::{Direction, Interface, MemoryKind, OnStream, Owner, WaitKind, Work};
use crate::record::{
    Activity, ActivityBatch, Definition, Event, FrameRecord, Launch, Manifest, Phase, PhaseRecord, PhaseSpec,
    Submission, TenantManifest, TraceRecord,
};
use crate::scenario::{BackendChoice, Scenario, Tenant};
use crate::units::{Nanos, Stamp};

/// The traced phase.
pub(crate) const TRACED: Phase = Phase::Other(7);
/// When each phase begins; not zero, so that stamps and durations cannot be mixed up unseen.
const UNTRACED_FROM: i64 = 1_000_000;
pub(crate) const FROM: i64 = 100_000_000;

pub(crate) fn us(us: i64) -> Stamp {
    Stamp(us * 1000)
}

/// A run of an untraced and a traced phase, while it is made up.
pub(crate) struct Made {
    pub(crate) manifest: Manifest,
    tenants: u16,
    window: (i64, i64),
    numbers: HashMap<(String, Option<Launch>), u32>,
    definitions: Vec<Event>,
    frames: Vec<Event>,
    untraced: Vec<Event>,
    activities: Vec<Activity>,
    next: u32,
    pub(crate) trace: TraceRecord,
}

impl Made {
    /// A traced phase of these tenants, with a measured time of so long.
    pub(crate) fn new(tenants: &[&str], length: i64) -> Made {
        let scenario = Scenario {
            tenants: tenants
                .iter()
                .map(|name| Tenant::of_backend(name, BackendChoice::Null))
                .collect(),
            ..Scenario::empty("made")
        };
        let manifest = Manifest {
            schema_major: 1,
            schema_minor: 8,
            tenants: tenants.iter().map(|name| tenant(name)).collect(),
            subject: scenario.into(),
            anchor: Stamp(0),
            ..Manifest::default()
        };
        Made {
            manifest,
            tenants: tenants.len() as u16,
            window: (FROM, FROM + length),
            numbers: HashMap::new(),
            definitions: Vec::new(),
            frames: Vec::new(),
            untraced: Vec::new(),
            activities: Vec::new(),
            next: 1,
            trace: TraceRecord {
                phase: Some(TRACED),
                process: 42,
                tracer: "CUPTI of CUDA 13.0.1".to_owned(),
                graph_nodes: true,
                calls: true,
                ..TraceRecord::default()
            },
        }
    }

    /// The number of a text, with the shape of a launch for a kernel.
    pub(crate) fn name(&mut self, text: &str, launch: Option<Launch>) -> u32 {
        let fresh = self.numbers.len() as u32 + 1;
        let number = *self.numbers.entry((text.to_owned(), launch)).or_insert(fresh);
        if number == fresh {
            self.definitions.push(Event::Definition(Definition {
                number,
                text: text.to_owned(),
                launch,
            }));
        }
        number
    }

    /// A frame of the traced phase; stamps are after the begin of the measured time.
    pub(crate) fn frame(&mut self, tenant: u16, sequence: u64, released: i64, finished: i64) {
        let frame = frame(tenant, TRACED, sequence, FROM + released, FROM + finished);
        self.frames.push(Event::Frame(frame));
    }

    /// The frame that was added last, to change it.
    pub(crate) fn last_frame(&mut self) -> &mut FrameRecord {
        match self.frames.last_mut() {
            Some(Event::Frame(frame)) => frame,
            _ => panic!("no frame yet"),
        }
    }

    /// A frame of the untraced phase.
    pub(crate) fn untraced(&mut self, tenant: u16, sequence: u64, released: i64, finished: i64) {
        let (from, to) = (UNTRACED_FROM + released, UNTRACED_FROM + finished);
        let frame = frame(tenant, Phase::Together, sequence, from, to);
        self.untraced.push(Event::Frame(frame));
    }

    /// Any activity; returns its correlation.
    pub(crate) fn activity(&mut self, owner: Owner, name: Option<u32>, from: i64, took: i64, work: Work) {
        self.activities.push(Activity {
            from: us(FROM + from),
            to: us(FROM + from + took),
            name,
            owner,
            work,
        });
    }

    /// A kernel; returns the number that its call must have.
    pub(crate) fn kernel(&mut self, owner: Owner, name: &str, from: i64, took: i64) -> u32 {
        let launch = Launch {
            grid: [64, 1, 1],
            block: [128, 1, 1],
            registers: 32,
            ..Launch::default()
        };
        let name = self.name(name, Some(launch));
        let correlation = self.correlation();
        let work = Work::Kernel {
            on: OnStream::default(),
            correlation,
            graph: 0,
        };
        self.activity(owner, Some(name), from, took, work);
        correlation
    }

    /// A kernel of a launch of a graph.
    pub(crate) fn in_graph(&mut self, owner: Owner, name: &str, (from, took): (i64, i64), launch: u32) {
        let name = self.name(name, None);
        let work = Work::Kernel {
            on: OnStream::default(),
            correlation: launch,
            graph: 3,
        };
        self.activity(owner, Some(name), from, took, work);
    }

    /// A copy; to or from pinned memory if the host takes part.
    pub(crate) fn copy(&mut self, owner: Owner, direction: Direction, bytes: u64, (from, took): (i64, i64)) {
        let (source, destination) = match direction {
            Direction::HostToDevice => (MemoryKind::Pinned, MemoryKind::Device),
            Direction::DeviceToHost => (MemoryKind::Device, MemoryKind::Pinned),
            _ => (MemoryKind::Device, MemoryKind::Device),
        };
        let correlation = self.correlation();
        let work = Work::Copy {
            on: OnStream::default(),
            correlation,
            graph: 0,
            direction,
            source,
            destination,
            bytes,
        };
        self.activity(owner, None, from, took, work);
    }

    /// A call with this number.
    pub(crate) fn call(&mut self, owner: Owner, correlation: u32, from: i64, took: i64) {
        let name = self.name("cudaLaunchKernel", None);
        let work = Work::Call {
            thread: 1,
            correlation,
            interface: Interface::Runtime,
        };
        self.activity(owner, Some(name), from, took, work);
    }

    /// A wait of the host for a stream.
    pub(crate) fn wait(&mut self, owner: Owner, from: i64, took: i64) {
        let correlation = self.correlation();
        let work = Work::Wait {
            on: OnStream::default(),
            correlation,
            how: WaitKind::Stream,
            event: 0,
        };
        self.activity(owner, None, from, took, work);
    }

    pub(crate) fn correlation(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// Whom something of a frame belongs to, with a layer.
    pub(crate) fn owner(&mut self, tenant: u16, frame: u64, layer: &str) -> Owner {
        Owner {
            tenant: Some(tenant),
            frame: Some(frame),
            layer: Some(self.name(layer, None)),
        }
    }

    /// Everything in the order of a run file.
    pub(crate) fn events(&self) -> Vec<Event> {
        let spec = |phase, traced, at| {
            Event::PhaseSpec(PhaseSpec {
                at,
                phase,
                sharing: "Streams".to_owned(),
                members: (0..self.tenants).collect(),
                traced,
                ..PhaseSpec::default()
            })
        };
        let end = |phase, tenant, (from, to): (i64, i64)| {
            Event::Phase(PhaseRecord {
                tenant,
                phase,
                epoch: us(from),
                measured_from: us(from),
                measured_to: us(to),
                ..PhaseRecord::default()
            })
        };
        let mut events = vec![spec(Phase::Together, false, us(0))];
        events.extend(self.untraced.iter().cloned());
        let length = self.window.1 - self.window.0;
        let untraced = (UNTRACED_FROM, UNTRACED_FROM + length);
        events.extend((0..self.tenants).map(|tenant| end(Phase::Together, tenant, untraced)));
        events.push(spec(TRACED, true, us(FROM)));
        events.extend(self.frames.iter().cloned());
        events.extend(self.definitions.iter().cloned());
        let batches = self.activities.chunks(1000).map(|activities| {
            Event::Activities(ActivityBatch {
                phase: TRACED,
                process: 42,
                activities: activities.to_vec(),
            })
        });
        events.extend(batches);
        events.extend((0..self.tenants).map(|tenant| end(TRACED, tenant, self.window)));
        events.push(Event::Trace(self.trace.clone()));
        events
    }

    pub(crate) fn summary(&self) -> Summary {
        let mut summarizer = Summarizer::new(&self.manifest);
        self.events().iter().for_each(|event| summarizer.push(event));
        summarizer.finish(None)
    }
}

fn tenant(name: &str) -> TenantManifest {
    TenantManifest {
        name: name.to_owned(),
        backend: "tensorrt".to_owned(),
        ..TenantManifest::default()
    }
}

fn frame(tenant: u16, phase: Phase, sequence: u64, released: i64, finished: i64) -> FrameRecord {
    FrameRecord {
        tenant,
        phase,
        sequence,
        submission: Some(Submission {
            took: Nanos::from_micros(50),
            in_compute: None,
        }),
        ..FrameRecord::completed(us(released), us(finished))
    }
}
