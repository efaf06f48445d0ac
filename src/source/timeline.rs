//! When a recording's frames were captured and when they came, counted from the begin of what was selected of the recording.

use std::sync::Arc;

use crate::units::Nanos;

/// The gap after a single frame that comes again and again.
const ALONE: Nanos = Nanos::from_secs(1);

/// When a frame was captured, and when it came to whoever recorded it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameTime {
    /// When the sensor captured it; before the begin of the selection where it took some time to come.
    pub captured: Nanos,
    /// When it came, and is released in a replay.
    pub came: Nanos,
}

/// The times of a source's frames, and of one lap. Sources of one recording have the same begin and the same lap, so that they
/// stay in step however often it is repeated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    frames: Vec<FrameTime>,
    lap: Nanos,
    sets: Option<Sets>,
    /// The moment that each frame is of, counted from 0 and never backwards; empty where each has one of its own.
    moments: Vec<u32>,
    /// Whose image each frame is, of a source of several cameras; empty for any other.
    cameras: Arc<[u8]>,
}

/// Of frames that are sets of several sensors: when they are complete, and which never are. A set comes with its first frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sets {
    /// When the last frame of each set came.
    pub complete: Vec<Nanos>,
    /// How far apart the captures of each set lie.
    pub skew: Vec<Nanos>,
    /// When the first frame of each set came that stays incomplete, in order. They have no number among the frames.
    pub incomplete: Vec<Nanos>,
    /// How long a set is waited for.
    pub tolerance: Nanos,
}

impl Timeline {
    /// Frames in the order in which they came, of a selection that lasts `lap`. A frame that would have come before the one in
    /// front of it came with that one; a lap that ends before the last frame came is made longer.
    pub fn new(mut frames: Vec<FrameTime>, lap: Nanos) -> Timeline {
        let mut latest = Nanos(i64::MIN);
        for frame in &mut frames {
            latest = latest.max(frame.came);
            frame.came = latest;
        }
        let least = frames.last().map_or(Nanos::ZERO, |last| last.came + Nanos(1));
        Timeline {
            frames,
            lap: lap.max(least),
            sets: None,
            moments: Vec::new(),
            cameras: Arc::default(),
        }
    }

    /// The longest time without a frame: how many come before it, how long it is, and when the next one comes.
    pub fn longest_gap(&self) -> Option<(usize, Nanos, Nanos)> {
        let steps = self.frames.windows(2).enumerate();
        let gaps = steps.map(|(place, pair)| (place + 1, pair[1].came - pair[0].came, pair[1].came));
        gaps.max_by_key(|(_, length, _)| *length)
    }

    /// The same, of frames of which several are of one moment: one number a frame, from 0 and never backwards.
    #[must_use]
    pub fn of_moments(mut self, moments: Vec<u32>) -> Timeline {
        self.moments = moments;
        self
    }

    /// The same, of images of several cameras: whose each is.
    #[must_use]
    pub fn of_cameras(mut self, cameras: Arc<[u8]>) -> Timeline {
        self.cameras = cameras;
        self
    }

    /// Whose image each frame of a lap is; empty where the source is not of several cameras.
    pub fn cameras(&self) -> Arc<[u8]> {
        Arc::clone(&self.cameras)
    }

    /// The moment of the frame with this number, both counted through all laps; `None` where each frame has one of its own.
    pub fn moment(&self, number: u64) -> Option<u64> {
        let length = self.moments.len() as u64;
        let within = usize::try_from(number.checked_rem(length)?).ok()?;
        let in_lap = u64::from(*self.moments.last()?) + 1;
        (number / length)
            .checked_mul(in_lap)?
            .checked_add(u64::from(*self.moments.get(within)?))
    }

    /// The same, of frames that are sets. A lap lasts until its last set is complete.
    #[must_use]
    pub fn of_sets(mut self, sets: Sets) -> Timeline {
        let last = sets.complete.iter().chain(&sets.incomplete).max();
        self.lap = self.lap.max(last.map_or(Nanos::ZERO, |last| *last + Nanos(1)));
        self.sets = Some(sets);
        self
    }

    /// The times of one lap.
    pub fn frames(&self) -> &[FrameTime] {
        &self.frames
    }

    /// How long a lap is.
    pub fn lap(&self) -> Nanos {
        self.lap
    }

    /// When the set with this number is complete, counted as by [`Timeline::at`]; `None` where frames are no sets.
    pub fn complete(&self, number: u64) -> Option<Nanos> {
        self.in_laps(&self.sets.as_ref()?.complete, number)
    }

    /// How far apart the captures of the set with this number lie.
    pub fn skew(&self, number: u64) -> Option<Nanos> {
        let skews = &self.sets.as_ref()?.skew;
        let within = number.checked_rem(skews.len() as u64)?;
        skews.get(usize::try_from(within).ok()?).copied()
    }

    /// When the first frame came of the incomplete set with this number, counted through all laps, and when it is given up.
    pub fn incomplete(&self, number: u64) -> Option<(Nanos, Nanos)> {
        let sets = self.sets.as_ref()?;
        let opened = self.in_laps(&sets.incomplete, number)?;
        Some((opened, Nanos(opened.0.checked_add(sets.tolerance.0)?)))
    }

    fn in_laps(&self, times: &[Nanos], number: u64) -> Option<Nanos> {
        let length = times.len() as u64;
        let within = times.get(usize::try_from(number.checked_rem(length)?).ok()?)?;
        let laps = i64::try_from(number / length).ok()?;
        Some(Nanos(laps.checked_mul(self.lap.0)?.checked_add(within.0)?))
    }

