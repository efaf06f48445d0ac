//! How tenants slow each other down, from the phases of a run. `turns` makes a slowdown of turns, as a `figure` of
//! several rounds; `matrix` has that of each pair and of all together. `overlap` estimates, within the measurement, how much time a frame loses while a co-runner is in
//! service (by `two_stage`). `crossed` separates the effect of a tenant's input from that of its co-runner's.
//! `sensitivity` orders the matrix by stressor.
//!
//! `Phases` collects what the rest of the summary does not: the phases that have a number, and when each tenant was
//! in service. Definitions are in docs/measurement.md.

mod cover;
mod crossed;
mod figure;
mod gather;
mod matrix;
mod overlap;
mod schedule;
mod sensitivity;
mod spans;
mod turns;
mod two_stage;

pub(in crate::analysis) use gather::{Cell, Phases};
pub use sensitivity::Load;

use crate::analysis::gathering::recorded::Recorded;
use crate::analysis::summary::interference::Interference;
use crate::scenario::Scenario;

/// Computes the whole section from the samples of each phase.
pub(in crate::analysis) fn summarize(
    scenario: &Scenario,
    recorded: Recorded,
    phases: &Phases,
) -> Interference {
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
        overlap: overlap::overlaps(scenario, recorded, phases),
        crossed: crossed::contrasts(&names, inputs, phases),
        sensitivity: sensitivity::of(&matrix, &names, &loads),
        matrix,
    }
}
