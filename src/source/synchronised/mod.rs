//! A camera and a LiDAR of one recording as one source: each of its frames is a set of both.
//!
//! Which frames belong together is decided when it is opened ([`matcher`]), by the times of the recording; while it runs it only
//! fetches them. A set is released when its first frame comes and can be fetched when its last one has; the [`Timeline`] knows both,
//! and those that stay incomplete.

pub mod matcher;

use std::sync::Arc;

use super::context::{Contexts, FrameContext, Sight};
use super::timeline::{FrameTime, Sets, Timeline};
use super::{Content, ContentKind, Frame, Recorded, Source, SourceError, SourceInfo, Waits, position_after};
use crate::units::Nanos;

/// Frames of a camera and of a LiDAR that belong together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SensorSet {
    /// The camera's.
    pub camera: Frame,
    /// The LiDAR's.
    pub lidar: Frame,
    /// How far apart the captures lie; `None` where the recording has no times.
    pub skew: Option<Nanos>,
}

impl SensorSet {
    /// What the source knows of both frames: the image's and the sweep's.
    pub fn contexts(&self) -> Option<[&Arc<FrameContext>; 2]> {
        Some([self.camera.context.as_ref()?, self.lidar.context.as_ref()?])
    }
}

/// What makes sets of two sensors.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// How far apart the captures of a set may lie.
    pub tolerance: Nanos,
    /// How many frames of a sensor wait for a partner.
    pub queue: usize,
}

/// Why two sensors make no sets.
#[derive(Debug, thiserror::Error)]
pub enum NoSets {
    /// One of them yields something else.
    #[error(
        "a set is of images and of sweeps, and {found} yields {kind:?}; name the camera first and then the LiDAR"
    )]
    Kind {
        /// The source in words.
        found: String,
        /// What it has.
        kind: ContentKind,
    },
    /// They were not on at the same time.
    #[error(
        "no set can be made: {camera} lasts from {camera_from} to {camera_to} and {lidar} from {lidar_from} to {lidar_to}, never at the same time; choose another scene, or topics that overlap"
    )]
    NeverTogether {
        /// The camera in words.
        camera: String,
        /// Its first frame.
        camera_from: Nanos,
        /// Its last.
        camera_to: Nanos,
        /// The LiDAR in words.
        lidar: String,
        /// Its first frame.
        lidar_from: Nanos,
        /// Its last.
        lidar_to: Nanos,
    },
    /// They were, and never within the tolerance.
    #[error(
        "no set can be made: frames of {camera} and of {lidar} are at least {nearest} apart, and the fusion's tolerance is {tolerance}; raise it if that is right for the scene"
    )]
    TooFarApart {
        /// The camera in words.
        camera: String,
        /// The LiDAR in words.
        lidar: String,
        /// How near they come.
        nearest: Nanos,
        /// What was allowed.
        tolerance: Nanos,
    },
    /// Frames without times belong together by their number, and the numbers differ.
    #[error(
        "no set can be made: {camera} and {lidar} have no capture times, and not as many frames; use a recording with times"
    )]
    Numbers {
        /// The camera in words.
        camera: String,
        /// The LiDAR in words.
        lidar: String,
    },
    /// One of them has no frames before they come.
    #[error("sets are made of recordings, and {found} has its frames when they come")]
    NotRecorded {
        /// The source in words.
        found: String,
    },
    /// Nobody knows what the camera sees where.
    #[error(
        "no calibration: it is not known how the camera of {camera} projects, so boxes of the LiDAR cannot be laid into its images; a bag needs a calibrated CameraInfo beside them, nuScenes camera_intrinsic in its table calibrated_sensor, KITTI its files of calibration"
    )]
    NoProjection {
        /// The camera in words.
        camera: String,
    },
    /// Nobody knows where the sensors are.
    #[error(
        "no calibration: it is not known where the sensors of {camera} and of {lidar} are against each other, so boxes of the LiDAR cannot be laid into the images; a bag needs /tf_static with the frames of both (or /tf around the captures), KITTI the LiDAR's Tr in its files of calibration"
    )]
    NoPlaces {
        /// The camera in words.
        camera: String,
        /// The LiDAR in words.
        lidar: String,
    },
}

/// A set by the numbers of its frames: the image's and the sweep's.
#[derive(Clone, Copy, Debug)]
struct Pair {
    frames: [usize; 2],
    skew: Option<Nanos>,
}

/// One of the two sensors.
struct Sensor {
    source: Box<dyn Source>,
    /// How many frames it has in a lap.
    length: u64,
    /// The one that it yields next, within its lap.
    at: u64,
}

/// A [`Source`] of sets.
pub struct Synchronised {
    camera: Sensor,
    lidar: Sensor,
    pairs: Vec<Pair>,
    timeline: Option<Timeline>,
    description: String,
    next: usize,
    repeats: bool,
}

