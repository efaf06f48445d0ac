//! The cold side: a thread that empties the tracks' queues into the run file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rtrb::{Consumer, RingBuffer};

use super::track::{Item, Track, Troubles, now};
use crate::board::{self, Roots};
use crate::record::writer::{RecordError, RunWriter};
use crate::record::{
    APPLICATION_BACKEND, EndReason, Finding, FrameRecord, Manifest, Outcome, Phase, PhaseRecord, RangeRecord,
    SCHEMA_MAJOR, SCHEMA_MINOR, Stage, TenantManifest,
};
use crate::scenario::{
    self, Arrival, BackendChoice, Baseline, ClockKind, Clocks, Overload, Release, Scenario, Sharing,
    SourceSpec, Telemetry,
};
use crate::units::{Nanos, Stamp};

/// Time between visits.
const VISIT: Duration = Duration::from_millis(10);
/// Items that fit between two visits: six million a second.
const CAPACITY: usize = 1 << 16;

/// Why an application's ranges could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RangeError {
    /// The run file.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A recording without tenants.
    #[error(
        "a recording needs at least one tenant: name what the application does, such as Tenant::new(\"camera\")"
    )]
    NoTenants,
    /// Two tenants of one name, or more than the file can tell apart.
    #[error("the tenant `{name}` is there twice: give each a name of its own")]
    TwiceTheSame {
        /// Their name.
        name: String,
    },
    /// A track of a tenant that the recording does not have.
    #[error("there is no tenant `{name}`; the recording has {known}")]
    UnknownTenant {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The thread that writes has ended.
    #[error("the thread that writes {} could not be started or has ended: {why}", path.display())]
    Thread {
        /// The run file.
        path: PathBuf,
        /// What is known of it.
        why: String,
    },
}

/// A part of an application that is reported by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Tenant {
    name: String,
    deadline: Option<Nanos>,
    warmup: u64,
    hz: Option<f64>,
}

impl Tenant {
    /// Without deadline and warm-up.
    pub fn new(name: &str) -> Self {
        Tenant {
            name: name.to_owned(),
            deadline: None,
            warmup: 0,
            hz: None,
        }
    }

    /// Its batches come at this rate, and are begun with [`Track::batch_due`]; else it is called a closed loop.
    pub fn paced(mut self, hz: f64) -> Self {
        self.hz = Some(hz);
        self
    }

    /// Batches that take longer than this are missed.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(Nanos(i64::try_from(deadline.as_nanos()).unwrap_or(i64::MAX)));
        self
    }

    /// The first `batches` are recorded and in no figure.
    pub fn warmup(mut self, batches: u64) -> Self {
        self.warmup = batches;
        self
    }
}

/// A run file in the making. [`finish`](Recording::finish) it after the tracks are dropped; a recording that is only dropped
/// closes its file as well, and keeps to itself what went wrong.
pub struct Recording {
    path: PathBuf,
    tenants: Vec<(Tenant, Arc<AtomicU64>)>,
    feeds: Sender<Feed>,
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), RecordError>>>,
}

/// A track's other end.
struct Feed {
    tenant: u16,
    queue: Consumer<Item>,
    troubles: Arc<Troubles>,
}

