//! The traced phases of a run: whether they can be traced is asked before CUDA is loaded, and each is traced from its begin to
//! its end. Where it cannot be, the run goes on untraced and a finding says why.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use super::gap::Gap;
use super::tenants::Devices;
use crate::activity::{Traced, Tracer, Tracing};
use crate::backend::NodeSpan;
use crate::clock::{Clock, RealClock};
use crate::record::{Event, Phase};
use crate::scenario::{BackendChoice, Scenario, Sharing, Tenant};
use crate::tenant::failures::note;
use crate::tenant::marks::Marks;
use crate::units::Stamp;

/// Where a note of the log comes from.
const TRACER: &str = "tracer";

/// What traces the traced phases of one process.
#[derive(Debug, Default)]
pub(super) struct PhaseTracer {
    tracer: Option<Tracer>,
    /// Why there is none; told once.
    problem: Option<String>,
    /// Whether a backend tells after the last phase what it launched when.
    late: bool,
    /// Phases that wait for that.
    ended: Vec<Traced>,
}

impl PhaseTracer {
    /// For a run of this process; before its devices are opened.
    pub(super) fn of_run(scenario: &Scenario) -> Self {
        match scenario.sharing {
            // Each process traces itself.
            Sharing::Processes => PhaseTracer::default(),
            _ => PhaseTracer::prepare(scenario, 0),
        }
    }

    /// For the process of this tenant.
    pub(super) fn of_process(scenario: &Scenario, tenant: usize) -> Self {
        match scenario
            .tenants
            .get(tenant)
            .is_some_and(|tenant| tenant.device().is_gpu())
        {
            true => PhaseTracer::prepare(scenario, tenant as u16),
            false => PhaseTracer::default(),
        }
    }

    fn prepare(scenario: &Scenario, place: u16) -> Self {
        let Some(plan) = scenario.trace else {
            return PhaseTracer::default();
        };
        if !scenario.tenants.iter().any(|tenant| tenant.device().is_gpu()) {
            return PhaseTracer::refused("no tenant runs on a GPU");
        }
        match Tracer::prepare(plan, place) {
            Ok(tracer) => PhaseTracer {
                tracer: Some(tracer),
                late: scenario.tenants.iter().any(tells_late),
                ..PhaseTracer::default()
            },
            Err(error) => PhaseTracer::refused(&error.to_string()),
        }
    }

    fn refused(problem: &str) -> Self {
        PhaseTracer {
            problem: Some(problem.to_owned()),
            ..PhaseTracer::default()
        }
    }

    /// Why nothing can be traced, if that is known before anything begins.
    pub(super) fn take_problem(&mut self) -> Option<String> {
        self.problem.take()
    }

    /// Begins to trace a phase on these devices; `None` where it cannot be, which is then said.
    pub(super) fn begin(
        &mut self,
        phase: Phase,
        devices: &Devices,
        notes: &Sender<Event>,
    ) -> Option<PhaseTrace> {
        if let Some(tracer) = &mut self.tracer {
            match tracer.begin(phase, || devices.touch_first()) {
                Ok(tracing) => return Some(PhaseTrace(tracing)),
                Err(error) => {
                    self.tracer = None;
                    self.problem = Some(error.to_string());
                }
            }
        }
        if let Some(problem) = self.problem.take() {
            let _ = notes.send(Event::Finding(Gap::NotTraced { problem }.into()));
        }
        None
    }
}

impl PhaseTracer {
    /// After the last phase: what waited for it goes to the recorder. `nodes` tells what the tenants launched between two moments.
    pub(super) fn finish(
        &mut self,
        mut nodes: impl FnMut(Stamp, Stamp) -> Vec<NodeSpan>,
        notes: &Sender<Event>,
    ) {
        let Some(tracer) = &mut self.tracer else { return };
        for traced in std::mem::take(&mut self.ended) {
            let (from, to) = traced.span();
            send(tracer.events(traced, &nodes(from, to)), notes);
        }
    }
}

/// A phase that is being traced.
pub(super) struct PhaseTrace(Tracing);

impl PhaseTrace {
    /// Who is told which frame a thread works for.
    pub(super) fn marks(&self) -> Arc<dyn Marks> {
        self.0.marks()
    }

    /// The phase is over: what was traced goes to the recorder, now or after the last phase.
    pub(super) fn end(self, of: &mut PhaseTracer, notes: &Sender<Event>) {
        let Some(tracer) = &mut of.tracer else {
            return;
        };
        match self.0.end(tracer) {
            Some(traced) if of.late => of.ended.push(traced),
            Some(traced) => send(tracer.events(traced, &[]), notes),
            None => {
                of.tracer = None;
                let problem = "panicked, and its trace is lost; please report it with the scenario";
                note(notes, RealClock.now(), TRACER, problem);
            }
        }
    }
}

fn send(events: Vec<Event>, notes: &Sender<Event>) {
    // The recorder may have stopped already, after an error that the run tells.
    events.into_iter().for_each(|event| drop(notes.send(event)));
}

/// Whether the tenant's backend tells only after the last phase when it launched what.
fn tells_late(tenant: &Tenant) -> bool {
    matches!(tenant.backend, BackendChoice::OnnxRuntime { profile: true, .. })
}
