//! What is meant by a fusion: its detectors, its tolerance, and that its source has both sensors.

use super::super::file::DetectorFile;
use super::super::fusion::FusionFile;
use super::One;
use crate::scenario::rules::require;
use crate::scenario::{Associate, DetectorRef, FusionSpec, SET_QUEUE, SourceSpec, TOLERANCE};
use crate::units::Nanos;
use crate::written::{ProblemKind, Reader};

/// The longest queue of a sensor: a frame that waited longer has no partner.
const LONGEST_QUEUE: usize = 1000;

impl One<'_> {
    /// The fusion that the tenant's detector is, as typed.
    fn typed_fusion(&self) -> Option<&FusionFile> {
        match &self.typed.detector.given()?.value {
            DetectorFile::Fusion(file) => Some(file),
            DetectorFile::Named(_) | DetectorFile::Network(_) => None,
        }
    }

    pub(super) fn fusion(&self, file: &FusionFile, r: &mut Reader) -> Option<DetectorRef> {
        let camera = self.named(&file.camera.value, &file.camera.place, "camera", r);
        let lidar = self.named(&file.lidar.value, &file.lidar.place, "lidar", r);
        let Associate::Greedy { iou, same_class } = Associate::default();
        if let Some(spot) = file.iou.given() {
            let ok = spot.value > 0.0 && spot.value <= 1.0;
            require(r, spot, ok, self.of("iou"), "above 0 and at most 1");
        }
        Some(DetectorRef::Fusion(FusionSpec {
            camera: Box::new(camera?),
            lidar: Box::new(lidar?),
            associate: Associate::Greedy {
                iou: file.iou.or(iou),
                same_class: file.same_class.or(same_class),
            },
        }))
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
        match detector {
            Some(DetectorRef::Fusion(_)) if !has_sets => {
                let why = "a fusion is fed with frames of a camera and of a LiDAR together";
                let advice = "give the source both: sensors: [\"CAM_FRONT\", \"LIDAR_TOP\"] of NuScenes, sensors: [Camera, Lidar] of Kitti or Synthetic, topics: [\"/camera/image\", \"/lidar/points\"] of Bag";
                self.contradiction(r, &spot.place, "source", why, advice);
            }
            Some(DetectorRef::File(_) | DetectorRef::Builtin(_)) if has_sets => {
                let why = "its frames are of two sensors, and the detector takes those of one";
                let advice = "name one sensor, or both detectors: Fusion(camera: \"builtin:camera\", lidar: \"builtin:lidar\")";
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