impl Synchronised {
    /// Sets of these two.
    ///
    /// # Errors
    /// [`NoSets`], within [`SourceError::Recording`].
    pub fn open(
        camera: Box<dyn Source>,
        lidar: Box<dyn Source>,
        rules: Rules,
    ) -> Result<Synchronised, SourceError> {
        let wanted = [(&camera, ContentKind::Image), (&lidar, ContentKind::Points)];
        for (source, wanted) in wanted {
            let info = source.info();
            if info.kind != wanted {
                return Err(none(NoSets::Kind {
                    found: info.description,
                    kind: info.kind,
                }));
            }
        }
        let words = [camera.info().description, lidar.info().description];
        let [images, sweeps] = [recorded(&*camera)?, recorded(&*lidar)?];
        let (lengths, repeats) = ([images.frames, sweeps.frames], sweeps.repeats);
        let matched = match (camera.timeline(), lidar.timeline()) {
            (Some(one), Some(other)) => Some(matched(one, other, rules, &words)?),
            _ => None,
        };
        let pairs: Vec<Pair> = match &matched {
            Some((found, _)) => found.sets.iter().filter_map(Pair::of).collect(),
            None if lengths[0] == lengths[1] => (0..lengths[0]).map(Pair::without_times).collect(),
            None => {
                let [camera, lidar] = words;
                return Err(none(NoSets::Numbers { camera, lidar }));
            }
        };
        check_calibration(&pairs, [images.contexts, sweeps.contexts], &words)?;
        let told = match &matched {
            Some((found, _)) => format!("; {} stayed incomplete", found.incomplete.len()),
            None => String::new(),
        };
        let description = format!("{} sets{told}: {}; {}", pairs.len(), words[0], words[1]);
        let sensor = |source, length: usize| Sensor {
            source,
            length: length as u64,
            at: 0,
        };
        Ok(Synchronised {
            camera: sensor(camera, lengths[0]),
            lidar: sensor(lidar, lengths[1]),
            pairs,
            timeline: matched.map(|(_, timeline)| timeline),
            description,
            next: 0,
            repeats,
        })
    }
}

impl Pair {
    fn of(set: &matcher::Set) -> Option<Pair> {
        let [image, sweep] = set.frames[..] else {
            return None;
        };
        Some(Pair {
            frames: [image, sweep],
            skew: Some(set.skew),
        })
    }

    fn without_times(number: usize) -> Pair {
        Pair {
            frames: [number, number],
            skew: None,
        }
    }
}

fn recorded(source: &dyn Source) -> Result<Recorded<'_>, SourceError> {
    let not = || NoSets::NotRecorded {
        found: source.info().description,
    };
    source.recorded().ok_or_else(|| none(not()))
}

/// Which frames belong together by their times, and when the sets come.
fn matched(
    images: &Timeline,
    sweeps: &Timeline,
    rules: Rules,
    words: &[String; 2],
) -> Result<(matcher::Matched, Timeline), SourceError> {
    let frames = [images.frames(), sweeps.frames()];
    let found = matcher::matched(&frames, rules.tolerance, rules.queue);
    if found.sets.is_empty() {
        return Err(none(why_none(
            words.clone(),
            frames[0],
            frames[1],
            rules.tolerance,
        )));
    }
    let lap = images.lap().max(sweeps.lap());
    let line = timeline(&found, frames[1], lap, rules.tolerance);
    Ok((found, line))
}

/// Refuses sensors of which no set tells how its sweep lies in its image, and says how many sets do not.
fn check_calibration(pairs: &[Pair], of: [&Contexts; 2], words: &[String; 2]) -> Result<(), SourceError> {
    let contexts = |pair: &Pair| {
        let [image, sweep] = pair.frames;
        (of[0].of(image), of[1].of(sweep))
    };
    let is_known = |pair: &&Pair| match contexts(pair) {
        (Some(camera), Some(lidar)) => Sight::of(&lidar, &camera).is_some(),
        _ => false,
    };
    let known = pairs.iter().filter(is_known).count();
    let [camera, lidar] = words.clone();
    if known == 0
        && let Some(first) = pairs.first()
    {
        let projects = contexts(first).0.is_some_and(|of| of.projection.is_some());
        return Err(none(match projects {
            true => NoSets::NoPlaces { camera, lidar },
            false => NoSets::NoProjection { camera },
        }));
    }
    if known < pairs.len() {
        log::warn!(
            "{camera}; {lidar}: of {} of {} sets it is not known where the sensors were against each other, so their boxes are not put together",
            pairs.len() - known,
            pairs.len()
        );
    }
    Ok(())
}

fn none(why: NoSets) -> SourceError {
    SourceError::Recording(Box::new(why))
}

