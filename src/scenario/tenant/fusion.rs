//! What is meant by a fusion: its detectors, its tolerance, and that its source has the sensors.

use super::super::file::DetectorFile;
use super::super::fusion::{DetectorsFile, FusionFile};
use super::One;
use crate::nearest::nearest;
use crate::scenario::rules::require;
use crate::scenario::{
    Associate, DetectorRef, FusionSpec, SET_QUEUE, SetRule, SetSpec, SourceSpec, TOLERANCE,
};
use crate::units::Nanos;
use crate::written::{ProblemKind, Read, Reader, Spot, shown};

/// The longest queue of a sensor: a frame that waited longer has no partner.
const LONGEST_QUEUE: usize = 1000;

impl One<'_> {
    /// The fusion that the tenant's detector is, as typed.
    fn typed_fusion(&self) -> Option<&FusionFile> {
        match &self.typed.detector.given()?.value {
            DetectorFile::Fusion(file) => Some(file.as_ref()),
            DetectorFile::Named(_) | DetectorFile::Network(_) => None,
        }
    }

    pub(super) fn fusion(&self, file: &FusionFile, r: &mut Reader) -> Option<DetectorRef> {
        let (camera, lidar, iou, same_class) = match &file.detectors {
            DetectorsFile::Whole(spec) => {
                let is_file = std::path::Path::is_file;
                let found = self.find(&spec.value, &spec.place, "whole", "detector spec", is_file, r);
                return found.map(DetectorRef::Whole);
            }
            DetectorsFile::Late {
                camera,
                lidar,
                iou,
                same_class,
            } => (camera, lidar, iou, same_class),
        };
        let camera = self.named(&camera.value, &camera.place, "camera", r);
        let lidar = self.named(&lidar.value, &lidar.place, "lidar", r);
        let usual = Associate::default();
        let Associate::Greedy {
            iou: usual_iou,
            same_class: usual_class,
        } = usual;
        if let Some(spot) = iou.given() {
            let ok = spot.value > 0.0 && spot.value <= 1.0;
            require(r, spot, ok, self.of("iou"), "above 0 and at most 1");
        }
        Some(DetectorRef::Fusion(FusionSpec {
            camera: Box::new(camera?),
            lidar: Box::new(lidar?),
            associate: Associate::Greedy {
                iou: iou.or(usual_iou),
                same_class: same_class.or(usual_class),
            },
            cameras: 1,
        }))
    }

    /// One sensor's frames; or those of several in sets. Where the fusion does not name its cameras and nobody knows which sensor is
    /// what, the LiDAR is the last.
    pub(super) fn in_sets<T>(
        &self,
        sensors: &[Spot<T>],
        of: impl Fn(&Spot<T>) -> SourceSpec,
        is_camera: impl Fn(&T) -> Option<bool>,
        name: impl Fn(&T) -> &str,
        r: &mut Reader,
    ) -> SourceSpec {
        let [_, .., last] = sensors else {
            return sensors.first().map_or(SourceSpec::Empty, of);
        };
        let mut is_right = true;
        for (number, sensor) in sensors.iter().enumerate() {
            let same = |other: &&Spot<T>| name(&other.value) == name(&sensor.value);
            if let Some(earlier) = sensors.iter().take(number).find(same) {
                let kind = ProblemKind::Twice {
                    what: format!("{} in the sensors of {}", shown(name(&sensor.value)), self.label),
                    first: earlier.place.clone(),
                };
                r.report(&sensor.place, kind);
                is_right = false;
            }
        }
        let all: Vec<&Spot<T>> = sensors.iter().collect();
        let named = self.typed_fusion().map(|file| &file.cameras);
        let chosen = match named {
            Some(Read::Given(cameras)) => self.named_cameras(&cameras.value, &all, &name, r),
            Some(Read::Wrong) => return SourceSpec::Empty,
            Some(Read::Absent) | None => {
                let known: Option<Vec<bool>> = sensors.iter().map(|of| is_camera(&of.value)).collect();
                let known = known.unwrap_or_else(|| {
                    let places = 1..=sensors.len();
                    places.map(|place| place < sensors.len()).collect()
                });
                Some(all.iter().copied().zip(known).collect())
            }
        };
        // What was told already has no second error.
        let Some(chosen) = chosen.filter(|_| is_right) else {
            return SourceSpec::Empty;
        };
        // Whose detector takes images takes those of all, one after the other.
        let takes_one = matches!(
            self.typed.detector.given().map(|spot| &spot.value),
            Some(DetectorFile::Named(_))
        );
        let nobody_knows = sensors.iter().all(|of| is_camera(&of.value).is_none());
        if self.typed_fusion().is_none()
            && (chosen.iter().all(|(_, is_camera)| *is_camera) || (takes_one && nobody_knows))
        {
            return SourceSpec::Cameras(all.into_iter().map(&of).collect());
        }
        let part = |wanted: bool| {
            let all = chosen.iter().filter(move |(_, is_camera)| *is_camera == wanted);
            all.map(|(sensor, _)| *sensor)
        };
        let mut cameras = part(true);
        let others: Vec<&Spot<T>> = part(false).collect();
        let (Some(camera), [lidar]) = (cameras.next(), &others[..]) else {
            let (place, advice) = match named {
                Some(Read::Given(cameras)) => (
                    &cameras.place,
                    "name every sensor but the LiDAR in the fusion's `cameras`, or leave `cameras` out",
                ),
                _ => (&last.place, "name at least one camera and one LiDAR"),
            };
            let left: Vec<&str> = others.iter().map(|of| name(&of.value)).collect();
            let why = format!(
                "a set is of cameras and one LiDAR, and this has {}",
                counted(part(true).count(), &left)
            );
            self.contradiction(r, place, "source", &why, advice);
            return SourceSpec::Empty;
        };
        SourceSpec::Synchronised(SetSpec {
            camera: Box::new(of(camera)),
            more_cameras: cameras.map(&of).collect(),
            lidar: Box::new(of(lidar)),
            tolerance: self.tolerance(r),
            queue: self.set_queue(r),
            rule: self
                .typed_fusion()
                .map_or(SetRule::default(), |file| file.rule.or_default()),
        })
    }

    /// All sensors, the named ones first, each with whether it is a camera; `None` where a name is wrong, which is reported.
    fn named_cameras<'s, T>(
        &self,
        names: &[Spot<String>],
        sensors: &[&'s Spot<T>],
        name: &impl Fn(&T) -> &str,
        r: &mut Reader,
    ) -> Option<Vec<(&'s Spot<T>, bool)>> {
        let mut chosen: Vec<(&Spot<T>, bool)> = Vec::new();
        let mut is_right = true;
        for wanted in names {
            let known = || sensors.iter().map(|sensor| name(&sensor.value));
            match sensors.iter().find(|of| name(&of.value) == wanted.value) {
                Some(sensor) if chosen.iter().any(|(of, _)| std::ptr::eq(*of, *sensor)) => {
                    let what = format!("{} in `cameras` of {}", shown(&wanted.value), self.label);
                    let first = names.iter().find(|other| other.value == wanted.value);
                    let first = first.map_or(wanted.place.clone(), |first| first.place.clone());
                    r.report(&wanted.place, ProblemKind::Twice { what, first });
                    is_right = false;
                }
                Some(sensor) => chosen.push((sensor, true)),
                None => {
                    let meant = nearest(&wanted.value, known())
                        .map_or_else(String::new, |name| format!("; {} is probably meant", shown(name)));
                    let kind = ProblemKind::OutOfRange {
                        what: format!("a camera in {}", self.of("cameras")),
                        found: shown(&wanted.value),
                        wanted: format!(
                            "one of the source's sensors: {}{meant}",
                            known().map(shown).collect::<Vec<_>>().join(", ")
                        ),
                    };
                    r.report(&wanted.place, kind);
                    is_right = false;
                }
            }
        }
        let others = sensors.iter().filter(|sensor| {
            let is_named = |wanted: &Spot<String>| wanted.value == name(&sensor.value);
            !names.iter().any(is_named)
        });
        let others: Vec<(&Spot<T>, bool)> = others.map(|sensor| (*sensor, false)).collect();
        is_right.then(|| chosen.into_iter().chain(others).collect())
    }

    /// How far apart the captures of a set may lie.
    pub(super) fn tolerance(&self, r: &mut Reader) -> Nanos {
        let Some(spot) = self.typed_fusion().and_then(|file| file.tolerance.given()) else {
            return TOLERANCE;
        };
        let ok = spot.value > Nanos::ZERO && spot.value <= Nanos::from_secs(10);
        require(r, spot, ok, self.of("tolerance"), "above zero and at most 10 s");
        spot.value
    }

    /// How many frames of a sensor wait for a partner.
    pub(super) fn set_queue(&self, r: &mut Reader) -> usize {
        let Some(spot) = self.typed_fusion().and_then(|file| file.queue.given()) else {
            return SET_QUEUE;
        };
        let ok = (1..=LONGEST_QUEUE).contains(&spot.value);
        require(r, spot, ok, self.of("queue"), "from 1 to 1000");
        spot.value.clamp(1, LONGEST_QUEUE)
    }

    /// A fusion is fed with sets, and nothing else is.
    pub(super) fn source_of_fusion(
        &self,
        detector: Option<&DetectorRef>,
        source: &SourceSpec,
        r: &mut Reader,
    ) {
        let has_sets = matches!(source, SourceSpec::Synchronised(_));
        let Some(spot) = self.typed.source.given() else {
            return;
        };
        match detector.map(DetectorRef::spec) {
            // Why there is no source was told where it was read.
            _ if matches!(source, SourceSpec::Empty) => {}
            Some(DetectorRef::Fusion(_) | DetectorRef::Whole(_)) if !has_sets => {
                let why = "a fusion is fed with frames of a camera and of a LiDAR together";
                let advice = "give the source both (or more cameras): sensors: [\"CAM_FRONT\", \"LIDAR_TOP\"] of NuScenes, sensors: [Camera, Lidar] of Kitti or Synthetic, topics: [\"/camera/image\", \"/lidar/points\"] of Bag";
                self.contradiction(r, &spot.place, "source", why, advice);
            }
            Some(DetectorRef::File(_) | DetectorRef::Builtin(_)) if has_sets => {
                let why = "its frames are of several sensors, and the detector takes those of one";
                let advice = "name one sensor, or both detectors: Fusion(camera: \"builtin:camera\", lidar: \"builtin:lidar\"); of one network that takes all: Fusion(whole: \"all.ron\")";
                self.contradiction(r, &spot.place, "source", why, advice);
            }
            _ => {}
        }
        if let Some(batch) = self.typed.batch.given().filter(|spot| has_sets && spot.value > 1) {
            let kind = ProblemKind::Contradiction {
                what: self.of("batch"),
                why: "a set of sensors has an inference of its own".into(),
                advice: "leave `batch` out".into(),
            };
            r.report(&batch.place, kind);
        }
    }
}

/// So many cameras and what is left of the sensors, in words.
fn counted(cameras: usize, left: &[&str]) -> String {
    let sensors = cameras + left.len();
    let ending = if cameras == 1 { "" } else { "s" };
    let left = match left {
        [] => "none is left".to_owned(),
        [one] => format!("{} is left", shown(one)),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(|name| shown(name).to_string()).collect();
            format!("{} and {} are left", first.join(", "), shown(last))
        }
    };
    format!("{sensors} sensors, of which {cameras} camera{ending}; {left}, and exactly one LiDAR may be")
}
