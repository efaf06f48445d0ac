//! Where KITTI's cameras, LiDAR and inertial unit sit against each other, in each of its three layouts.

use std::path::Path;

use super::text::{Text, affine, rigid};
use crate::error::DatasetError;
use crate::geometry::{IDENTITY, Matrix, product};

/// One of the car's four cameras; each pair is rectified to common rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Camera {
    /// `image_00`, the reference of all calibration.
    GreyLeft,
    /// `image_01`.
    GreyRight,
    /// `image_02`: what the object benchmark is of.
    ColourLeft,
    /// `image_03`.
    ColourRight,
}

impl Camera {
    /// Its number in names of files and matrices.
    pub fn number(self) -> usize {
        self as usize
    }
}

/// The calibration of a frame, lengths in metres.
///
/// Frames of reference: LiDAR (x forward, y left, z up); camera (x right, y down, z forward), as it is and rectified; the
/// inertial unit (x forward, y left, z up).
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// Of each camera, in the order of their numbers: rows of the matrix that projects the rectified frame of camera 0 onto its
    /// pixels. `None` of cameras that the file does not have: other people's folders have some of KITTI's four, at least one.
    pub projections: [Option<[[f64; 4]; 3]>; 4],
    /// Turns camera 0 into rectified camera 0. No turn in the odometry layout, which has it within `lidar_to_camera`.
    pub rectification: [[f64; 3]; 3],
    /// Maps the LiDAR's frame into camera 0's. `None` where an odometry sequence came without it (in the archives of images).
    pub lidar_to_camera: Option<Matrix>,
    /// Maps the inertial unit's frame into the LiDAR's. `None` in the odometry layout.
    pub imu_to_lidar: Option<Matrix>,
}

impl Calibration {
    /// The left three columns of a camera's projection.
    pub fn intrinsic(&self, camera: Camera) -> Option<[[f64; 3]; 3]> {
        Some(self.projections[camera.number()]?.map(|row| [row[0], row[1], row[2]]))
    }

    /// What maps rectified camera 0 onto a camera's own rectified frame, so that its [`intrinsic`](Self::intrinsic) makes the
    /// pixels of its whole projection: a shift, metres. `None` where the camera is not in the file, or its matrix has no inverse.
    pub fn rectified_to_camera(&self, camera: Camera) -> Option<[f64; 3]> {
        let [x, y, z] = self.projections[camera.number()]?;
        // Projections are upper triangles with the last row 0 0 1; so is what KITTI's development kit writes.
        let is_triangle = x[0] != 0.0 && y[0] == 0.0 && y[1] != 0.0 && z[..3] == [0.0, 0.0, 1.0];
        let (forward, down) = (z[3], (y[3] - y[2] * z[3]) / y[1]);
        let shift = [(x[3] - x[1] * down - x[2] * forward) / x[0], down, forward];
        (is_triangle && shift.iter().all(|v| v.is_finite())).then_some(shift)
    }

    /// Maps the LiDAR's frame into a camera's rectified one: its projection's last column as a shift along x, as pykitti has it.
    pub fn lidar_to_rectified(&self, camera: Camera) -> Option<Matrix> {
        let [first, ..] = self.projections[camera.number()]?;
        let mut shift = IDENTITY;
        shift[0][3] = first[3] / first[0];
        let mut turn = IDENTITY;
        for (row, three) in turn.iter_mut().zip(self.rectification) {
            row[..3].copy_from_slice(&three);
        }
        Some(product(&shift, &product(&turn, self.lidar_to_camera.as_ref()?)))
    }

    /// Of the object layout: `calib/000123.txt`.
    ///
    /// # Errors
    /// The file cannot be read, or lacks one of the matrices `R0_rect` and `Tr_velo_to_cam` or all of `P0` to `P3`.
    pub fn object(path: &Path) -> Result<Self, DatasetError> {
        let text = Text::read(path.to_owned(), "a calibration file of the object benchmark")?;
        Ok(Calibration {
            projections: projections(&text, ["P0", "P1", "P2", "P3"])?,
            rectification: square(text.named("R0_rect")?),
            lidar_to_camera: Some(affine(text.named("Tr_velo_to_cam")?)),
            imu_to_lidar: text.optional("Tr_imu_to_velo")?.map(affine),
        })
    }

    /// Of a day of raw drives: three files in the day's folder.
    pub(super) fn raw(day: &Path) -> Result<Self, DatasetError> {
        let read = |name: &str| Text::read(day.join(name), "a calibration file of raw drives");
        let cameras = read("calib_cam_to_cam.txt")?;
        let move_of = |text: &Text| Ok::<_, DatasetError>(rigid(text.named("R")?, text.named("T")?));
        Ok(Calibration {
            projections: projections(&cameras, ["P_rect_00", "P_rect_01", "P_rect_02", "P_rect_03"])?,
            rectification: square(cameras.named("R_rect_00")?),
            lidar_to_camera: Some(move_of(&read("calib_velo_to_cam.txt")?)?),
            imu_to_lidar: Some(move_of(&read("calib_imu_to_velo.txt")?)?),
        })
    }

    /// Of an odometry sequence: `calib.txt`.
    pub(super) fn odometry(path: &Path) -> Result<Self, DatasetError> {
        let text = Text::read(path.to_owned(), "a calibration file of an odometry sequence")?;
        Ok(Calibration {
            projections: projections(&text, ["P0", "P1", "P2", "P3"])?,
            rectification: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            lidar_to_camera: text.optional("Tr")?.map(affine),
            imu_to_lidar: None,
        })
    }
}

fn projections(text: &Text, names: [&str; 4]) -> Result<[Option<[[f64; 4]; 3]>; 4], DatasetError> {
    let mut all = [None; 4];
    for (matrix, name) in all.iter_mut().zip(names) {
        let Some(found) = text.optional(name)? else {
            continue;
        };
        let [x, y, z, _] = affine(found);
        if x[0] == 0.0 {
            return Err(DatasetError::Lacks {
                path: text.path().to_owned(),
                wanted: format!("focal length in `{name}`, whose first number is 0"),
                kind: "a calibration file",
            });
        }
        *matrix = Some([x, y, z]);
    }
    if all.iter().all(Option::is_none) {
        text.named::<12>(names[2])?; // Which says that it is not there.
    }
    Ok(all)
}

fn square(v: [f64; 9]) -> [[f64; 3]; 3] {
    [[v[0], v[1], v[2]], [v[3], v[4], v[5]], [v[6], v[7], v[8]]]
}
