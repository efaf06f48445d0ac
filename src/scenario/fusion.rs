//! A fusion as written: `Fusion(camera: "a.ron", lidar: "b.ron", tolerance: "50ms", associate: Greedy(iou: 0.3))`, or
//! `Fusion(whole: "c.ron")` of one network that takes all, in place of a detector, over a source with several `sensors` (of a bag,
//! `topics`).

use crate::scenario::SetRule;
use crate::units::Nanos;
use crate::written::{Choices, Fields, Node, ProblemKind, Read, Reader, Spot, choice, one_of};

/// Its fields.
pub(super) const FIELDS: &[&str] = &[
    "camera",
    "lidar",
    "whole",
    "cameras",
    "tolerance",
    "queue",
    "rule",
    "associate",
];
pub(super) const EXAMPLE: &str = "Fusion(camera: \"builtin:camera\", lidar: \"builtin:lidar\")";

static WAYS: Choices<'_> = Choices {
    what: "way to associate",
    default: "Greedy",
    all: &[choice("Greedy", &["iou", "same_class"], 1, "Greedy(iou: 0.3)")],
};

/// What may stand for a fusion.
#[derive(Clone, Debug)]
pub(super) struct FusionFile {
    pub(super) detectors: DetectorsFile,
    /// Which sensors of the source are cameras, in the order of their images.
    pub(super) cameras: Read<Vec<Spot<String>>>,
    pub(super) tolerance: Read<Nanos>,
    pub(super) queue: Read<usize>,
    pub(super) rule: Read<SetRule>,
}

/// What the sets of sensors are given to.
#[derive(Clone, Debug)]
pub(super) enum DetectorsFile {
    /// A detector of images and one of sweeps.
    Late {
        camera: Spot<String>,
        lidar: Spot<String>,
        iou: Read<f32>,
        same_class: Read<bool>,
    },
    /// One detector.
    Whole(Spot<String>),
}

/// Reads its fields.
pub(super) fn read(r: &mut Reader, fields: &Fields<'_>) -> Option<FusionFile> {
    let detectors = match fields.get("whole") {
        Some(_) => whole(r, fields),
        None => late(r, fields),
    };
    let cameras = r.optional(fields, "cameras", |r, node, field| {
        r.list(node, field, "a list of cameras: [\"CAM_FRONT\"]", Reader::text)
    });
    let tolerance = r.optional(fields, "tolerance", Reader::duration);
    let queue = r.optional(fields, "queue", Reader::whole);
    let rule = r.optional(fields, "rule", one_of("rule of sets"));
    Some(FusionFile {
        detectors: detectors?,
        cameras,
        tolerance,
        queue,
        rule,
    })
}

fn late(r: &mut Reader, fields: &Fields<'_>) -> Option<DetectorsFile> {
    let camera = r.required(fields, "camera", "camera: \"builtin:camera\"", Reader::text);
    let lidar = r.required(fields, "lidar", "lidar: \"builtin:lidar\"", Reader::text);
    let (mut iou, mut same_class) = (Read::Absent, Read::Absent);
    r.optional(fields, "associate", |r, node: &Node, _| {
        let (_, own) = r.choice(node, &WAYS)?;
        iou = r.optional(&own, "iou", Reader::number);
        same_class = r.optional(&own, "same_class", Reader::flag);
        Some(())
    });
    Some(DetectorsFile::Late {
        camera: camera?,
        lidar: lidar?,
        iou,
        same_class,
    })
}

fn whole(r: &mut Reader, fields: &Fields<'_>) -> Option<DetectorsFile> {
    for field in ["camera", "lidar", "associate"] {
        if let Some(node) = fields.get(field) {
            let kind = ProblemKind::Contradiction {
                what: format!("`{field}` of the fusion"),
                why: "`whole` is one network that takes all sensors".into(),
                advice: "give either `whole`, or `camera` and `lidar`".into(),
            };
            r.report(&node.place, kind);
        }
    }
    let whole = r.required(fields, "whole", "whole: \"bev.ron\"", Reader::text)?;
    Some(DetectorsFile::Whole(whole))
}
