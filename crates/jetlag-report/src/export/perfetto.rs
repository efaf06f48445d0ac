//! A Perfetto trace (native protobuf): the run on a time line.
//!
//! Each tenant is a group of the tracks `released`, `waiting`, `work` (a slice for each frame, with its stages nested
//! in it) and `result`; flows lead from release to result. Stages that ran on a GPU appear again under `GPU`, what was
//! traced has tracks of its own (`traced`), and each signal is a counter under `telemetry`. Frames that overlap are on tracks of the same name, which Perfetto
//! shows as one. Packets are written as they come; a trace that exceeds its size limit continues in another file.

mod traced;

use std::collections::HashMap;
use std::io::{self, Write};

use prost::Message;

use super::perfetto_proto::{
    BOOTTIME, Clock, ClockSnapshot, CounterDescriptor, DebugAnnotation, EXPLICIT, EventType, LEXICOGRAPHIC,
    REALTIME, TracePacket, TrackDescriptor, TrackEvent,
};
use super::{Export, Names, outcome_name, phase_name};
use crate::analysis::trace::{self, Edge, Lanes, Nesting, Span};
use crate::record::activity::OnStream;
use crate::record::{
    Definition, Device, Event, FrameRecord, Manifest, Outcome, RangeRecord, SampleRecord, Stage,
};
use crate::units::Stamp;

/// Default size limit of a trace file in bytes: what Perfetto's page opens in a browser without running out of memory.
/// Beyond it the trace continues in another file.
pub const SHARD_BYTES: u64 = 256 << 20;

/// All packets are written as one sequence.
const SEQUENCE: u32 = 1;
/// `packet` of the message `Trace`: field 1, length-delimited.
const PACKET: u8 = 0x0a;

/// A track, identified by what it shows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Track {
    Tenant(u16),
    Released(u16),
    Waiting(u16, usize),
    Work(u16, usize),
    Result(u16),
    /// A thread of an application.
    Ranges(u16, u16),
    Gpu,
    OnGpu(u16, usize),
    /// What was traced of a process.
    Traced(u32),
    Stream(u32, OnStream),
    /// Waits for a stream, or of one; for the context where the stream is 0.
    Waits(u32, OnStream),
    Thread(u32, u32),
    Telemetry,
    Counter(String, String),
}

impl Track {
    /// Its rank among its siblings, from the top: within a tenant the order of a frame's events, on the GPU the order
    /// of the tenants in the scenario. Groups have none: the page sorts them by name.
    fn rank(&self) -> Option<i32> {
        match *self {
            Track::Released(_) => Some(0),
            Track::Waiting(..) => Some(1),
            Track::Work(..) => Some(2),
            Track::Result(_) => Some(3),
            Track::Ranges(_, number) => Some(4 + i32::from(number)),
            Track::OnGpu(tenant, _) => Some(i32::from(tenant)),
            Track::Tenant(_)
            | Track::Gpu
            | Track::Traced(_)
            | Track::Stream(..)
            | Track::Waits(..)
            | Track::Thread(..)
            | Track::Telemetry
            | Track::Counter(..) => None,
        }
    }

    /// How its children are ordered.
    fn child_ordering(&self) -> Option<i32> {
        match self {
            Track::Tenant(_) | Track::Gpu => Some(EXPLICIT),
            Track::Telemetry | Track::Traced(_) => Some(LEXICOGRAPHIC),
            _ => None,
        }
    }
}

/// Lanes of one tenant's tracks.
#[derive(Clone, Debug, Default)]
struct TenantLanes {
    waiting: Lanes,
    work: Lanes,
    gpu: Lanes,
}

/// A trace while it is written. `open` creates the file of each shard, numbered from 0.
pub struct PerfettoExport<W: Write, F: FnMut(usize) -> io::Result<W>> {
    open: F,
    out: Option<W>,
    shard: usize,
    written: u64,
    limit: u64,
    /// Tracks that are already described in this shard.
    tracks: HashMap<Track, u64>,
    lanes: HashMap<u16, TenantLanes>,
    /// Ranges that wait for their parents, by tenant and track.
    nesting: HashMap<(u16, u16), Nesting>,
    names: Names,
    on_gpu: Vec<bool>,
    clock: ClockSnapshot,
    flows: u64,
    /// Names of activities, which come before them.
    texts: HashMap<u32, Definition>,
    buffer: Vec<u8>,
}

