//! All phases of a run against the real clock: one thread (or two) a tenant, one for the recorder, one for the
//! samplers. What the phases are is said in `run`; what a tenant does in them is in `tenant::pipeline`.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};

use super::prepare::Prepared;
use super::progress::Progress;
use super::run::{phases, plan_of};
use crate::backend::null::NullBackend;
use crate::backend::{Backend, Program};
use crate::clock::{Clock, RealClock};
use crate::record::writer::RunWriter;
use crate::record::{Event, Finding, OVERHEAD_TENANT, Phase, PhaseRecord};
use crate::scenario::{Arrival, Overload, Release, Scenario};
use crate::source::empty::EmptySource;
use crate::telemetry::{self, host::Host};
use crate::tenant::pipeline::{PhasePlan, Runner};
use crate::tenant::recorder::Recorder;
use crate::tenant::recording::{self, RecordFeed, RecordSink};
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

/// Runs all phases; what was recorded is in the file when it returns.
pub(super) fn run(
    scenario: &Scenario,
    prepared: Vec<Prepared>,
    writer: RunWriter,
    stop: &AtomicBool,
    quiet: bool,
) -> anyhow::Result<()> {
    let clock = RealClock;
    let phases = phases(scenario);
    let mut feeds = Vec::new();
    let mut tenants: Vec<Live> = prepared
        .into_iter()
        .zip(&scenario.tenants)
        .map(|(p, tenant)| Live::new(p.runner, tenant.record_detections, &mut feeds))
        .collect();
    let depth = scenario.tenants.iter().map(|t| t.depth).max().unwrap_or(1);
    let mut overhead = Live::new(overhead_runner(depth)?, false, &mut feeds);
    let (notes, events) = channel();
    let names: Vec<&str> = scenario.tenants.iter().map(|t| t.name.as_str()).collect();
    let total = (scenario.warmup + scenario.duration) * phases.len() as i64;
    let watcher = Box::new(Progress::new(&names, total, quiet));
    let recorder = Recorder {
        writer,
        feeds,
        events,
        watcher,
    };
    // Samplers stop first, so that what they say last is still recorded.
    let (sampled, done) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let recording = scope.spawn(|| recorder.run(&clock, &done, stop));
        let sampling = scope.spawn({
            let notes = notes.clone();
            let sampled = &sampled;
            move || {
                let host = Host::new(scenario.telemetry.interval, Path::new("/proc"), Path::new("/sys"));
                let emit = &mut |event| {
                    let _ = notes.send(event);
                };
                telemetry::sampler_loop(vec![Box::new(host)], &RealClock, RealClock.now(), sampled, emit);
            }
        });
        measure_overhead(&mut overhead, stop, &notes);
        if let Some(idle) = scenario.baseline.idle {
            idle_baseline(idle, stop, &notes);
        }
        for (phase, members) in phases {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let chosen: Vec<&mut Live> = tenants
                .iter_mut()
                .enumerate()
                .filter(|(n, _)| members.contains(n))
                .map(|(_, t)| t)
                .collect();
            for end in together(scenario, phase, chosen, stop, &notes) {
                let _ = notes.send(Event::Phase(end));
            }
        }
        sampled.store(true, Ordering::Relaxed);
        // A sampler that panicked has left its samples; the record is what counts.
        let _ = sampling.join();
        done.store(true, Ordering::Release);
        recording.thread().unpark();
        recording
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    Ok(())
}

/// Runs these tenants side by side through one phase.
fn together(
    scenario: &Scenario,
    phase: Phase,
    tenants: Vec<&mut Live>,
    stop: &AtomicBool,
    notes: &Sender<Event>,
) -> Vec<PhaseRecord> {
    let plan = plan_of(scenario, phase, RealClock.now() + LEAD);
    std::thread::scope(|scope| {
        let threads: Vec<_> = tenants
            .into_iter()
            .map(|live| {
                std::thread::Builder::new()
                    .name(live.runner.name.chars().take(15).collect())
                    .spawn_scoped(scope, move || {
                        live.runner
                            .run(plan, &RealClock, stop, &mut live.front, &mut live.back, notes)
                    })
            })
            .collect();
        threads
            .into_iter()
            .filter_map(|thread| match thread {
                Ok(thread) => Some(
                    thread
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                ),
                Err(error) => {
                    log::error!("cannot start a thread: {error}");
                    None
                }
            })
            .collect()
    })
}

/// A tenant whose frames cost nothing: what is left is what jetlag adds.
fn overhead_runner(depth: usize) -> anyhow::Result<Runner> {
    Ok(Runner {
        tenant: OVERHEAD_TENANT,
        name: "overhead".to_owned(),
        source: Box::new(EmptySource::default()),
        preprocess: None,
        postprocess: None,
        slots: NullBackend.open(&Program::default(), depth)?,
        arrival: Arrival::Closed,
        overload: Overload::Queue { capacity: 1 },
        deadline: None,
        frames: Some(OVERHEAD_FRAMES),
        cpus: Vec::new(),
        waiting: Release::Sleep,
        seed: 0,
    })
}

fn measure_overhead(overhead: &mut Live, stop: &AtomicBool, notes: &Sender<Event>) {
    let epoch = RealClock.now();
    let plan = PhasePlan {
        phase: Phase::Overhead,
        epoch,
        measured_from: epoch,
        end: epoch + Nanos::from_secs(1),
    };
    let end = std::thread::scope(|scope| {
        // On a thread of its own, because a runner changes the timers of the thread that it runs on.
        scope
            .spawn(|| {
                overhead.runner.run(
                    plan,
                    &RealClock,
                    stop,
                    &mut overhead.front,
                    &mut overhead.back,
                    notes,
                )
            })
            .join()
    });
    if let Ok(end) = end {
        let _ = notes.send(Event::Phase(end));
    }
}

/// Waits with only the samplers running. Idle power itself needs a power sensor, which this version cannot
/// read: it says so instead of leaving a silent gap.
fn idle_baseline(idle: Nanos, stop: &AtomicBool, notes: &Sender<Event>) {
    let _ = notes.send(Event::Finding(Finding {
        code: "idle-power-not-measured".to_owned(),
        tenant: None,
        message: "baseline.idle was asked for, and no power sensor can be read by this version".to_owned(),
        advice: "leave baseline.idle out; energy per frame is not reported".to_owned(),
    }));
    let until = RealClock.now() + idle;
    while RealClock.now() < until && !stop.load(Ordering::Relaxed) {
        RealClock.sleep_until(until.min(RealClock.now() + Nanos::from_millis(50)));
    }
}
