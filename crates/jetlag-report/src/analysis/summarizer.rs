//! Collects a run's events one by one and computes the [`Summary`] from them.

use std::collections::HashSet;

use crate::analysis::code::Code;
use crate::analysis::explained;
use crate::analysis::figures::Run;
use crate::analysis::finding::Finding;
use crate::analysis::gathering::failures::Failures;
use crate::analysis::gathering::idle::HostIdle;
use crate::analysis::gathering::plan;
use crate::analysis::gathering::plot::{self, Drawn};
use crate::analysis::gathering::recorded::Recorded;
use crate::analysis::gathering::series::Series;
use crate::analysis::gathering::stamps::StampCheck;
use crate::analysis::gathering::traced::Traced;
use crate::analysis::gathering::track::Tracks;
use crate::analysis::gathering::watch::Watch;
use crate::analysis::judging::findings;
use crate::analysis::judging::judge::judge;
use crate::analysis::stats;
use crate::analysis::summary::{Overhead, RunSummary, SCHEMA, Summary, TenantSummary, Verdict};
use crate::analysis::topics::causes::clocks;
use crate::analysis::topics::causes::conditions;
use crate::analysis::topics::causes::host::HostReadings;
use crate::analysis::topics::causes::memory;
use crate::analysis::topics::causes::outliers;
use crate::analysis::topics::duty;
use crate::analysis::topics::inputs::outputs;
use crate::analysis::topics::interference::{self, Phases};
use crate::analysis::topics::latency::failed;
use crate::analysis::topics::latency::tenant::{self, Gathered, Measured, Samples};
use crate::analysis::topics::phases;
use crate::analysis::topics::power::attribution;
use crate::analysis::topics::power::budget;
use crate::analysis::topics::power::rails::{self, Power};
use crate::analysis::topics::power::sampling;
use crate::analysis::topics::power::sensors;
use crate::analysis::topics::traces::critical::Member;
use crate::analysis::topics::traces::drawn;
use crate::analysis::topics::traces::kernels;
use crate::analysis::topics::traces::observer;
use crate::record::{
    self, Event, IDLE_WINDOW, Manifest, OVERHEAD_TENANT, Outcome, PROCESSES_FACT, Phase, RECORDING_WINDOW,
    WindowRecord,
};
use crate::scenario::{ClockKind, Release, Scenario};
use crate::units::{Nanos, Stamp};
/// Durations that are kept as they are, 8 bytes each, before series turn into histograms: about 900 000
/// frames, which is a night at 30 Hz.
const EXACT_DURATIONS: u64 = 8 << 20;

/// Collects a run's events and computes its [`Summary`].
///
/// Memory does not grow with the run: up to eight million durations are kept exactly, and beyond that each
/// series holds bins (at most 1/8 192 of their value wide) of some hundred kilobytes.
pub struct Summarizer {
    manifest: Manifest,
    plan: Scenario,
    tenants: Vec<Gathered>,
    stamps: StampCheck,
    watch: Watch,
    overhead: Series,
    host: HostReadings,
    tracks: Tracks,
    windows: Vec<WindowRecord>,
    phases: Phases,
    failures: Failures,
    traced: Traced,
    recorded: Vec<record::Finding>,
    late_after: Nanos,
    kept: u64,
    exact_limit: u64,
    draws_frames: bool,
    course: Option<plot::Gatherer>,
    budget_mw: Option<f64>,
}

impl Summarizer {
    /// A summarizer for a run of this manifest.
    pub fn new(manifest: &Manifest) -> Self {
        let plan = plan::of(manifest);
        Summarizer {
            tenants: (0..plan.tenants.len())
                .map(|number| {
                    manifest
                        .tenants
                        .get(number)
                        .map_or_else(Gathered::default, |tenant| {
                            Gathered::of(tenant, plan.tenants.len())
                        })
                })
                .collect(),
            stamps: StampCheck::new(manifest),
            watch: Watch::new(plan.tenants.len()),
            overhead: Series::default(),
            host: HostReadings::default(),
            tracks: Tracks::default(),
            windows: Vec::new(),
            phases: Phases::default(),
            failures: Failures::default(),
            traced: Traced::default(),
            recorded: Vec::new(),
            late_after: release_budget(plan.release),
            kept: 0,
            exact_limit: EXACT_DURATIONS,
            draws_frames: false,
            course: None,
            budget_mw: None,
            manifest: manifest.clone(),
            plan,
        }
    }

