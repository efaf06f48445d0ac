//! What the figures themselves say of their limits: one small rule a finding, each with its figure and,
//! knowing what the scenario already does, with what to do about it.
//!
//! Only what limits the meaning of a number is a finding, because one finding makes the verdict *limited*.
//! That a promise was broken is a result, not a finding. Thresholds are listed in docs/measurement.md.

use super::Undecided;
use super::binomial::exceeds_share;
use super::idle::HostIdle;
use super::protection;
use super::quantile::Quantile;
use super::steady;
use super::submission;
use super::summary::{
    FrameCounts, HostSummary, LOST_RECORDS, NO_FRAMES, Overhead, Stage, TRUNCATED_FILE, TenantSummary,
};
use super::tenant::TenantFacts;
use crate::record::{APPLICATION_BACKEND, EndReason, Finding, Manifest, NOT_STARTED};
use crate::scenario::{Arrival, BackendChoice, ClockKind, Overload, Release, Tenant};
use crate::units::Nanos;

/// Share of releases that may be later than the budget.
pub(super) const LATE_SHARE: f64 = 0.001;
/// Share of frames dropped above which p99 of the served ones says little about those offered.
const DROPPED_SHARE: f64 = 0.01;
/// Demand on a serial tenant below which drops come from stalls and not from the rate.
const KEEPS_UP: f64 = 0.8;
/// Completed frames from which on a demand is told from a chance.
const DEMAND_FRAMES: u64 = 11;
/// Standard errors that a mean is beyond its estimate on one side in one case of twenty.
const ONE_SIDED_95: f64 = 1.645;
/// Measured time below this share of the duration is a short run.
pub(super) const SHORT_SHARE: f64 = 0.99;
/// Load by other programs, in percent of all processors.
const OTHERS_PERCENT: f64 = 20.0;
/// jetlag's own cost as a share of the shortest median response time.
const OWN_SHARE: f64 = 0.01;

/// All that the rules look at.
pub(super) struct Evidence<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) tenants: &'a [TenantSummary],
    pub(super) facts: &'a [TenantFacts],
    pub(super) overhead: Option<Overhead>,
    pub(super) host: Option<HostSummary>,
    /// Programs that took most of the processors, in processors.
    pub(super) busiest: Vec<(String, f64)>,
    /// How awake the processors were.
    pub(super) idle: Option<HostIdle>,
    pub(super) incomplete: Option<String>,
    pub(super) late_after: Nanos,
    pub(super) undecided: Vec<Undecided>,
    /// What the run itself noticed.
    pub(super) recorded: &'a [Finding],
}

/// One tenant as the rules see it.
struct Case<'a> {
    manifest: &'a Manifest,
    scenario: &'a Tenant,
    summary: &'a TenantSummary,
    facts: &'a TenantFacts,
}

/// Every finding that the evidence supports: the run's first, then each tenant's.
pub(super) fn derive(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(truncated_file(evidence));
    findings.extend(interrupted(evidence));
    findings.extend(host_busy(evidence));
    findings.extend(own_cost(evidence));
    let tenants = evidence.manifest.scenario.tenants.iter();
    for ((scenario, summary), facts) in tenants.zip(evidence.tenants).zip(evidence.facts) {
        let case = Case {
            manifest: evidence.manifest,
            scenario,
            summary,
            facts,
        };
        findings.extend(lost_records(&case));
        if case.summary.frames.completed > 0 {
            findings.extend(short_run(&case, evidence.incomplete.is_some()));
            findings.extend(failed_frames(&case));
            findings.extend(overload(&case));
            findings.extend(late_releases(&case, evidence.late_after));
            findings.extend(too_few_samples(&case, &evidence.undecided));
        } else {
            findings.extend(no_frames(&case, evidence));
        }
        findings.extend(steady::finding(
            &scenario.name,
            &summary.predictability.steady,
            evidence.manifest.scenario.warmup,
        ));
        findings.extend(no_baseline(&case));
        findings.extend(protection::not_protected(
            &evidence.manifest.scenario,
            scenario,
            summary.slowdown.as_ref(),
        ));
        findings.extend(profiled(&case));
        findings.extend(submission::limits(scenario, summary, evidence.idle.as_ref()));
    }
    findings.extend(undecided(evidence));
    findings
}

