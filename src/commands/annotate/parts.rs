//! The parts of the work, each a thread: read, prepare and submit, wait and postprocess, draw, encode. Frames go from one to the next
//! through bounded channels, and round: there are only so many, so memory does not grow with the video.
//!
//! A frame without detections, whatever the reason, goes on: if there is an image it is written without boxes, so that the video
//! keeps its times.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};

use anyhow::Context;
use jetlag_draw::{Kind, Mark, draw};

use super::sink::{Sink, Written};
use super::task::{CLOCK, Task};
use crate::backend::Slot;
use crate::clock::Clock;
use crate::detector::{Carry, Postprocess, Preprocess};
use crate::record::{EndReason, Finding, Stage};
use crate::source::Source;
use crate::tenant::pipeline::Runner;
use crate::units::Nanos;

/// Frames between the parts, beyond those on the backend: one in each part's hands, and one before it.
const BETWEEN: usize = 8;
/// After so many frames in a row that could not be read no other is tried: a video that ended early has no more.
const GIVE_UP_AFTER: u32 = 10;

/// A slot of the backend with what stays with it.
struct Place {
    slot: Box<dyn Slot>,
    carry: Carry,
}

/// How the whole went.
pub(super) struct Went {
    pub(super) reason: EndReason,
    pub(super) written: anyhow::Result<Written>,
    /// What the backend noticed.
    pub(super) findings: Vec<Finding>,
}

/// What is submitted, or could not be.
struct InFlight {
    task: Task,
    place: Option<Place>,
}

/// Sends all frames of the runner's source through its detector, draws, and gives them to the sink. `began` is when reading began.
///
/// # Errors
/// No threads can be had, or one of them panicked.
pub(super) fn run(
    runner: &mut Runner,
    classes: &[String],
    sink: Sink<'_>,
    stop: &AtomicBool,
) -> anyhow::Result<Went> {
    let places: Vec<Place> = std::mem::take(&mut runner.slots)
        .into_iter()
        .map(|slot| Place {
            slot,
            carry: Carry::default(),
        })
        .collect();
    let (Some(preprocess), Some(postprocess)) = (
        runner.preprocess.as_deref_mut(),
        runner.postprocess.as_deref_mut(),
    ) else {
        anyhow::bail!("the detector has no boxes to draw");
    };
    let source = runner.source.as_mut();
    let tasks = places.len() + BETWEEN;
    let (free_in, free_out) = sync_channel(tasks);
    for _ in 0..tasks {
        let _ = free_in.send(Task::default());
    }
    let (slots_in, slots_out) = sync_channel(places.len());
    let depth = places.len();
    for place in places {
        let _ = slots_in.send(place);
    }
    std::thread::scope(|scope| {
        // One place each beyond the sum of all frames would not be used: no send but for the last part's waits.
        let (read_in, read_out) = sync_channel(tasks);
        let (made_in, made_out) = sync_channel(depth);
        let (found_in, found_out) = sync_channel(tasks);
        let (drawn_in, drawn_out) = sync_channel(tasks);
        let reader = start(scope, "read", move || read(source, &free_out, &read_in, stop))?;
        let maker = start(scope, "prepare", move || {
            make(preprocess, &slots_out, &read_out, &made_in)
        })?;
        let finisher = start(scope, "detect", move || {
            finish(postprocess, &slots_in, &made_out, &found_in)
        })?;
        let drawer = start(scope, "draw", move || paint(classes, &found_out, &drawn_in))?;
        let writer = start(scope, "encode", move || sink.take_all(&drawn_out, &free_in))?;
        let panicked = |_| anyhow::anyhow!("a thread panicked; please report it with the command");
        let written = writer.join().map_err(panicked)?;
        let reason = reader.join().map_err(panicked)?;
        maker.join().map_err(panicked)?;
        let findings = finisher.join().map_err(panicked)?;
        drawer.join().map_err(panicked)?;
        Ok(Went {
            reason,
            written,
            findings,
        })
    })
}

fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> anyhow::Result<ScopedJoinHandle<'scope, T>> {
    let thread = Builder::new().name(name.to_owned());
    thread.spawn_scoped(scope, work).context("cannot start a thread")
}

