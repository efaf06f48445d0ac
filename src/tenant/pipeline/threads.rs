//! The threads of a tenant: one that does everything in turn, or three between which the slots go round.
//!
//! At depth 2 and more the *maker* waits for releases and makes inputs, the *finisher* waits for results. The maker also
//! submits, since a frame that changes threads has to wait for the other one to wake up. But where submitting takes long
//! and another frame is due meanwhile, the *submitter* does it, so that the next frame is made at the same time. It is a
//! thread of its own and not whoever is free: a library's enqueueing is slower on a core that does not know it yet.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, SyncSender, sync_channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};

use super::finish::Finish;
use super::frame_slot::FrameSlot;
use super::prepare::{Next, Prepare};
use super::submit::{Submit, Submitted};
use super::thread_setup::set_up_thread;
use crate::clock::Clock;
use crate::record::{EndReason, Event, FrameRecord};
use crate::tenant::failures::note;
use crate::tenant::recording::RecordSink;
use crate::units::{Nanos, Stamp};

/// A submission that is shorter is not worth the other thread's wake-up, which takes some tens of microseconds.
const WORTH_HANDING_OVER: Nanos = Nanos::from_micros(50);

/// A frame whose inputs are made.
struct Made {
    place: FrameSlot,
    record: FrameRecord,
    at: Stamp,
}

/// A frame between submission and result.
struct InFlight<'a> {
    place: FrameSlot,
    record: FrameRecord,
    submitted: Submitted<'a>,
}

/// What comes back to the maker.
pub(super) enum Back {
    /// A slot for the next frame.
    Free(FrameSlot),
    /// Another thread panicked, and its slots do not come back.
    Broken,
}

/// Why a phase ended, or that something within it panicked.
pub(super) type Ended = Result<EndReason, Panicked>;

/// A stage panicked; what it worked on may be in any state.
#[derive(Debug)]
pub(super) struct Panicked;

impl std::fmt::Display for Panicked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("panicked")
    }
}

/// What all threads of a tenant know.
#[derive(Clone, Copy)]
pub(super) struct Common<'a> {
    pub(super) name: &'a str,
    pub(super) cpus: &'a [usize],
    pub(super) clock: &'a dyn Clock,
    pub(super) notes: &'a Sender<Event>,
}

impl Common<'_> {
    pub(super) fn panicked(&self) -> Panicked {
        self.note(&format!("{Panicked}; please report it with the scenario"));
        Panicked
    }

    fn note(&self, problem: &str) {
        note(self.notes, self.clock.now(), self.name, problem);
    }
}

/// One thread does all: the next frame is looked at when this one is done.
pub(super) fn run_serial(
    prepare: &mut Prepare<'_>,
    submit: &Submit<'_>,
    finish: &mut Finish<'_>,
    place: &mut FrameSlot,
    front: &mut RecordSink,
    back: &mut RecordSink,
    common: Common<'_>,
) -> Ended {
    let mut work = || loop {
        match prepare.next(place, front) {
            Next::Frame(mut record) => {
                let submitted = submit.frame(place, &mut record, None);
                finish.frame(place, record, submitted, back);
                if finish.failures.hopeless() {
                    return EndReason::Failed;
                }
            }
            Next::Skipped | Next::Late => {}
            Next::End(reason) => return reason,
        }
    };
    let worked = catch_unwind(AssertUnwindSafe(&mut work));
    prepare.close(front);
    worked.map_err(|_| common.panicked())
}

