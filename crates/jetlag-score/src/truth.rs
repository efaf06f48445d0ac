//! What was there at a time, from labels at some times: objects are followed by their identity and interpolated.
//!
//! Between two labelled times an object that both have is on the way from one to the other. One that only the nearer has is there
//! as well, carried on by what is known of its movement ([`Between::later`]); one that only the farther has is not. So
//! what is there a moment after a label is what was labelled.
//!
//! Positions should be in a frame that does not move with the sensors, or the interpolation bends with the sensors' own way.

use jetlag_record::units::Nanos;

use crate::coco;
use crate::kitti;
use crate::nuscenes;

/// An object that can be interpolated.
pub trait Between: Clone {
    /// On the way from this to the same object at a later time; 0 is here, 1 there.
    fn between(&self, later: &Self, share: f64) -> Self;

    /// The same object so much later (earlier where negative) when nobody labelled it again: where it is, unless it knows its
    /// velocity.
    fn later(&self, _by: Nanos) -> Self {
        self.clone()
    }
}

/// A labelled object, and who it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Labelled<O> {
    /// The same number for the same object at all times; `None` where the dataset does not tell.
    pub identity: Option<u64>,
    /// The object.
    pub object: O,
}

/// All labels at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Annotated<O> {
    /// From any fixed beginning.
    pub time: Nanos,
    /// The objects, in the dataset's order.
    pub objects: Vec<Labelled<O>>,
}

/// Why nothing can be said of a time between labels, or of labels at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TruthError {
    /// Labels do not tell which object is which.
    #[error(
        "the labels at {time} have no identities, so nothing is known of where objects are between labels: score answers as they are (still) instead of as late as they came (stream), or use labels with identities, such as nuScenes's, KITTI's raw drives' or a made drive's"
    )]
    NoIdentities {
        /// The time of the labels, from the beginning.
        time: Nanos,
    },
    /// Two sets of labels at one time.
    #[error("there are two sets of labels at {time}: give those of one scene at a time, each time once")]
    SameTime {
        /// The time of both.
        time: Nanos,
    },
    /// One object twice at a time.
    #[error("identity {identity} is there twice at {time}: each object needs an identity of its own")]
    Twice {
        /// Whose.
        identity: u64,
        /// When.
        time: Nanos,
    },
}

/// The labels of one scene.
#[derive(Clone, Debug)]
pub struct Truth<O> {
    frames: Vec<Frame<O>>,
    longest_gap: Nanos,
}

#[derive(Clone, Debug)]
struct Frame<O> {
    time: Nanos,
    objects: Vec<Labelled<O>>,
    /// Identities with their object's index, in order.
    index: Vec<(u64, usize)>,
}

impl<O: Between> Truth<O> {
    /// Takes the labels of a scene, in any order. Of times between labels that are further apart than `longest_gap` nothing
    /// is known.
    ///
    /// # Errors
    /// Two sets of labels at one time, an identity twice at one time.
    pub fn new(frames: Vec<Annotated<O>>, longest_gap: Nanos) -> Result<Truth<O>, TruthError> {
        let mut frames: Vec<Frame<O>> = frames.into_iter().map(Frame::new).collect::<Result<_, _>>()?;
        frames.sort_by_key(|frame| frame.time);
        if let Some([first, _]) = frames.array_windows().find(|[a, b]| a.time == b.time) {
            return Err(TruthError::SameTime { time: first.time });
        }
        Ok(Truth { frames, longest_gap })
    }

    /// Whether every object has an identity.
    pub fn has_identities(&self) -> bool {
        self.frames.iter().all(Frame::has_identities)
    }

    /// What was there at a time. `None` before the first labels, after the last, and in gaps that are too long.
    ///
    /// # Errors
    /// The time lies between labels without identities.
    pub fn at(&self, time: Nanos) -> Result<Option<Vec<O>>, TruthError> {
        let after = self.frames.partition_point(|frame| frame.time <= time);
        let Some(before) = after.checked_sub(1).and_then(|at| self.frames.get(at)) else {
            return Ok(None);
        };
        if before.time == time {
            return Ok(Some(before.objects.iter().map(|o| o.object.clone()).collect()));
        }
        let Some(after) = self.frames.get(after) else {
            return Ok(None);
        };
        if after.time - before.time > self.longest_gap {
            return Ok(None);
        }
        match [before, after].into_iter().find(|frame| !frame.has_identities()) {
            Some(frame) => Err(TruthError::NoIdentities { time: frame.time }),
            None => Ok(Some(on_the_way(before, after, time))),
        }
    }
}

