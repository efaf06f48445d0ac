//! The summary as JSON, field by field as docs/json.md describes it.

use std::io::{self, Write};

use crate::analysis::Summary;

/// Writes it indented, with a newline at the end.
pub fn write(summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, summary)?;
    writeln!(out)
}
