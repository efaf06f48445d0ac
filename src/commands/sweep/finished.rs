//! What a finished sweep tells, from its folder or its table alone: the table itself, knees, Pareto fronts.

use std::path::{Path, PathBuf};

use crate::analysis::figures::Key;
use jetlag_sweep::knee::{Promise, of_table};
use jetlag_sweep::pareto::{metrics, standings};
use jetlag_sweep::table::read_csv;
use jetlag_sweep::{Column, MetricError, Table};

use super::folder::{Folder, JOURNAL, TABLE, damaged};
use super::promise;
use super::{is_table, shown};
use crate::cli::{SweepArgs, SweepFormat};
use crate::commands::outcome::{Outcome, WrongUse};
use crate::commands::output::say;
use crate::files;

/// Answers.
pub(super) fn answer(args: &SweepArgs) -> anyhow::Result<Outcome> {
    refuse_what_runs(args)?;
    let table = table(&args.target)?;
    if let Some(figures) = &args.pareto {
        let metrics = metrics(figures, &table).map_err(WrongUse::because)?;
        if metrics.is_empty() {
            let said = "--pareto names no figure; write it like --pareto response.p99,miss_rate";
            return Err(WrongUse(said.to_owned()).into());
        }
        let twice = metrics.iter().enumerate().find(|(place, metric)| {
            metrics
                .iter()
                .take(*place)
                .any(|before| before.name == metric.name)
        });
        if let Some((_, metric)) = twice {
            return Err(WrongUse(format!("--pareto names {} twice", metric.name)).into());
        }
        let points = table.points();
        if let Some(metric) = metrics
            .iter()
            .find(|metric| points.iter().all(|point| point.pooled(&metric.name).is_none()))
        {
            let metric = metric.name.clone();
            return Err(WrongUse::because(MetricError::NoValue { metric }).into());
        }
        let standings = standings(&points, &metrics);
        shown::pareto(&points, &metrics, &standings, args.format)?;
        return Ok(Outcome::Done);
    }
    if let Some(axis) = &args.knee {
        if let Some((path, range)) = axis.split_once(" in ") {
            return Err(WrongUse(format!(
                "--knee '{axis}': {} is a finished sweep, whose runs have their values; the range `{}` is for a search. Write --knee {}",
                args.target.display(),
                range.trim(),
                path.trim()
            ))
            .into());
        }
        return knees(&table, axis.trim(), args);
    }
    shown_table(&args.target, &table, args.format)?;
    Ok(Outcome::Done)
}

/// Prints the table of a sweep's folder.
pub(in crate::commands) fn show(folder: &Path, format: SweepFormat) -> anyhow::Result<()> {
    shown_table(folder, &table(folder)?, format)
}

fn shown_table(target: &Path, table: &Table, format: SweepFormat) -> anyhow::Result<()> {
    // Nothing is written here: the folder may be somebody else's.
    let written = match is_table(target) {
        true => None,
        false => is_written(target),
    };
    shown::table(table, format, written.as_deref())
}

/// The folder's table, where it was written after the journal's last line.
fn is_written(folder: &Path) -> Option<PathBuf> {
    let [journal, table] = [JOURNAL, TABLE].map(|name| folder.join(name));
    let changed = |path: &Path| path.metadata().ok()?.modified().ok();
    (changed(&table)? >= changed(&journal)?).then_some(table)
}

/// Options that only say how runs are made.
fn refuse_what_runs(args: &SweepArgs) -> Result<(), WrongUse> {
    let given = [
        ("--out", args.out.is_some()),
        ("--set", !args.sets.is_empty()),
        ("--step", args.step.is_some()),
        ("--repeats", args.repeats.is_some()),
        ("--limit", args.limit.is_some()),
        ("--extend", args.extend),
        ("--allow-commands", args.allow_commands),
        ("--yes", args.yes),
    ];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(WrongUse(format!(
            "{option} is for runs, and {} is a finished sweep, of which nothing is run; leave it out, or name the sweep file",
            args.target.display()
        ))),
    }
}

/// The table of a sweep's folder, or of a table's file.
pub(in crate::commands) fn table(target: &Path) -> anyhow::Result<Table> {
    if is_table(target) {
        let file = files::open_given(target)
            .map_err(|error| WrongUse(format!("cannot read {}: {error}", target.display())))?;
        let table = read_csv(std::io::BufReader::new(file))
            .map_err(|error| WrongUse(format!("{}: {error}", target.display())))?;
        return Ok(table);
    }
    let (header, journal) = Folder::read(target)?;
    if let Some(damaged) = damaged(target, &journal) {
        say(&format!(
            "{damaged}; their runs count as not made, and the line that began the sweep makes them again"
        ));
    }
    Ok(match &header.knee {
        Some(knee) => Table::of_search(&header, &knee.path, &journal),
        None => {
            let points = header.plan.points().map_err(WrongUse::because)?;
            Table::of(&header, &points, &journal)
        }
    })
}

/// Whether a value keeps a promise.
type Judge = Box<dyn Fn(f64) -> bool>;

fn knees(table: &Table, axis: &str, args: &SweepArgs) -> anyhow::Result<Outcome> {
    let keys: Vec<Key> = table.columns.iter().filter_map(Column::key).collect();
    let mut tenants: Vec<&str> = Vec::new();
    for tenant in keys.iter().filter_map(Key::tenant) {
        if !tenants.contains(&tenant) {
            tenants.push(tenant);
        }
    }
    let promises = promise::parse(&args.promises, &tenants)?;
    let judges: Vec<(String, Judge)> = promises
        .into_iter()
        .map(|promise| {
            let name = table.column(&promise.key().to_string())?.name;
            let judge: Judge = Box::new(move |value| promise.holds_for(value));
            Ok((name, judge))
        })
        .collect::<Result<_, MetricError>>()
        .map_err(WrongUse::because)?;
    let judges: Vec<(String, Promise<'_>)> = judges
        .iter()
        .map(|(name, judge)| (name.clone(), judge.as_ref() as Promise<'_>))
        .collect();
    let found = of_table(table, axis, &judges).map_err(WrongUse::because)?;
    shown::knees(axis, &args.promises, &found, args.format)?;
    Ok(Outcome::Done)
}
