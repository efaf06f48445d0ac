//! `jetlag run` and `jetlag demo`: from a scenario to a run file and its summary.
//!
//! The order is the design's: resolve and check everything; open engines and sources; open the run file;
//! measure jetlag's own cost; baselines; all tenants from one epoch; then the summary, computed from the
//! file by the same code as `jetlag report`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;

use super::check;
use super::counters;
use super::failures;
use super::gap::Gap;
use super::here;
use super::junit;
use super::opening;
use super::outcome::{Outcome, WrongUse};
use super::output::{print, say};
use super::phases::{announcement, phases};
use super::processes::Processes;
use super::programs;
use super::recorded_work;
use super::run_path::{Reserved, spare_files};
use super::signals::{Starting, stop_on_signals};
use super::single;
use super::tenants::{self, Ready};
use super::tracing::PhaseTracer;
use super::{live, report};
use crate::cli::{CeilingsOf, Format, RunOptions};
use crate::clock::{Clock, RealClock};
use crate::record::writer::RunWriter;
use crate::record::{
    Event, Manifest, POWER_MODE_CLOCKS_FACT, POWER_MODE_FACT, PROCESSES_FACT, Subject, TenantManifest,
};
use crate::scenario::{
    self, BackendChoice, ClockKind, Clocks, FEWER, LatencyModel, Matrix, Scenario, Shapes, Sharing,
};
use crate::shell;
use crate::telemetry::clocks;
use crate::tenant::simulate::{self, SimTenant};
use crate::units::{Nanos, Stamp};
use crate::{board, embedded};

/// Where the scenario comes from.
pub enum Origin {
    /// A scenario file; or a network, with the shapes of its dynamic inputs, or a detector spec.
    File(PathBuf, Option<Shapes>),
    /// The one in the binary.
    Demo,
}

impl Origin {
    /// What to call a run of it before it is read.
    fn name(&self) -> String {
        match self {
            Origin::File(path, _) => path.display().to_string(),
            Origin::Demo => "demo".to_owned(),
        }
    }
}

/// Runs a scenario: the command `jetlag run`.
pub fn run(origin: Origin, options: RunOptions) -> anyhow::Result<Outcome> {
    if let Some(file) = options
        .junit
        .as_deref()
        .filter(|_| !options.dry_run && !options.resolve_only && options.build_only.is_none())
    {
        if options.out.as_deref() == Some(file) || options.html.as_deref() == Some(file) {
            let said = format!(
                "{} is named for two outputs; give each a file of its own",
                file.display()
            );
            return Err(WrongUse(said).into());
        }
        junit::unfinished(file, &origin.name())?;
    }
    if options.out.is_some() && options.out == options.html {
        let said = "--out and --html name one file; give each a file of its own";
        return Err(WrongUse(said.to_owned()).into());
    }
    let mut scenario = resolve(&origin, &sets(&options))?;
    if options.matrix {
        ask_for_matrix(&mut scenario)?;
    }
    if options.trace {
        ask_for_trace(&mut scenario)?;
    }
    if let Some(counted) = &options.counted {
        scenario = counters::reduced(&scenario, counted)?;
    }
    if options.resolve_only {
        return shown(&scenario, Format::Json);
    }
    if let Some(tenant) = &options.build_only {
        return build_only(&scenario, tenant, options.failure.as_deref());
    }
    if options.dry_run {
        return dry_run(&scenario, &options);
    }
    scenario.allow_commands = programs::allowed(options.allow_commands);
    programs::refuse(&scenario, scenario.allow_commands)?;
    if let Origin::File(path, _) = &origin
        && !options.quiet
        && let Some(hint) = single::hint(path)
    {
        say(&hint);
    }
    for tenant in &scenario.tenants {
        if let Some(reason) = &tenant.backend_reason {
            log::info!("tenant {}: {reason}", tenant.name);
        }
        if !options.quiet
            && let Some(note) = opening::batch_note(tenant)
        {
            say(&format!("tenant {}: {note}", tenant.name));
        }
    }
    if let Some(page) = &options.html {
        spare_files(page, options.force)?;
    }
    let starting = Starting::begin()?;
    let reserved = starting.make(|| match &options.out {
        Some(path) => Reserved::asked(path, "--out", options.force),
        None => Reserved::named(&scenario.name),
    })?;
    let path = reserved.path().to_owned();
    // What measures knows nothing of a tracer: that costs the process that it is in.
    let measured = Scenario {
        trace: None,
        ..scenario.clone()
    };
    // Before plans are looked for or built, which are for the power mode in force.
    let mut held = hold_mode(&scenario)?;
    let (ready, processes) = match scenario.sharing {
        Sharing::Processes => (tenants::All::default(), Some(Processes::start(&measured)?)),
        _ => (all_ready(&measured, options.failure.as_deref())?, None),
    };
    // From here on a signal ends the run in good order.
    let stop = stop_on_signals()?;
    starting.runs(&stop);
    if held.is_none() {
        held = hold_clocks(&scenario)?;
    }
    let mut manifest = manifest(&scenario, &ready.tenants, processes.as_ref());
    let work = recorded_work::count(&scenario, &mut manifest);
    let mut writer = reserved.record(&manifest)?;
    for node in &work {
        writer.work(node)?;
    }
    for tenant in &manifest.tenants {
        if let Some(gap) = damaged(tenant) {
            writer.write(&Event::Finding(gap.into()))?;
        }
    }
    if let Some(text) = announcement(&scenario, &phases(&scenario)) {
        say(&text);
    }
    let ended = match scenario.clock {
        ClockKind::Virtual => simulated(&scenario, &ready.tenants, writer, &stop),
        ClockKind::Real => live::run(
            &measured,
            (
                &phases(&measured),
                match scenario.trace {
                    Some(_) => live::After::Trace(&scenario),
                    None => live::After::Nothing(PhaseTracer::default()),
                },
            ),
            ready,
            processes,
            writer,
            &stop,
            live::Watching::asked(&options),
        ),
    };
    give_back(held);
    if let Err(error) = ended {
        say(&format!(
            "the data recorded so far is kept: jetlag report {}",
            shell::path(&path)
        ));
        return Err(error);
    }
    let outcome = report::show(&path, options.format, options.junit.as_deref())?;
    if let Some(page) = &options.html {
        report::write_page(
            std::slice::from_ref(&path),
            page,
            options.force,
            None,
            &CeilingsOf::default(),
        )?;
    }
    Ok(if stop.load(Ordering::Relaxed) {
        Outcome::Interrupted
    } else {
        outcome
    })
}

