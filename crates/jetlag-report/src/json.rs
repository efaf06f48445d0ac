//! The summary as JSON, field by field as docs/json.md describes it, with its figures as a list.

use std::io::{self, Write};

use crate::analysis::figures::Figure;
use serde::Serialize;

use crate::analysis::{self, Summary};

/// Writes it indented, with a newline at the end.
pub fn write(summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Document::of(summary))?;
    writeln!(out)
}

/// A summary, and each of its figures by its key.
#[derive(Serialize)]
pub struct Document<'s> {
    #[serde(flatten)]
    summary: &'s Summary,
    figures: Vec<Figure>,
}

impl<'s> Document<'s> {
    /// Of this summary.
    pub fn of(summary: &'s Summary) -> Self {
        Document {
            summary,
            figures: analysis::figures(summary),
        }
    }
}
