//! A table of comma-separated values with a header: cells by column, and errors that say where.

use std::path::{Path, PathBuf};

use jetlag_record::files;
use jetlag_record::units::Bytes;

use crate::error::DataError;

/// Largest table.
const LARGEST: Bytes = Bytes(64 << 20);

pub(super) struct Table {
    pub(super) path: PathBuf,
    columns: Vec<String>,
    pub(super) lines: Vec<Line>,
}

/// A line's number in the file, and its cells.
pub(super) struct Line(u64, csv::StringRecord);

impl Table {
    /// Reads a file; also its bytes go into the hash.
    pub(super) fn read(path: &Path, hash: &mut blake3::Hasher) -> Result<Self, DataError> {
        let bytes = files::read(path, LARGEST).map_err(|source| DataError::Read {
            path: path.to_owned(),
            source,
        })?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        hash.update(&(name.len() as u64).to_le_bytes())
            .update(name.as_bytes());
        hash.update(&(bytes.len() as u64).to_le_bytes()).update(&bytes);
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .from_reader(bytes.as_slice());
        let wrong = |error: csv::Error, line| DataError::Table {
            path: path.to_owned(),
            line: error.position().map_or(line, csv::Position::line),
            what: error.to_string(),
        };
        let header = reader.headers().map_err(|error| wrong(error, 1))?;
        let columns = header
            .iter()
            .map(|name| name.trim_start_matches('\u{feff}').to_owned())
            .collect();
        let mut lines = Vec::new();
        for record in reader.into_records() {
            let record = record.map_err(|error| wrong(error, 0))?;
            lines.push(Line(record.position().map_or(0, csv::Position::line), record));
        }
        Ok(Self {
            path: path.to_owned(),
            columns,
            lines,
        })
    }

    /// The place of the first of these columns that exists.
    pub(super) fn optional(&self, names: &[&str]) -> Option<usize> {
        names
            .iter()
            .find_map(|name| self.columns.iter().position(|column| column == name))
    }

    pub(super) fn column(&self, names: &[&str]) -> Result<usize, DataError> {
        self.optional(names).ok_or_else(|| DataError::Column {
            path: self.path.clone(),
            wanted: names.join(" or "),
            found: match self.columns.join(", ") {
                none if none.is_empty() => "none".to_owned(),
                columns => columns,
            },
        })
    }

    pub(super) fn text<'a>(&'a self, line: &'a Line, column: usize) -> &'a str {
        line.1.get(column).unwrap_or_default()
    }

    /// A cell that must not be empty.
    pub(super) fn word<'a>(&'a self, line: &'a Line, column: usize) -> Result<&'a str, DataError> {
        match self.text(line, column) {
            "" => Err(self.wrong(line, column, "a name")),
            text => Ok(text),
        }
    }

    pub(super) fn whole(&self, line: &Line, column: usize, wanted: &'static str) -> Result<u32, DataError> {
        self.text(line, column)
            .parse()
            .map_err(|_| self.wrong(line, column, wanted))
    }

    /// A positive number that can be divided by.
    pub(super) fn positive(&self, line: &Line, column: usize) -> Result<f64, DataError> {
        let number: Option<f64> = self.text(line, column).parse().ok();
        number
            .filter(|value| (1e-9..=1e12).contains(value))
            .ok_or_else(|| self.wrong(line, column, "a number between 1e-9 and 1e12"))
    }

    pub(super) fn wrong(&self, line: &Line, column: usize, wanted: &'static str) -> DataError {
        DataError::Cell {
            path: self.path.clone(),
            line: line.0,
            column: self.columns.get(column).cloned().unwrap_or_default(),
            found: self.text(line, column).chars().take(80).collect(),
            wanted,
        }
    }

    pub(super) fn number(&self, line: &Line) -> u64 {
        line.0
    }
}
