//! Several cameras of one recording as one source: their frames one after the other, in the order in which they came.
//!
//! A tenant with a `batch` of as many takes the images of one moment in one inference; each is a frame of its own all the same, and
//! says of which camera it is.

use std::sync::Arc;

use super::sensor::Sensor;
use super::timeline::{FrameTime, Timeline};
use super::{ContentKind, Frame, Source, SourceError, SourceInfo, Waits, position_after};

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
        Ok(Several {
            cameras: sensors,
            order: coming
                .iter()
                .map(|(_, camera, frame)| (*camera, *frame))
                .collect(),
            timeline: Timeline::new(times, lap),
            description: format!("{} images of several cameras: {}", coming.len(), words.join("; ")),
            next: 0,
            repeats,
        })
    }
}

impl Source for Several {
    fn info(&self) -> SourceInfo {
        SourceInfo {
            kind: ContentKind::Image,
            frames: (!self.repeats).then_some(self.order.len() as u64),
            description: self.description.clone(),
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
