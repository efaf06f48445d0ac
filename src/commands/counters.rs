//! `jetlag counters`: what the hardware counts while a network runs, through NVIDIA's Nsight Compute.
//!
//! The sums are `analysis::counters`'; here files are read and written, and the profiler is found and started.

mod profiler;
mod target;

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::outcome::{Outcome, WrongUse};
use super::output::{print, print_styled, say, style};
use super::run_path::spare_files;
use crate::analysis::counters::{Asked, COUNTERS_SCHEMA, Caches, Counters, Measurement, measurement, read};
use crate::analysis::counters::{is_table, wanted};
use crate::cli::{CountersArgs, Format};
use crate::files;
use crate::report::details::{Form, counters as details};
use crate::shell;
use crate::units::Bytes;
use crate::whole;
pub(super) use target::reduced;

/// Most bytes of a file with counters: a raw page of a hundred thousand kernels.
const MOST_BYTES: Bytes = Bytes(512 << 20);
/// Frames that are counted where nobody says how many.
const FRAMES: u64 = 2;

/// Without its ranges a profiler sees kernels, and not whose.
const NO_RANGES: &str = "this jetlag was built without the feature `nvtx`, so a profiler cannot tell its frames apart: use a release, or build with --features nvtx; or read a table of ncu's with --from";

/// Counts, or reads what was counted.
///
/// # Errors
/// [`WrongUse`]: a file that is none of ncu's, a scenario without a tenant on a GPU, a file that is there. Else the profiler is absent,
/// was refused, or found nothing.
pub(super) fn run(args: &CountersArgs) -> anyhow::Result<Outcome> {
    if args.list {
        print_styled(&details::known(Form::Terminal(&style())), style().colour)?;
        return Ok(Outcome::Done);
    }
    let tables: Vec<PathBuf> = match &args.output {
        Some(output) if args.from.is_empty() => (0..args.shapes.len().max(1))
            .map(|number| beside(output, number, args.shapes.len()))
            .collect(),
        _ => Vec::new(),
    };
    for file in args.output.iter().chain(&tables) {
        spare_files(file, args.force)?;
    }
    let measurements = match &args.scenario {
        Some(scenario) => counted(args, scenario, &tables)?,
        None => from_files(args)?,
    };
    let counters = Counters {
        schema: COUNTERS_SCHEMA,
        measurements,
    };
    let json = serde_json::to_string_pretty(&counters)? + "\n";
    if let Some(file) = &args.output {
        whole::write(file, &json, args.force).with_context(|| format!("cannot write {}", file.display()))?;
        say(&format!(
            "{}: set it beside the work of a run: jetlag roofline RUN --counters {}",
            file.display(),
            shell::path(file)
        ));
    }
    match args.format {
        Format::Json => print(&json)?,
        Format::Text => print_styled(
            &details::text(&counters, Form::Terminal(&style())),
            style().colour,
        )?,
    }
    Ok(Outcome::Done)
}

/// A file of `jetlag counters -o`, or a table of ncu's.
///
/// # Errors
/// [`WrongUse`]: it is neither, or cannot be read.
pub(super) fn given(path: &Path) -> Result<Counters, WrongUse> {
    let text = text_of(path)?;
    let wrong = |problem: String| WrongUse(format!("{} {problem}", path.display()));
    if text.trim_start().starts_with('{') && !is_table(&text) {
        return Counters::read(&text).map_err(|error| wrong(error.to_string()));
    }
    let table = read(&text).map_err(|error| wrong(error.to_string()))?;
    Ok(Counters {
        schema: COUNTERS_SCHEMA,
        measurements: vec![measurement(&table, &asked(path, None, Caches::Unknown))],
    })
}

fn text_of(path: &Path) -> Result<String, WrongUse> {
    files::read_given_text(path, MOST_BYTES)
        .map_err(|error| WrongUse(format!("cannot read the counters {}: {error}", path.display())))
}

fn asked(path: &Path, frames: Option<u64>, caches: Caches) -> Asked {
    Asked {
        name: path
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        shapes: None,
        frames,
        caches,
        networks: Vec::new(),
    }
}

fn from_files(args: &CountersArgs) -> Result<Vec<Measurement>, WrongUse> {
    let caches = if args.keep_caches {
        Caches::Kept
    } else {
        Caches::Unknown
    };
    let each = args.from.iter().map(|path| {
        let table = read(&text_of(path)?).map_err(|error| WrongUse(format!("{} {error}", path.display())))?;
        Ok(measurement(&table, &asked(path, args.frames, caches)))
    });
    each.collect()
}

/// Where ncu's own table goes: beside the file of counts.
fn beside(output: &Path, number: usize, of: usize) -> PathBuf {
    match of {
        0 | 1 => output.with_extension("csv"),
        _ => output.with_extension(format!("{}.csv", number + 1)),
    }
}

/// Runs the profiler once for each shape.
fn counted(args: &CountersArgs, scenario: &Path, tables: &[PathBuf]) -> anyhow::Result<Vec<Measurement>> {
    let shapes: Vec<Option<&crate::scenario::Shapes>> = match args.shapes.is_empty() {
        true => vec![None],
        false => args.shapes.iter().map(Some).collect(),
    };
    let folder = tempfile::tempdir().context("cannot make a folder for what the profiler writes")?;
    let frames = args.frames.unwrap_or(FRAMES);
    let mut measurements = Vec::new();
    for (number, shapes) in shapes.into_iter().enumerate() {
        let target = target::of(scenario, shapes, args)?;
        // Asked of the machine after what was wrong with the question.
        let ncu = profiler::find(args.ncu.as_deref())?;
        // Who names a program may have one that asks for other ranges.
        if !cfg!(feature = "nvtx") && args.ncu.is_none() {
            return Err(WrongUse(NO_RANGES.to_owned()).into());
        }
        let table = tables
            .get(number)
            .cloned()
            .unwrap_or_else(|| folder.path().join(format!("{number}.csv")));
        for note in &target.notes {
            say(note);
        }
        let said = profiler::run(&profiler::Profiled {
            ncu: &ncu,
            scenario,
            shapes,
            sets: &args.sets,
            tenant: &target.tenant,
            frames: args.skip..args.skip.saturating_add(frames),
            metrics: &wanted(&args.metrics),
            keep_caches: args.keep_caches,
            table: &table,
            folder: folder.path(),
        })?;
        let text = text_of(&table)?;
        let read = read(&text).map_err(|error| {
            let found = error.to_string();
            anyhow::anyhow!("nothing was counted: {}", profiler::why(&said).unwrap_or(found))
        })?;
        let mut own = measurement(
            &read,
            &Asked {
                name: scenario.display().to_string(),
                shapes: shapes.map(ToString::to_string),
                frames: None,
                networks: target.networks,
                caches: if args.keep_caches {
                    Caches::Kept
                } else {
                    Caches::Emptied
                },
            },
        );
        own.notes.extend(target.notes);
        measurements.push(own);
    }
    Ok(measurements)
}
