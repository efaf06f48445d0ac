//! Answers on nuScenes, scored by its rules: at annotated captures, or at any moment between them.

use std::collections::BTreeMap;
use std::path::Path;

use jetlag_datasets::geometry::Pose as DatasetPose;
use jetlag_datasets::nuscenes::{BoxFrame, DatasetFrame, GroundTruth, NuScenes as Dataset, Recording};
use jetlag_record::classes::ClassMap;
use jetlag_score::nuscenes::{
    CLASSES, Config, Found, NuScenes, Pose, RACK_CATEGORY, Rack, Sample, Truth, class_of_category, keep_best,
};
use jetlag_score::stream::{Timing, stream};
use jetlag_score::truth::{Annotated, Labelled, Truth as Track};

use super::answers::{Answer, Answers};
use super::view::Known;
use crate::commands::outcome::WrongUse;
use crate::detector::{Detection, Place};
use crate::record::Selection;
use crate::scenario::NuScenesSpec;
use crate::source::recordings::{nuscenes_selected, nuscenes_wanted};
use crate::units::Nanos;

/// A dataset with its annotations, and the frames that a source has of it.
pub(super) struct Annotations {
    truth: GroundTruth,
    recording: Recording,
    key_frames: usize,
}

/// Matched answers, and the scene of each.
pub(super) struct Matched {
    pub(super) benchmark: NuScenes,
    pub(super) scenes: Vec<u32>,
    /// Annotated moments that the run did not answer, or of which nothing is known.
    pub(super) left_out: usize,
}

/// Annotations are half a second apart in nuScenes.
const LONGEST_GAP: Nanos = Nanos::from_millis(1_500);

/// Opens the dataset that a source read; `data` is where it is now, and `then` which frames a run had of it.
pub(super) fn open(
    spec: &NuScenesSpec,
    data: Option<&Path>,
    then: Option<&Selection>,
) -> anyhow::Result<Annotations> {
    let path = data.unwrap_or(&spec.path);
    let dataset = Dataset::open(path, spec.version.as_deref()).map_err(WrongUse::because)?;
    let wanted = nuscenes_wanted(spec);
    let recording = match then {
        // It had the frames whose files were there.
        Some(then) if !then.losses.is_empty() => dataset.select(&wanted),
        // Sweeps and images may be elsewhere: what counts stands in the tables.
        _ => dataset.select_of_tables(&wanted),
    }
    .map_err(WrongUse::because)?;
    let key_frames = recording.frames().filter(|frame| frame.is_key_frame).count();
    Ok(Annotations {
        truth: GroundTruth::read(&dataset).map_err(WrongUse::because)?,
        recording,
        key_frames,
    })
}

impl Annotations {
    /// Which captures the source's selection has now.
    pub(super) fn selection(&self) -> Selection {
        nuscenes_selected(&self.recording)
    }

    fn frame(&self, answer: &Answer) -> anyhow::Result<Option<&DatasetFrame>> {
        let Some(content) = answer.content else {
            return Ok(None);
        };
        let frame = usize::try_from(content)
            .ok()
            .and_then(|number| self.recording.frame(number));
        match frame {
            Some(frame) => Ok(Some(frame)),
            None => Err(WrongUse(format!(
                "the run has frame {content}, and the dataset {} of this selection: is it another one, or has it changed?",
                self.recording.len()
            ))
            .into()),
        }
    }

    /// The answers at annotated captures, each as it is.
    pub(super) fn still(&self, answers: &Answers) -> anyhow::Result<Matched> {
        let map = class_map(&answers.classes);
        let (mut samples, mut scenes) = (Vec::new(), Vec::new());
        for answer in answers.frames.iter().filter(|answer| answer.finished.is_some()) {
            let Some(frame) = self.frame(answer)?.filter(|frame| frame.is_key_frame) else {
                continue;
            };
            let pose = global(frame)?;
            samples.push(Sample {
                ego: [pose.translation[0], pose.translation[1]],
                truths: self
                    .truths(frame)?
                    .into_iter()
                    .map(|labelled| labelled.object)
                    .collect(),
                found: found(&answer.found, &map, &pose)?,
                racks: self.racks(frame)?,
            });
            scenes.push(frame.scene as u32);
        }
        let left_out = self.key_frames.saturating_sub(samples.len());
        self.matched(samples, scenes, left_out)
    }

