//! `jetlag ceilings`: measures what this machine reaches at most, and writes it down.

use std::path::Path;

use anyhow::Context;

use super::outcome::{Outcome, WrongUse};
use super::output::{print, say};
use super::run_path::spare_files;
use crate::analysis::roofline::Ceilings;
use crate::board::Roots;
use crate::ceilings::{Effort, of_processor};
use crate::cli::{CeilingsArgs, CeilingsBackend, Format};
use crate::report::text::roofline::of_ceilings;
use crate::units::parse_duration;

/// Measures, prints, and writes the file that was asked for.
///
/// # Errors
/// [`WrongUse`] for a GPU, a duration that is none, a file that is there; the embedded backend is not in this jetlag.
pub(super) fn run(args: &CeilingsArgs) -> anyhow::Result<Outcome> {
    if args.backend == CeilingsBackend::Gpu {
        return Err(WrongUse(
            "ceilings of a GPU are not measured yet. On a Jetson, `jetlag roofline` takes them from its table of boards (--board); \
             for another GPU write them in a file (docs/models.md has the form) and name it with --ceilings"
                .to_owned(),
        )
        .into());
    }
    let each = parse_duration(&args.each).map_err(|problem| WrongUse(format!("--each: {problem}")))?;
    if let Some(file) = &args.output {
        spare_files(file, args.force)?;
    }
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = args.threads.map_or(all, usize::from).min(all);
    let measured = of_processor(&Roots::system(), Effort { threads, each })?;
    let json = serde_json::to_string_pretty(&measured)? + "\n";
    if let Some(file) = &args.output {
        write(file, &json, &measured)?;
    }
    match args.format {
        Format::Json => print(&json)?,
        Format::Text => print(&of_ceilings(&measured, &super::report::style()))?,
    }
    Ok(Outcome::Done)
}

fn write(file: &Path, json: &str, measured: &Ceilings) -> anyhow::Result<()> {
    std::fs::write(file, json).with_context(|| format!("cannot write {}", file.display()))?;
    say(&format!(
        "{}: {}, {}; hold runs against it: jetlag roofline RUN --ceilings {}",
        file.display(),
        measured.name,
        measured.source,
        crate::shell::path(file)
    ));
    Ok(())
}
