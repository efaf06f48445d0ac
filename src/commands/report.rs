//! `jetlag report FILE…`: the summary of run files, for people or for programs, or as a page to look at.
//!
//! ```text
//! $ jetlag report runs/two-detectors-20260101T120000.mcap
//! two-detectors  VALID  no finding limits these numbers
//! 70.0 s measured; response time counts from release
//! …
//! ```
//!
//! `jetlag run` ends in the same two functions, so that a run and its report can never disagree.

use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;

use anyhow::Context;

use super::held::Given;
use super::junit;
use super::outcome::{Outcome, WrongUse};
use super::output::{print, print_styled, say, style};
use super::run_path::spare_files;
use super::scores;
use super::words::{did_you_mean, newest};
use crate::analysis::compare::{By, RunSample, RunSampler, Side, compare};
use crate::analysis::roofline::Gatherer;
use crate::analysis::stamps::StampCheck;
use crate::analysis::{Summarizer, Summary, parse_power};
use crate::cli::{CeilingsOf, Format, ReportArgs, ResultFormat, TrtexecArgs};
use crate::record::reader::{Completeness, ReadError, RunReader};
use crate::record::{Event, Manifest};
use crate::report::contents::ContentsTally;
use crate::report::details::{Form, kernels, layers, recording};
use crate::report::log::LogTally;
use crate::report::{self, Style};
use crate::units::Bytes;
use crate::whole;

/// Prints the summaries of run files, or writes them as a page; the outcome tells what the exit code must.
pub fn run(args: &ReportArgs) -> anyhow::Result<Outcome> {
    if let Some(page) = &args.html {
        plain_format(args.format)?;
        return write_page(&args.runs, page, args.force, args.pictures, &args.ceilings);
    }
    let held = [
        args.ceilings.board.is_some(),
        args.ceilings.mode.is_some(),
        args.ceilings.ceilings.is_some(),
    ];
    if held.contains(&true) && !args.layers {
        let said =
            "--board, --mode and --ceilings go with --layers or --html; for a whole run: jetlag roofline";
        return Err(WrongUse(said.to_owned()).into());
    }
    let style = style();
    if args.layers || args.kernels {
        detailed(args.format, &style)?;
    }
    let budget = args.budget.as_deref().map(parse_power).transpose();
    let budget = budget.map_err(|problem| WrongUse(format!("--budget: {problem}")))?;
    let (manifests, summaries): (Vec<Manifest>, Vec<Summary>) = args
        .runs
        .iter()
        .map(|run| of_file(run, budget))
        .collect::<anyhow::Result<Vec<_>>>()?
        .into_iter()
        .unzip();
    // First: whoever waits for the file has it even if nobody reads the rest.
    if let Some(path) = &args.junit {
        junit::write(path, &manifests, &summaries)?;
    }
    let mut out = Vec::new();
    match (args.format, &summaries[..]) {
        (ResultFormat::Text | ResultFormat::Markdown, summaries) if args.layers || args.kernels => {
            if let Some(form) = detailed(args.format, &style)? {
                let text = match args.layers {
                    true => layers::text(summaries, form),
                    false => kernels::text(summaries, form),
                };
                out.extend_from_slice(text.as_bytes());
            }
        }
        (ResultFormat::Json, [one]) => report::json::write(one, &mut out)?,
        (ResultFormat::Json, several) => {
            let all: Vec<_> = several.iter().map(report::json::Document::of).collect();
            serde_json::to_writer_pretty(&mut out, &all)?;
            out.push(b'\n');
        }
        (ResultFormat::Github, summaries) => {
            for summary in summaries {
                report::github::write(summary, &mut out)?;
            }
        }
        (ResultFormat::Markdown, summaries) => {
            for summary in summaries {
                report::markdown::write(summary, &mut out)?;
            }
        }
        (ResultFormat::Text, summaries) => {
            for (number, summary) in summaries.iter().enumerate() {
                if number > 0 {
                    out.extend_from_slice(b"\n\n");
                }
                report::text::write(summary, &mut out, &style)?;
            }
        }
    }
    let is_coloured = args.format == ResultFormat::Text && style.colour;
    print_styled(&String::from_utf8(out)?, is_coloured)?;
    summaries.iter().for_each(say_failures);
    Ok(worst(summaries.iter()))
}

