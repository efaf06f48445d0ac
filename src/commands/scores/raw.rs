//! Answers on a raw drive of KITTI, scored by KITTI's rules: the truth is its `tracklet_labels.xml`, boxes in the LiDAR's frame that
//! are followed from frame to frame.
//!
//! A label is in the image where its box is, projected by the day's calibration. How much of it lies outside the image is computed
//! of its projection; how much of it is hidden is what the annotators said.

use std::path::{Path, PathBuf};

use jetlag_datasets::geometry::Pose;
use jetlag_datasets::kitti::{KittiFrame, KittiRecording, Occlusion, Tracked, Tracklets};
use jetlag_record::classes::ClassMap;
use jetlag_score::kitti::{Camera, Found, Frame, Kind, Kitti, Truth, alpha, in_image};
use jetlag_score::stream::{Timing, stream};
use jetlag_score::truth::{Annotated, Between, Labelled, Truth as Track};

use super::answers::{Answer, Answers};
use super::kitti::{KINDS, KITTI_IMAGE, class_map, few, image_size};
use super::view::Known;
use crate::commands::outcome::WrongUse;
use crate::detector::{Box3d, Detection, Place};
use crate::record::Selection;
use crate::scenario::{KittiSpec, Sensor};
use crate::source::recordings::{kitti_camera, kitti_recording};
use crate::source::selection;
use crate::units::Nanos;

/// A drive with its annotations, and the frames that a source has of it.
pub(super) struct Drive {
    recording: KittiRecording,
    tracklets: Tracklets,
    camera: Camera,
    path: PathBuf,
    of_camera: bool,
}

/// Answers that were matched, and what a reader must know of them.
pub(super) struct Matched {
    pub(super) benchmark: Kitti,
    pub(super) notes: Vec<String>,
}

/// Frames are a tenth of a second apart; KITTI lost some sweeps.
const LONGEST_GAP: Nanos = Nanos::from_millis(1_000);

/// An object in a frame of reference: the LiDAR's, or one that does not move.
#[derive(Clone, Debug, PartialEq)]
struct Object {
    kind: Kind,
    centre: [f64; 3],
    /// Its heading, of length 1.
    ahead: [f64; 3],
    /// Length, width and height.
    size: [f64; 3],
    occlusion: Option<Occlusion>,
}

/// Opens the drive that a source read; `data` is where it is now.
pub(super) fn open(spec: &KittiSpec, data: Option<&Path>) -> anyhow::Result<Drive> {
    let mut spec = spec.clone();
    if let Some(data) = data {
        data.clone_into(&mut spec.path);
    }
    let recording = kitti_recording(&spec).map_err(WrongUse::because)?;
    let Some(file) = &recording.tracklets else {
        return Err(WrongUse(format!(
            "{}: the drive {} has no tracklet_labels.xml, so nothing is known of what was there; KITTI has it as an archive of its own, of some drives",
            spec.path.display(),
            spec.sequence
        ))
        .into());
    };
    let tracklets = Tracklets::read(file).map_err(WrongUse::because)?;
    Ok(Drive {
        camera: camera(&recording, &spec, file)?,
        of_camera: spec.sensor == Sensor::Camera,
        path: spec.path,
        recording,
        tracklets,
    })
}

/// The camera whose image the labels are held against: the source's own, or the one of KITTI's benchmark.
fn camera(recording: &KittiRecording, spec: &KittiSpec, beside: &Path) -> anyhow::Result<Camera> {
    let which = kitti_camera(spec);
    let known = recording.frames.first().and_then(|frame| {
        let projection = *frame.calibration.projections.get(which.number())?;
        let [x, y, z, _] = frame.calibration.lidar_to_camera?;
        Some((projection?, [x, y, z], frame.calibration.rectification))
    });
    let Some((projection, lidar_to_camera, rectification)) = known else {
        return Err(WrongUse(format!(
            "{}: the day's calibration has no camera {}, in whose image KITTI's rules count",
            spec.path.display(),
            which.number()
        ))
        .into());
    };
    let images = beside
        .with_file_name(format!("image_{:02}", which.number()))
        .join("data");
    let size = recording
        .frames
        .iter()
        .find_map(|frame| image_size(&images, &format!("{:010}", frame.number)))
        .unwrap_or(KITTI_IMAGE);
    Ok(Camera::of_calibration(
        &lidar_to_camera,
        &rectification,
        projection,
        [f64::from(size.0), f64::from(size.1)],
    ))
}

