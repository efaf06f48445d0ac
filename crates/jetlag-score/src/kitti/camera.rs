//! From the LiDAR's frame to the camera's, and into the image.

use jetlag_record::detection::{Box2d, Box3d};

use super::{CameraBox, Found, Kind};
use crate::iou::{self, Corners};

/// A camera beside a LiDAR: what its calibration file says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// A point of the LiDAR frame in the rectified camera frame: `R0_rect × Tr_velo_to_cam`, rows.
    pub lidar_to_camera: [[f64; 4]; 3],
    /// From the rectified camera frame into the image: `P2`, rows.
    pub projection: [[f64; 4]; 3],
    /// Width and height of the image, pixels.
    pub image: [f64; 2],
}

/// What is nearer than this to the camera's plane has no place in the image, metres.
const NEAREST: f64 = 0.1;

impl Camera {
    /// Of the matrices of a calibration file: `Tr_velo_to_cam`, `R0_rect` and the camera's `P`; and its image's width and height.
    pub fn of_calibration(
        lidar_to_camera: &[[f64; 4]; 3],
        rectification: &[[f64; 3]; 3],
        projection: [[f64; 4]; 3],
        image: [f64; 2],
    ) -> Camera {
        Camera {
            lidar_to_camera: rectification.map(|turned| {
                std::array::from_fn(|column| {
                    let of = |k: usize| turned[k] * lidar_to_camera[k][column];
                    of(0) + of(1) + of(2)
                })
            }),
            projection,
            image,
        }
    }

    /// A box of the LiDAR frame in the camera's.
    pub fn place(&self, b: &Box3d) -> CameraBox {
        let [x, y, z, l, w, h, yaw] = [b.x, b.y, b.z, b.l, b.w, b.h, b.yaw].map(f64::from);
        let (sin, cos) = yaw.sin_cos();
        let ahead = self.direction([cos, sin, 0.0]);
        CameraBox {
            size: [h, w, l],
            place: transformed(&self.lidar_to_camera, [x, y, z - h / 2.0]),
            // From x towards −z.
            heading: (-ahead[2]).atan2(ahead[0]),
        }
    }

    fn direction(&self, v: [f64; 3]) -> [f64; 3] {
        self.lidar_to_camera
            .map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
    }

    /// The rectangle of the image that holds all corners of a box, cut at the image's edges; `None` for one that is not wholly
    /// before the camera or not in the image.
    pub fn bbox(&self, b: &CameraBox) -> Option<Corners> {
        let cut = self.cut(self.projected(b)?);
        (iou::area(cut) > 0.0).then_some(cut)
    }

    /// The share of a box's rectangle that lies beyond the image's edges, 0 to 1; `None` for one that [`bbox`](Self::bbox) has no
    /// place for.
    pub fn truncated(&self, b: &CameraBox) -> Option<f64> {
        let whole = self.projected(b)?;
        let inside = iou::area(self.cut(whole));
        (inside > 0.0).then(|| (1.0 - inside / iou::area(whole)).clamp(0.0, 1.0))
    }

    fn cut(&self, [x1, y1, x2, y2]: Corners) -> Corners {
        let [width, height] = self.image.map(|side| side.max(0.0));
        [
            x1.clamp(0.0, width),
            y1.clamp(0.0, height),
            x2.clamp(0.0, width),
            y2.clamp(0.0, height),
        ]
    }

    /// The rectangle that holds all corners of a box, however large; `None` for one that is not wholly before the camera.
    fn projected(&self, b: &CameraBox) -> Option<Corners> {
        let [height, width, length] = b.size;
        let (sin, cos) = b.heading.sin_cos();
        let mut bounds = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
        for corner in 0..8u8 {
            let half = |bit: u8| if corner & bit == 0 { 0.5 } else { -0.5 };
            let (along, across) = (half(1) * length, half(2) * width);
            let up = if corner & 4 == 0 { 0.0 } else { height };
            let point = [
                b.place[0] + along * cos + across * sin,
                b.place[1] - up,
                b.place[2] - along * sin + across * cos,
            ];
            if point[2].is_nan() || point[2] < NEAREST {
                return None;
            }
            let [u, v, depth] = transformed(&self.projection, point);
            let (u, v) = (u / depth, v / depth);
            if !(u.is_finite() && v.is_finite()) {
                return None;
            }
            bounds = [
                bounds[0].min(u),
                bounds[1].min(v),
                bounds[2].max(u),
                bounds[3].max(v),
            ];
        }
        Some(bounds)
    }

    /// A detection of the LiDAR; `None` for one that the camera does not see: the benchmark has no labels there.
    pub fn found(&self, kind: Kind, score: f32, b: &Box3d) -> Option<Found> {
        let space = self.place(b);
        Some(Found {
            kind,
            alpha: Some(alpha(&space)),
            bbox: self.bbox(&space)?,
            space: Some(space),
            score: f64::from(score),
        })
    }
}

/// A detection in the image alone.
pub fn in_image(kind: Kind, score: f32, b: &Box2d) -> Found {
    Found {
        kind,
        alpha: None,
        bbox: iou::corners(b),
        space: None,
        score: f64::from(score),
    }
}

/// The angle that the camera sees a box from: its heading, less the direction that it lies in; −π to π.
pub fn alpha(b: &CameraBox) -> f64 {
    let seen = b.heading - b.place[0].atan2(b.place[2]);
    seen.sin().atan2(seen.cos())
}

fn transformed(by: &[[f64; 4]; 3], [x, y, z]: [f64; 3]) -> [f64; 3] {
    by.map(|row| row[0] * x + row[1] * y + row[2] * z + row[3])
}