pub(super) fn finding(code: &str, tenant: Option<&str>, message: String, advice: String) -> Finding {
    Finding {
        code: code.to_owned(),
        tenant: tenant.map(str::to_owned),
        message,
        advice,
    }
}

fn truncated_file(evidence: &Evidence<'_>) -> Option<Finding> {
    let message = evidence.incomplete.clone()?;
    let advice = "The figures cover what was recovered; run again if the rest matters.".to_owned();
    Some(finding(TRUNCATED_FILE, None, message, advice))
}

/// Each tenant ends a moment before or after the others; that the run was interrupted is said once.
fn interrupted(evidence: &Evidence<'_>) -> Option<Finding> {
    let planned = evidence.manifest.scenario.duration;
    let was_interrupted = |facts: &&TenantFacts| {
        facts
            .together
            .is_some_and(|phase| phase.reason == EndReason::Interrupted)
    };
    let measured = evidence
        .facts
        .iter()
        .filter(was_interrupted)
        .map(|facts| facts.measured)
        .max()?;
    is_short(measured, planned).then(|| {
        let message = format!("The run was interrupted after {measured} of {planned}.");
        let advice = "Let it run to its end, or set a shorter `duration`.";
        finding("short-run", None, message, advice.to_owned())
    })
}

fn is_short(measured: Nanos, planned: Nanos) -> bool {
    measured.0 < (planned.0 as f64 * SHORT_SHARE) as i64
}

fn host_busy(evidence: &Evidence<'_>) -> Option<Finding> {
    let others = evidence
        .host?
        .others_percent
        .filter(|&percent| percent > OTHERS_PERCENT)?;
    let pinned = evidence
        .manifest
        .scenario
        .tenants
        .iter()
        .all(|tenant| !tenant.cpus.is_empty());
    let advice = if pinned {
        "Stop the other programs, or keep them off the tenants' `cpus`."
    } else {
        "Stop the other programs, or give each tenant processors of its own (`cpus`)."
    };
    let named: Vec<String> = evidence
        .busiest
        .iter()
        .map(|(program, processors)| format!("{program} {processors:.1}"))
        .collect();
    let which = match named.is_empty() {
        true => String::new(),
        false => format!(" (in processors: {})", named.join(", ")),
    };
    let message = format!(
        "Other programs took {others:.0} % of the processors during the run{which}; response times may include it."
    );
    Some(finding("host-busy", None, message, advice.to_owned()))
}

fn own_cost(evidence: &Evidence<'_>) -> Option<Finding> {
    if evidence.manifest.scenario.clock == ClockKind::Virtual {
        return None;
    }
    let own_us = evidence.overhead?.p50?;
    let measured = evidence.tenants.iter().filter(|tenant| tenant.backend != "null");
    let (tenant, median_us) = measured
        .filter_map(|tenant| Some((&tenant.name, tenant.response_ms.p50? * 1e3)))
        .min_by(|a, b| a.1.total_cmp(&b.1))?;
    (own_us > OWN_SHARE * median_us).then(|| {
        let message = format!(
            "jetlag itself takes {own_us:.1} µs a frame, {} of {tenant}'s median response time.",
            percent(own_us / median_us)
        );
        let advice = "Subtract it when comparing, and run a release build on an otherwise quiet machine.";
        finding("own-cost", None, message, advice.to_owned())
    })
}

fn short_run(case: &Case<'_>, truncated: bool) -> Option<Finding> {
    let name = &case.scenario.name;
    let planned = case.manifest.scenario.duration;
    let measured = case.facts.measured;
    let Some(phase) = case.facts.together else {
        if truncated {
            return None;
        }
        let message =
            format!("{name}: the record does not say when its measurement ended; rates are estimates.");
        let advice = "Let the run end by itself, or stop it with Ctrl-C once.".to_owned();
        return Some(finding("short-run", Some(name), message, advice));
    };
    let short = is_short(measured, planned);
    let of_planned = format!("after {measured} of {planned}");
    let (code, message, advice) = match phase.reason {
        EndReason::Failed => (
            "tenant-failed",
            format!(
                "{name} could not go on and ended {of_planned}{}.",
                quoted(case, ": ")
            ),
            "`jetlag inspect` shows the whole log; the other tenants ran on with less to share.",
        ),
        EndReason::EndOfSource if short => (
            "short-run",
            format!("{name}'s source ended {of_planned}."),
            "Set `repeat: true` on the source, give it more frames, or set a shorter `duration`.",
        ),
        EndReason::Duration if short => (
            "short-run",
            format!("{name} was measured for {measured} where {planned} were planned."),
            "Run again; if it happens again, the machine is too busy to keep the schedule.",
        ),
        _ => return None,
    };
    Some(finding(code, Some(name), message, advice.to_owned()))
}