    /// What was known at each moment when an answer was ready or should have been.
    pub(super) fn stream(&self, answers: &Answers) -> anyhow::Result<Matched> {
        let map = class_map(&answers.classes);
        let tracks = self.tracks()?;
        let (mut timings, mut frames) = (Vec::new(), Vec::new());
        for answer in &answers.frames {
            let Some(frame) = self.frame(answer)? else {
                continue;
            };
            timings.push(Timing {
                scene: frame.scene as u32,
                // A recording's delay from capture to release counts as lateness, and the deadline from the release on.
                captured: frame.captured
                    + answer
                        .captured
                        .map_or(Nanos::ZERO, |captured| answer.released.since(captured)),
                released: answer.released,
                finished: answer.finished,
            });
            frames.push((answer, frame));
        }
        let (mut samples, mut scenes, mut unknown) = (Vec::new(), Vec::new(), 0);
        for moment in stream(&timings, answers.deadline) {
            let truths = match tracks.get(&moment.scene) {
                Some(track) => track.at(moment.time)?,
                None => None,
            };
            let (Some(truths), Some((_, own))) = (truths, frames.get(moment.frame)) else {
                unknown += 1;
                continue;
            };
            let found = match moment.answer.and_then(|answer| frames.get(answer)) {
                Some((answer, frame)) => found(&answer.found, &map, &global(frame)?)?,
                None => Vec::new(),
            };
            let pose = global(own)?;
            samples.push(Sample {
                ego: [pose.translation[0], pose.translation[1]],
                truths,
                found,
                racks: self.racks(own)?,
            });
            scenes.push(moment.scene);
        }
        self.matched(samples, scenes, unknown)
    }

    /// What was found at each annotated capture, by the token of its sample; nothing where the run has no answer.
    pub(super) fn results(&self, answers: &Answers) -> anyhow::Result<Vec<(String, Vec<Found>)>> {
        let map = class_map(&answers.classes);
        let mut by_sample: BTreeMap<String, Vec<Found>> = self
            .recording
            .frames()
            .filter(|frame| frame.is_key_frame)
            .map(|frame| (frame.sample.to_string(), Vec::new()))
            .collect();
        for answer in answers.frames.iter().filter(|answer| answer.finished.is_some()) {
            if let Some(frame) = self.frame(answer)?.filter(|frame| frame.is_key_frame) {
                let found = found(&answer.found, &map, &global(frame)?)?;
                by_sample.insert(frame.sample.to_string(), found);
            }
        }
        Ok(by_sample.into_iter().collect())
    }

    /// What limits the truth.
    pub(super) fn notes(&self) -> anyhow::Result<Vec<String>> {
        let (mut labels, mut unknown) = (0_u64, 0_u64);
        for frame in self.recording.frames().filter(|frame| frame.is_key_frame) {
            for labelled in self.truths(frame)? {
                labels += 1;
                unknown += u64::from(labelled.object.points.is_none());
            }
        }
        let note = format!(
            "{unknown} of {labels} labels do not say how many points lie in them (num_lidar_pts is absent or below 0), so none of \
             these was left out for want of points: the figures are lower than with that rule"
        );
        Ok((unknown > 0).then_some(note).into_iter().collect())
    }

    fn matched(&self, samples: Vec<Sample>, scenes: Vec<u32>, left_out: usize) -> anyhow::Result<Matched> {
        Ok(Matched {
            benchmark: NuScenes::new(Config::default(), &samples)?,
            scenes,
            left_out,
        })
    }

    /// The annotated objects of each scene, followed by their instance.
    fn tracks(&self) -> anyhow::Result<BTreeMap<u32, Track<Truth>>> {
        let mut scenes: BTreeMap<u32, Vec<Annotated<Truth>>> = BTreeMap::new();
        for frame in self.recording.frames().filter(|frame| frame.is_key_frame) {
            scenes.entry(frame.scene as u32).or_default().push(Annotated {
                time: frame.captured,
                objects: self.truths(frame)?,
            });
        }
        let mut tracks = BTreeMap::new();
        for (scene, annotated) in scenes {
            tracks.insert(scene, Track::new(annotated, LONGEST_GAP)?);
        }
        Ok(tracks)
    }

