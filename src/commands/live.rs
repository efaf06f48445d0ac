//! All phases of a run against the real clock: one thread (or two) a tenant, one for the recorder, one for the
//! samplers. What the phases are is said in `run`; what a tenant does in them is in `tenant::pipeline`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, PoisonError};

use anyhow::Context;

use super::live_screen::LiveScreen;
use super::phases::RunPhase;
use super::processes::Processes;
use super::progress::Progress;
use super::sampling::Sampling;
use super::screen::{Screen, Stream};
use super::tenants;
use super::threads::named;
use super::traced_phases;
use super::tracing::{PhaseTrace, PhaseTracer};
use super::watchdog::{self, Current, Ward};
use crate::backend::null::NullBackend;
use crate::backend::{Backend, Program};
use crate::board::Roots;
use crate::cli::RunOptions;
use crate::clock::{Clock, RealClock};
use crate::record::writer::RunWriter;
use crate::record::{EndReason, Event, IDLE_WINDOW, OVERHEAD_TENANT, Phase, PhaseRecord, WindowRecord};
use crate::scenario::{Arrival, Overload, Release, Scenario, Sharing};
use crate::source::empty::EmptySource;
use crate::telemetry;
use crate::tenant::failures::note;
use crate::tenant::gate::{self, Order};
use crate::tenant::mishap::Mishap;
use crate::tenant::recorder::{Recorder, Watcher};
use crate::tenant::recording::{self, RecordFeed, RecordSink};
use crate::tenant::{PhasePlan, pipeline::Runner};
use crate::units::Nanos;

/// Frames of the null tenant.
const OVERHEAD_FRAMES: u64 = 2_000;
/// Between the call to start and the common epoch: time for every thread to be there.
const LEAD: Nanos = Nanos::from_millis(20);

/// A tenant's runner and its two ways to the recorder.
struct Live {
    runner: Runner,
    front: RecordSink,
    back: RecordSink,
}

impl Live {
    fn new(runner: Runner, detections: bool, feeds: &mut Vec<RecordFeed>) -> Self {
        let (front, front_feed) = recording::channel(runner.tenant, false);
        let (back, back_feed) = recording::channel(runner.tenant, detections);
        feeds.extend([front_feed, back_feed]);
        Live { runner, front, back }
    }
}

/// How a run is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watching {
    /// Nothing is shown until the summary.
    Quiet,
    /// A progress bar on stderr.
    Progress,
    /// The dashboard (`--live`).
    Live,
}

impl Watching {
    /// What was asked for.
    pub(super) fn asked(options: &RunOptions) -> Watching {
        match (options.live, options.quiet) {
            (true, _) => Watching::Live,
            (_, true) => Watching::Quiet,
            _ => Watching::Progress,
        }
    }

    /// Somebody who watches; the progress bar where there is no terminal for the dashboard.
    fn watcher(self, scenario: &Scenario, phases: &[RunPhase], stop: &Arc<AtomicBool>) -> Box<dyn Watcher> {
        let (total, rounds) = (super::phases::length(phases), super::phases::rounds(phases));
        if self == Watching::Live && Stream::Err.is_terminal() {
            match Screen::open(Stream::Err) {
                Ok(screen) => {
                    return Box::new(LiveScreen::new(screen, scenario, (total, rounds), stop.clone()));
                }
                Err(error) => log::warn!("no dashboard on this terminal: {error}"),
            }
        }
        let names: Vec<&str> = scenario.tenants.iter().map(|t| t.name.as_str()).collect();
        Box::new(Progress::new(&names, total, rounds, self == Watching::Quiet))
    }
}

/// What comes after the phases.
pub(super) enum After<'a> {
    /// The traced phases of this scenario, in a process of their own.
    Trace(&'a Scenario),
    /// Nothing; this traces the phases that are traced ones.
    Nothing(PhaseTracer),
}