impl<W: Write, F: FnMut(usize) -> io::Result<W>> PerfettoExport<W, F> {
    /// Opens the first shard; each exceeds `limit` bytes by at most one frame.
    pub fn new(manifest: &Manifest, limit: u64, open: F) -> io::Result<Self> {
        let clock = |id, at: i64| Clock {
            clock_id: Some(id),
            timestamp: Some(at.max(0) as u64),
        };
        let mut export = PerfettoExport {
            open,
            out: None,
            shard: 0,
            written: 0,
            limit,
            tracks: HashMap::new(),
            lanes: HashMap::new(),
            nesting: HashMap::new(),
            names: Names::new(manifest),
            on_gpu: manifest.devices().into_iter().map(Device::is_gpu).collect(),
            clock: ClockSnapshot {
                clocks: vec![
                    clock(BOOTTIME, manifest.anchor.0),
                    clock(REALTIME, manifest.anchor_unix_ns),
                ],
                primary_trace_clock: Some(BOOTTIME as i32),
            },
            flows: 0,
            texts: HashMap::new(),
            buffer: Vec::new(),
        };
        export.next_shard()?;
        Ok(export)
    }

    fn next_shard(&mut self) -> io::Result<()> {
        if let Some(mut out) = self.out.take() {
            out.flush()?;
            self.shard += 1;
        }
        self.out = Some((self.open)(self.shard)?);
        self.written = 0;
        self.tracks.clear();
        let clock = self.clock.clone();
        self.packet(&TracePacket {
            clock_snapshot: Some(clock),
            ..TracePacket::default()
        })
    }

    fn describe(&mut self, track: TrackDescriptor) -> io::Result<()> {
        self.packet(&TracePacket {
            trusted_packet_sequence_id: Some(SEQUENCE),
            track_descriptor: Some(track),
            ..TracePacket::default()
        })
    }

    fn packet(&mut self, packet: &TracePacket) -> io::Result<()> {
        self.buffer.clear();
        self.buffer.push(PACKET);
        packet
            .encode_length_delimited(&mut self.buffer)
            .map_err(io::Error::other)?;
        self.written += self.buffer.len() as u64;
        match &mut self.out {
            Some(out) => out.write_all(&self.buffer),
            None => Ok(()),
        }
    }

    /// The id of a track; describes the track if this shard has not done so yet.
    fn track(&mut self, track: Track) -> io::Result<u64> {
        if let Some(&uuid) = self.tracks.get(&track) {
            return Ok(uuid);
        }
        let parent = match track {
            Track::Tenant(_) | Track::Gpu | Track::Traced(_) | Track::Telemetry => None,
            Track::Stream(process, _) | Track::Waits(process, _) | Track::Thread(process, _) => {
                Some(self.track(Track::Traced(process))?)
            }
            Track::OnGpu(..) => Some(self.track(Track::Gpu)?),
            Track::Counter(..) => Some(self.track(Track::Telemetry)?),
            Track::Released(tenant)
            | Track::Waiting(tenant, _)
            | Track::Work(tenant, _)
            | Track::Result(tenant)
            | Track::Ranges(tenant, _) => Some(self.track(Track::Tenant(tenant))?),
        };
        let uuid = self.tracks.len() as u64 + 1;
        let of = |tenant| self.names.of(tenant).unwrap_or_default();
        let (name, counter) = match &track {
            Track::Tenant(tenant) | Track::OnGpu(tenant, _) => (of(*tenant).to_owned(), None),
            Track::Gpu => ("GPU".to_owned(), None),
            Track::Traced(process) => (format!("traced, process {process}"), None),
            Track::Stream(_, on) => (format!("GPU {} {}", on.device, stream(*on)), None),
            Track::Waits(_, on) => (format!("waits, {}", stream(*on)), None),
            Track::Thread(_, thread) => (format!("thread {thread}"), None),
            Track::Telemetry => ("telemetry".to_owned(), None),
            Track::Released(_) => ("released".to_owned(), None),
            Track::Waiting(..) => ("waiting".to_owned(), None),
            Track::Work(..) => ("work".to_owned(), None),
            Track::Result(_) => ("result".to_owned(), None),
            Track::Ranges(_, number) => (format!("ranges {number}"), None),
            Track::Counter(name, unit) => {
                let unit_name = Some(unit.clone());
                (name.clone(), Some(CounterDescriptor { unit_name }))
            }
        };
        self.describe(TrackDescriptor {
            uuid: Some(uuid),
            name: Some(name),
            parent_uuid: parent,
            counter,
            child_ordering: track.child_ordering(),
            sibling_order_rank: track.rank(),
        })?;
        self.tracks.insert(track, uuid);
        Ok(uuid)
    }

