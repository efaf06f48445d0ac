//! What can be wrong with a JSON table, with the table, the row and the field.

use std::path::PathBuf;

/// What is wrong with a table of nuScenes.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// A file that cannot be read.
    #[error("cannot read {}: {error}", .path.display())]
    Io {
        /// The table.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// No list of rows, or no whole one.
    #[error("{}, {after}: {problem}", .path.display())]
    Shape {
        /// The table.
        path: PathBuf,
        /// How far it could be read.
        after: After,
        /// What was wanted and what was found.
        problem: ShapeProblem,
    },
    /// A row whose field is not as it must be.
    #[error("{}, row {row}, `{field}`: {problem}", .path.display())]
    Field {
        /// The table.
        path: PathBuf,
        /// The row, from 1.
        row: usize,
        /// The field's name.
        field: &'static str,
        /// What was wanted and what was found.
        problem: FieldProblem,
    },
}

/// A place in a table: before its rows, or after so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct After(pub usize);

impl std::fmt::Display for After {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            0 => f.write_str("at its beginning"),
            row => write!(f, "after row {row}"),
        }
    }
}

/// How a file is no list of rows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeProblem {
    /// The file ends too early.
    #[error("the file ends in the middle: it was cut, copy it again")]
    Cut,
    /// Something else than what the list needs there.
    #[error("{wanted} was expected, found {found}: it is no table of nuScenes, or a damaged one")]
    Expected {
        /// What belongs there.
        wanted: &'static str,
        /// What stands there.
        found: String,
    },
    /// A row that is no JSON.
    #[error("the next row is not valid JSON ({0}): copy the file again")]
    Json(String),
    /// A row longer than any can be.
    #[error("the next row is longer than {0} bytes: it is no table of nuScenes, or a damaged one")]
    LongRow(usize),
    /// More rows than can be counted.
    #[error("it has more than {0} rows")]
    ManyRows(usize),
}

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldProblem {
    /// It is not there.
    #[error("is absent; {wanted} is needed")]
    Absent {
        /// What belongs there.
        wanted: &'static str,
    },
    /// It is something else.
    #[error("must be {wanted}; found {found}")]
    Wanted {
        /// What belongs there.
        wanted: &'static str,
        /// What stands there, shortened.
        found: String,
    },
    /// A token that no row of the other table has.
    #[error("`{token}` is no token of table {table}; the tables must be of one version")]
    NoSuchRow {
        /// The token, shortened.
        token: String,
        /// The table that it should be of.
        table: &'static str,
    },
    /// A token that an earlier row has too.
    #[error("`{0}` is the token of an earlier row too; tokens must differ")]
    Twice(String),
    /// A link to what is not earlier, which would lead in a circle.
    #[error("leads to a row that is not earlier; links back must lead back in time")]
    NotEarlier,
    /// A link from one sensor's captures to another's.
    #[error("leads to a row of channel {0}; links must stay within a channel")]
    OtherChannel(String),
    /// A path that leads out of the dataset.
    #[error("`{0}` must be a path within the dataset, from its root")]
    Outside(String),
}
