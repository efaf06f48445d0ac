//! Sweeps of a nuScenes LiDAR put together: several in the newest one's frame, each point with its age.
//!
//! The rule is that of `LidarPointCloud.from_file_multisweep` in nuScenes's devkit: points next to the sensor are left out in
//! each sweep's own frame, the rest is moved over the car's poses, and its time lag is the newest capture time less its own.
//! The newest sweep comes first and stays as it is.

use jetlag_record::units::Nanos;

use crate::geometry::Pose;

/// Bytes of a point: x, y, z, intensity and ring as little-endian 32-bit floats.
pub const POINT_BYTES: usize = 20;

/// The devkit's radius of what is left out around the sensor, in metres: the car itself.
pub const MIN_DISTANCE: f32 = 1.0;

/// Where the points of a sweep lie in the frame of the newest, and how old they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepPlace {
    /// Rows of the matrix that maps its points; `None` for the newest itself, whose points stay as they are.
    to_newest: Option<[[f32; 4]; 3]>,
    lag: Nanos,
}

impl SweepPlace {
    /// Of the newest sweep.
    pub fn newest() -> Self {
        SweepPlace {
            to_newest: None,
            lag: Nanos::ZERO,
        }
    }

    /// Of a sweep that is `lag` older, whose sensor's frame `to_newest` maps into the newest one's.
    pub fn new(to_newest: &Pose, lag: Nanos) -> Self {
        let [x, y, z, _] = to_newest.matrix();
        SweepPlace {
            to_newest: Some([x, y, z].map(|row| row.map(|v| v as f32))),
            lag,
        }
    }

    /// How much older it is than the newest; positive where older.
    pub fn lag(&self) -> Nanos {
        self.lag
    }
}

/// Points of one sweep or several, in buffers that are used again. All three are of the same length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepCloud {
    /// `x, y, z, intensity`: metres in the newest sweep's frame, and the return's intensity, 0..=255.
    pub points: Vec<[f32; 4]>,
    /// How much older than the newest sweep each point is, in seconds, as networks take it; 0 for the newest.
    pub time: Vec<f32>,
    /// Which laser each is of, from 0; in datasets that only resemble nuScenes whatever else is in the fifth column.
    pub ring: Vec<f32>,
}

impl SweepCloud {
    /// Empties it, and keeps its memory.
    pub fn clear(&mut self) {
        self.points.clear();
        self.time.clear();
        self.ring.clear();
    }

    /// Adds the points of a file (`.pcd.bin`) of nuScenes, but those that both in x and in y are nearer to the sensor than
    /// `min_distance` metres ([`MIN_DISTANCE`] as in the devkit, 0 for all). Once the buffers are large enough, nothing is
    /// allocated. Points that are not finite pass through.
    ///
    /// # Errors
    /// Bytes that are no whole number of points; nothing is added then.
    pub fn append(&mut self, bytes: &[u8], place: &SweepPlace, min_distance: f32) -> Result<(), SweepError> {
        let (points, rest) = bytes.as_chunks::<POINT_BYTES>();
        if !rest.is_empty() {
            return Err(SweepError { bytes: bytes.len() });
        }
        self.points.reserve(points.len());
        self.ring.reserve(points.len());
        let before = self.points.len();
        for point in points {
            let [x, y, z, intensity, ring] = columns(point);
            if x.abs() < min_distance && y.abs() < min_distance {
                continue;
            }
            let [x, y, z] = match &place.to_newest {
                None => [x, y, z],
                Some(m) => [
                    m[0][0] * x + m[0][1] * y + m[0][2] * z + m[0][3],
                    m[1][0] * x + m[1][1] * y + m[1][2] * z + m[1][3],
                    m[2][0] * x + m[2][1] * y + m[2][2] * z + m[2][3],
                ],
            };
            self.points.push([x, y, z, intensity]);
            self.ring.push(ring);
        }
        let added = self.points.len() - before;
        self.time
            .extend(std::iter::repeat_n(place.lag.as_secs_f64() as f32, added));
        Ok(())
    }
}

