//! What integration tests share.

use std::path::PathBuf;

/// A file or folder of the shared test data; `None`, with a line on stderr, where it is not there.
///
/// The data lie beside the repository, or where `JETLAG_SHARED` says.
#[allow(clippy::print_stderr, reason = "a skipped test must say so")]
#[allow(unreachable_pub, reason = "each test file includes this module as its own")]
pub fn shared(path: &str) -> Option<PathBuf> {
    let root = std::env::var_os("JETLAG_SHARED")
        .map(PathBuf::from)
        .unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared")));
    let full = root.join(path);
    if full.exists() {
        return Some(full);
    }
    eprintln!("skipped: {} not found", full.display());
    None
}
