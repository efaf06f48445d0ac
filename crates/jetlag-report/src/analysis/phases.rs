//! What became of the frames in each phase of a run, and which findings follow from it.
//!
//! `findings` covers the measurement, tenant by tenant. The other phases are what the measurement is compared with,
//! or steps that are compared with each other: where they drop frames, fail or release late, the comparison covers
//! only the frames that were served. The finding names these phases.

use super::binomial::exceeds_share;
use super::findings::{LATE_SHARE, SHORT_SHARE, drops_matter, line_at_end};
use super::interference::Phases;
use super::limit::{Failures, InPhase, Limit, Lost, PhasesLimit};
use super::stats::six_decimals;
use super::summary::FrameCounts;
use super::summary::{PhaseSummary, PhaseTenant};
use crate::record::{EndReason, Phase, PhaseSpec};
use crate::scenario::{Arrival, ClockKind, Scenario, Tenant};

/// All phases, in the order in which they ran.
pub(super) fn summarize(scenario: &Scenario, phases: &Phases) -> Vec<PhaseSummary> {
    let one = |spec: &PhaseSpec| {
        let tenants: Vec<PhaseTenant> = spec
            .members
            .iter()
            .filter_map(|&member| {
                let tenant = scenario.tenants.get(usize::from(member))?;
                Some(tenant_of(scenario, spec, tenant, member, phases))
            })
            .collect();
        PhaseSummary {
            label: label(spec, &tenants),
            kind: match spec.phase {
                Phase::Together => "together",
                Phase::Alone => "alone",
                Phase::Overhead | Phase::Other(_) => "other",
            },
            sharing: (!spec.sharing.is_empty()).then(|| spec.sharing.clone()),
            compared_s: phases
                .shared(spec)
                .map(|(from, to)| six_decimals((to - from).as_secs_f64())),
            tenants,
            phase: spec.phase,
        }
    };
    phases.specs().iter().map(one).collect()
}

fn label(spec: &PhaseSpec, tenants: &[PhaseTenant]) -> String {
    if !spec.label.is_empty() {
        return spec.label.clone();
    }
    let names: Vec<&str> = tenants.iter().map(|tenant| tenant.tenant.as_str()).collect();
    match spec.phase {
        Phase::Alone => format!("{} alone", names.join(" + ")),
        _ => names.join(" + "),
    }
}

fn tenant_of(
    scenario: &Scenario,
    spec: &PhaseSpec,
    tenant: &Tenant,
    member: u16,
    phases: &Phases,
) -> PhaseTenant {
    let part = phases.part(spec.phase, member);
    let end = part.and_then(|part| part.end);
    let frames = part.map_or_else(FrameCounts::default, |part| part.frames);
    let swept = spec.rate.filter(|rate| rate.tenant == member);
    let closed = match swept {
        Some(rate) => rate.hz.is_none(),
        None => matches!(tenant.arrival, Arrival::Closed),
    };
    let punctual = closed || scenario.clock == ClockKind::Virtual;
    let late_releases = part.filter(|_| !punctual).map(|part| part.late);
    let reason = end.map(|end| end.reason);
    let measured_s = end.map(|end| (end.measured_to - end.measured_from).as_secs_f64());
    let others = spec.members.iter().filter(|&&other| other != member);
    let longest = others
        .filter_map(|&other| phases.part(spec.phase, other)?.end)
        .map(|end| (end.measured_to - end.measured_from).as_secs_f64())
        .fold(0.0, f64::max);
    let ended_early = measured_s.is_some_and(|seconds| seconds < longest * SHORT_SHARE);
    let lost = frames.dropped + frames.missed + frames.failed + frames.failed_in_warmup + frames.unfinished;
    PhaseTenant {
        tenant: tenant.name.clone(),
        measured_s: measured_s.map(six_decimals),
        ended: reason.map(|reason| match reason {
            EndReason::Duration => "duration",
            EndReason::Count => "frames",
            EndReason::EndOfSource => "end-of-source",
            EndReason::Interrupted => "interrupted",
            EndReason::Failed => "failed",
        }),
        frames,
        late_releases,
        compared: phases
            .sample(spec.phase, member)
            .map_or(0, |sample| sample.distribution.count()),
        notable: lost > 0 || ended_early || late_releases.is_some_and(|late| too_late(late, frames.offered)),
        reason: reason.filter(|_| ended_early),
    }
}