impl Drive {
    /// Which frames the source has of it now.
    pub(super) fn selection(&self) -> Selection {
        selection::of_files(self.recording.frames.iter().map(|frame| frame.file.as_path()))
    }

    fn frame(&self, content: u64) -> anyhow::Result<&KittiFrame> {
        let frame = usize::try_from(content)
            .ok()
            .and_then(|number| self.recording.frames.get(number));
        Ok(frame.ok_or_else(|| {
            WrongUse(format!(
                "the run has frame {content}, and {} has {}: is it another drive, or has it changed?",
                self.path.display(),
                self.recording.frames.len()
            ))
        })?)
    }

    /// What is there in a frame, in the LiDAR's frame.
    fn objects<'a>(&'a self, frame: &KittiFrame) -> impl Iterator<Item = (usize, Object)> + use<'a> {
        let there = self.tracklets.at(frame.number);
        there.filter_map(|of| Some((of.identity, Object::of(&of)?)))
    }

    /// The answers, each as it is.
    pub(super) fn still(&self, answers: &Answers, taken: &[&Answer]) -> anyhow::Result<Matched> {
        let map = class_map(&answers.classes);
        let mut frames = Vec::with_capacity(taken.len());
        for answer in taken {
            let Some(content) = answer.content else { continue };
            let truths = self.objects(self.frame(content)?);
            frames.push(Frame {
                truths: truths.filter_map(|(_, of)| of.label(&self.camera)).collect(),
                found: self.found(&answer.found, &map, &Pose::NONE)?,
            });
        }
        Matched::of(&frames, 0)
    }

    /// What was known at each moment when an answer was ready or should have been.
    pub(super) fn stream(&self, answers: &Answers) -> anyhow::Result<Matched> {
        let (frames, unknown) = self.late(answers)?;
        Matched::of(&frames, unknown)
    }

    /// The moments of a stream in the LiDAR's frame of each, and how many are left out: boxes in space are moved by the car's way
    /// since their own capture, boxes in the image cannot be.
    fn late(&self, answers: &Answers) -> anyhow::Result<(Vec<Frame>, usize)> {
        let map = class_map(&answers.classes);
        let places = self.places()?;
        let track = self.track(&places)?;
        let (mut timings, mut taken) = (Vec::new(), Vec::new());
        for answer in &answers.frames {
            let Some(content) = answer.content else { continue };
            self.frame(content)?;
            let Some((time, place)) = places.get(content as usize) else {
                continue;
            };
            timings.push(Timing {
                scene: 0,
                // A recording's delay from capture to release counts as lateness, and the deadline from the release on.
                captured: *time
                    + answer
                        .captured
                        .map_or(Nanos::ZERO, |captured| answer.released.since(captured)),
                released: answer.released,
                finished: answer.finished,
            });
            taken.push((answer, place));
        }
        let (mut frames, mut unknown) = (Vec::new(), 0);
        for moment in stream(&timings, answers.deadline) {
            let (Some(there), Some(now)) = (track.at(moment.time)?, place_at(&places, moment.time)) else {
                unknown += 1;
                continue;
            };
            let to_lidar = now.inverse();
            let truths = there
                .iter()
                .filter_map(|of| of.moved(&to_lidar).label(&self.camera));
            let found = match moment.answer.and_then(|answer| taken.get(answer)) {
                // Nothing moves what did not move: `still` and `stream` are equal without delay.
                Some((answer, place)) if **place == now => self.found(&answer.found, &map, &Pose::NONE)?,
                Some((answer, place)) => self.found(&answer.found, &map, &to_lidar.after(place))?,
                None => Vec::new(),
            };
            frames.push(Frame {
                truths: truths.collect(),
                found,
            });
        }
        Ok((frames, unknown))
    }

    /// When each frame was captured, and where the LiDAR was.
    fn places(&self) -> anyhow::Result<Vec<(Nanos, Pose)>> {
        let place = |frame: &KittiFrame| {
            let vehicle = Pose::from_matrix(frame.pose.as_ref()?)?;
            let lidar = Pose::from_matrix(frame.calibration.imu_to_lidar.as_ref()?)?.inverse();
            Some((frame.captured?, vehicle.after(&lidar)))
        };
        let all: Option<Vec<(Nanos, Pose)>> = self.recording.frames.iter().map(place).collect();
        Ok(all.ok_or_else(|| {
            WrongUse(format!(
                "{}: --mode stream needs to know where the car was at each frame, and the drive has no `oxts`; --mode still does not need it",
                self.path.display()
            ))
        })?)
    }

    /// The objects in the frame in which the car moves, followed through the drive.
    fn track(&self, places: &[(Nanos, Pose)]) -> anyhow::Result<Track<Object>> {
        let frames = self.recording.frames.iter().zip(places);
        let annotated = frames.map(|(frame, (time, place))| Annotated {
            time: *time,
            objects: self
                .objects(frame)
                .map(|(identity, of)| Labelled {
                    identity: Some(identity as u64),
                    object: of.moved(place),
                })
                .collect(),
        });
        Ok(Track::new(annotated.collect(), LONGEST_GAP)?)
    }

    /// Detections as KITTI's rules take them; boxes in space are moved first.
    fn found(&self, detections: &[Detection], map: &ClassMap, by: &Pose) -> anyhow::Result<Vec<Found>> {
        let mut all = Vec::with_capacity(detections.len());
        for detection in detections {
            let Some(kind) = map.class(detection.class)?.and_then(|class| KINDS.get(class)) else {
                continue;
            };
            match &detection.place {
                Place::Image(place) => all.push(in_image(*kind, detection.score, place)),
                Place::Space(place) => {
                    all.extend(self.camera.found(*kind, detection.score, &moved(place, by)))
                }
            }
        }
        Ok(all)
    }

    /// What is annotated in a frame: in the image for a camera, in the LiDAR's frame for that.
    pub(super) fn known(&self, answer: &Answer) -> anyhow::Result<Vec<Known>> {
        let Some(content) = answer.content else {
            return Ok(Vec::new());
        };
        let known = self.tracklets.at(self.frame(content)?.number).filter_map(|of| {
            let object = Object::of(&of)?;
            let place = match self.of_camera {
                true => Place::Image(corners(&object.label(&self.camera)?)),
                false => Place::Space(object.place()),
            };
            Some(Known {
                class: of.class.to_owned(),
                place,
            })
        });
        Ok(known.collect())
    }
}

