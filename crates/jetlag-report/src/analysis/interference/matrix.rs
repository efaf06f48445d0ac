//! The slowdown of each tenant next to others, for each sharing mode.

use super::Phases;
use crate::analysis::stats::slowdown;
use crate::analysis::summary::interference::{Cell, Way};
use crate::record::{Phase, PhaseSpec};

/// The ways in the order in which they ran.
pub(super) fn ways(names: &[&str], phases: &Phases) -> Vec<Way> {
    let mut ways: Vec<Way> = Vec::new();
    // A step of a duty cycle is not a cell: its tenant did not run alone at that rate.
    let shared =
        |spec: &&PhaseSpec| spec.members.len() > 1 && (spec.rate.is_none() || spec.phase == Phase::Together);
    for spec in phases.specs().iter().filter(shared) {
        let known = ways.iter().position(|way| way.sharing == spec.sharing);
        let place = known.unwrap_or_else(|| {
            ways.push(Way {
                sharing: spec.sharing.clone(),
                cells: Vec::new(),
            });
            ways.len() - 1
        });
        for &tenant in &spec.members {
            let cell = cell(names, spec, tenant, phases);
            ways[place].cells.extend(cell);
        }
    }
    for way in &mut ways {
        let place = |cell: &Cell| {
            (
                names.iter().position(|name| *name == cell.tenant),
                cell.with.len(),
            )
        };
        way.cells.sort_by_key(place);
    }
    ways
}

fn cell(names: &[&str], spec: &PhaseSpec, tenant: u16, phases: &Phases) -> Option<Cell> {
    let name = |member: u16| names.get(usize::from(member)).map(|name| (*name).to_owned());
    let shared = phases.sample(spec.phase, tenant);
    let alone = alone(spec, tenant, phases).and_then(|phase| phases.sample(phase, tenant));
    let slowdown = shared.zip(alone).map(|(shared, alone)| slowdown(shared, alone));
    Some(Cell {
        tenant: name(tenant)?,
        with: spec
            .members
            .iter()
            .filter(|&&other| other != tenant)
            .filter_map(|&other| name(other))
            .collect(),
        slowdown,
        count: shared.map_or(0, |sample| sample.distribution.count()),
    })
}

/// The phase in which the tenant ran alone under the same way of sharing.
fn alone(shared: &PhaseSpec, tenant: u16, phases: &Phases) -> Option<Phase> {
    let alone = |spec: &&PhaseSpec| {
        spec.members == [tenant]
            && spec.sharing == shared.sharing
            && spec.rate.is_none()
            && spec.phase != Phase::Together
    };
    phases.specs().iter().find(alone).map(|spec| spec.phase)
}
