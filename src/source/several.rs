//! Several cameras of one recording as one source: their frames one after the other, in the order in which they came.
//!
//! A tenant with a `batch` of as many takes the images of one moment in one inference; each is a frame of its own all the same, and
//! says of which camera it is. A moment ends where a camera comes again, so that an image that was lost mixes it with no other.

use std::collections::BTreeSet;
use std::sync::Arc;

use jetlag_stats::median::upper_median;

use super::sensor::Sensor;
use super::timeline::{FrameTime, Timeline};
use super::{ContentKind, Frame, Source, SourceError, SourceInfo, Waits, position_after, selection};
use crate::record::Selection;
use crate::units::Nanos;

/// Why several sensors make no source.
#[derive(Debug, thiserror::Error)]
pub enum NotSeveral {
    /// One of them yields something else than images.
    #[error(
        "several sensors without a fusion are cameras, and {found} yields {kind:?}; name cameras alone, or a fusion"
    )]
    Kind {
        /// The source in words.
        found: String,
        /// What it has.
        kind: ContentKind,
    },
    /// Its frames are not known beforehand, or have no times.
    #[error(
        "the order of several cameras' images is that of their times, and {found} has none; use a recording with times"
    )]
    NoTimes {
        /// The source in words.
        found: String,
    },
}

/// A [`Source`] of the images of several cameras.
pub struct Several {
    cameras: Vec<Sensor>,
    /// Of each frame in a lap: its camera, and its number among that camera's.
    order: Arc<[(u8, u32)]>,
    timeline: Timeline,
    description: String,
    selection: Option<Selection>,
    next: usize,
    repeats: bool,
}

impl Several {
    /// The images of these cameras.
    ///
    /// # Errors
    /// [`NotSeveral`], within [`SourceError::Recording`].
    pub fn open(cameras: Vec<Box<dyn Source>>) -> Result<Several, SourceError> {
        let none = |why: NotSeveral| SourceError::Recording(Box::new(why));
        let mut coming: Vec<(FrameTime, u8, u32)> = Vec::new();
        let (mut lap, mut repeats, mut sensors) = (Default::default(), true, Vec::new());
        let words: Vec<String> = cameras.iter().map(|camera| camera.info().description).collect();
        let selection = selection::of_all(cameras.iter().map(|camera| camera.info().selection));
        for (place, camera) in cameras.into_iter().enumerate() {
            let SourceInfo {
                kind, description, ..
            } = camera.info();
            if kind != ContentKind::Image {
                return Err(none(NotSeveral::Kind {
                    found: description,
                    kind,
                }));
            }
            let (Some(times), Some(recorded)) = (camera.timeline(), camera.recorded()) else {
                return Err(none(NotSeveral::NoTimes { found: description }));
            };
            let frames = (0..).zip(times.frames()).take(recorded.frames);
            // A source has no more sensors than this can tell (`scenario`).
            let number = u8::try_from(place).unwrap_or(u8::MAX);
            coming.extend(frames.map(|(frame, time)| (*time, number, frame)));
            lap = times.lap().max(lap);
            repeats = recorded.repeats;
            let length = recorded.frames;
            sensors.push(Sensor::new(camera, length));
        }
        coming.sort_by_key(|(time, camera, _)| (time.came, *camera));
        let times = coming.iter().map(|(time, ..)| *time).collect();
        let captures: Vec<(Nanos, u8)> = coming
            .iter()
            .map(|(time, camera, _)| (time.captured, *camera))
            .collect();
        Ok(Several {
            cameras: sensors,
            order: coming
                .iter()
                .map(|(_, camera, frame)| (*camera, *frame))
                .collect(),
            timeline: Timeline::new(times, lap)
                .of_moments(moments(&captures))
                .of_cameras(coming.iter().map(|(_, camera, _)| *camera).collect()),
            description: format!("{} images of several cameras: {}", coming.len(), words.join("; ")),
            selection,
            next: 0,
            repeats,
        })
    }
}

/// The moment of each image, from 0: images that come one after the other, none of a camera that is there already, and none later than
/// two thirds of a camera's period after the first. The cameras of a car are not triggered at once, but within its period.
fn moments(captures: &[(Nanos, u8)]) -> Vec<u32> {
    let apart = shortest_period(captures).map_or(Nanos(i64::MAX), |period| Nanos(period.0 / 3 * 2));
    let (mut moment, mut first, mut there) = (0, None, BTreeSet::new());
    let of = |&(at, camera): &(Nanos, u8)| {
        let begin = *first.get_or_insert(at);
        if !there.insert(camera) || at - begin > apart {
            (moment, first, there) = (moment + 1, Some(at), BTreeSet::from([camera]));
        }
        moment
    };
    captures.iter().map(of).collect()
}

