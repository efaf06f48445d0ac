//! The threads of a tenant: one that does everything in turn, or two between which the slots go round.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::finish::Finish;
use super::prepare::{Next, Prepare};
use super::prepare_thread;
use crate::backend::Slot;
use crate::detector::Carry;
use crate::record::{EndReason, FrameRecord};
use crate::tenant::failures::note;
use crate::tenant::recording::RecordSink;

/// A frame between submission and result.
pub(super) struct InFlight {
    pub(super) slot: Box<dyn Slot>,
    pub(super) carry: Carry,
    pub(super) record: FrameRecord,
    pub(super) submitted: Result<(), String>,
}

/// Everything around a slot that goes round with it.
pub(super) struct Free {
    pub(super) slot: Box<dyn Slot>,
    pub(super) carry: Carry,
}

/// One thread does all: the next frame is looked at when this one is done.
pub(super) fn run_serial(
    mut prepare: Prepare<'_>,
    mut finish: Finish<'_>,
    free: Vec<Free>,
    front: &mut RecordSink,
    back: &mut RecordSink,
) -> (EndReason, Vec<Box<dyn Slot>>) {
    let mut free = free.into_iter().next();
    let mut reason = EndReason::Failed;
    while let Some(idle) = free.take() {
        match prepare.next(idle, front) {
            Next::Frame(in_flight) => {
                free = Some(finish.frame(in_flight, back));
                if finish.failures.hopeless() {
                    prepare.close(front);
                    break;
                }
            }
            Next::Skipped(idle) => free = Some(idle),
            Next::End(ended, idle) => {
                free = Some(idle);
                reason = ended;
                break;
            }
        }
    }
    finish.close();
    (reason, free.into_iter().map(|f| f.slot).collect())
}

/// Two threads: this one releases, prepares and submits; the other waits, postprocesses and records.
pub(super) fn run_overlapped(
    mut prepare: Prepare<'_>,
    mut finish: Finish<'_>,
    free: Vec<Free>,
    front: &mut RecordSink,
    back: &mut RecordSink,
    cpus: &[usize],
) -> (EndReason, Vec<Box<dyn Slot>>) {
    let depth = free.len();
    let (free_in, free_out): (SyncSender<Free>, Receiver<Free>) = sync_channel(depth);
    let (work_in, work_out): (SyncSender<InFlight>, Receiver<InFlight>) = sync_channel(depth);
    let gave_up = AtomicBool::new(false);
    for idle in free {
        // The channel holds all slots, so this never waits.
        let _ = free_in.send(idle);
    }
    let mut hand: Option<Free> = None;
    let reason = std::thread::scope(|scope| {
        let gave_up = &gave_up;
        let back_half = move || {
            if let Err(problem) = prepare_thread(cpus) {
                note(&finish.notes, finish.clock.now(), finish.name, &problem);
            }
            for in_flight in work_out {
                let idle = finish.frame(in_flight, back);
                if finish.failures.hopeless() {
                    gave_up.store(true, Ordering::Relaxed);
                }
                if free_in.send(idle).is_err() {
                    break;
                }
            }
            finish.close();
        };
        let back_half = match std::thread::Builder::new().spawn_scoped(scope, back_half) {
            Ok(thread) => thread,
            Err(error) => {
                let problem = format!(
                    "cannot start its second thread: {error}; lower `depth` or the number of tenants"
                );
                note(&prepare.notes, prepare.clock.now(), prepare.name, &problem);
                return EndReason::Failed;
            }
        };
        let mut reason = loop {
            let idle = match hand.take() {
                Some(idle) => idle,
                // No slot comes back only if the other thread ended, which it does after this one.
                None => match free_out.recv() {
                    Ok(idle) => idle,
                    Err(_) => break EndReason::Failed,
                },
            };
            if gave_up.load(Ordering::Relaxed) {
                prepare.close(front);
                hand = Some(idle);
                break EndReason::Failed;
            }
            match prepare.next(idle, front) {
                Next::Frame(in_flight) => {
                    if work_in.send(in_flight).is_err() {
                        break EndReason::Failed;
                    }
                }
                Next::Skipped(idle) => hand = Some(idle),
                Next::End(reason, idle) => {
                    hand = Some(idle);
                    break reason;
                }
            }
        };
        // The other thread ends when nothing more can come.
        drop(work_in);
        if back_half.join().is_err() {
            let problem = "its second thread panicked; please report it with the scenario";
            note(&prepare.notes, prepare.clock.now(), prepare.name, problem);
            prepare.close(front);
            reason = EndReason::Failed;
        }
        reason
    });
    (reason, hand.into_iter().chain(free_out).map(|f| f.slot).collect())
}
