//! Where frames of reference are in a bag: `/tf_static` says where sensors are on the robot, `/tf` where the robot is.
//!
//! The frames are a tree: each has one parent at most. From a sensor upwards as far as `/tf_static` goes is the vehicle; from
//! there to the top is where the vehicle was.

use std::collections::BTreeMap;
use std::sync::Arc;

use jetlag_bags::message::{TransformStamped, kind, transforms};
use jetlag_bags::{Bag, Time};
use jetlag_datasets::geometry::{Pose, Rotation};

use crate::source::context::Placed;
use crate::units::Nanos;

/// The most transforms of `/tf` that are kept: hours of a vehicle, some 70 MB.
const MOST: usize = 1_000_000;
/// Deeper than this no tree of frames is; one that says so has a circle.
const DEEPEST: usize = 64;
/// A time so far before the first transform, or after the last, is taken as theirs: sensors and poses do not begin together.
const BEYOND: Nanos = Nanos::from_millis(200);
/// Two poses further apart than this tell nothing of what lies between them.
const LONGEST_GAP: Nanos = Nanos::from_secs(2);

/// All that a bag tells of its frames of reference.
#[derive(Debug, Default)]
pub(in crate::source::recordings) struct Places {
    fixed: BTreeMap<Arc<str>, Placed>,
    moving: BTreeMap<Arc<str>, Track>,
    /// Kept of `/tf`, all frames together.
    kept: usize,
}

/// Where a frame was in its parent's, when.
#[derive(Debug)]
struct Track {
    parent: Arc<str>,
    /// By time, once all are read.
    poses: Vec<(Time, Pose)>,
}

impl Places {
    /// Reads every transform of a bag. What cannot be read is said once a topic, and left out.
    pub(in crate::source::recordings) fn of(bag: &Bag, name: &str) -> Places {
        let mut places = Places::default();
        let (mut reader, mut message) = (bag.reader(), Vec::new());
        let topics = bag
            .topics()
            .iter()
            .filter(|topic| topic.kind() == kind::TRANSFORMS);
        for topic in topics {
            let is_fixed = topic.name().ends_with("tf_static");
            let mut unread = 0_u64;
            for entry in topic.entries() {
                if !is_fixed && places.kept >= MOST {
                    log::warn!(
                        "{name}: the first {MOST} transforms of `{}` are read; where the vehicle was after them is not known",
                        topic.name()
                    );
                    break;
                }
                let read = reader
                    .read(entry, &mut message)
                    .map_err(|error| error.to_string());
                let found = read.and_then(|()| transforms(&message).map_err(|error| error.to_string()));
                match found {
                    Ok(found) => found.iter().for_each(|one| places.add(one, is_fixed)),
                    Err(why) => {
                        if unread == 0 {
                            log::warn!("{name}: a message of `{}` is left out: {why}", topic.name());
                        }
                        unread += 1;
                    }
                }
            }
            if unread > 1 {
                log::warn!("{name}: {unread} messages of `{}` are left out", topic.name());
            }
        }
        places.sort();
        places
    }

    fn add(&mut self, one: &TransformStamped<'_>, is_fixed: bool) {
        let [x, y, z, w] = one.rotation;
        let is_finite = one.translation.iter().all(|v| v.is_finite());
        let Some(rotation) = Rotation::from_quaternion([w, x, y, z]).filter(|_| is_finite) else {
            log::debug!("the place of `{}` is left out: it is none", one.child_frame_id);
            return;
        };
        let pose = Pose {
            translation: one.translation,
            rotation,
        };
        let (child, parent) = (plain(one.child_frame_id), plain(one.header.frame_id));
        if is_fixed {
            self.fixed.insert(child.into(), Placed::new(parent, pose));
            return;
        }
        self.kept += 1;
        match self.moving.get_mut(child) {
            Some(track) => {
                // A frame that changes its parent belongs to the newest.
                if *track.parent != *parent {
                    track.parent = parent.into();
                    track.poses.clear();
                }
                track.poses.push((one.header.stamp, pose));
            }
            None => {
                let track = Track {
                    parent: parent.into(),
                    poses: vec![(one.header.stamp, pose)],
                };
                self.moving.insert(child.into(), track);
            }
        }
    }

    fn sort(&mut self) {
        for track in self.moving.values_mut() {
            track.poses.sort_by_key(|(time, _)| *time);
        }
    }

    /// Where a sensor of this frame is on the vehicle; `None` where the bag says nothing of the frame.
    pub(super) fn on_vehicle(&self, frame: &str) -> Option<Placed> {
        let frame = plain(frame);
        let mut at = Placed::new(frame, Pose::NONE);
        let is_known = self.knows(frame);
        for _ in 0..DEEPEST {
            let Some(above) = self.fixed.get(&at.within) else {
                return is_known.then_some(at);
            };
            at = Placed {
                within: Arc::clone(&above.within),
                pose: above.pose.after(&at.pose),
            };
        }
        None
    }

    /// Whether a frame is in another, or another in it.
    fn knows(&self, frame: &str) -> bool {
        self.fixed.contains_key(frame)
            || self.moving.contains_key(frame)
            || self.fixed.values().any(|placed| *placed.within == *frame)
            || self.moving.values().any(|track| *track.parent == *frame)
    }

    /// Where the vehicle's frame was at a time, in the frame at the top; `None` where the bag does not tell.
    pub(super) fn at(&self, vehicle: &str, time: Time) -> Option<Placed> {
        let mut at = Placed::new(vehicle, Pose::NONE);
        for steps in 0..DEEPEST {
            let (within, pose) = match (self.moving.get(&at.within), self.fixed.get(&at.within)) {
                (Some(track), _) => (&track.parent, track.at(time)?),
                (None, Some(above)) => (&above.within, above.pose),
                (None, None) => return (steps > 0).then_some(at),
            };
            at = Placed {
                within: Arc::clone(within),
                pose: pose.after(&at.pose),
            };
        }
        None
    }
}

impl Track {
    fn at(&self, time: Time) -> Option<Pose> {
        let after = self.poses.partition_point(|(then, _)| *then < time);
        let before = after.checked_sub(1).and_then(|before| self.poses.get(before));
        match (before, self.poses.get(after)) {
            (_, Some((then, pose))) if *then == time => Some(*pose),
            (Some((earlier, from)), Some((later, to))) => {
                let (whole, part) = (later.since(*earlier), time.since(*earlier));
                let share = part.0 as f64 / whole.0 as f64; // They differ: one is before the time, and one after.
                (whole <= LONGEST_GAP).then(|| from.towards(to, share))
            }
            (Some((then, pose)), None) => (time.since(*then) <= BEYOND).then_some(*pose),
            (None, Some((then, pose))) => (then.since(time) <= BEYOND).then_some(*pose),
            (None, None) => None,
        }
    }
}

/// Frames of ROS 1 began with a slash.
fn plain(frame: &str) -> &str {
    frame.strip_prefix('/').unwrap_or(frame)
}

#[cfg(test)]
mod tests;
