//! The findings that follow from the figures themselves: one small rule per finding. A rule decides and collects the
//! facts; `limit` turns them into text.
//!
//! A finding is only what limits the meaning of a number, because one finding makes the verdict *limited*. A broken
//! expectation is a result, not a finding. Thresholds are listed in docs/measurement.md.

use jetlag_stats::quantile::Quantile;
use jetlag_stats::share::exceeds_share;
use jetlag_stats::spells::ENOUGH;

use crate::analysis::catalogue::{
    BusyProgram, FramesLimit, Lacking, Length, Limit, More, Profiler, RunLimit, ServingLimit, SteadyLimit,
};
use crate::analysis::figures::{self, SaysNothing};
use crate::analysis::gathering::idle::HostIdle;
use crate::analysis::gathering::recorded::Recorded;
use crate::analysis::judging::case::Case;
use crate::analysis::judging::judge::Undecided;
use crate::analysis::judging::overload::overload;
use crate::analysis::judging::protection;
use crate::analysis::summary::{FrameCounts, HostSummary, Lack, Overhead, TenantSummary};
use crate::analysis::topics::latency::nodes;
use crate::analysis::topics::latency::served::{LATE_SHARE, SHORT_SHARE};
use crate::analysis::topics::latency::steady;
use crate::analysis::topics::latency::submission;
use crate::analysis::topics::latency::supply::Supply;
use crate::analysis::topics::latency::tenant::{Measured, TenantFacts};
use crate::record::{APPLICATION_BACKEND, Device, EndReason, Finding, Manifest, NOT_STARTED};
use crate::scenario::{BackendChoice, ClockKind, Scenario};
use crate::units::Nanos;

/// Load by other programs, in percent of all processors.
const OTHERS_PERCENT: f64 = 20.0;
/// jetlag's own cost as a share of the shortest median response time.
const OWN_SHARE: f64 = 0.01;

/// Everything that the rules look at.
pub(in crate::analysis) struct Evidence<'a> {
    pub(in crate::analysis) manifest: &'a Manifest,
    pub(in crate::analysis) plan: &'a Scenario,
    pub(in crate::analysis) tenants: &'a [Measured<'a>],
    pub(in crate::analysis) overhead: Option<Overhead>,
    pub(in crate::analysis) host: Option<HostSummary>,
    /// The programs that used most processor time, with their means in processors.
    pub(in crate::analysis) busiest: Vec<BusyProgram>,
    /// How awake the processors were.
    pub(in crate::analysis) idle: Option<HostIdle>,
    pub(in crate::analysis) incomplete: Option<String>,
    pub(in crate::analysis) late_after: Nanos,
    pub(in crate::analysis) undecided: Vec<Undecided>,
    /// Findings that were recorded during the run.
    pub(in crate::analysis) recorded: &'a [Finding],
}

/// Every finding that the evidence supports: the run's first, then each tenant's.
pub(in crate::analysis) fn derive(evidence: &Evidence<'_>) -> Vec<Limit> {
    let mut findings = Vec::new();
    findings.extend(truncated_file(evidence));
    findings.extend(newer_scenario(evidence.manifest));
    findings.extend(interrupted(evidence));
    let host_busy = host_busy(evidence);
    let is_busy = host_busy.is_some();
    findings.extend(host_busy);
    findings.extend(own_cost(evidence));
    for tenant in evidence.tenants {
        let Measured {
            scenario,
            summary,
            facts,
            ..
        } = tenant;
        let case = Case {
            manifest: evidence.manifest,
            plan: evidence.plan,
            scenario,
            summary,
            facts,
        };
        findings.extend(lost_records(&case));
        findings.extend(impossible_stamps(&case));
        if case.summary.frames.completed > 0 {
            findings.extend(short_run(&case, evidence.incomplete.is_some()));
            findings.extend(failed_frames(&case));
            let overload = overload(&case, is_busy && executes_on_host(summary));
            let is_overloaded = overload.is_some();
            findings.extend(overload);
            findings.extend(late_releases(&case, evidence.late_after));
            let wanders = wanders(&case);
            findings.extend(too_few_samples(
                &case,
                &evidence.undecided,
                wanders.is_some(),
                is_overloaded,
            ));
            findings.extend(wanders);
        } else {
            findings.extend(no_frames(&case, evidence));
        }
        findings.extend(steady::limit(
            &scenario.name,
            &summary.predictability.steady,
            (Recorded::of(evidence.manifest) == Recorded::Scenario).then_some(evidence.plan.warmup),
        ));
        findings.extend(no_baseline(&case));
        findings.extend(protection::not_protected(
            evidence.plan,
            scenario,
            summary.slowdown.as_ref(),
        ));
        findings.extend(profiled(&case));
        findings.extend(submission::limit(scenario, summary, evidence.idle.as_ref()));
    }
    findings.extend(undecided(evidence));
    findings
}

