//! What integration tests have in common.

use std::path::PathBuf;

/// A file or folder of the reference data, which lies beside the repository or where JETLAG_SHARED says;
/// `None`, with a line that says so, where it is absent.
#[allow(unreachable_pub, reason = "shared by test binaries")]
#[allow(clippy::print_stderr, reason = "a skipped test says so")]
pub fn shared(path: &str) -> Option<PathBuf> {
    let root = std::env::var_os("JETLAG_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared")),
        PathBuf::from,
    );
    let found = root.join(path);
    if found.exists() {
        return Some(found);
    }
    eprintln!("skipped: {} not found", found.display());
    None
}
