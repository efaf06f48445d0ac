//! Placeholder: LiDAR specs are not read yet.

use std::path::Path;

use serde::Deserialize;

use crate::detector::{Detector, DetectorError};

/// A LiDAR detector as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LidarSpec {}

impl LidarSpec {
    /// Always an error.
    pub fn build(self, _base: &Path, spec_name: &str) -> Result<Detector, DetectorError> {
        Err(DetectorError::BadSpec {
            spec: spec_name.to_owned(),
            problem: "LiDAR detectors cannot be built yet".to_owned(),
        })
    }
}
