//! What a run file holds of its traced phases, gathered: activities in order, their names, the frames beside them.
//!
//! Gathers and orders; what the activities mean is for `kernels` and `critical` to say. Memory is bounded: what is beyond
//! `MOST_ACTIVITIES` is counted and left out.

use std::collections::BTreeMap;

use crate::record::{
    Activity, ActivityBatch, Definition, Event, FrameRecord, Outcome, Phase, PhaseRecord, PhaseSpec,
    TraceRecord,
};
use crate::units::Stamp;

/// Activities that are kept of a run: at 96 bytes each some 800 MB.
const MOST_ACTIVITIES: usize = 8 << 20;

/// The traced phases of a run.
#[derive(Debug, Default)]
pub struct Traced {
    /// In the order in which they ran.
    pub phases: Vec<TracedPhase>,
    /// Texts and shapes of launches by number.
    pub names: BTreeMap<u32, Definition>,
    /// Activities that were left out, since there were too many.
    pub left_out: u64,
    /// The end of each tenant's part of a traced phase.
    pub ends: Vec<PhaseRecord>,
    kept: usize,
}

/// One traced phase.
#[derive(Debug)]
pub struct TracedPhase {
    /// Who ran in it, and how.
    pub spec: PhaseSpec,
    /// How it was traced, per process, and what was lost.
    pub traces: Vec<TraceRecord>,
    /// Per process: its number, and its activities in the order of their begin.
    pub processes: BTreeMap<u32, Vec<Activity>>,
    /// Its frames, of all tenants, in the order in which they were recorded; those of the warm-up are marked.
    pub frames: Vec<FrameRecord>,
}

impl Traced {
    /// Takes in the description of a phase, if it is a traced one.
    pub fn spec(&mut self, spec: &PhaseSpec) {
        if spec.traced {
            self.phases.push(TracedPhase {
                spec: spec.clone(),
                traces: Vec::new(),
                processes: BTreeMap::new(),
                frames: Vec::new(),
            });
        }
    }

    /// Whether this is a traced phase.
    pub fn has(&self, phase: Phase) -> bool {
        self.phases.iter().any(|traced| traced.spec.phase == phase)
    }

    /// Takes in the end of a tenant's part of a phase, if it is of a traced one; says whether it is.
    pub fn end(&mut self, end: &PhaseRecord) -> bool {
        let has = self.has(end.phase);
        if has {
            self.ends.push(*end);
        }
        has
    }

    /// The measured time in which all members of a phase ran; none where no end was recorded.
    pub fn shared(&self, phase: Phase) -> Option<(Stamp, Stamp)> {
        let ends = || self.ends.iter().filter(move |end| end.phase == phase);
        let from = ends().map(|end| end.measured_from).max()?;
        let to = ends().map(|end| end.measured_to).min()?;
        Some((from, to.max(from)))
    }

