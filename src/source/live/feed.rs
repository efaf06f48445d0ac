//! Between the thread that takes frames as they come and the tenant that works on them: what has come and was not looked at yet,
//! and the content of what waits.
//!
//! Which frames are given up is the waiting line's decision (`tenant::overload`), made when the tenant looks. Memory cannot wait for
//! that: a tenant may look away for long. So the feed keeps the content of no more frames than the line will, and knows which
//! these are: between two looks nobody leaves the line, so the line will keep either the newest or the first that come, by its
//! policy. At each look the tenant says how many wait, and which frame it takes next, whose content is then safe.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Came, LiveStart};
use crate::scenario::Overload;
use crate::source::SourceError;
use crate::units::{Nanos, Stamp};

/// Bytes of frames that wait, about: with larger frames fewer may wait.
const MOST_BYTES: usize = 256 << 20;
/// Frames that came while the tenant did not look; 65 536 are eleven minutes of 100 Hz. Those beyond are not told one by one.
const MOST_UNSEEN: usize = 1 << 16;

/// Why no more frames come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It is over.
    Over,
    /// Something is wrong with it, in words.
    Failed(Arc<str>),
}

/// Frames on their way to a tenant. Shared by two threads: that of the source and that of the tenant.
#[derive(Debug, Default)]
pub struct LiveFeed {
    state: Mutex<State>,
    came: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The phase for which frames are kept: those that come from its begin until before its end.
    phase: Option<(Stamp, Stamp)>,
    /// From when frames count, and how many of those may still come, where the tenant takes no more.
    most: Option<(Stamp, u64)>,
    keep: Keep,
    /// Number of the next frame, counted from the begin of the phase.
    next: u64,
    /// What came and was not looked at.
    unseen: VecDeque<(u64, Came)>,
    /// Frames that wait in the tenant's line, without the one that it takes next and with those that it has not seen.
    waiting: usize,
    /// The frame that it takes next, or took.
    claimed: Option<u64>,
    /// Content by number, ascending.
    contents: VecDeque<(u64, Vec<u8>)>,
    /// Memory to be used again.
    spare: Vec<Vec<u8>>,
    /// The largest frame so far.
    largest: usize,
    has_come: bool,
    ended: Option<Ended>,
}

/// Which frames the tenant's line keeps when more come than may wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Keep {
    #[default]
    Nothing,
    Newest(usize),
    First(usize),
}

impl LiveFeed {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is held; and what is there is whole all the same.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Of the frames of the next phase that come from this moment on the tenant takes so many: those after them are nobody's.
    pub fn limit(&self, measured_from: Stamp, frames: Option<u64>) {
        self.state().most = frames.map(|frames| (measured_from, frames));
    }

    /// A phase begins: its frames are those that come from `from` until before `to`. Answers the policy that holds: with large
    /// frames fewer may wait than were asked for.
    pub fn begin(&self, from: Stamp, to: Stamp, overload: Overload) -> Overload {
        let mut state = self.state();
        let fit = (MOST_BYTES / state.largest.max(1)).max(1);
        let (keep, overload) = match overload {
            Overload::Queue { capacity } => {
                let capacity = capacity.clamp(1, fit);
                (Keep::First(capacity), Overload::Queue { capacity })
            }
            Overload::DropNewest { queue } => {
                let queue = queue.clamp(1, fit);
                (Keep::First(queue), Overload::DropNewest { queue })
            }
            Overload::DropOldest { queue } => {
                let queue = queue.clamp(1, fit);
                (Keep::Newest(queue), Overload::DropOldest { queue })
            }
        };
        state.clear();
        state.phase = Some((from, to));
        state.keep = keep;
        overload
    }

    /// The phase is over: what comes is nobody's.
    pub fn end(&self) {
        let mut state = self.state();
        state.clear();
        state.phase = None;
    }

