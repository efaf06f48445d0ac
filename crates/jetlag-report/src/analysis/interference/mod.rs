//! How tenants slow each other down, from the phases of a run: `matrix` sets each pair and all together against each
//! tenant alone, `overlap` says what a tenant's frames lose beside its co-runners' within the measurement (how, is in
//! `two_stage`), `crossed` separates the effect of a tenant's input from that of its co-runner's, `sensitivity` reads the
//! matrix by stressor.
//!
//! `Phases` gathers what the rest of the summary does not: the phases that have a number, and when each tenant was in
//! service. Definitions are in docs/measurement.md.

mod cover;
mod crossed;
mod gather;
mod matrix;
mod overlap;
mod sensitivity;
mod two_stage;

use serde::Serialize;

pub use crossed::{Contrast, Effect};
pub(super) use gather::Phases;
pub use matrix::{Cell, Way};
pub use overlap::{Met, Overlap, Withheld};
pub use sensitivity::{Load, Point, Sensitivity};

use crate::scenario::Scenario;

/// How the tenants of a run slowed each other down; each list is empty where it was not asked for, or cannot be had.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Interference {
    /// The slowdown of each tenant beside each other and all others, for each way of sharing.
    pub matrix: Vec<Way>,
    /// Each tenant against each other while all ran together.
    pub overlap: Vec<Overlap>,
    /// What the inputs of two detectors do to each of them.
    pub crossed: Vec<Contrast>,
    /// How each tenant takes a load on one resource.
    pub sensitivity: Vec<Sensitivity>,
}

/// All of it.
pub(super) fn summarize(scenario: &Scenario, phases: &Phases) -> Interference {
    let names: Vec<&str> = scenario
        .tenants
        .iter()
        .map(|tenant| tenant.name.as_str())
        .collect();
    let matrix = match &scenario.matrix {
        Some(_) => matrix::ways(&names, phases),
        None => Vec::new(),
    };
    let inputs = scenario.matrix.as_ref().map_or(&[][..], |matrix| &matrix.inputs);
    let loads: Vec<Option<Load>> = scenario
        .tenants
        .iter()
        .map(|tenant| {
            tenant
                .backend
                .load()
                .map(|(resource, level)| Load { resource, level })
        })
        .collect();
    Interference {
        overlap: overlap::overlaps(scenario, phases),
        crossed: crossed::contrasts(&names, inputs, phases),
        sensitivity: sensitivity::of(&matrix, &names, &loads),
        matrix,
    }
}
