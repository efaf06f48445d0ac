//! Cameras and a LiDAR of one recording as one source: each of its frames is a set of all.
//!
//! Which frames belong together is decided when it is opened ([`matcher`]), by the times of the recording; while it runs it only
//! fetches them. A set is released when its first frame comes and can be fetched when its last one has; the [`Timeline`] knows both,
//! and those that stay incomplete.

pub mod matcher;
mod pivot;
pub mod set;

use std::sync::Arc;

use super::context::{Contexts, Sight};
use super::sensor::Sensor;
use super::timeline::{FrameTime, Sets, Timeline};
use super::wants::{Lack, Wants};
use super::{Content, ContentKind, Frame, Recorded, Source, SourceError, SourceInfo, Waits, position_after};
pub use matcher::Rules;

use crate::record::Selection;
use crate::units::Nanos;

/// Frames of cameras and of a LiDAR that belong together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SensorSet {
    /// The cameras', in the order in which the source names them.
    pub cameras: Vec<Frame>,
    /// The LiDAR's.
    pub lidar: Frame,
    /// How far apart the captures lie; `None` where the recording has no times.
    pub skew: Option<Nanos>,
}

/// Why sensors make no sets.
#[derive(Debug, thiserror::Error)]
pub enum NoSets {
    /// One of them yields something else.
    #[error(
        "a set is of images and then of one sweep, and {found} yields {kind:?}; name the cameras first and the LiDAR last, or say in the fusion's `cameras` which are cameras"
    )]
    Kind {
        /// The source in words.
        found: String,
        /// What it has.
        kind: ContentKind,
    },
    /// Two were not on at the same time.
    #[error(
        "no set can be made: {one} lasts from {one_from} to {one_to} and {other} from {other_from} to {other_to}, never at the same time; choose another scene, or topics that overlap"
    )]
    NeverTogether {
        /// One of them in words.
        one: String,
        /// Its first frame.
        one_from: Nanos,
        /// Its last.
        one_to: Nanos,
        /// The other in words.
        other: String,
        /// Its first frame.
        other_from: Nanos,
        /// Its last.
        other_to: Nanos,
    },
    /// They were, and never within the tolerance.
    #[error(
        "no set can be made: frames of {sensors} are at least {nearest} apart, and the fusion's tolerance is {tolerance}; raise it if that is right for the scene"
    )]
    TooFarApart {
        /// The sensors in words.
        sensors: String,
        /// How near they come.
        nearest: Nanos,
        /// What was allowed.
        tolerance: Nanos,
    },
    /// They were, and came too late for each other.
    #[error(
        "no set can be made: frames of {sensors} are captured within {nearest} of each other, and come so much later that none waits any longer; raise the fusion's `queue`, which is {queue}"
    )]
    TooLate {
        /// The sensors in words.
        sensors: String,
        /// How near their captures are.
        nearest: Nanos,
        /// How many frames may wait.
        queue: usize,
    },
    /// Frames without times belong together by their number, and the numbers differ.
    #[error(
        "no set can be made: {sensors} have no capture times, and not as many frames; use a recording with times"
    )]
    Numbers {
        /// The sensors in words.
        sensors: String,
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

/// A set by the numbers of its frames: the images' and the sweep's.
#[derive(Clone, Debug)]
struct Members {
    cameras: Box<[usize]>,
    lidar: usize,
    skew: Option<Nanos>,
}

/// A [`Source`] of sets.
pub struct Synchronised {
    cameras: Vec<Sensor>,
    lidar: Sensor,
    sets: Arc<[Members]>,
    timeline: Option<Timeline>,
    description: String,
    /// The LiDAR's.
    selection: Option<Selection>,
    next: usize,
    repeats: bool,
}

impl Synchronised {
    /// Sets of an image of each of these cameras and a sweep.
    ///
    /// # Errors
    /// [`NoSets`], within [`SourceError::Recording`].
    pub fn open(
        cameras: Vec<Box<dyn Source>>,
        lidar: Box<dyn Source>,
        rules: Rules,
    ) -> Result<Synchronised, SourceError> {
        let images = cameras.iter().map(|camera| (camera, ContentKind::Image));
        for (source, wanted) in images.chain([(&lidar, ContentKind::Points)]) {
            let info = source.info();
            if info.kind != wanted {
                return Err(none(NoSets::Kind {
                    found: info.description,
                    kind: info.kind,
                }));
            }
        }
        // The LiDAR comes last, here and wherever all sensors are in one list.
        let all: Vec<&dyn Source> = cameras.iter().chain([&lidar]).map(|of| &**of).collect();
        let selection = lidar.info().selection;
        let words: Vec<String> = all.iter().map(|of| of.info().description).collect();
        let recorded: Vec<Recorded<'_>> = all.iter().map(|of| recorded(*of)).collect::<Result<_, _>>()?;
        let lengths: Vec<usize> = recorded.iter().map(|of| of.frames).collect();
        let repeats = recorded.last().is_some_and(|sweeps| sweeps.repeats);
        let timelines: Option<Vec<&Timeline>> = all.iter().map(|of| of.timeline()).collect();
        let matched = match timelines {
            Some(timelines) => Some(matched(&timelines, rules, &words)?),
            None => None,
        };
        let sets: Vec<Members> = match &matched {
            Some((found, _)) => found.sets.iter().filter_map(Members::of).collect(),
            None if lengths.iter().all(|length| Some(length) == lengths.first()) => {
                let frames = lengths.first().copied().unwrap_or(0);
                (0..frames)
                    .map(|number| Members::without_times(number, cameras.len()))
                    .collect()
            }
            None => {
                return Err(none(NoSets::Numbers {
                    sensors: listed(&words),
                }));
            }
        };
        let contexts: Vec<&Contexts> = recorded.iter().map(|of| of.contexts).collect();
        check_calibration(&sets, &contexts, &words)?;
        let told = match &matched {
            Some((found, _)) => format!("; {} stayed incomplete", found.incomplete.len()),
            None => String::new(),
        };
        let description = format!("{} sets{told}: {}", sets.len(), words.join("; "));
        let mut lengths = lengths.into_iter();
        let mut sensor = |source| Sensor::new(source, lengths.next().unwrap_or(0));
        Ok(Synchronised {
            cameras: cameras.into_iter().map(&mut sensor).collect(),
            lidar: sensor(lidar),
            sets: sets.into(),
            timeline: matched.map(|(_, timeline)| timeline),
            description,
            selection,
            next: 0,
            repeats,
        })
    }
}

impl Members {
    fn of(set: &set::Set) -> Option<Members> {
        let (lidar, cameras) = set.frames.split_last()?;
        Some(Members {
            cameras: cameras.into(),
            lidar: *lidar,
            skew: Some(set.skew),
        })
    }

    fn without_times(number: usize, cameras: usize) -> Members {
        Members {
            cameras: vec![number; cameras].into(),
            lidar: number,
            skew: None,
        }
    }
}

/// `a`, `b` and of `c`, as the end of "frames of".
fn listed(words: &[String]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} and of {last}", first.join(", of ")),
        other => other.concat(),
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
    timelines: &[&Timeline],
    rules: Rules,
    words: &[String],
) -> Result<(matcher::Matched, Timeline), SourceError> {
    let frames: Vec<&[FrameTime]> = timelines.iter().map(|of| of.frames()).collect();
    let found = matcher::matched(&frames, rules);
    if found.sets.is_empty() {
        return Err(none(why_none(words, &frames, rules)));
    }
    let lap = timelines.iter().map(|of| of.lap()).max().unwrap_or_default();
    let sweeps = frames.last().copied().unwrap_or_default();
    let line = timeline(&found, sweeps, lap, rules.tolerance);
    Ok((found, line))
}

