//! What the GPU did in the traced phases, for `jetlag report --kernels`.

use std::io::{self, Write};

use jetlag_figure::section::terminal;

use crate::Style;
use crate::analysis::Summary;
use crate::sections::traced;

/// Writes the traced phases of each run.
pub fn write(summaries: &[Summary], out: &mut dyn Write, style: &Style) -> io::Result<()> {
    let runs: Vec<String> = summaries.iter().map(|summary| run(summary, style)).collect();
    out.write_all(runs.join("\n\n").as_bytes())
}

fn run(summary: &Summary, style: &Style) -> String {
    if summary.kernels.is_none() {
        let recorded = summary.run.recorded;
        return format!(
            "{}: {}, so nothing is known of its kernels. {}\n",
            summary.run.name,
            recorded.untraced(),
            recorded.to_trace()
        );
    }
    let sections = traced::of_all(summary);
    let shown = sections
        .iter()
        .map(|section| terminal::section(section, |_| String::new(), style));
    let shown: Vec<String> = shown.collect();
    shown.join("\n")
}
