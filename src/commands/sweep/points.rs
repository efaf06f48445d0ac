//! `jetlag sweep SWEEP.ron -o DIR`: all points of a plan, in its order, each as often as it says.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use jetlag_sweep::{Eta, Plan, Point, Rest, Seen, Table, cut, schedule};

use super::asked::{Asked, load};
use super::cool::Cooler;
use super::folder::{Folder, JOURNAL, write_table};
use super::plans::{Built, Plans};
use super::runner::Runner;
use super::watched::Files;
use super::{out, shown};
use crate::cli::SweepArgs;
use crate::commands::here;
use crate::commands::outcome::Outcome;
use crate::commands::output::say;
use crate::commands::programs;
use crate::commands::signals::stop_on_signals;

pub(super) fn run(args: &SweepArgs) -> anyhow::Result<Outcome> {
    let folder = out(args)?;
    let sweep = load(&args.target)?;
    let limit = args.limit.as_deref();
    let allow_commands = programs::allowed(args.allow_commands);
    let asked = Asked::read(sweep, &args.sets, limit, &here::env(), &mut |scenario| {
        Ok(programs::refuse(scenario, allow_commands)?)
    })?;
    // A folder in which it was begun was asked for already.
    if !args.yes && !folder.join(JOURNAL).exists() {
        asked.ask()?;
    }
    let Asked {
        sweep,
        points,
        base,
        scenario,
        stated_s,
        header,
        limit,
    } = asked;
    let files = Files::of(&sweep.files, &header.files);
    let folder = Folder::open(folder, &header, &points, args.extend)?;
    let runner = Runner {
        folder,
        scenario: sweep.base.clone(),
        files,
        plans: Plans::new(&base),
        base,
        seed: scenario.seed,
        limit: limit.map(|limit| Duration::from_nanos(u64::try_from(limit.0).unwrap_or(u64::MAX))),
        cooler: Cooler::new(sweep.cool_down, !args.quiet),
        stop: stop_on_signals()?,
        says: !args.quiet,
        allow_commands,
        promises: Vec::new(),
    };
    let (path, interrupted) = all(runner, &sweep.plan, &points, &stated_s, args.quiet)?;
    let (header, journal) = Folder::read(&path)?;
    let table = Table::of(&header, &points, &journal);
    let written = write_table(&path, &table)?;
    shown::table(&table, args.format, Some(&written))?;
    if interrupted {
        say("interrupted; the same line goes on where this ended");
        return Ok(Outcome::Interrupted);
    }
    Ok(Outcome::Done)
}

/// What is finished, and what must not be run.
struct Progress {
    done: HashSet<(String, u32)>,
    failed: HashSet<usize>,
    cut: HashMap<usize, usize>,
    took: Vec<Seen>,
}

/// Runs what is not finished; the folder, and whether it was interrupted.
fn all(
    mut runner: Runner,
    plan: &Plan,
    points: &[Point],
    stated_s: &[f64],
    quiet: bool,
) -> anyhow::Result<(std::path::PathBuf, bool)> {
    let ids: Vec<String> = points.iter().map(Point::id).collect();
    let places: HashMap<&str, usize> = ids
        .iter()
        .enumerate()
        .map(|(place, id)| (id.as_str(), place))
        .collect();
    let stated = |point: usize| stated_s.get(point).copied().unwrap_or(0.0);
    let begun = std::mem::take(&mut runner.folder.begun);
    let mut progress = Progress {
        done: begun
            .runs
            .iter()
            .map(|run| (run.point.clone(), run.repeat))
            .collect(),
        failed: begun
            .runs
            .iter()
            .filter(|run| run.failed.is_some())
            .filter_map(|run| places.get(run.point.as_str()).copied())
            .collect(),
        cut: HashMap::new(),
        took: begun
            .runs
            .iter()
            .map(|run| Seen {
                took_s: run.took_s,
                stated_s: places.get(run.point.as_str()).map_or(0.0, |&place| stated(place)),
            })
            .collect(),
    };
    progress.cut = cut(plan, points, &progress.failed);
    let order = schedule(plan, points);
    let total = order.len();
    let is_done = |progress: &Progress, run: &jetlag_sweep::Run| {
        ids.get(run.point)
            .is_some_and(|id| progress.done.contains(&(id.clone(), run.repeat)))
    };
    let mut left = Rest::default();
    for run in order.iter().filter(|run| !is_done(&progress, run)) {
        left.add(stated(run.point));
    }
    let made = total.saturating_sub(left.runs as usize);
    if made > 0 && !quiet {
        say(&format!("going on: {made} of {total} runs are finished"));
    }
    let mut met = HashSet::new();
    let wanted = order
        .iter()
        .filter(|run| !is_done(&progress, run) && !progress.cut.contains_key(&run.point))
        .filter(|run| met.insert(run.point))
        .filter_map(|run| points.get(run.point));
    if !built(&mut runner, wanted, quiet)? {
        return Ok((runner.folder.path().to_owned(), true));
    }
    for (number, run) in order.iter().enumerate() {
        if runner.stop.load(Ordering::Relaxed) {
            return Ok((runner.folder.path().to_owned(), true));
        }
        let (Some(point), Some(id)) = (points.get(run.point), ids.get(run.point)) else {
            continue;
        };
        if is_done(&progress, run) {
            continue;
        }
        if progress.cut.contains_key(&run.point) {
            left.take(stated(run.point));
            continue;
        }
        if !quiet {
            let eta = Eta::of(left, &progress.took);
            say(&format!(
                "run {} of {total}: {}; left: {}",
                number + 1,
                point.shown(),
                eta.shown()
            ));
        }
        let Some(finished) = runner.one(&point.settings, id, run.repeat)? else {
            return Ok((runner.folder.path().to_owned(), true));
        };
        left.take(stated(run.point));
        progress.took.push(Seen {
            took_s: finished.entry.took_s,
            stated_s: stated(run.point),
        });
        progress.done.insert((id.clone(), run.repeat));
        if let Some(failure) = &finished.entry.failed {
            if !quiet {
                say(&format!(
                    "point {} failed: {failure}: {}",
                    run.point + 1,
                    failure.message
                ));
            }
            progress.failed.insert(run.point);
            progress.cut = cut(plan, points, &progress.failed);
        }
    }
    Ok((runner.folder.path().to_owned(), false))
}

/// Builds the plans of all these points, each once; whether it came to its end.
fn built<'p>(
    runner: &mut Runner,
    points: impl Iterator<Item = &'p Point>,
    quiet: bool,
) -> anyhow::Result<bool> {
    let settings = points.map(|point| point.settings.as_slice());
    let first = runner
        .plans
        .first(&runner.scenario, &runner.base, settings, &runner.stop);
    let Some(first) = first else {
        return Ok(false);
    };
    for (number, settings) in first.iter().enumerate() {
        if !quiet {
            let shown: Vec<String> = settings.iter().map(ToString::to_string).collect();
            say(&format!(
                "building plans {} of {}: {}",
                number + 1,
                first.len(),
                shown.join(" ")
            ));
        }
        if let Built::Interrupted = runner.ready(settings)? {
            return Ok(false);
        }
    }
    Ok(true)
}
