//! Drives one tenant on real threads: release → acquire, decode, preprocess → submit → wait, postprocess → record.
//!
//! At depth 1 one thread does everything in turn. At depth *n* ≥ 2 another waits for results and postprocesses, and a third
//! submits where that lasts, so that the stages of up to *n* successive frames overlap; the slots go round between them
//! through bounded channels. Which frames are dropped does not depend on when a thread gets round to looking: releases are
//! replayed in order from the arrival process, and between two looks nobody leaves the line.
//!
//! Steady state allocates nothing and shares no lock with another tenant.
//!
//! Here are a tenant and its phases; `threads` has the ways to drive one, `prepare`, `submit` and `finish` the parts of a
//! frame's way.

mod batched;
mod finish;
mod frame_error;
mod frame_slot;
mod parts;
mod prepare;
mod shared_cost;
mod submit;
mod thread_setup;
mod threads;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize};
use std::sync::mpsc::Sender;

use super::arrival::Releases;
use super::failures::{Failures, note};
use super::gate::Gate;
use super::marks::Marks;
use super::mishap::Mishap;
use super::nodes::{LateFrame, NodeTotals, late_records};
use super::plan::PhasePlan;
use super::recording::RecordSink;
use super::release_line::{Limits, ReleaseLine};
use super::watched::Watched;
use crate::backend::{NodeSpan, Slot, TensorSpec};
use crate::clock::Clock;
use crate::detector::network::outputs::Outputs;
use crate::detector::{Carry, Postprocess, Preprocess};
use crate::record::{EndReason, Event, Phase, PhaseRecord};
use crate::scenario::{Arrival, Batch, Overload, Release as Waiting};
use crate::source::wants::Lack;
use crate::source::{Frame, Source};
use crate::tensor::TensorSet;
use crate::units::{Nanos, Stamp};
use batched::run_batched;
use finish::Finish;
use frame_slot::FrameSlot;
use parts::Parts;
use prepare::Prepare;
use submit::Submit;
use threads::{Common, run_overlapped, run_serial};

pub use thread_setup::{ThreadError, set_up_thread};

/// A tenant ready to run: opened, loaded, and free to run in one phase after another.
pub struct Runner {
    /// Position in the scenario.
    pub tenant: u16,
    /// Its name, for the log.
    pub name: String,
    /// Where frames come from.
    pub source: Box<dyn Source>,
    /// Frame to inputs; none for a tenant without detector.
    pub preprocess: Option<Box<dyn Preprocess>>,
    /// Outputs to detections; none for a tenant without detector.
    pub postprocess: Option<Box<dyn Postprocess>>,
    /// The ring: as many as the tenant's depth.
    pub slots: Vec<Box<dyn Slot>>,
    /// How several frames come into one of them; `None` where each has its own.
    pub batching: Option<Batching>,
    /// Why it cannot run, where it could not be opened and the others go on without it.
    pub failed: Option<String>,
    /// What a watchdog sees of it.
    pub watched: Arc<Watched>,
    /// Where it waits for its turn, where tenants take turns.
    pub gate: Option<Arc<Gate>>,
    /// Who is told which frame a thread works for, in a traced phase.
    pub marks: Option<Arc<dyn Marks>>,
    /// When frames are due.
    pub arrival: Arrival,
    /// What happens under overload.
    pub overload: Overload,
    /// How long a response may take; `None` where nothing is promised.
    pub deadline: Option<Nanos>,
    /// Stop after this many frames.
    pub frames: Option<u64>,
    /// Processors to run on; empty for any.
    pub cpus: Vec<usize>,
    /// How to wait for a release.
    pub waiting: Waiting,
    /// Seeds the arrival process, with the phase.
    pub seed: u64,
    /// What its frames lack and its detector is given zeros for.
    pub lacks: Option<Lack>,
    /// What the backend is to tell of its frames when the run is over.
    pub late: Late,
    /// What is done with the outputs of a bare network then.
    pub outputs: Option<Outputs>,
    /// Which of the slots hold the outputs of a frame, after a phase.
    pub with_outputs: Vec<bool>,
}

/// Several frames in a slot.
#[derive(Clone, Debug)]
pub struct Batching {
    /// How many, and how long one waits for the others.
    pub batch: Batch,
    /// The tensors of one frame that the host fills.
    pub inputs: Vec<TensorSpec>,
}

/// Frames whose time per node a backend tells only when the run is over; see [`Runner::close`].
#[derive(Debug, Default)]
pub struct Late(Vec<LateFrame>);

