//! Failures of the machine, which are no point's: another run would fail as well, and this one would not fail elsewhere. They are not
//! written down as what came of a point; the sweep stops, and the same line goes on from there.

use std::path::Path;

use anyhow::anyhow;

/// Why the sweep stops, after what was said of the disk.
pub(super) fn stops(said: &str, folder: &Path) -> anyhow::Error {
    anyhow!(
        "{said}\n       That is the machine's failure and not a point's, so the sweep stops here. What is finished is kept in {}; \
         free some space, and the same line goes on from there",
        folder.display()
    )
}
