//! CV-CUDA's `benchmark.json` and `benchmark_mean.json`: indented by four, with a newline at the end.

use std::io::{self, Write};

use serde::Serialize;

/// Writes one of its files.
pub fn write(file: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let form = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut json = serde_json::Serializer::with_formatter(&mut *out, form);
    file.serialize(&mut json)?;
    writeln!(out)
}
