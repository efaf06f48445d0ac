//! `jetlag report RUN --critical-path`, `--what-if CHANGE`: what the frames of traced phases waited for, and what changes would do.
//!
//! ```text
//! $ jetlag report runs/two-20260101T120000.mcap --what-if 'camera: kernel "conv*" x0.5' --what-if 'without lidar'
//! WHAT IF  p50 in ms, of the traced frames of camera + lidar
//!   camera: kernels conv* × 0.5
//!   without lidar
//! …
//! ```

use std::path::Path;

use serde::Serialize;

use super::outcome::{Outcome, WrongUse};
use super::output::{print_styled, say};
use super::report::{open, say_failures, style, summarize, worst};
use crate::analysis::Summary;
use crate::analysis::critical::{Member, critical};
use crate::analysis::stamps::StampCheck;
use crate::analysis::start_up::FirstFrames;
use crate::analysis::summary::critical::CriticalPath;
use crate::analysis::summary::start_up::TenantStart;
use crate::analysis::summary::what_if::WhatIf;
use crate::analysis::traced::{Traced, TracedPhase};
use crate::analysis::what_if::{Change, Untraced, parse, what_if};
use crate::cli::{Format, ReportArgs, ResultFormat};
use crate::record::{Event, Phase};
use crate::report;

/// A run's summary with what its trace tells.
#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    summary: Summary,
    /// Of each traced phase.
    critical_path: Vec<CriticalPath>,
    /// Of each tenant.
    start_up: Vec<TenantStart>,
    /// Absent unless it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    what_if: Option<WhatIf>,
}

/// Prints critical paths and predictions; the outcome is that of the report.
pub(super) fn run(args: &ReportArgs) -> anyhow::Result<Outcome> {
    let answers: Vec<Answer> = args
        .runs
        .iter()
        .map(|run| answer(run, &args.what_if))
        .collect::<anyhow::Result<_>>()?;
    let mut out = Vec::new();
    if super::report::plain_format(args.format)? == Format::Json {
        match &answers[..] {
            [one] => serde_json::to_writer_pretty(&mut out, one)?,
            several => serde_json::to_writer_pretty(&mut out, several)?,
        }
        out.push(b'\n');
    } else {
        for (number, answer) in answers.iter().enumerate() {
            if number > 0 {
                out.push(b'\n');
            }
            let (run, recorded) = (&answer.summary.run.name, answer.summary.run.recorded);
            if args.critical_path {
                report::text::critical::write((run, recorded), &answer.critical_path, &mut out, &style())?;
                report::text::start_up::write(&answer.start_up, recorded, &mut out, &style())?;
            }
            match &answer.what_if {
                Some(found) => {
                    if args.critical_path {
                        out.push(b'\n');
                    }
                    report::text::what_if::write(found, &mut out, &style())?;
                }
                // Where the paths are shown, it stands there already.
                None if !args.what_if.is_empty() && !args.critical_path => {
                    out.extend_from_slice(report::text::critical::untraced(run, recorded).as_bytes());
                    out.push(b'\n');
                }
                None => {}
            }
        }
    }
    let is_coloured = args.format == ResultFormat::Text && style().colour;
    print_styled(&String::from_utf8(out)?, is_coloured)?;
    let left_out = |answer: &Answer| say_failures(&answer.summary);
    answers.iter().for_each(left_out);
    Ok(worst(answers.iter().map(|answer| &answer.summary)))
}

/// Reads a run; predicts where there are changes and a trace.
fn answer(path: &Path, lines: &[String]) -> anyhow::Result<Answer> {
    let reader = open(path)?;
    let members = Member::of_run(reader.manifest());
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    // Before the file is read to its end: most mistakes are here.
    let changes: Vec<Change> = lines
        .iter()
        .map(|line| parse(line, &names).map_err(|error| WrongUse(error.to_string())))
        .collect::<Result<_, _>>()?;
    let manifest = reader.manifest().clone();
    let (mut traced, mut first) = (Traced::default(), FirstFrames::new(manifest.tenants.len()));
    let mut stamps = StampCheck::new(&manifest);
    let summary = summarize(reader, path, |event| {
        if !stamps.passes(event) {
            return;
        }
        take(&mut traced, event);
        first.push(event);
    });
    traced.settle();
    if traced.left_out > 0 {
        say(&format!(
            "{}: {} activities are beyond what is kept in memory or of no known phase, and in no figure",
            path.display(),
            traced.left_out
        ));
    }
    let critical_path: Vec<CriticalPath> = traced
        .phases
        .iter()
        .map(|phase| critical(phase, &traced.names, &members))
        .collect();
    let what_if = match widest(&traced) {
        Some(phase) if !changes.is_empty() => {
            let untraced: Vec<Untraced> = summary
                .tenants
                .iter()
                .map(|tenant| Untraced {
                    response_ms: tenant.response_ms.p50,
                    service_ms: tenant.service_ms.p50,
                })
                .collect();
            let found = what_if(phase, &traced.names, &members, &changes, &untraced);
            Some(found.map_err(|error| WrongUse(error.to_string()))?)
        }
        _ => None,
    };
    Ok(Answer {
        summary,
        critical_path,
        start_up: first.finish(&manifest),
        what_if,
    })
}

/// The traced phase that is most like the measurement: that with most tenants.
fn widest(traced: &Traced) -> Option<&TracedPhase> {
    let phases = traced.phases.iter();
    phases.max_by_key(|phase| (phase.spec.phase == Phase::Together, phase.spec.members.len()))
}

fn take(traced: &mut Traced, event: &Event) {
    match event {
        Event::PhaseSpec(spec) => traced.spec(spec),
        Event::Frame(frame) => drop(traced.frame(frame)),
        Event::Definition(definition) => traced.definition(definition),
        Event::Activities(batch) => traced.activities(batch),
        Event::Trace(trace) => traced.trace(trace),
        _ => {}
    }
}
