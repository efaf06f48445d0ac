//! A tenant whose source and slots write down what happens, in order, and do what a test asks.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use jetlag::backend::{BackendError, Slot, StageTimes};
use jetlag::clock::{Clock, RealClock};
use jetlag::record::{DetectionsRecord, Event, FrameRecord, Phase, PhaseRecord};
use jetlag::scenario::{Arrival, Overload, Release, Sharing};
use jetlag::source::{ContentKind, Frame, Source, SourceError, SourceInfo};
use jetlag::tenant::recording::{self, FeedSink};
use jetlag::tenant::{PhasePlan, pipeline::Runner};
use jetlag::tensor::TensorSet;
use jetlag::units::Nanos;

#[derive(Default)]
pub(crate) struct Journal {
    pub(crate) lines: Mutex<Vec<String>>,
    changed: Condvar,
}

impl Journal {
    pub(crate) fn write(&self, line: String) {
        self.lines.lock().unwrap().push(line);
        self.changed.notify_all();
    }
    /// Waits until a line is there; false if it does not come, however busy the machine.
    pub(crate) fn await_line(&self, line: &str) -> bool {
        let lines = self.lines.lock().unwrap();
        let (_lines, timeout) = self
            .changed
            .wait_timeout_while(lines, Duration::from_secs(300), |lines| {
                !lines.iter().any(|l| l == line)
            })
            .unwrap();
        !timeout.timed_out()
    }
    pub(crate) fn position(&self, line: &str) -> usize {
        let lines = self.lines.lock().unwrap();
        lines
            .iter()
            .position(|l| l == line)
            .unwrap_or_else(|| panic!("{line} is not in {lines:?}"))
    }
}

struct JournalSource {
    journal: Arc<Journal>,
    next: u64,
    length: u64,
}

impl Source for JournalSource {
    fn info(&self) -> SourceInfo {
        SourceInfo {
            kind: ContentKind::Empty,
            frames: Some(self.length),
            description: "journal".to_owned(),
            selection: None,
        }
    }
    fn acquire(&mut self, frame: &mut Frame) -> Result<bool, SourceError> {
        if self.next == self.length {
            return Ok(false);
        }
        frame.index = self.next;
        self.journal.write(format!("acquire {}", self.next));
        self.next += 1;
        Ok(true)
    }
    fn skip(&mut self, frames: u64) -> Result<(), SourceError> {
        self.next = self.length.min(self.next + frames);
        Ok(())
    }
    fn rewind(&mut self) -> Result<(), SourceError> {
        self.next = 0;
        Ok(())
    }
}

/// What a slot does with a frame of this number.
pub(crate) type Deed = fn(&Journal, u64) -> Result<(), BackendError>;

/// Numbers the frames of its ring and does what the test asks in `submit` and in `wait`.
struct JournalSlot {
    journal: Arc<Journal>,
    submitted: Arc<Mutex<u64>>,
    frame: u64,
    tensors: TensorSet,
    submit: Deed,
    wait: Deed,
}

impl Slot for JournalSlot {
    fn tensors(&self) -> &TensorSet {
        &self.tensors
    }
    fn tensors_mut(&mut self) -> &mut TensorSet {
        &mut self.tensors
    }
    fn submit(&mut self) -> Result<(), BackendError> {
        let mut next = self.submitted.lock().unwrap();
        self.frame = *next;
        *next += 1;
        drop(next);
        self.journal.write(format!("submit {}", self.frame));
        (self.submit)(&self.journal, self.frame)
    }
    fn restart(&mut self, _beginning: jetlag::backend::Beginning) {
        self.journal.write("restart".to_owned());
    }
    fn wait(&mut self) -> Result<StageTimes, BackendError> {
        (self.wait)(&self.journal, self.frame)?;
        self.journal.write(format!("result {}", self.frame));
        Ok(StageTimes::default())
    }
}

struct Kept(Vec<FrameRecord>);

impl FeedSink for Kept {
    fn frame(&mut self, record: &FrameRecord) {
        self.0.push(*record);
    }
    fn detections(&mut self, _: &DetectionsRecord) {}
}

pub(crate) struct Trial {
    pub(crate) journal: Arc<Journal>,
    pub(crate) runner: Runner,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) length: Nanos,
    /// Whether the phase is all warm-up.
    pub(crate) unmeasured: bool,
    /// From the call to the epoch.
    pub(crate) ahead: Nanos,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Trial {
    pub(crate) fn new(depth: usize, frames: u64, wait: Deed) -> Self {
        Trial::with(depth, frames, |_, _| Ok(()), wait)
    }
    pub(crate) fn with(depth: usize, frames: u64, submit: Deed, wait: Deed) -> Self {
        let journal = Arc::new(Journal::default());
        let submitted = Arc::new(Mutex::new(0));
        let slots = (0..depth)
            .map(|_| {
                Box::new(JournalSlot {
                    journal: journal.clone(),
                    submitted: submitted.clone(),
                    frame: 0,
                    tensors: TensorSet::default(),
                    submit,
                    wait,
                }) as Box<dyn Slot>
            })
            .collect();
        let runner = Runner {
            tenant: 3,
            name: "trial".to_owned(),
            source: Box::new(JournalSource {
                journal: journal.clone(),
                next: 0,
                length: frames,
            }),
            preprocess: None,
            postprocess: None,
            slots,
            batching: None,
            failed: None,
            watched: Default::default(),
            gate: None,
            marks: None,
            arrival: Arrival::Closed,
            overload: Overload::Queue { capacity: 100 },
            deadline: None,
            frames: None,
            cpus: Vec::new(),
            waiting: Release::Sleep,
            seed: 1,
            lacks: None,
            late: Default::default(),
            outputs: None,
            with_outputs: Vec::new(),
        };
        Trial {
            journal,
            runner,
            stop: Arc::default(),
            length: Nanos::from_secs(600),
            unmeasured: false,
            ahead: Nanos::ZERO,
            clock: Arc::new(RealClock),
        }
    }
    pub(crate) fn run(&mut self) -> (PhaseRecord, Vec<FrameRecord>, Vec<Event>) {
        let (mut front, mut front_feed) = recording::channel(3, false);
        let (mut back, mut back_feed) = recording::channel(3, true);
        let (notes, events) = channel();
        let clock = self.clock.as_ref();
        let epoch = clock.now() + self.ahead;
        let plan = PhasePlan {
            phase: Phase::Together,
            drawn_as: Phase::Together,
            traced: false,
            sharing: Sharing::Streams,
            epoch,
            measured_from: if self.unmeasured {
                epoch + self.length
            } else {
                epoch
            },
            end: epoch + self.length,
        };
        let end = self
            .runner
            .run(plan, clock, &self.stop, &mut front, &mut back, &notes);
        let mut kept = Kept(Vec::new());
        front_feed.drain(&mut kept);
        back_feed.drain(&mut kept);
        kept.0.sort_by_key(|r| r.sequence);
        drop(notes);
        (end, kept.0, events.iter().collect())
    }
}

pub(crate) fn failure(problem: &str) -> BackendError {
    BackendError::Execute {
        network: "trial".to_owned(),
        backend: "trial",
        problem: problem.to_owned(),
    }
}
