//! Writes a run file: the manifest first, then events as they come, in compressed chunks.
//!
//! A chunk is built in memory and goes out in one piece, when it is full or when a second of the run's
//! clock has passed since the last went out: whatever kills the process, at most that second is lost.
//! Only stamps of the records decide when, so equal input gives equal bytes, under the virtual clock as
//! under any other. The thread that records calls this; tenants never do.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use mcap::records::{MessageHeader, Metadata};
use mcap::{Compression, McapError, WriteOptions};

use crate::activity::{ActivityBatch, Definition, TraceRecord};
use crate::schema::{self, MessageKind};
use crate::units::{Nanos, Stamp};
use crate::{
    DetectionsRecord, Event, Finding, FrameRecord, LogRecord, Manifest, NodeRecord, OVERHEAD_TENANT, Phase,
    PhaseRecord, PhaseSpec, RangeRecord, SampleRecord, SignalRecord, WindowRecord, activity_message, message,
};

/// Longest time between two chunks.
const FLUSH_INTERVAL: Nanos = Nanos::from_secs(1);
/// Uncompressed size at which a chunk is closed early: some 6 000 frame records.
const CHUNK_BYTES: u64 = 1 << 20;
/// zstd's level. The first below zero takes three quarters of the time of level 1 both ways, for files 1.5 % larger. The
/// library's own type has no sign; it casts the number back.
const LEVEL: i32 = -1;
/// Name of the null tenant in topics.
const OVERHEAD_NAME: &str = "overhead";

/// Why a run could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file could not be created.
    #[error("cannot create the run file {}: {error}.{}", path.display(), advice(error))]
    Create {
        /// The run file that was to be made.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// The system refused a write.
    #[error(
        "cannot write to the run file {}: {error}. What was written before stays readable.{}",
        path.display(),
        advice(error)
    )]
    Write {
        /// The run file that was being written.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// An earlier write failed; nothing more is recorded.
    #[error("recording to {} has stopped because an earlier write failed", path.display())]
    Stopped {
        /// The run file, which is readable up to that write.
        path: PathBuf,
    },
    /// A record names a tenant that the manifest does not have.
    #[error("a record belongs to tenant {tenant}, but the manifest of {} lists {known} tenants", path.display())]
    UnknownTenant {
        /// The run file whose manifest does not list the tenant.
        path: PathBuf,
        /// The tenant's number in the record.
        tenant: u16,
        /// Number of tenants in the manifest.
        known: usize,
    },
    /// The manifest cannot be written as JSON.
    #[error("the manifest of {} cannot be written as JSON: {error}", path.display())]
    Manifest {
        /// The run file that was to be created.
        path: PathBuf,
        /// What cannot be written as JSON.
        error: serde_json::Error,
    },
    /// The file format does not allow it.
    #[error("cannot record to {}: {error}", path.display())]
    Format {
        /// The run file that was to be written.
        path: PathBuf,
        /// What the library said.
        error: McapError,
    },
}

/// Advice after the error, with a leading blank; empty if the error does not point to the disk or the folder.
fn advice(error: &std::io::Error) -> &'static str {
    use std::io::ErrorKind::*;
    match error.kind() {
        StorageFull | QuotaExceeded => " Free some space, or record to another disk.",
        FileTooLarge => {
            " Raise the file size limit (ulimit -f), or record to a disk that supports larger files."
        }
        PermissionDenied | ReadOnlyFilesystem => " Record to a writable folder.",
        NotFound | NotADirectory => " Create the folder first, or record to an existing one.",
        IsADirectory => " Name a file, not a folder.",
        OutOfMemory => "",
        // The compression's own failures come as errors without a number of the system's.
        _ if error.raw_os_error().is_none() => "",
        _ => " Try another folder or disk.",
    }
}

