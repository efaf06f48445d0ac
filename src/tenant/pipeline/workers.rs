//! The threads of a tenant: one for each slot, each of which takes a frame all the way from its release to its record.
//!
//! No frame changes threads, so an idle pipeline costs a frame no wake-up. Stages overlap because each belongs to one
//! frame at a time and is left for the next before the following one is entered: while one frame is waited for, another is
//! submitted, and a third is made. At depth 1 the tenant's own thread is the only one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};

use super::finish::Finish;
use super::prepare::{Next, Prepare};
use super::prepare_thread;
use super::submit::Submit;
use super::turn::Turn;
use crate::backend::Slot;
use crate::clock::Clock;
use crate::detector::Carry;
use crate::record::{EndReason, Event, FrameRecord};
use crate::tenant::failures::note;
use crate::tenant::recording::RecordSink;

/// A slot with everything that stays with it.
pub(super) struct Place {
    pub(super) slot: Box<dyn Slot>,
    pub(super) carry: Carry,
}

/// The stages of a phase, each with what it works on and where it records.
pub(super) struct Stages<'a> {
    front: Mutex<Front<'a>>,
    submit: Turn<Submit<'a>>,
    back: Turn<Back<'a>>,
    /// Whether results fail too often for more frames to make sense.
    gave_up: AtomicBool,
    /// Whether a frame may have to wait before it is submitted.
    takes_turns: bool,
    clock: &'a dyn Clock,
    name: &'a str,
    notes: &'a Sender<Event>,
}

struct Front<'a> {
    prepare: Prepare<'a>,
    sink: &'a mut RecordSink,
    /// Number of the next frame that goes on to submission.
    number: u64,
    ended: Option<EndReason>,
}

impl Front<'_> {
    fn end(&mut self, reason: EndReason) {
        if self.ended.is_none() {
            self.prepare.close(self.sink);
            self.ended = Some(reason);
        }
    }
}

struct Back<'a> {
    finish: Finish<'a>,
    sink: &'a mut RecordSink,
}

impl<'a> Stages<'a> {
    pub(super) fn new(
        prepare: (Prepare<'a>, &'a mut RecordSink),
        submit: Submit<'a>,
        finish: (Finish<'a>, &'a mut RecordSink),
        notes: &'a Sender<Event>,
        depth: usize,
    ) -> Self {
        Stages {
            takes_turns: submit.gate.is_some(),
            clock: submit.clock,
            name: submit.name,
            notes,
            front: Mutex::new(Front {
                prepare: prepare.0,
                sink: prepare.1,
                number: 0,
                ended: None,
            }),
            submit: Turn::new(submit, depth),
            back: Turn::new(
                Back {
                    finish: finish.0,
                    sink: finish.1,
                },
                depth,
            ),
            gave_up: AtomicBool::new(false),
        }
    }

    /// Runs the phase to its end, on this thread and one more for each place but the first.
    pub(super) fn run(self, places: &mut [Place], cpus: &[usize]) -> EndReason {
        let depth = places.len();
        let stages = &self;
        let unharmed = std::thread::scope(|scope| {
            let mut places = places.iter_mut();
            let own = places.next();
            let threads: Vec<_> = places
                .map(|place| {
                    let work = move || {
                        if let Err(problem) = prepare_thread(cpus) {
                            stages.note(&problem);
                        }
                        stages.work(place, depth);
                    };
                    // The kernel keeps 15 characters.
                    let name = stages.name.chars().take(15).collect();
                    std::thread::Builder::new().name(name).spawn_scoped(scope, work)
                })
                .collect();
            if let Some(error) = threads.iter().find_map(|thread| thread.as_ref().err()) {
                stages.note(&format!(
                    "cannot start a thread for each slot: {error}; lower `depth` or the number of tenants"
                ));
                stages.gave_up.store(true, Ordering::Relaxed);
            }
            // A panic leaves the stage that it was in closed for all, so every thread comes to an end.
            let own = catch_unwind(AssertUnwindSafe(|| own.map(|place| stages.work(place, depth))));
            let threads = threads.into_iter().filter_map(Result::ok);
            threads.fold(own.is_ok(), |all, thread| thread.join().is_ok() && all)
        });
        if !unharmed {
            self.note("panicked; please report it with the scenario");
        }
        let mut front = self.front.into_inner().unwrap_or_else(PoisonError::into_inner);
        front.end(EndReason::Failed);
        self.back.into_inner().finish.close();
        front.ended.filter(|_| unharmed).unwrap_or(EndReason::Failed)
    }

    fn note(&self, problem: &str) {
        note(self.notes, self.clock.now(), self.name, problem);
    }

    /// Takes one frame after another through all stages, until there are no more, or another thread panicked in one.
    fn work(&self, place: &mut Place, depth: usize) {
        while let Some((number, mut record)) = self.next(place) {
            let made = (depth > 1 || self.takes_turns).then(|| self.clock.now());
            let Some(mut submit) = self.submit.enter(number) else {
                return;
            };
            let submitted = submit.frame(place, &mut record, made);
            drop(submit);
            let Some(mut back) = self.back.enter(number) else {
                return;
            };
            let Back { finish, sink } = &mut *back;
            finish.frame(place, record, submitted, sink);
            if finish.failures.hopeless() {
                self.gave_up.store(true, Ordering::Relaxed);
            }
        }
    }

    /// The next frame with its inputs made, and its number among those that are submitted; none at the end.
    fn next(&self, place: &mut Place) -> Option<(u64, FrameRecord)> {
        let mut front = self.front.lock().ok()?;
        loop {
            if self.gave_up.load(Ordering::Relaxed) {
                front.end(EndReason::Failed);
            }
            if front.ended.is_some() {
                return None;
            }
            let Front { prepare, sink, .. } = &mut *front;
            match prepare.next(place, sink) {
                Next::Frame(record) => {
                    let number = front.number;
                    front.number += 1;
                    return Some((number, record));
                }
                Next::Skipped => {}
                Next::End(reason) => front.end(reason),
            }
        }
    }
}
