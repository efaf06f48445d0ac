//! Takes records from the pipelines' queues to the run file, on a thread of its own.
//!
//! Visits the queues often enough that they do not fill, encodes and writes. If the file cannot be written
//! (a full disk, say) it goes on emptying the queues, stops the run and reports the error at the end, so that
//! what was written stays and nobody blocks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use super::recording::{FeedSink, RecordFeed};
use crate::clock::Clock;
use crate::record::writer::{RecordError, RunWriter};
use crate::record::{DetectionsRecord, Event, FrameRecord};

/// Time between visits; the queues hold what the fastest tenant makes in it.
const VISIT: Duration = Duration::from_millis(10);

/// Somebody who watches the frames go by: the progress bar.
pub trait Watcher: Send {
    /// A frame was recorded.
    fn frame(&mut self, record: &FrameRecord);
    /// Something rare was recorded: a sample, a line of the log, a finding.
    fn event(&mut self, _event: &crate::record::Event) {}
    /// A good moment to redraw.
    fn tick(&mut self);
}

/// What the recorder takes records from, and where it writes them.
pub struct Recorder {
    /// The run file that is written.
    pub writer: RunWriter,
    /// The queues of the pipelines, one a tenant.
    pub feeds: Vec<RecordFeed>,
    /// What is rare: log lines, findings, samples, ends of phases.
    pub events: Receiver<Event>,
    /// Who is shown what is recorded: a progress bar, the dashboard or nobody.
    pub watcher: Box<dyn Watcher>,
}

impl Recorder {
    /// Records until `done` is set and everything has come in; sets `stop` if the file cannot be written.
    pub fn run(mut self, clock: &dyn Clock, done: &AtomicBool, stop: &AtomicBool) -> Result<(), RecordError> {
        let mut failure = None;
        loop {
            // Read before the last visit, so that what came before `done` is taken along.
            let last = done.load(Ordering::Acquire);
            if let Err(error) = self.visit(clock, failure.is_none()) {
                log::error!("{error}");
                failure.get_or_insert(error);
                stop.store(true, Ordering::Relaxed);
            }
            self.watcher.tick();
            if last {
                break;
            }
            std::thread::park_timeout(VISIT);
        }
        match failure {
            Some(error) => Err(error),
            None => self.writer.finish().map(|_| ()),
        }
    }

    fn visit(&mut self, clock: &dyn Clock, write: bool) -> Result<(), RecordError> {
        let Recorder {
            writer,
            feeds,
            events,
            watcher,
        } = self;
        let mut visit = Visit {
            writer,
            watcher: watcher.as_mut(),
            write,
            first_error: None,
        };
        for feed in feeds {
            feed.drain(&mut visit);
        }
        while let Ok(event) = events.try_recv() {
            visit.write(|writer| writer.write(&event));
            visit.watcher.event(&event);
        }
        visit.write(|writer| writer.tick(clock.now()));
        visit.first_error.map_or(Ok(()), Err)
    }
}

/// One visit to the queues. The first error is kept; the queues are emptied all the same.
struct Visit<'a> {
    writer: &'a mut RunWriter,
    watcher: &'a mut dyn Watcher,
    write: bool,
    first_error: Option<RecordError>,
}

impl Visit<'_> {
    fn write(&mut self, what: impl FnOnce(&mut RunWriter) -> Result<(), RecordError>) {
        if self.write && self.first_error.is_none() {
            self.first_error = what(self.writer).err();
        }
    }
}

impl FeedSink for Visit<'_> {
    fn frame(&mut self, record: &FrameRecord) {
        self.write(|writer| writer.frame(record));
        self.watcher.frame(record);
    }
    fn detections(&mut self, found: &DetectionsRecord) {
        self.write(|writer| writer.detections(found));
    }
}