impl Recording {
    /// Creates the run file, or empties the one that is there, and starts the thread that writes it.
    pub fn create(path: &Path, name: &str, tenants: &[Tenant]) -> Result<Recording, RangeError> {
        if tenants.is_empty() {
            return Err(RangeError::NoTenants);
        }
        for (i, tenant) in tenants.iter().enumerate() {
            if tenants[..i].iter().any(|other| other.name == tenant.name) {
                let name = tenant.name.clone();
                return Err(RangeError::TwiceTheSame { name });
            }
        }
        let writer = RunWriter::create(path, &manifest(name, tenants))?;
        let (feeds, more) = channel();
        let done = Arc::new(AtomicBool::new(false));
        let writing = Writing {
            writer,
            tracks: Vec::new(),
            more,
            tenants: tenants.iter().map(Progress::new).collect(),
            began: now(),
        };
        let stop = done.clone();
        let thread = std::thread::Builder::new()
            .name("jetlag-ranges".to_owned())
            .spawn(move || writing.run(&stop))
            .map_err(|error| RangeError::Thread {
                path: path.to_owned(),
                why: error.to_string(),
            })?;
        let tenants = tenants.iter().cloned();
        Ok(Recording {
            path: path.to_owned(),
            tenants: tenants
                .map(|tenant| (tenant, Arc::new(AtomicU64::new(0))))
                .collect(),
            feeds,
            done,
            thread: Some(thread),
        })
    }

    /// A track for one thread that works for this tenant; each thread needs its own.
    pub fn track(&self, tenant: &str) -> Result<Track, RangeError> {
        let found = self.tenants.iter().position(|(known, _)| known.name == tenant);
        let Some(place) = found else {
            let names: Vec<&str> = self
                .tenants
                .iter()
                .map(|(known, _)| known.name.as_str())
                .collect();
            return Err(RangeError::UnknownTenant {
                name: tenant.to_owned(),
                known: names.join(", "),
            });
        };
        let (queue, feed) = RingBuffer::new(CAPACITY);
        let troubles = Arc::new(Troubles::default());
        let feed = Feed {
            tenant: place as u16,
            queue: feed,
            troubles: troubles.clone(),
        };
        self.feeds.send(feed).map_err(|_| RangeError::Thread {
            path: self.path.clone(),
            why: "an earlier write failed".to_owned(),
        })?;
        Ok(Track::new(queue, troubles, self.tenants[place].1.clone()))
    }

    /// Writes what is left and closes the file. What tracks that still live record from now on is not in it.
    pub fn finish(mut self) -> Result<PathBuf, RangeError> {
        let path = std::mem::take(&mut self.path);
        let Some(thread) = self.stop() else {
            return Ok(path);
        };
        match thread.join() {
            Ok(written) => Ok(written.map(|()| path)?),
            Err(_) => Err(RangeError::Thread {
                path,
                why: "it panicked; please report it".to_owned(),
            }),
        }
    }

    fn stop(&mut self) -> Option<JoinHandle<Result<(), RecordError>>> {
        let thread = self.thread.take()?;
        self.done.store(true, Ordering::Release);
        thread.thread().unpark();
        Some(thread)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Some(thread) = self.stop() {
            let _ = thread.join();
        }
    }
}

/// The state of the thread that writes.
struct Writing {
    writer: RunWriter,
    tracks: Vec<Reading>,
    more: Receiver<Feed>,
    tenants: Vec<Progress>,
    began: Stamp,
}

/// One track, as far as it was read.
struct Reading {
    feed: Feed,
    /// By number; what lies above an outermost range is beyond any.
    paths: Vec<Option<KnownPath>>,
    /// Filled in for each range, so that its path needs no memory of its own each time.
    record: RangeRecord,
    /// Stages of the batch that is open: its ranges come before it does.
    stages: [Option<Nanos>; 8],
}

struct KnownPath {
    full: String,
    stage: Option<Stage>,
}

/// One tenant, as far as it was recorded.
struct Progress {
    tenant: Tenant,
    tracks: u16,
    /// The first release that counts.
    measured_from: Option<Stamp>,
    /// The last end.
    measured_to: Option<Stamp>,
}

impl Progress {
    fn new(tenant: &Tenant) -> Self {
        Progress {
            tenant: tenant.clone(),
            tracks: 0,
            measured_from: None,
            measured_to: None,
        }
    }
}

