//! A tenant's releases as they come due: numbered, let into the waiting line, given up or taken from it.
//!
//! The threads of `pipeline` and the event loop of `simulate` differ in how they wait, and share this. It neither reads a clock
//! nor waits: whoever drives it says what time it is.

use std::collections::VecDeque;
use std::sync::Arc;

use super::arrival::{Due, Releases, SetDue};
use super::overload::{Release, WaitingLine};
use super::plan::PhasePlan;
use crate::record::{EndReason, FrameRecord, NO_CONTENT, Outcome, Sampled, Stage};
use crate::scenario::Overload;
use crate::source::live::LiveFeed;
use crate::source::timeline::Timeline;
use crate::units::{Nanos, Stamp};

/// What a tenant's releases are bound by.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The tenant's position in the scenario.
    pub tenant: u16,
    /// What happens under overload.
    pub overload: Overload,
    /// The promise that each frame is recorded with.
    pub deadline: Option<Nanos>,
    /// The tenant stops after this many frames, counted from the end of the warm-up.
    pub frames: Option<u64>,
    /// How many frames its source holds: there is no release without one. `None` for a source that does not end.
    pub length: Option<u64>,
}

/// The releases of one tenant in one phase, and the line of frames that wait for their turn.
pub struct ReleaseLine {
    limits: Limits,
    plan: PhasePlan,
    releases: Releases,
    /// Where frames come from when a live source has them.
    live: Option<Arc<LiveFeed>>,
    line: WaitingLine,
    /// Sets of sensors that will stay incomplete, with when they are given up. Until then nobody knows.
    incomplete: VecDeque<(Release, Stamp)>,
    /// Sets so far that stay incomplete: the source has no frame for them.
    without_frame: u64,
    /// Number of releases so far.
    sequence: u64,
    /// Of these, how many were due in the measured window.
    measured: u64,
    /// The frame of the last of them.
    last_frame: Option<u64>,
    sampled: Sampled,
    /// Whose image each frame of the source is, in a lap; empty where it is not of several cameras.
    cameras: Arc<[u8]>,
}

impl ReleaseLine {
    /// Before the first release.
    pub fn new(limits: Limits, plan: PhasePlan, releases: Releases) -> Self {
        ReleaseLine {
            line: WaitingLine::new(limits.overload),
            limits,
            plan,
            releases,
            live: None,
            incomplete: VecDeque::new(),
            without_frame: 0,
            sequence: 0,
            measured: 0,
            last_frame: None,
            sampled: Sampled::default(),
            cameras: Arc::default(),
        }
    }

    /// With frames of several cameras, as the source's times tell.
    #[must_use]
    pub fn of_cameras(mut self, timeline: Option<&Timeline>) -> Self {
        self.cameras = timeline.map(Timeline::cameras).unwrap_or_default();
        self
    }

    /// Whose image the frame with this number is.
    fn camera(&self, number: u64) -> Option<u8> {
        let within = number.checked_rem(self.cameras.len() as u64)?;
        self.cameras.get(usize::try_from(within).ok()?).copied()
    }

    /// With frames that are due when a live source has them.
    #[must_use]
    pub fn fed_by(mut self, live: Option<Arc<LiveFeed>>) -> Self {
        self.live = live;
        self
    }

    /// Where frames come from when a live source has them.
    pub fn live(&self) -> Option<&LiveFeed> {
        self.live.as_deref()
    }

    /// Whether a frame is released when the one before it is done, instead of at a time of its own.
    pub fn is_closed(&self) -> bool {
        self.releases.is_closed()
    }

    /// The frame whose turn it is.
    pub fn first(&self) -> Option<&Release> {
        self.line.first()
    }

    /// When the next frame is due by itself; `None` for a closed loop, and where no more may come.
    pub fn next_due(&self) -> Option<Stamp> {
        if self.is_closed() || !self.may_release() {
            return None;
        }
        self.releases.peek()
    }

    /// Lets every frame that is due by `now` join the line. Those that the overload policy gives up go to `dropped`, with the
    /// release that displaced them as their end. `woke_for`: the release that the tenant slept for, whose lateness counts.
    pub fn join_due(
        &mut self,
        now: Stamp,
        woke_for: Option<Stamp>,
        mut dropped: impl FnMut(Release, FrameRecord),
    ) {
        if let Some(live) = self.live.clone() {
            return self.join_live(&live, now, woke_for, dropped);
        }
        while self.next_due().is_some_and(|due| due <= now) {
            let Some(due) = self.releases.take() else { return };
            let lateness = match woke_for {
                Some(awaited) if awaited == due.at => now - due.at,
                _ => Nanos::ZERO,
            };
            self.join(due, lateness, &mut dropped);
        }
        self.give_up(now, &mut dropped);
    }

