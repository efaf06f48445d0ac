//! All runs of a sweep as one table: axes, state, how a run failed, and every figure with its interval.

mod build;
mod clocks;
mod csv;
mod json;
mod networks;
#[cfg(feature = "parquet")]
mod parquet;
mod point;
mod read_csv;

use std::collections::HashMap;
use std::sync::Arc;

use jetlag_record::Failure;
use jetlag_record::nearest::nearest;

use super::error::MetricError;
use jetlag_report::analysis::figures::Key;

use super::figures::{Column, Estimate};
use super::plan::Setting;
pub use csv::{Cell, FixedColumn, ValueKind, cells, heads, write_csv};
pub use json::write_json;
#[cfg(feature = "parquet")]
pub use parquet::write_parquet;
pub use point::PointFigures;
pub use read_csv::{TableError, read_csv};

/// What became of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It has figures.
    Done,
    /// It failed, and this is how.
    Failed(Failure),
    /// It was left out, since a point before it on an axis that stops there failed; that point's number.
    Skipped {
        /// Number of the point that failed, from 1.
        after: usize,
    },
    /// It was not made yet.
    Left,
}

impl State {
    /// As tables have it.
    pub fn word(&self) -> &'static str {
        match self {
            State::Done => "done",
            State::Failed(_) => "failed",
            State::Skipped { .. } => "skipped",
            State::Left => "left",
        }
    }

    /// How it failed, if it did.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            State::Failed(failure) => Some(failure),
            _ => None,
        }
    }
}

/// Names of figures that rows share, and where each is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    columns: Arc<[Column]>,
    places: HashMap<String, usize>,
}

impl Names {
    /// Of these columns.
    pub fn of(columns: Arc<[Column]>) -> Arc<Names> {
        let places = columns.iter().enumerate();
        Arc::new(Names {
            places: places
                .map(|(place, column)| (column.name.clone(), place))
                .collect(),
            columns,
        })
    }
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Number of its point, from 1.
    pub point: usize,
    /// Which of the point's runs, from 1.
    pub repeat: u32,
    /// What the point sets.
    pub settings: Vec<Setting>,
    /// What became of it.
    pub state: State,
    /// What it was run with.
    pub seed: Option<u64>,
    /// How long it took, in seconds.
    pub took_s: Option<f64>,
    /// The run file, relative to the folder.
    pub file: Option<String>,
    /// Codes of what limits its figures.
    pub findings: Vec<String>,
    /// Hashes of networks, `tenant=hash`.
    pub networks: Vec<String>,
    names: Arc<Names>,
    figures: Vec<Estimate>,
}

impl Row {
    /// A figure by its full name; without a value where the run does not have it.
    pub fn figure(&self, name: &str) -> Estimate {
        let place = self.names.places.get(name);
        place
            .and_then(|&place| self.figures.get(place))
            .copied()
            .unwrap_or_default()
    }

    /// The value that it sets at a path.
    pub fn setting(&self, path: &str) -> Option<&str> {
        let found = self.settings.iter().find(|setting| setting.path == path);
        found.map(|setting| setting.value.as_str())
    }
}

/// All runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The base as it was named.
    pub base: String,
    /// Hash of the base's text.
    pub base_hash: String,
    /// Version of jetlag that began it.
    pub jetlag: String,
    /// The paths that are set.
    pub axes: Vec<String>,
    /// Every figure that a run has.
    pub columns: Vec<Column>,
    /// The runs, by point and repeat.
    pub rows: Vec<Row>,
}

/// How many names a message has.
const NAMED: usize = 12;

impl Table {
    /// The figure that a word names: in full, or without its tenant where only one has it. `energy` is the total's.
    ///
    /// # Errors
    /// There is none, or several tenants have it.
    pub fn column(&self, word: &str) -> Result<Column, MetricError> {
        let found = self.columns_of(word)?;
        match &found[..] {
            [only] => Ok((*only).clone()),
            several => Err(MetricError::OfSeveral {
                metric: word.to_owned(),
                known: several
                    .iter()
                    .take(NAMED)
                    .map(|column| column.name.clone())
                    .collect(),
            }),
        }
    }

    /// The figures that a word names, never none: a word without a tenant names those of all tenants.
    ///
    /// # Errors
    /// There is none.
    pub fn columns_of(&self, word: &str) -> Result<Vec<&Column>, MetricError> {
        let asked = word.replace("p99.9", "p99_9");
        let asked = match asked.as_str() {
            "energy" => "energy.total",
            other => other,
        };
        // As the table of figures has it: `camera.energy.per_frame` is `energy.camera.per_frame`.
        let key = Key::guess(asked).map(|key| key.to_string());
        let is_meant = |column: &&Column| {
            column.name == asked || column.head() == asked || Some(&column.name) == key.as_ref()
        };
        if let Some(found) = self.columns.iter().find(is_meant) {
            return Ok(vec![found]);
        }
        let without = |name: &str| name.split_once('.').is_some_and(|(_, rest)| rest == asked);
        let of_a_tenant = |column: &&Column| {
            let own = column.key().filter(|key| key.tenant().is_some());
            own.is_some_and(|key| key.within() == asked) || without(&column.name) || without(&column.head())
        };
        let found: Vec<&Column> = self.columns.iter().filter(of_a_tenant).collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let names: Vec<&str> = self
            .columns
            .iter()
            .flat_map(|column| {
                [
                    Some(column.name.as_str()),
                    column.name.split_once('.').map(|(_, rest)| rest),
                ]
            })
            .flatten()
            .collect();
        Err(MetricError::Unknown {
            metric: word.to_owned(),
            nearest: nearest(word, names.iter().copied()).map(str::to_owned),
            known: self
                .columns
                .iter()
                .take(NAMED)
                .map(|column| column.name.clone())
                .collect(),
        })
    }

    /// The axis of this path.
    ///
    /// # Errors
    /// There is none.
    pub fn axis(&self, path: &str) -> Result<&str, MetricError> {
        let found = self.axes.iter().find(|axis| *axis == path);
        found.map(String::as_str).ok_or_else(|| MetricError::NoAxis {
            axis: path.to_owned(),
            nearest: nearest(path, self.axes.iter().map(String::as_str)).map(str::to_owned),
            known: self.axes.clone(),
        })
    }

    /// The runs of each point, in the order of the points.
    pub fn points(&self) -> Vec<PointFigures<'_>> {
        let mut points: Vec<PointFigures<'_>> = Vec::new();
        for row in &self.rows {
            match points.last_mut().filter(|last| last.number == row.point) {
                Some(last) => last.rows.push(row),
                None => points.push(PointFigures {
                    number: row.point,
                    rows: vec![row],
                }),
            }
        }
        points
    }

    /// How many runs are in each state: done, failed, skipped, left.
    pub fn counts(&self) -> [usize; 4] {
        let mut counts = [0; 4];
        for row in &self.rows {
            let place = match row.state {
                State::Done => 0,
                State::Failed(_) => 1,
                State::Skipped { .. } => 2,
                State::Left => 3,
            };
            if let Some(count) = counts.get_mut(place) {
                *count += 1;
            }
        }
        counts
    }
}
