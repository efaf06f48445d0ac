//! Where the camera sits against the LiDAR, and how it projects: KITTI's calibration.
//!
//! Three frames: LiDAR (x forward, y left, z up), rectified camera (x right, y down, z forward), image
//! (pixels, u right, v down). Files of it are read and written by others.

use jetlag_record::detection::{Box2d, Box3d};

/// Rows of a matrix that maps a point with a 1 appended.
pub type Affine = [[f64; 4]; 3];

/// How points of the LiDAR frame come to lie in the image.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// P2: rectified camera to image, pixels.
    pub projection: Affine,
    /// R0_rect: camera to rectified camera.
    pub rectification: [[f64; 3]; 3],
    /// Tr_velo_to_cam: LiDAR to camera, metres.
    pub lidar_to_camera: Affine,
}

impl Calibration {
    /// An ideal pinhole camera that looks along the LiDAR's x from `position` (in the LiDAR frame),
    /// with this focal length and principal point in pixels.
    pub fn pinhole(focal: f64, centre: [f64; 2], position: [f64; 3]) -> Self {
        let [x, y, z] = position;
        Calibration {
            projection: [
                [focal, 0.0, centre[0], 0.0],
                [0.0, focal, centre[1], 0.0],
                [0.0, 0.0, 1.0, 0.0],
            ],
            rectification: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            lidar_to_camera: [[0.0, -1.0, 0.0, y], [0.0, 0.0, -1.0, z], [1.0, 0.0, 0.0, -x]],
        }
    }

    /// LiDAR frame to rectified camera frame.
    pub fn to_camera(&self, point: [f64; 3]) -> [f64; 3] {
        let moved = self
            .lidar_to_camera
            .map(|r| r[0] * point[0] + r[1] * point[1] + r[2] * point[2] + r[3]);
        turn(&self.rectification, moved)
    }

    /// Rectified camera frame to LiDAR frame. The two turns are taken as orthonormal, as turns are.
    pub fn to_lidar(&self, point: [f64; 3]) -> [f64; 3] {
        let camera = turn(&transpose(&self.rectification), point);
        let shifted = [0, 1, 2].map(|i| camera[i] - self.lidar_to_camera[i][3]);
        turn(&transpose(&self.lidar_turn()), shifted)
    }

    /// As [`Calibration::to_camera`], for a direction.
    pub fn turn_to_camera(&self, direction: [f64; 3]) -> [f64; 3] {
        turn(&self.rectification, turn(&self.lidar_turn(), direction))
    }

    /// As [`Calibration::to_lidar`], for a direction.
    pub fn turn_to_lidar(&self, direction: [f64; 3]) -> [f64; 3] {
        let camera = turn(&transpose(&self.rectification), direction);
        turn(&transpose(&self.lidar_turn()), camera)
    }

    /// Where a point of the LiDAR frame lies in the image, and its depth in metres; `None` from 1 cm
    /// before the camera backwards.
    pub fn project(&self, point: [f64; 3]) -> Option<[f64; 3]> {
        let [x, y, z] = self.to_camera(point);
        let [u, v, w] = self.projection.map(|r| r[0] * x + r[1] * y + r[2] * z + r[3]);
        (w > 0.01).then(|| [u / w, v / w, w])
    }

    /// The rectangle around a box's projected corners, not clipped to the image; `None` where a corner
    /// is not before the camera.
    pub fn project_box(&self, place: &Box3d) -> Option<Box2d> {
        let mut around = Box2d {
            x1: f32::INFINITY,
            y1: f32::INFINITY,
            x2: f32::NEG_INFINITY,
            y2: f32::NEG_INFINITY,
        };
        for corner in corners(place) {
            let [u, v, _] = self.project(corner)?;
            around.x1 = around.x1.min(u as f32);
            around.y1 = around.y1.min(v as f32);
            around.x2 = around.x2.max(u as f32);
            around.y2 = around.y2.max(v as f32);
        }
        Some(around)
    }

    fn lidar_turn(&self) -> [[f64; 3]; 3] {
        self.lidar_to_camera.map(|r| [r[0], r[1], r[2]])
    }
}

/// The eight corners of a box in its own frame.
pub fn corners(place: &Box3d) -> [[f64; 3]; 8] {
    let (sin, cos) = f64::from(place.yaw).sin_cos();
    let half = |bit: usize, size: f32| f64::from(size) * (bit as f64 - 0.5);
    std::array::from_fn(|i| {
        let (l, w, h) = (
            half(i & 1, place.l),
            half(i >> 1 & 1, place.w),
            half(i >> 2 & 1, place.h),
        );
        [
            f64::from(place.x) + l * cos - w * sin,
            f64::from(place.y) + l * sin + w * cos,
            f64::from(place.z) + h,
        ]
    })
}

/// Whether a point of the LiDAR frame lies in a box grown by `margin` metres on every side.
pub fn holds(place: &Box3d, point: [f32; 3], margin: f32) -> bool {
    let (sin, cos) = place.yaw.sin_cos();
    let (dx, dy, dz) = (point[0] - place.x, point[1] - place.y, point[2] - place.z);
    let along = dx * cos + dy * sin;
    let across = dy * cos - dx * sin;
    along.abs() <= place.l / 2.0 + margin
        && across.abs() <= place.w / 2.0 + margin
        && dz.abs() <= place.h / 2.0 + margin
}

fn turn(matrix: &[[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
    matrix.map(|r| r[0] * v[0] + r[1] * v[1] + r[2] * v[2])
}

fn transpose(m: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
    std::array::from_fn(|i| std::array::from_fn(|j| m[j][i]))
}