/// The least median gap between two images of a camera; `None` where each has one image at most.
fn shortest_period(captures: &[(Nanos, u8)]) -> Option<Nanos> {
    let of = |camera: u8| {
        let mut own: Vec<Nanos> = captures
            .iter()
            .filter(|(_, of)| *of == camera)
            .map(|(at, _)| *at)
            .collect();
        own.sort_unstable();
        let mut gaps: Vec<Nanos> = own.iter().zip(own.iter().skip(1)).map(|(a, b)| *b - *a).collect();
        upper_median(&mut gaps, Ord::cmp)
    };
    let last = captures.iter().map(|(_, camera)| *camera).max()?;
    (0..=last).filter_map(of).min()
}

impl Source for Several {
    fn info(&self) -> SourceInfo {
        SourceInfo {
            kind: ContentKind::Image,
            frames: (!self.repeats).then_some(self.order.len() as u64),
            description: self.description.clone(),
            selection: self.selection.clone(),
        }
    }

    fn acquire(&mut self, frame: &mut Frame) -> Result<bool, SourceError> {
        if self.next >= self.order.len() {
            if !self.repeats || self.order.is_empty() {
                return Ok(false);
            }
            self.next = 0;
        }
        let Some(&(camera, number)) = self.order.get(self.next) else {
            return Ok(false);
        };
        let index = self.next as u64;
        // Counted before reading: the next call goes on with the next one, whatever comes of this.
        self.next += 1;
        let Some(sensor) = self.cameras.get_mut(usize::from(camera)) else {
            return Ok(false);
        };
        let there = sensor.fetch(u64::from(number), frame)?;
        (frame.index, frame.camera) = (index, camera);
        Ok(there)
    }

    fn decode(&mut self, frame: &mut Frame) -> Result<(), SourceError> {
        let index = frame.index;
        let place = usize::try_from(index)
            .ok()
            .and_then(|at| self.order.get(at))
            .copied();
        let Some((camera, number)) = place else {
            return Ok(());
        };
        let Some(sensor) = self.cameras.get_mut(usize::from(camera)) else {
            return Ok(());
        };
        // The camera knows the frame by its own number.
        frame.index = number.into();
        let decoded = sensor.source.decode(frame);
        frame.index = index;
        decoded
    }

    fn skip(&mut self, frames: u64) -> Result<(), SourceError> {
        if !self.order.is_empty() {
            self.next = position_after(self.next, frames, self.order.len(), self.repeats);
        }
        Ok(())
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        self.next = 0;
        self.cameras.iter_mut().try_for_each(Sensor::rewind)
    }

    fn take_waits(&mut self) -> Waits {
        Waits::of_all(self.cameras.iter_mut().map(|camera| camera.source.take_waits()))
    }

    fn timeline(&self) -> Option<&Timeline> {
        Some(&self.timeline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In milliseconds, of cameras that are 20 ms behind one another, ten times a second.
    fn of_ms(images: &[(i64, u8)]) -> Vec<u32> {
        let captures: Vec<(Nanos, u8)> = images
            .iter()
            .map(|(ms, camera)| (Nanos::from_millis(*ms), *camera))
            .collect();
        moments(&captures)
    }

    #[test]
    fn a_moment_has_each_camera_once_and_a_lost_image_mixes_it_with_no_other() {
        let whole = [
            (0, 0),
            (20, 1),
            (40, 2),
            (100, 0),
            (120, 1),
            (140, 2),
            (200, 0),
            (220, 1),
            (240, 2),
        ];
        assert_eq!(of_ms(&whole), [0, 0, 0, 1, 1, 1, 2, 2, 2]);
        let without = |lost: usize| {
            let mut images = whole.to_vec();
            images.remove(lost);
            of_ms(&images)
        };
        assert_eq!(without(3), [0, 0, 0, 1, 1, 2, 2, 2]);
        assert_eq!(without(4), [0, 0, 0, 1, 1, 2, 2, 2]);
        assert_eq!(without(5), [0, 0, 0, 1, 1, 2, 2, 2]);
        assert_eq!(of_ms(&[(0, 0), (5, 1)]), [0, 0]);
        assert!(of_ms(&[]).is_empty());
    }
}
