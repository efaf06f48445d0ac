//! Rooflines: which rates a device can reach, where the networks and layers of runs lie below them, and what limits them; what work,
//! traffic and time cost in energy.
//!
//! The work is the run file's ([`crate::record::WorkRecord`]), the times are the measurement's, the ceilings are given: measured,
//! or from a table of boards. Nothing here reads a file. docs/models.md has the definitions.
//!
//! | module | what it holds |
//! |---|---|
//! | `roofs`, `energy`, `fit` | the arithmetic |
//! | `ceilings` | what a device reaches at most, as data |
//! | `placing` | which nodes a layer of an engine is made of |
//! | `traffic` | what some nodes together move |
//! | `gather` | collects a run's work and times |
//! | `against` | what the hardware counted, beside the static work |
//! | `apart` | a tenant's networks, each by itself |
//! | `told` | what engines' inspectors tell of timed layers |
//! | `operators` | layers by type |
//! | `points` | a tenant's networks and layers, placed |
//! | `several` | runs together: their order, findings, the fit of the energy |
//! | `result` | what comes out |

mod against;
mod apart;
mod ceilings;
mod energy;
mod fit;
mod gather;
mod limits;
mod operators;
mod placing;
mod points;
mod result;
mod roofs;
mod several;
mod told;
mod traffic;

#[cfg(test)]
mod tests;

pub use against::against;
pub use ceilings::{Bandwidth, CEILINGS_SCHEMA, Ceilings, CeilingsError, Peak, Processor};
pub use energy::{Coefficient, EnergyFit, EnergyRow, FitError, balance_point, fit_energy};
pub use gather::{Gathered, Gatherer};
pub use operators::by_operator;
pub use placing::{Placing, place};
pub use points::of_run;
pub use result::{
    Against, Bound, EnergyPoint, EnergyRoofline, LayerAgainst, LayerPoint, NetworkApart, NetworkPoint,
    OperatorPoints, Placed, Racing, Ratio, Roofline, RunRoofline, TenantRoofline, Work,
};
pub use roofs::{Limit, Place, Roofs};
pub use several::of_runs;