fn too_late(late: u64, offered: u64) -> bool {
    exceeds_share(late, offered, LATE_SHARE)
}

/// Findings about the phases that the measurement is compared with. `cause` tells why a tenant's first failed frame of
/// a phase failed.
pub(super) fn limits(
    scenario: &Scenario,
    phases: &[PhaseSummary],
    cause: impl Fn(Phase, usize) -> Option<String>,
) -> Vec<Limit> {
    let mut found = Vec::new();
    for (number, tenant) in scenario.tenants.iter().enumerate() {
        let parts: Vec<(&PhaseSummary, &PhaseTenant)> = phases
            .iter()
            .filter_map(|phase| {
                let part = phase.tenants.iter().find(|part| part.tenant == tenant.name)?;
                Some((phase, part))
            })
            .collect();
        let other: Vec<(&PhaseSummary, &PhaseTenant)> = parts
            .iter()
            .copied()
            .filter(|(phase, _)| phase.phase != Phase::Together)
            .collect();
        let of_tenant = [
            overloaded(tenant, &other),
            failed(&other, |phase| cause(phase, number)),
            late(&other),
            ended_early(&parts),
        ];
        found.extend(of_tenant.into_iter().flatten().map(|limit| Limit::Phases {
            tenant: tenant.name.clone(),
            limit,
        }));
    }
    found
}

fn overloaded(tenant: &Tenant, parts: &[(&PhaseSummary, &PhaseTenant)]) -> Option<PhasesLimit> {
    let phases = where_it_is(parts, |part| {
        let frames = &part.frames;
        if drops_matter(frames) {
            return Some(Lost::Dropped {
                dropped: frames.dropped,
                offered: frames.offered,
            });
        }
        line_at_end(frames, tenant.depth).then(|| Lost::Waiting(frames.unfinished + frames.overdue))
    })?;
    Some(PhasesLimit::Overload(phases))
}

fn failed(
    parts: &[(&PhaseSummary, &PhaseTenant)],
    cause: impl Fn(Phase) -> Option<String>,
) -> Option<PhasesLimit> {
    let phases = where_it_is(parts, |part| {
        match (part.frames.failed, part.frames.failed_in_warmup) {
            (0, 0) => None,
            (0, before) => Some(Failures::InWarmup(before)),
            (failed, _) => Some(Failures::Measured {
                failed,
                offered: part.frames.offered,
            }),
        }
    })?;
    let cause = parts.iter().find_map(|(phase, _)| cause(phase.phase));
    Some(PhasesLimit::Failed { phases, cause })
}

fn late(parts: &[(&PhaseSummary, &PhaseTenant)]) -> Option<PhasesLimit> {
    let phases = where_it_is(parts, |part| {
        let (late, releases) = (part.late_releases?, part.frames.offered);
        too_late(late, releases).then_some((late, releases))
    })?;
    Some(PhasesLimit::LateReleases(phases))
}

/// In the measurement itself, an ended source or a failed tenant is reported elsewhere.
fn ended_early(parts: &[(&PhaseSummary, &PhaseTenant)]) -> Option<PhasesLimit> {
    let said = |phase: &PhaseSummary, reason| phase.phase == Phase::Together && reason != EndReason::Count;
    let early: Vec<(&PhaseSummary, &PhaseTenant)> = parts
        .iter()
        .copied()
        .filter(|(phase, part)| {
            part.reason
                .is_some_and(|reason| reason != EndReason::Interrupted && !said(phase, reason))
        })
        .collect();
    let phases = where_it_is(&early, |part| Some(part.measured_s.unwrap_or_default()))?;
    Some(PhasesLimit::EndedEarly {
        phases,
        reason: early.first().and_then(|(_, part)| part.reason),
    })
}

/// The phases to which something applies, and what; none if there are none.
fn where_it_is<T>(
    parts: &[(&PhaseSummary, &PhaseTenant)],
    what: impl Fn(&PhaseTenant) -> Option<T>,
) -> Option<Vec<InPhase<T>>> {
    let all: Vec<InPhase<T>> = parts
        .iter()
        .filter_map(|(phase, part)| {
            Some(InPhase {
                phase: phase.label.clone(),
                what: what(part)?,
            })
        })
        .collect();
    (!all.is_empty()).then_some(all)
}
