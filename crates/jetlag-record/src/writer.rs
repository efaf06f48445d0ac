//! Writes a run file: the manifest first, then events as they come, in compressed chunks.
//!
//! A chunk is built in memory and goes out in one piece, when it is full or when a second of the run's
//! clock has passed since the last went out: whatever kills the process, at most that second is lost.
//! Only stamps of the records decide when, so equal input gives equal bytes, under the virtual clock as
//! under any other. The thread that records calls this; tenants never do.

mod error;
mod records;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use mcap::records::{MessageHeader, Metadata};
use mcap::{Compression, McapError, WriteOptions};

use crate::schema::{self, MessageKind};
use crate::units::{Nanos, Stamp};
use crate::whole;
use crate::{Manifest, OVERHEAD_TENANT};
pub use error::RecordError;
use error::write_error;

/// Longest time between two chunks.
const FLUSH_INTERVAL: Nanos = Nanos::from_secs(1);
/// Uncompressed size at which a chunk is closed early: some 6 000 frame records.
const CHUNK_BYTES: u64 = 1 << 20;
/// zstd's level. The first below zero takes three quarters of the time of level 1 both ways, for files 1.5 % larger. The
/// library's own type has no sign; it casts the number back.
const LEVEL: i32 = -1;
/// Name of the null tenant in topics.
const OVERHEAD_NAME: &str = "overhead";

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
    work: Option<Channel>,
    outputs: Option<Channel>,
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
            work: None,
            outputs: None,
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
    /// Creates the file, or empties the one that is there and no link, and writes the manifest to it.
    pub fn create(path: &Path, manifest: &Manifest) -> Result<Self, RecordError> {
        let file = whole::create(path, true).map_err(|error| RecordError::Create {
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
                    MessageKind::Work => "work",
                    MessageKind::Output => "outputs",
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
            MessageKind::Work => &mut channels.work,
            MessageKind::Output => &mut channels.outputs,
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