fn why_none(words: [String; 2], one: &[FrameTime], other: &[FrameTime], tolerance: Nanos) -> NoSets {
    let span = |frames: &[FrameTime]| {
        let times = || frames.iter().map(|frame| frame.captured);
        [
            times().min().unwrap_or_default(),
            times().max().unwrap_or_default(),
        ]
    };
    let ([camera_from, camera_to], [lidar_from, lidar_to]) = (span(one), span(other));
    let [camera, lidar] = words;
    let nearest = matcher::nearest(one, other);
    if camera_to < lidar_from || lidar_to < camera_from || nearest.is_none() {
        return NoSets::NeverTogether {
            camera,
            camera_from,
            camera_to,
            lidar,
            lidar_from,
            lidar_to,
        };
    }
    NoSets::TooFarApart {
        camera,
        lidar,
        nearest: nearest.unwrap_or_default(),
        tolerance,
    }
}

/// When sets are released, complete and given up. Boxes are in the LiDAR's frame, so that a set is as old as its sweep.
fn timeline(found: &matcher::Matched, sweeps: &[FrameTime], lap: Nanos, tolerance: Nanos) -> Timeline {
    let times = found.sets.iter().map(|set| FrameTime {
        captured: set
            .frames
            .get(1)
            .and_then(|number| sweeps.get(*number))
            .map_or(set.opened, |sweep| sweep.captured),
        came: set.opened,
    });
    Timeline::new(times.collect(), lap).of_sets(Sets {
        complete: found.sets.iter().map(|set| set.complete).collect(),
        skew: found.sets.iter().map(|set| set.skew).collect(),
        incomplete: found.incomplete.clone(),
        tolerance,
    })
}

impl Sensor {
    /// Fetches the frame of this number.
    fn fetch(&mut self, number: u64, frame: &mut Frame) -> Result<bool, SourceError> {
        let passed = match number.checked_sub(self.at) {
            Some(passed) => passed,
            // The next lap.
            None => (self.length - self.at.min(self.length)) + number,
        };
        self.at = number + 1;
        if passed > 0 {
            self.source.skip(passed)?;
        }
        self.source.acquire(frame)
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        self.at = 0;
        self.source.rewind()
    }
}

/// The set of a frame, which it is made to hold if it does not.
fn set_of(frame: &mut Frame) -> &mut SensorSet {
    if !matches!(frame.content, Content::Set(_)) {
        frame.content = Content::Set(Box::default());
    }
    match &mut frame.content {
        Content::Set(set) => set,
        Content::Empty | Content::Image(_) | Content::Points(_) => unreachable!("it was just made a set"),
    }
}

impl Source for Synchronised {
    fn info(&self) -> SourceInfo {
        SourceInfo {
            kind: ContentKind::Set,
            frames: (!self.repeats).then_some(self.pairs.len() as u64),
            description: self.description.clone(),
        }
    }

    fn acquire(&mut self, frame: &mut Frame) -> Result<bool, SourceError> {
        if self.next >= self.pairs.len() {
            if !self.repeats || self.pairs.is_empty() {
                return Ok(false);
            }
            self.next = 0;
        }
        let Some(&pair) = self.pairs.get(self.next) else {
            return Ok(false);
        };
        // Counted before reading: the next call goes on with the next set, whatever comes of this one.
        self.next += 1;
        let set = set_of(frame);
        set.skew = pair.skew;
        let [image, sweep] = pair.frames.map(|number| number as u64);
        let there = self.camera.fetch(image, &mut set.camera)? && self.lidar.fetch(sweep, &mut set.lidar)?;
        // A set is known by its sweep, in whose frame its boxes are.
        (frame.index, frame.captured) = match &frame.content {
            Content::Set(set) => (set.lidar.index, set.lidar.captured),
            _ => (sweep, None),
        };
        Ok(there)
    }

    fn decode(&mut self, frame: &mut Frame) -> Result<(), SourceError> {
        let set = set_of(frame);
        self.camera.source.decode(&mut set.camera)?;
        self.lidar.source.decode(&mut set.lidar)
    }

    fn skip(&mut self, frames: u64) -> Result<(), SourceError> {
        if !self.pairs.is_empty() {
            self.next = position_after(self.next, frames, self.pairs.len(), self.repeats);
        }
        Ok(())
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        self.next = 0;
        self.camera.rewind()?;
        self.lidar.rewind()
    }

    fn take_waits(&mut self) -> Waits {
        let (one, other) = (self.camera.source.take_waits(), self.lidar.source.take_waits());
        Waits {
            frames: one.frames + other.frames,
            total: one.total + other.total,
            longest: one.longest.max(other.longest),
        }
    }

    fn want_rings(&mut self) -> bool {
        self.lidar.source.want_rings()
    }

    fn timeline(&self) -> Option<&Timeline> {
        self.timeline.as_ref()
    }
}

#[cfg(test)]
mod tests;
