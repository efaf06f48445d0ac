//! The order in which a tenant's pipeline does things, and what becomes of frames that go wrong.
//!
//! Nothing here depends on how fast the machine is: overlap is shown by a result that waits for the next
//! submission, which never comes if the stages do not overlap.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use jetlag::backend::{BackendError, NodeTime, Slot, StageTimes};
use jetlag::clock::{Clock, RealClock};
use jetlag::detector::{Carry, Detection, DetectorError, Postprocess, Preprocess};
use jetlag::record::{
    DetectionsRecord, EndReason, Event, FrameRecord, NO_CONTENT, NodeRecord, Outcome, Phase, PhaseRecord,
    Stage,
};
use jetlag::scenario::{Arrival, Overload, Release, Sharing};
use jetlag::source::{ContentKind, Frame, Source, SourceError, SourceInfo};
use jetlag::tenant::gate::{Gate, Order};
use jetlag::tenant::pipeline::{PhasePlan, Runner};
use jetlag::tenant::recording::{self, FeedSink};
use jetlag::tensor::TensorSet;
use jetlag::units::Nanos;

/// What happened, in order.
#[derive(Default)]
struct Journal {
    lines: Mutex<Vec<String>>,
    changed: Condvar,
}

impl Journal {
    fn write(&self, line: String) {
        self.lines.lock().unwrap().push(line);
        self.changed.notify_all();
    }
    /// Waits until a line is there; false if it does not come.
    fn await_line(&self, line: &str) -> bool {
        let lines = self.lines.lock().unwrap();
        let (_lines, timeout) = self
            .changed
            .wait_timeout_while(lines, Duration::from_secs(5), |lines| {
                !lines.iter().any(|l| l == line)
            })
            .unwrap();
        !timeout.timed_out()
    }
    fn position(&self, line: &str) -> usize {
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
type Deed = fn(&Journal, u64) -> Result<(), BackendError>;

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
    fn restart(&mut self, _sharing: Sharing) {
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

struct Trial {
    journal: Arc<Journal>,
    runner: Runner,
    stop: Arc<AtomicBool>,
    length: Nanos,
    /// Whether the phase is all warm-up.
    unmeasured: bool,
}

impl Trial {
    fn new(depth: usize, frames: u64, wait: Deed) -> Self {
        Trial::with(depth, frames, |_, _| Ok(()), wait)
    }
    fn with(depth: usize, frames: u64, submit: Deed, wait: Deed) -> Self {
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
            failed: None,
            watched: Default::default(),
            gate: None,
            arrival: Arrival::Closed,
            overload: Overload::Queue { capacity: 100 },
            deadline: None,
            frames: None,
            cpus: Vec::new(),
            waiting: Release::Sleep,
            seed: 1,
        };
        Trial {
            journal,
            runner,
            stop: Arc::default(),
            length: Nanos::from_secs(20),
            unmeasured: false,
        }
    }
    fn run(&mut self) -> (PhaseRecord, Vec<FrameRecord>, Vec<Event>) {
        let (mut front, mut front_feed) = recording::channel(3, false);
        let (mut back, mut back_feed) = recording::channel(3, true);
        let (notes, events) = channel();
        let epoch = RealClock.now();
        let plan = PhasePlan {
            phase: Phase::Together,
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
            .run(plan, &RealClock, &self.stop, &mut front, &mut back, &notes);
        let mut kept = Kept(Vec::new());
        front_feed.drain(&mut kept);
        back_feed.drain(&mut kept);
        kept.0.sort_by_key(|r| r.sequence);
        drop(notes);
        (end, kept.0, events.iter().collect())
    }
}

fn failure(problem: &str) -> BackendError {
    BackendError::Execute {
        network: "trial".to_owned(),
        backend: "trial",
        problem: problem.to_owned(),
    }
}

#[test]
fn at_depth_one_a_frame_is_finished_before_the_next_begins() {
    let mut trial = Trial::new(1, 5, |_, _| Ok(()));
    let (end, records, _) = trial.run();
    assert_eq!((end.reason, records.len()), (EndReason::EndOfSource, 5));
    for n in 0..4 {
        assert!(
            trial.journal.position(&format!("result {n}"))
                < trial.journal.position(&format!("acquire {}", n + 1))
        );
    }
    assert!(
        records
            .iter()
            .all(|r| r.released == r.started && r.finished >= r.started && r.tenant == 3)
    );
}

#[test]
fn at_depth_two_the_next_frame_is_submitted_while_this_one_is_being_computed() {
    // The result of each frame comes only once the next has been submitted.
    let mut trial = Trial::new(2, 6, |journal, frame| {
        if frame < 5 && !journal.await_line(&format!("submit {}", frame + 1)) {
            return Err(failure("the stages do not overlap"));
        }
        Ok(())
    });
    let (_, records, _) = trial.run();
    assert!(
        records.iter().all(|r| r.outcome == Outcome::Completed),
        "{records:?}"
    );
    // And no more than two frames are in flight.
    for n in 0..4 {
        assert!(
            trial.journal.position(&format!("result {n}"))
                < trial.journal.position(&format!("submit {}", n + 2))
        );
    }
}

#[test]
fn while_one_frame_is_computed_another_is_submitted_and_a_third_is_made() {
    // Some libraries enqueue for as long as the device executes: here until the next frame is made and this one's
    // predecessor is waited for. The first tells that they last, and none may be so short that the maker does the next.
    let mut trial = Trial::with(
        3,
        8,
        |journal, frame| {
            std::thread::sleep(Duration::from_millis(1));
            let is_made = matches!(frame, 0 | 7) || journal.await_line(&format!("acquire {}", frame + 1));
            let is_waited_for = frame == 0 || journal.await_line(&format!("wait {}", frame - 1));
            if !is_made || !is_waited_for {
                return Err(failure("the stages do not overlap"));
            }
            journal.write(format!("submitted {frame}"));
            Ok(())
        },
        |journal, frame| {
            journal.write(format!("wait {frame}"));
            if frame < 7 && !journal.await_line(&format!("submitted {}", frame + 1)) {
                return Err(failure("the stages do not overlap"));
            }
            Ok(())
        },
    );
    let (_, records, _) = trial.run();
    let outcomes: Vec<_> = records.iter().map(|r| r.outcome).collect();
    assert_eq!(outcomes, [Outcome::Completed; 8]);
    for n in 0..7 {
        for stage in ["acquire", "submit", "wait"] {
            let at = |n| trial.journal.position(&format!("{stage} {n}"));
            assert!(at(n) < at(n + 1), "one frame after the other");
        }
    }
}

#[test]
fn waiting_for_the_submission_of_the_frame_before_is_queueing() {
    let mut trial = Trial::with(
        2,
        6,
        |_, _| {
            std::thread::sleep(Duration::from_millis(20));
            Ok(())
        },
        |_, _| Ok(()),
    );
    let (_, records, _) = trial.run();
    let waited = records
        .iter()
        .filter_map(|r| r.stages[Stage::Queue as usize])
        .max();
    assert!(waited > Some(Nanos::from_millis(5)), "{waited:?}");
    assert!(records.iter().all(|r| {
        let named: i64 = r.stages.iter().flatten().map(|took| took.0).sum();
        named <= r.response().0
    }));
}

#[test]
fn waiting_for_its_turn_on_the_device_is_queueing() {
    for depth in [1, 2] {
        let mut trial = Trial::new(depth, 3, |_, _| Ok(()));
        let gate = Arc::new(Gate::new(Order::Arrival, 2));
        trial.runner.gate = Some(gate.clone());
        // Another tenant is on the device for a while.
        gate.enter(0, None);
        let journal = trial.journal.clone();
        let other = std::thread::spawn(move || {
            journal.await_line("acquire 0");
            std::thread::sleep(Duration::from_millis(20));
            gate.leave(0);
        });
        let (_, records, _) = trial.run();
        other.join().unwrap();
        let waited = |frame: usize| records[frame].stages[Stage::Queue as usize];
        assert!(waited(0) >= Some(Nanos::from_millis(15)), "{:?}", waited(0));
        assert!(waited(2).is_some(), "each frame passes the gate");
    }
}

#[test]
fn a_frame_that_fails_is_recorded_and_the_tenant_goes_on() {
    for depth in [1, 2] {
        let mut trial = Trial::new(depth, 8, |_, frame| {
            if frame == 3 {
                Err(failure("no luck"))
            } else {
                Ok(())
            }
        });
        let (end, records, events) = trial.run();
        let outcomes: Vec<_> = records.iter().map(|r| r.outcome).collect();
        assert_eq!(outcomes.iter().filter(|o| **o == Outcome::Failed).count(), 1);
        assert_eq!(outcomes[3], Outcome::Failed);
        assert_eq!((end.reason, records.len()), (EndReason::EndOfSource, 8));
        assert!(format!("{events:?}").contains("no luck"));
    }
}

#[test]
fn a_tenant_that_only_fails_gives_up_and_says_so() {
    for depth in [1, 2] {
        let mut trial = Trial::new(depth, 1_000, |_, _| Err(failure("out of memory")));
        let (end, records, events) = trial.run();
        assert_eq!(end.reason, EndReason::Failed);
        assert!((10..20).contains(&records.len()), "{}", records.len());
        assert!(format!("{events:?}").contains("failed too often in a row"));
        assert_eq!(
            trial.runner.slots.len(),
            depth,
            "the slots come back for the next phase"
        );
    }
}

struct BrokenPreprocess;

impl Preprocess for BrokenPreprocess {
    fn run(&mut self, frame: &Frame, _: &mut TensorSet, _: &mut Carry) -> Result<u32, DetectorError> {
        if frame.index % 2 == 1 {
            return Err(DetectorError::BadFrame {
                index: frame.index,
                problem: "odd".to_owned(),
            });
        }
        Ok(7)
    }
}

#[test]
fn a_frame_that_cannot_be_prepared_fails_before_submission() {
    for depth in [1, 2] {
        let mut trial = Trial::new(depth, 6, |_, _| Ok(()));
        trial.runner.preprocess = Some(Box::new(BrokenPreprocess));
        let (_, records, _) = trial.run();
        let outcomes: Vec<_> = records
            .iter()
            .map(|r| (r.source_index, r.outcome, r.input_size))
            .collect();
        for (n, outcome) in outcomes.iter().enumerate() {
            let expected = if n % 2 == 1 {
                (Outcome::Failed, 0)
            } else {
                (Outcome::Completed, 7)
            };
            assert_eq!(*outcome, (n as u64, expected.0, expected.1));
        }
    }
}

#[test]
fn under_overload_every_release_is_accounted_for_exactly_once() {
    for (depth, overload) in [
        (1, Overload::DropOldest { queue: 2 }),
        (2, Overload::DropNewest { queue: 1 }),
        (2, Overload::Queue { capacity: 3 }),
    ] {
        let mut trial = Trial::new(depth, 1_000, |_, _| {
            std::thread::sleep(Duration::from_millis(7));
            Ok(())
        });
        trial.runner.arrival = Arrival::Periodic {
            hz: 500.0,
            phase: Nanos::ZERO,
            jitter: Nanos::ZERO,
        };
        trial.runner.overload = overload;
        trial.runner.frames = Some(100);
        trial.length = Nanos::from_secs(5);
        let (end, records, _) = trial.run();
        let numbers: Vec<u64> = records.iter().map(|r| r.sequence).collect();
        assert_eq!(numbers, (0..100).collect::<Vec<_>>(), "{overload:?}");
        assert_eq!(end.reason, EndReason::Count);
        let dropped = records.iter().filter(|r| r.outcome == Outcome::Dropped);
        assert!(dropped.clone().count() > 20, "{overload:?}");
        assert!(dropped.clone().all(|r| r.finished >= r.released));
        let released: Vec<i64> = records
            .windows(2)
            .map(|w| (w[1].released - w[0].released).0)
            .collect();
        assert!(
            released.iter().all(|gap| *gap == 2_000_000),
            "releases do not depend on how the tenant keeps up"
        );
    }
}

#[test]
fn the_nth_release_means_the_nth_frame_whatever_was_dropped_before_it() {
    for overload in [
        Overload::DropOldest { queue: 1 },
        Overload::DropNewest { queue: 1 },
    ] {
        for depth in [1, 2] {
            let mut trial = Trial::new(depth, 60, |_, _| {
                std::thread::sleep(Duration::from_millis(7));
                Ok(())
            });
            trial.runner.arrival = Arrival::Periodic {
                hz: 500.0,
                phase: Nanos::ZERO,
                jitter: Nanos::ZERO,
            };
            trial.runner.overload = overload;
            let (end, records, _) = trial.run();
            assert_eq!(
                (end.reason, records.len()),
                (EndReason::EndOfSource, 60),
                "every frame of the source was released once, and none that it does not have"
            );
            let (served, dropped): (Vec<FrameRecord>, Vec<FrameRecord>) =
                records.into_iter().partition(|r| r.outcome == Outcome::Completed);
            assert!(!served.is_empty() && !dropped.is_empty(), "{overload:?}");
            assert!(
                served.iter().all(|r| r.source_index == r.sequence),
                "{overload:?}"
            );
            assert!(
                dropped.iter().all(|r| r.source_index == NO_CONTENT),
                "{overload:?}"
            );
        }
    }
}

#[test]
fn the_stop_flag_ends_a_phase_and_frames_that_wait_are_unfinished() {
    let mut trial = Trial::new(1, 1_000, |_, _| Ok(()));
    trial.runner.arrival = Arrival::Periodic {
        hz: 10.0,
        phase: Nanos::ZERO,
        jitter: Nanos::ZERO,
    };
    let stop = trial.stop.clone();
    let journal = trial.journal.clone();
    let watcher = std::thread::spawn(move || {
        journal.await_line("result 0");
        stop.store(true, Ordering::Relaxed);
    });
    let (end, records, _) = trial.run();
    watcher.join().unwrap();
    assert_eq!(end.reason, EndReason::Interrupted);
    assert!(!records.is_empty() && records.len() < 20);
    assert!(end.measured_to < end.epoch + trial.length);
}

#[test]
fn a_second_phase_sees_the_same_frames_and_slots_that_begin_anew() {
    let mut trial = Trial::new(2, 4, |_, _| Ok(()));
    let first: Vec<u64> = trial.run().1.iter().map(|r| r.source_index).collect();
    let second: Vec<u64> = trial.run().1.iter().map(|r| r.source_index).collect();
    assert_eq!(first, [0, 1, 2, 3]);
    assert_eq!(first, second);
    let lines = trial.journal.lines.lock().unwrap();
    let restarts: Vec<usize> = (0..lines.len()).filter(|&at| lines[at] == "restart").collect();
    let again = lines.iter().rposition(|line| line == "acquire 0").unwrap();
    assert_eq!(
        restarts,
        [0, 1, again - 2, again - 1],
        "each slot, before each phase's first frame"
    );
}

/// Reports two nodes; the second takes a microsecond more with each frame. Its third frame fails.
struct ProfiledSlot {
    frame: Arc<Mutex<i64>>,
    tensors: TensorSet,
    times: Vec<NodeTime>,
}

impl Slot for ProfiledSlot {
    fn tensors(&self) -> &TensorSet {
        &self.tensors
    }
    fn tensors_mut(&mut self) -> &mut TensorSet {
        &mut self.tensors
    }
    fn submit(&mut self) -> Result<(), BackendError> {
        Ok(())
    }
    fn wait(&mut self) -> Result<StageTimes, BackendError> {
        let mut frame = self.frame.lock().unwrap();
        *frame += 1;
        let node = |name: &str, operator: &str, us| NodeTime {
            name: name.to_owned(),
            operator: operator.to_owned(),
            took: Nanos::from_micros(us),
        };
        self.times.clear();
        self.times.push(node("first", "Conv", 50));
        self.times.push(node("second", "Relu", *frame));
        if *frame == 3 {
            return Err(failure("no luck"));
        }
        Ok(StageTimes::default())
    }
    fn node_times(&self) -> &[NodeTime] {
        &self.times
    }
}

/// Without what they say of the response time, which no test of real threads knows.
fn nodes(events: Vec<Event>) -> Vec<NodeRecord> {
    let nodes = events.into_iter().filter_map(|event| match event {
        Event::Node(mut node) => {
            let with = node.with_response.take();
            assert!(with.is_some_and(|with| with.response_variance > 0.0));
            Some(node)
        }
        _ => None,
    });
    nodes.collect()
}

#[test]
fn time_per_node_is_reported_once_a_phase_over_the_frames_that_were_completed() {
    for depth in [1, 2] {
        let mut trial = Trial::new(depth, 6, |_, _| Ok(()));
        let frame = Arc::new(Mutex::new(0));
        trial.runner.slots = (0..depth)
            .map(|_| {
                Box::new(ProfiledSlot {
                    frame: frame.clone(),
                    tensors: TensorSet::default(),
                    times: Vec::new(),
                }) as Box<dyn Slot>
            })
            .collect();
        let record = |name: &str, operator: &str, count, mean, max| NodeRecord {
            tenant: 3,
            phase: Phase::Together,
            name: name.to_owned(),
            operator: operator.to_owned(),
            count,
            mean: Nanos(mean),
            max: Nanos::from_micros(max),
            with_response: None,
        };
        let found = nodes(trial.run().2);
        assert_eq!(
            found,
            [
                record("first", "Conv", 5, 50_000, 50),
                // 1, 2, 4, 5 and 6 µs.
                record("second", "Relu", 5, 3_600, 6),
            ]
        );
        // The second phase starts from nothing: 7 to 12 µs.
        let again = nodes(trial.run().2);
        assert_eq!(again[1], record("second", "Relu", 6, 9_500, 12));

        trial.unmeasured = true;
        assert_eq!(nodes(trial.run().2), [], "the warm-up is in no figure");
    }
}

#[test]
fn a_backend_that_times_no_nodes_has_none_reported() {
    let mut trial = Trial::new(1, 6, |_, _| Ok(()));
    assert_eq!(nodes(trial.run().2), []);
}

#[test]
fn releases_up_to_the_end_of_the_window_are_accounted_for_as_in_simulated_time() {
    for depth in [1, 2] {
        let mut trial = Trial::new(depth, 1_000, |_, _| {
            std::thread::sleep(Duration::from_millis(170));
            Ok(())
        });
        trial.runner.arrival = Arrival::Periodic {
            hz: 100.0,
            phase: Nanos::ZERO,
            jitter: Nanos::ZERO,
        };
        trial.runner.overload = Overload::DropOldest { queue: 1 };
        trial.length = Nanos::from_millis(500);
        let (end, records, _) = trial.run();
        assert_eq!(end.reason, EndReason::Duration);
        let numbers: Vec<u64> = records.iter().map(|r| r.sequence).collect();
        assert_eq!(
            numbers,
            (0..50).collect::<Vec<_>>(),
            "50 were released, however long each took"
        );
    }
}

struct Panics;

impl Preprocess for Panics {
    fn run(&mut self, frame: &Frame, _: &mut TensorSet, _: &mut Carry) -> Result<u32, DetectorError> {
        assert!(frame.index < 3, "a mistake of ours");
        Ok(1)
    }
}

impl Postprocess for Panics {
    fn run(&mut self, _: &TensorSet, _: &Carry, _: &mut Vec<Detection>) -> Result<(), DetectorError> {
        panic!("a mistake of ours");
    }
}

#[test]
fn a_panic_in_any_stage_ends_the_tenant_and_not_the_program() {
    let fine: Deed = |_, _| Ok(());
    let panics: Deed = |_, frame| {
        assert!(frame < 3, "as a library's code might");
        Ok(())
    };
    for depth in [1, 2, 3] {
        for stage in ["preprocess", "submit", "wait", "postprocess"] {
            let mut trial = match stage {
                "submit" => Trial::with(depth, 1_000, panics, fine),
                "wait" => Trial::new(depth, 1_000, panics),
                _ => Trial::new(depth, 1_000, fine),
            };
            match stage {
                "preprocess" => trial.runner.preprocess = Some(Box::new(Panics)),
                "postprocess" => trial.runner.postprocess = Some(Box::new(Panics)),
                _ => {}
            }
            // Another tenant gets its turn on the device all the same.
            let gate = Arc::new(Gate::new(Order::Arrival, 2));
            trial.runner.gate = Some(gate.clone());
            let (end, _, events) = trial.run();
            gate.enter(0, None);
            assert_eq!(end.reason, EndReason::Failed, "depth {depth}, {stage}");
            assert!(
                format!("{events:?}").contains("panicked"),
                "depth {depth}, {stage}"
            );
            let again = trial.run();
            assert_eq!(
                (again.0.reason, again.1.len()),
                (EndReason::Failed, 0),
                "not tried again"
            );
        }
    }
}

#[test]
fn of_many_failures_the_first_few_are_told_and_then_their_number() {
    let mut trial = Trial::new(1, 60, |_, frame| {
        if frame % 2 == 0 {
            Err(failure("every other one"))
        } else {
            Ok(())
        }
    });
    let (_, records, events) = trial.run();
    assert_eq!(
        records.iter().filter(|r| r.outcome == Outcome::Failed).count(),
        30
    );
    assert_eq!(format!("{events:?}").matches("every other one").count(), 3);
    assert!(format!("{events:?}").contains("27 more frames failed"));
}
