//! A frame and how it went: stages, phases, stamps.

use serde::{Deserialize, Serialize};

use crate::detection::Detection;
use crate::phase::Phase;
use crate::units::{Nanos, Stamp};

/// The stages of a frame, in the order in which they happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "defined in the vocabulary, docs/measurement.md")]
pub enum Stage {
    Synchronise,
    Acquire,
    Decode,
    Preprocess,
    H2d,
    Queue,
    Compute,
    D2h,
    Postprocess,
}

impl Stage {
    /// All stages, in order; a stage's position here is its index in [`FrameRecord::stages`].
    pub const ALL: [Stage; 9] = [
        Stage::Synchronise,
        Stage::Acquire,
        Stage::Decode,
        Stage::Preprocess,
        Stage::H2d,
        Stage::Queue,
        Stage::Compute,
        Stage::D2h,
        Stage::Postprocess,
    ];
    /// The word used in the run file, in JSON and on screen.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Synchronise => "synchronise",
            Stage::Acquire => "acquire",
            Stage::Decode => "decode",
            Stage::Preprocess => "preprocess",
            Stage::H2d => "h2d",
            Stage::Queue => "queue",
            Stage::Compute => "compute",
            Stage::D2h => "d2h",
            Stage::Postprocess => "postprocess",
        }
    }
}

/// How a frame ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Outcome {
    /// It ended with a result, in time or late.
    #[default]
    Completed = 0,
    /// Dropped under overload; a drop is a miss.
    Dropped = 1,
    /// Failed with an error; see the log.
    Failed = 2,
    /// Released, and cut off by the end of the run. Such a frame counts only if its deadline had passed (as missed).
    Unfinished = 3,
}

/// The record of one frame. It holds plain values, so that recording it is a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameRecord {
    /// Position of the tenant in the scenario.
    pub tenant: u16,
    /// The phase that it belongs to.
    pub phase: Phase,
    /// Whether it was released before the measured window.
    pub warmup: bool,
    /// How the frame ended.
    pub outcome: Outcome,
    /// Its number among the tenant's releases in this phase, from 0, including drops.
    pub sequence: u64,
    /// Index of its content in the source; [`NO_CONTENT`] for a frame that was never fetched.
    pub source_index: u64,
    /// Release: when it was due.
    pub released: Stamp,
    /// When its work began; equals `finished` for a drop.
    pub started: Stamp,
    /// When its result was ready, or when it was dropped, failed or cut off.
    pub finished: Stamp,
    /// How late the waiting tenant woke for the release; zero if it was busy then.
    pub lateness: Nanos,
    /// Time in each stage, indexed as [`Stage::ALL`].
    pub stages: [Option<Nanos>; 9],
    /// Its deadline for the response time, if any.
    pub deadline: Option<Nanos>,
    /// How many objects the detector reported; 0 where it did not complete.
    pub detections: u32,
    /// Points or pixels that entered preprocessing.
    pub input_size: u32,
    /// The submission of its work to a device; `None` if it used none.
    pub submission: Option<Submission>,
    /// When its content was captured, on the clock of the run; `None` where the releases do not follow a recording's time.
    pub captured: Option<Stamp>,
    /// The batch in which it was inferred; `None` where each frame has an inference of its own.
    pub batch: Option<BatchPart>,
    /// How far apart the captures of a set of several sensors lie, in the recording's time; `None` for a frame of one sensor.
    pub skew: Option<Nanos>,
    /// Of a source of several cameras, whose image it is: the position in its list. `None` for a source of one sensor or of sets.
    pub camera: Option<u8>,
}

/// A frame's part in an inference of several frames. All of them have the stages of that inference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchPart {
    /// [`FrameRecord::sequence`] of the batch's first frame, by which its frames know each other.
    pub first: u64,
    /// Frames in it; fewer than the scenario's `batch` where no more came in time.
    pub items: u32,
}

/// How the host submitted a frame's work to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submission {
    /// Host time from the first call that enqueues the frame's work (copies in, networks, copies out) to the return of
    /// the last. If host steps come between networks, the sum over the stretches between them.
    pub took: Nanos,
    /// The time of *compute* in which the host was still submitting; `None` without that stage.
    pub in_compute: Option<Nanos>,
}