impl Runner {
    /// Runs one phase to its end; returns how it went. `front` records drops, `back` results; `notes` takes
    /// what is rare enough to allocate (errors, and at the end of the phase time per node).
    pub fn run(
        &mut self,
        plan: PhasePlan,
        clock: &dyn Clock,
        stop: &AtomicBool,
        front: &mut RecordSink,
        back: &mut RecordSink,
        notes: &Sender<Event>,
    ) -> PhaseRecord {
        if self.failed.is_some() {
            return PhaseRecord {
                tenant: self.tenant,
                phase: plan.phase,
                epoch: plan.epoch,
                measured_from: plan.measured_from,
                measured_to: plan.measured_from,
                reason: EndReason::Failed,
                lost_records: 0,
                sampled: None,
                process_peak: None,
            };
        }
        if let Err(problem) = set_up_thread(&self.cpus) {
            note(notes, clock.now(), &self.name, &problem.to_string());
        }
        if let Err(error) = self.source.rewind() {
            note(notes, clock.now(), &self.name, &error.to_string());
        }
        self.slots
            .iter_mut()
            .for_each(|slot| slot.restart(plan.beginning()));
        let mut places: Vec<FrameSlot> = std::mem::take(&mut self.slots)
            .into_iter()
            .map(|slot| FrameSlot {
                slot,
                carry: Carry::default(),
                parts: None,
                has_outputs: false,
            })
            .collect();
        let wait = self.batching.as_ref().map(|batching| batching.batch.wait);
        if let Some(Batching { batch, inputs }) = &self.batching {
            for place in &mut places {
                match Parts::new(batch.size, inputs) {
                    Ok(parts) => place.parts = Some(parts),
                    Err(error) => {
                        note(notes, clock.now(), &self.name, &error.to_string());
                        self.failed = Some(error.to_string());
                    }
                }
            }
        }
        let name = self.name.clone();
        let mut nodes = NodeTotals::default();
        // The file has time per node of the measurement and of the baseline only.
        let numbered = matches!(plan.phase, Phase::Other(_));
        let mut finish = Finish {
            clock,
            postprocess: self.postprocess.as_deref_mut(),
            found: Vec::with_capacity(512),
            name: name.as_str(),
            notes: notes.clone(),
            nodes: &mut nodes,
            late: (!numbered).then_some(&mut self.late.0),
            failures: Failures::new(),
            watched: &self.watched,
            marks: self.marks.as_deref(),
        };
        let submit = Submit {
            clock,
            gate: self.gate.as_deref(),
            name: name.as_str(),
            took: AtomicI64::new(0),
            watched: &self.watched,
            building: AtomicUsize::new(places.len()),
            marks: self.marks.as_deref(),
        };
        let releases = Releases::new(
            self.arrival,
            plan.drawn_as.seed(self.seed),
            plan.epoch,
            plan.end,
            self.source.timeline(),
        );
        let live = match self.arrival {
            Arrival::Live => self.source.live(),
            _ => None,
        };
        let overload = match &live {
            Some(live) => {
                live.limit(plan.measured_from, self.frames);
                live.begin(plan.epoch, plan.end, self.overload)
            }
            None => self.overload,
        };
        if overload != self.overload {
            let problem = format!(
                "its frames are so large that {overload:?} holds, and not {:?}",
                self.overload
            );
            note(notes, clock.now(), &self.name, &problem);
        }
        let limits = Limits {
            tenant: self.tenant,
            overload,
            deadline: self.deadline,
            frames: self.frames,
            length: self.source.info().frames,
        };
        let line = ReleaseLine::new(limits, plan, releases)
            .of_cameras(self.source.timeline())
            .fed_by(live.clone());
        let mut prepare = Prepare {
            position: 0,
            is_whole: false,
            source: self.source.as_mut(),
            preprocess: self.preprocess.as_deref_mut(),
            line,
            frame: Frame::default(),
            waiting: self.waiting,
            failures: Failures::new(),
            plan,
            clock,
            stop,
            name: name.as_str(),
            notes: notes.clone(),
        };
        let common = Common {
            name: name.as_str(),
            cpus: &self.cpus,
            clock,
            notes,
        };
        let ended = match (wait, places.as_mut_slice()) {
            (_, []) => Ok(EndReason::Failed),
            (Some(wait), _) => {
                let (ended, came_back) = run_batched(
                    &mut prepare,
                    &submit,
                    &mut finish,
                    places,
                    wait,
                    front,
                    back,
                    common,
                );
                places = came_back;
                ended
            }
            (None, [place]) => run_serial(&mut prepare, &submit, &mut finish, place, front, back, common),
            _ => {
                let (ended, came_back) =
                    run_overlapped(&mut prepare, &submit, &mut finish, places, front, back, common);
                places = came_back;
                ended
            }
        };
        finish.close();
        let sampled = prepare.line.sampled();
        if let Some(live) = live {
            live.end();
        }
        self.with_outputs = places.iter().map(|place| place.has_outputs).collect();
        self.slots = places.into_iter().map(|place| place.slot).collect();
        let reason = ended.unwrap_or_else(|panicked| {
            // Whatever it worked on, it does not work on it again.
            self.failed = Some(panicked.to_string());
            EndReason::Failed
        });
        self.tell_findings(notes);
        let lists = back.take_lost_detections();
        if lists > 0 {
            let _ = notes.send(Event::Finding(Mishap::LostDetections { lists }.of(&self.name)));
        }
        for record in nodes.records(self.tenant, plan.phase).filter(|_| !numbered) {
            // The recorder may have stopped already; the frames that it lacks are then told elsewhere.
            let _ = notes.send(Event::Node(record));
        }
        PhaseRecord {
            tenant: self.tenant,
            phase: plan.phase,
            epoch: plan.epoch,
            measured_from: plan.measured_from,
            measured_to: match reason {
                EndReason::Duration => plan.end,
                _ => clock.now().clamp(plan.measured_from, plan.end),
            },
            reason,
            lost_records: front.take_lost() + back.take_lost(),
            sampled,
            process_peak: None,
        }
    }