/// Three threads, this one being the maker. Also answers the slots, but for those that a panic took along.
pub(super) fn run_overlapped<'a>(
    prepare: &mut Prepare<'_>,
    submit: &Submit<'a>,
    finish: &mut Finish<'_>,
    places: Vec<FrameSlot>,
    front: &mut RecordSink,
    back: &mut RecordSink,
    common: Common<'_>,
) -> (Ended, Vec<FrameSlot>) {
    let depth = places.len();
    // All slots fit, and a word of each of the other threads: sending never waits.
    let (free_in, free_out) = sync_channel(depth + 2);
    let (made_in, made_out) = sync_channel::<Made>(depth);
    let (work_in, work_out) = sync_channel::<InFlight<'a>>(depth);
    for place in places {
        let _ = free_in.send(Back::Free(place));
    }
    let gave_up = &AtomicBool::new(false);
    // Frames with the submitter: the maker may not overtake them.
    let handed_over = &AtomicUsize::new(0);
    let mut hand = None;
    let reason = std::thread::scope(|scope| {
        let (broken, submitted_in) = (free_in.clone(), work_in.clone());
        let submitter = start(scope, common, broken, move || {
            for Made {
                mut place,
                mut record,
                at,
            } in made_out
            {
                let submitted = submit.frame(&mut place, &mut record, Some(at));
                let sent = submitted_in.send(InFlight {
                    place,
                    record,
                    submitted,
                });
                handed_over.fetch_sub(1, Ordering::Release);
                if sent.is_err() {
                    return;
                }
            }
        });
        let broken = free_in.clone();
        let finisher = start(scope, common, broken, move || {
            for InFlight {
                mut place,
                record,
                submitted,
            } in work_out
            {
                finish.frame(&mut place, record, submitted, back);
                if finish.failures.hopeless() {
                    gave_up.store(true, Ordering::Relaxed);
                }
                if free_in.send(Back::Free(place)).is_err() {
                    return;
                }
            }
        });
        let (Some(submitter), Some(finisher)) = (submitter, finisher) else {
            return Ok(EndReason::Failed);
        };
        let mut make = || loop {
            let mut place = match hand
                .take()
                .map_or_else(|| free_out.recv(), |place| Ok(Back::Free(place)))
            {
                Ok(Back::Free(place)) => place,
                Ok(Back::Broken) | Err(_) => return EndReason::Failed,
            };
            if gave_up.load(Ordering::Relaxed) {
                hand = Some(place);
                return EndReason::Failed;
            }
            let mut record = match prepare.next(&mut place, front) {
                Next::Frame(record) => record,
                Next::Skipped | Next::Late => {
                    hand = Some(place);
                    continue;
                }
                Next::End(reason) => {
                    hand = Some(place);
                    return reason;
                }
            };
            let (at, usual) = (common.clock.now(), submit.took());
            let is_worth_it = || usual >= WORTH_HANDING_OVER && prepare.is_due_by(at + usual);
            let went_on = if handed_over.load(Ordering::Acquire) > 0 || is_worth_it() {
                handed_over.fetch_add(1, Ordering::Relaxed);
                made_in.send(Made { place, record, at }).is_ok()
            } else {
                let submitted = submit.frame(&mut place, &mut record, None);
                work_in
                    .send(InFlight {
                        place,
                        record,
                        submitted,
                    })
                    .is_ok()
            };
            if !went_on {
                return EndReason::Failed;
            }
        };
        let made = catch_unwind(AssertUnwindSafe(&mut make));
        prepare.close(front);
        // The other threads end when nothing more can come.
        drop((made_in, work_in));
        let others = [submitter.join(), finisher.join()];
        match made {
            Ok(reason) if others.iter().all(|ended| matches!(ended, Ok(true))) => Ok(reason),
            _ => Err(common.panicked()),
        }
    });
    let came_back = free_out.try_iter().filter_map(|back| match back {
        Back::Free(place) => Some(place),
        Back::Broken => None,
    });
    (reason, hand.into_iter().chain(came_back).collect())
}

/// Starts one of the other threads; it answers whether it came to its end without a panic.
pub(super) fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    common: Common<'scope>,
    broken: SyncSender<Back>,
    work: impl FnOnce() + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, bool>> {
    let whole = move || {
        if let Err(problem) = set_up_thread(common.cpus) {
            common.note(&problem.to_string());
        }
        let ended = catch_unwind(AssertUnwindSafe(work)).is_ok();
        if !ended {
            // It has a place in the channel. If nobody listens any more, all is over anyway.
            let _ = broken.try_send(Back::Broken);
        }
        ended
    };
    // The kernel keeps 15 characters.
    let thread = Builder::new().name(common.name.chars().take(15).collect());
    let started = thread.spawn_scoped(scope, whole);
    if let Err(error) = &started {
        common.note(&format!(
            "cannot start its other threads: {error}; set `depth: 1`, or lower the number of tenants"
        ));
    }
    started.ok()
}