    /// Has what only a page draws gathered: which frames ran when, and traced frames, chosen and laid out, which take a walk through
    /// the whole trace.
    pub fn draw_frames(&mut self) {
        self.draws_frames = true;
        self.course = Some(plot::Gatherer::new(self.tenants.len()));
    }

    /// Holds the total power against a budget.
    pub fn power_budget(&mut self, limit_mw: f64) {
        self.budget_mw = Some(limit_mw);
    }

    /// Adds an event. Events of tenants that the manifest does not list are ignored, and so are frames whose stamps cannot be true.
    pub fn push(&mut self, event: &Event) {
        if !self.stamps.passes(event) {
            return;
        }
        match event {
            // Tracing takes time: nothing of a traced phase is in any other figure, but where the measurement itself was traced.
            Event::Frame(frame) if self.traced.frame(frame) && frame.phase != Phase::Together => {}
            Event::Frame(frame) => {
                let exact = self.kept < self.exact_limit;
                if frame.tenant == OVERHEAD_TENANT || frame.phase == Phase::Overhead {
                    if frame.outcome == Outcome::Completed && !frame.warmup {
                        self.overhead.push(frame.response(), exact);
                        self.kept += 1;
                    }
                } else if let Some(tenant) = self.tenants.get_mut(usize::from(frame.tenant)) {
                    self.kept += tenant.frame(frame, self.late_after, exact);
                    self.kept += self.phases.frame(frame, self.late_after, exact);
                    self.watch.frame(frame);
                    if let Some(course) = &mut self.course {
                        course.frame(frame);
                    }
                    self.failures.frame(frame);
                }
            }
            Event::Phase(phase) if self.traced.end(phase) && phase.phase != Phase::Together => {}
            Event::Phase(phase) => {
                if let Some(tenant) = self.tenants.get_mut(usize::from(phase.tenant)) {
                    tenant.phase(phase);
                    self.phases.phase(phase);
                }
            }
            Event::Node(node) if self.traced.has(node.phase) && node.phase != Phase::Together => {}
            Event::Node(node) => {
                if let Some(tenant) = self.tenants.get_mut(usize::from(node.tenant)) {
                    tenant.node(node);
                }
            }
            Event::Output(output) => {
                if let Some(tenant) = self.tenants.get_mut(usize::from(output.tenant)) {
                    tenant.output(output);
                }
            }
            Event::Sample(sample) => {
                let measurand = self.tracks.sample(sample);
                self.host.sample(measurand, sample);
            }
            Event::Signal(signal) => self.tracks.signal(signal),
            Event::Window(window) => self.windows.push(window.clone()),
            Event::Finding(finding) => self.recorded.push(finding.clone()),
            Event::PhaseSpec(spec) if spec.traced => self.traced.spec(spec),
            Event::PhaseSpec(spec) => self.phases.spec(spec),
            Event::Log(line) => self.failures.log(line),
            Event::Activities(batch) => self.traced.activities(batch),
            Event::Definition(definition) => self.traced.definition(definition),
            Event::Trace(trace) => self.traced.trace(trace),
            Event::Range(range) => {
                if let Some(tenant) = self.tenants.get_mut(usize::from(range.tenant)) {
                    tenant.range(range);
                }
            }
            Event::Detections(_) | Event::Work(_) => {}
        }
    }