fn corners(label: &Truth) -> crate::detector::Box2d {
    let [x1, y1, x2, y2] = label.bbox.map(|v| v as f32);
    crate::detector::Box2d { x1, y1, x2, y2 }
}

/// Where the LiDAR was at a time: between two captures on the way from the one to the other.
fn place_at(places: &[(Nanos, Pose)], time: Nanos) -> Option<Pose> {
    let after = places.partition_point(|(captured, _)| *captured <= time);
    let (begin, from) = places.get(after.checked_sub(1)?)?;
    if *begin == time {
        return Some(*from);
    }
    let (end, to) = places.get(after)?;
    Some(from.towards(to, (time - *begin).0 as f64 / (*end - *begin).0 as f64))
}

/// A box in another frame of reference; boxes stay upright.
fn moved(place: &Box3d, by: &Pose) -> Box3d {
    if *by == Pose::NONE {
        return *place;
    }
    let [x, y, z] = by.apply([place.x, place.y, place.z].map(f64::from));
    let (sin, cos) = f64::from(place.yaw).sin_cos();
    let ahead = by.rotation.turn([cos, sin, 0.0]);
    Box3d {
        x: x as f32,
        y: y as f32,
        z: z as f32,
        yaw: ahead[1].atan2(ahead[0]) as f32,
        ..*place
    }
}