/// Refuses a camera of which no set tells how its sweep lies in its image, and says how many sets do not. The LiDAR is the last.
fn check_calibration(sets: &[Members], of: &[&Contexts], words: &[String]) -> Result<(), SourceError> {
    let (Some((sweeps, images)), Some((lidar, cameras))) = (of.split_last(), words.split_last()) else {
        return Ok(());
    };
    for (place, (images, camera)) in images.iter().zip(cameras).enumerate() {
        let image = |set: &Members| set.cameras.get(place).and_then(|number| images.of(*number));
        let is_known = |set: &&Members| match (image(set), sweeps.of(set.lidar)) {
            (Some(camera), Some(lidar)) => Sight::of(&lidar, &camera).is_some(),
            _ => false,
        };
        let known = sets.iter().filter(is_known).count();
        let (camera, lidar) = (camera.clone(), lidar.clone());
        if known == 0
            && let Some(first) = sets.first()
        {
            let projects = image(first).is_some_and(|of| of.projection.is_some());
            return Err(none(match projects {
                true => NoSets::NoPlaces { camera, lidar },
                false => NoSets::NoProjection { camera },
            }));
        }
        if known < sets.len() {
            log::warn!(
                "{camera}; {lidar}: of {} of {} sets it is not known where the sensors were against each other, so their boxes are not put together",
                sets.len() - known,
                sets.len()
            );
        }
    }
    Ok(())
}