/// The format where there are neither annotations nor Markdown.
pub(super) fn plain_format(format: ResultFormat) -> anyhow::Result<Format> {
    match format {
        ResultFormat::Text => Ok(Format::Text),
        ResultFormat::Json => Ok(Format::Json),
        ResultFormat::Github | ResultFormat::Markdown => Err(WrongUse(
            "--format github and markdown show the results of runs; leave out the other options, or use --format text or json"
                .to_owned(),
        )
        .into()),
    }
}

/// How a detail of runs is shown; `None` as JSON.
///
/// # Errors
/// Annotations are of results.
pub(super) fn detailed(format: ResultFormat, style: &Style) -> anyhow::Result<Option<Form<'_>>> {
    match format {
        ResultFormat::Text => Ok(Some(Form::Terminal(style))),
        ResultFormat::Markdown => Ok(Some(Form::Markdown)),
        ResultFormat::Json => Ok(None),
        ResultFormat::Github => Err(WrongUse(
            "--format github shows the results of runs; leave out the other options, or use --format text, markdown or json"
                .to_owned(),
        )
        .into()),
    }
}

/// A run file's manifest and summary.
pub(super) fn of_file(path: &Path, budget_mw: Option<f64>) -> anyhow::Result<(Manifest, Summary)> {
    let reader = open(path)?;
    let manifest = reader.manifest().clone();
    let mut summarizer = Summarizer::new(&manifest);
    if let Some(limit) = budget_mw {
        summarizer.power_budget(limit);
    }
    let summary = summarize_by(summarizer, reader, path, |_| {});
    Ok((manifest, summary))
}

/// Prints the summary of one run file; with `junit` it is written there as well.
pub fn show(path: &Path, format: ResultFormat, junit: Option<&Path>) -> anyhow::Result<Outcome> {
    run(&ReportArgs {
        runs: vec![path.to_owned()],
        html: None,
        pictures: None,
        force: false,
        layers: false,
        ceilings: CeilingsOf::default(),
        kernels: false,
        critical_path: false,
        what_if: Vec::new(),
        untraced: None,
        budget: None,
        junit: junit.map(Path::to_owned),
        format,
        trtexec: TrtexecArgs::default(),
    })
}

/// Writes one page of all runs, several compared with the first.
pub(super) fn write_page(
    runs: &[PathBuf],
    page: &Path,
    replace: bool,
    pictures: Option<u8>,
    ceilings: &CeilingsOf,
) -> anyhow::Result<Outcome> {
    spare_files(page, replace)?;
    let given = Given::of(ceilings)?;
    let mut reported = Vec::with_capacity(runs.len());
    let mut sides = Vec::new();
    for run in runs {
        let reader = open(run)?;
        let manifest = reader.manifest().clone();
        let mut gatherer = Gatherer::new(&manifest);
        let summary = if runs.len() == 1 {
            summarize_drawn(reader, run, |event| gatherer.push(event))
        } else {
            let mut sampler = RunSampler::new(&manifest);
            let summary = summarize_drawn(reader, run, |event| {
                sampler.push(event);
                gatherer.push(event);
            });
            let file = run.display().to_string();
            let sample = sampler.finish(summary.clone());
            sides.push(Side::new(file.clone(), vec![(file, sample)], false));
            summary
        };
        let roofline = given.hold(&gatherer.finish(), &summary)?;
        reported.push(report::html::Reported {
            manifest,
            summary,
            roofline: Some(roofline),
        });
    }
    let compared = (sides.len() > 1).then(|| compare(&sides, &[]));
    let mut out = Vec::new();
    let pictures = match pictures {
        Some(count) => scores::pictures(runs, usize::from(count))?,
        None => Vec::new(),
    };
    for why in pictures.iter().flat_map(|pictures| &pictures.absent) {
        say(why);
    }
    report::html::write_with_pictures(&reported, &pictures, compared.as_ref(), &mut out)?;
    whole::write(page, &out, replace).with_context(|| format!("cannot write {}", page.display()))?;
    say(&format!(
        "{} ({}): open it in a browser",
        page.display(),
        Bytes(out.len() as u64)
    ));
    reported.iter().for_each(|run| say_failures(&run.summary));
    Ok(worst(reported.iter().map(|run| &run.summary)))
}

