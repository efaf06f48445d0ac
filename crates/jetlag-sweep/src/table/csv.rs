//! The table's columns and cells, and the table as CSV (RFC 4180). What is not known is an empty cell.
//!
//! A figure is one column; where any run has its interval, its ends are two more, `….low` and `….high`.

use jetlag_record::shown;
use std::borrow::Cow;
use std::io::{self, Write};

use super::{Row, Table};
use crate::figures::Column;

/// What stands in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Text.
    Text,
    /// A whole number, never below zero.
    Count,
    /// A number.
    Real,
}

/// A value of the table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'t> {
    /// Not known.
    Nothing,
    /// Text.
    Text(Cow<'t, str>),
    /// A whole number.
    Count(u64),
    /// A number.
    Real(f64),
}

/// A column that every table has, beside axes and figures.
#[derive(Clone, Copy, Debug)]
pub struct FixedColumn {
    /// Its name.
    pub name: &'static str,
    /// What stands in it.
    pub kind: ValueKind,
}

const fn fixed(name: &'static str, kind: ValueKind) -> FixedColumn {
    FixedColumn { name, kind }
}

/// The one fixed column that a scenario's field is called like.
const SEED: &str = "seed";

/// Before the axes.
const FIRST: [FixedColumn; 2] = [
    fixed("point", ValueKind::Count),
    fixed("repeat", ValueKind::Count),
];

/// After the axes.
const THEN: [FixedColumn; 12] = [
    fixed("state", ValueKind::Text),
    fixed("failed_stage", ValueKind::Text),
    fixed("failed_kind", ValueKind::Text),
    fixed("failed_tenant", ValueKind::Text),
    fixed("failed_message", ValueKind::Text),
    fixed(SEED, ValueKind::Count),
    fixed("took_s", ValueKind::Real),
    fixed("file", ValueKind::Text),
    fixed("base", ValueKind::Text),
    fixed("base_hash", ValueKind::Text),
    fixed("networks", ValueKind::Text),
    fixed("findings", ValueKind::Text),
];

/// Whether an axis has the column's name, and so its values: `seed`.
fn is_an_axis(table: &Table, name: &str) -> bool {
    table.axes.iter().any(|axis| axis == name)
}

/// A figure's columns: whether it has an interval anywhere.
fn figures(table: &Table) -> Vec<(&Column, bool)> {
    let has = |column: &&Column| {
        table
            .rows
            .iter()
            .any(|row| row.figure(&column.name).ci95.is_some())
    };
    table
        .columns
        .iter()
        .map(|column| (column, has(&column)))
        .collect()
}

/// The columns' names and kinds, in order.
pub fn heads(table: &Table) -> Vec<(String, ValueKind)> {
    let mut all: Vec<(String, ValueKind)> = Vec::new();
    all.extend(FIRST.map(|column| (column.name.to_owned(), column.kind)));
    all.extend(table.axes.iter().map(|axis| (axis.clone(), ValueKind::Text)));
    let then = THEN.iter().filter(|column| !is_an_axis(table, column.name));
    all.extend(then.map(|column| (column.name.to_owned(), column.kind)));
    for (column, has_interval) in figures(table) {
        let head = column.head();
        if has_interval {
            let ends = ["low", "high"].map(|end| (format!("{head}.{end}"), ValueKind::Real));
            all.push((head, ValueKind::Real));
            all.extend(ends);
        } else {
            all.push((head, ValueKind::Real));
        }
    }
    all
}

/// The cells of each row, in the order of [`heads`].
pub fn cells(table: &Table) -> impl Iterator<Item = Vec<Cell<'_>>> {
    let figures = figures(table);
    table.rows.iter().map(move |row| row_cells(table, &figures, row))
}

fn row_cells<'t>(table: &'t Table, figures: &[(&Column, bool)], row: &'t Row) -> Vec<Cell<'t>> {
    let text = |text: &'t str| Cell::Text(Cow::Borrowed(text));
    let optional = |value: Option<&'t str>| value.map_or(Cell::Nothing, text);
    let real = |value: Option<f64>| value.map_or(Cell::Nothing, Cell::Real);
    let joined = |all: &[String]| match all.is_empty() {
        true => Cell::Nothing,
        false => Cell::Text(Cow::Owned(all.join(" "))),
    };
    let mut cells = vec![Cell::Count(row.point as u64), Cell::Count(u64::from(row.repeat))];
    cells.extend(table.axes.iter().map(|axis| optional(row.setting(axis))));
    let failure = row.state.failure();
    cells.push(text(row.state.word()));
    cells.push(optional(failure.map(|failure| failure.stage.word())));
    cells.push(optional(failure.map(|failure| failure.kind.word())));
    cells.push(optional(failure.and_then(|failure| failure.tenant.as_deref())));
    cells.push(match (&row.state, failure) {
        (super::State::Skipped { after }, _) => {
            Cell::Text(Cow::Owned(format!("after point {after}, which failed")))
        }
        (_, failure) => optional(failure.map(|failure| failure.message.as_str())),
    });
    if !is_an_axis(table, SEED) {
        cells.push(row.seed.map_or(Cell::Nothing, Cell::Count));
    }
    cells.push(real(row.took_s));
    cells.push(optional(row.file.as_deref()));
    cells.push(text(&table.base));
    cells.push(text(&table.base_hash));
    cells.push(joined(&row.networks));
    cells.push(joined(&row.findings));
    for (column, has_interval) in figures {
        let figure = row.figure(&column.name);
        cells.push(real(figure.value));
        if *has_interval {
            cells.push(real(figure.ci95.map(|[low, _]| low)));
            cells.push(real(figure.ci95.map(|[_, high]| high)));
        }
    }
    cells
}

/// Writes the table as CSV.
///
/// # Errors
/// It cannot be written.
pub fn write_csv(table: &Table, out: impl Write) -> io::Result<()> {
    let mut out = csv::Writer::from_writer(out);
    let names = heads(table);
    out.write_record(names.iter().map(|(name, _)| shown::cell(name).into_owned()))?;
    let mut record = csv::StringRecord::new();
    for cells in cells(table) {
        record.clear();
        for cell in &cells {
            match cell {
                Cell::Nothing => record.push_field(""),
                Cell::Text(text) => record.push_field(&shown::cell(text)),
                Cell::Count(count) => record.push_field(&count.to_string()),
                Cell::Real(value) => record.push_field(&value.to_string()),
            }
        }
        out.write_record(&record)?;
    }
    out.flush()
}
