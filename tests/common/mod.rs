//! What integration tests share.

use std::path::{Path, PathBuf};

/// The file or folder of that name among the shared real inputs; `None`, said aloud, where it is absent.
pub fn shared(path: &str) -> Option<PathBuf> {
    let root = std::env::var_os("JETLAG_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        PathBuf::from,
    );
    let found = root.join(path);
    if !found.exists() {
        eprintln!("skipped: {} not found", found.display());
        return None;
    }
    Some(found)
}
