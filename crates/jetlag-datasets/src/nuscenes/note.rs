//! What of a dataset differs from nuScenes's specification and was taken all the same.

use std::fmt;

/// Something about the tables that whoever uses the dataset should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Turns were rotation matrices, not quaternions.
    Matrices {
        /// The table.
        table: &'static str,
        /// In how many of its rows.
        rows: usize,
    },
    /// Times were in nanoseconds, not microseconds.
    Nanoseconds {
        /// The table.
        table: &'static str,
        /// In how many of its rows.
        rows: usize,
    },
    /// Captures of keyframes that table sample does not have: they are in no scene, and left out.
    Strays {
        /// How many.
        rows: usize,
    },
    /// There is no table ego_pose, or it is empty: frames have no pose, and sweeps cannot be put together.
    NoPoses,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Matrices { table, rows } => {
                write!(
                    f,
                    "{table}.json has rotation matrices instead of quaternions ({rows} rows), taken as such"
                )
            }
            Note::Nanoseconds { table, rows } => {
                write!(
                    f,
                    "{table}.json has times in nanoseconds instead of microseconds ({rows} rows), taken as such"
                )
            }
            Note::Strays { rows } => {
                write!(
                    f,
                    "sample_data.json has {rows} rows whose `sample_token` is no token of table sample: they are in no scene, and \
                     left out"
                )
            }
            Note::NoPoses => f.write_str(
                "ego_pose.json is absent or empty: frames have no pose, and sweeps cannot be put together",
            ),
        }
    }
}

/// Counts what is loose in one table.
#[derive(Default)]
pub(super) struct Loose {
    pub(super) matrices: usize,
    pub(super) nanoseconds: usize,
}

impl Loose {
    pub(super) const NONE: Loose = Loose {
        matrices: 0,
        nanoseconds: 0,
    };

    pub(super) fn notes(&self, table: &'static str) -> impl Iterator<Item = Note> {
        let matrices = (self.matrices > 0).then_some(Note::Matrices {
            table,
            rows: self.matrices,
        });
        let nanoseconds = (self.nanoseconds > 0).then_some(Note::Nanoseconds {
            table,
            rows: self.nanoseconds,
        });
        matrices.into_iter().chain(nanoseconds)
    }
}