    /// The tenant looks at what has come.
    pub fn look(&self) -> Look<'_> {
        Look(self.state())
    }

    /// Waits until a frame has come that was not looked at, or the source has ended, at most until `longest` has passed. Answers
    /// when that frame came.
    pub fn wait(&self, longest: Nanos) -> Option<Stamp> {
        let longest = Duration::from_nanos(u64::try_from(longest.0).unwrap_or(0));
        let nothing = |state: &mut State| state.unseen.is_empty() && state.ended.is_none();
        let state = self.state();
        let (state, _) = self
            .came
            .wait_timeout_while(state, longest, nothing)
            .unwrap_or_else(PoisonError::into_inner);
        state.unseen.front().map(|(_, came)| came.at)
    }

    /// Whether a frame has come that was not looked at.
    pub fn has_unseen(&self) -> bool {
        !self.state().unseen.is_empty()
    }

    /// Why no more frames come; `None` while they do, or while some were not looked at.
    pub fn ended(&self) -> Option<Ended> {
        let state = self.state();
        state.ended.clone().filter(|_| state.unseen.is_empty())
    }

    /// The content of a frame, in exchange for other memory. `false` where it is not there.
    pub(super) fn take(&self, number: u64, raw: &mut Vec<u8>) -> bool {
        let mut state = self.state();
        while let Some((first, mut content)) = state.contents.pop_front() {
            if first > number {
                state.contents.push_front((first, content));
                break;
            }
            if first == number {
                std::mem::swap(raw, &mut content);
                state.spare.push(content);
                return true;
            }
            state.spare.push(content);
        }
        false
    }

    /// Waits for the first frame of all.
    pub(super) fn first(&self, until: Instant) -> Result<(), SourceError> {
        let nothing = |state: &mut State| !state.has_come && state.ended.is_none();
        let longest = until.saturating_duration_since(Instant::now());
        let state = self.state();
        let (state, _) = self
            .came
            .wait_timeout_while(state, longest, nothing)
            .unwrap_or_else(PoisonError::into_inner);
        match &state.ended {
            Some(Ended::Failed(why)) => Err(SourceError::Unread(Arc::clone(why))),
            _ if state.has_come => Ok(()),
            _ => Err(SourceError::Unread("it gave no frame".into())),
        }
    }

    /// Whether the source had ended; then it is to be begun once more.
    pub(super) fn reopen(&self) -> bool {
        self.state().ended.take().is_some()
    }

    /// Takes frames as they come until there are no more: the work of the source's own thread.
    pub(super) fn fill(&self, start: &dyn LiveStart) {
        let outcome = self.fill_from(start);
        let mut state = self.state();
        state.ended = Some(match outcome {
            Ok(()) => Ended::Over,
            Err(error) => Ended::Failed(error.to_string().into()),
        });
        drop(state);
        self.came.notify_all();
    }

    fn fill_from(&self, start: &dyn LiveStart) -> Result<(), SourceError> {
        let mut input = start.start()?;
        let mut raw = Vec::new();
        while let Some(came) = input.next(&mut raw)? {
            raw = self.state().lay(came, raw);
            self.came.notify_all();
        }
        Ok(())
    }

    /// A frame has come; answers memory for the next.
    #[cfg(test)]
    fn lay(&self, came: Came, raw: Vec<u8>) -> Vec<u8> {
        self.state().lay(came, raw)
    }
}

impl State {
    fn clear(&mut self) {
        self.next = 0;
        self.unseen.clear();
        self.waiting = 0;
        self.claimed = None;
        while let Some((_, content)) = self.contents.pop_front() {
            self.spare.push(content);
        }
    }

    /// A frame has come; answers memory for the next.
    fn lay(&mut self, came: Came, raw: Vec<u8>) -> Vec<u8> {
        self.has_come = true;
        self.largest = self.largest.max(raw.len());
        let is_of_the_phase = self
            .phase
            .is_some_and(|(from, to)| from <= came.at && came.at < to);
        if !is_of_the_phase || self.unseen.len() >= MOST_UNSEEN {
            return raw;
        }
        if let Some((from, left)) = &mut self.most
            && came.at >= *from
        {
            let Some(fewer) = left.checked_sub(1) else {
                return raw;
            };
            *left = fewer;
        }
        let number = self.next;
        self.next += 1;
        self.unseen.push_back((number, came));
        let most = match self.keep {
            Keep::Nothing => return raw,
            Keep::Newest(most) | Keep::First(most) => most,
        };
        if self.waiting < most {
            self.waiting += 1;
        } else if matches!(self.keep, Keep::First(_)) {
            return raw;
        } else {
            // The oldest will be given up for it.
            let oldest = self
                .contents
                .iter()
                .position(|(number, _)| Some(*number) != self.claimed);
            if let Some((_, content)) = oldest.and_then(|oldest| self.contents.remove(oldest)) {
                self.spare.push(content);
            }
        }
        self.contents.push_back((number, raw));
        self.spare.pop().unwrap_or_default()
    }
}

/// A look of the tenant at what has come. Nothing comes meanwhile, so it is short.
pub struct Look<'a>(MutexGuard<'a, State>);