    /// The frames of a phase that figures are of, in order per tenant: completed, after the warm-up, and before the first
    /// tenant ended, since then the others run without it.
    pub fn measured<'a>(&self, phase: &'a TracedPhase) -> Vec<&'a FrameRecord> {
        let ends = || self.ends.iter().filter(|end| end.phase == phase.spec.phase);
        let until = ends().map(|end| end.measured_to).min();
        let ends_later =
            |tenant: u16| ends().any(|end| end.tenant == tenant && Some(end.measured_to) > until);
        let in_time = |frame: &FrameRecord| {
            until.is_none_or(|until| frame.finished <= until) || !ends_later(frame.tenant)
        };
        let completed = |frame: &&FrameRecord| !frame.warmup && frame.outcome == Outcome::Completed;
        let mut frames: Vec<&FrameRecord> = phase.frames.iter().filter(completed).collect();
        frames.retain(|frame| in_time(frame));
        frames.sort_by_key(|frame| (frame.tenant, frame.sequence));
        frames
    }

    /// Takes in a frame, if it is of a traced phase; says whether it is.
    pub fn frame(&mut self, frame: &FrameRecord) -> bool {
        match self.phase(frame.phase) {
            Some(traced) => {
                traced.frames.push(*frame);
                true
            }
            None => false,
        }
    }

    /// Takes in a text that activities refer to.
    pub fn definition(&mut self, definition: &Definition) {
        self.names.insert(definition.number, definition.clone());
    }

    /// Takes in activities. Those of a phase that was not described are left out.
    pub fn activities(&mut self, batch: &ActivityBatch) {
        let room = MOST_ACTIVITIES.saturating_sub(self.kept);
        let kept = batch.activities.len().min(room);
        let Some(traced) = self.phase(batch.phase) else {
            self.left_out += batch.activities.len() as u64;
            return;
        };
        let all = traced.processes.entry(batch.process).or_default();
        all.extend_from_slice(&batch.activities[..kept]);
        self.kept += kept;
        self.left_out += (batch.activities.len() - kept) as u64;
    }

    /// Takes in how a phase was traced.
    pub fn trace(&mut self, trace: &TraceRecord) {
        if let Some(traced) = trace.phase.and_then(|phase| self.phase(phase)) {
            traced.traces.push(trace.clone());
        }
    }

    /// Takes in whatever of a run is of its traced phases; everything else is passed over.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::PhaseSpec(spec) => self.spec(spec),
            Event::Phase(end) => drop(self.end(end)),
            Event::Frame(frame) => drop(self.frame(frame)),
            Event::Definition(definition) => self.definition(definition),
            Event::Activities(batch) => self.activities(batch),
            Event::Trace(trace) => self.trace(trace),
            _ => {}
        }
    }

    /// The phase to show where one is shown: of those with the most tenants the first.
    pub fn principal(&self) -> Option<(usize, &TracedPhase)> {
        let phases = self.phases.iter().enumerate();
        phases.max_by_key(|(place, phase)| (phase.spec.members.len(), std::cmp::Reverse(*place)))
    }

    /// Everything is there: puts it in order.
    pub fn settle(&mut self) {
        for activities in self
            .phases
            .iter_mut()
            .flat_map(|phase| phase.processes.values_mut())
        {
            activities.sort_by_key(|activity| (activity.from, activity.to));
        }
    }

    /// The text of a name.
    pub fn text(&self, name: Option<u32>) -> Option<&str> {
        Some(self.names.get(&name?)?.text.as_str())
    }

    /// Numbers are given once in a run, so the last with one is the only one.
    fn phase(&mut self, phase: Phase) -> Option<&mut TracedPhase> {
        self.phases
            .iter_mut()
            .rev()
            .find(|traced| traced.spec.phase == phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::activity::{OnStream, Owner, Work};
    use crate::units::Stamp;

    fn kernel(from: i64) -> Activity {
        Activity {
            from: Stamp(from),
            to: Stamp(from + 5),
            name: Some(1),
            owner: Owner::default(),
            work: Work::Kernel {
                on: OnStream::default(),
                correlation: 1,
                graph: 0,
            },
        }
    }

    #[test]
    fn activities_are_put_in_order_and_those_of_no_phase_are_counted() {
        let mut traced = Traced::default();
        let spec = |number, traced| PhaseSpec {
            at: Stamp(0),
            phase: Phase::Other(number),
            label: "a".to_owned(),
            sharing: "Streams".to_owned(),
            members: vec![0],
            traced,
            ..PhaseSpec::default()
        };
        traced.spec(&spec(1, false));
        traced.spec(&spec(2, true));
        let batch = |number, from: &[i64]| ActivityBatch {
            phase: Phase::Other(number),
            process: 7,
            activities: from.iter().map(|from| kernel(*from)).collect(),
        };
        traced.activities(&batch(2, &[30, 10]));
        traced.activities(&batch(2, &[20]));
        traced.activities(&batch(1, &[40]));
        traced.settle();
        assert!(traced.has(Phase::Other(2)) && !traced.has(Phase::Other(1)));
        let all: Vec<i64> = traced.phases[0].processes[&7].iter().map(|a| a.from.0).collect();
        assert_eq!((all, traced.left_out), (vec![10, 20, 30], 1));
    }
}