/// Runs these phases, and what comes after them; what was recorded is in the file when it returns. Where the tenants are `processes`, none is made ready
/// here.
pub(super) fn run(
    scenario: &Scenario,
    (phases, after): (&[RunPhase], After<'_>),
    ready: tenants::All,
    mut processes: Option<Processes>,
    writer: RunWriter,
    stop: &Arc<AtomicBool>,
    watching: Watching,
) -> anyhow::Result<()> {
    let clock = RealClock;
    let (traced, mut tracer) = match after {
        After::Trace(scenario) => (Some(scenario), PhaseTracer::default()),
        After::Nothing(tracer) => (None, tracer),
    };
    let mut gpus = ready.gpus;
    let mut feeds = Vec::new();
    let mut tenants: Vec<Live> = ready
        .tenants
        .into_iter()
        .zip(&scenario.tenants)
        .map(|(p, tenant)| Live::new(p.runner, tenant.record_detections, &mut feeds))
        .collect();
    let depth = scenario.tenants.iter().map(|t| t.depth).max().unwrap_or(1);
    let mut overhead = Live::new(overhead_runner(depth)?, false, &mut feeds);
    let (notes, events) = channel();
    if let Some(processes) = &mut processes {
        processes.connect(scenario, &mut feeds, &notes)?;
    }
    let watcher = watching.watcher(scenario, phases, stop);
    let stop: &AtomicBool = stop;
    let recorder = Recorder {
        writer,
        feeds,
        events,
        watcher,
    };
    // Samplers end before the recorder, so that what they say last is still recorded.
    let (sampled, done) = (AtomicBool::new(false), AtomicBool::new(false));
    let (recorded, current) = (AtomicBool::new(false), Current::default());
    let wards = wards(scenario, &tenants);
    let outcome = std::thread::scope(|scope| {
        let recording = named("recorder")
            .spawn_scoped(scope, || {
                let outcome = recorder.run(&clock, &done, stop);
                recorded.store(true, Ordering::Release);
                outcome
            })
            .context("cannot start the recorder's thread")?;
        if !wards.is_empty() {
            let run = watchdog::Run {
                current: &current,
                notes: notes.clone(),
                stop,
                done: &done,
                recorder: recording.thread().clone(),
                recorded: &recorded,
            };
            let (wards, sampled) = (&wards, &sampled);
            named("watchdog")
                .spawn_scoped(scope, move || {
                    watchdog::watch(wards, scenario.watchdog, &run, sampled)
                })
                .context("cannot start the watchdog's thread")?;
        }
        let sampling = Sampling::start(Roots::system(), scenario.telemetry.clone(), Arc::default(), {
            let notes = notes.clone();
            move |event| {
                let _ = notes.send(event);
            }
        });
        if let Err(error) = &sampling {
            note(
                &notes,
                RealClock.now(),
                "samplers",
                &format!("cannot start: {error}; nothing will be sampled"),
            );
        }
        for Live { runner, .. } in &tenants {
            if let Some(problem) = runner.failed.clone() {
                let finding = Mishap::NotStarted { problem }.of(&runner.name);
                let _ = notes.send(Event::Finding(finding));
            }
        }
        if !phases.iter().all(|phase| phase.traced) {
            measure_overhead(&mut overhead, stop, &notes);
        }
        if let Some(idle) = scenario.baseline.idle {
            let settle = telemetry::idle_settles(&Roots::system());
            let hush = |on| {
                if let Ok(sampling) = &sampling {
                    sampling.hush(on);
                }
            };
            hush(true);
            idle_baseline((settle, idle), stop, &notes);
            hush(false);
        }
        for phase in phases {
            // Many a turn would begin only to end.
            if phase.round.is_some() && stop.load(Ordering::Relaxed) {
                continue;
            }
            if let Some(processes) = &mut processes {
                for end in processes.together(scenario, phase, stop, &notes) {
                    let _ = notes.send(Event::Phase(end));
                }
                continue;
            }
            let chosen = tenants
                .iter_mut()
                .enumerate()
                .filter(|(n, _)| phase.members.contains(n));
            let mut chosen: Vec<&mut Live> = chosen
                .map(|(n, tenant)| {
                    tenant.runner.arrival = phase.arrival(scenario, n);
                    tenant
                })
                .collect();
            let trace = match phase.traced {
                true => tracer.begin(phase.phase, &gpus, &notes),
                false => None,
            };
            for tenant in &mut chosen {
                tenant.runner.marks = trace.as_ref().map(PhaseTrace::marks);
            }
            let mut all_ended_well = true;
            for end in together(scenario, phase, chosen, &current, stop, &notes) {
                all_ended_well &= end.reason != EndReason::Failed;
                let _ = notes.send(Event::Phase(end));
            }
            if let Some(trace) = trace {
                // A device that hangs would be waited for in vain.
                if all_ended_well {
                    gpus.wait();
                }
                trace.end(&mut tracer, &notes);
            }
            *current.lock().unwrap_or_else(PoisonError::into_inner) = None;
            for residual in gpus.clock_residuals() {
                let _ = notes.send(Event::Sample(residual));
            }
        }
        if let Some(processes) = processes {
            processes.finish(scenario, &notes);
        }
        if let Some(scenario) = traced.filter(|_| !stop.load(Ordering::Relaxed)) {
            tenants.iter_mut().for_each(|live| live.runner.close(&notes));
            // The devices' memory is needed anew.
            let freed = (!wards.is_empty()).then(|| watchdog::unless_freed(scenario.watchdog));
            drop((std::mem::take(&mut tenants), std::mem::take(&mut gpus)));
            drop(freed);
            traced_phases::trace(scenario, stop, &notes);
        }
        sampled.store(true, Ordering::Relaxed);
        if let Some(hangs) = sampling.ok().and_then(Sampling::end) {
            let _ = notes.send(Event::Finding(hangs));
        }
        for Live { runner, .. } in &mut tenants {
            runner.close(&notes);
        }
        let nodes = |from, to| {
            let runners = tenants.iter_mut().map(|live| &mut live.runner);
            runners.flat_map(|runner| runner.node_spans(from, to)).collect()
        };
        tracer.finish(nodes, &notes);
        done.store(true, Ordering::Release);
        recording.thread().unpark();
        match recording.join() {
            Ok(outcome) => outcome.map_err(anyhow::Error::from),
            Err(_) => Err(anyhow::anyhow!(
                "the recorder panicked; please report it with the scenario"
            )),
        }
    });
    // What is dropped now waits for the device.
    let freed = (!wards.is_empty()).then(|| watchdog::unless_freed(scenario.watchdog));
    drop((tenants, gpus));
    drop(freed);
    outcome
}

/// The tenants that a watchdog looks after: those on a device of this process.
fn wards(scenario: &Scenario, tenants: &[Live]) -> Vec<Ward> {
    tenants
        .iter()
        .zip(&scenario.tenants)
        .filter(|(_, tenant)| tenant.device().is_gpu())
        .map(|(live, tenant)| Ward {
            tenant: live.runner.tenant,
            name: tenant.name.clone(),
            watched: Arc::clone(&live.runner.watched),
        })
        .collect()
}

/// Runs these tenants side by side through one phase.
fn together(
    scenario: &Scenario,
    phase: &RunPhase,
    tenants: Vec<&mut Live>,
    current: &Current,
    stop: &AtomicBool,
    notes: &Sender<Event>,
) -> Vec<PhaseRecord> {
    let plan = phase.plan(RealClock.now() + LEAD);
    let members = tenants.iter().map(|live| live.runner.tenant).collect();
    *current.lock().unwrap_or_else(PoisonError::into_inner) = Some((plan, members));
    let _ = notes.send(Event::PhaseSpec(phase.spec(plan.epoch)));
    // Tenants that need no GPU are with the first.
    let devices: Vec<u16> = scenario.tenants.iter().map(|tenant| tenant.gpu.gpu).collect();
    let gates =
        Order::of(plan.sharing).map_or_else(Default::default, |order| gate::by_device(order, &devices));
    let resident = telemetry::Resident::begin();
    let mut ends: Vec<PhaseRecord> = std::thread::scope(|scope| {
        let threads: Vec<_> = tenants
            .into_iter()
            .map(|live| {
                let device = devices.get(usize::from(live.runner.tenant));
                live.runner.gate = device.and_then(|device| gates.get(device).cloned());
                live.start(scope, plan, stop, notes)
            })
            .collect();
        threads.into_iter().map(Started::finish).collect()
    });
    let peak = resident.peak();
    ends.iter_mut().for_each(|end| end.process_peak = peak);
    ends
}

/// A tenant on its way through a phase, or one whose thread could not be had.
enum Started<'scope> {
    Running(std::thread::ScopedJoinHandle<'scope, PhaseRecord>, PhaseRecord),
    Not(PhaseRecord),
}

impl Started<'_> {
    /// Waits for the phase's end.
    fn finish(self) -> PhaseRecord {
        match self {
            // The thread catches panics itself; `failed` is for what cannot be caught.
            Started::Running(thread, failed) => thread.join().unwrap_or(failed),
            Started::Not(failed) => failed,
        }
    }
}