fn none(why: NoSets) -> SourceError {
    SourceError::Recording(Box::new(why))
}

fn why_none(words: &[String], sensors: &[&[FrameTime]], rules: Rules) -> NoSets {
    let span = |frames: &&[FrameTime]| {
        let times = || frames.iter().map(|frame| frame.captured);
        (
            times().min().unwrap_or_default(),
            times().max().unwrap_or_default(),
        )
    };
    let spans: Vec<(Nanos, Nanos)> = sensors.iter().map(span).collect();
    let ends_first = spans.iter().enumerate().min_by_key(|(_, (_, to))| *to);
    let begins_last = spans.iter().enumerate().max_by_key(|(_, (from, _))| *from);
    let nearest = matcher::least_spread(sensors);
    let word = |place: usize| words.get(place).cloned().unwrap_or_default();
    match (ends_first, begins_last, nearest) {
        (Some((one, &(one_from, one_to))), Some((other, &(other_from, other_to))), nearest)
            if one_to < other_from || nearest.is_none() =>
        {
            NoSets::NeverTogether {
                one: word(one),
                one_from,
                one_to,
                other: word(other),
                other_from,
                other_to,
            }
        }
        (_, _, Some(nearest)) if nearest <= rules.tolerance => NoSets::TooLate {
            sensors: listed(words),
            nearest,
            queue: rules.queue,
        },
        _ => NoSets::TooFarApart {
            sensors: listed(words),
            nearest: nearest.unwrap_or_default(),
            tolerance: rules.tolerance,
        },
    }
}

/// When sets are released, complete and given up. Boxes are in the LiDAR's frame, so that a set is as old as its sweep.
fn timeline(found: &matcher::Matched, sweeps: &[FrameTime], lap: Nanos, tolerance: Nanos) -> Timeline {
    let times = found.sets.iter().map(|set| FrameTime {
        captured: set
            .frames
            .last()
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
            frames: (!self.repeats).then_some(self.sets.len() as u64),
            description: self.description.clone(),
            selection: self.selection.clone(),
        }
    }

    fn acquire(&mut self, frame: &mut Frame) -> Result<bool, SourceError> {
        if self.next >= self.sets.len() {
            if !self.repeats || self.sets.is_empty() {
                return Ok(false);
            }
            self.next = 0;
        }
        let sets = Arc::clone(&self.sets);
        let Some(members) = sets.get(self.next) else {
            return Ok(false);
        };
        // Counted before reading: the next call goes on with the next set, whatever comes of this one.
        self.next += 1;
        let set = set_of(frame);
        set.skew = members.skew;
        set.cameras.resize_with(self.cameras.len(), Frame::default);
        let images = self.cameras.iter_mut().zip(&mut set.cameras);
        for ((camera, image), number) in images.zip(&members.cameras) {
            if !camera.fetch(*number as u64, image)? {
                return Ok(false);
            }
        }
        let there = self.lidar.fetch(members.lidar as u64, &mut set.lidar)?;
        // A set is known by its sweep, in whose frame its boxes are.
        (frame.index, frame.captured) = match &frame.content {
            Content::Set(set) => (set.lidar.index, set.lidar.captured),
            _ => (members.lidar as u64, None),
        };
        Ok(there)
    }

    fn decode(&mut self, frame: &mut Frame) -> Result<(), SourceError> {
        let set = set_of(frame);
        for (camera, image) in self.cameras.iter_mut().zip(&mut set.cameras) {
            camera.source.decode(image)?;
        }
        self.lidar.source.decode(&mut set.lidar)
    }

    fn skip(&mut self, frames: u64) -> Result<(), SourceError> {
        if !self.sets.is_empty() {
            self.next = position_after(self.next, frames, self.sets.len(), self.repeats);
        }
        Ok(())
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        self.next = 0;
        for camera in &mut self.cameras {
            camera.rewind()?;
        }
        self.lidar.rewind()
    }

    fn take_waits(&mut self) -> Waits {
        let sensors = self.cameras.iter_mut().chain([&mut self.lidar]);
        Waits::of_all(sensors.map(|sensor| sensor.source.take_waits()))
    }

    fn want(&mut self, wants: Wants) -> Option<Lack> {
        self.lidar.source.want(wants)
    }

    fn timeline(&self) -> Option<&Timeline> {
        self.timeline.as_ref()
    }
}

#[cfg(test)]
mod tests;