    fn put(&mut self, track: Track, at: Stamp, kind: EventType, mut event: TrackEvent) -> io::Result<()> {
        event.track_uuid = Some(self.track(track)?);
        event.r#type = Some(kind as i32);
        self.packet(&TracePacket {
            timestamp: Some(at.0.max(0) as u64),
            trusted_packet_sequence_id: Some(SEQUENCE),
            track_event: Some(event),
            ..TracePacket::default()
        })
    }

    fn slice(&mut self, track: &Track, span: Span, event: TrackEvent) -> io::Result<()> {
        self.put(track.clone(), span.from, EventType::SliceBegin, event)?;
        self.put(track.clone(), span.to, EventType::SliceEnd, TrackEvent::default())
    }

    fn frame(&mut self, frame: &FrameRecord) -> io::Result<()> {
        let tenant = frame.tenant;
        if self.names.of(tenant).is_none() {
            return Ok(());
        }
        if self.written > self.limit {
            self.next_shard()?;
        }
        self.flows += 1;
        let flow = vec![self.flows];
        let begun = match frame.outcome {
            Outcome::Completed | Outcome::Failed => frame.started,
            Outcome::Dropped | Outcome::Unfinished => frame.finished,
        };
        let released = TrackEvent {
            flow_ids: flow.clone(),
            ..named(&format!("frame {}", frame.sequence))
        };
        self.put(
            Track::Released(tenant),
            frame.released,
            EventType::Instant,
            released,
        )?;
        if begun > frame.released {
            let span = Span {
                from: frame.released,
                to: begun,
            };
            let lane = self.lanes.entry(tenant).or_default().waiting.place(span);
            let waiting = named(&format!("frame {}", frame.sequence));
            self.slice(&Track::Waiting(tenant, lane), span, waiting)?;
        }
        if matches!(frame.outcome, Outcome::Completed | Outcome::Failed) {
            self.work(frame, &flow)?;
        }
        // The page colours by name: a result that came too late is told from one in time.
        let outcome = match frame.outcome {
            Outcome::Completed if frame.missed() => "missed",
            outcome => outcome_name(outcome),
        };
        let result = TrackEvent {
            terminating_flow_ids: flow,
            ..named(outcome)
        };
        let end = frame.finished.max(begun);
        self.put(Track::Result(tenant), end, EventType::Instant, result)
    }

    fn work(&mut self, frame: &FrameRecord, flow: &[u64]) -> io::Result<()> {
        let tenant = frame.tenant;
        let span = Span {
            from: frame.started,
            to: frame.finished.max(frame.started),
        };
        let lane = self.lanes.entry(tenant).or_default().work.place(span);
        let track = Track::Work(tenant, lane);
        let about = TrackEvent {
            categories: vec![phase_name(frame.phase).into_owned()],
            debug_annotations: annotations(frame),
            flow_ids: flow.to_vec(),
            ..named(&format!("frame {}", frame.sequence))
        };
        self.put(track.clone(), span.from, EventType::SliceBegin, about)?;
        for (stage, span) in trace::stages(frame) {
            self.slice(&track, span, named(stage.name()))?;
        }
        self.put(track, span.to, EventType::SliceEnd, TrackEvent::default())?;
        if !self.on_gpu.get(usize::from(tenant)).copied().unwrap_or(false) {
            return Ok(());
        }
        let on_device = |stage| matches!(stage, Stage::H2d | Stage::Compute | Stage::D2h);
        let stages = || trace::stages(frame).filter(|&(stage, _)| on_device(stage));
        let Some((first, last)) = stages().next().zip(stages().last()) else {
            return Ok(());
        };
        let span = Span {
            from: first.1.from,
            to: last.1.to,
        };
        let lane = self.lanes.entry(tenant).or_default().gpu.place(span);
        for (stage, span) in stages() {
            self.slice(&Track::OnGpu(tenant, lane), span, named(stage.name()))?;
        }
        Ok(())
    }