    /// The same for what has come of a live source. All of it, though `now` may be a moment before the last: what the source gives
    /// up meanwhile it gives up for these.
    fn join_live(
        &mut self,
        live: &LiveFeed,
        now: Stamp,
        woke_for: Option<Stamp>,
        mut dropped: impl FnMut(Release, FrameRecord),
    ) {
        let mut look = live.look();
        while self.may_release()
            && let Some((frame, came)) = look.unseen()
        {
            let lateness = match woke_for {
                Some(awaited) if awaited == came.at => (now - came.at).max(Nanos::ZERO),
                _ => Nanos::ZERO,
            };
            let due = Due {
                at: came.at,
                frame,
                captured: Some(came.captured),
                set: SetDue::There,
            };
            self.join(due, lateness, &mut dropped);
        }
        look.settle(self.line.first().map(|first| first.frame), self.line.len());
    }

    fn join(&mut self, due: Due, lateness: Nanos, dropped: &mut impl FnMut(Release, FrameRecord)) {
        let release = self.number(due, lateness);
        if let SetDue::Incomplete(until) = due.set {
            self.incomplete.push_back((release, until));
            return;
        }
        if let Some(given_up) = self.line.join(release) {
            let record = FrameRecord {
                outcome: Outcome::Dropped,
                ..self.record_of(given_up, due.at)
            };
            dropped(given_up, record);
        }
    }

    /// Gives up the sets that should have been complete by now.
    fn give_up(&mut self, now: Stamp, dropped: &mut impl FnMut(Release, FrameRecord)) {
        while let Some((release, until)) = self
            .incomplete
            .front()
            .copied()
            .filter(|(_, until)| *until <= now)
        {
            self.incomplete.pop_front();
            let mut record = FrameRecord {
                outcome: Outcome::Dropped,
                ..self.record_of(release, until)
            };
            record.stages[Stage::Synchronise as usize] = Some(until - release.due);
            dropped(release, record);
        }
    }

    /// The frame whose turn it is.
    pub fn take(&mut self) -> Option<Release> {
        self.line.take()
    }

    /// A closed loop's next frame, released now; `None` where no more may come.
    pub fn release_now(&mut self, now: Stamp) -> Option<Release> {
        self.may_release().then(|| {
            let due = Due {
                at: now,
                frame: self.sequence,
                captured: None,
                set: SetDue::There,
            };
            self.number(due, Nanos::ZERO)
        })
    }

    /// Whether another frame waits or will be due by `then`.
    pub fn is_due_by(&self, then: Stamp) -> bool {
        let has_come = || self.live.as_ref().is_some_and(|live| live.has_unseen());
        let is_released =
            || self.is_closed() || has_come() || self.releases.peek().is_some_and(|due| due <= then);
        !self.line.is_empty() || (self.may_release() && is_released())
    }

    /// Why there are no more releases; `None` while there are.
    pub fn exhausted(&self) -> Option<EndReason> {
        if self.may_release() {
            None
        } else if self.is_past_the_source() {
            Some(EndReason::EndOfSource)
        } else {
            Some(EndReason::Count)
        }
    }

    /// A frame's record at its start, without a source's frame yet.
    pub fn record_of(&self, release: Release, started: Stamp) -> FrameRecord {
        FrameRecord {
            tenant: self.limits.tenant,
            phase: self.plan.phase,
            warmup: release.due < self.plan.measured_from,
            outcome: Outcome::Completed,
            sequence: release.sequence,
            source_index: NO_CONTENT,
            released: release.due,
            started,
            finished: started,
            lateness: release.lateness,
            stages: [None; 9],
            deadline: self.limits.deadline,
            detections: 0,
            input_size: 0,
            submission: None,
            captured: release.captured,
            batch: None,
            skew: None,
            camera: self.camera(release.frame),
        }
    }

    /// Gives up the frames that still wait, as cut off at `cut`.
    pub fn cut_off(&mut self, cut: Stamp, mut unfinished: impl FnMut(Release, FrameRecord)) {
        let incomplete = self.incomplete.drain(..).map(|(release, _)| release);
        let waiting: Vec<Release> = incomplete
            .chain(std::iter::from_fn(|| self.line.take()))
            .collect();
        for release in waiting {
            let record = FrameRecord {
                outcome: Outcome::Unfinished,
                ..self.record_of(release, cut)
            };
            unfinished(release, record);
        }
    }