impl Live {
    /// Starts a phase on a thread of its own. Whatever becomes of the thread, a phase record comes of it, and the
    /// other tenants go on.
    fn start<'scope>(
        &'scope mut self,
        scope: &'scope std::thread::Scope<'scope, '_>,
        plan: PhasePlan,
        stop: &'scope AtomicBool,
        notes: &'scope Sender<Event>,
    ) -> Started<'scope> {
        let failed = PhaseRecord {
            tenant: self.runner.tenant,
            phase: plan.phase,
            epoch: plan.epoch,
            measured_from: plan.measured_from,
            measured_to: plan.measured_from,
            reason: EndReason::Failed,
            lost_records: 0,
            sampled: None,
            process_peak: None,
        };
        let name = self.runner.name.clone();
        let (gate, tenant) = (self.runner.gate.clone(), self.runner.tenant);
        let started = named(&name).spawn_scoped(scope, move || {
            let _leaving = gate.as_ref().map(|gate| gate.leaving(tenant));
            let run = AssertUnwindSafe(|| {
                self.runner
                    .run(plan, &RealClock, stop, &mut self.front, &mut self.back, notes)
            });
            catch_unwind(run).unwrap_or_else(|_| {
                note(
                    notes,
                    RealClock.now(),
                    &self.runner.name,
                    "panicked; please report it with the scenario",
                );
                failed
            })
        });
        match started {
            Ok(thread) => Started::Running(thread, failed),
            Err(error) => {
                let problem = format!("cannot start its thread: {error}; lower the number of tenants");
                note(notes, RealClock.now(), &name, &problem);
                Started::Not(failed)
            }
        }
    }
}

