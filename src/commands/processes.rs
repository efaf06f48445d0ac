//! `sharing: Processes`: each tenant in a process of its own, and all that they record in one run file.
//!
//! The tenants' processes are this program again (`jetlag tenant-process`, in `commands::tenant_process`). They are started
//! and made ready side by side, then led through the phases together with a common epoch: CLOCK_MONOTONIC is one clock for
//! all processes. What they record comes over their sockets to the one recorder. A process that dies takes nobody with it:
//! its tenant has failed, with what is known of its end.
//!
//! They stay in our process group, so that Ctrl-C reaches them as well; a stop that only we know of is passed on.

mod child;
mod mps;
pub(super) mod words;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::Context;

use super::outcome::WrongUse;
use super::phases::RunPhase;
use crate::clock::{Clock, RealClock};
use crate::record::wire::WireError;
use crate::record::{EndReason, Event, PhaseRecord, TenantManifest};
use crate::scenario::{Scenario, Tenant};
use crate::tenant::PhasePlan;
use crate::tenant::failures::note;
use crate::tenant::mishap::Mishap;
use crate::tenant::recording::RecordFeed;
use crate::units::{Nanos, Stamp};
use child::{News, TenantProcess, ends_within};
use mps::Service;
use words::{Answer, Order};

/// Between the orders and the common epoch: time for every process to read its own.
const LEAD: Nanos = Nanos::from_millis(50);
/// Time for each process to open its tracer before a phase begins.
const TRACER_OPENS: Nanos = Nanos::from_millis(500);
/// How often it is looked whether the run was stopped.
const LOOK: Duration = Duration::from_millis(20);
/// A process that has not ended its phase this long after its watchdog must have hangs itself.
const GRACE: Nanos = Nanos::from_secs(10);

/// The tenants' processes, ready to run.
pub(super) struct Processes {
    children: Vec<TenantProcess>,
    manifests: Vec<TenantManifest>,
    /// Why a tenant cannot run, by its number.
    failed: Vec<(usize, String)>,
    service: Service,
    news: Option<Receiver<(usize, News)>>,
}

impl Processes {
    /// Starts all tenants and makes them ready, or says everything that is in the way. To be called on the program's main
    /// thread, with which the processes end.
    pub(super) fn start(scenario: &Scenario) -> anyhow::Result<Processes> {
        let service = Service::of(scenario)?;
        if let Some(how) = service.described() {
            log::info!("GPU sharing of the tenants' processes: {how}");
        }
        let program =
            std::env::current_exe().context("cannot find jetlag's executable for the tenants' processes")?;
        let start = |number| {
            TenantProcess::start(&program, scenario, number, service.pipe_directory()).with_context(|| {
                let name = &scenario.tenants[number].name;
                format!("tenant {name}: cannot start its process; lower the number of tenants")
            })
        };
        let children: Vec<_> = (0..scenario.tenants.len()).map(start).collect::<Result<_, _>>()?;
        let mut processes = Processes {
            children,
            manifests: Vec::new(),
            failed: Vec::new(),
            service,
            news: None,
        };
        processes.await_ready(scenario)?;
        Ok(processes)
    }

    fn await_ready(&mut self, scenario: &Scenario) -> anyhow::Result<()> {
        let (mut refused, mut died) = (Vec::new(), Vec::new());
        for child in &mut self.children {
            match child.answer() {
                Ok(Answer::Ready { manifest, failed }) => {
                    self.manifests.push(*manifest);
                    self.failed.extend(failed.map(|problem| (child.number, problem)));
                }
                Ok(Answer::Refused { problems }) => {
                    refused.extend(
                        problems
                            .iter()
                            .map(|problem| format!("tenant {}: {problem}", child.name)),
                    );
                }
                // What killed it may have been its own alone: the others go on.
                Err(no_answer) => {
                    let problem = no_answer.to_string();
                    child.gone = true;
                    // It may live, and nobody understands it.
                    child.kill();
                    died.push(format!("tenant {}: {problem}", child.name));
                    self.manifests.push(unready(&scenario.tenants[child.number]));
                    self.failed.push((child.number, problem));
                }
            }
        }
        let none_is_left = self.children.iter().all(|child| child.gone);
        if !died.is_empty() && (none_is_left || !refused.is_empty()) {
            died.extend(refused);
            anyhow::bail!("{}", died.join("\n       "));
        }
        match refused.is_empty() {
            true => Ok(()),
            false => Err(WrongUse(refused.join("\n       ")).into()),
        }
    }

    /// What each tenant runs, in their order.
    pub(super) fn manifests(&self) -> &[TenantManifest] {
        &self.manifests
    }

    /// How they share the GPU; nothing where none uses one.
    pub(super) fn shared_how(&self) -> Option<String> {
        self.service.described()
    }

    /// Passes on what they record from now, and tells who cannot run.
    pub(super) fn connect(
        &mut self,
        scenario: &Scenario,
        feeds: &mut Vec<RecordFeed>,
        notes: &Sender<Event>,
    ) -> anyhow::Result<()> {
        let (news, heard) = channel();
        for child in self.children.iter_mut().filter(|child| !child.gone) {
            let detections = scenario.tenants[child.number].record_detections;
            child
                .listen(detections, feeds, notes.clone(), news.clone())
                .with_context(|| format!("cannot start the thread that listens to tenant {}", child.name))?;
        }
        self.news = Some(heard);
        for (number, problem) in &self.failed {
            let problem = problem.clone();
            let finding = Mishap::NotStarted { problem }.of(&scenario.tenants[*number].name);
            let _ = notes.send(Event::Finding(finding));
        }
        Ok(())
    }

