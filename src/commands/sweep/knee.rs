//! `jetlag sweep BASE.ron --knee 'PATH in LOW..HIGH' --while …`: the highest value for which a promise holds.

use std::sync::atomic::Ordering;
use std::time::Duration;

use jetlag_sweep::journal::{FORMAT, Header, KneeHeader, RunEntry};
use jetlag_sweep::knee::{Knee, Promise, Search, Step, Told};
use jetlag_sweep::{Column, Estimate, Plan, Point, Setting, Table};

use super::checked::{self, Base};
use super::cool::Cooler;
use super::folder::{Folder, write_table};
use super::plans::Plans;
use super::promise::{self, Range};
use super::runner::{self, Runner};
use super::watched::Files;
use super::{limit, out, shown};
use crate::cli::SweepArgs;
use crate::commands::here;
use crate::commands::outcome::{Outcome, WrongUse};
use crate::commands::output::say;
use crate::commands::programs;
use crate::commands::signals::stop_on_signals;
use crate::sweep::CoolDown;
use crate::units::Nanos;

/// Runs of a value close to the knee.
const REPEATS: u32 = 5;
/// Runs of the shortest search.
const FEWEST_RUNS: u32 = 12;

pub(super) fn run(args: &SweepArgs, range: &str) -> anyhow::Result<Outcome> {
    let folder = out(args)?;
    let range = Range::parse(range, args.step)?;
    let base = Base::read(&args.target, &args.sets)?;
    let allow_commands = programs::allowed(args.allow_commands);
    let ends = [range.values.first(), range.values.last()].into_iter().flatten();
    let ends: Vec<Point> = ends.map(|value| point(&range.path, *value)).collect();
    let scenario = checked::points(&args.target, &base, &ends, &here::env(), &mut |scenario| {
        Ok(programs::refuse(scenario, allow_commands)?)
    })?;
    let tenants: Vec<&str> = scenario
        .tenants
        .iter()
        .map(|tenant| tenant.name.as_str())
        .collect();
    let promises = promise::parse(&args.promises, &tenants)?;
    let repeats = args.repeats.unwrap_or(REPEATS);
    if repeats == 0 {
        return Err(WrongUse("--repeats must be at least 1".to_owned()).into());
    }
    let limit = limit(args.limit.as_deref(), None)?;
    // Half of a grid with the same step.
    let most_runs = u32::try_from(range.values.len() / 2)
        .unwrap_or(u32::MAX)
        .max(FEWEST_RUNS);
    let header = Header {
        format: FORMAT,
        jetlag: env!("CARGO_PKG_VERSION").to_owned(),
        base: args.target.display().to_string(),
        base_hash: base.hash.clone(),
        plan: Plan::default(),
        files: Default::default(),
        limit_s: limit.map(Nanos::as_secs_f64),
        knee: Some(KneeHeader {
            path: range.path.clone(),
            values: range.values.clone(),
            promises: args.promises.clone(),
            repeats,
            most_runs,
        }),
    };
    let folder = Folder::open(folder, &header, &[], args.extend)?;
    let mut runner = Runner {
        folder,
        scenario: args.target.clone(),
        files: Files::default(),
        plans: Plans::new(&base),
        base,
        seed: scenario.seed,
        limit: limit.map(|limit| Duration::from_nanos(u64::try_from(limit.0).unwrap_or(u64::MAX))),
        cooler: Cooler::new(CoolDown::default(), !args.quiet),
        stop: stop_on_signals()?,
        says: !args.quiet,
        allow_commands,
        promises: promises.clone(),
    };
    let judges: Vec<Box<dyn Fn(f64) -> bool>> = promises
        .into_iter()
        .map(|promise| Box::new(move |value| promise.holds_for(value)) as Box<dyn Fn(f64) -> bool>)
        .collect();
    let judges: Vec<Promise<'_>> = judges.iter().map(|judge| judge.as_ref() as Promise<'_>).collect();
    let mut search = Search::new(&range.values, judges, repeats, most_runs);
    let found = search_on(&mut search, &mut runner, &range, args)?;
    let path = runner.folder.path().to_owned();
    drop(runner);
    let Some((knee, undecided)) = found else {
        say("interrupted; the same line goes on where this ended");
        return Ok(Outcome::Interrupted);
    };
    let (header, journal) = Folder::read(&path)?;
    let table = Table::of_search(&header, &range.path, &journal);
    write_table(&path, &table)?;
    if !knee.unknown.is_empty()
        && let Some(why) = undecided
    {
        say(&why);
    }
    let [low, high] = [range.values.first(), range.values.last()].map(|end| end.copied().unwrap_or(0.0));
    shown::knee(
        &range.path,
        &args.promises,
        [low, high],
        range.step,
        &knee,
        &table,
        args.format,
    )?;
    Ok(Outcome::Done)
}

/// Runs until the search has its answer; none where it was interrupted. With the answer comes why a promise could not be decided.
fn search_on(
    search: &mut Search<'_>,
    runner: &mut Runner,
    range: &Range,
    args: &SweepArgs,
) -> anyhow::Result<Option<(Knee, Option<String>)>> {
    let begun = std::mem::take(&mut runner.folder.begun);
    let mut undecided = None;
    loop {
        let probe = match search.step() {
            Step::Done(knee) => return Ok(Some((knee, undecided))),
            Step::Run(probe) => probe,
        };
        let Some(value) = range.values.get(probe.place) else {
            anyhow::bail!("the search asked for a value that is not in its range");
        };
        let point = point(&range.path, *value);
        let id = point.id();
        let known = begun
            .runs
            .iter()
            .find(|run| run.point == id && run.repeat == probe.repeat);
        if let Some(run) = known {
            let columns = run.columns.and_then(|columns| begun.columns.get(&columns));
            let told = told(run, columns.map_or(&[], |columns| columns), args.promises.len());
            search.tell(probe, told);
            continue;
        }
        if runner.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if !args.quiet {
            let again = match probe.repeat {
                0 => String::new(),
                again => format!(", once more ({})", again + 1),
            };
            say(&format!(
                "run {}: {} = {value}{again}",
                search.runs() + 1,
                range.path
            ));
        }
        let Some(finished) = runner.one(&point.settings, &id, probe.repeat)? else {
            return Ok(None);
        };
        undecided = finished.undecided.or(undecided);
        let run = &finished.entry;
        let columns = runner
            .folder
            .journal
            .sets()
            .find(|(set, _)| Some(*set) == run.columns);
        let told = told(
            run,
            columns.map_or(&[], |(_, columns)| columns),
            args.promises.len(),
        );
        search.tell(probe, told);
    }
}

fn point(path: &str, value: f64) -> Point {
    Point {
        settings: vec![Setting::new(path, value.to_string())],
        places: Vec::new(),
    }
}

fn told(run: &RunEntry, columns: &[Column], promises: usize) -> Told {
    let figure = |number: usize| -> Estimate {
        let name = runner::promise(number);
        let place = columns.iter().position(|column| column.name == name);
        place
            .and_then(|place| run.figures.get(place))
            .copied()
            .unwrap_or_default()
    };
    Told {
        figures: (1..=promises).map(figure).collect(),
        failed: run.failed.is_some(),
    }
}