    /// The summary. `incomplete` is the reader's sentence on how much it could read, if the file was cut short.
    pub fn finish(mut self, incomplete: Option<String>) -> Summary {
        let exact = self.kept <= self.exact_limit;
        let scenario = &self.plan;
        let tracks = self.tracks.finish();
        let (mut tenants, samples): (Vec<Measured<'_>>, Vec<Samples>) = self
            .tenants
            .into_iter()
            .zip(&scenario.tenants)
            .zip(&self.manifest.tenants)
            .zip(self.manifest.devices())
            .map(|(((gathered, scenario), manifest), device)| {
                gathered.finish(scenario, manifest, device, &tracks)
            })
            .unzip();
        self.phases.settle(samples);
        for (
            Measured {
                summary,
                facts,
                drawn,
                ..
            },
            number,
        ) in tenants.iter_mut().zip(0..)
        {
            summary.slowdown = self.phases.slowdown(number);
            let measured = self.phases.sample(Phase::Together, number);
            if let Some(alone) = self.phases.alone(number) {
                facts.alone = alone.distribution.count();
                if let Some(together) = measured {
                    drawn.beside(&together.distribution, &alone.distribution);
                }
            }
            facts.lost_elsewhere = self.phases.lost(number);
            facts.impossible = self.stamps.found(usize::from(number));
            let failures = &self.failures;
            facts.cause = failures.cause(Phase::Together, number, &summary.name, facts.together.as_ref());
        }
        let windows = Windows(&self.windows);
        // A run that was killed has no record of its end: the last timestamps show how long it was.
        let window = measured_window(&tenants)
            .or_else(|| windows.named(RECORDING_WINDOW))
            .or_else(|| seen(&tenants))
            .or_else(|| tracks.span());
        for (Measured { summary, facts, .. }, manifest) in tenants.iter_mut().zip(&self.manifest.tenants) {
            let (taken, together) = (manifest.memory.as_ref(), facts.together.as_ref());
            summary.memory = memory::summarize(taken, together, summary.device, &tracks, window);
        }
        outliers::explain(&self.watch.finish(), &mut tenants, &tracks, window);
        let mut power = window.map_or_else(Power::default, |window| {
            let asked_idle = scenario.baseline.idle.is_some() && scenario.clock == ClockKind::Real;
            rails::summarize(&tracks, window, windows.named(IDLE_WINDOW), asked_idle)
        });
        if let Some(energy) = &mut power.energy {
            attribution::attribute(energy, &power.rails, &power.parts, &mut tenants);
        }
        let overhead_us = overhead(self.overhead);
        let host = window.and_then(|(from, to)| self.host.finish(from, to));
        let phases = phases::summarize(scenario, &self.phases);
        self.traced.settle();
        let mut kernels = kernels::summarize(&self.traced, scenario);
        let observer = observer::summarize(&self.traced, &mut kernels, scenario, &self.phases);
        let sensors = window.map_or_else(Vec::new, |window| sensors::summarize(&tracks, window));
        let run = Run {
            tenants: tenants.iter().map(|tenant| &tenant.summary).collect(),
            rails: &power.rails,
            energy: power.energy.as_ref(),
            sensors: &sensors,
            host: host.as_ref(),
        };
        let (mut expectations, undecided) = judge(&scenario.expect, &run);
        let promises = self.manifest.tenants.iter().zip(&tenants);
        expectations
            .extend(promises.filter_map(|(manifest, tenant)| outputs::promise(manifest, &tenant.summary)));
        let budget = self.budget_mw.map(|limit| {
            let why = power.why_no_total();
            budget::judge(limit, power.total.as_ref(), window, why)
        });
        let mut limits = findings::derive(&findings::Evidence {
            busiest: window.map_or_else(Vec::new, |window| conditions::busiest(&tracks, window)),
            idle: window.and_then(|window| HostIdle::of(&tracks, window)),
            manifest: &self.manifest,
            plan: scenario,
            tenants: &tenants,
            overhead: overhead_us,
            host,
            incomplete,
            late_after: self.late_after,
            undecided,
            recorded: &self.recorded,
        });
        limits.extend(phases::limits(scenario, &phases, |phase, number| {
            let (name, tenant) = (&tenants.get(number)?.summary.name, u16::try_from(number).ok()?);
            self.failures.cause(phase, tenant, name, None)
        }));
        if let Some(window) = window {
            let used = clocks::Used::by(tenants.iter().map(|tenant| tenant.summary.device));
            limits.extend(conditions::derive(&tracks, window, used));
        }
        limits.extend(power.limits);
        limits.extend(observer::limits(
            kernels.as_ref(),
            observer.as_ref(),
            &self.traced,
            &self.recorded,
        ));
        // Frames that a board's own guard slows down are no tenant's: nothing else that is found says as much.
        // Next come other programs, from which much else follows, and a machine whose speed wanders: it decides how wide all
        // intervals are.
        limits.sort_by_key(|limit| match limit.code() {
            Code::OverCurrent => 0,
            Code::HostBusy => 1,
            Code::Wanders => 2,
            _ => 3,
        });
        let findings = merge(self.recorded, limits.into_iter().map(Finding::from));
        let is_busy = findings
            .iter()
            .any(|finding| finding.code == Code::HostBusy.word());
        for Measured { summary, facts, .. } in &mut tenants {
            summary.waterfall.waits_for_processors = is_busy && findings::executes_on_host(summary);
            summary.failed = failed::of(
                summary,
                &findings,
                facts.together.as_ref(),
                facts.cause.as_deref(),
            );
        }
        let on_host = tenants.iter().map(|tenant| &tenant.summary);
        let on_host = on_host.filter(|tenant| findings::executes_on_host(tenant));
        let on_host: HashSet<&str> = on_host.map(|tenant| tenant.name.as_str()).collect();
        let (findings, explained) = explained::apart(findings, &on_host);
        let measured = tenants
            .iter()
            .map(|tenant| tenant.facts.measured)
            .max()
            .or(window.map(|(from, to)| to - from))
            .unwrap_or(Nanos::ZERO);
        let (tenants, drawn): (Vec<TenantSummary>, Vec<Drawn>) = tenants
            .into_iter()
            .map(|tenant| (tenant.summary, tenant.drawn))
            .unzip();
        let mut plots = plot::plots(drawn.into_iter(), &tracks, window);
        if let (Some(course), Some(window)) = (self.course, window) {
            plots.course = Some(course.finish(window, &tracks, slowest(&tenants)));
        }
        if self.draws_frames {
            let members = Member::of_run(&self.manifest);
            plots.traced = drawn::drawn(&self.traced, &members);
        }
        Summary {
            schema: SCHEMA,
            run: RunSummary {
                name: self.manifest.name().to_owned(),
                file: None,
                duration_s: measured.as_secs_f64(),
                verdict: if findings.is_empty() {
                    Verdict::Valid
                } else {
                    Verdict::Limited
                },
                findings,
                explained,
                overhead_us,
                latency: "span from release",
                clock: match scenario.clock {
                    ClockKind::Real => "real",
                    ClockKind::Virtual => "virtual",
                },
                processes: self.manifest.machine.get(PROCESSES_FACT).cloned(),
                exact,
                sampling: window.and_then(|window| sampling::summarize(&tracks, window)),
                recorded: Recorded::of(&self.manifest),
            },
            tenants,
            power: power.rails,
            expectations,
            host,
            energy: power.energy,
            interference: interference::summarize(scenario, Recorded::of(&self.manifest), &self.phases),
            duty_cycle: duty::summarize(scenario, &self.phases, &tracks),
            phases,
            sensors,
            budget,
            kernels,
            observer,
            plots,
        }
    }
}

/// The frames around which the course of the run is drawn: of each tenant those beyond its usual spread, else its slowest.
fn slowest(tenants: &[TenantSummary]) -> impl Iterator<Item = plot::Slow> {
    tenants.iter().enumerate().flat_map(|(tenant, summary)| {
        let numbered = (1..).zip(&summary.slowest);
        let chosen = numbered.filter(|(number, slow)| *number == 1 || slow.beyond_spread);
        chosen.map(move |(number, slow)| plot::Slow {
            tenant,
            number,
            sequence: slow.sequence,
            at_s: slow.at_s,
            response_ms: slow.response_ms,
        })
    })
}

/// The stretches of time that have names.
struct Windows<'a>(&'a [WindowRecord]);

