//! What is in a run file: what ran where, how many records of which kind, and its log. Results are the report's.

use super::Form;
use crate::contents::Contents;
use crate::log::LogTally;
use crate::record::Manifest;
use crate::sections::{setup, work};

/// All of it.
pub fn text(manifest: &Manifest, contents: &Contents, log: &LogTally, form: Form<'_>) -> String {
    let mut sections = vec![setup::section(manifest, None)];
    sections.extend(work::section(manifest));
    sections.extend(contents.sections());
    sections.extend(log.section());
    form.all(&sections)
}
