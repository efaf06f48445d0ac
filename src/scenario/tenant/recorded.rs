//! What is meant by a recording as a tenant's source.

use std::path::{Path, PathBuf};

use super::{MOST_MEGAPIXELS, MOST_POINTS, One};
use crate::scenario::recorded::{RecordedFile, WhatFile};
use crate::scenario::rules::require;
use crate::scenario::{
    BagSpec, KittiLayout, KittiSpec, MAX_MEGAPIXELS, MAX_POINTS, NuScenesSpec, RecordingSpec, Sensor,
    SourceSpec, StampOf,
};
use crate::units::Nanos;
use crate::written::{Read, Reader, Spot};

/// The most sweeps of a frame: three seconds of a LiDAR.
const MOST_SWEEPS: u32 = 64;

/// As it is written.
pub(super) fn sensor_name(sensor: &Sensor) -> &str {
    match sensor {
        Sensor::Camera => "Camera",
        Sensor::Lidar => "Lidar",
    }
}

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
                sensors,
                sweeps,
                keyframes,
            } => {
                let path = self.recording(file, "nuScenes dataset", Path::is_dir, r);
                let is_camera = |sensor: &String| sensor.starts_with("CAM");
                if let Some(spot) = sweeps.given().filter(|spot| spot.value > 1)
                    && sensors.iter().all(|sensor| is_camera(&sensor.value))
                {
                    let why = "a camera has no sweeps to put together";
                    let advice = "leave it out, or name a LiDAR";
                    self.contradiction(r, &spot.place, "sweeps", why, advice);
                }
                let sweeps = self.at_most(sweeps, "sweeps", 1, MOST_SWEEPS, "from 1 to 64", r);
                let of = |sensor: &Spot<String>| {
                    SourceSpec::NuScenes(NuScenesSpec {
                        path: path.clone(),
                        version: version.given().map(|spot| spot.value.clone()),
                        scenes: scenes.given().map_or_else(Vec::new, |spot| {
                            spot.value.iter().map(|scene| scene.value.clone()).collect()
                        }),
                        sensor: sensor.value.clone(),
                        // A camera has no sweeps to put together.
                        sweeps: if is_camera(&sensor.value) { 1 } else { sweeps },
                        keyframes: keyframes.or(false),
                        common,
                    })
                };
                self.in_sets(sensors, of, |sensor| Some(is_camera(sensor)), String::as_str, r)
            }
            WhatFile::Kitti {
                layout,
                sequence,
                sensors,
                camera,
            } => {
                let path = self.recording(file, "KITTI dataset", Path::is_dir, r);
                let camera = self.camera(camera, r);
                let sequence = match (sequence.given(), layout.value) {
                    (Some(spot), _) => spot.value.clone(),
                    (None, KittiLayout::Object) => "training".to_owned(),
                    (None, KittiLayout::Odometry) => "00".to_owned(),
                    (None, KittiLayout::Raw) => {
                        let why = "the Raw layout has many drives";
                        let advice = "name one: sequence: \"2011_09_26_drive_0001_sync\"";
                        self.contradiction(r, &layout.place, "sequence", why, advice);
                        String::new()
                    }
                };
                let of = |sensor: &Spot<Sensor>| {
                    SourceSpec::Kitti(KittiSpec {
                        path: path.clone(),
                        layout: layout.value,
                        sequence: sequence.clone(),
                        sensor: sensor.value,
                        camera,
                        common,
                    })
                };
                self.in_sets(
                    sensors,
                    of,
                    |sensor| Some(*sensor == Sensor::Camera),
                    sensor_name,
                    r,
                )
            }
            WhatFile::Bag { topics, from, to, by } => {
                if let (Some(to), from) = (to.given(), from.or(Nanos::ZERO))
                    && to.value <= from
                {
                    let (why, advice) = (
                        "nothing lies before `from`",
                        "give a `to` that is later than `from`",
                    );
                    self.contradiction(r, &to.place, "to", why, advice);
                }
                let path = self.recording(file, "ROS 2 bag", Path::exists, r);
                let of = |topic: &Spot<String>| {
                    SourceSpec::Bag(BagSpec {
                        path: path.clone(),
                        topic: topic.value.clone(),
                        from: from.or(Nanos::ZERO),
                        to: to.given().map(|spot| spot.value),
                        by: by.or(StampOf::Log),
                        common,
                    })
                };
                // Which topic is which shows when the bag is opened.
                self.in_sets(topics, of, |_| None, String::as_str, r)
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