fn newer_scenario(manifest: &Manifest) -> Option<Limit> {
    (!manifest.unknown.is_empty()).then(|| {
        Limit::Run(RunLimit::NewerScenario {
            version: manifest.jetlag_version.clone(),
            unknown: manifest.unknown.clone(),
        })
    })
}

fn truncated_file(evidence: &Evidence<'_>) -> Option<Limit> {
    let recovered = evidence.incomplete.clone()?;
    Some(Limit::Run(RunLimit::TruncatedFile { recovered }))
}

/// Tenants end at slightly different times; that the run was interrupted is reported once.
fn interrupted(evidence: &Evidence<'_>) -> Option<Limit> {
    let planned = evidence.plan.duration;
    let was_interrupted = |facts: &&TenantFacts| {
        facts
            .together
            .is_some_and(|phase| phase.reason == EndReason::Interrupted)
    };
    let facts = evidence.tenants.iter().map(|tenant| &tenant.facts);
    let measured = facts.filter(was_interrupted).map(|facts| facts.measured).max()?;
    is_short(measured, planned).then_some(Limit::Run(RunLimit::Interrupted(Length { measured, planned })))
}

fn is_short(measured: Nanos, planned: Nanos) -> bool {
    measured.0 < (planned.0 as f64 * SHORT_SHARE) as i64
}

fn host_busy(evidence: &Evidence<'_>) -> Option<Limit> {
    // In a recording of a machine, its programs are what was recorded.
    if Recorded::of(evidence.manifest) == Recorded::Machine {
        return None;
    }
    let others_percent = evidence
        .host?
        .others_percent
        .filter(|&percent| percent > OTHERS_PERCENT)?;
    let tenants = &evidence.plan.tenants;
    Some(Limit::Run(RunLimit::HostBusy {
        others_percent,
        busiest: evidence.busiest.clone(),
        pinned: tenants.iter().all(|tenant| !tenant.cpus.is_empty()),
    }))
}

fn own_cost(evidence: &Evidence<'_>) -> Option<Limit> {
    if evidence.plan.clock == ClockKind::Virtual {
        return None;
    }
    let own_us = evidence.overhead?.p50?;
    let null = BackendChoice::Null.name();
    let tenants = evidence.tenants.iter().map(|tenant| &tenant.summary);
    let (tenant, median_us) = tenants
        .filter(|tenant| tenant.backend != null)
        .filter_map(|tenant| Some((&tenant.name, tenant.response_ms.p50.value? * 1e3)))
        .min_by(|a, b| a.1.total_cmp(&b.1))?;
    (own_us > OWN_SHARE * median_us).then(|| {
        Limit::Run(RunLimit::OwnCost {
            own_us,
            tenant: tenant.clone(),
            median_us,
        })
    })
}

fn short_run(case: &Case<'_>, truncated: bool) -> Option<Limit> {
    let (measured, planned) = (case.facts.measured, case.plan.duration);
    let Some(phase) = case.facts.together else {
        return (!truncated).then(|| case.frames(FramesLimit::EndUnknown));
    };
    let short = is_short(measured, planned);
    let length = Length { measured, planned };
    let limit = match phase.reason {
        EndReason::Failed => FramesLimit::GaveUp {
            length,
            cause: case.facts.cause.clone(),
        },
        EndReason::EndOfSource if short => FramesLimit::SourceEnded(length),
        EndReason::Duration if short => FramesLimit::CutShort(length),
        _ => return None,
    };
    Some(case.frames(limit))
}

/// A tenant that completed nothing: none of its figures is known, and the run has failed. In a run that was cut short,
/// it may only have lacked the time.
fn no_frames(case: &Case<'_>, evidence: &Evidence<'_>) -> Option<Limit> {
    let name = &case.scenario.name;
    let not_started = |known: &Finding| known.code == NOT_STARTED && known.tenant.as_ref() == Some(name);
    if evidence.recorded.iter().any(not_started) {
        return None;
    }
    let counts = case.summary.frames;
    let reason = case.facts.together.map(|phase| phase.reason);
    let cut_short = evidence.incomplete.is_some() || reason == Some(EndReason::Interrupted);
    let is_application = case.summary.backend == APPLICATION_BACKEND;
    if is_application && counts.offered == 0 && counts.failed_in_warmup == 0 && !cut_short {
        return Some(case.frames(match case.facts.in_warmup {
            0 => FramesLimit::NoBatches,
            batches => FramesLimit::AllWarmup { batches },
        }));
    }
    let is_known = is_application || counts.lost_records > 0;
    Some(case.frames(FramesLimit::None {
        counts,
        failed: counts.failed + counts.failed_in_warmup > 0 || reason == Some(EndReason::Failed),
        cause: case.facts.cause.clone(),
        excused: cut_short || is_known,
    }))
}

