//! What may stand where a scenario has a choice: the words, with the fields that each takes. Words without fields are those of
//! their enum.

use super::{Graph, Sharing, Stress, Transfer};
use crate::written::{Choices, choice, plain, words};

/// The words for [`Sharing`].
pub fn sharings() -> impl Iterator<Item = &'static str> {
    words::<Sharing>().iter().copied()
}

/// The words for [`Transfer`].
pub fn transfers() -> impl Iterator<Item = &'static str> {
    words::<Transfer>().iter().copied()
}

/// The words for [`Graph`].
pub fn graphs() -> impl Iterator<Item = &'static str> {
    words::<Graph>().iter().copied()
}

pub(super) static BACKENDS: Choices<'_> = Choices {
    what: "backend",
    default: "Auto",
    all: &[
        plain("Auto"),
        choice("Cpu", &["threads", "profile"], 0, "Cpu(threads: 1)"),
        choice("Sim", &["model"], 1, "Sim(Fixed(\"5ms\"))"),
        plain("Null"),
        choice(
            "TensorRt",
            &["build", "plans", "profile"],
            0,
            "TensorRt(build: \"--precision fp16\")",
        ),
        choice(
            "OnnxRuntime",
            &["provider", "threads", "profile"],
            0,
            "OnnxRuntime(provider: Cpu)",
        ),
        choice("Stress", Stress::FIELDS, 0, "Stress(resource: Dram, level: 0.5)"),
    ],
};

/// What every recording takes.
macro_rules! fields {
    ($($own:literal),*) => {
        &["path", $($own,)* "repeat", "max_megapixels", "max_points", "ahead", "preload"]
    };
}

const NUSCENES: &[&str] = fields!("version", "scenes", "sensor", "sensors", "sweeps", "keyframes");
const KITTI: &[&str] = fields!("layout", "sequence", "sensor", "sensors", "camera");
const BAG: &[&str] = fields!("topic", "topics", "from", "to", "by");

pub(super) const NUSCENES_EXAMPLE: &str = "NuScenes(path: \"nuscenes\", sensor: \"LIDAR_TOP\")";
pub(super) const KITTI_EXAMPLE: &str =
    "Kitti(path: \"kitti\", layout: Odometry, sequence: \"00\", sensor: Lidar)";
pub(super) const BAG_EXAMPLE: &str = "Bag(path: \"drive\", topic: \"/lidar/points\")";

const VIDEO: &[&str] = &[
    "path",
    "decoder",
    "command",
    "size",
    "repeat",
    "max_megapixels",
    "ahead",
    "preload",
];
const CAMERA: &[&str] = &["device", "format", "size", "hz", "command", "max_megapixels"];
pub(super) const VIDEO_EXAMPLE: &str = "Video(path: \"drive.mp4\")";
pub(super) const CAMERA_EXAMPLE: &str = "Camera(device: \"/dev/video0\", size: \"1280x720\", hz: 30)";

pub(super) static SOURCES: Choices<'_> = Choices {
    what: "source",
    default: "Empty",
    all: &[
        plain("Empty"),
        choice(
            "Images",
            &["path", "repeat", "max_megapixels", "ahead", "preload"],
            1,
            "Images(\"folder\")",
        ),
        choice(
            "Points",
            &["path", "repeat", "format", "max_points", "ahead", "preload"],
            1,
            "Points(\"folder\")",
        ),
        choice("NuScenes", NUSCENES, 1, NUSCENES_EXAMPLE),
        choice("Kitti", KITTI, 1, KITTI_EXAMPLE),
        choice("Bag", BAG, 1, BAG_EXAMPLE),
        choice("Video", VIDEO, 1, VIDEO_EXAMPLE),
        choice("Camera", CAMERA, 1, CAMERA_EXAMPLE),
        choice(
            "Synthetic",
            &["sensor", "sensors", "scenes", "seed"],
            1,
            "Synthetic(sensor: Camera, scenes: 64)",
        ),
        choice("Shared", &["name"], 1, "Shared(\"front\")"),
    ],
};