impl Matched {
    fn of(frames: &[Frame], unknown: usize) -> anyhow::Result<Matched> {
        let mut notes: Vec<String> = few(frames).into_iter().collect();
        let labels = || frames.iter().flat_map(|frame| &frame.truths);
        let unsaid = labels().filter(|label| label.occluded == UNSAID).count();
        if unsaid > 0 {
            notes.push(format!(
                "of {unsaid} of {} labels nobody said how much is hidden: they count neither way",
                labels().count()
            ));
        }
        if unknown > 0 {
            notes.push(format!("moments outside the annotations, left out: {unknown}"));
        }
        Ok(Matched {
            benchmark: Kitti::new(frames)?,
            notes,
        })
    }
}

/// KITTI's number for an occlusion that is not known: more than any difficulty takes.
const UNSAID: i32 = 3;

impl Object {
    fn of(tracked: &Tracked<'_>) -> Option<Object> {
        // Tracklets have `Person (sitting)` where labels have `Person_sitting`.
        let name = match tracked.class {
            "Person (sitting)" => Kind::PersonSitting.name(),
            name => name,
        };
        let (sin, cos) = tracked.yaw.sin_cos();
        Some(Object {
            kind: Kind::of(name)?,
            centre: tracked.centre,
            ahead: [cos, sin, 0.0],
            size: tracked.size,
            occlusion: tracked.occlusion,
        })
    }

    fn moved(&self, by: &Pose) -> Object {
        Object {
            centre: by.apply(self.centre),
            ahead: by.rotation.turn(self.ahead),
            ..self.clone()
        }
    }

    /// Of an object in the LiDAR's frame.
    fn place(&self) -> Box3d {
        let ([x, y, z], [l, w, h]) = (self.centre.map(|v| v as f32), self.size.map(|v| v as f32));
        let yaw = self.ahead[1].atan2(self.ahead[0]) as f32;
        Box3d {
            x,
            y,
            z,
            l,
            w,
            h,
            yaw,
        }
    }

    /// As a label of KITTI, of an object in the LiDAR's frame; `None` for one that is not in the image.
    fn label(&self, camera: &Camera) -> Option<Truth> {
        let space = camera.place(&self.place());
        Some(Truth {
            kind: self.kind,
            truncated: camera.truncated(&space)?,
            occluded: match self.occlusion {
                Some(Occlusion::Visible) => 0,
                Some(Occlusion::Partly) => 1,
                Some(Occlusion::Largely) => 2,
                None => UNSAID,
            },
            alpha: alpha(&space),
            bbox: camera.bbox(&space)?,
            space: Some(space),
        })
    }
}

impl Between for Object {
    fn between(&self, later: &Self, share: f64) -> Self {
        let mixed =
            |from: [f64; 3], to: [f64; 3]| std::array::from_fn(|k| from[k] + (to[k] - from[k]) * share);
        let nearer = if share < 0.5 { self } else { later };
        let ahead: [f64; 3] = mixed(self.ahead, later.ahead);
        let length = ahead.iter().map(|v| v * v).sum::<f64>().sqrt();
        Object {
            centre: mixed(self.centre, later.centre),
            size: mixed(self.size, later.size),
            // Who turns right round within a tenth of a second was labelled wrongly once.
            ahead: if length > 1e-3 {
                ahead.map(|v| v / length)
            } else {
                nearer.ahead
            },
            ..nearer.clone()
        }
    }
}

#[cfg(test)]
mod tests;
