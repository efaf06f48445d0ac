//! A fusion as written: `Fusion(camera: "a.ron", lidar: "b.ron", tolerance: "50ms", associate: Greedy(iou: 0.3))` in place of a
//! detector, over a source with two `sensors` (of a bag, two `topics`).

use crate::units::Nanos;
use crate::written::{Choices, Fields, Node, Read, Reader, Spot, choice};

/// Its fields.
pub(super) const FIELDS: &[&str] = &["camera", "lidar", "tolerance", "queue", "associate"];
pub(super) const EXAMPLE: &str = "Fusion(camera: \"builtin:camera\", lidar: \"builtin:lidar\")";

static WAYS: Choices<'_> = Choices {
    what: "way to associate",
    default: "Greedy",
    all: &[choice("Greedy", &["iou", "same_class"], 1, "Greedy(iou: 0.3)")],
};

/// What may stand for a fusion.
#[derive(Clone, Debug)]
pub(super) struct FusionFile {
    pub(super) camera: Spot<String>,
    pub(super) lidar: Spot<String>,
    pub(super) tolerance: Read<Nanos>,
    pub(super) queue: Read<usize>,
    pub(super) iou: Read<f32>,
    pub(super) same_class: Read<bool>,
}

/// Reads its fields.
pub(super) fn read(r: &mut Reader, fields: &Fields<'_>) -> Option<FusionFile> {
    let camera = r.required(fields, "camera", "camera: \"builtin:camera\"", Reader::text);
    let lidar = r.required(fields, "lidar", "lidar: \"builtin:lidar\"", Reader::text);
    let tolerance = r.optional(fields, "tolerance", Reader::duration);
    let queue = r.optional(fields, "queue", Reader::whole);
    let (mut iou, mut same_class) = (Read::Absent, Read::Absent);
    r.optional(fields, "associate", |r, node: &Node, _| {
        let (_, own) = r.choice(node, &WAYS)?;
        iou = r.optional(&own, "iou", Reader::number);
        same_class = r.optional(&own, "same_class", Reader::flag);
        Some(())
    });
    Some(FusionFile {
        camera: camera?,
        lidar: lidar?,
        tolerance,
        queue,
        iou,
        same_class,
    })
}
