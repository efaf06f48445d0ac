//! `jetlag traced-phases PARENT FILE`: the traced phases of a run, in a process of their own (`traced_phases` is the other end).
//!
//! It makes the tenants ready as a run does, and records its phases in a file that the run takes over. It is no verb for people,
//! and not in the help.

use anyhow::Context;

use super::gap::Gap;
use super::live::{self, Watching};
use super::outcome::{Outcome, WrongUse};
use super::phases::phases;
use super::processes::Processes;
use super::run::manifest;
use super::run_path::Reserved;
use super::signals::stop_on_signals;
use super::tenants;
use super::tracing::PhaseTracer;
use super::with_parent;
use crate::cli::TracedPhasesArgs;
use crate::scenario::{Scenario, Sharing};

/// The traced phases, as the run told them on standard input.
pub(super) fn run(args: &TracedPhasesArgs) -> anyhow::Result<Outcome> {
    if !with_parent::tie(args.parent)? {
        return Ok(Outcome::Done);
    }
    let scenario: Scenario = serde_json::from_reader(std::io::stdin().lock())
        .context("traced-phases is started by `jetlag run`, not by hand")?;
    let mut tracer = PhaseTracer::of_run(&scenario);
    let reserved = Reserved::asked(&args.file, "FILE", false)?;
    let untraceable = tracer.take_problem();
    let (ready, processes) = match (&untraceable, scenario.sharing) {
        (Some(_), _) => (tenants::All::default(), None),
        (None, Sharing::Processes) => (tenants::All::default(), Some(Processes::start(&scenario)?)),
        (None, _) => (tenants::all(&scenario).map_err(WrongUse::because)?, None),
    };
    let stop = stop_on_signals()?;
    let manifest = manifest(&scenario, &ready.tenants, processes.as_ref());
    let mut writer = reserved.record(&manifest)?;
    if let Some(problem) = untraceable {
        writer.finding(&Gap::NotTraced { problem }.into())?;
        writer.finish()?;
        return Ok(Outcome::Done);
    }
    let mut traced = phases(&scenario);
    traced.retain(|phase| phase.traced);
    live::run(
        &scenario,
        (&traced, live::After::Nothing(tracer)),
        ready,
        processes,
        writer,
        &stop,
        Watching::Quiet,
    )?;
    Ok(Outcome::Done)
}