fn read(
    source: &mut dyn Source,
    free: &Receiver<Task>,
    to: &SyncSender<Task>,
    stop: &AtomicBool,
) -> EndReason {
    let mut in_a_row = 0;
    for sequence in 0.. {
        let Ok(mut task) = free.recv() else {
            return EndReason::Failed;
        };
        if stop.load(Ordering::Relaxed) {
            return EndReason::Interrupted;
        }
        let began = CLOCK.now();
        task.begin(sequence, began);
        match source.acquire(&mut task.frame) {
            Ok(false) => return EndReason::EndOfSource,
            Ok(true) => {
                task.record.source_index = task.frame.index;
                let acquired = CLOCK.now();
                task.stage(Stage::Acquire, acquired - began);
                match source.decode(&mut task.frame) {
                    Ok(()) => {
                        task.has_image = true;
                        task.stage(Stage::Decode, CLOCK.now() - acquired);
                    }
                    Err(error) => task.fail(CLOCK.now(), &error),
                }
            }
            Err(error) => task.fail(CLOCK.now(), &error),
        }
        task.ready = CLOCK.now();
        task.busy.0[0] = task.ready - began;
        in_a_row = if task.problem.is_some() { in_a_row + 1 } else { 0 };
        if to.send(task).is_err() || in_a_row >= GIVE_UP_AFTER {
            return EndReason::Failed;
        }
    }
    EndReason::EndOfSource
}

fn make(
    preprocess: &mut dyn Preprocess,
    slots: &Receiver<Place>,
    from: &Receiver<Task>,
    to: &SyncSender<InFlight>,
) {
    let mut hand: Option<Place> = None;
    for mut task in from {
        let mut submitted = None;
        if task.has_image {
            let Some(mut place) = hand.take().or_else(|| slots.recv().ok()) else {
                return;
            };
            let began = CLOCK.now();
            task.waited(began - task.ready);
            let done = prepare(preprocess, &mut task, &mut place);
            let now = CLOCK.now();
            task.busy.0[1] = now - began;
            task.ready = now;
            match done {
                Ok(()) => submitted = Some(place),
                Err(problem) => {
                    task.fail(now, &problem);
                    hand = Some(place);
                }
            }
        }
        if to
            .send(InFlight {
                task,
                place: submitted,
            })
            .is_err()
        {
            return;
        }
    }
}

fn prepare(preprocess: &mut dyn Preprocess, task: &mut Task, place: &mut Place) -> anyhow::Result<()> {
    let began = CLOCK.now();
    task.record.input_size = preprocess.run(&task.frame, place.slot.tensors_mut(), &mut place.carry)?;
    task.stage(Stage::Preprocess, CLOCK.now() - began);
    Ok(place.slot.submit()?)
}

fn finish(
    postprocess: &mut dyn Postprocess,
    slots: &SyncSender<Place>,
    from: &Receiver<InFlight>,
    to: &SyncSender<Task>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for InFlight { mut task, place } in from {
        if let Some(mut place) = place {
            if let Err(problem) = result(postprocess, &mut task, &mut place) {
                task.fail(CLOCK.now(), &problem);
            }
            findings.extend(place.slot.take_findings());
            // It ends with its last frame, when nobody takes slots any more.
            let _ = slots.send(place);
        }
        if to.send(task).is_err() {
            return findings;
        }
    }
    findings
}

fn result(postprocess: &mut dyn Postprocess, task: &mut Task, place: &mut Place) -> anyhow::Result<()> {
    let times = place.slot.wait()?;
    let done = CLOCK.now();
    let stages = [
        (Stage::H2d, times.h2d),
        (Stage::Compute, times.compute),
        (Stage::D2h, times.d2h),
    ];
    for (stage, took) in stages {
        task.record.stages[stage as usize] = took;
        task.busy.0[2] += took.unwrap_or(Nanos::ZERO);
    }
    if let Some(queue) = times.queue {
        task.waited(queue);
    }
    task.record.submission = times.submission;
    postprocess.run(place.slot.tensors(), &place.carry, &mut task.found)?;
    task.record.finished = CLOCK.now();
    let took = task.record.finished - done;
    task.stage(Stage::Postprocess, took);
    task.busy.0[3] = took;
    task.record.detections = task.found.len() as u32;
    Ok(())
}

fn paint(classes: &[String], from: &Receiver<Task>, to: &SyncSender<Task>) {
    for mut task in from {
        let began = CLOCK.now();
        if task.problem.is_none() {
            paint_one(classes, &mut task);
        }
        let drawn = CLOCK.now();
        task.drawn = (began, drawn);
        task.busy.0[4] = drawn - began;
        if to.send(task).is_err() {
            return;
        }
    }
}

fn paint_one(classes: &[String], task: &mut Task) {
    let found = std::mem::take(&mut task.found);
    if let Some(image) = task.image() {
        let marks: Vec<Mark<'_>> = found
            .iter()
            .map(|detection| {
                let class = classes.get(usize::from(detection.class));
                Mark {
                    kind: Kind::Found,
                    class: detection.class,
                    text: format!("{} {:.2}", class.map_or("?", String::as_str), detection.score).into(),
                    place: detection.place,
                }
            })
            .collect();
        let size = [image.width, image.height];
        if let Err(error) = draw(&mut image.rgb, size, &marks) {
            task.problem = Some(error.to_string());
        }
    }
    task.found = found;
}
