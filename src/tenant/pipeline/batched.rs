//! The threads of a tenant whose frames have an inference by several: one thread, or two from depth 2 on, of which one collects
//! and submits batches while the other waits for results.
//!
//! A frame that is ready waits in its batch for others, no longer than the tenant's `batch_wait` from when its turn came; that wait is
//! its *queue*. Where no others can come the batch goes as it is: the network executes the whole batch all the same, and what lies in
//! the places without a frame is nobody's.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;

use super::finish::Finish;
use super::frame_slot::FrameSlot;
use super::prepare::{Next, Prepare};
use super::submit::{Submit, Submitted};
use super::threads::{Back, Common, Ended, start};
use crate::record::{BatchPart, EndReason, FrameRecord, Stage};
use crate::tenant::recording::RecordSink;
use crate::units::{Nanos, Stamp};

/// A batch between submission and result.
struct InFlight<'a> {
    place: FrameSlot,
    lead: FrameRecord,
    submitted: Submitted<'a>,
}

/// Drives a phase. Also answers the slots, but for those that a panic took along.
#[allow(
    clippy::too_many_arguments,
    reason = "the halves of a tenant, as `threads` has them, and how long a frame waits"
)]
pub(super) fn run_batched<'a>(
    prepare: &mut Prepare<'_>,
    submit: &Submit<'a>,
    finish: &mut Finish<'_>,
    places: Vec<FrameSlot>,
    wait: Option<Nanos>,
    front: &mut RecordSink,
    back: &mut RecordSink,
    common: Common<'_>,
) -> (Ended, Vec<FrameSlot>) {
    match places.len() {
        0 | 1 => run_serial(prepare, submit, finish, places, wait, front, back, common),
        _ => run_overlapped(prepare, submit, finish, places, wait, front, back, common),
    }
}

/// Collects frames into `place` until the batch is full, or until nobody is waited for any longer: not for frames of another moment,
/// where frames have one. Why nothing was collected where that is so.
fn collect(
    prepare: &mut Prepare<'_>,
    place: &mut FrameSlot,
    wait: Option<Nanos>,
    front: &mut RecordSink,
) -> Result<(), EndReason> {
    let (mut until, mut moment) = (None, None);
    loop {
        let next = prepare.next_until(place, until, moment, front);
        let Some(parts) = &mut place.parts else {
            return Err(EndReason::Failed);
        };
        match next {
            Next::Frame(record) => {
                parts.frames.push((record, prepare.clock.now()));
                let (of, is_whole) = prepare
                    .moment()
                    .map_or((None, false), |(of, goes_on)| (Some(of), !goes_on));
                if parts.is_full() || is_whole {
                    return Ok(());
                }
                moment = of;
                if until.is_none() {
                    until = wait.map(|wait| record.started + wait);
                }
            }
            Next::Skipped => {}
            Next::Late => return Ok(()),
            // What is there is executed; the reason comes again.
            Next::End(_) if !parts.frames.is_empty() => return Ok(()),
            Next::End(reason) => return Err(reason),
        }
    }
}

/// Submits what was collected; answers the record that stands for all of it.
fn send<'a>(submit: &Submit<'a>, place: &mut FrameSlot, now: Stamp) -> Option<(FrameRecord, Submitted<'a>)> {
    let (mut lead, _) = *place.parts.as_ref()?.frames.first()?;
    let submitted = submit.frame(place, &mut lead, Some(now));
    let turn = lead.stages[Stage::Queue as usize].unwrap_or(Nanos::ZERO);
    let frames = &mut place.parts.as_mut()?.frames;
    let part = BatchPart {
        first: lead.sequence,
        items: frames.len() as u32,
    };
    for (record, ready) in frames {
        record.stages[Stage::Queue as usize] = Some(now - *ready + turn);
        record.batch = Some(part);
    }
    lead.batch = Some(part);
    Some((lead, submitted))
}

#[allow(
    clippy::too_many_arguments,
    reason = "the halves of a tenant, as `threads` has them, and how long a frame waits"
)]
fn run_serial(
    prepare: &mut Prepare<'_>,
    submit: &Submit<'_>,
    finish: &mut Finish<'_>,
    mut places: Vec<FrameSlot>,
    wait: Option<Nanos>,
    front: &mut RecordSink,
    back: &mut RecordSink,
    common: Common<'_>,
) -> (Ended, Vec<FrameSlot>) {
    let Some(place) = places.first_mut() else {
        return (Ok(EndReason::Failed), places);
    };
    let mut work = || loop {
        if let Err(reason) = collect(prepare, place, wait, front) {
            return reason;
        }
        if let Some((lead, submitted)) = send(submit, place, common.clock.now()) {
            finish.batch(place, &lead, submitted, back);
        }
        if finish.failures.hopeless() {
            return EndReason::Failed;
        }
    };
    let worked = catch_unwind(AssertUnwindSafe(&mut work));
    prepare.close(front);
    (worked.map_err(|_| common.panicked()), places)
}

#[allow(
    clippy::too_many_arguments,
    reason = "the halves of a tenant, as `threads` has them, and how long a frame waits"
)]
fn run_overlapped<'a>(
    prepare: &mut Prepare<'_>,
    submit: &Submit<'a>,
    finish: &mut Finish<'_>,
    places: Vec<FrameSlot>,
    wait: Option<Nanos>,
    front: &mut RecordSink,
    back: &mut RecordSink,
    common: Common<'_>,
) -> (Ended, Vec<FrameSlot>) {
    let depth = places.len();
    // All slots fit, and a word of the other thread: sending never waits.
    let (free_in, free_out) = sync_channel(depth + 1);
    let (work_in, work_out) = sync_channel::<InFlight<'a>>(depth);
    for place in places {
        let _ = free_in.send(Back::Free(place));
    }
    let gave_up = &AtomicBool::new(false);
    let mut hand = None;
    let ended = std::thread::scope(|scope| {
        let broken = free_in.clone();
        let finisher = start(scope, common, broken, move || {
            for InFlight {
                mut place,
                lead,
                submitted,
            } in work_out
            {
                finish.batch(&mut place, &lead, submitted, back);
                if finish.failures.hopeless() {
                    gave_up.store(true, Ordering::Relaxed);
                }
                if free_in.send(Back::Free(place)).is_err() {
                    return;
                }
            }
        });
        let Some(finisher) = finisher else {
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
            let collected = match gave_up.load(Ordering::Relaxed) {
                true => Err(EndReason::Failed),
                false => collect(prepare, &mut place, wait, front),
            };
            if let Err(reason) = collected {
                hand = Some(place);
                return reason;
            }
            match send(submit, &mut place, common.clock.now()) {
                Some((lead, submitted)) => {
                    let in_flight = InFlight {
                        place,
                        lead,
                        submitted,
                    };
                    if work_in.send(in_flight).is_err() {
                        return EndReason::Failed;
                    }
                }
                None => hand = Some(place),
            }
        };
        let made = catch_unwind(AssertUnwindSafe(&mut make));
        prepare.close(front);
        // The other thread ends when nothing more can come.
        drop(work_in);
        match (made, finisher.join()) {
            (Ok(reason), Ok(true)) => Ok(reason),
            _ => Err(common.panicked()),
        }
    });
    let came_back = free_out.try_iter().filter_map(|back| match back {
        Back::Free(place) => Some(place),
        Back::Broken => None,
    });
    (ended, hand.into_iter().chain(came_back).collect())
}
