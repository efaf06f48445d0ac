//! What drivers call the numbers of a LiDAR's point, in messages and in files of points.
//!
//! Names are compared without regard to case, the one spelled as here before others.

/// How strong the return was, the most wanted name first.
pub const INTENSITY: &[&str] = &[
    "intensity",
    "i",
    "intensities",
    "remission",
    "reflectivity",
    "reflectance",
    "signal",
];
/// The laser that measured the point, from 0.
pub const RING: &[&str] = &[
    "ring",
    "channel",
    "line",
    "laser_id",
    "ring_id",
    "laser_channel",
    "laser",
    "beam",
];
/// When the point was measured.
pub const TIME: &[&str] = &["t", "time", "timestamp", "time_stamp", "offset_time"];

/// Of these fields, the one that is meant by the first of `names` that any has: its position.
pub fn find<'a>(fields: impl Iterator<Item = &'a str> + Clone, names: &[&str]) -> Option<usize> {
    let same_case = |name: &str| fields.clone().position(|field| field == name);
    let any_case = |name: &str| fields.clone().position(|field| field.eq_ignore_ascii_case(name));
    names
        .iter()
        .find_map(|name| same_case(name).or_else(|| any_case(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_as_spelled_goes_before_others_and_the_most_wanted_before_all() {
        let find = |fields: &[&str], names| find(fields.iter().copied(), names);
        assert_eq!(find(&["X", "x"], &["x"]), Some(1));
        assert_eq!(find(&["x", "y", "Intensity"], INTENSITY), Some(2));
        assert_eq!(
            find(&["reflectivity", "signal", "INTENSITIES"], INTENSITY),
            Some(2)
        );
        assert_eq!(find(&["Laser_ID"], RING), Some(0));
        assert_eq!(find(&["x", "rgb"], RING), None);
    }
}