    /// Leads the phase's tenants through it.
    pub(super) fn together(
        &mut self,
        scenario: &Scenario,
        phase: &RunPhase,
        stop: &AtomicBool,
        notes: &Sender<Event>,
    ) -> Vec<PhaseRecord> {
        let lead = match phase.traced {
            true => LEAD + TRACER_OPENS,
            false => LEAD,
        };
        let plan = phase.plan(RealClock.now() + lead);
        let _ = notes.send(Event::PhaseSpec(phase.spec(plan.epoch)));
        let mut going = Going {
            plan,
            waiting: Vec::new(),
            ended: Vec::new(),
        };
        for &number in &phase.members {
            let arrival = phase.arrival(scenario, number);
            match self.children.get_mut(number).filter(|child| !child.gone) {
                Some(child) => {
                    child.order(&Order::Phase { plan, arrival });
                    going.waiting.push(number);
                }
                None => going.ended.push(failed(plan, number, plan.measured_from, 0)),
            }
        }
        let patience = scenario.watchdog + GRACE;
        let (mut until, mut stopped, mut killed) = (plan.end + patience, false, false);
        while !going.waiting.is_empty() {
            self.hear(&mut going, notes);
            if stop.load(Ordering::Relaxed) && !stopped {
                stopped = true;
                until = until.min(RealClock.now() + patience);
                self.each(&going.waiting, |child| child.order(&Order::Stop));
            }
            if RealClock.now() > until && !killed {
                killed = true;
                self.each(&going.waiting, |child| {
                    let problem = format!(
                        "its process did not end the phase within {patience} of its planned end and is killed"
                    );
                    note(notes, RealClock.now(), &child.name, &problem);
                    child.kill();
                });
            }
        }
        going.ended.sort_by_key(|record| record.tenant);
        going.ended
    }

    fn each(&mut self, numbers: &[usize], what: impl FnMut(&mut TenantProcess)) {
        let chosen = self
            .children
            .iter_mut()
            .filter(|child| numbers.contains(&child.number));
        chosen.for_each(what);
    }

    /// Takes in the next news, if any come before it is time to look round.
    fn hear(&mut self, going: &mut Going, notes: &Sender<Event>) {
        let heard = match &self.news {
            Some(news) => news.recv_timeout(LOOK),
            None => Err(RecvTimeoutError::Disconnected),
        };
        match heard {
            Ok((number, News::Ended(record))) => {
                going.waiting.retain(|&waiting| waiting != number);
                going.ended.push(record);
            }
            Ok((number, News::Gone { lost, problem })) => {
                self.bury(number, problem, notes);
                if going.waiting.contains(&number) {
                    going.waiting.retain(|&waiting| waiting != number);
                    let now = RealClock.now().clamp(going.plan.measured_from, going.plan.end);
                    going.ended.push(failed(going.plan, number, now, lost));
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            // Nobody is left to listen to, so nobody is there to wait for.
            Err(RecvTimeoutError::Disconnected) => {
                let plan = going.plan;
                let lost = going
                    .waiting
                    .drain(..)
                    .map(|number| failed(plan, number, plan.measured_from, 0));
                going.ended.extend(lost);
            }
        }
    }

    /// Tells of a process's death.
    fn bury(&mut self, number: usize, problem: Option<WireError>, notes: &Sender<Event>) {
        let Some(child) = self.children.get_mut(number).filter(|child| !child.gone) else {
            return;
        };
        child.gone = true;
        if problem.is_some() {
            // It may live, and nobody understands it.
            child.kill();
        }
        let words = child.last_words();
        let how = match problem {
            Some(problem) => format!("{problem}; {words}"),
            None => words,
        };
        note(
            notes,
            RealClock.now(),
            &child.name,
            &format!("its process has ended: {how}"),
        );
        let _ = notes.send(Event::Finding(Mishap::ProcessDied { how }.of(&child.name)));
    }

    /// Lets all end, after the last phase.
    pub(super) fn finish(mut self, scenario: &Scenario, notes: &Sender<Event>) {
        for child in self.children.iter_mut().filter(|child| !child.gone) {
            if let Err(problem) = child.finish(ends_within(&scenario.tenants[child.number])) {
                let problem = format!("its process failed after its last phase: {problem}");
                note(notes, RealClock.now(), &child.name, &problem);
            }
        }
    }
}

/// A phase that goes on.
struct Going {
    plan: PhasePlan,
    waiting: Vec<usize>,
    ended: Vec<PhaseRecord>,
}

/// What is known of a tenant whose process ended before it said more.
fn unready(tenant: &Tenant) -> TenantManifest {
    TenantManifest {
        name: tenant.name.clone(),
        backend: tenant.backend.name().to_owned(),
        device: Some(tenant.device()),
        detector: None,
        classes: Vec::new(),
        networks: Vec::new(),
        source: String::new(),
        submission_may_wait: None,
        application: None,
        start_up: None,
        batch: None,
        memory: None,
        selection: None,
        record_outputs: None,
    }
}

/// The phase of a tenant whose process is gone.
fn failed(plan: PhasePlan, number: usize, measured_to: Stamp, lost_records: u64) -> PhaseRecord {
    PhaseRecord {
        tenant: number as u16,
        phase: plan.phase,
        epoch: plan.epoch,
        measured_from: plan.measured_from,
        measured_to,
        reason: EndReason::Failed,
        lost_records,
        sampled: None,
        process_peak: None,
    }
}
