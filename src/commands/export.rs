//! `jetlag export RUN --format FORMAT -o PATH`: a run in the format of another program.
//!
//! ```text
//! $ jetlag export runs/demo-20260101T120000.mcap --format perfetto -o demo.perfetto-trace
//! wrote demo.perfetto-trace (1.3 MiB)
//! ```
//!
//! A run that was cut short is exported as far as it goes; that is said on stderr, and the exit code is 4.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::outcome::{Outcome, WrongUse};
use super::output::{print, say};
use super::report;
use super::run_path::spare_files;
use crate::analysis::Summarizer;
use crate::analysis::cvcuda::{
    self, Input,
    from_run::{Gatherer, OfTenant},
};
use crate::analysis::stamps::StampCheck;
use crate::cli::{ExportArgs, ExportFormat};
use crate::files;
use crate::record::{Event, Manifest, RunReader};
use crate::report::export::{
    self as formats, Export, csv::CsvExport, measured::Measured, perfetto::PerfettoExport, tables::TABLES,
};
use crate::units::Bytes;
use crate::whole;

/// Batches that CV-CUDA's launcher leaves out at each end where nothing else is said.
const WARMUP_BATCHES: u64 = 1;

/// Exports a run, or expands a file of CV-CUDA's.
pub fn run(args: &ExportArgs) -> anyhow::Result<Outcome> {
    match (&args.run, args.format, &args.cvcuda_expand) {
        (_, _, Some(file)) => expand(file, args),
        (Some(run), Some(format), _) => match format {
            _ if args.all_frames && !format.has_tables() => Err(WrongUse(
                "--all-frames is for the tables of --format csv and parquet; other formats have no such choice".to_owned(),
            )
            .into()),
            ExportFormat::Json => summary(run, args, crate::report::json::write),
            ExportFormat::Markdown => summary(run, args, crate::report::markdown::write),
            ExportFormat::Csv => csv(run, args),
            ExportFormat::Parquet => parquet(run, args),
            ExportFormat::Perfetto => perfetto(run, args),
            ExportFormat::Cvcuda => cvcuda(run, folder(args)?, args),
            ExportFormat::CocoResults | ExportFormat::KittiResults | ExportFormat::NuscenesResults => {
                super::scores::export(run, args, format)
            }
        },
        _ => Err(WrongUse("name a run file and a --format, or --cvcuda-expand IN.json".to_owned()).into()),
    }
}

/// What is written from the summary alone.
fn summary(
    run: &Path,
    args: &ExportArgs,
    write: fn(&crate::analysis::Summary, &mut dyn std::io::Write) -> std::io::Result<()>,
) -> anyhow::Result<Outcome> {
    let summary = report::summarize_file(run)?;
    let mut out = Vec::new();
    write(&summary, &mut out)?;
    deliver(args.output.as_deref(), &out, args.force)?;
    Ok(match summary.has_gaps() {
        true => Outcome::Gaps,
        false => Outcome::Done,
    })
}

fn csv(run: &Path, args: &ExportArgs) -> anyhow::Result<Outcome> {
    tables(run, args, "csv", |manifest, files| {
        CsvExport::new(manifest, files)
    })
}

#[cfg(feature = "parquet")]
fn parquet(run: &Path, args: &ExportArgs) -> anyhow::Result<Outcome> {
    tables(run, args, "parquet", |manifest, files| {
        formats::parquet::ParquetExport::new(manifest, files)
    })
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: &Path, _: &ExportArgs) -> anyhow::Result<Outcome> {
    let left_out = crate::built::LeftOut {
        part: "Parquet's tables",
        feature: "parquet",
    };
    Err(WrongUse(format!(
        "{left_out}, or use `--format csv`, which has the same data"
    ))
    .into())
}