/// A tenant whose frames cost nothing: what is left is what jetlag adds.
fn overhead_runner(depth: usize) -> anyhow::Result<Runner> {
    Ok(Runner {
        tenant: OVERHEAD_TENANT,
        name: "overhead".to_owned(),
        source: Box::new(EmptySource::default()),
        preprocess: None,
        postprocess: None,
        slots: NullBackend.open(&Program::default(), depth)?.slots,
        batching: None,
        failed: None,
        watched: Arc::default(),
        gate: None,
        marks: None,
        arrival: Arrival::Closed,
        overload: Overload::Queue { capacity: 1 },
        deadline: None,
        frames: Some(OVERHEAD_FRAMES),
        cpus: Vec::new(),
        waiting: Release::Sleep,
        seed: 0,
        lacks: None,
        late: Default::default(),
        outputs: None,
        with_outputs: Vec::new(),
    })
}

fn measure_overhead(overhead: &mut Live, stop: &AtomicBool, notes: &Sender<Event>) {
    let epoch = RealClock.now();
    let plan = PhasePlan {
        phase: Phase::Overhead,
        drawn_as: Phase::Overhead,
        traced: false,
        sharing: Sharing::Streams,
        epoch,
        measured_from: epoch,
        end: epoch + Nanos::from_secs(1),
    };
    // On a thread of its own, because a runner changes the timers of the thread that it runs on.
    let end = std::thread::scope(|scope| overhead.start(scope, plan, stop, notes).finish());
    let _ = notes.send(Event::Phase(end));
}

/// Waits with only the samplers running, and records when that was.
fn idle_baseline((settle, idle): (Nanos, Nanos), stop: &AtomicBool, notes: &Sender<Event>) {
    // Sensors average, and what ran just before is still in their first values.
    pause(settle, stop);
    let from = RealClock.now();
    pause(idle, stop);
    let _ = notes.send(Event::Window(WindowRecord {
        name: IDLE_WINDOW.to_owned(),
        from,
        to: RealClock.now(),
    }));
}

fn pause(time: Nanos, stop: &AtomicBool) {
    let until = RealClock.now() + time;
    while RealClock.now() < until && !stop.load(Ordering::Relaxed) {
        RealClock.sleep_until(until.min(RealClock.now() + Nanos::from_millis(50)));
    }
}