/// A run file while it is written. Call [`finish`](RunWriter::finish) at the end; a writer that is only dropped closes
/// the file too, but hides errors.
pub struct RunWriter<W: Write + Seek = BufWriter<File>> {
    mcap: mcap::Writer<W>,
    path: PathBuf,
    wall: WallClock,
    tenants: Vec<TenantChannels>,
    overhead: TenantChannels,
    samples: Vec<SampleChannel>,
    finding: Option<Channel>,
    log: Option<Channel>,
    signals: Option<Channel>,
    windows: Option<Channel>,
    phases: Option<Channel>,
    activities: Option<Channel>,
    names: Option<Channel>,
    traces: Option<Channel>,
    encoded: Vec<u8>,
    /// Stamp of the last flush, or of the first record.
    flushed: Option<Stamp>,
    /// Latest stamp of any record, for those that have none of their own.
    latest: Stamp,
    /// Whether the open chunk holds anything.
    pending: bool,
    failed: bool,
}

/// A channel of the file and the count of its messages.
#[derive(Clone, Copy)]
struct Channel {
    id: u16,
    messages: u32,
}

/// The channels of one tenant, made when they are first used.
struct TenantChannels {
    name: String,
    frame: Option<Channel>,
    detections: Option<Channel>,
    phase: Option<Channel>,
    other_frame: Option<Channel>,
    other_phase: Option<Channel>,
    nodes: Option<Channel>,
    ranges: Option<Channel>,
}

impl TenantChannels {
    fn new(name: &str) -> Self {
        TenantChannels {
            name: name.to_owned(),
            frame: None,
            detections: None,
            phase: None,
            other_frame: None,
            other_phase: None,
            nodes: None,
            ranges: None,
        }
    }
}

struct SampleChannel {
    source: String,
    signal: String,
    channel: Option<Channel>,
}

/// The run's clock against wall-clock time.
#[derive(Clone, Copy)]
struct WallClock {
    anchor: Stamp,
    unix_ns: i64,
}

impl WallClock {
    /// Nanoseconds since 1970; what was before is 1970.
    fn unix_ns(self, at: Stamp) -> u64 {
        let ns = i128::from(at.0) - i128::from(self.anchor.0) + i128::from(self.unix_ns);
        ns.clamp(0, i128::from(i64::MAX)) as u64
    }
}

impl RunWriter {
    /// Creates the file, or empties the one that is there, and writes the manifest to it.
    pub fn create(path: &Path, manifest: &Manifest) -> Result<Self, RecordError> {
        let file = File::create(path).map_err(|error| RecordError::Create {
            path: path.to_owned(),
            error,
        })?;
        RunWriter::over(BufWriter::new(file), path, manifest)
    }
}

impl<W: Write + Seek> RunWriter<W> {
    /// Writes to `out` instead of a file; `path` is what messages call it.
    pub fn over(out: W, path: &Path, manifest: &Manifest) -> Result<Self, RecordError> {
        let path = path.to_owned();
        let json = serde_json::to_string(manifest).map_err(|error| RecordError::Manifest {
            path: path.clone(),
            error,
        })?;
        let mcap = WriteOptions::new()
            .profile("ros2")
            .library(concat!("jetlag ", env!("CARGO_PKG_VERSION")))
            .compression(Some(Compression::Zstd))
            // On the calling thread, and light: the machine is being measured.
            .compression_level(LEVEL as u32)
            .compression_threads(0)
            .chunk_size(Some(CHUNK_BYTES))
            // Chunks are built in memory, so that no half-written header is ever in the file.
            .disable_seeking(true)
            .create(out)
            .map_err(|e| write_error(&path, e))?;
        let mut writer = RunWriter {
            mcap,
            wall: WallClock {
                anchor: manifest.anchor,
                unix_ns: manifest.anchor_unix_ns,
            },
            tenants: manifest
                .tenants
                .iter()
                .map(|t| TenantChannels::new(&t.name))
                .collect(),
            overhead: TenantChannels::new(OVERHEAD_NAME),
            samples: Vec::new(),
            finding: None,
            log: None,
            signals: None,
            windows: None,
            phases: None,
            activities: None,
            names: None,
            traces: None,
            encoded: Vec::with_capacity(4096),
            flushed: None,
            latest: manifest.anchor,
            pending: false,
            failed: false,
            path,
        };
        let (major, minor) = (
            manifest.schema_major.to_string(),
            manifest.schema_minor.to_string(),
        );
        let checksum = schema::manifest_checksum(&major, &minor, &json);
        let entries = [
            (schema::MANIFEST_MAJOR, major),
            (schema::MANIFEST_MINOR, minor),
            (schema::MANIFEST_JSON, json),
            (schema::MANIFEST_CHECKSUM, checksum),
        ];
        let metadata = Metadata {
            name: schema::MANIFEST.to_owned(),
            metadata: entries.map(|(name, value)| (name.to_owned(), value)).into(),
        };
        let written = writer.mcap.write_metadata(&metadata);
        writer.checked(written)?;
        writer.flush()?;
        Ok(writer)
    }

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