/// A file for each table, in a folder.
fn tables<E: Export>(
    run: &Path,
    args: &ExportArgs,
    extension: &str,
    new: impl FnOnce(&Manifest, [BufWriter<File>; TABLES.len()]) -> io::Result<E>,
) -> anyhow::Result<Outcome> {
    let (folder, replace) = (folder(args)?, args.force);
    let reader = report::open(run)?;
    make_folder(folder)?;
    let paths = TABLES.map(|table| folder.join(format!("{}.{extension}", table.name)));
    let [
        frames,
        telemetry,
        layers,
        ranges,
        kernels,
        energy,
        detections,
        figures,
    ] = &paths;
    let files = [
        create(frames, replace)?,
        create(telemetry, replace)?,
        create(layers, replace)?,
        create(ranges, replace)?,
        create(kernels, replace)?,
        create(energy, replace)?,
        create(detections, replace)?,
        create(figures, replace)?,
    ];
    let manifest = reader.manifest().clone();
    let mut measured = (!args.all_frames).then(|| Measured::new(&manifest));
    let mut summarizer = Summarizer::new(&manifest);
    let mut left_out = 0u64;
    let mut tables = new(&manifest, files).with_context(|| cannot_write(folder))?;
    let outcome = each(reader, |event| {
        summarizer.push(event);
        if measured
            .as_mut()
            .is_some_and(|measured| measured.leaves_out(event))
        {
            left_out += 1;
            return Ok(());
        }
        tables.event(event).with_context(|| cannot_write(folder))
    })?;
    let rest = tables.summary(&summarizer.finish(None));
    rest.and_then(|()| tables.finish())
        .with_context(|| cannot_write(folder))?;
    paths.iter().for_each(|path| wrote(path));
    if left_out > 0 {
        say(&format!(
            "{} has the measured frames; {left_out} more, of warm-up, other phases and loads, need --all-frames",
            frames.display()
        ));
    }
    Ok(outcome)
}

fn perfetto(run: &Path, args: &ExportArgs) -> anyhow::Result<Outcome> {
    let Some(path) = &args.output else {
        return Err(WrongUse("a Perfetto trace needs a file: -o run.perfetto-trace".to_owned()).into());
    };
    spare_files(path, args.force)?;
    let reader = report::open(run)?;
    let limit = args.shard_mib << 20;
    let open = |shard: usize| whole::create(&shard_path(path, shard), args.force).map(BufWriter::new);
    let mut trace =
        PerfettoExport::new(reader.manifest(), limit, open).with_context(|| cannot_write(path))?;
    let outcome = stream(reader, &mut trace, path)?;
    let shards = trace.finish().with_context(|| cannot_write(path))?;
    (0..shards).for_each(|shard| wrote(&shard_path(path, shard)));
    Ok(outcome)
}