impl Submission {
    /// The sum for two stretches of one frame.
    #[must_use]
    pub fn and(self, other: Submission) -> Submission {
        Submission {
            took: self.took + other.took,
            in_compute: match (self.in_compute, other.in_compute) {
                (Some(a), Some(b)) => Some(a + b),
                (a, b) => a.or(b),
            },
        }
    }
}

impl FrameRecord {
    /// A completed frame of the first tenant's measurement that was served from its release on. Of the rest nothing is known: no
    /// stages, deadline, submission or capture time, and zero elsewhere.
    pub fn completed(released: Stamp, finished: Stamp) -> FrameRecord {
        FrameRecord {
            released,
            started: released,
            finished,
            ..FrameRecord::default()
        }
    }

    /// Response time: `finished − released`.
    pub fn response(&self) -> Nanos {
        self.finished - self.released
    }
    /// Service time: `finished − started`.
    pub fn service(&self) -> Nanos {
        self.finished - self.started
    }
    /// Age of the result: `finished − captured`, where the capture time is known.
    pub fn age(&self) -> Option<Nanos> {
        self.captured.map(|captured| self.finished - captured)
    }
    /// Queueing: `started − released`.
    pub fn queueing(&self) -> Nanos {
        self.started - self.released
    }
    /// When it had waited for the others of its batch; `started` where it has an inference of its own. From then on it is work, and
    /// before it only what was prepared meanwhile.
    pub fn worked_from(&self) -> Stamp {
        if self.batch.is_none() {
            return self.started;
        }
        let before = [
            Stage::Synchronise,
            Stage::Acquire,
            Stage::Decode,
            Stage::Preprocess,
            Stage::Queue,
        ];
        let waited = before.into_iter().filter_map(|stage| self.stages[stage as usize]);
        let waited = waited.fold(Nanos::ZERO, |sum, took| sum + took);
        (self.started + waited).clamp(self.started, self.finished.max(self.started))
    }
    /// Whether its stamps follow each other as those of a frame do: nothing starts or ends before it is due.
    pub fn is_in_order(&self) -> bool {
        self.released <= self.started && self.started <= self.finished && self.lateness >= Nanos::ZERO
    }
    /// Whether it is a set of sensors that stayed incomplete, and was given up for that.
    pub fn stayed_incomplete(&self) -> bool {
        self.outcome == Outcome::Dropped && self.stages[Stage::Synchronise as usize].is_some()
    }
    /// Whether it missed: finished late, was cut off when already late, failed under a deadline, or was dropped.
    pub fn missed(&self) -> bool {
        match self.outcome {
            Outcome::Completed | Outcome::Unfinished => self.deadline.is_some_and(|d| self.response() > d),
            Outcome::Dropped => true,
            Outcome::Failed => self.deadline.is_some(),
        }
    }
}

/// The source index of a frame that was dropped or failed before its content was fetched.
pub const NO_CONTENT: u64 = u64::MAX;

/// The objects found in one frame.
#[derive(Clone, Debug, PartialEq)]
pub struct DetectionsRecord {
    /// Position of the tenant in the scenario.
    pub tenant: u16,
    /// [`FrameRecord::sequence`] of the frame.
    pub sequence: u64,
    /// [`FrameRecord::source_index`] of the frame.
    pub source_index: u64,
    /// When the result was ready.
    pub at: Stamp,
    /// What was found, best score first.
    pub detections: Vec<Detection>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_of_submission_add_up_where_they_were_measured() {
        let stretch = |took, in_compute: Option<i64>| Submission {
            took: Nanos(took),
            in_compute: in_compute.map(Nanos),
        };
        for (one, other, both) in [
            (stretch(30, Some(20)), stretch(5, Some(4)), stretch(35, Some(24))),
            (stretch(30, None), stretch(5, Some(4)), stretch(35, Some(4))),
            (stretch(30, Some(20)), stretch(5, None), stretch(35, Some(20))),
            (stretch(30, None), stretch(5, None), stretch(35, None)),
        ] {
            assert_eq!(one.and(other), both);
        }
    }
}
