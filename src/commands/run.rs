//! `jetlag run` and `jetlag demo`: from a scenario to a run file and its summary.
//!
//! The order is the design's: resolve and check everything; open engines and sources; open the run file;
//! measure jetlag's own cost; baselines; all tenants from one epoch; then the summary, computed from the
//! file by the same code as `jetlag report`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;

use super::prepare::{self, Prepared};
use super::progress::Progress;
use super::{Outcome, WrongUse, report, say};
use crate::backend::null::NullBackend;
use crate::backend::{Backend, Program};
use crate::board;
use crate::cli::RunOptions;
use crate::clock::{Clock, RealClock};
use crate::embedded;
use crate::record::writer::RunWriter;
use crate::record::{Event, Finding, Manifest, OVERHEAD_TENANT, Phase, PhaseRecord};
use crate::scenario::{self, Arrival, BackendChoice, ClockKind, Overload, Release, ResolveEnv, Scenario};
use crate::source::empty::EmptySource;
use crate::telemetry::{self, host::Host};
use crate::tenant::pipeline::{PhasePlan, Runner};
use crate::tenant::recorder::Recorder;
use crate::tenant::recording::{self, RecordFeed, RecordSink};
use crate::tenant::simulate::{self, SimTenant};
use crate::units::{Nanos, Stamp};

/// Where the scenario comes from.
pub enum Origin {
    /// A file.
    File(PathBuf),
    /// The one in the binary.
    Demo,
}

/// Frames of the null tenant.
const OVERHEAD_FRAMES: u64 = 2_000;
/// Between the call to start and the common epoch: time for every thread to be there.
const LEAD: Nanos = Nanos::from_millis(20);

/// Runs a scenario.
pub fn run(origin: Origin, options: RunOptions) -> anyhow::Result<Outcome> {
    let scenario = resolve(&origin, &options.sets)?;
    if options.dry_run {
        let shown =
            serde_json::to_string_pretty(&scenario).context("the resolved scenario cannot be shown")?;
        super::print(&(shown + "\n"));
        return Ok(Outcome::Done);
    }
    for tenant in &scenario.tenants {
        if let Some(reason) = &tenant.backend_reason {
            log::info!("tenant {}: {reason}", tenant.name);
        }
    }
    let prepared = prepare::all(&scenario).map_err(|problems| WrongUse(problems.join("\n       ")))?;
    let path = run_file(&scenario, options.out.as_deref())?;
    let manifest = manifest(&scenario, &prepared);
    let writer = RunWriter::create(&path, &manifest)?;
    let stop = stop_on_signals()?;
    let ended = match scenario.clock {
        ClockKind::Virtual => simulated(&scenario, writer),
        ClockKind::Real => live(&scenario, prepared, writer, &stop, options.quiet),
    };
    if let Err(error) = ended {
        say(&format!(
            "what was recorded before is kept: jetlag report {}",
            path.display()
        ));
        return Err(error);
    }
    let outcome = report::run(&path, options.format)?;
    Ok(if stop.load(Ordering::Relaxed) {
        Outcome::Interrupted
    } else {
        outcome
    })
}

fn resolve(origin: &Origin, sets: &[String]) -> anyhow::Result<Scenario> {
    let env = ResolveEnv::of_this_machine();
    let resolved = match origin {
        Origin::File(path) => scenario::load(path, sets, &env),
        Origin::Demo => {
            // The same scenario, with the detectors that the binary carries.
            let mut all: Vec<String> = embedded::detector_names()
                .map(|name| format!("tenants.{name}.detector=\"builtin:{name}\""))
                .collect();
            all.extend(sets.iter().cloned());
            scenario::from_str(embedded::DEMO_SCENARIO, "demo", Path::new("."), &all, &env)
        }
    };
    Ok(resolved.map_err(|problems| WrongUse(problems.to_string()))?)
}

/// The first Ctrl-C or SIGTERM sets the flag, the second ends the program at once.
fn stop_on_signals() -> anyhow::Result<Arc<AtomicBool>> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // Order matters: the second signal finds the flag that the first one set.
        signal_hook::flag::register_conditional_shutdown(signal, 130, stop.clone())
            .and_then(|_| signal_hook::flag::register(signal, stop.clone()))
            .context("cannot listen for Ctrl-C")?;
    }
    Ok(stop)
}

