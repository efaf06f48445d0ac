//! The thread that empties the tracks' queues into the run file: ranges as they are, batches as frames too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use rtrb::Consumer;

use super::tenant::Tenant;
use super::track::{Item, Troubles, now};
use super::unbalanced::Unbalanced;
use jetlag_record::units::{Nanos, Stamp};
use jetlag_record::writer::{RecordError, RunWriter};
use jetlag_record::{EndReason, FrameRecord, Outcome, Phase, PhaseRecord, RangeRecord, Stage};

/// Time between two visits of the writing thread to the tracks.
const VISIT: Duration = Duration::from_millis(10);

/// A track's other end.
pub(super) struct Feed {
    pub(super) tenant: u16,
    pub(super) queue: Consumer<Item>,
    pub(super) troubles: Arc<Troubles>,
}

/// The state of the thread that writes.
pub(super) struct Writing {
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
    stages: [Option<Nanos>; 9],
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
    /// The last end of a frame; none before the first.
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
    pub(super) fn new(writer: RunWriter, more: Receiver<Feed>, tenants: &[Tenant]) -> Self {
        Writing {
            writer,
            tracks: Vec::new(),
            more,
            tenants: tenants.iter().map(Progress::new).collect(),
            began: now(),
        }
    }

    /// Writes until `done` is set and everything has come in, or until the file cannot be written.
    pub(super) fn run(mut self, done: &AtomicBool) -> Result<(), RecordError> {
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
            stages: [None; 9],
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
                sampled: None,
                process_peak: None,
            })?;
            let unbalanced = sum(|troubles| &troubles.unbalanced);
            if unbalanced > 0 {
                let tenant = progress.tenant.name.as_str();
                let unbalanced = Unbalanced {
                    tenant,
                    ranges: unbalanced,
                };
                self.writer.finding(&unbalanced.into())?;
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
        stages: [Option<Nanos>; 9],
        failed: bool,
    ) -> FrameRecord {
        let warmup = index < self.tenant.warmup;
        if !warmup {
            self.measured_from = Some(self.measured_from.map_or(due, |first| first.min(due)));
            self.measured_to = self.measured_to.max(Some(to));
        }
        FrameRecord {
            tenant,
            warmup,
            outcome: if failed {
                Outcome::Failed
            } else {
                Outcome::Completed
            },
            sequence: index,
            source_index: index,
            started: from,
            stages,
            deadline: self.tenant.deadline,
            ..FrameRecord::completed(due, to)
        }
    }
}
