//! In place of `recorded_work`, where this jetlag was built without models: runs have no work in their files, and reports say so.

use crate::backend::NetworkSource;
use crate::detector::Detector;
use crate::record::{Manifest, WorkRecord};
use crate::scenario::Scenario;

/// Nothing is counted.
pub(in crate::commands) fn count(_: &Scenario, _: &mut Manifest) -> Vec<WorkRecord> {
    Vec::new()
}

/// Nothing is counted; what is not in the file stays unknown.
pub(in crate::commands) fn again(_: &mut Manifest) -> (Vec<WorkRecord>, Vec<String>) {
    (Vec::new(), Vec::new())
}

/// What contradicts itself is left to the backend's words.
pub(in crate::commands) fn contradiction(_: &Detector, _: &NetworkSource) -> Option<String> {
    None
}
