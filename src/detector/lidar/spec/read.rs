//! How a spec as a whole is written; its parts are read as they are declared.

use super::{CamerasSpec, HeadSpec, LidarSpec};
use crate::record::field::Value;
use crate::written::{Node, Read, Reader, one_of};

const LIDAR_FIELDS: &[&str] = &[
    "name",
    "classes",
    "range",
    "voxel",
    "max_points",
    "max_pillars",
    "when_full",
    "encoder",
    "scatter",
    "backbone",
    "whole",
    "cameras",
    "head",
    "score_threshold",
    "nms",
];

impl LidarSpec {
    /// Reads it; what is wrong with it is in the reader afterwards.
    pub(crate) fn read(r: &mut Reader, node: &Node) -> Option<Self> {
        let expected = "Lidar(…) with named fields";
        let f = r.record(node, "a LiDAR detector", "Lidar", expected, LIDAR_FIELDS)?;
        let name = r.needed(&f, "name", "name: \"pointpillars\"", Reader::text);
        let classes = r.needed(&f, "classes", "classes: [\"Car\"]", |r, node, field| {
            r.values(node, field, "a list of names, such as [\"Car\"]", Reader::text)
        });
        let range = "range: (x: (0.0, 70.4), y: (-40.0, 40.0), z: (-3.0, 1.0))";
        let range = r.needed(&f, "range", range, value_of);
        let voxel = r.needed(&f, "voxel", "voxel: (0.16, 0.16, 4.0)", value_of);
        let max_points = r.needed(&f, "max_points", "max_points: 100", Reader::whole);
        let max_pillars = r.needed(&f, "max_pillars", "max_pillars: 12000", Reader::whole);
        let when_full = r.optional(&f, "when_full", one_of("when_full")).or_default();
        let encoder = r.optional(&f, "encoder", value_of);
        let scatter = r.optional(&f, "scatter", value_of);
        let backbone = r.optional(&f, "backbone", value_of);
        let whole = r.optional(&f, "whole", value_of);
        let cameras = r.optional(&f, "cameras", CamerasSpec::read);
        let head = r.needed(&f, "head", HeadSpec::CHOICES.all[0].example, value_of);
        let score_threshold = r.optional(&f, "score_threshold", Reader::number).or(0.3);
        let nms = r.optional(&f, "nms", value_of).or_default();
        Some(LidarSpec {
            name: name?,
            classes: classes?,
            range: range?,
            voxel: voxel?,
            max_points: max_points?,
            max_pillars: max_pillars?,
            when_full,
            encoder: value(encoder),
            scatter: value(scatter),
            backbone: value(backbone),
            whole: value(whole),
            cameras: value(cameras),
            head: head?,
            score_threshold,
            nms,
        })
    }
}

/// A value as it is declared.
fn value_of<T: Value>(r: &mut Reader, node: &Node, field: &str) -> Option<T> {
    r.value(node, field, "")
}

/// The value of a field that may be left out.
pub(super) fn value<T>(read: Read<T>) -> Option<T> {
    match read {
        Read::Given(spot) => Some(spot.value),
        Read::Absent | Read::Wrong => None,
    }
}