    fn truths(&self, frame: &DatasetFrame) -> anyhow::Result<Vec<Labelled<Truth>>> {
        let boxes = self
            .truth
            .boxes(frame, BoxFrame::Global)
            .map_err(WrongUse::because)?;
        let truths = boxes.iter().filter_map(|of| {
            let class = class_of_category(of.category)?;
            Some(Labelled {
                identity: Some(identity(&of.instance.to_string())),
                object: Truth {
                    class,
                    centre: of.pose.translation,
                    size: [of.place.w, of.place.l, of.place.h].map(f64::from),
                    yaw: of.pose.rotation.yaw(),
                    velocity: of.velocity.map(|[x, y, _]| [x, y]),
                    // Without a LiDAR's count the radar's, which is mostly 0, says nothing.
                    points: of
                        .lidar_points
                        .map(|lidar| lidar.saturating_add(of.radar_points.unwrap_or(0))),
                    attribute: None,
                },
            })
        });
        Ok(truths.collect())
    }

    /// What is annotated at a frame, in the frame of a LiDAR; of cameras nothing.
    pub(super) fn known(&self, answer: &Answer) -> anyhow::Result<Vec<Known>> {
        let Some(frame) = self.frame(answer)? else {
            return Ok(Vec::new());
        };
        let boxes = self
            .truth
            .boxes(frame, BoxFrame::Sensor)
            .map_err(WrongUse::because)?;
        let known = boxes.into_iter().map(|of| Known {
            class: class_of_category(of.category)
                .and_then(|class| CLASSES.get(class))
                .map_or(of.category, |name| *name)
                .to_owned(),
            place: Place::Space(of.place),
        });
        Ok(known.collect())
    }

    fn racks(&self, frame: &DatasetFrame) -> anyhow::Result<Vec<Rack>> {
        let boxes = self
            .truth
            .boxes(frame, BoxFrame::Global)
            .map_err(WrongUse::because)?;
        let racks = boxes.iter().filter(|of| of.category == RACK_CATEGORY);
        let racks = racks.map(|of| Rack {
            centre: of.pose.translation,
            size: [of.place.w, of.place.l, of.place.h].map(f64::from),
            yaw: of.pose.rotation.yaw(),
        });
        Ok(racks.collect())
    }
}

/// A number for an instance: equal tokens have equal ones, and others do not in any dataset that there is.
fn identity(token: &str) -> u64 {
    let hash = blake3::hash(token.as_bytes());
    hash.as_bytes()
        .first_chunk::<8>()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// A detector's classes among nuScenes's ten.
pub(super) fn class_map(classes: &[String]) -> ClassMap {
    ClassMap::by_name(classes, &CLASSES.map(str::to_owned))
}

fn global(frame: &DatasetFrame) -> anyhow::Result<DatasetPose> {
    let pose = frame.to_global();
    Ok(pose.ok_or_else(|| {
        WrongUse(format!(
            "{}: the dataset has no pose of the car for it, so its boxes have no place on the map",
            frame.file.display()
        ))
    })?)
}

fn found(detections: &[Detection], map: &ClassMap, pose: &DatasetPose) -> anyhow::Result<Vec<Found>> {
    let place = Pose {
        rotation: pose.rotation.quaternion(),
        translation: pose.translation,
    };
    let mut all = Vec::with_capacity(detections.len());
    for detection in detections {
        if let (Some(class), Place::Space(at)) = (map.class(detection.class)?, &detection.place) {
            let velocity = detection.velocity.map(|[x, y]| {
                let [x, y, _] = pose.rotation.turn([f64::from(x), f64::from(y), 0.0]);
                [x, y]
            });
            all.push(Found {
                velocity,
                ..Found::placed(class, detection.score, at, &place)
            });
        }
    }
    keep_best(&mut all, Config::default().most_boxes);
    Ok(all)
}
