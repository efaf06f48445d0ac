//! How the points of a bag's LiDAR come to lie in its camera's images: from the camera's `CameraInfo` and the frames of reference that
//! the bag has (`/tf_static`, and of `/tf` the first word on each frame).
//!
//! Sensors are taken to be mounted fast. The image is taken to be without distortion: that of a rectified topic is, and elsewhere the
//! error of a few pixels at the edges is small beside what an association by IoU allows.

use std::collections::BTreeMap;
use std::sync::Arc;

use jetlag_bags::message::{CameraInfo, CompressedImage, Header, PointCloud, kind, transforms};
use jetlag_bags::{Bag, Topic};
use jetlag_datasets::geometry::{Pose, Rotation};

use super::both::pinhole;
use super::recording;
use crate::scenario::BagSpec;
use crate::source::SourceError;
use crate::source::calibration::Calibration;
use crate::source::synchronised::{Both, NoSets};

/// Frames of reference between a sensor and the root at most: a damaged bag may have a ring of them.
const DEEPEST: usize = 64;
/// Messages of a topic that are looked at for transforms: fixed ones come at the beginning.
const MOST_MESSAGES: usize = 1000;

/// What a camera's topic and a LiDAR's have in common.
pub(super) fn both(bag: &Bag, camera: &BagSpec, lidar: &BagSpec) -> Result<Both, SourceError> {
    let lengths = [camera, lidar].map(|spec| super::bag::length(bag, spec));
    let [images, sweeps] = lengths;
    let known = Arc::new(calibration(bag, camera, lidar)?);
    Ok(Both {
        calibration: Box::new(move |_, _| Some(Arc::clone(&known))),
        lengths: [images?, sweeps?],
        repeats: lidar.common.repeat,
    })
}

fn calibration(bag: &Bag, camera: &BagSpec, lidar: &BagSpec) -> Result<Calibration, SourceError> {
    let none = |advice| {
        recording(NoSets::NoCalibration {
            found: format!("the bag {}", lidar.path.display()),
            advice,
        })
    };
    let Some(info) = info_topic(bag, &camera.topic) else {
        return Err(none("record the topic camera_info beside the camera's images"));
    };
    let mut raw = Vec::new();
    let Some((intrinsic, optical)) =
        first(bag, info, &mut raw)?.and_then(|message| intrinsic(message, info.name()))
    else {
        return Err(none("its CameraInfo has no focal length: calibrate the camera"));
    };
    let points = bag.topic(&lidar.topic).map_err(recording)?;
    let frame =
        first(bag, points, &mut raw)?.and_then(|message| Some(frame_of(message, points.kind())?.to_owned()));
    let places = Places::of(bag)?;
    let way = frame.and_then(|lidar| places.between(&lidar, &optical));
    match way {
        Some(way) => Ok(pinhole(intrinsic, &way)),
        None => Err(none(
            "record /tf_static, which says where the camera's and the LiDAR's frames are against each other",
        )),
    }
}

/// The `CameraInfo` that belongs to a topic of images: of those that there are, the one with most of the name in common.
fn info_topic<'b>(bag: &'b Bag, images: &str) -> Option<&'b Topic> {
    let common = |name: &str| {
        let parts = name.split('/').zip(images.split('/'));
        parts.take_while(|(one, other)| one == other).count()
    };
    let infos = bag
        .topics()
        .iter()
        .filter(|topic| topic.kind() == kind::CAMERA_INFO);
    infos
        .max_by_key(|topic| common(topic.name()))
        // A name in the root has its empty part in common with every other.
        .filter(|topic| common(topic.name()) > 1 || images.matches('/').count() < 2)
}

fn first<'m>(bag: &Bag, topic: &Topic, raw: &'m mut Vec<u8>) -> Result<Option<&'m [u8]>, SourceError> {
    let Some(entry) = topic.entries().first() else {
        return Ok(None);
    };
    raw.clear();
    bag.reader().read(entry, raw).map_err(recording)?;
    Ok(Some(raw))
}

/// The intrinsic matrix, and the camera's frame of reference.
fn intrinsic(message: &[u8], topic: &str) -> Option<([[f64; 3]; 3], String)> {
    let info = CameraInfo::decode(message).ok()?;
    let [a, b, c, _, d, e, f, _, g, h, i, _] = info.p;
    let rectified = [a, b, c, d, e, f, g, h, i];
    let of = if topic.contains("rect") && a > 0.0 {
        rectified
    } else {
        info.k
    };
    let [a, b, c, d, e, f, g, h, i] = of;
    let is_one = a > 0.0 && e > 0.0 && of.iter().all(|value| value.is_finite());
    is_one.then(|| ([[a, b, c], [d, e, f], [g, h, i]], info.header.frame_id.to_owned()))
}

