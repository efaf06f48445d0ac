//! The calibration of a bag's camera, from the CameraInfo beside its images.

use jetlag_bags::message::{CameraInfo, kind};
use jetlag_bags::{Bag, Topic};

use crate::source::context::Projection;

/// How the images of a topic are projected; `None` where no CameraInfo belongs to them, or it is not calibrated. `frame` is the frame of reference of
/// the images.
pub(super) fn projection(bag: &Bag, images: &str, frame: &str) -> Option<Projection> {
    let (mut reader, mut message) = (bag.reader(), Vec::new());
    let mut first = |topic: &Topic| {
        reader.read(topic.entries().first()?, &mut message).ok()?;
        let info = CameraInfo::decode(&message).ok()?;
        Some((
            info.header.frame_id == frame,
            of_info(&info, is_rectified(images)),
        ))
    };
    let infos = || {
        bag.topics()
            .iter()
            .filter(|topic| topic.kind() == kind::CAMERA_INFO)
    };
    let beside = beside(images);
    match infos().find(|topic| topic.name() == beside) {
        Some(topic) => first(topic)?.1,
        // Of another name, but of this camera's frame; two of these contradict each other.
        None => {
            let mut of_frame = infos().filter_map(|topic| first(topic).filter(|(is_of, _)| *is_of));
            match (of_frame.next(), of_frame.next()) {
                (Some((_, found)), None) => found,
                _ => None,
            }
        }
    }
}

/// `/cam/camera_info` of `/cam/image_raw/compressed`, where ROS has it by convention.
fn beside(images: &str) -> String {
    let base = images.strip_suffix("/compressed").unwrap_or(images);
    match base.rsplit_once('/') {
        Some((namespace, _)) => format!("{namespace}/camera_info"),
        None => "camera_info".to_owned(),
    }
}

/// Whether a topic's images are rectified, by ROS's names: `image_rect`, `image_rect_color`.
fn is_rectified(images: &str) -> bool {
    let base = images.strip_suffix("/compressed").unwrap_or(images);
    base.rsplit('/').next().is_some_and(|name| name.contains("rect"))
}

/// The first image's part of the sensor is that of all.
fn of_info(info: &CameraInfo<'_>, is_rectified: bool) -> Option<Projection> {
    let (k, p) = (&info.k, &info.p);
    let matrix = match is_rectified {
        true => [[p[0], p[1], p[2]], [p[4], p[5], p[6]], [p[8], p[9], p[10]]],
        false => [[k[0], k[1], k[2]], [k[3], k[4], k[5]], [k[6], k[7], k[8]]],
    };
    // Not calibrated is all zero, by ROS's convention.
    let is_calibrated = matrix.as_flattened().iter().all(|v| v.is_finite()) && matrix[0][0] > 0.0;
    let binned = [info.binning_x, info.binning_y].map(|bins| f64::from(bins.max(1)));
    let begin = [info.roi.x_offset, info.roi.y_offset].map(f64::from);
    let [x, y, z] = matrix;
    // Pixels of the image are those of the part that was taken, joined.
    let part = |row: [f64; 3], axis: usize| {
        let moved: [f64; 3] = std::array::from_fn(|i| row[i] - begin[axis] * z[i]);
        moved.map(|v| v / binned[axis])
    };
    let whole = |of: u32, part: u32| if part == 0 { of } else { part };
    let size = [
        whole(info.width, info.roi.width) / info.binning_x.max(1),
        whole(info.height, info.roi.height) / info.binning_y.max(1),
    ];
    is_calibrated.then(|| Projection {
        matrix: [part(x, 0), part(y, 1), z],
        size: (size.iter().all(|pixels| *pixels > 0)).then_some(size),
        is_distorted: !is_rectified && info.d.into_iter().any(|coefficient| coefficient != 0.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calibration_is_looked_for_where_ros_puts_it() {
        for (images, info) in [
            ("/cam/image_raw/compressed", "/cam/camera_info"),
            ("/a/b/image_rect_color", "/a/b/camera_info"),
            ("image", "camera_info"),
        ] {
            assert_eq!(beside(images), info);
        }
        assert!(is_rectified("/cam/image_rect/compressed") && !is_rectified("/rect/image_raw"));
    }
}
