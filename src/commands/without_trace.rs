//! In the place of `commands/tracing.rs`, in a jetlag that was built without it: a phase that asks for a trace runs untraced and
//! says so.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use super::gap::Gap;
use super::tenants::Devices;
use crate::backend::NodeSpan;
use crate::built::LeftOut;
use crate::record::{Event, Phase};
use crate::scenario::Scenario;
use crate::tenant::marks::Marks;
use crate::units::Stamp;

/// Traces nothing.
#[derive(Debug, Default)]
pub(super) struct PhaseTracer {
    told: bool,
}

impl PhaseTracer {
    /// Nothing to prepare.
    pub(super) fn of_run(_scenario: &Scenario) -> Self {
        PhaseTracer::default()
    }

    /// Nothing to prepare.
    pub(super) fn of_process(_scenario: &Scenario, _tenant: usize) -> Self {
        PhaseTracer::default()
    }

    /// That it was left out.
    pub(super) fn take_problem(&mut self) -> Option<String> {
        self.told = true;
        Some(LeftOut::TRACE.to_string())
    }

    /// Says that it cannot.
    pub(super) fn begin(
        &mut self,
        _phase: Phase,
        _devices: &Devices,
        notes: &Sender<Event>,
    ) -> Option<PhaseTrace> {
        if !std::mem::replace(&mut self.told, true) {
            let problem = LeftOut::TRACE.to_string();
            let _ = notes.send(Event::Finding(Gap::NotTraced { problem }.into()));
        }
        None
    }

    /// Nothing waits.
    pub(super) fn finish(
        &mut self,
        _nodes: impl FnMut(Stamp, Stamp) -> Vec<NodeSpan>,
        _notes: &Sender<Event>,
    ) {
    }
}

/// There is none.
pub(super) enum PhaseTrace {}

impl PhaseTrace {
    /// Nobody.
    pub(super) fn marks(&self) -> Arc<dyn Marks> {
        match *self {}
    }

    /// Nothing.
    pub(super) fn end(self, _of: &mut PhaseTracer, _notes: &Sender<Event>) {
        match self {}
    }
}