    /// Advances the time when no record does, so that pending data is written within its second.
    pub fn tick(&mut self, now: Stamp) -> Result<(), RecordError> {
        match self.flushed {
            Some(flushed) if self.pending && now - flushed >= FLUSH_INTERVAL => {
                self.flushed = Some(now);
                self.flush()
            }
            _ => Ok(()),
        }
    }

    /// Closes the chunk and hands everything to the operating system.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        self.ensure_working()?;
        self.pending = false;
        let flushed = self.mcap.flush();
        self.checked(flushed)
    }

    /// Writes the index and returns the flushed output. The index is not needed for reading: it makes seeking fast in
    /// other programs, and shows that the file is complete.
    pub fn finish(mut self) -> Result<W, RecordError> {
        self.ensure_working()?;
        let finished = self.mcap.finish().map(drop);
        self.checked(finished)?;
        let mut out = self.mcap.into_inner();
        match out.flush() {
            Ok(()) => Ok(out),
            Err(error) => Err(RecordError::Write {
                path: self.path,
                error,
            }),
        }
    }

    /// Puts the encoded message on a tenant's channel.
    fn put_tenant(&mut self, tenant: u16, kind: MessageKind, at: Stamp) -> Result<(), RecordError> {
        let channel = match *self.tenant_channel(tenant, kind)? {
            Some(channel) => channel,
            None => {
                let what = match kind {
                    MessageKind::Detections => "detections",
                    MessageKind::Phase => "phase",
                    MessageKind::OtherFrame => "other/frame",
                    MessageKind::OtherPhase => "other/phase",
                    MessageKind::Node => "nodes",
                    MessageKind::Range => "ranges",
                    _ => "frame",
                };
                let topic = schema::tenant_topic(&self.tenant(tenant)?.name, what);
                self.add_channel(kind, &topic)?
            }
        };
        let used = self.put(channel, at)?;
        *self.tenant_channel(tenant, kind)? = Some(used);
        Ok(())
    }

    fn tenant_channel(
        &mut self,
        tenant: u16,
        kind: MessageKind,
    ) -> Result<&mut Option<Channel>, RecordError> {
        let channels = self.tenant(tenant)?;
        Ok(match kind {
            MessageKind::Detections => &mut channels.detections,
            MessageKind::Phase => &mut channels.phase,
            MessageKind::OtherFrame => &mut channels.other_frame,
            MessageKind::OtherPhase => &mut channels.other_phase,
            MessageKind::Node => &mut channels.nodes,
            MessageKind::Range => &mut channels.ranges,
            _ => &mut channels.frame,
        })
    }

    fn tenant(&mut self, tenant: u16) -> Result<&mut TenantChannels, RecordError> {
        if tenant == OVERHEAD_TENANT {
            return Ok(&mut self.overhead);
        }
        let known = self.tenants.len();
        self.tenants
            .get_mut(usize::from(tenant))
            .ok_or_else(|| RecordError::UnknownTenant {
                path: self.path.clone(),
                tenant,
                known,
            })
    }

    fn add_channel(&mut self, kind: MessageKind, topic: &str) -> Result<Channel, RecordError> {
        self.ensure_working()?;
        let added = self
            .mcap
            .add_schema(kind.name(), "ros2msg", kind.definition().as_bytes())
            .and_then(|schema| self.mcap.add_channel(schema, topic, "cdr", &BTreeMap::new()));
        let id = self.checked(added)?;
        Ok(Channel { id, messages: 0 })
    }

    /// Writes the encoded message, and everything so far if it is time.
    fn put(&mut self, channel: Channel, at: Stamp) -> Result<Channel, RecordError> {
        self.ensure_working()?;
        self.latest = self.latest.max(at);
        let log_time = self.wall.unix_ns(at);
        let header = MessageHeader {
            channel_id: channel.id,
            sequence: channel.messages,
            log_time,
            publish_time: log_time,
        };
        let written = self.mcap.write_to_known_channel(&header, &self.encoded);
        self.checked(written)?;
        self.pending = true;
        self.flushed.get_or_insert(at);
        self.tick(at)?;
        Ok(Channel {
            id: channel.id,
            messages: channel.messages.wrapping_add(1),
        })
    }

    fn ensure_working(&self) -> Result<(), RecordError> {
        if self.failed {
            return Err(RecordError::Stopped {
                path: self.path.clone(),
            });
        }
        Ok(())
    }

    /// Remembers a failure: after one, the library's writer accepts nothing more.
    fn checked<T>(&mut self, result: Result<T, McapError>) -> Result<T, RecordError> {
        result.map_err(|e| {
            self.failed = true;
            write_error(&self.path, e)
        })
    }
}

