//! What the figures themselves say of their limits: one small rule a finding, each with its figure and,
//! knowing what the scenario already does, with what to do about it.
//!
//! Only what limits the meaning of a number is a finding, because one finding makes the verdict *limited*.
//! That a promise was broken is a result, not a finding. Thresholds are listed in docs/measurement.md.

use std::collections::HashSet;

use super::Undecided;
use super::binomial::exceeds_share;
use super::protection;
use super::quantile::Quantile;
use super::steady;
use super::summary::{HostSummary, LOST_RECORDS, Overhead, TRUNCATED_FILE, TenantSummary};
use super::tenant::TenantFacts;
use crate::record::{EndReason, Finding, Manifest};
use crate::scenario::{BackendChoice, ClockKind, Overload, Release, Tenant};
use crate::units::Nanos;

/// Share of releases that may be later than the budget.
const LATE_SHARE: f64 = 0.001;
/// Share of frames dropped above which p99 of the served ones says little about those offered.
const DROPPED_SHARE: f64 = 0.01;
/// Demand on a serial tenant below which drops come from stalls and not from the rate.
const KEEPS_UP: f64 = 0.8;
/// Measured time below this share of the duration is a short run.
const SHORT_SHARE: f64 = 0.99;
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
    pub(super) incomplete: Option<String>,
    pub(super) late_after: Nanos,
    pub(super) undecided: Vec<Undecided>,
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
        findings.extend(short_run(&case, evidence.incomplete.is_some()));
        findings.extend(lost_records(&case));
        findings.extend(failed_frames(&case));
        findings.extend(overload(&case));
        findings.extend(late_releases(&case, evidence.late_after));
        findings.extend(too_few_samples(&case, &evidence.undecided));
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
    }
    findings.extend(undecided(evidence));
    // What ends the whole run is found at each tenant, and said once.
    let mut whole_run = HashSet::new();
    findings.retain(|finding| finding.tenant.is_some() || whole_run.insert(finding.message.clone()));
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
    let short = measured.0 < (planned.0 as f64 * SHORT_SHARE) as i64;
    let of_planned = format!("after {measured} of {planned}");
    let (code, message, advice) = match phase.reason {
        EndReason::Failed => (
            "tenant-failed",
            format!("{name} could not go on and ended {of_planned}."),
            "The log says why (`jetlag inspect` shows it); the other tenants ran on with less to share.",
        ),
        EndReason::Interrupted if short => (
            "short-run",
            format!("The run was interrupted {of_planned}."),
            "Let it run to its end, or set a shorter `duration`.",
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
    let whole_run = phase.reason == EndReason::Interrupted;
    Some(finding(
        code,
        (!whole_run).then_some(name),
        message,
        advice.to_owned(),
    ))
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
    let (failed, offered) = (case.summary.frames.failed, case.summary.frames.offered);
    (failed > 0).then(|| {
        let name = &case.scenario.name;
        let message = format!(
            "{name}: {} of {offered} ({}) failed and have no response time.",
            frames(failed),
            percent(failed as f64 / offered as f64)
        );
        let advice = "The log says why (`jetlag inspect` shows it); remove the frames or mend their files.";
        finding("failed-frames", Some(name), message, advice.to_owned())
    })
}

fn overload(case: &Case<'_>) -> Option<Finding> {
    let counts = case.summary.frames;
    let name = &case.scenario.name;
    let dropped = counts.dropped as f64 > counts.offered as f64 * DROPPED_SHARE;
    // Frames in flight at the end are usual; a line of them is a tenant that does not keep up.
    let waiting = counts.unfinished + counts.overdue;
    let in_line = waiting > (case.scenario.depth as u64).saturating_mul(2).saturating_add(2)
        && waiting as f64 > counts.offered as f64 * 0.01;
    let demand = demand(case);
    let needs_time = demand.map_or(String::new(), |demand| {
        format!(" (serving all would take {:.0} % of its time)", demand * 100.0)
    });
    let message = if dropped {
        format!(
            "{name}: {} of {} ({}) were dropped; its quantiles describe only those that were served{}.",
            frames(counts.dropped),
            counts.offered,
            percent(counts.dropped as f64 / counts.offered as f64),
            needs_time
        )
    } else if in_line {
        format!(
            "{name}: {} still waited at the end; response times grew with the length of the run{}.",
            frames(waiting),
            needs_time
        )
    } else {
        return None;
    };
    let advice = match (demand, case.scenario.overload) {
        (Some(demand), _) if demand < KEEPS_UP => {
            "The rate is not too high: look for what stalls it (its largest stage), or let more frames wait."
        }
        (Some(_), _) => "Lower the rate, let stages overlap (`depth: 2`), or run a faster detector.",
        (None, Overload::Queue { .. }) => {
            "Lower the rate, run a faster detector, or keep results fresh with `overload: DropOldest(queue: 1)`."
        }
        (None, _) => "Lower the rate, or run a faster detector.",
    };
    Some(finding("overload", Some(name), message, advice.to_owned()))
}

/// The share of a serial tenant's time that its frames ask for: offered rate × mean service time. Where
/// stages overlap, service times overlap too and the product says nothing.
fn demand(case: &Case<'_>) -> Option<f64> {
    let seconds = case.facts.measured.as_secs_f64();
    let service_ms = case
        .summary
        .service_ms
        .mean
        .filter(|_| case.scenario.depth == 1 && seconds > 0.0)?;
    let offered = (case.summary.frames.offered + case.summary.frames.unfinished) as f64 / seconds;
    Some(offered * service_ms / 1e3)
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
    if completed == 0 {
        let message = format!("{name} completed no frame, so it has no response time.");
        let advice = "See what became of its frames below, and the log for errors.".to_owned();
        return Some(finding("too-few-samples", Some(name), message, advice));
    }
    let asked = undecided.iter().filter_map(|line| {
        let expectation = line.expectation.as_ref().ok().filter(|e| e.tenant() == name)?;
        expectation.metric.sample(case.summary)
    });
    let wanting = asked.filter(|sample| !sample.quantile.supported_by(sample.count));
    // A quantile that is withheld says so where it would stand. What limits a run is to lack what an
    // expectation asks for, or even the frames for p90.
    let headline = super::metric::Sample {
        quantile: Quantile::P90,
        count: completed,
    };
    let sample = wanting
        .chain((!headline.quantile.supported_by(completed)).then_some(headline))
        .max_by_key(|sample| sample.quantile.needs())?;
    let needs = sample.quantile.needs();
    let message = format!(
        "{name}: {} needs {needs} frames and has {}.",
        name_of(sample.quantile),
        sample.count
    );
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
    let seconds = case.facts.measured.as_secs_f64();
    if case.scenario.frames.is_some_and(|limit| limit < needs) {
        return format!("Set `frames: {needs}` or more, or leave it out.");
    }
    if has < case.summary.response_ms.count {
        return "Run for longer: what counts here is the time that the tenant runs alone.".to_owned();
    }
    let enough = (needs as f64 * seconds / has as f64).ceil();
    if !(1.0..=1e9).contains(&enough) {
        return "Run for longer.".to_owned();
    }
    if enough <= scenario.duration.as_secs_f64() {
        return format!("Let the run last; {enough} s at this rate are enough.");
    }
    format!("Run for {enough} s or longer at this rate (`--set duration={enough}s`).")
}

fn no_baseline(case: &Case<'_>) -> Option<Finding> {
    let wanted = case.manifest.scenario.baseline.alone && case.summary.frames.offered > 0;
    (wanted && case.summary.slowdown.is_none()).then(|| {
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
                    tenant.response_ms.count == 0
                        || sample.is_some_and(|sample| !sample.quantile.supported_by(sample.count))
                });
                if explained {
                    return None;
                }
                let advice = if line.text.contains("slowdown") && !evidence.manifest.scenario.baseline.alone {
                    "Measure each tenant alone first: `baseline: (alone: true)`."
                } else {
                    "Expect a figure that this backend and scenario have."
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
    if percent >= 10.0 {
        format!("{percent:.0} %")
    } else if percent >= 0.1 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.2} %")
    }
}