impl Writing {
    /// Writes until `done` is set and everything has come in, or until the file cannot be written.
    fn run(mut self, done: &AtomicBool) -> Result<(), RecordError> {
        loop {
            // Read before the last visit, so that what came before `done` is taken along.
            let last = done.load(Ordering::Acquire);
            while let Ok(feed) = self.more.try_recv() {
                self.welcome(feed);
            }
            let Writing {
                writer,
                tracks,
                tenants,
                ..
            } = &mut self;
            for track in tracks.iter_mut() {
                track.drain(writer, &mut tenants[usize::from(track.feed.tenant)])?;
            }
            writer.tick(now())?;
            if last {
                return self.close();
            }
            std::thread::park_timeout(VISIT);
        }
    }

    fn welcome(&mut self, feed: Feed) {
        let progress = &mut self.tenants[usize::from(feed.tenant)];
        let number = progress.tracks;
        progress.tracks = progress.tracks.saturating_add(1);
        let record = RangeRecord {
            tenant: feed.tenant,
            track: number,
            from: Stamp(0),
            to: Stamp(0),
            path: String::new(),
            batch: None,
            items: None,
        };
        self.tracks.push(Reading {
            feed,
            record,
            paths: Vec::new(),
            stages: [None; 8],
        });
    }

    fn close(mut self) -> Result<(), RecordError> {
        for (progress, number) in self.tenants.iter().zip(0u16..) {
            let of_tenant = || self.tracks.iter().filter(|track| track.feed.tenant == number);
            let sum = |count: fn(&Troubles) -> &AtomicU64| -> u64 {
                of_tenant()
                    .map(|track| count(&track.feed.troubles).load(Ordering::Relaxed))
                    .sum()
            };
            let measured_from = progress.measured_from.unwrap_or(self.began);
            self.writer.phase(&PhaseRecord {
                tenant: number,
                phase: Phase::Together,
                epoch: self.began,
                measured_from,
                measured_to: progress.measured_to.unwrap_or(measured_from),
                reason: EndReason::EndOfSource,
                lost_records: sum(|troubles| &troubles.lost),
            })?;
            let unbalanced = sum(|troubles| &troubles.unbalanced);
            if unbalanced > 0 {
                self.writer.finding(&Finding {
                    code: "unbalanced-ranges".to_owned(),
                    tenant: Some(progress.tenant.name.clone()),
                    message: format!(
                        "{unbalanced} ranges were popped without a push, or never popped; the times of those around them may \
                         be wrong."
                    ),
                    advice: "Use guards (`range`, `batch`), which end with their scope.".to_owned(),
                })?;
            }
        }
        self.writer.finish().map(drop)
    }
}