    /// After the last phase: frames that its source was late with, and what a backend could not tell before of time per node.
    pub fn close(&mut self, notes: &Sender<Event>) {
        if let Some(lack) = self.lacks.take() {
            let _ = notes.send(Event::Finding(Mishap::ZerosForMissing { lack }.of(&self.name)));
        }
        let waits = self.source.take_waits();
        if waits.frames > 0 {
            let _ = notes.send(Event::Finding(Mishap::SourceLate { waits }.of(&self.name)));
        }
        if let Some(cost) = self.source.take_shared_cost() {
            shared_cost::tell(&cost, &self.name, notes);
        }
        self.tell_outputs(notes);
        let frames = std::mem::take(&mut self.late.0);
        // One slot knows it of all.
        let Some(slot) = self.slots.first_mut().filter(|_| !frames.is_empty()) else {
            return;
        };
        let times = slot.late_node_times();
        for record in late_records(self.tenant, &frames, &times) {
            let _ = notes.send(Event::Node(record));
        }
        self.tell_findings(notes);
    }

    /// After the last phase: when the backend executed or launched which node, as far as it tells, between two moments.
    pub fn node_spans(&mut self, from: Stamp, to: Stamp) -> Vec<NodeSpan> {
        // One slot knows it of all.
        let slot = self.slots.first_mut();
        slot.map_or_else(Vec::new, |slot| slot.node_spans(from, to))
    }

    /// What became of the outputs of a bare network, where that was asked for.
    fn tell_outputs(&mut self, notes: &Sender<Event>) {
        let Some(outputs) = &self.outputs else { return };
        let slots = self.slots.iter().zip(&self.with_outputs);
        let finished: Vec<&TensorSet> = slots
            .filter(|(_, has_outputs)| **has_outputs)
            .map(|(slot, _)| slot.tensors())
            .collect();
        let records = outputs.finish(self.tenant, &finished);
        let problems = records.iter().filter_map(|record| record.problem.clone());
        let why = match records.is_empty() {
            true => "no frame was finished.".to_owned(),
            false => problems.collect::<Vec<_>>().join(" "),
        };
        if !why.is_empty() {
            let mishap = Mishap::OutputsNotCompared { why };
            let _ = notes.send(Event::Finding(mishap.of(&self.name)));
        }
        for record in records {
            let _ = notes.send(Event::Output(record));
        }
    }

    fn tell_findings(&mut self, notes: &Sender<Event>) {
        for mut finding in self.slots.iter_mut().flat_map(|slot| slot.take_findings()) {
            finding.tenant = Some(self.name.clone());
            finding.message = format!("{}: {}", self.name, finding.message);
            let _ = notes.send(Event::Finding(finding));
        }
    }
}
