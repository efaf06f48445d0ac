//! When answers are judged: as they are, or as late as they come.
//!
//! *Still* judges every answer against the truth at its frame's own time. *Stream* judges what a user of the detector has: there
//! is one moment a frame, and at it the newest answer that is ready counts.
//!
//! | frame | its moment in a stream | what counts then |
//! |---|---|---|
//! | answered in time | when its answer was ready | that answer, or a newer frame's that overtook it |
//! | answered after its deadline | its deadline | the last answer before |
//! | dropped or failed | its deadline; its release where there is none | the last answer before |
//!
//! Before the first answer of a scene nothing is found. Answers of another scene never count. With no delay and no drops a stream
//! is *still*. The idea is that of "Towards Streaming Perception" (Li, Wang and Ramanan, 2020), with a moment for each
//! frame rather than for each label.

use std::collections::BTreeMap;

use jetlag_record::units::{Nanos, Stamp};

use crate::truth::TruthError;

/// When a frame was taken and answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Frames of one scene have the same number; answers do not outlast their scene.
    pub scene: u32,
    /// When the frame was taken, on the truth's clock.
    pub captured: Nanos,
    /// When it was due, on the run's clock.
    pub released: Stamp,
    /// When its answer was ready, on the run's clock; `None` for a frame that was dropped or failed.
    pub finished: Option<Stamp>,
}

/// Whose answer counts at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// The frame's own, or a newer frame's.
    Own,
    /// The last one, since the frame's own came after its deadline.
    Late,
    /// The last one, since the frame was dropped or failed.
    Dropped,
}

/// A moment at which an answer is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Index of the frame that it belongs to.
    pub frame: usize,
    /// The scene.
    pub scene: u32,
    /// On the truth's clock.
    pub time: Nanos,
    /// Index of the frame whose answer counts; `None` where there is none yet, so that nothing is found.
    pub answer: Option<usize>,
    /// How long before the moment that frame was taken.
    pub age: Option<Nanos>,
    /// Why this answer.
    pub kept: Kept,
}

/// Moments at the frames' own times. Frames without an answer have none: how good an answer would have been is not known.
pub fn still(frames: &[Timing]) -> Vec<Moment> {
    let moments = frames
        .iter()
        .enumerate()
        .filter(|(_, timing)| timing.finished.is_some());
    moments
        .map(|(frame, timing)| Moment {
            frame,
            scene: timing.scene,
            time: timing.captured,
            answer: Some(frame),
            age: Some(Nanos::ZERO),
            kept: Kept::Own,
        })
        .collect()
}

/// One moment a frame, in the order of frames. Time goes on in the world as long as in the run.
pub fn stream(frames: &[Timing], deadline: Option<Nanos>) -> Vec<Moment> {
    let due = |timing: &Timing| timing.released + deadline.unwrap_or(Nanos::ZERO);
    let mut moments: Vec<(Stamp, usize, Kept)> = frames
        .iter()
        .enumerate()
        .map(|(frame, timing)| match timing.finished {
            Some(finished) if deadline.is_none() || finished <= due(timing) => (finished, frame, Kept::Own),
            Some(_) => (due(timing), frame, Kept::Late),
            None => (due(timing), frame, Kept::Dropped),
        })
        .collect();
    moments.sort_by_key(|(at, frame, _)| (*at, *frame));
    let mut ready: Vec<(Stamp, usize)> = frames
        .iter()
        .enumerate()
        .filter_map(|(frame, timing)| Some((timing.finished?, frame)))
        .collect();
    ready.sort_unstable();
    let mut ready = ready.into_iter().peekable();
    let mut newest: BTreeMap<u32, usize> = BTreeMap::new();
    let mut judged = Vec::with_capacity(frames.len());
    for (at, frame, kept) in moments {
        while let Some((_, answer)) = ready.next_if(|(finished, _)| *finished <= at) {
            let Some(timing) = frames.get(answer) else {
                continue;
            };
            let known = newest.entry(timing.scene).or_insert(answer);
            let is_newer = |than: usize| {
                frames
                    .get(than)
                    .is_none_or(|than| (timing.released, answer) > (than.released, *known))
            };
            if is_newer(*known) {
                *known = answer;
            }
        }
        let Some(timing) = frames.get(frame) else { continue };
        let time = timing.captured + at.since(timing.released);
        let answer = newest.get(&timing.scene).copied();
        let taken = answer.and_then(|answer| frames.get(answer));
        judged.push(Moment {
            frame,
            scene: timing.scene,
            time,
            answer,
            age: taken.map(|taken| time - taken.captured),
            kept,
        });
    }
    judged.sort_by_key(|moment| moment.frame);
    judged
}

/// Moments with what was there.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged<O> {
    /// Each moment whose truth is known, with it.
    pub frames: Vec<(Moment, Vec<O>)>,
    /// Moments left out because nothing is known of that time: after the last labels, mostly.
    pub unknown: usize,
}

/// Finds what was there at each moment.
///
/// # Errors
/// The first error of `truth`.
pub fn judge<O>(
    moments: &[Moment],
    mut truth: impl FnMut(&Moment) -> Result<Option<Vec<O>>, TruthError>,
) -> Result<Judged<O>, TruthError> {
    let mut judged = Judged {
        frames: Vec::with_capacity(moments.len()),
        unknown: 0,
    };
    for moment in moments {
        match truth(moment)? {
            Some(objects) => judged.frames.push((*moment, objects)),
            None => judged.unknown += 1,
        }
    }
    Ok(judged)
}

impl<O> Judged<O> {
    /// What a reader must know of these moments.
    pub fn notes(&self) -> Vec<String> {
        let count =
            |of: &dyn Fn(&Moment) -> bool| self.frames.iter().filter(|(moment, _)| of(moment)).count();
        let kept = [
            (count(&|m| m.kept == Kept::Late), "came after the deadline"),
            (count(&|m| m.kept == Kept::Dropped), "were dropped or failed"),
        ];
        let mut notes: Vec<String> = kept
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| {
                format!(
                    "{count} of {} frames {what}: the answer before counts",
                    self.frames.len()
                )
            })
            .collect();
        let without = count(&|m| m.answer.is_none());
        if without > 0 {
            notes.push(format!(
                "{without} frames had no answer to fall back on: nothing counts as found in them"
            ));
        }
        if self.unknown > 0 {
            notes.push(format!(
                "{} frames are left out: no label tells what was there at their moments",
                self.unknown
            ));
        }
        notes
    }
}