fn run_file(scenario: &Scenario, asked: Option<&Path>) -> anyhow::Result<PathBuf> {
    let path = match asked {
        Some(path) => path.to_owned(),
        None => {
            let seconds = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |d| d.as_secs());
            Path::new("runs").join(format!("{}-{}.mcap", scenario.name, compact_utc(seconds)))
        }
    };
    if let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {} for the run file", folder.display()))?;
    }
    Ok(path)
}

/// `20261121-140509`: UTC, by the civil-from-days algorithm of Howard Hinnant.
fn compact_utc(unix_seconds: u64) -> String {
    let (days, second) = (unix_seconds / 86_400, unix_seconds % 86_400);
    let z = days as i64 + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    format!(
        "{year:04}{month:02}{day:02}-{:02}{:02}{:02}",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

fn manifest(scenario: &Scenario, prepared: &[Prepared]) -> Manifest {
    let (anchor, anchor_unix_ns) = match scenario.clock {
        ClockKind::Virtual => (Stamp(0), 0),
        ClockKind::Real => {
            let unix = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |d| d.as_nanos());
            (RealClock.now(), unix as i64)
        }
    };
    Manifest {
        schema_major: crate::record::SCHEMA_MAJOR,
        schema_minor: crate::record::SCHEMA_MINOR,
        jetlag_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: std::env::args().collect(),
        scenario: scenario.clone(),
        tenants: prepared.iter().map(|p| p.manifest.clone()).collect(),
        machine: board::facts(&board::Roots::system()),
        anchor,
        anchor_unix_ns,
    }
}

/// The phases of a run in order: which tenants, and under which name.
fn phases(scenario: &Scenario) -> Vec<(Phase, Vec<usize>)> {
    let everyone: Vec<usize> = (0..scenario.tenants.len()).collect();
    let alone = everyone
        .iter()
        .filter(|_| scenario.baseline.alone)
        .map(|&n| (Phase::Alone, vec![n]));
    alone.chain([(Phase::Together, everyone.clone())]).collect()
}

/// All phases under the virtual clock: no threads, no waiting.
fn simulated(scenario: &Scenario, mut writer: RunWriter) -> anyhow::Result<()> {
    let tenants: Vec<SimTenant> = scenario
        .tenants
        .iter()
        .enumerate()
        .filter_map(|(number, tenant)| match &tenant.backend {
            BackendChoice::Sim(model) => Some(SimTenant {
                tenant: number as u16,
                model: model.clone(),
                arrival: tenant.arrival,
                overload: tenant.overload,
                deadline: tenant.deadline,
                depth: tenant.depth,
                frames: tenant.frames,
                seed: prepare::seed(scenario, number),
            }),
            // Resolve refuses others under the virtual clock.
            _ => None,
        })
        .collect();
    let mut epoch = Stamp(0);
    for (phase, members) in phases(scenario) {
        let plan = plan_of(scenario, phase, epoch);
        let members: Vec<SimTenant> = members.iter().filter_map(|&n| tenants.get(n).cloned()).collect();
        let mut outcome = Ok(());
        let ends = simulate::run(&members, scenario.sim_contention, plan, |record| {
            if outcome.is_ok() {
                outcome = writer.frame(record).and_then(|()| writer.tick(record.finished));
            }
        });
        outcome?;
        for end in &ends {
            writer.phase(end)?;
        }
        epoch = plan.end + Nanos::from_secs(1);
    }
    writer.finish()?;
    Ok(())
}

fn plan_of(scenario: &Scenario, phase: Phase, epoch: Stamp) -> PhasePlan {
    let measured_from = epoch + scenario.warmup;
    PhasePlan {
        phase,
        epoch,
        measured_from,
        end: measured_from + scenario.duration,
    }
}

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

/// All phases against the real clock.
fn live(
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
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let recording = scope.spawn(|| recorder.run(&clock, &done, stop));
        let sampling = scope.spawn({
            let notes = notes.clone();
            let done = &done;
            move || {
                let host = Host::new(scenario.telemetry.interval, Path::new("/proc"), Path::new("/sys"));
                let emit = &mut |event| {
                    let _ = notes.send(event);
                };
                telemetry::sampler_loop(vec![Box::new(host)], &RealClock, RealClock.now(), done, emit);
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
        done.store(true, Ordering::Release);
        recording.thread().unpark();
        // A sampler that panicked has left its samples; the record is what counts.
        let _ = sampling.join();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_files_are_named_by_utc_time() {
        assert_eq!(compact_utc(0), "19700101-000000");
        assert_eq!(compact_utc(951_826_145), "20000229-120905");
        assert_eq!(compact_utc(1_795_270_000), "20261121-140640");
    }
}
