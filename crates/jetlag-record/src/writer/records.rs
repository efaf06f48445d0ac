//! Each kind of record: its encoding, its stamp and the channel that it goes on.

use std::io::{Seek, Write};

use super::{RecordError, RunWriter, SampleChannel};
use crate::activity::{ActivityBatch, Definition, TraceRecord};
use crate::schema::{self, MessageKind};
use crate::{
    DetectionsRecord, Event, Finding, FrameRecord, LogRecord, NodeRecord, OutputRecord, Phase, PhaseRecord,
    PhaseSpec, RangeRecord, SampleRecord, SignalRecord, WindowRecord, WorkRecord, activity_message, message,
    output, work_message,
};

impl<W: Write + Seek> RunWriter<W> {
    /// Records an event of any kind on the channel that it belongs to.
    pub fn write(&mut self, event: &Event) -> Result<(), RecordError> {
        match event {
            Event::Frame(r) => self.frame(r),
            Event::Detections(r) => self.detections(r),
            Event::Sample(r) => self.sample(r),
            Event::Phase(r) => self.phase(r),
            Event::PhaseSpec(r) => self.phase_spec(r),
            Event::Node(r) => self.node(r),
            Event::Finding(r) => self.finding(r),
            Event::Log(r) => self.log(r),
            Event::Signal(r) => self.signal(r),
            Event::Window(r) => self.window(r),
            Event::Range(r) => self.range(r),
            Event::Activities(r) => self.activities(r),
            Event::Definition(r) => self.definition(r),
            Event::Trace(r) => self.trace(r),
            Event::Work(r) => self.work(r),
            Event::Output(r) => self.output(r),
        }
    }

    /// Records one frame. Allocates nothing of its own once the tenant's channel exists.
    pub fn frame(&mut self, record: &FrameRecord) -> Result<(), RecordError> {
        let at = record.finished;
        message::encode_frame(&mut self.encoded, self.wall.unix_ns(at), record);
        let kind = match record.phase {
            Phase::Other(_) => MessageKind::OtherFrame,
            _ => MessageKind::Frame,
        };
        self.put_tenant(record.tenant, kind, at)
    }

    /// Records the objects of one frame.
    pub fn detections(&mut self, record: &DetectionsRecord) -> Result<(), RecordError> {
        message::encode_detections(&mut self.encoded, self.wall.unix_ns(record.at), record);
        self.put_tenant(record.tenant, MessageKind::Detections, record.at)
    }

    /// Records the end of one tenant's part of a phase.
    pub fn phase(&mut self, record: &PhaseRecord) -> Result<(), RecordError> {
        let at = record.measured_to;
        message::encode_phase(&mut self.encoded, self.wall.unix_ns(at), record);
        let kind = match record.phase {
            Phase::Other(_) => MessageKind::OtherPhase,
            _ => MessageKind::Phase,
        };
        self.put_tenant(record.tenant, kind, at)
    }

    /// Records the description of a phase.
    pub fn phase_spec(&mut self, record: &PhaseSpec) -> Result<(), RecordError> {
        message::encode_phase_spec(&mut self.encoded, self.wall.unix_ns(record.at), record);
        let channel = match self.phases {
            Some(channel) => channel,
            None => self.add_channel(MessageKind::PhaseSpec, "/jetlag/phases")?,
        };
        self.phases = Some(self.put(channel, record.at)?);
        Ok(())
    }

    /// Records the time of one node in a phase, at the time of the latest record before it.
    pub fn node(&mut self, record: &NodeRecord) -> Result<(), RecordError> {
        let at = self.latest;
        message::encode_node(&mut self.encoded, self.wall.unix_ns(at), record);
        self.put_tenant(record.tenant, MessageKind::Node, at)
    }

    /// Records the static work of one node, at the time of the latest record before it.
    pub fn work(&mut self, record: &WorkRecord) -> Result<(), RecordError> {
        let at = self.latest;
        work_message::encode(&mut self.encoded, self.wall.unix_ns(at), record);
        self.put_tenant(record.tenant, MessageKind::Work, at)
    }

    /// Records what became of one output, at the time of the latest record before it.
    pub fn output(&mut self, record: &OutputRecord) -> Result<(), RecordError> {
        let at = self.latest;
        output::encode(&mut self.encoded, self.wall.unix_ns(at), record);
        self.put_tenant(record.tenant, MessageKind::Output, at)
    }