/// What a tenant's recording lacked.
fn damaged(tenant: &TenantManifest) -> Option<Gap> {
    let losses = tenant.selection.as_ref()?.losses.clone();
    (!losses.is_empty()).then(|| Gap::DamagedSource {
        tenant: tenant.name.clone(),
        losses,
    })
}

/// `--build-only`: builds the plans that a tenant lacks, under the power mode in which it will run.
fn build_only(scenario: &Scenario, tenant: &str, told_in: Option<&Path>) -> anyhow::Result<Outcome> {
    // A signal ends it at once, and the power mode is given back.
    let _starting = Starting::begin()?;
    let held = hold_mode(scenario)?;
    let built = tenants::build(scenario, tenant);
    give_back(held);
    built.map_err(|found| told(found, told_in))?;
    Ok(Outcome::Done)
}

/// The overrides: `--set`, and what has an option of its own.
fn sets(options: &RunOptions) -> Vec<String> {
    let duration = options
        .duration
        .iter()
        .map(|duration| format!("duration={duration}"));
    options.sets.iter().cloned().chain(duration).collect()
}

/// `--dry-run`: checks all that can be checked without running, and shows the scenario as it would run.
fn dry_run(scenario: &Scenario, options: &RunOptions) -> anyhow::Result<Outcome> {
    let checked = check::scenario(scenario);
    if !options.quiet {
        for note in &checked.notes {
            say(&format!("note: {note}"));
        }
    }
    if !checked.problems.is_empty() {
        return Err(WrongUse(checked.problems.join("\n       ")).into());
    }
    shown(scenario, report::plain_format(options.format)?)
}

fn shown(scenario: &Scenario, format: Format) -> anyhow::Result<Outcome> {
    let shown = match format {
        Format::Json => {
            serde_json::to_string_pretty(scenario).context("cannot show the resolved scenario")? + "\n"
        }
        Format::Text => {
            let heading = format!(
                "{} as jetlag {} resolved it",
                scenario.name,
                env!("CARGO_PKG_VERSION")
            );
            scenario::ron(scenario, &heading)
        }
    };
    print(&shown)?;
    Ok(Outcome::Done)
}

fn all_ready(scenario: &Scenario, told_in: Option<&Path>) -> anyhow::Result<tenants::All> {
    tenants::all(scenario).map_err(|obstacles| told(obstacles, told_in))
}

