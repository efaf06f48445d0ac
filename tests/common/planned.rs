//! The scenario of a run that has one, to change it.

use jetlag::record::Manifest;
use jetlag::scenario::Scenario;

/// A manifest whose run followed a scenario.
pub trait Planned {
    /// That scenario.
    fn plan(&mut self) -> &mut Scenario;
}

impl Planned for Manifest {
    fn plan(&mut self) -> &mut Scenario {
        self.scenario_mut().expect("made with a scenario")
    }
}