/// A tenant that produced nothing: no figure is known of it, and the run is not done. A run that was cut short may only
/// have lacked the time.
fn no_frames(case: &Case<'_>, evidence: &Evidence<'_>) -> Option<Finding> {
    let name = &case.scenario.name;
    let not_started = |known: &Finding| known.code == NOT_STARTED && known.tenant.as_ref() == Some(name);
    if evidence.recorded.iter().any(not_started) {
        return None;
    }
    let counts = case.summary.frames;
    let reason = case.facts.together.map(|phase| phase.reason);
    let failed = counts.failed + counts.failed_in_warmup > 0 || reason == Some(EndReason::Failed);
    let became: Vec<String> = [
        (counts.failed, "failed"),
        (counts.failed_in_warmup, "failed in the warm-up"),
        (counts.dropped, "dropped"),
        (counts.overdue + counts.unfinished, "still waiting at the end"),
        (counts.lost_records, "not recorded"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect();
    let became = match became.is_empty() {
        true if failed => "it could not go on".to_owned(),
        true => "none was due in the measured time".to_owned(),
        false => became.join(", "),
    };
    let message = format!(
        "{name} completed no frame: {became}{}.",
        quoted(case, "; the first: ")
    );
    let advice = if failed {
        "`jetlag inspect` shows the whole log; mend what fails, or leave the tenant out."
    } else if counts.dropped > 0 || counts.overdue + counts.unfinished > 0 {
        "Lower the rate, run a faster detector, or run for longer than one of its frames takes."
    } else {
        "Run for longer than it is from one of its frames to the next."
    };
    let cut_short = evidence.incomplete.is_some() || reason == Some(EndReason::Interrupted);
    let is_known = case.summary.backend == APPLICATION_BACKEND || counts.lost_records > 0;
    let code = if cut_short || is_known {
        "too-few-samples"
    } else {
        NO_FRAMES
    };
    Some(finding(code, Some(name), message, advice.to_owned()))
}

/// Why the tenant failed, in the words of whatever failed, after `before`.
fn quoted(case: &Case<'_>, before: &str) -> String {
    let cause = case.facts.cause.as_ref();
    cause.map_or(String::new(), |cause| format!("{before}\"{cause}\""))
}

fn lost_records(case: &Case<'_>) -> Option<Finding> {
    let lost = case
        .summary
        .frames
        .lost_records
        .saturating_add(case.facts.lost_elsewhere);
    (lost > 0).then(|| {
        let name = &case.scenario.name;
        let seen = case.summary.frames.offered.saturating_add(lost);
        let message = format!(
            "{name}: {} ({}) ran and were not recorded, because the recorder fell behind; they are in no figure.",
            frames(lost),
            percent(lost as f64 / seen as f64)
        );
        let advice = if case.scenario.record_detections {
            "Write the run file to a faster disk, or set `record_detections: false`."
        } else {
            "Write the run file to a faster disk."
        };
        finding(LOST_RECORDS, Some(name), message, advice.to_owned())
    })
}

fn failed_frames(case: &Case<'_>) -> Option<Finding> {
    let counts = case.summary.frames;
    let (failed, offered, before) = (counts.failed, counts.offered, counts.failed_in_warmup);
    let name = &case.scenario.name;
    let message = match (failed, before) {
        (0, 0) => return None,
        (0, _) => format!(
            "{name}: {} failed in the warm-up, and none in the measured time",
            frames(before)
        ),
        _ => format!(
            "{name}: {} of {offered} ({}) failed and have no response time{}",
            frames(failed),
            percent(failed as f64 / offered as f64),
            match before {
                0 => String::new(),
                _ => format!(", and {before} more in the warm-up"),
            }
        ),
    };
    let message = format!("{message}{}.", quoted(case, "; the first: "));
    let advice = "`jetlag inspect` shows the whole log; remove the frames or mend their files.";
    Some(finding("failed-frames", Some(name), message, advice.to_owned()))
}

fn overload(case: &Case<'_>) -> Option<Finding> {
    let counts = case.summary.frames;
    let name = &case.scenario.name;
    let demand = demand(case);
    let needs_time = demand.map_or(String::new(), |demand| {
        format!(" (serving all would take {} of its time)", percent(demand.share))
    });
    let message = if drops_matter(&counts) {
        format!(
            "{name}: {} of {} ({}) were dropped; its quantiles describe only those that were served{}.",
            frames(counts.dropped),
            counts.offered,
            percent(counts.dropped as f64 / counts.offered as f64),
            needs_time
        )
    } else if line_at_end(&counts, case.scenario.depth) {
        format!(
            "{name}: {} still waited at the end; response times grew with the length of the run{}.",
            frames(counts.unfinished + counts.overdue),
            needs_time
        )
    } else if demand.is_some_and(|demand| demand.surely_too_much) {
        match case.scenario.overload {
            Overload::Queue { .. } => {
                format!("{name} falls behind: response times grow with the length of the run{needs_time}.")
            }
            _ => format!("{name} falls behind: frames are dropped sooner or later{needs_time}."),
        }
    } else {
        return None;
    };
    let advice = match (demand, case.scenario.overload) {
        (Some(demand), _) if demand.share < KEEPS_UP => {
            "The rate is not too high: look for what stalls it (its largest stage), or let more frames wait."
                .to_owned()
        }
        (Some(_), _) => match too_long(case) {
            Some((step, share)) => format!(
                "Lower the rate, or run a faster detector: {step} alone would take {} of its time, so that letting stages \
                 overlap (`depth: 2`) cannot help.",
                percent(share)
            ),
            None => "Lower the rate, let stages overlap (`depth: 2`), or run a faster detector.".to_owned(),
        },
        (None, Overload::Queue { .. }) => {
            "Lower the rate, run a faster detector, or keep results fresh with `overload: DropOldest(queue: 1)`."
                .to_owned()
        }
        (None, _) => "Lower the rate, or run a faster detector.".to_owned(),
    };
    Some(finding("overload", Some(name), message, advice))
}

/// Whether so many frames were dropped that quantiles of the others say little of all.
pub(super) fn drops_matter(counts: &FrameCounts) -> bool {
    counts.dropped as f64 > counts.offered as f64 * DROPPED_SHARE
}

/// Frames in flight at the end are usual; a line of them is a tenant that does not keep up.
pub(super) fn line_at_end(counts: &FrameCounts, depth: usize) -> bool {
    let waiting = counts.unfinished + counts.overdue;
    waiting > (depth as u64).saturating_mul(2).saturating_add(2)
        && waiting as f64 > counts.offered as f64 * 0.01
}

/// What a serial tenant's frames ask for.
#[derive(Clone, Copy)]
struct Demand {
    /// As a share of its time: rate × mean service time.
    share: f64,
    /// Whether it is above one by more than chance gives in one run of twenty, at most.
    surely_too_much: bool,
}

/// The demand of a serial tenant. Where stages overlap, service times overlap too and the product says nothing.
fn demand(case: &Case<'_>) -> Option<Demand> {
    let service = &case.summary.service_ms;
    let mean = service.mean.filter(|_| case.scenario.depth == 1)?;
    let rate = rate(case)?;
    // Of service times and not of response times: those of a line that grows all repeat each other.
    let error = service.sd.unwrap_or_default() / (case.facts.service_worth.max(1) as f64).sqrt();
    Some(Demand {
        share: rate * mean / 1e3,
        surely_too_much: service.count >= DEMAND_FRAMES && rate * (mean - ONE_SIDED_95 * error) / 1e3 > 1.0,
    })
}

/// Frames a second: as the scenario has them, else as they came.
fn rate(case: &Case<'_>) -> Option<f64> {
    let seconds = case.facts.measured.as_secs_f64();
    match case.scenario.arrival {
        Arrival::Closed => None,
        Arrival::Periodic { hz, .. } | Arrival::Poisson { hz } => Some(hz),
        Arrival::Replay { .. } => {
            let counts = case.summary.frames;
            (seconds > 0.0).then(|| (counts.offered + counts.unfinished) as f64 / seconds)
        }
    }
}

/// What one thread or one stream does for each frame, where that alone would take a tenant's whole time: its name, and the
/// share. However deep the ring, it does one frame at a time.
fn too_long(case: &Case<'_>) -> Option<(String, f64)> {
    const STEPS: [&[Stage]; 3] = [
        &[Stage::Acquire, Stage::Decode, Stage::Preprocess],
        &[Stage::Compute],
        &[Stage::Postprocess],
    ];
    let rate = rate(case)?;
    let mean = |stage: &Stage| {
        let known = &case.summary.stages_ms;
        known.iter().find(|(name, _)| *name == stage.name())?.1.mean
    };
    let steps = STEPS.iter().map(|stages| {
        let known: Vec<(&str, f64)> = stages
            .iter()
            .filter_map(|stage| Some((stage.name(), mean(stage)?)))
            .collect();
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let ms: f64 = known.iter().map(|(_, ms)| ms).sum();
        (names.join(" + "), rate * ms / 1e3)
    });
    steps
        .filter(|(_, share)| *share >= 1.0)
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

fn late_releases(case: &Case<'_>, budget: Nanos) -> Option<Finding> {
    let scenario = &case.manifest.scenario;
    if case.summary.closed_loop || scenario.clock == ClockKind::Virtual {
        return None;
    }
    let (late, releases) = (case.facts.late_releases, case.facts.releases);
    if !exceeds_share(late, releases, LATE_SHARE) {
        return None;
    }
    let name = &case.scenario.name;
    let worst = case.summary.lateness_ms.max.unwrap_or_default();
    let message = format!(
        "{name}: {} of its releases ({late} of {releases}) were later than {budget}, the worst by {worst:.2} ms; \
         response times include it.",
        percent(late as f64 / releases as f64)
    );
    let mut advice = match (scenario.release, case.scenario.cpus.is_empty()) {
        (Release::Sleep, true) => "Set `release: Spin`, or give the tenant processors of its own (`cpus`)",
        (Release::Sleep, false) => "Set `release: Spin`",
        (Release::Spin, true) => "Give the tenant processors of its own (`cpus`)",
        (Release::Spin, false) => {
            "Keep other work off the tenant's `cpus`, or isolate them from the scheduler"
        }
    }
    .to_owned();
    if case
        .manifest
        .machine
        .keys()
        .any(|fact| fact.contains("virtual") || fact.contains("hypervisor"))
    {
        advice.push_str("; on a virtual machine the host decides, so prefer bare metal");
    }
    advice.push('.');
    Some(finding("late-releases", Some(name), message, advice))
}

fn too_few_samples(case: &Case<'_>, undecided: &[Undecided]) -> Option<Finding> {
    let name = &case.scenario.name;
    let completed = case.summary.response_ms.count;
    let asked = undecided.iter().filter_map(|line| {
        let expectation = line.expectation.as_ref().ok().filter(|e| e.tenant() == name)?;
        expectation.metric.sample(case.summary)
    });
    let wanting = asked.filter(|sample| sample.needs.is_some());
    // A quantile that is withheld says so where it would stand. What limits a run is to lack what an
    // expectation asks for, or even the frames for p90.
    let headline = super::metric::Sample {
        quantile: Quantile::P90,
        count: completed,
        needs: case.summary.response_ms.needs.p90,
    };
    let (needs, sample) = wanting
        .chain([headline])
        .filter_map(|sample| Some((sample.needs?, sample)))
        .max_by_key(|&(needs, _)| needs)?;
    let quantile = name_of(sample.quantile);
    let message = if sample.repeats() {
        format!(
            "{name}: its frames repeat each other (slow ones follow slow ones, as in a queue), so {quantile} needs about \
             {needs} of them before it says anything of other runs, and has {}; independent ones {} would do.",
            sample.count,
            sample.quantile.needs()
        )
    } else {
        format!(
            "{name}: {quantile} needs {needs} frames and has {}.",
            sample.count
        )
    };
    Some(finding(
        "too-few-samples",
        Some(name),
        message,
        longer(case, needs, sample.count),
    ))
}

/// What makes `has` frames into `needs`: more of them where their number was set, else more time.
fn longer(case: &Case<'_>, needs: u64, has: u64) -> String {
    let scenario = &case.manifest.scenario;
    let planned = scenario.duration.as_secs_f64();
    let alone = has < case.summary.response_ms.count;
    let supply = Supply::of(case, has, alone);
    let offered = (supply.frames_for(needs) / supply.completed).ceil();
    let limit = case.scenario.frames.filter(|&limit| (limit as f64) < offered);
    let enough = supply
        .seconds_for(needs)
        .filter(|enough| (1.0..=1e9).contains(enough));
    let and_longer = |enough: Option<f64>| match enough {
        Some(enough) if enough > planned => {
            format!(", and run for {enough} s or longer (`--set duration={enough}s`)")
        }
        _ => String::new(),
    };
    match (limit, enough) {
        (Some(_), enough) => {
            format!(
                "Set `frames: {offered}` or more, or leave it out{}.",
                and_longer(enough)
            )
        }
        (None, None) => "Run for longer.".to_owned(),
        (None, Some(enough)) if enough <= planned && is_short(case.facts.measured, scenario.duration) => {
            format!("Let the run last; {enough} s at this rate are enough.")
        }
        (None, Some(enough)) => {
            // It lasted as long as planned and did not have them.
            let enough = enough.max((planned + 1.0).ceil());
            let why = match alone {
                true => ": what counts here is the time that the tenant runs alone",
                false => "",
            };
            format!("Run for {enough} s or longer at this rate (`--set duration={enough}s`){why}.")
        }
    }
}

/// How many completed frames come of a stretch of time.
struct Supply {
    /// Released in a second.
    rate: Option<f64>,
    /// Share of the released that is completed.
    completed: f64,
    /// Variance of their number over their mean: 0 for a schedule that is kept, 1 for chance.
    scatter: f64,
    /// Frames that the scatter, or the rate, was seen on; `None` where both are the scenario's.
    seen: Option<f64>,
    /// Frames that the end of a run cuts off.
    cut_off: f64,
}

impl Supply {
    fn of(case: &Case<'_>, has: u64, alone: bool) -> Supply {
        let counts = case.summary.frames;
        let released = (counts.offered + counts.unfinished) as f64;
        let seen = has.max(1) as f64;
        let seconds = case.facts.measured.as_secs_f64();
        let as_it_came = (seconds > 0.0).then(|| has as f64 / seconds);
        // What became of the frames alone is not looked at: they came as they came.
        let completed = match alone {
            true => 1.0,
            false => (seen / released.max(seen)).min(1.0),
        };
        let (rate, scatter) = match case.scenario.arrival {
            // How many are dropped varies, and more than if each was dropped by a chance of its own.
            Arrival::Periodic { hz, .. } if !alone => (Some(hz), 2.0 * (1.0 - completed)),
            Arrival::Poisson { hz } if !alone => (Some(hz), 1.0 + (1.0 - completed)),
            Arrival::Periodic { .. } => (as_it_came, 0.0),
            Arrival::Poisson { .. } | Arrival::Replay { .. } => (as_it_came, 1.0),
            // Few frames show little of a long tail: twice what was seen.
            Arrival::Closed => (as_it_came, 2.0 * case.summary.cv.unwrap_or(1.0).powi(2)),
        };
        let states_it = matches!(
            case.scenario.arrival,
            Arrival::Periodic { .. } | Arrival::Poisson { .. }
        );
        let from_scenario = states_it && completed == 1.0 && !alone;
        Supply {
            rate: rate.filter(|rate| *rate > 0.0),
            completed,
            scatter,
            seen: (!from_scenario).then_some(seen),
            cut_off: if alone {
                0.0
            } else {
                (counts.unfinished + counts.overdue) as f64
            },
        }
    }

    /// Frames to be expected so that `needs` are there in all but one of two hundred runs.
    fn frames_for(&self, needs: u64) -> f64 {
        const DEVIATIONS: f64 = 2.6;
        let needs = needs as f64;
        let seen = self.seen.map_or(1.0, |seen| 1.0 + needs / seen);
        let (spread, half) = (self.scatter * seen, DEVIATIONS * DEVIATIONS / 2.0);
        if spread == 0.0 {
            return needs;
        }
        needs + half * spread + DEVIATIONS * (spread * needs + half / 2.0 * spread * spread).sqrt()
    }

    /// Whole seconds. One frame at each end may fall beside the measured time.
    fn seconds_for(&self, needs: u64) -> Option<f64> {
        let frames = self.frames_for(needs) + 2.0 + self.cut_off;
        Some((frames / (self.rate? * self.completed)).ceil())
    }
}

fn no_baseline(case: &Case<'_>) -> Option<Finding> {
    let wanted = case.manifest.scenario.baseline.alone && case.summary.frames.offered > 0;
    (wanted && case.facts.alone == 0).then(|| {
        let name = &case.scenario.name;
        let message = format!("{name} completed no frame alone, so its slowdown is unknown.");
        let advice = "Let the baseline run to its end, and see that it is longer than one frame takes.";
        finding("no-baseline", Some(name), message, advice.to_owned())
    })
}

/// Also where the record has no nodes (it was cut off before they were written): frames were slower all the same.
fn profiled(case: &Case<'_>) -> Option<Finding> {
    let asked = matches!(case.scenario.backend, BackendChoice::Cpu { profile: true, .. });
    (asked || !case.summary.nodes.is_empty()).then(|| {
        let name = &case.scenario.name;
        let others = if case.manifest.scenario.tenants.len() > 1 {
            ", and may take more from the other tenants"
        } else {
            ""
        };
        let message =
            format!("{name} was profiled: node by node, compute is slower than unprofiled{others}.");
        let advice = "Profile in a run of its own; take response times from a run with `profile: false`.";
        finding("profiled", Some(name), message, advice.to_owned())
    })
}

/// Expectations that nothing above explains: unreadable ones, and figures that this run does not have.
fn undecided(evidence: &Evidence<'_>) -> Vec<Finding> {
    let unexplained = evidence.undecided.iter().filter_map(|line| {
        let (tenant, message, advice) = match &line.expectation {
            Err(error) => (
                None,
                format!("Expectation {error}."),
                "Correct the line in `expect`.",
            ),
            Ok(expectation) => {
                let tenant = evidence
                    .tenants
                    .iter()
                    .find(|tenant| tenant.name == expectation.tenant());
                let explained = tenant.is_some_and(|tenant| {
                    let sample = expectation.metric.sample(tenant);
                    tenant.response_ms.count == 0 || sample.is_some_and(|sample| sample.needs.is_some())
                });
                if explained {
                    return None;
                }
                let advice = match line.text.contains("slowdown") {
                    true if !evidence.manifest.scenario.baseline.alone => {
                        "Measure each tenant alone first: `baseline: (alone: true)`."
                    }
                    true => "Let every tenant complete frames in each phase: beside one that did not, nothing is compared.",
                    false => "Expect a figure that this backend and scenario have.",
                };
                let message = format!("`{}` cannot be decided: the run has no such figure.", line.text);
                (Some(expectation.tenant()), message, advice)
            }
        };
        Some(finding(
            "expectation-undecided",
            tenant,
            message,
            advice.to_owned(),
        ))
    });
    unexplained.collect()
}

/// `p99`, `p99.9`.
fn name_of(quantile: Quantile) -> String {
    format!("p{}", (quantile.share() * 1000.0).round() / 10.0)
}

fn frames(count: u64) -> String {
    if count == 1 {
        "1 frame".to_owned()
    } else {
        format!("{count} frames")
    }
}

/// A share in percent, with as many digits as it takes not to read as zero.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    // What is near the whole is told from it.
    if percent >= 10.0 && !(99.0..110.0).contains(&percent) {
        format!("{percent:.0} %")
    } else if percent >= 0.1 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.2} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_at_the_end_is_more_than_two_for_each_in_flight_and_two_and_more_than_one_in_a_hundred() {
        let line = |unfinished: u64, overdue: u64, offered: u64, depth: usize| {
            let counts = FrameCounts {
                unfinished,
                overdue,
                offered,
                ..FrameCounts::default()
            };
            line_at_end(&counts, depth)
        };
        assert!(!line(4, 0, 100, 1) && line(5, 0, 100, 1) && line(3, 2, 100, 1));
        assert!(!line(6, 0, 100, 2) && line(7, 0, 100, 2));
        assert!(!line(2, 0, 20, 1), "a tenth, and few");
        assert!(!line(21, 0, 2_100, 1), "one in a hundred");
        assert!(line(22, 0, 2_100, 1));
    }
}