fn lost_records(case: &Case<'_>) -> Option<Limit> {
    let counts = case.summary.frames;
    let lost = counts.lost_records.saturating_add(case.facts.lost_elsewhere);
    (lost > 0).then(|| {
        case.frames(FramesLimit::Lost {
            lost,
            all: counts.offered.saturating_add(lost),
            detections: case.scenario.record_detections,
        })
    })
}

fn impossible_stamps(case: &Case<'_>) -> Option<Limit> {
    let impossible = case.facts.impossible;
    (impossible.count() > 0).then(|| case.frames(FramesLimit::Impossible(impossible)))
}

fn failed_frames(case: &Case<'_>) -> Option<Limit> {
    let FrameCounts {
        failed,
        offered,
        failed_in_warmup,
        ..
    } = case.summary.frames;
    (failed + failed_in_warmup > 0).then(|| {
        case.frames(FramesLimit::Failed {
            failed,
            offered,
            in_warmup: failed_in_warmup,
            cause: case.facts.cause.clone(),
        })
    })
}

/// Whether a tenant's work waits for a processor where others use them.
pub(in crate::analysis) fn executes_on_host(tenant: &TenantSummary) -> bool {
    tenant.device == Device::Host
}

fn late_releases(case: &Case<'_>, budget: Nanos) -> Option<Limit> {
    let scenario = case.plan;
    if case.summary.closed_loop || scenario.clock == ClockKind::Virtual {
        return None;
    }
    let (late, releases) = (case.facts.late_releases, case.facts.releases);
    if !exceeds_share(late, releases, LATE_SHARE) {
        return None;
    }
    let mut facts = case.manifest.machine.keys();
    Some(case.serving(ServingLimit::LateReleases {
        late,
        releases,
        budget,
        worst_ms: case.summary.lateness_ms.max.unwrap_or_default(),
        release: scenario.release,
        pinned: !case.scenario.cpus.is_empty(),
        virtual_machine: facts.any(|fact| fact.contains("virtual") || fact.contains("hypervisor")),
    }))
}

/// A queue wanders by itself; a machine's shifts and drifts are told as such.
fn wanders(case: &Case<'_>) -> Option<Limit> {
    let predictability = &case.summary.predictability;
    let wander = predictability.wander.as_ref()?;
    let told = steady::limit(&case.scenario.name, &predictability.steady, None).is_some();
    let wander = wander.clone();
    (wander.prevails() && !case.facts.waits && !told).then(|| Limit::Steady {
        tenant: case.scenario.name.clone(),
        limit: SteadyLimit::Wanders {
            wander,
            host_bound: case
                .summary
                .submitting
                .is_some_and(|it| it.host_bound == Some(true)),
        },
    })
}

/// `told`: a finding says already that the frames depend on each other; `overloaded`: one that they came too fast.
fn too_few_samples(case: &Case<'_>, undecided: &[Undecided], told: bool, overloaded: bool) -> Option<Limit> {
    let name = &case.scenario.name;
    let completed = case.summary.response_ms.count;
    let asked = undecided.iter().filter_map(|line| {
        let expectation = line.expectation.as_ref().ok()?;
        let is_own = expectation.tenant() == Some(name.as_str());
        figures::sample(expectation.key(), case.summary).filter(|_| is_own)
    });
    // A quantile without an interval says so in its own place. A finding is due only if an expectation needs it, or if there are
    // too few frames even for p90.
    let headline = figures::QuantileSupport {
        quantile: Quantile::P90,
        count: completed,
        lacks: case.summary.response_ms.p90.lack,
    };
    let wanting = asked.chain([headline]).filter(|sample| sample.lacks.is_some());
    let sample = wanting
        .max_by_key(|sample| sample.lacks)
        .filter(|sample| !(told && sample.depends()))?;
    let measured = case.facts.measured.as_secs_f64();
    let more = match sample.lacks? {
        // More time is no advice where nobody would wait for it.
        lack if sample.depends() && lack.seconds(sample.count, measured).is_none() => {
            match case.facts.waits {
                true => More::ShorterQueue,
                false => More::Steadier,
            }
        }
        Lack::Frames(needs) => match longer(case, needs, sample.count) {
            // So few of its frames are served that nobody would wait for enough of them.
            More::Seconds { seconds, .. } if overloaded && seconds > Lack::PATIENCE => More::LessLoad,
            more => more,
        },
        Lack::Spells(seen) => longer(
            case,
            sample.count * u64::from(ENOUGH) / u64::from(seen),
            sample.count,
        ),
        Lack::Wanders => More::Steadier,
    };
    let autocorrelation = case.summary.predictability.autocorrelation;
    Some(case.frames(FramesLimit::TooFew {
        sample,
        more,
        alike: autocorrelation.is_none_or(|correlation| correlation > 0.0),
    }))
}