    /// Records one range of an application.
    pub fn range(&mut self, record: &RangeRecord) -> Result<(), RecordError> {
        message::encode_range(&mut self.encoded, self.wall.unix_ns(record.to), record);
        self.put_tenant(record.tenant, MessageKind::Range, record.to)
    }

    /// Records one reading of a signal, on a channel of the signal's own.
    pub fn sample(&mut self, record: &SampleRecord) -> Result<(), RecordError> {
        message::encode_sample(&mut self.encoded, self.wall.unix_ns(record.at), record);
        // A few dozen signals: looking along them is cheaper than a hash of two strings.
        let known = self
            .samples
            .iter()
            .position(|c| c.signal == record.signal && c.source == record.source);
        let position = known.unwrap_or_else(|| {
            self.samples.push(SampleChannel {
                source: record.source.clone(),
                signal: record.signal.clone(),
                channel: None,
            });
            self.samples.len() - 1
        });
        let channel = match self.samples[position].channel {
            Some(channel) => channel,
            None => {
                let topic = schema::telemetry_topic(&record.source, &record.signal);
                self.add_channel(MessageKind::Sample, &topic)?
            }
        };
        self.samples[position].channel = Some(self.put(channel, record.at)?);
        Ok(())
    }

    /// Records a finding, at the time of the latest record before it.
    pub fn finding(&mut self, record: &Finding) -> Result<(), RecordError> {
        let at = self.latest;
        message::encode_finding(&mut self.encoded, self.wall.unix_ns(at), record);
        let channel = match self.finding {
            Some(channel) => channel,
            None => self.add_channel(MessageKind::Finding, "/jetlag/finding")?,
        };
        self.finding = Some(self.put(channel, at)?);
        Ok(())
    }

    /// Records a line of the log.
    pub fn log(&mut self, record: &LogRecord) -> Result<(), RecordError> {
        message::encode_log(&mut self.encoded, self.wall.unix_ns(record.at), record);
        let channel = match self.log {
            Some(channel) => channel,
            None => self.add_channel(MessageKind::Log, "/jetlag/log")?,
        };
        self.log = Some(self.put(channel, record.at)?);
        Ok(())
    }

    /// Records the description of a signal, at the time of the latest record before it.
    pub fn signal(&mut self, record: &SignalRecord) -> Result<(), RecordError> {
        let at = self.latest;
        message::encode_signal(&mut self.encoded, self.wall.unix_ns(at), record);
        let channel = match self.signals {
            Some(channel) => channel,
            None => self.add_channel(MessageKind::Signal, "/jetlag/telemetry/signals")?,
        };
        self.signals = Some(self.put(channel, at)?);
        Ok(())
    }

    /// Records a named stretch of time.
    pub fn window(&mut self, record: &WindowRecord) -> Result<(), RecordError> {
        message::encode_window(&mut self.encoded, self.wall.unix_ns(record.to), record);
        let channel = match self.windows {
            Some(channel) => channel,
            None => self.add_channel(MessageKind::Window, "/jetlag/telemetry/windows")?,
        };
        self.windows = Some(self.put(channel, record.to)?);
        Ok(())
    }

    /// Records what a GPU did in a traced phase.
    pub fn activities(&mut self, batch: &ActivityBatch) -> Result<(), RecordError> {
        let base = batch.base();
        activity_message::encode_batch(&mut self.encoded, self.wall.unix_ns(base), base, batch);
        let channel = match self.activities {
            Some(channel) => channel,
            None => self.add_channel(MessageKind::Activities, "/jetlag/gpu/activity")?,
        };
        self.activities = Some(self.put(channel, base)?);
        Ok(())
    }

    /// Records a text that activities refer to, at the time of the latest record before it.
    pub fn definition(&mut self, definition: &Definition) -> Result<(), RecordError> {
        let at = self.latest;
        activity_message::encode_definition(&mut self.encoded, self.wall.unix_ns(at), definition);
        let channel = match self.names {
            Some(channel) => channel,
            None => self.add_channel(MessageKind::Name, "/jetlag/gpu/names")?,
        };
        self.names = Some(self.put(channel, at)?);
        Ok(())
    }

    /// Records how a phase was traced.
    pub fn trace(&mut self, record: &TraceRecord) -> Result<(), RecordError> {
        activity_message::encode_trace(&mut self.encoded, self.wall.unix_ns(record.to), record);
        let channel = match self.traces {
            Some(channel) => channel,
            None => self.add_channel(MessageKind::Trace, "/jetlag/gpu/trace")?,
        };
        self.traces = Some(self.put(channel, record.to)?);
        Ok(())
    }
}