fn write_error(path: &Path, error: McapError) -> RecordError {
    let path = path.to_owned();
    match error {
        McapError::Io(error) => RecordError::Write { path, error },
        error => RecordError::Format { path, error },
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn a_failed_write_says_its_cause_once_and_blames_the_disk_only_where_that_is_known() {
        let failed = |error| RecordError::Write {
            path: "run.mcap".into(),
            error,
        };
        let full = failed(std::io::ErrorKind::StorageFull.into());
        assert!(full.to_string().ends_with("record to another disk."), "{full}");
        // What a chain would print after the message, and so a second time.
        assert!(full.source().is_none());
        let memory = failed(std::io::Error::other("Allocation error"));
        assert!(memory.to_string().ends_with("stays readable."), "{memory}");
    }

    #[test]
    fn what_to_do_about_a_failed_write_depends_on_what_the_system_said() {
        use std::io::{Error, ErrorKind};
        let numbered = Error::from_raw_os_error;
        for (error, wanted) in [
            (ErrorKind::StorageFull.into(), "Free some space"),
            (ErrorKind::QuotaExceeded.into(), "Free some space"),
            (ErrorKind::FileTooLarge.into(), "ulimit -f"),
            (ErrorKind::PermissionDenied.into(), "a writable folder"),
            (ErrorKind::ReadOnlyFilesystem.into(), "a writable folder"),
            (ErrorKind::NotFound.into(), "Create the folder first"),
            (ErrorKind::NotADirectory.into(), "Create the folder first"),
            (ErrorKind::IsADirectory.into(), "Name a file"),
            (
                numbered(rustix::io::Errno::IO.raw_os_error()),
                "Try another folder or disk",
            ),
        ] {
            let advice = advice(&error);
            assert!(
                advice.starts_with(' ') && advice.contains(wanted),
                "{error}: {advice}"
            );
        }
        // No folder helps where memory is short.
        for error in [
            numbered(rustix::io::Errno::NOMEM.raw_os_error()),
            Error::other("Allocation error"),
        ] {
            assert_eq!(advice(&error), "", "{error}");
        }
    }
}
