//! In the place of the demo within the binary, in a jetlag that was built without the backend that every machine can run it on.

use crate::backend::NetworkSource;
use crate::built::left_out;

fn missing() -> String {
    left_out("the demo's scenario and detectors", "cpu")
}

/// There is none.
///
/// # Errors
/// Always.
pub fn demo_scenario() -> Result<&'static str, String> {
    Err(missing())
}

/// Names of the built-in detectors; this build has none.
pub fn detector_names() -> impl Iterator<Item = &'static str> {
    std::iter::empty()
}

/// There are none.
///
/// # Errors
/// Always.
pub fn detector_spec(_name: &str) -> Result<&'static str, String> {
    Err(missing())
}

/// A built-in network; this build has none.
pub fn network(_name: &str) -> Option<NetworkSource> {
    None
}