/// What is in the way of a run, told to the process that started this one too.
fn told(obstacles: tenants::Obstacles, told_in: Option<&Path>) -> anyhow::Error {
    if let Some(file) = told_in
        && let Err(error) = failures::write(file, &obstacles.failures())
    {
        log::warn!("{}: {error}", file.display());
    }
    WrongUse::because(obstacles).into()
}

/// Holds the scenario's power mode, with its clocks, where it has one.
fn hold_mode(scenario: &Scenario) -> anyhow::Result<Option<clocks::Held>> {
    match scenario.power_mode {
        Some(_) => hold_clocks(scenario),
        None => Ok(None),
    }
}

/// Gives back clocks and power mode, and says where that fails.
fn give_back(held: Option<clocks::Held>) {
    if let Some(held) = held
        && let Err(error) = held.give_back()
    {
        say(&format!("{error}; try: sudo jetlag clocks restore"));
    }
}

/// Gives back what a killed run left of the clocks, and holds clocks and power mode as the scenario asks. They are given back when
/// this is dropped, whatever becomes of the run.
fn hold_clocks(scenario: &Scenario) -> anyhow::Result<Option<clocks::Held>> {
    let roots = board::Roots::system();
    match clocks::heal(&roots) {
        Ok(0) => {}
        Ok(changes) => log::warn!("restored {changes} clock settings of a run that was killed"),
        Err(error) => log::warn!("{error}"),
    }
    let highest = scenario.clocks == Clocks::Max;
    if scenario.clock == ClockKind::Virtual || !highest && scenario.power_mode.is_none() {
        return Ok(None);
    }
    let asked = match (&scenario.power_mode, highest) {
        (None, _) => "`clocks: Max`".to_owned(),
        (Some(mode), false) => format!("`power_mode: {mode}`"),
        (Some(mode), true) => format!("`power_mode: {mode}` with `clocks: Max`"),
    };
    let hold = || {
        let mode = scenario.power_mode.as_ref();
        let mode = mode.map(|wanted| clocks::mode(&roots, wanted)).transpose()?;
        clocks::hold(&roots, clocks::Wanted { mode, highest }, Some(std::process::id()))
    };
    let held = hold().with_context(|| format!("{asked} failed; nothing was started"))?;
    if let Some([before, now]) = &held.mode {
        say(&format!(
            "power mode {now} is set; {before} is set again when the run ends"
        ));
    }
    for unset in &held.unset {
        log::warn!("could not be set: {unset}");
    }
    log::info!("{} clock settings changed", held.changes);
    Ok(Some(held))
}

fn resolve(origin: &Origin, sets: &[String]) -> anyhow::Result<Scenario> {
    let env = here::env();
    let resolved = match origin {
        Origin::File(path, shapes) => match single::scenario_of(path, shapes.as_ref())? {
            Some(text) => scenario::from_str(&text, &path.display().to_string(), Path::new("."), sets, &env),
            None => scenario::load(path, sets, &env),
        },
        Origin::Demo => {
            let demo = embedded::demo_scenario().map_err(WrongUse::because)?;
            // The same scenario, with the detectors that the binary carries.
            let mut all: Vec<String> = embedded::detector_names()
                .map(|name| format!("tenants.{name}.detector=\"builtin:{name}\""))
                .collect();
            all.extend(sets.iter().cloned());
            scenario::from_str(demo, "demo", Path::new("."), &all, &env)
        }
    };
    Ok(resolved.map_err(|problems| WrongUse(problems.to_string()))?)
}

/// `--matrix`: as the scenario says, or under its own way of sharing where it says nothing.
fn ask_for_matrix(scenario: &mut Scenario) -> anyhow::Result<()> {
    if scenario.tenants.len() < 2 {
        return Err(WrongUse(format!(
            "--matrix runs every pair of tenants, but {} has {}; leave it out, or add a tenant",
            scenario.name,
            match scenario.tenants.len() {
                0 => "none",
                _ => "one",
            }
        ))
        .into());
    }
    let own = scenario.sharing;
    let matrix = scenario.matrix.get_or_insert_with(|| Matrix::of(vec![own]));
    if let Some(why) = matrix.too_large(&scenario.tenants) {
        return Err(WrongUse(format!("--matrix runs every pair of tenants: {why}; {FEWER}")).into());
    }
    Ok(())
}

