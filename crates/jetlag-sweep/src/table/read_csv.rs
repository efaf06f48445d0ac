//! Reads a table from CSV, ours or one that a spreadsheet wrote again. Every cell that is not what its column takes is told.

use jetlag_figure::Unit;
use jetlag_record::shown::text_of_cell;
use std::io::Read;

use jetlag_record::{Failure, FailureKind, FailureStage};

use super::build::{empty_row, read_row};
use super::{Names, Row, State, Table};
use crate::figures::{Column, Estimate};
use crate::plan::Setting;

/// Problems that are told; of the rest the number is.
const TOLD: usize = 10;

/// Rows that are read.
const MOST_ROWS: usize = 1_000_000;

/// What is wrong with a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// It is no CSV.
    #[error("line {line}: {problem}")]
    Csv {
        /// Line, from 1.
        line: u64,
        /// What the reader said.
        problem: String,
    },
    /// A column that every table of a sweep has is not there.
    #[error("there is no column {column}; is this a table of jetlag sweep?")]
    NoColumn {
        /// Its name.
        column: &'static str,
    },
    /// Cells that cannot be read.
    #[error("{}", .0.join("\n       "))]
    Cells(Vec<String>),
    /// Nothing below the heads.
    #[error("it has no row")]
    Empty,
    /// More than is read.
    #[error("it has more than {MOST_ROWS} rows")]
    TooLong,
}

/// Where a figure stands: its value, the ends of its interval, and what it is.
type FigureAt = (usize, Option<(usize, usize)>, Column);

/// How the columns of a file are used.
struct Layout {
    point: usize,
    state: usize,
    kind: Option<usize>,
    message: Option<usize>,
    repeat: Option<usize>,
    axes: Vec<(usize, String)>,
    figures: Vec<FigureAt>,
}

/// Reads a table. Columns between `repeat` and `state` are its axes, those after `findings` its figures.
///
/// # Errors
/// It is no table of a sweep; all cells that cannot be read are told at once.
pub fn read_csv(from: impl Read) -> Result<Table, TableError> {
    let mut reader = csv::ReaderBuilder::new().from_reader(from);
    let heads = reader.headers().map_err(|error| broken(&error))?.clone();
    let layout = layout(&heads.iter().collect::<Vec<_>>())?;
    let names = Names::of(
        layout
            .figures
            .iter()
            .map(|(_, _, column)| column.clone())
            .collect(),
    );
    let (mut rows, mut problems) = (Vec::new(), Vec::new());
    for record in reader.records() {
        let record = record.map_err(|error| broken(&error))?;
        if rows.len() >= MOST_ROWS {
            return Err(TableError::TooLong);
        }
        let line = record.position().map_or(0, csv::Position::line);
        let cell = |place: usize| text_of_cell(record.get(place).unwrap_or("").trim());
        let mut bad = |place: usize, wanted: &str| {
            problems.push(format!(
                "line {line}, column {}: `{}` is {wanted}",
                heads.get(place).unwrap_or("?"),
                cell(place)
            ));
        };
        let Ok(point) = cell(layout.point).parse::<usize>() else {
            bad(layout.point, "no number of a point");
            continue;
        };
        let settings = layout.axes.iter().filter(|(place, _)| !cell(*place).is_empty());
        let settings = settings
            .map(|(place, path)| Setting::new(path, cell(*place)))
            .collect();
        let mut row = empty_row(point, settings);
        row.repeat = layout
            .repeat
            .and_then(|place| cell(place).parse().ok())
            .unwrap_or(1);
        row.state = match cell(layout.state) {
            "done" => State::Done,
            "left" => State::Left,
            "skipped" => State::Skipped { after: 0 },
            "failed" => State::Failed(failure(
                layout.kind.map_or("", cell),
                layout.message.map_or("", cell),
            )),
            _ => {
                bad(layout.state, "none of done, failed, skipped, left");
                continue;
            }
        };
        let mut figures = Vec::with_capacity(layout.figures.len());
        for (place, ends, column) in &layout.figures {
            let value = number(cell(*place));
            let ends = ends.map(|(low, high)| (number(cell(low)), number(cell(high))));
            if value.is_err() || ends.is_some_and(|(low, high)| low.is_err() || high.is_err()) {
                bad(*place, "no number (an empty cell is a figure that is not known)");
            }
            if column.unit == Unit::Ms
                && is_time(column)
                && value.ok().flatten().is_some_and(|value| value < 0.0)
            {
                bad(*place, "a time below zero");
            }
            let ci95 = ends.and_then(|(low, high)| Some([low.ok()??, high.ok()??]));
            figures.push(Estimate {
                value: value.ok().flatten(),
                ci95,
            });
        }
        rows.push(read_row(row, &names, figures));
    }
    if !problems.is_empty() {
        let more = problems.len().saturating_sub(TOLD);
        problems.truncate(TOLD);
        if more > 0 {
            problems.push(format!("and {more} more"));
        }
        return Err(TableError::Cells(problems));
    }
    if rows.is_empty() {
        return Err(TableError::Empty);
    }
    rows.sort_by_key(|row: &Row| (row.point, row.repeat));
    let axes = layout.axes.into_iter().map(|(_, path)| path).collect();
    let columns = layout.figures.into_iter().map(|(_, _, column)| column).collect();
    Ok(Table::of_rows(axes, columns, rows))
}

/// A release may come early; everything else takes time.
fn is_time(column: &Column) -> bool {
    column.key().is_none_or(|key| key.is_from_zero())
}

fn broken(error: &csv::Error) -> TableError {
    TableError::Csv {
        line: error.position().map_or(0, csv::Position::line),
        problem: match error.kind() {
            csv::ErrorKind::UnequalLengths {
                expected_len, len, ..
            } => {
                format!("it has {len} cells, and the head has {expected_len}")
            }
            _ => error.to_string(),
        },
    }
}

fn number(text: &str) -> Result<Option<f64>, ()> {
    match text {
        "" => Ok(None),
        text => match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Some(value)),
            _ => Err(()),
        },
    }
}

fn failure(kind: &str, message: &str) -> Failure {
    let kind = serde_json::from_value(serde_json::Value::String(kind.to_owned()));
    Failure {
        stage: FailureStage::Unknown,
        kind: kind.unwrap_or(FailureKind::Other),
        tenant: None,
        message: message.to_owned(),
    }
}

fn layout(heads: &[&str]) -> Result<Layout, TableError> {
    let place = |name: &str| heads.iter().position(|head| head.trim() == name);
    let needed = |column: &'static str| place(column).ok_or(TableError::NoColumn { column });
    let (point, state, findings) = (needed("point")?, needed("state")?, needed("findings")?);
    let repeat = place("repeat");
    let first = repeat.unwrap_or(point) + 1;
    let axes = heads
        .iter()
        .enumerate()
        .skip(first)
        .take(state.saturating_sub(first));
    let axes = axes
        .map(|(place, head)| (place, text_of_cell(head.trim()).to_owned()))
        .collect();
    let mut figures = Vec::new();
    for (at, head) in heads.iter().enumerate().skip(findings + 1) {
        let head = head.trim();
        if head.ends_with(".low") || head.ends_with(".high") {
            continue;
        }
        let ends = place(&format!("{head}.low")).zip(place(&format!("{head}.high")));
        figures.push((at, ends, Column::of_head(head)));
    }
    Ok(Layout {
        point,
        state,
        kind: place("failed_kind"),
        message: place("failed_message"),
        repeat,
        axes,
        figures,
    })
}