impl Reading {
    fn drain(&mut self, writer: &mut RunWriter, progress: &mut Progress) -> Result<(), RecordError> {
        while let Ok(item) = self.feed.queue.pop() {
            match item {
                Item::Path { id, above, name } => self.learn(id, above, name),
                Item::Range {
                    path,
                    from,
                    to,
                    within,
                } => {
                    if let (Some((_, 1)), Some(stage)) =
                        (within, self.known(path).and_then(|path| path.stage))
                    {
                        let took = &mut self.stages[stage as usize];
                        *took = Some(took.unwrap_or(Nanos::ZERO) + (to - from));
                    }
                    let batch = within.map(|(index, _)| index);
                    self.range(writer, path, (from, to), batch, None)?;
                }
                Item::Batch {
                    path,
                    index,
                    items,
                    due,
                    from,
                    to,
                    failed,
                } => {
                    self.range(writer, path, (from, to), Some(index), Some(items))?;
                    let stages = std::mem::take(&mut self.stages);
                    // The mark of a stream's end is no piece of work.
                    if items > 0 || failed {
                        let frame = progress.frame(self.feed.tenant, index, (due, from, to), stages, failed);
                        writer.frame(&frame)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn learn(&mut self, id: u32, above: u32, name: &'static str) {
        let full = match self.known(above) {
            Some(path) => format!("{}/{name}", path.full),
            None => name.to_owned(),
        };
        let id = id as usize;
        if self.paths.len() <= id {
            self.paths.resize_with(id + 1, || None);
        }
        self.paths[id] = Some(KnownPath {
            full,
            stage: Stage::ALL.into_iter().find(|stage| stage.name() == name),
        });
    }

    fn known(&self, path: u32) -> Option<&KnownPath> {
        self.paths.get(path as usize)?.as_ref()
    }

    fn range(
        &mut self,
        writer: &mut RunWriter,
        path: u32,
        (from, to): (Stamp, Stamp),
        batch: Option<u64>,
        items: Option<u64>,
    ) -> Result<(), RecordError> {
        let record = &mut self.record;
        match self.paths.get(path as usize) {
            Some(Some(known)) => record.path.clone_from(&known.full),
            _ => record.path.clear(),
        }
        (record.from, record.to, record.batch, record.items) = (from, to, batch, items);
        writer.range(record)
    }
}

impl Progress {
    fn frame(
        &mut self,
        tenant: u16,
        index: u64,
        (due, from, to): (Stamp, Stamp, Stamp),
        stages: [Option<Nanos>; 8],
        failed: bool,
    ) -> FrameRecord {
        let warmup = index < self.tenant.warmup;
        if !warmup {
            self.measured_from = Some(self.measured_from.map_or(due, |first| first.min(due)));
            self.measured_to = self.measured_to.max(Some(to));
        }
        FrameRecord {
            tenant,
            phase: Phase::Together,
            warmup,
            outcome: if failed {
                Outcome::Failed
            } else {
                Outcome::Completed
            },
            sequence: index,
            source_index: index,
            released: due,
            started: from,
            finished: to,
            lateness: Nanos::ZERO,
            stages,
            deadline: self.tenant.deadline,
            detections: 0,
            input_size: 0,
        }
    }
}

/// What is known of an application: its name, its tenants, and the machine's own words.
fn manifest(name: &str, tenants: &[Tenant]) -> Manifest {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH);
    let of_application = |tenant: &Tenant| scenario::Tenant {
        name: tenant.name.clone(),
        detector: None,
        // A scenario has no word for it; what executed is in the tenant's manifest.
        backend: BackendChoice::Null,
        backend_reason: Some("an application's own code".to_owned()),
        source: SourceSpec::Empty,
        arrival: tenant.hz.map_or(Arrival::Closed, |hz| Arrival::Periodic {
            hz,
            phase: Nanos::ZERO,
            jitter: Nanos::ZERO,
        }),
        deadline: tenant.deadline,
        overload: Overload::Queue { capacity: 1 },
        priority: 0,
        depth: 1,
        cpus: Vec::new(),
        record_detections: false,
        frames: None,
    };
    Manifest {
        schema_major: SCHEMA_MAJOR,
        schema_minor: SCHEMA_MINOR,
        jetlag_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: std::env::args().collect(),
        scenario: Scenario {
            name: name.to_owned(),
            duration: Nanos::ZERO,
            warmup: Nanos::ZERO,
            seed: 0,
            clock: ClockKind::Real,
            sharing: Sharing::Streams,
            release: Release::Sleep,
            baseline: Baseline::default(),
            telemetry: Telemetry {
                interval: Nanos::from_millis(100),
                sources: Some(Vec::new()),
            },
            clocks: Clocks::AsIs,
            sim_contention: 0.0,
            expect: Vec::new(),
            tenants: tenants.iter().map(of_application).collect(),
        },
        tenants: tenants
            .iter()
            .map(|tenant| TenantManifest {
                name: tenant.name.clone(),
                backend: APPLICATION_BACKEND.to_owned(),
                detector: None,
                classes: Vec::new(),
                networks: Vec::new(),
                source: "ranges of an application".to_owned(),
            })
            .collect(),
        machine: board::facts(&Roots::system()),
        anchor: now(),
        anchor_unix_ns: unix.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)),
    }
}