impl Windows<'_> {
    /// The latest of this name.
    fn named(&self, name: &str) -> Option<(Stamp, Stamp)> {
        let window = self.0.iter().rfind(|window| window.name == name)?;
        Some((window.from, window.to))
    }
}

/// jetlag's own cost, from the response times of the null tenant.
fn overhead(own: Series) -> Option<Overhead> {
    let own = tenant::overhead(own)?;
    let figures = stats::stats(&own, &own.dependence(&[]));
    let micros = |ms: Option<f64>| ms.map(|ms| stats::six_decimals(ms * 1e3));
    Some(Overhead {
        p50: micros(figures.p50.value),
        p99: micros(figures.p99.value),
    })
}

/// How late a release may be: what an absolute timer achieves on a quiet machine, and what spinning achieves.
fn release_budget(release: Release) -> Nanos {
    match release {
        Release::Sleep => Nanos::from_micros(200),
        Release::Spin => Nanos::from_micros(50),
    }
}

/// From the first tenant's start of measurement to the last one's end.
fn measured_window(tenants: &[Measured<'_>]) -> Option<(Stamp, Stamp)> {
    let phases = || tenants.iter().filter_map(|tenant| tenant.facts.together);
    let from = phases().map(|phase| phase.measured_from).min()?;
    let to = phases().map(|phase| phase.measured_to).max()?;
    Some((from, to))
}

/// From the first release of any tenant to the last timestamp.
fn seen(tenants: &[Measured<'_>]) -> Option<(Stamp, Stamp)> {
    let spans = || tenants.iter().filter_map(|tenant| tenant.facts.seen);
    let from = spans().map(|(from, _)| from).min()?;
    let to = spans().map(|(_, to)| to).max()?;
    Some((from, to))
}

/// The findings of the run's record and of the analysis, each once.
fn merge(recorded: Vec<record::Finding>, derived: impl Iterator<Item = Finding>) -> Vec<Finding> {
    let mut seen = HashSet::new();
    let mut findings: Vec<Finding> = recorded
        .into_iter()
        .filter(|finding| {
            seen.insert((
                finding.code.clone(),
                finding.tenant.clone(),
                finding.message.clone(),
            ))
        })
        .map(Finding::from)
        .collect();
    let known: HashSet<(String, Option<String>)> = findings
        .iter()
        .map(|finding| (finding.code.clone(), finding.tenant.clone()))
        .collect();
    findings
        .extend(derived.filter(|finding| !known.contains(&(finding.code.clone(), finding.tenant.clone()))));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::FrameRecord;
    use crate::scenario::{BackendChoice, Tenant};

    fn manifest() -> Manifest {
        let scenario = Scenario {
            tenants: vec![Tenant::of_backend("a", BackendChoice::Null)],
            ..Scenario::empty("made")
        };
        Manifest {
            schema_major: 1,
            schema_minor: 0,
            subject: scenario.into(),
            machine: std::collections::BTreeMap::new(),
            anchor: Stamp(0),
            ..Manifest::default()
        }
    }

    fn frame(tenant: u16, phase: Phase) -> FrameRecord {
        FrameRecord {
            tenant,
            phase,
            ..FrameRecord::completed(Stamp(0), Stamp(10))
        }
    }

    #[test]
    fn durations_are_counted_as_they_are_kept_so_that_memory_has_an_end() {
        let mut summarizer = Summarizer::new(&manifest());
        let mut kept = |frame: FrameRecord| {
            let before = summarizer.kept;
            summarizer.push(&Event::Frame(frame));
            (summarizer.kept - before, summarizer.overhead.count())
        };
        // Lateness, response and service, and as many for the waterfall.
        assert_eq!(kept(frame(0, Phase::Together)), (6, 0));
        assert_eq!(kept(frame(0, Phase::Together)), (6, 0));
        assert_eq!(kept(frame(0, Phase::Other(3))).0, 1);
        // jetlag's own cost is that of its own tenant, in whatever phase, and of the phase in which it is measured.
        assert_eq!(kept(frame(OVERHEAD_TENANT, Phase::Overhead)), (1, 1));
        assert_eq!(kept(frame(OVERHEAD_TENANT, Phase::Together)), (1, 2));
        assert_eq!(kept(frame(0, Phase::Overhead)), (1, 3));
        let mut other = frame(OVERHEAD_TENANT, Phase::Overhead);
        other.warmup = true;
        assert_eq!(kept(other), (0, 3));
        other.warmup = false;
        other.outcome = Outcome::Dropped;
        assert_eq!(kept(other), (0, 3));
    }
}
