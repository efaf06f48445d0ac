//! What is meant by a recording as a tenant's source.

use std::path::{Path, PathBuf};

use super::{MOST_MEGAPIXELS, MOST_POINTS, One};
use crate::scenario::recorded::{RecordedFile, WhatFile};
use crate::scenario::rules::require;
use crate::scenario::{
    BagSpec, KittiLayout, KittiSpec, MAX_MEGAPIXELS, MAX_POINTS, NuScenesSpec, RecordingSpec, SourceSpec,
    StampOf,
};
use crate::units::Nanos;
use crate::written::{Read, Reader};

/// The most sweeps of a frame: three seconds of a LiDAR.
const MOST_SWEEPS: u32 = 64;

impl One<'_> {
    /// A recording as it is read.
    pub(super) fn recorded(&self, file: &RecordedFile, r: &mut Reader) -> SourceSpec {
        let common = RecordingSpec {
            repeat: file.repeat.or(true),
            max_megapixels: self.at_most(
                &file.max_megapixels,
                "max_megapixels",
                MAX_MEGAPIXELS,
                MOST_MEGAPIXELS,
                "from 1 to 1000, in millions of pixels",
                r,
            ),
            max_points: self.at_most(
                &file.max_points,
                "max_points",
                MAX_POINTS,
                MOST_POINTS,
                "from 1 to 100000000",
                r,
            ),
            reading: self.reading(&file.reading, r),
        };
        match &file.what {
            WhatFile::NuScenes {
                version,
                scenes,
                sensor,
                sweeps,
                keyframes,
            } => SourceSpec::NuScenes(NuScenesSpec {
                path: self.recording(file, "nuScenes dataset", Path::is_dir, r),
                version: version.given().map(|spot| spot.value.clone()),
                scenes: scenes.given().map_or_else(Vec::new, |spot| {
                    spot.value.iter().map(|scene| scene.value.clone()).collect()
                }),
                sensor: sensor.value.clone(),
                sweeps: self.at_most(sweeps, "sweeps", 1, MOST_SWEEPS, "from 1 to 64", r),
                keyframes: keyframes.or(false),
                common,
            }),
            WhatFile::Kitti {
                layout,
                sequence,
                sensor,
                camera,
            } => SourceSpec::Kitti(KittiSpec {
                path: self.recording(file, "KITTI dataset", Path::is_dir, r),
                layout: layout.value,
                sequence: match (sequence.given(), layout.value) {
                    (Some(spot), _) => spot.value.clone(),
                    (None, KittiLayout::Object) => "training".to_owned(),
                    (None, KittiLayout::Odometry) => "00".to_owned(),
                    (None, KittiLayout::Raw) => {
                        let why = "the Raw layout has many drives";
                        let advice = "name one: sequence: \"2011_09_26_drive_0001_sync\"";
                        self.contradiction(r, &layout.place, "sequence", why, advice);
                        String::new()
                    }
                },
                sensor: sensor.value,
                camera: self.camera(camera, r),
                common,
            }),
            WhatFile::Bag { topic, from, to, by } => {
                if let (Some(to), from) = (to.given(), from.or(Nanos::ZERO))
                    && to.value <= from
                {
                    let (why, advice) = (
                        "nothing lies before `from`",
                        "give a `to` that is later than `from`",
                    );
                    self.contradiction(r, &to.place, "to", why, advice);
                }
                SourceSpec::Bag(BagSpec {
                    path: self.recording(file, "ROS 2 bag", Path::exists, r),
                    topic: topic.value.clone(),
                    from: from.or(Nanos::ZERO),
                    to: to.given().map(|spot| spot.value),
                    by: by.or(StampOf::Log),
                    common,
                })
            }
        }
    }

    fn recording(
        &self,
        file: &RecordedFile,
        what: &'static str,
        is_it: fn(&Path) -> bool,
        r: &mut Reader,
    ) -> PathBuf {
        let found = self.find(&file.path.value, &file.path.place, "source", what, is_it, r);
        found.unwrap_or_default()
    }

    fn camera(&self, camera: &Read<u32>, r: &mut Reader) -> u8 {
        if let Some(spot) = camera.given() {
            require(
                r,
                spot,
                spot.value <= 3,
                self.of("camera"),
                "from 0 to 3: image_00 to image_03",
            );
        }
        camera.or(2).min(3) as u8
    }
}
