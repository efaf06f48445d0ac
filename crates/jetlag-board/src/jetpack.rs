//! Which JetPack an L4T release belongs to, and the versions of CUDA and TensorRT that came with it.
//!
//! From NVIDIA's release notes as jetson_stats' table and reports have them; the rows of JetPack 3.x, 4.2 and
//! 5.0.2 were not confirmed.

/// A JetPack and what came with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JetPack {
    /// JetPack's own version, as 6.1.
    pub version: &'static str,
    /// The version of CUDA that it brings.
    pub cuda: &'static str,
    /// The version of TensorRT that it brings.
    pub tensorrt: &'static str,
}

/// First L4T release of each row, JetPack, CUDA, TensorRT; ascending.
const RELEASES: [(&str, &str, &str, &str); 20] = [
    ("28.1", "3.1", "8.0", "2.1"),
    ("28.2", "3.2", "9.0", "3.0"),
    ("32.1", "4.2", "10.0", "5.0"),
    ("32.2.1", "4.2.2", "10.0", "5.1"),
    ("32.3.1", "4.3", "10.0", "6.0.1"),
    ("32.4.3", "4.4 to 4.5.1", "10.2", "7.1.3"),
    ("32.6.1", "4.6", "10.2", "8.0.1"),
    ("32.7.1", "4.6.1 to 4.6.6", "10.2", "8.2.1"),
    ("35.1", "5.0.2", "11.4", "8.4.1"),
    ("35.2.1", "5.1", "11.4", "8.5.2"),
    ("35.3.1", "5.1.1 to 5.1.6", "11.4", "8.5.2"),
    ("36.3", "6.0", "12.2", "8.6.2"),
    ("36.4.0", "6.1", "12.6", "10.3"),
    ("36.4.3", "6.2", "12.6", "10.3"),
    ("36.4.4", "6.2.1", "12.6", "10.3"),
    ("36.5", "6.2.2", "12.6", "10.3"),
    ("38.2", "7.0", "13.0", "10.13.3"),
    ("38.4", "7.1", "13.0", "10.13.3"),
    ("39.2.0", "7.2", "13.2", "10.16.2"),
    ("39.2.1", "7.2.1", "13.2", "10.16.2"),
];

/// The JetPack of a release written as `R36.4.4`; none for releases that are not in the table.
pub fn of_l4t(l4t: &str) -> Option<JetPack> {
    let parts = |text: &str| -> Option<Vec<u32>> { text.split('.').map(|part| part.parse().ok()).collect() };
    let release = parts(l4t.trim_start_matches('R'))?;
    let (row, ..) = RELEASES
        .iter()
        .filter_map(|row| Some((row, parts(row.0)?)))
        // The latest row of the same major release that is not later than this one.
        .rfind(|(_, first)| first.first() == release.first() && *first <= release)?;
    Some(JetPack {
        version: row.1,
        cuda: row.2,
        tensorrt: row.3,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_of_each_generation_are_known_and_others_are_not_guessed() {
        for (l4t, jetpack) in [
            ("R28.2", Some("3.2")),
            ("R32.5.1", Some("4.4 to 4.5.1")),
            ("R32.7.4", Some("4.6.1 to 4.6.6")),
            ("R35.4.1", Some("5.1.1 to 5.1.6")),
            ("R36.4.4", Some("6.2.1")),
            ("R36.4.7", Some("6.2.1")),
            ("R38.2.0", Some("7.0")),
            ("R39.2.0", Some("7.2")),
            ("R36.1", None),
            ("R40.1", None),
            ("R", None),
        ] {
            assert_eq!(of_l4t(l4t).map(|j| j.version), jetpack, "{l4t}");
        }
    }
}