impl<O> Frame<O> {
    fn new(frame: Annotated<O>) -> Result<Self, TruthError> {
        let identities = frame.objects.iter().enumerate();
        let mut index: Vec<(u64, usize)> = identities
            .filter_map(|(number, object)| Some((object.identity?, number)))
            .collect();
        index.sort_unstable();
        if let Some([(identity, _), _]) = index.array_windows().find(|[a, b]| a.0 == b.0) {
            return Err(TruthError::Twice {
                identity: *identity,
                time: frame.time,
            });
        }
        Ok(Frame {
            time: frame.time,
            objects: frame.objects,
            index,
        })
    }

    fn has_identities(&self) -> bool {
        self.index.len() == self.objects.len()
    }

    fn object(&self, identity: Option<u64>) -> Option<&O> {
        let place = self
            .index
            .binary_search_by_key(&identity?, |(identity, _)| *identity);
        let (_, number) = self.index.get(place.ok()?)?;
        self.objects.get(*number).map(|labelled| &labelled.object)
    }
}

fn on_the_way<O: Between>(before: &Frame<O>, after: &Frame<O>, time: Nanos) -> Vec<O> {
    let share = (time - before.time).0 as f64 / (after.time - before.time).0 as f64;
    let from_before = before
        .objects
        .iter()
        .filter_map(|labelled| match after.object(labelled.identity) {
            Some(later) => Some(labelled.object.between(later, share)),
            None => (share < 0.5).then(|| labelled.object.later(time - before.time)),
        });
    let from_after = after
        .objects
        .iter()
        .filter(|labelled| share >= 0.5 && before.object(labelled.identity).is_none())
        .map(|labelled| labelled.object.later(time - after.time));
    from_before.chain(from_after).collect()
}

fn mixed<const N: usize>(from: [f64; N], to: [f64; N], share: f64) -> [f64; N] {
    std::array::from_fn(|k| from[k] + (to[k] - from[k]) * share)
}

/// An angle on the shorter way from one to another, radians, −π to π.
pub fn angle_between(from: f64, to: f64, share: f64) -> f64 {
    use std::f64::consts::{PI, TAU};
    let way = (to - from + PI).rem_euclid(TAU) - PI;
    (from + way * share + PI).rem_euclid(TAU) - PI
}

/// What is not a quantity is that of the nearer label.
fn nearer<T: Copy>(from: T, to: T, share: f64) -> T {
    if share < 0.5 { from } else { to }
}

impl Between for coco::Truth {
    fn between(&self, later: &Self, share: f64) -> Self {
        coco::Truth {
            class: self.class,
            bbox: mixed(self.bbox, later.bbox, share),
            area: self.area + (later.area - self.area) * share,
            crowd: nearer(self.crowd, later.crowd, share),
        }
    }
}

impl Between for nuscenes::Truth {
    fn between(&self, later: &Self, share: f64) -> Self {
        nuscenes::Truth {
            class: self.class,
            centre: mixed(self.centre, later.centre, share),
            size: mixed(self.size, later.size, share),
            yaw: angle_between(self.yaw, later.yaw, share),
            velocity: match (self.velocity, later.velocity) {
                (Some(from), Some(to)) => Some(mixed(from, to, share)),
                (from, to) => from.or(to),
            },
            points: nearer(self.points, later.points, share),
            attribute: nearer(self.attribute, later.attribute, share),
        }
    }

    fn later(&self, by: Nanos) -> Self {
        let [vx, vy] = self.velocity.unwrap_or_default();
        let [x, y, z] = self.centre;
        let seconds = by.as_secs_f64();
        nuscenes::Truth {
            centre: [x + vx * seconds, y + vy * seconds, z],
            ..self.clone()
        }
    }
}

impl Between for kitti::Truth {
    fn between(&self, later: &Self, share: f64) -> Self {
        kitti::Truth {
            kind: self.kind,
            truncated: self.truncated + (later.truncated - self.truncated) * share,
            occluded: nearer(self.occluded, later.occluded, share),
            alpha: angle_between(self.alpha, later.alpha, share),
            bbox: mixed(self.bbox, later.bbox, share),
            space: match (self.space, later.space) {
                (Some(from), Some(to)) => Some(kitti::CameraBox {
                    size: mixed(from.size, to.size, share),
                    place: mixed(from.place, to.place, share),
                    heading: angle_between(from.heading, to.heading, share),
                }),
                (from, to) => from.or(to),
            },
        }
    }
}
