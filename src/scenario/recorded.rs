//! Recordings of robots as sources: what may be written for them. What is meant by it is told by the tenant.

use super::choices::{BAG_EXAMPLE, KITTI_EXAMPLE, NUSCENES_EXAMPLE};
use super::stored::{ReadingFile, folder, reading};
use super::{KittiLayout, Sensor, StampOf};
use crate::units::Nanos;
use crate::written::{Fields, Kind, Node, ProblemKind, Read, Reader, Spot, one_of};

/// The most sensors of a set.
const MOST_SENSORS: usize = 32;

/// What may stand for a recording.
#[derive(Debug)]
pub(super) struct RecordedFile {
    pub(super) path: Spot<String>,
    pub(super) what: WhatFile,
    pub(super) repeat: Read<bool>,
    pub(super) max_megapixels: Read<u32>,
    pub(super) max_points: Read<u32>,
    pub(super) reading: ReadingFile,
}

#[derive(Debug)]
pub(super) enum WhatFile {
    NuScenes {
        version: Read<String>,
        scenes: Read<Vec<Spot<String>>>,
        /// One, several cameras, or cameras and a LiDAR.
        sensors: Vec<Spot<String>>,
        sweeps: Read<u32>,
        keyframes: Read<bool>,
    },
    Kitti {
        layout: Spot<KittiLayout>,
        sequence: Read<String>,
        sensors: Vec<Spot<Sensor>>,
        camera: Read<u32>,
    },
    Bag {
        topics: Vec<Spot<String>>,
        from: Read<Nanos>,
        to: Read<Nanos>,
        by: Read<StampOf>,
    },
}

/// Reads the alternative of this name.
pub(super) fn read(r: &mut Reader, name: &str, f: &Fields<'_>) -> Option<RecordedFile> {
    let repeat = r.optional(f, "repeat", Reader::flag);
    let max_megapixels = r.optional(f, "max_megapixels", Reader::whole);
    let max_points = r.optional(f, "max_points", Reader::whole);
    let reading = reading(r, f);
    let example = match name {
        "NuScenes" => NUSCENES_EXAMPLE,
        "Kitti" => KITTI_EXAMPLE,
        _ => BAG_EXAMPLE,
    };
    let what = match name {
        "NuScenes" => {
            let version = r.optional(f, "version", Reader::text);
            let scenes = r.optional(f, "scenes", |r, node, field| {
                r.list(
                    node,
                    field,
                    "a list of names or numbers of scenes, such as [\"scene-0061\"] or [0, 3]",
                    scene,
                )
            });
            let sweeps = r.optional(f, "sweeps", Reader::whole);
            let keyframes = r.optional(f, "keyframes", Reader::flag);
            WhatFile::NuScenes {
                version,
                scenes,
                sensors: one_or_several(
                    r,
                    f,
                    ["sensor", "sensors"],
                    "sensor: \"LIDAR_TOP\"",
                    "cameras, or cameras and a LiDAR: [\"CAM_FRONT\", \"LIDAR_TOP\"]",
                    Reader::text,
                )?,
                sweeps,
                keyframes,
            }
        }
        "Kitti" => {
            let sequence = r.optional(f, "sequence", Reader::text);
            let camera = r.optional(f, "camera", Reader::whole);
            WhatFile::Kitti {
                layout: r.required(f, "layout", "layout: Object, Raw or Odometry", one_of("layout"))?,
                sequence,
                sensors: one_or_several(
                    r,
                    f,
                    ["sensor", "sensors"],
                    "sensor: Lidar or Camera",
                    "a camera and a LiDAR: [Camera, Lidar]",
                    one_of("sensor"),
                )?,
                camera,
            }
        }
        _ => {
            let from = r.optional(f, "from", Reader::duration);
            let to = r.optional(f, "to", Reader::duration);
            let by = r.optional(f, "by", one_of("time of a message"));
            WhatFile::Bag {
                topics: one_or_several(
                    r,
                    f,
                    ["topic", "topics"],
                    "topic: \"/lidar/points\"",
                    "those of cameras, or of cameras and then the LiDAR's: [\"/camera/image\", \"/lidar/points\"]",
                    Reader::text,
                )?,
                from,
                to,
                by,
            }
        }
    };
    Some(RecordedFile {
        path: folder(r, f, example)?,
        what,
        repeat,
        max_megapixels,
        max_points,
        reading,
    })
}

/// One sensor, or those whose frames come in sets: which of the fields says so, and what would be a list of them.
pub(super) fn one_or_several<T>(
    r: &mut Reader,
    f: &Fields<'_>,
    [one, several]: [&'static str; 2],
    example: &'static str,
    all: &'static str,
    mut read: impl FnMut(&mut Reader, &Node, &str) -> Option<T>,
) -> Option<Vec<Spot<T>>> {
    let Some(node) = f.get(several) else {
        return Some(vec![r.required(f, one, example, read)?]);
    };
    if let Some(other) = f.get(one) {
        let kind = ProblemKind::Contradiction {
            what: format!("`{one}`"),
            why: format!("`{several}` says which sensors there are"),
            advice: "give one of the two".into(),
        };
        r.report(&other.place, kind);
    }
    let list = r.list(node, several, all, &mut read)?;
    if list.len() < 2 || list.len() > MOST_SENSORS {
        let kind = ProblemKind::OutOfRange {
            what: format!("`{several}`"),
            found: format!("a list of {}", list.len()),
            wanted: match list.len() {
                0 | 1 => format!("{all}; one alone is named with `{one}`"),
                _ => format!("{all}; {MOST_SENSORS} sensors at most"),
            },
        };
        r.report(&node.place, kind);
        return None;
    }
    Some(list)
}

/// A scene's name, or its number.
fn scene(r: &mut Reader, node: &Node, field: &str) -> Option<String> {
    match &node.kind {
        Kind::Number(number) => Some(number.clone()),
        _ => r.text(node, field),
    }
}

impl RecordedFile {
    /// Whether it yields images; `None` where only the recording tells.
    pub(super) fn is_images(&self) -> Option<bool> {
        match &self.what {
            WhatFile::NuScenes { sensors, .. } => match &sensors[..] {
                [sensor] => Some(sensor.value.starts_with("CAM")),
                _ => None,
            },
            WhatFile::Kitti { sensors, .. } => match &sensors[..] {
                [sensor] => Some(sensor.value == Sensor::Camera),
                _ => None,
            },
            WhatFile::Bag { .. } => None,
        }
    }
}