    /// Adds a range of an application, or writes those that still wait.
    fn range(&mut self, range: Option<&RangeRecord>, of: (u16, u16)) -> io::Result<()> {
        if self.names.of(of.0).is_none() {
            return Ok(());
        }
        let mut edges = Vec::new();
        let mut note = |edge: Edge<'_>| {
            edges.push(match edge {
                Edge::Begin(range) => (range.from, Some(about_range(range))),
                Edge::End(at) => (at, None),
            });
        };
        let nesting = self.nesting.entry(of).or_default();
        match range {
            Some(range) => nesting.push(range, &mut note),
            None => nesting.flush(&mut note),
        }
        if !edges.is_empty() && self.written > self.limit {
            self.next_shard()?;
        }
        let track = Track::Ranges(of.0, of.1);
        for (at, begins) in edges {
            let kind = match begins {
                Some(_) => EventType::SliceBegin,
                None => EventType::SliceEnd,
            };
            self.put(track.clone(), at, kind, begins.unwrap_or_default())?;
        }
        Ok(())
    }

    fn sample(&mut self, sample: &SampleRecord) -> io::Result<()> {
        // A counter has no way to say "not measured": it keeps its value until the next reading.
        let Some(value) = sample.value.filter(|value| value.is_finite()) else {
            return Ok(());
        };
        if self.written > self.limit {
            self.next_shard()?;
        }
        let name = format!("{} {}", sample.source, sample.signal);
        let event = TrackEvent {
            double_counter_value: Some(value),
            ..TrackEvent::default()
        };
        let track = Track::Counter(name, sample.unit.clone());
        self.put(track, sample.at, EventType::Counter, event)
    }
}

impl<W: Write, F: FnMut(usize) -> io::Result<W>> Export for PerfettoExport<W, F> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Frame(frame) => self.frame(frame),
            Event::Sample(sample) => self.sample(sample),
            Event::Definition(known) => {
                self.texts.insert(known.number, known.clone());
                Ok(())
            }
            Event::Activities(batch) => self.activities(batch),
            Event::Range(range) => self.range(Some(range), (range.tenant, range.track)),
            _ => Ok(()),
        }
    }

    fn finish(&mut self) -> io::Result<usize> {
        let left: Vec<(u16, u16)> = self.nesting.keys().copied().collect();
        for track in left {
            self.range(None, track)?;
        }
        if let Some(mut out) = self.out.take() {
            out.flush()?;
        }
        Ok(self.shard + 1)
    }
}

/// A stream by the tracer's numbers.
fn stream(on: OnStream) -> String {
    format!("stream {} of context {}", on.stream, on.context)
}

fn named(name: &str) -> TrackEvent {
    TrackEvent {
        name: Some(name.to_owned()),
        ..TrackEvent::default()
    }
}

fn about_range(range: &RangeRecord) -> TrackEvent {
    let count = |name: &str, count: Option<u64>| {
        count.map(|count| DebugAnnotation {
            name: Some(name.to_owned()),
            int_value: Some(i64::try_from(count).unwrap_or(i64::MAX)),
            ..DebugAnnotation::default()
        })
    };
    let annotations = [count("batch", range.batch), count("items", range.items)];
    TrackEvent {
        debug_annotations: annotations.into_iter().flatten().collect(),
        ..named(range.path.rsplit('/').next().unwrap_or_default())
    }
}

fn annotations(frame: &FrameRecord) -> Vec<DebugAnnotation> {
    let annotation = |name: &str| DebugAnnotation {
        name: Some(name.to_owned()),
        ..DebugAnnotation::default()
    };
    let int = |name, value| DebugAnnotation {
        int_value: Some(value),
        ..annotation(name)
    };
    let flag = |name, value| DebugAnnotation {
        bool_value: Some(value),
        ..annotation(name)
    };
    let mut all = vec![
        int("response_ns", frame.response().0),
        int("lateness_ns", frame.lateness.0),
        flag("missed", frame.missed()),
        flag("warmup", frame.warmup),
        int("detections", i64::from(frame.detections)),
    ];
    if let Some(deadline) = frame.deadline {
        all.push(int("deadline_ns", deadline.0));
    }
    if frame.outcome != Outcome::Completed {
        all.push(DebugAnnotation {
            string_value: Some(outcome_name(frame.outcome).to_owned()),
            ..annotation("outcome")
        });
    }
    all
}