/// Why a run is not done, beside its report: what ends with [`Outcome::Failed`] has said its error.
pub(super) fn say_failures(summary: &Summary) {
    for finding in summary.failures() {
        say(&format!("error: {}", finding.message));
    }
}

/// The outcome that says most of several runs.
pub(super) fn worst<'a>(summaries: impl Iterator<Item = &'a Summary>) -> Outcome {
    let outcomes: Vec<Outcome> = summaries.map(outcome).collect();
    let worst = [Outcome::Failed, Outcome::ExpectationBroken, Outcome::Gaps]
        .into_iter()
        .find(|outcome| outcomes.contains(outcome));
    worst.unwrap_or(Outcome::Done)
}

/// Prints what is in a run file: its manifest, phases, counts of records, and the lines of its log. Results are the report's.
pub fn inspect(path: &Path, format: Format) -> anyhow::Result<Outcome> {
    let reader = open(path)?;
    let manifest = reader.manifest().clone();
    let mut log = LogTally::default();
    let mut contents = ContentsTally::new(&manifest);
    let mut reader = reader;
    let damage = read(&mut reader, |events| {
        for event in &events {
            contents.push(event);
            if let Event::Log(line) = event {
                log.push(line);
            }
        }
    });
    let contents = contents.finish();
    let incomplete = damage.or_else(|| cut_short(&reader.completeness()));
    if format == Format::Json {
        let value = serde_json::json!({
            "kind": "run",
            "manifest": manifest,
            "contents": contents,
            "incomplete": incomplete,
            "log": log.lines(),
        });
        print(&(serde_json::to_string_pretty(&value)? + "\n"))?;
        return Ok(Outcome::Done);
    }
    let style = style();
    let mut text = recording::text(&manifest, &contents, &log, Form::Terminal(&style));
    if let Some(problem) = &incomplete {
        text.push_str(&format!("{problem}\n"));
    }
    text.push_str(&format!("Results: jetlag report {}\n", path.display()));
    print_styled(&text, style.colour)?;
    Ok(Outcome::Done)
}

/// The summary of a run file, as far as the file goes: what was recorded before a cut or a damage counts,
/// and a finding says that there was one.
pub fn summarize_file(path: &Path) -> anyhow::Result<Summary> {
    Ok(summarize(open(path)?, path, |_| {}))
}

/// A run file with all that a comparison needs of it.
pub(super) fn sample_file(path: &Path, by: Option<By>) -> anyhow::Result<RunSample> {
    let reader = open(path)?;
    let mut sampler = RunSampler::new(reader.manifest());
    if let Some(by) = by {
        sampler = sampler.by(by);
    }
    let summary = summarize(reader, path, |event| sampler.push(event));
    Ok(sampler.finish(summary))
}

/// Reads a run to its end, or as far as it goes; `also` sees every event as well.
///
/// Reading takes about as long as summing up what is read, so it has a thread of its own.
pub(super) fn summarize(reader: RunReader, path: &Path, also: impl FnMut(&Event)) -> Summary {
    let summarizer = Summarizer::new(reader.manifest());
    summarize_by(summarizer, reader, path, also)
}

/// The same with traced frames laid out for a page.
fn summarize_drawn(reader: RunReader, path: &Path, also: impl FnMut(&Event)) -> Summary {
    let mut summarizer = Summarizer::new(reader.manifest());
    summarizer.draw_frames();
    let mut summary = summarize_by(summarizer, reader, path, also);
    if let Some(course) = summary.plots.course.as_mut().filter(|course| course.is_partial()) {
        // The slowest frames are known only now: what was around them is read again. As far as the file could be read before.
        if let Ok(mut again) = RunReader::open(path) {
            let mut stamps = StampCheck::new(again.manifest());
            read(&mut again, |events| {
                for event in &events {
                    if stamps.passes(event)
                        && let Event::Frame(frame) = event
                    {
                        course.take(frame);
                    }
                }
            });
        }
        course.settle();
    }
    summary
}

