//! What became of the frames in each phase of a run, and which findings follow from it.
//!
//! `findings` covers the measurement, tenant by tenant. The other phases are what the measurement is compared with,
//! or steps that are compared with each other: where they drop frames, fail or release late, the comparison covers
//! only the frames that were served. The finding names these phases.

use jetlag_stats::share::exceeds_share;

use crate::analysis::catalogue::{Ended, Failures, InPhase, Late, Limit, Lost, PhasesLimit};
use crate::analysis::gathering::backlog::Backlog;
use crate::analysis::stats::six_decimals;
use crate::analysis::summary::FrameCounts;
use crate::analysis::summary::{PhaseSummary, PhaseTenant};
use crate::analysis::topics::interference::{Cell, Phases};
use crate::analysis::topics::latency::served::{LATE_SHARE, SHORT_SHARE, drops_matter, line_at_end};
use crate::record::{EndReason, Phase, PhaseRecord, PhaseSpec};
use crate::scenario::{Arrival, ClockKind, Scenario, Tenant};

/// All phases, in the order in which they ran; the turns of a cell are one.
pub(in crate::analysis) fn summarize(scenario: &Scenario, phases: &Phases) -> Vec<PhaseSummary> {
    let own = format!("{:?}", scenario.sharing);
    let one = |cell: &Cell| {
        let spec = &cell.spec;
        let tenants: Vec<PhaseTenant> = spec
            .members
            .iter()
            .filter_map(|&member| {
                let tenant = scenario.tenants.get(usize::from(member))?;
                Some(tenant_of(scenario, cell, tenant, member, phases))
            })
            .collect();
        let is_alone = cell.is_of_turns() && spec.members.len() == 1 && spec.sharing == own;
        let shared = cell
            .phases
            .iter()
            .filter_map(|&phase| phases.shared_in(phase, &spec.members));
        PhaseSummary {
            label: label(spec, &tenants),
            kind: match spec.phase {
                Phase::Together => "together",
                Phase::Alone => "alone",
                Phase::Other(_) if is_alone => "alone",
                Phase::Overhead | Phase::Other(_) => "other",
            },
            turns: cell.is_of_turns().then_some(cell.phases.len() as u64),
            sharing: (!spec.sharing.is_empty()).then(|| spec.sharing.clone()),
            compared_s: shared
                .map(|(from, to)| (to - from).as_secs_f64())
                .reduce(|sum, seconds| sum + seconds)
                .map(six_decimals),
            tenants,
            phases: cell.phases.clone(),
        }
    };
    phases.cells().iter().map(one).collect()
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

fn tenant_of(scenario: &Scenario, cell: &Cell, tenant: &Tenant, member: u16, phases: &Phases) -> PhaseTenant {
    let spec = &cell.spec;
    let swept = spec.rate.filter(|rate| rate.tenant == member);
    let closed = match swept {
        Some(rate) => rate.hz.is_none(),
        None => matches!(tenant.arrival, Arrival::Closed),
    };
    let punctual = closed || scenario.clock == ClockKind::Virtual;
    let mut found = PhaseTenant {
        tenant: tenant.name.clone(),
        measured_s: None,
        ended: None,
        frames: FrameCounts::default(),
        late_releases: None,
        compared: phases
            .sample_of(cell, member)
            .map_or(0, |sample| sample.distribution.count()),
        notable: false,
        waiting: 0,
        reason: None,
    };
    let mut by_chance = Backlog::default();
    let mut ended: Option<EndReason> = None;
    let seconds = |end: PhaseRecord| (end.measured_to - end.measured_from).as_secs_f64();
    for &phase in &cell.phases {
        let Some(part) = phases.part(phase, member) else {
            continue;
        };
        found.frames.add(&part.frames);
        if !punctual {
            found.late_releases = Some(found.late_releases.unwrap_or(0) + part.late);
        }
        let in_flight = tenant.depth.saturating_mul(tenant.batch.size.max(1));
        if line_at_end(&part.frames, in_flight) {
            found.waiting += part.frames.unfinished + part.frames.overdue;
        }
        let frames = part.frames.offered.saturating_add(part.frames.unfinished);
        let mean = part.service.mean().max(f64::MIN_POSITIVE);
        by_chance.add(
            frames,
            &tenant.arrival,
            frames as f64 * part.service.variance() / (mean * mean),
        );
        let Some(end) = part.end else { continue };
        found.measured_s = Some(found.measured_s.unwrap_or(0.0) + seconds(end));
        ended = Some(
            ended
                .filter(|reason| *reason != EndReason::Duration)
                .unwrap_or(end.reason),
        );
        let others = spec.members.iter().filter(|&&other| other != member);
        let longest = others
            .filter_map(|&other| phases.part(phase, other)?.end)
            .map(seconds)
            .fold(0.0, f64::max);
        if seconds(end) < longest * SHORT_SHARE {
            found.reason.get_or_insert(end.reason);
        }
    }
    if by_chance.explains(found.waiting) {
        found.waiting = 0;
    }
    let FrameCounts {
        dropped,
        missed,
        failed,
        failed_in_warmup,
        unfinished,
        offered,
        ..
    } = found.frames;
    // Of every turn the end may cut off what is in flight.
    let cut_off = if cell.is_of_turns() {
        found.waiting
    } else {
        unfinished
    };
    let is_late = found.late_releases.is_some_and(|late| too_late(late, offered));
    found.notable =
        dropped + missed + failed + failed_in_warmup + cut_off > 0 || found.reason.is_some() || is_late;
    found.measured_s = found.measured_s.map(six_decimals);
    found.ended = ended.map(|reason| match reason {
        EndReason::Duration => "duration",
        EndReason::Count => "frames",
        EndReason::EndOfSource => "end-of-source",
        EndReason::Interrupted => "interrupted",
        EndReason::Failed => "failed",
    });
    found
}

fn too_late(late: u64, offered: u64) -> bool {
    exceeds_share(late, offered, LATE_SHARE)
}

/// Findings about the phases that the measurement is compared with. `cause` tells why a tenant's first failed frame of
/// a phase failed.
pub(in crate::analysis) fn limits(
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
            .filter(|(phase, _)| !phase.is_measurement())
            .collect();
        let of_tenant = [
            overloaded(&other),
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

fn overloaded(parts: &[(&PhaseSummary, &PhaseTenant)]) -> Option<PhasesLimit> {
    let phases = where_it_is(parts, |part| {
        let frames = &part.frames;
        if drops_matter(frames) {
            return Some(Lost::Dropped {
                dropped: frames.dropped,
                offered: frames.offered,
            });
        }
        (part.waiting > 0).then_some(Lost::Waiting {
            waiting: part.waiting,
        })
    })?;
    Some(PhasesLimit::Overload { phases })
}

fn failed(
    parts: &[(&PhaseSummary, &PhaseTenant)],
    cause: impl Fn(Phase) -> Option<String>,
) -> Option<PhasesLimit> {
    let phases = where_it_is(parts, |part| {
        match (part.frames.failed, part.frames.failed_in_warmup) {
            (0, 0) => None,
            (0, failed_in_warmup) => Some(Failures::InWarmup { failed_in_warmup }),
            (failed, _) => Some(Failures::Measured {
                failed,
                offered: part.frames.offered,
            }),
        }
    })?;
    let phases_of = parts.iter().flat_map(|(phase, _)| &phase.phases);
    let cause = phases_of.copied().find_map(cause);
    Some(PhasesLimit::Failed { phases, cause })
}

fn late(parts: &[(&PhaseSummary, &PhaseTenant)]) -> Option<PhasesLimit> {
    let phases = where_it_is(parts, |part| {
        let (late, releases) = (part.late_releases?, part.frames.offered);
        too_late(late, releases).then_some(Late { late, releases })
    })?;
    Some(PhasesLimit::LateReleases { phases })
}

/// In the measurement itself, an ended source or a failed tenant is reported elsewhere.
fn ended_early(parts: &[(&PhaseSummary, &PhaseTenant)]) -> Option<PhasesLimit> {
    let said = |phase: &PhaseSummary, reason| phase.is_measurement() && reason != EndReason::Count;
    let early: Vec<(&PhaseSummary, &PhaseTenant)> = parts
        .iter()
        .copied()
        .filter(|(phase, part)| {
            part.reason
                .is_some_and(|reason| reason != EndReason::Interrupted && !said(phase, reason))
        })
        .collect();
    let phases = where_it_is(&early, |part| {
        let after_s = part.measured_s.unwrap_or_default();
        Some(Ended { after_s })
    })?;
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
                phase: phase.in_words(),
                what: what(part)?,
            })
        })
        .collect();
    (!all.is_empty()).then_some(all)
}
