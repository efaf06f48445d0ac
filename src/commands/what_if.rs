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
use super::output::{print_styled, say, style};
use super::report::{detailed, open, say_failures, summarize, worst};
use crate::analysis::Summary;
use crate::analysis::critical::{Member, critical};
use crate::analysis::stamps::StampCheck;
use crate::analysis::start_up::FirstFrames;
use crate::analysis::summary::critical::CriticalPath;
use crate::analysis::summary::start_up::TenantStart;
use crate::analysis::summary::what_if::{PredictedTenant, WhatIf};
use crate::analysis::traced::{Traced, TracedPhase};
use crate::analysis::what_if::{Change, Untraced, parse, pool, what_if};
use crate::cli::{ReportArgs, ResultFormat};
use crate::record::{Event, Outcome as FrameOutcome, Phase};
use crate::report::details::traced::Told;

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
    let beside = args.untraced.as_deref().map(Beside::read).transpose()?;
    let mut answers: Vec<Answer> = args
        .runs
        .iter()
        .map(|run| answer(run, &args.what_if, beside.as_ref()))
        .collect::<anyhow::Result<_>>()?;
    let mut predictions: Vec<&mut WhatIf> = answers
        .iter_mut()
        .filter_map(|answer| answer.what_if.as_mut())
        .collect();
    pool(&mut predictions);
    let style = style();
    let text = match detailed(args.format, &style)? {
        None => match &answers[..] {
            [one] => serde_json::to_string_pretty(one)? + "\n",
            several => serde_json::to_string_pretty(several)? + "\n",
        },
        Some(form) => {
            let each = answers.iter().map(|answer| told(answer, args).text(form));
            let each: Vec<String> = each.collect();
            each.join("\n")
        }
    };
    print_styled(&text, args.format == ResultFormat::Text && style.colour)?;
    let left_out = |answer: &Answer| say_failures(&answer.summary);
    answers.iter().for_each(left_out);
    Ok(worst(answers.iter().map(|answer| &answer.summary)))
}

/// What was asked for of a run.
fn told<'a>(answer: &'a Answer, args: &ReportArgs) -> Told<'a> {
    let paths = (&answer.critical_path[..], &answer.start_up[..]);
    Told {
        run: (&answer.summary.run.name, answer.summary.run.recorded),
        paths: args.critical_path.then_some(paths),
        what_if: (!args.what_if.is_empty()).then_some(answer.what_if.as_ref()),
    }
}

/// The frames of another run that were not traced.
struct Beside {
    file: String,
    /// By the tenants' names.
    tenants: Vec<(String, Untraced)>,
}

impl Beside {
    fn read(path: &Path) -> anyhow::Result<Beside> {
        let reader = open(path)?;
        let names: Vec<String> = reader
            .manifest()
            .tenants
            .iter()
            .map(|tenant| tenant.name.clone())
            .collect();
        let mut gathered = Gathered::new(names.len());
        for event in reader {
            gathered.push(&event?);
        }
        let Some(untraced) = gathered.finish() else {
            return Err(WrongUse(format!(
                "{}: its frames were traced themselves; record untraced ones with `jetlag trace --no-gpu -o FILE -- COMMAND`",
                path.display()
            ))
            .into());
        };
        Ok(Beside {
            file: path.display().to_string(),
            tenants: names
                .into_iter()
                .zip(untraced.into_iter().map(Untraced::of_another_run))
                .collect(),
        })
    }

    /// In the order of these tenants. Of one tenant each, the names do not matter: they are of processes.
    fn of(&self, names: &[&str]) -> anyhow::Result<Vec<Untraced>> {
        if let ([_], [(_, only)]) = (names, &self.tenants[..]) {
            return Ok(vec![only.clone()]);
        }
        let of = |name: &&str| self.tenants.iter().find(|(known, _)| known == name);
        if names.iter().all(|name| of(name).is_none()) {
            let known: Vec<&str> = self.tenants.iter().map(|(name, _)| name.as_str()).collect();
            return Err(WrongUse(format!(
                "{}: has none of the tenants {}; it has {}",
                self.file,
                names.join(", "),
                known.join(", ")
            ))
            .into());
        }
        let found = names.iter().map(of);
        Ok(found
            .map(|known| known.map_or_else(Untraced::default, |(_, frames)| frames.clone()))
            .collect())
    }
}

/// The measured frames of a run, as its events come.
struct Gathered {
    untraced: Vec<Untraced>,
    is_traced: bool,
}

impl Gathered {
    fn new(tenants: usize) -> Gathered {
        Gathered {
            untraced: vec![Untraced::default(); tenants],
            is_traced: false,
        }
    }

    fn push(&mut self, event: &Event) {
        match event {
            Event::PhaseSpec(spec) if spec.traced && spec.phase == Phase::Together => self.is_traced = true,
            Event::Frame(frame)
                if frame.phase == Phase::Together
                    && !frame.warmup
                    && frame.outcome == FrameOutcome::Completed =>
            {
                if let Some(own) = self.untraced.get_mut(usize::from(frame.tenant)) {
                    own.push(frame);
                }
            }
            _ => {}
        }
    }

    /// None where the measurement itself was traced.
    fn finish(self) -> Option<Vec<Untraced>> {
        (!self.is_traced).then_some(self.untraced)
    }
}

/// Reads a run; predicts where there are changes and a trace.
fn answer(path: &Path, lines: &[String], beside: Option<&Beside>) -> anyhow::Result<Answer> {
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
    let mut gathered = Gathered::new(manifest.tenants.len());
    let mut stamps = StampCheck::new(&manifest);
    let summary = summarize(reader, path, |event| {
        if !stamps.passes(event) {
            return;
        }
        take(&mut traced, event);
        first.push(event);
        gathered.push(event);
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
            let (untraced, of) = match (beside, gathered.finish()) {
                (Some(beside), _) => (beside.of(&names)?, Some(beside.file.clone())),
                (None, Some(own)) => (own, Some("this run".to_owned())),
                (None, None) => (Vec::new(), None),
            };
            let found = what_if(phase, &traced.names, &members, &changes, &untraced);
            let mut found = found.map_err(|error| WrongUse(error.to_string()))?;
            let is_known = |tenant: &PredictedTenant| tenant.service.untraced_ms.is_some();
            found.untraced = of.filter(|_| found.tenants.iter().any(is_known));
            Some(found)
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
