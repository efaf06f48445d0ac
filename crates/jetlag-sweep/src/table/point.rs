//! One point: its runs, and figures over them.

use super::{Row, State};
use crate::figures::Estimate;
use crate::plan::Setting;
use crate::pooled::{Pooled, pooled};

/// The runs of one point.
#[derive(Clone, Debug)]
pub struct PointFigures<'t> {
    /// From 1.
    pub number: usize,
    /// Its runs.
    pub rows: Vec<&'t Row>,
}

impl PointFigures<'_> {
    /// What it sets.
    pub fn settings(&self) -> &[Setting] {
        self.rows.first().map_or(&[], |row| row.settings.as_slice())
    }

    /// A figure over its runs; none where no run has a value.
    pub fn pooled(&self, name: &str) -> Option<Pooled> {
        pooled(&self.figures(name))
    }

    /// A figure of each run that is done.
    pub fn figures(&self, name: &str) -> Vec<Estimate> {
        let done = self.rows.iter().filter(|row| row.state == State::Done);
        done.map(|row| row.figure(name)).collect()
    }

    /// Whether a run of it failed.
    pub fn has_failed(&self) -> bool {
        self.rows.iter().any(|row| matches!(row.state, State::Failed(_)))
    }
}