fn summarize_by(
    mut summarizer: Summarizer,
    mut reader: RunReader,
    path: &Path,
    mut also: impl FnMut(&Event),
) -> Summary {
    let mut take = |events: Vec<Event>| {
        for event in &events {
            summarizer.push(event);
            also(event);
        }
    };
    let beside = std::thread::scope(|scope| {
        // Few batches wait, so that memory does not grow with the file.
        let (sender, batches) = sync_channel(4);
        let reader = &mut reader;
        let reading = std::thread::Builder::new()
            .name("reader".to_owned())
            .spawn_scoped(scope, move || read(reader, |batch| drop(sender.send(batch))))
            .ok()?;
        batches.into_iter().for_each(&mut take);
        let panicked = |_| Some("reading it panicked; please report it with the file".to_owned());
        Some(reading.join().unwrap_or_else(panicked))
    });
    // Without a second thread everything is done here.
    let damage = beside.unwrap_or_else(|| read(&mut reader, take));
    let incomplete = damage.or_else(|| cut_short(&reader.completeness()));
    let mut summary = summarizer.finish(incomplete);
    summary.run.file = Some(path.display().to_string());
    summary
}

/// Hands over a run's events in batches; returns what is wrong with the file where something is.
fn read(reader: &mut RunReader, mut hand_over: impl FnMut(Vec<Event>)) -> Option<String> {
    const BATCH: usize = 512;
    loop {
        let mut batch = Vec::with_capacity(BATCH);
        let more = reader.read_batch(&mut batch, BATCH);
        hand_over(batch);
        match more {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => return Some(error.to_string()),
        }
    }
}

/// Opens a run file.
///
/// # Errors
/// [`WrongUse`]: there is none, or it is no run file.
pub(super) fn open(path: &Path) -> Result<RunReader, WrongUse> {
    if path.is_dir() {
        let folder = path.display();
        return Err(WrongUse(match newest(path) {
            Some(run) => format!(
                "{folder} is a folder; name a run file in it: the newest is {}",
                run.display()
            ),
            None => format!("{folder} is a folder, and no run file (.mcap) is in it"),
        }));
    }
    RunReader::open(path).map_err(|error| match error {
        ReadError::Io { .. } => {
            let meant = did_you_mean(path);
            WrongUse(format!(
                "{error}{meant}. Name a run file from `jetlag run`, such as runs/*.mcap"
            ))
        }
        other => WrongUse::because(other),
    })
}

/// What there was of a file that was cut short, in a sentence.
pub(super) fn cut_short(completeness: &Completeness) -> Option<String> {
    match *completeness {
        Completeness::Whole => None,
        Completeness::Truncated {
            bytes_read,
            bytes_total,
            ..
        } if bytes_read == bytes_total => Some(
            "The run file was not closed (the run was killed or is still going on); all of its chunks could be read."
                .to_owned(),
        ),
        Completeness::Truncated {
            bytes_read,
            bytes_total,
            ..
        } => Some(format!(
            "The run file ends in the middle: {} of {} could be read.",
            Bytes(bytes_read),
            Bytes(bytes_total)
        )),
    }
}

fn outcome(summary: &Summary) -> Outcome {
    if summary.failures().next().is_some() {
        Outcome::Failed
    } else if !summary.expectations_hold() {
        Outcome::ExpectationBroken
    } else if summary.has_gaps() {
        Outcome::Gaps
    } else {
        Outcome::Done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_only_not_closed_is_told_from_one_that_was_cut() {
        let said = |bytes_read| {
            cut_short(&Completeness::Truncated {
                bytes_read,
                bytes_total: 2048,
                chunks: 1,
                last: None,
            })
            .unwrap()
        };
        assert!(said(2048).contains("was not closed"), "{}", said(2048));
        assert!(said(1024).contains("1.0 KiB of 2.0 KiB"), "{}", said(1024));
        assert_eq!(cut_short(&Completeness::Whole), None);
    }
}