fn frame_of<'m>(message: &'m [u8], of: &str) -> Option<&'m str> {
    let header: Header<'m> = match of {
        kind::POINT_CLOUD => PointCloud::decode(message).ok()?.header,
        kind::COMPRESSED_IMAGE => CompressedImage::decode(message).ok()?.header,
        _ => return None,
    };
    Some(header.frame_id)
}

/// Where each frame of reference is in its parent's.
#[derive(Debug, Default)]
struct Places(BTreeMap<String, (String, Pose)>);

impl Places {
    fn of(bag: &Bag) -> Result<Places, SourceError> {
        let mut places = Places::default();
        let mut raw = Vec::new();
        // What is said to be fixed goes before what may move.
        for word in ["tf_static", "tf"] {
            let topics = bag.topics().iter().filter(|topic| {
                topic.kind() == kind::TRANSFORMS && topic.name().rsplit('/').next() == Some(word)
            });
            for topic in topics {
                for entry in topic.entries().iter().take(MOST_MESSAGES) {
                    raw.clear();
                    bag.reader().read(entry, &mut raw).map_err(recording)?;
                    places.add(&raw);
                }
            }
        }
        Ok(places)
    }

    /// Those of a message; a damaged one has none.
    fn add(&mut self, message: &[u8]) {
        for of in transforms(message).unwrap_or_default() {
            let [x, y, z, w] = of.rotation;
            let Some(rotation) = Rotation::from_quaternion([w, x, y, z]) else {
                continue;
            };
            let pose = Pose {
                translation: of.translation,
                rotation,
            };
            self.0
                .entry(plain(of.child_frame_id))
                .or_insert_with(|| (plain(of.header.frame_id), pose));
        }
    }

    /// A frame and those that it is in, up to the root, each with where the frame is in it.
    fn upwards(&self, frame: &str) -> Vec<(String, Pose)> {
        let mut all = vec![(plain(frame), Pose::NONE)];
        while let Some((parent, place)) = all.last().and_then(|(name, _)| self.0.get(name)) {
            let within = all.last().map_or(Pose::NONE, |(_, pose)| *pose);
            if all.len() > DEEPEST {
                break;
            }
            all.push((parent.clone(), place.after(&within)));
        }
        all
    }

    /// Maps points of one frame into another; `None` where nothing connects them.
    fn between(&self, from: &str, to: &str) -> Option<Pose> {
        let (from, to) = (self.upwards(from), self.upwards(to));
        from.iter().find_map(|(name, up)| {
            let (_, other) = to.iter().find(|(other, _)| other == name)?;
            Some(other.inverse().after(up))
        })
    }
}

/// Names of frames once began with a slash.
fn plain(frame: &str) -> String {
    frame.trim_start_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shifted(x: f64) -> Pose {
        Pose {
            translation: [x, 0.0, 0.0],
            ..Pose::NONE
        }
    }

    fn places(all: &[(&str, &str, f64)]) -> Places {
        let one = |(child, parent, x): &(&str, &str, f64)| (plain(child), (plain(parent), shifted(*x)));
        Places(all.iter().map(one).collect())
    }

    #[test]
    fn frames_are_connected_over_what_both_are_in() {
        let places = places(&[
            ("/lidar", "base", 1.0),
            ("camera", "mast", 2.0),
            ("mast", "base", 4.0),
            ("base", "map", 100.0),
            ("elsewhere", "other", 1.0),
        ]);
        let way = places.between("lidar", "/camera").unwrap();
        assert_eq!(way.apply([0.0; 3]), [1.0 - 6.0, 0.0, 0.0]);
        assert_eq!(
            places.between("camera", "camera").unwrap().apply([3.0, 0.0, 0.0]),
            [3.0, 0.0, 0.0]
        );
        assert_eq!(places.between("lidar", "elsewhere"), None);
        assert_eq!(places.between("lidar", "unheard of"), None);
    }

    #[test]
    fn a_ring_of_frames_ends() {
        let places = places(&[("one", "other", 1.0), ("other", "one", 1.0)]);
        assert_eq!(places.between("one", "third"), None);
        assert!(places.between("one", "other").is_some());
    }
}
