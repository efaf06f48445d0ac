//! Headings of boxes.

/// An angle in [-π, π).
pub fn normalised_angle(radians: f64) -> f32 {
    use std::f64::consts::{PI, TAU};
    let angle = ((radians + PI).rem_euclid(TAU) - PI) as f32;
    if angle >= std::f32::consts::PI {
        -std::f32::consts::PI
    } else {
        angle
    }
}

#[cfg(test)]
mod tests {
    use std::f32::consts::PI;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn angles_come_back_in_range_and_point_the_same_way(angle in -100.0f64..100.0) {
            let normal = normalised_angle(angle);
            prop_assert!((-PI..PI).contains(&normal));
            prop_assert!((f64::from(normal).cos() - angle.cos()).abs() < 1e-5);
            prop_assert!((f64::from(normal).sin() - angle.sin()).abs() < 1e-5);
        }
    }

    #[test]
    fn the_end_of_the_range_of_angles_is_its_beginning() {
        assert_eq!(normalised_angle(std::f64::consts::PI), -PI);
        assert_eq!(normalised_angle(-std::f64::consts::PI), -PI);
        // In single precision this is π.
        assert_eq!(normalised_angle(std::f64::consts::PI - 1e-9), -PI);
    }
}