impl Look<'_> {
    /// The next frame that it has not seen: its number and its times.
    pub fn unseen(&mut self) -> Option<(u64, Came)> {
        self.0.unseen.pop_front()
    }

    /// What the tenant's line has come to: the frame that is taken next, and how many wait with it.
    pub fn settle(mut self, first: Option<u64>, waiting: usize) {
        self.0.claimed = first;
        // What was not let into the line waits no more than what was given up.
        self.0.unseen.clear();
        self.0.waiting = waiting.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tenant::overload::{Release, WaitingLine};

    fn came(at: i64) -> Came {
        Came {
            at: Stamp(at),
            captured: Stamp(at),
        }
    }

    fn release(number: u64) -> Release {
        Release {
            sequence: number,
            due: Stamp(0),
            frame: number,
            captured: None,
            complete: None,
            lateness: Nanos::ZERO,
        }
    }

    fn phase(overload: Overload) -> LiveFeed {
        let feed = LiveFeed::default();
        feed.begin(Stamp(0), Stamp(i64::MAX), overload);
        feed
    }

    #[test]
    fn frames_before_and_after_a_phase_are_nobody_s() {
        let feed = LiveFeed::default();
        feed.lay(came(5), vec![1]);
        feed.begin(Stamp(10), Stamp(20), Overload::DropOldest { queue: 9 });
        for at in [9, 10, 19, 20] {
            feed.lay(came(at), vec![at as u8]);
        }
        let seen: Vec<_> = std::iter::from_fn({
            let mut look = feed.look();
            move || look.unseen()
        })
        .collect();
        assert_eq!(seen, [(0, came(10)), (1, came(19))]);
        let mut raw = Vec::new();
        assert!(feed.take(1, &mut raw) && raw == [19]);
        assert!(!feed.take(2, &mut raw));
        feed.end();
        feed.lay(came(15), vec![7]);
        assert!(!feed.has_unseen());
    }

    #[test]
    fn what_comes_after_the_tenant_s_last_frame_takes_no_other_s_place() {
        let feed = LiveFeed::default();
        feed.limit(Stamp(10), Some(2));
        feed.begin(Stamp(0), Stamp(i64::MAX), Overload::DropOldest { queue: 1 });
        for at in [9, 10, 11, 12] {
            feed.lay(came(at), vec![at as u8]);
        }
        let mut look = feed.look();
        let seen = std::iter::from_fn(|| look.unseen()).count();
        look.settle(Some(2), 1);
        assert_eq!(seen, 3, "one of the warm-up, and two");
        let mut raw = Vec::new();
        assert!(feed.take(2, &mut raw) && raw == [11]);
    }

    #[test]
    fn with_large_frames_fewer_may_wait() {
        let feed = LiveFeed::default();
        let begin = |queue| feed.begin(Stamp(0), Stamp(1), Overload::DropOldest { queue });
        assert_eq!(begin(50_000), Overload::DropOldest { queue: 50_000 });
        feed.state().largest = 64 << 20;
        assert_eq!(begin(50_000), Overload::DropOldest { queue: 4 });
        feed.state().largest = usize::MAX;
        assert_eq!(begin(50_000), Overload::DropOldest { queue: 1 });
    }

    #[test]
    fn a_wait_ends_with_a_frame_with_the_source_or_with_its_time() {
        let feed = phase(Overload::DropOldest { queue: 1 });
        assert_eq!(feed.wait(Nanos::from_millis(1)), None);
        assert_eq!(feed.wait(Nanos(-5)), None);
        feed.lay(came(3), vec![]);
        assert_eq!(feed.wait(Nanos::from_secs(1000)), Some(Stamp(3)));
        feed.state().ended = Some(Ended::Over);
        assert_eq!(feed.ended(), None, "a frame was not looked at");
        feed.look().settle(None, 0);
        assert_eq!(feed.ended(), Some(Ended::Over));
        assert_eq!(feed.wait(Nanos::from_secs(1000)), None);
    }

    proptest! {
        /// Whatever comes between looks: the content of a frame that the line takes is there, and no more is kept than may wait.
        #[test]
        fn the_line_s_frames_have_their_content(
            newest in any::<bool>(),
            queue in 1_usize..4,
            steps in prop::collection::vec(0_u8..6, 1..80),
        ) {
            let overload = match newest {
                true => Overload::DropOldest { queue },
                false => Overload::DropNewest { queue },
            };
            let (feed, mut line) = (phase(overload), WaitingLine::new(overload));
            let (mut sent, mut raw) = (0_u64, Vec::new());
            for comes in steps {
                // So many frames, then a look, and then some more before the content is asked for.
                let mut send = |times| {
                    for _ in 0..times {
                        feed.lay(came(sent as i64), vec![sent as u8]);
                        sent += 1;
                    }
                };
                send(comes);
                let mut look = feed.look();
                while let Some((number, _)) = look.unseen() {
                    line.join(release(number));
                }
                look.settle(line.first().map(|first| first.frame), line.len());
                send(comes / 2);
                if let Some(taken) = line.take() {
                    prop_assert!(feed.take(taken.frame, &mut raw), "{} of {sent}", taken.frame);
                    prop_assert_eq!(&raw, &[taken.frame as u8]);
                }
                let state = feed.state();
                prop_assert!(state.contents.len() <= queue + 1);
                prop_assert!(state.contents.len() + state.spare.len() <= queue + 3);
            }
        }
    }
}