    /// A source by itself, whose frames came when they were captured: it begins again one mean gap after its last frame.
    pub fn of_captures(times: impl IntoIterator<Item = Nanos>) -> Timeline {
        let at_once = |at| FrameTime {
            captured: at,
            came: at,
        };
        let frames: Vec<FrameTime> = times.into_iter().map(at_once).collect();
        let lap = match frames.as_slice() {
            [first, .., last] => last.came + Nanos((last.came - first.came).0 / (frames.len() as i64 - 1)),
            [only] => only.came + ALONE,
            [] => Nanos::ZERO,
        };
        Timeline::new(frames, lap)
    }

    /// The times of the frame with this number, counted through all laps; `None` where there are no frames at all, or where
    /// 64 bits of nanoseconds do not reach.
    pub fn at(&self, number: u64) -> Option<FrameTime> {
        let length = self.frames.len() as u64;
        let frame = self
            .frames
            .get(usize::try_from(number.checked_rem(length)?).ok()?)?;
        let laps = i64::try_from(number / length).ok()?;
        let begin = laps.checked_mul(self.lap.0)?;
        Some(FrameTime {
            captured: Nanos(begin.checked_add(frame.captured.0)?),
            came: Nanos(begin.checked_add(frame.came.0)?),
        })
    }

    /// The number of the newest frame that has come by `then`, counted through all laps; of sets, the newest that is complete.
    pub fn newest(&self, then: Nanos) -> Option<u64> {
        let length = self.frames.len() as u64;
        let laps = then.0.checked_div_euclid(self.lap.0)?;
        let within = Nanos(then.0.rem_euclid(self.lap.0));
        let came = match &self.sets {
            Some(sets) => sets.complete.partition_point(|at| *at <= within),
            None => self.frames.partition_point(|frame| frame.came <= within),
        } as u64;
        // Those of the laps before, and of this one.
        let all = u64::try_from(laps).ok()?.checked_mul(length)?.checked_add(came)?;
        all.checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn came(timeline: &Timeline, count: u64) -> Vec<i64> {
        (0..count).map_while(|n| Some(timeline.at(n)?.came.0)).collect()
    }

    #[test]
    fn a_source_by_itself_begins_again_one_mean_gap_after_its_last_frame() {
        let timeline = Timeline::of_captures([0, 100, 300].map(Nanos));
        assert_eq!(came(&timeline, 5), [0, 100, 300, 450, 550]);
        let single = Timeline::of_captures([Nanos(7)]);
        assert_eq!(came(&single, 3), [7, 1_000_000_014, 2_000_000_021]);
        assert_eq!(Timeline::of_captures([]).at(0), None);
        assert_eq!(single.at(u64::MAX), None, "there is no such time");
    }

    #[test]
    fn topics_of_one_selection_stay_in_step_over_a_hundred_laps() {
        let lap = Nanos::from_secs(2);
        let topic = |hz: i64, delay: i64| {
            let frames = (0..2 * hz).map(|n| {
                let captured = Nanos(n * 1_000_000_000 / hz);
                FrameTime {
                    captured,
                    came: captured + Nanos(delay),
                }
            });
            Timeline::new(frames.collect(), lap)
        };
        for (hz, delay) in [(10, 0), (12, 3_000_000), (30, 40_000)] {
            let topic = topic(hz as i64, delay);
            for second in 0..200 {
                let frame = topic.at(second * hz).unwrap();
                assert_eq!(frame.captured, Nanos::from_secs(second as i64), "{hz} Hz");
                assert_eq!(frame.came - frame.captured, Nanos(delay));
            }
        }
    }

    #[test]
    fn the_newest_frame_is_the_last_that_came() {
        let timeline = Timeline::new(
            [(0, 5), (10, 12), (20, 31)]
                .map(|(captured, came)| FrameTime {
                    captured: Nanos(captured),
                    came: Nanos(came),
                })
                .to_vec(),
            Nanos(40),
        );
        let newest = |then| timeline.newest(Nanos(then));
        assert_eq!([-1, 0, 4].map(newest), [None; 3]);
        assert_eq!([5, 11, 12, 31, 40, 44].map(newest), [0, 0, 1, 2, 2, 2].map(Some));
        assert_eq!([45, 52, 71, 84, 85].map(newest), [3, 4, 5, 5, 6].map(Some));
        assert_eq!(Timeline::default().newest(Nanos(7)), None);
    }

    #[test]
    fn a_timer_takes_the_newest_set_that_is_complete() {
        let frames = [0, 100].map(|at| FrameTime {
            captured: Nanos(at + 5),
            came: Nanos(at),
        });
        let sets = Sets {
            complete: [30, 130].map(Nanos).to_vec(),
            skew: Vec::new(),
            incomplete: vec![Nanos(60)],
            tolerance: Nanos(50),
        };
        let timeline = Timeline::new(frames.to_vec(), Nanos(200)).of_sets(sets);
        let newest = |then| timeline.newest(Nanos(then));
        assert_eq!(
            [29, 30, 129, 130, 229, 230].map(newest),
            [None, Some(0), Some(0), Some(1), Some(1), Some(2)]
        );
        assert_eq!(
            [0, 1, 2].map(|n| timeline.complete(n)),
            [30, 130, 230].map(|at| Some(Nanos(at)))
        );
        assert_eq!(timeline.incomplete(0), Some((Nanos(60), Nanos(110))));
        assert_eq!(timeline.incomplete(1), Some((Nanos(260), Nanos(310))));
        assert_eq!(Timeline::default().complete(0), None);
    }

    #[test]
    fn a_lap_is_never_shorter_than_its_frames() {
        let frames = [0, 50].map(|at| FrameTime {
            captured: Nanos(at),
            came: Nanos(at),
        });
        assert_eq!(
            came(&Timeline::new(frames.to_vec(), Nanos(10)), 4),
            [0, 50, 51, 101]
        );
    }
}
