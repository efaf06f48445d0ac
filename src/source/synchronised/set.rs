//! A complete set, by the numbers of its frames.

use crate::source::timeline::FrameTime;
use crate::units::Nanos;

/// A complete set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// The frame of each sensor, by its number in the sensor's own frames.
    pub frames: Vec<usize>,
    /// When its first frame came.
    pub opened: Nanos,
    /// When its last frame came; where it was proven later that there is none better, when that was.
    pub complete: Nanos,
    /// From its earliest capture to its latest.
    pub skew: Nanos,
}

impl Set {
    /// Of a frame of each sensor, complete with the last; `None` where one is not there.
    pub fn of(sensors: &[&[FrameTime]], frames: Vec<usize>) -> Option<Set> {
        let times = frames
            .iter()
            .zip(sensors)
            .map(|(number, of)| of.get(*number).copied());
        let times: Vec<FrameTime> = times.collect::<Option<_>>()?;
        let least = |of: fn(&FrameTime) -> Nanos| times.iter().map(of).min().unwrap_or_default();
        let most = |of: fn(&FrameTime) -> Nanos| times.iter().map(of).max().unwrap_or_default();
        Some(Set {
            frames,
            opened: least(|frame| frame.came),
            complete: most(|frame| frame.came),
            skew: most(|frame| frame.captured) - least(|frame| frame.captured),
        })
    }
}