/// `--trace`: as the scenario says, or as is usual where it says nothing.
fn ask_for_trace(scenario: &mut Scenario) -> anyhow::Result<()> {
    if scenario.clock == ClockKind::Virtual {
        let problem =
            "--trace needs a GPU, and under `clock: Virtual` none runs; leave it out, or use `clock: Real`";
        return Err(WrongUse(problem.to_owned()).into());
    }
    scenario.trace.get_or_insert_default();
    Ok(())
}

pub(super) fn manifest(scenario: &Scenario, tenants: &[Ready], processes: Option<&Processes>) -> Manifest {
    let (anchor, anchor_unix_ns) = match scenario.clock {
        ClockKind::Virtual => (Stamp(0), 0),
        ClockKind::Real => {
            let unix = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |d| d.as_nanos());
            (RealClock.now(), unix as i64)
        }
    };
    let mut machine = board::facts(&board::Roots::system());
    let of_gpus = tenants::gpu_facts(scenario, processes.is_some());
    machine.extend(of_gpus.into_iter().map(|(name, fact)| (name.to_owned(), fact)));
    if scenario.clock == ClockKind::Real
        && let Some(mode) = clocks::mode_in_force(&board::Roots::system())
    {
        machine.insert(POWER_MODE_FACT.to_owned(), mode);
        if let Some(clocks) = clocks::clocks_of_mode_in_force(&board::Roots::system()) {
            machine.insert(POWER_MODE_CLOCKS_FACT.to_owned(), clocks.to_string());
        }
    }
    if let Some(how) = processes.and_then(Processes::shared_how) {
        machine.insert(PROCESSES_FACT.to_owned(), how);
    }
    let subject = Subject::from(scenario.clone());
    Manifest {
        schema_major: crate::record::SCHEMA_MAJOR,
        schema_minor: crate::record::SCHEMA_MINOR,
        jetlag_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: board::command_line(),
        subject,
        tenants: match processes {
            Some(processes) => processes.manifests().to_vec(),
            None => tenants.iter().map(|ready| ready.manifest.clone()).collect(),
        },
        machine,
        anchor,
        anchor_unix_ns,
        unknown: Vec::new(),
    }
}

/// All phases under the virtual clock: no threads, no waiting.
fn simulated(
    scenario: &Scenario,
    tenants: &[Ready],
    mut writer: RunWriter,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let tenants: Vec<SimTenant> = scenario
        .tenants
        .iter()
        .zip(tenants)
        .enumerate()
        .map(|(number, (tenant, ready))| {
            let source = ready.runner.source.as_ref();
            let model = match &tenant.backend {
                BackendChoice::Sim(model) => model.clone(),
                // What returns at once takes the least time that moves the clock.
                BackendChoice::Null => LatencyModel::Fixed { latency: Nanos(1) },
                BackendChoice::Cpu { .. }
                | BackendChoice::TensorRt { .. }
                | BackendChoice::OnnxRuntime { .. }
                | BackendChoice::Stress(_) => {
                    anyhow::bail!(
                        "tenant {}: its backend cannot run under the virtual clock; use Sim or `clock: Real`",
                        tenant.name
                    )
                }
            };
            Ok(SimTenant {
                tenant: number as u16,
                model,
                arrival: tenant.arrival,
                overload: tenant.overload,
                deadline: tenant.deadline,
                depth: tenant.depth,
                batch: tenant.batch,
                frames: tenant.frames,
                seed: tenants::seed(scenario, number),
                timeline: source.timeline().cloned(),
                length: source.info().frames,
            })
        })
        .collect::<anyhow::Result<_>>()?;
    if scenario.baseline.idle.is_some() {
        writer.finding(&Gap::NoIdlePower.into())?;
    }
    let mut epoch = Stamp(0);
    for phase in phases(scenario) {
        if phase.round.is_some() && stop.load(Ordering::Relaxed) {
            continue;
        }
        let plan = phase.plan(epoch);
        writer.phase_spec(&phase.spec(epoch))?;
        let members: Vec<SimTenant> = phase
            .members
            .iter()
            .filter_map(|&n| {
                let arrival = phase.arrival(scenario, n);
                let tenant = tenants.get(n)?.clone();
                Some(SimTenant { arrival, ..tenant })
            })
            .collect();
        let mut outcome = Ok(());
        let ends = simulate::run(&members, scenario.sim_contention, plan, stop, |record| {
            if outcome.is_ok() {
                outcome = writer.frame(record).and_then(|()| writer.tick(record.finished));
            }
        });
        outcome?;
        for end in &ends {
            writer.phase(end)?;
        }
        epoch = plan.end + Nanos::from_secs(1);
    }
    writer.finish()?;
    Ok(())
}