fn columns(point: &[u8; POINT_BYTES]) -> [f32; 5] {
    std::array::from_fn(|i| {
        f32::from_le_bytes([point[4 * i], point[4 * i + 1], point[4 * i + 2], point[4 * i + 3]])
    })
}

/// Bytes that are no sweep of nuScenes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{bytes} bytes are no whole number of points of 20 bytes (float32 x y z intensity ring, as nuScenes has them): {}",
    could_be(.bytes)
)]
pub struct SweepError {
    /// How many there are.
    pub bytes: usize,
}

fn could_be(bytes: &usize) -> String {
    let points = |size: usize| bytes / size;
    match bytes {
        _ if bytes.is_multiple_of(16) => {
            format!(
                "it could be {} points of 16 bytes (x y z intensity, as KITTI has them)",
                points(16)
            )
        }
        _ if bytes.is_multiple_of(24) => format!("it could be {} points of six columns", points(24)),
        _ if bytes.is_multiple_of(12) => {
            format!("it could be {} points of three columns (x y z)", points(12))
        }
        _ => "the file is cut, or no sweep".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::geometry::Rotation;

    fn bytes(values: &[[f32; 5]]) -> Vec<u8> {
        values.iter().flatten().flat_map(|v| v.to_le_bytes()).collect()
    }

    #[test]
    fn the_newest_stays_as_it_is_and_older_points_are_moved_and_dated() {
        let mut cloud = SweepCloud::default();
        let sweep = bytes(&[
            [3.0, 0.0, 1.0, 9.0, 4.0],
            [0.5, -0.5, 0.0, 1.0, 2.0],
            [0.5, 2.0, 0.0, 1.0, 3.0],
        ]);
        cloud.append(&sweep, &SweepPlace::newest(), MIN_DISTANCE).unwrap();
        let pose = Pose {
            translation: [-2.0, 0.0, 0.0],
            rotation: Rotation::from_quaternion([0.5_f64.sqrt(), 0.0, 0.0, 0.5_f64.sqrt()]).unwrap(),
        };
        let place = SweepPlace::new(&pose, Nanos::from_millis(50));
        cloud.append(&sweep, &place, MIN_DISTANCE).unwrap();
        assert_eq!(cloud.ring, [4.0, 3.0, 4.0, 3.0]);
        assert_eq!(cloud.time, [0.0, 0.0, 0.05, 0.05]);
        assert_eq!(cloud.points[..2], [[3.0, 0.0, 1.0, 9.0], [0.5, 2.0, 0.0, 1.0]]);
        let expected = [[-2.0, 3.0, 1.0, 9.0], [-4.0, 0.5, 0.0, 1.0]];
        for (found, expected) in cloud.points[2..].iter().flatten().zip(expected.iter().flatten()) {
            assert!((found - expected).abs() < 1e-5, "{:?}", cloud.points);
        }
        cloud.clear();
        cloud.append(&sweep, &SweepPlace::newest(), 0.0).unwrap();
        assert_eq!(cloud.points.len(), 3);
    }

    #[test]
    fn a_length_that_does_not_fit_says_what_it_could_be() {
        let mut cloud = SweepCloud::default();
        for (length, phrase) in [
            (48, "3 points of 16 bytes"),
            (24, "1 points of six columns"),
            (36, "3 points of three columns"),
            (33, "the file is cut, or no sweep"),
        ] {
            let error = cloud
                .append(&vec![0; length], &SweepPlace::newest(), 1.0)
                .unwrap_err()
                .to_string();
            assert!(error.contains(phrase), "{error}");
        }
        assert!(cloud.points.is_empty());
    }

    proptest! {
        #[test]
        fn any_bytes_give_as_many_of_everything(bytes in proptest::collection::vec(any::<u8>(), 0..400), near in any::<f32>()) {
            let mut cloud = SweepCloud::default();
            let place = SweepPlace::new(&Pose::NONE, Nanos(i64::MIN));
            if cloud.append(&bytes, &place, near).is_ok() {
                prop_assert!(cloud.points.len() <= bytes.len() / POINT_BYTES);
            }
            prop_assert_eq!(cloud.points.len(), cloud.ring.len());
            prop_assert_eq!(cloud.points.len(), cloud.time.len());
        }
    }
}