/// The first shard has the name that was asked for; the second of `run.perfetto-trace` is `run-2.perfetto-trace`.
fn shard_path(path: &Path, shard: usize) -> PathBuf {
    if shard == 0 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{}", shard + 1));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// Each tenant of a run in CV-CUDA's form, and the samples of the GPUs by metric.
pub(super) fn recordings(run: &Path) -> anyhow::Result<(Vec<OfTenant>, cvcuda::GpuMetrics, Outcome)> {
    let reader = report::open(run)?;
    let mut gatherer = Gatherer::new(reader.manifest());
    let mut stamps = StampCheck::new(reader.manifest());
    let outcome = each(reader, |event| {
        if stamps.passes(event) {
            gatherer.push(event);
        }
        Ok(())
    })?;
    let (tenants, gpu_metrics) = gatherer.finish();
    Ok((tenants, gpu_metrics, outcome))
}

/// A folder for each tenant, as a launch of its own: tenants are different programs, whose rates do not add up.
fn cvcuda(run: &Path, folder: &Path, args: &ExportArgs) -> anyhow::Result<Outcome> {
    let warmup = args.warmup_batches.unwrap_or(WARMUP_BATCHES);
    let (tenants, gpu_metrics, outcome) = recordings(run)?;
    if tenants.is_empty() {
        anyhow::bail!(
            "{} has no tenants, so there is no CV-CUDA benchmark to write",
            run.display()
        );
    }
    for tenant in tenants {
        if tenant.recording.batch_info.is_empty() {
            say(&format!(
                "warning: {} processed no frame in the measured time; its files contain no batch",
                tenant.name
            ));
        }
        let expanded = cvcuda::expand(&tenant.recording, warmup);
        let of_process = folder.join(file_name(&tenant.name)).join("proc_0_gpu_0");
        make_folder(&of_process)?;
        write_json(&of_process.join("benchmark.json"), &expanded, args.force)?;
        let process = cvcuda::Process {
            data: expanded.data,
            batch_info: expanded.batch_info,
            meta: expanded.meta,
        };
        let mean = cvcuda::mean(&[process], &gpu_metrics, warmup, 1);
        let of_launch = folder.join(file_name(&tenant.name)).join("benchmark_mean.json");
        write_json(&of_launch, &mean, args.force)?;
    }
    Ok(outcome)
}

fn expand(path: &Path, args: &ExportArgs) -> anyhow::Result<Outcome> {
    let text = files::read_given_text(path, files::MEASUREMENTS)
        .map_err(|error| WrongUse(format!("cannot read {}: {error}", path.display())))?;
    let input = cvcuda::read(&text).with_context(|| format!("cannot expand {}", path.display()))?;
    let warmup = |of_file: Option<u64>| args.warmup_batches.or(of_file).unwrap_or(WARMUP_BATCHES);
    let mut out = Vec::new();
    match input {
        Input::One {
            recording,
            warmup: of_file,
        } => formats::cvcuda::write(&cvcuda::expand(&recording, warmup(of_file)), &mut out)?,
        Input::Several {
            processes,
            gpu_metrics,
            warmup: of_file,
            multiplier,
        } => {
            let mean = cvcuda::mean(&processes, &gpu_metrics, warmup(of_file), multiplier);
            formats::cvcuda::write(&mean, &mut out)?;
        }
    }
    deliver(args.output.as_deref(), &out, args.force)?;
    Ok(Outcome::Done)
}

/// Hands a run's events to an export, as far as the run goes.
fn stream(reader: RunReader, export: &mut dyn Export, to: &Path) -> anyhow::Result<Outcome> {
    let outcome = each(reader, |event| {
        export.event(event).with_context(|| cannot_write(to))
    })?;
    export.finish().with_context(|| cannot_write(to))?;
    Ok(outcome)
}

/// Calls `take` with each event; says what is missing where the file was cut short, is damaged or lacks records.
fn each(
    mut reader: RunReader,
    mut take: impl FnMut(&Event) -> anyhow::Result<()>,
) -> anyhow::Result<Outcome> {
    let (mut damage, mut lost) = (None, 0u64);
    for event in reader.by_ref() {
        match event {
            Ok(event) => {
                if let Event::Phase(phase) = &event {
                    lost = lost.saturating_add(phase.lost_records);
                }
                take(&event)?;
            }
            Err(error) => damage = Some(error.to_string()),
        }
    }
    if let Some(missing) = damage.or_else(|| report::cut_short(&reader.completeness())) {
        say(&format!(
            "warning: {missing} The export contains what could be read."
        ));
    } else if lost > 0 {
        say(&format!(
            "warning: {lost} frames ran but were not recorded; they are missing from the export."
        ));
    } else {
        return Ok(Outcome::Done);
    }
    Ok(Outcome::Gaps)
}

fn folder(args: &ExportArgs) -> anyhow::Result<&Path> {
    let missing = || WrongUse("this format has several files and needs a folder: -o DIR".to_owned());
    Ok(args.output.as_deref().ok_or_else(missing)?)
}

fn make_folder(path: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(path).with_context(|| format!("cannot make the folder {}", path.display()))
}

fn create(path: &Path, replace: bool) -> anyhow::Result<BufWriter<File>> {
    spare_files(path, replace)?;
    let file = whole::create(path, replace).with_context(|| cannot_write(path))?;
    Ok(BufWriter::new(file))
}

pub(super) fn write_json(path: &Path, file: &impl serde::Serialize, replace: bool) -> anyhow::Result<()> {
    use std::io::Write;
    let mut out = create(path, replace)?;
    formats::cvcuda::write(file, &mut out)
        .and_then(|()| out.flush())
        .with_context(|| cannot_write(path))?;
    wrote(path);
    Ok(())
}

/// To a file, or to stdout.
fn deliver(path: Option<&Path>, text: &[u8], replace: bool) -> anyhow::Result<()> {
    match path {
        Some(path) => {
            spare_files(path, replace)?;
            whole::write(path, text, replace).with_context(|| cannot_write(path))?;
            wrote(path);
        }
        None => print(&String::from_utf8_lossy(text))?,
    }
    Ok(())
}

fn cannot_write(path: &Path) -> String {
    format!(
        "cannot write to {}; name an existing, writable folder on a disk with free space",
        path.display()
    )
}

fn wrote(path: &Path) {
    let size =
        fs::metadata(path).map_or_else(|_| String::new(), |about| format!(" ({})", Bytes(about.len())));
    say(&format!("wrote {}{size}", path.display()));
}

/// A tenant's name as the name of a folder.
fn file_name(tenant: &str) -> String {
    let safe = |c: char| match c {
        '/' | '\\' | '\0' => '_',
        c => c,
    };
    match tenant {
        "" | "." | ".." => "_".to_owned(),
        name => name.chars().map(safe).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_numbered_before_the_extension() {
        let of = |path: &str, shard| shard_path(Path::new(path), shard).display().to_string();
        assert_eq!(of("out/run.perfetto-trace", 0), "out/run.perfetto-trace");
        assert_eq!(of("out/run.perfetto-trace", 1), "out/run-2.perfetto-trace");
        assert_eq!(of("run", 2), "run-3");
    }

    #[test]
    fn a_tenants_folder_stays_within_the_one_that_was_asked_for() {
        assert_eq!(file_name("camera"), "camera");
        assert_eq!(file_name("../x"), ".._x");
        assert_eq!(file_name(".."), "_");
    }
}
