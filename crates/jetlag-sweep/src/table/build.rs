//! Makes the table of a journal: a row for every run of the plan, made or not.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{Names, Row, State, Table};
use crate::figures::Column;
use crate::journal::{Header, Journal, RunEntry};
use crate::plan::{Point, Setting};
use crate::schedule::cut;

impl Table {
    /// The table of a sweep. Runs of points that the plan does not have any more are left out.
    pub fn of(header: &Header, points: &[Point], journal: &Journal) -> Table {
        let made: HashMap<(&str, u32), &RunEntry> = journal
            .runs
            .iter()
            .map(|run| ((run.point.as_str(), run.repeat), run))
            .collect();
        let names = names(journal);
        let ids: Vec<String> = points.iter().map(Point::id).collect();
        let repeats = 0..header.plan.repeats.max(1);
        let failed: HashSet<usize> = (0..points.len())
            .filter(|&point| {
                repeats.clone().any(|repeat| {
                    let id = ids.get(point).map_or("", String::as_str);
                    made.get(&(id, repeat)).is_some_and(|run| run.failed.is_some())
                })
            })
            .collect();
        let cut = cut(&header.plan, points, &failed);
        let mut rows = Vec::with_capacity(points.len() * repeats.len());
        for (number, (point, id)) in points.iter().zip(&ids).enumerate() {
            for repeat in repeats.clone() {
                let run = made.get(&(id.as_str(), repeat)).copied();
                let mut row = row(number + 1, repeat, &point.settings, run, &names);
                if let (State::Left, Some(after)) = (&row.state, cut.get(&number)) {
                    row.state = State::Skipped { after: after + 1 };
                }
                rows.push(row);
            }
        }
        Table::with(header, header.plan.paths(), rows)
    }

    /// The table of a search: a row for every run that was made, by value.
    pub fn of_search(header: &Header, path: &str, journal: &Journal) -> Table {
        let names = names(journal);
        let value = |run: &RunEntry| {
            let found = run.settings.iter().find(|setting| setting.path == path);
            found
                .and_then(|setting| setting.value.parse::<f64>().ok())
                .unwrap_or(f64::NAN)
        };
        let mut runs: Vec<&RunEntry> = journal.runs.iter().collect();
        runs.sort_by(|a, b| value(a).total_cmp(&value(b)).then(a.repeat.cmp(&b.repeat)));
        let (mut rows, mut number, mut last) = (Vec::new(), 0, None);
        for run in runs {
            if last != Some(&run.point) {
                number += 1;
                last = Some(&run.point);
            }
            rows.push(row(number, run.repeat, &run.settings, Some(run), &names));
        }
        Table::with(header, vec![path.to_owned()], rows)
    }

    fn with(header: &Header, axes: Vec<String>, rows: Vec<Row>) -> Table {
        let mut table = Table {
            base: header.base.clone(),
            base_hash: header.base_hash.clone(),
            jetlag: header.jetlag.clone(),
            axes,
            columns: columns(&rows),
            rows,
        };
        table.mark_moved_clocks();
        table.mark_changed_networks();
        table
    }

    /// A table of rows that were read elsewhere.
    pub(super) fn of_rows(axes: Vec<String>, columns: Vec<Column>, rows: Vec<Row>) -> Table {
        Table {
            axes,
            columns,
            rows,
            ..Table::default()
        }
    }
}

fn names(journal: &Journal) -> HashMap<u32, Arc<Names>> {
    let sets = journal.columns.iter();
    sets.map(|(id, columns)| (*id, Names::of(columns.clone())))
        .collect()
}

fn row(
    point: usize,
    repeat: u32,
    settings: &[Setting],
    run: Option<&RunEntry>,
    names: &HashMap<u32, Arc<Names>>,
) -> Row {
    let known = run.and_then(|run| names.get(&run.columns?)).cloned();
    Row {
        point,
        repeat: repeat + 1,
        settings: settings.to_vec(),
        state: match run {
            None => State::Left,
            Some(run) => run.failed.clone().map_or(State::Done, State::Failed),
        },
        seed: run.and_then(|run| run.seed),
        took_s: run.map(|run| run.took_s),
        file: run.and_then(|run| run.file.clone()),
        findings: run.map(|run| run.findings.clone()).unwrap_or_default(),
        networks: run
            .map(|run| {
                run.networks
                    .iter()
                    .map(|(tenant, hash)| format!("{tenant}={hash}"))
                    .collect()
            })
            .unwrap_or_default(),
        figures: match &known {
            Some(_) => run.map(|run| run.figures.clone()).unwrap_or_default(),
            None => Vec::new(),
        },
        names: known.unwrap_or_default(),
    }
}

/// Every column of a row, in the order of their first appearance.
fn columns(rows: &[Row]) -> Vec<Column> {
    let mut sets: Vec<&Arc<Names>> = Vec::new();
    for row in rows {
        if !sets.iter().any(|known| Arc::ptr_eq(known, &row.names)) {
            sets.push(&row.names);
        }
    }
    let (mut seen, mut columns) = (HashSet::new(), Vec::new());
    for column in sets.iter().flat_map(|names| names.columns.iter()) {
        if seen.insert(&column.name) {
            columns.push(column.clone());
        }
    }
    columns
}

/// Names and figures of a row that was read elsewhere.
pub(super) fn read_row(mut row: Row, names: &Arc<Names>, figures: Vec<crate::figures::Estimate>) -> Row {
    row.names = names.clone();
    row.figures = figures;
    row
}

/// An empty row of a point.
pub(super) fn empty_row(point: usize, settings: Vec<Setting>) -> Row {
    Row {
        settings,
        ..row(point, 0, &[], None, &HashMap::new())
    }
}