    /// Whether the source has one more frame, and the tenant's own limit allows it.
    fn may_release(&self) -> bool {
        !self.is_past_the_source() && self.limits.frames.is_none_or(|limit| self.measured < limit)
    }

    fn is_past_the_source(&self) -> bool {
        let next = match self.releases.is_sampled() {
            true => self.releases.next_frame().unwrap_or(0),
            false => self.sequence - self.without_frame,
        };
        self.limits.length.is_some_and(|length| next >= length)
    }

    /// What a timer made of the frames that came; `None` where releases are no timer's that takes the newest.
    pub fn sampled(&self) -> Option<Sampled> {
        self.releases.is_sampled().then_some(self.sampled)
    }

    /// Notes which frame a release of the measured time takes.
    fn note_frame(&mut self, due: Due) {
        if due.at >= self.plan.measured_from
            && let Some(last) = self.last_frame
        {
            match due.frame.saturating_sub(last) {
                0 => self.sampled.repeated += 1,
                further => self.sampled.skipped += further - 1,
            }
        }
        self.last_frame = Some(due.frame);
    }

    fn number(&mut self, due: Due, lateness: Nanos) -> Release {
        let sequence = self.sequence;
        self.note_frame(due);
        self.sequence += 1;
        self.without_frame += u64::from(matches!(due.set, SetDue::Incomplete(_)));
        self.measured += u64::from(due.at >= self.plan.measured_from);
        Release {
            sequence,
            due: due.at,
            frame: due.frame,
            captured: due.captured,
            complete: match due.set {
                SetDue::Complete(at) => Some(at),
                SetDue::There | SetDue::Incomplete(_) => None,
            },
            lateness,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Phase;
    use crate::scenario::{Arrival, Sharing};

    /// Releases at 0, 10, 20, … ns, the measured window from 20 to 100.
    fn every_ten() -> ReleaseLine {
        let arrival = Arrival::Periodic {
            hz: 1e8,
            phase: Nanos::ZERO,
            jitter: Nanos::ZERO,
        };
        let plan = PhasePlan {
            phase: Phase::Together,
            drawn_as: Phase::Together,
            traced: false,
            sharing: Sharing::Streams,
            epoch: Stamp(0),
            measured_from: Stamp(20),
            end: Stamp(100),
        };
        let limits = Limits {
            tenant: 3,
            overload: Overload::Queue { capacity: 100 },
            deadline: None,
            frames: None,
            length: None,
        };
        ReleaseLine::new(
            limits,
            plan,
            Releases::new(arrival, 1, plan.epoch, plan.end, None),
        )
    }

    /// The frames that wait, each with when it was due and how late its tenant woke for it.
    fn waiting(line: &mut ReleaseLine) -> Vec<(i64, i64)> {
        let releases = std::iter::from_fn(|| line.take());
        releases
            .map(|release| (release.due.0, release.lateness.0))
            .collect()
    }

    #[test]
    fn a_tenant_is_late_for_the_frame_that_it_slept_for_and_for_no_other() {
        let mut line = every_ten();
        line.join_due(Stamp(12), Some(Stamp(10)), |_, _| panic!("none is given up"));
        assert_eq!(waiting(&mut line), [(0, 0), (10, 2)]);
        line.join_due(Stamp(35), Some(Stamp(20)), |_, _| panic!("none is given up"));
        assert_eq!(waiting(&mut line), [(20, 15), (30, 0)]);
        line.join_due(Stamp(44), None, |_, _| panic!("none is given up"));
        assert_eq!(waiting(&mut line), [(40, 0)], "it was busy");
    }

    #[test]
    fn a_frame_is_due_from_its_release_on() {
        let mut line = every_ten();
        line.join_due(Stamp(0), None, |_, _| panic!("none is given up"));
        assert!(line.is_due_by(Stamp(0)), "it waits");
        assert_eq!(waiting(&mut line), [(0, 0)]);
        assert!(!line.is_due_by(Stamp(9)));
        assert!(line.is_due_by(Stamp(10)));
    }

    #[test]
    fn the_warm_up_ends_where_the_measured_window_begins() {
        let line = every_ten();
        let is_warmup = |due| {
            let release = Release {
                sequence: 0,
                due: Stamp(due),
                frame: 0,
                captured: None,
                complete: None,
                lateness: Nanos::ZERO,
            };
            line.record_of(release, Stamp(50)).warmup
        };
        assert_eq!([19, 20, 21].map(is_warmup), [true, false, false]);
    }
}