/// What increases `has` frames to `needs`: a higher limit where their number was limited, else more time.
fn longer(case: &Case<'_>, needs: u64, has: u64) -> More {
    let scenario = case.plan;
    let planned = scenario.duration.as_secs_f64();
    let supply = Supply::of(case.scenario, case.summary, case.facts.measured, has);
    let offered = supply.released_for(needs);
    let limited = case.scenario.frames.is_some_and(|limit| (limit as f64) < offered);
    let enough = supply
        .seconds_for(needs)
        .filter(|enough| (1.0..=1e9).contains(enough));
    match enough {
        // There is no field that could be set.
        seconds if Recorded::of(case.manifest) == Recorded::Program => More::Recording { seconds },
        _ if limited => More::Frames {
            offered,
            seconds: enough.filter(|enough| *enough > planned),
        },
        None => More::Time,
        Some(seconds) if seconds <= planned && is_short(case.facts.measured, scenario.duration) => {
            More::Patience { seconds }
        }
        // It lasted as long as planned and still had too few.
        Some(enough) => More::Seconds {
            seconds: enough.max((planned + 1.0).ceil()),
        },
    }
}

fn no_baseline(case: &Case<'_>) -> Option<Limit> {
    let has_others = case.plan.tenants.len() > 1;
    let wanted = case.plan.baseline.alone && has_others && case.summary.frames.offered > 0;
    (wanted && case.facts.alone == 0).then(|| case.frames(FramesLimit::NoBaseline))
}

/// Also if the record has no nodes (it was cut off before they were written): frames were slower all the same.
fn profiled(case: &Case<'_>) -> Option<Limit> {
    let backend = &case.scenario.backend;
    let asked = matches!(
        backend,
        BackendChoice::Cpu { profile: true, .. }
            | BackendChoice::TensorRt { profile: true, .. }
            | BackendChoice::OnnxRuntime { profile: true, .. }
    );
    let by = match backend {
        BackendChoice::OnnxRuntime { .. } => Profiler::Stamps(nodes::time_of(backend)),
        _ => Profiler::OneAtATime,
    };
    (asked || !case.summary.nodes.is_empty()).then(|| {
        case.serving(ServingLimit::Profiled {
            by,
            beside_others: case.plan.tenants.len() > 1,
        })
    })
}

/// Expectations that no other finding explains: lines that cannot be parsed, and figures that this run does not have.
fn undecided(evidence: &Evidence<'_>) -> Vec<Limit> {
    let unexplained = evidence.undecided.iter().filter_map(|line| {
        let expectation = match &line.expectation {
            Ok(expectation) => expectation,
            Err(error) => {
                return Some(Limit::Run(RunLimit::UnreadableExpectation {
                    line: line.text.clone(),
                    error: error.clone(),
                }));
            }
        };
        let key = expectation.key();
        let Some(name) = expectation.tenant() else {
            let absent = line.absent.clone()?;
            return Some(Limit::Run(RunLimit::MachineUnknown {
                line: line.text.clone(),
                absent,
            }));
        };
        let mut tenants = evidence.tenants.iter().map(|tenant| &tenant.summary);
        let tenant = tenants.find(|tenant| tenant.name == name);
        let explained = tenant.is_some_and(|tenant| {
            let sample = figures::sample(key, tenant);
            tenant.response_ms.count == 0 || sample.is_some_and(|sample| sample.lacks.is_some())
        });
        let says_nothing = tenant.and_then(|tenant| figures::says_nothing(key, tenant));
        let needs = tenant.and_then(|tenant| Some((expectation.needs(tenant)?, tenant.frames.offered)));
        let lacking = match (says_nothing, figures::is_slowdown(key)) {
            (None, _) if let Some((needs, has)) = needs => Lacking::Misses { needs, has },
            (Some(SaysNothing::NoDeadline), _) => Lacking::Deadline,
            (Some(SaysNothing::ClosedLoop), _) => Lacking::Schedule,
            (None, true) if !evidence.plan.baseline.alone => Lacking::Baseline,
            (None, true) => match tenant.and_then(|tenant| tenant.slowdown.as_ref()?.withheld.clone()) {
                Some(withheld) => Lacking::Slowdown {
                    why: withheld.message,
                },
                None => Lacking::Frames,
            },
            (None, false) => Lacking::Figure,
        };
        (!explained).then(|| {
            Limit::Run(RunLimit::UndecidedExpectation {
                tenant: name.to_owned(),
                line: line.text.clone(),
                lacking,
            })
        })
    });
    unexplained.collect()
}
