//! The slowdown of each tenant next to others, for each sharing mode.

use super::{self as interference, Phases};
use crate::analysis::summary::interference::{Cell, Way};
use crate::record::Phase;

/// The ways in the order in which they ran.
pub(super) fn ways(names: &[&str], phases: &Phases) -> Vec<Way> {
    let mut ways: Vec<Way> = Vec::new();
    // A step of a duty cycle is not a cell: its tenant did not run alone at that rate.
    let shared = |cell: &&interference::Cell| {
        let spec = &cell.spec;
        let is_measured = spec.phase == Phase::Together;
        // All together are in turns, too, where there are turns.
        let in_turns = is_measured
            && phases
                .cells()
                .iter()
                .any(|turns| turns.is_of_turns() && turns.is_of(&spec.members, &spec.sharing));
        spec.members.len() > 1 && (spec.rate.is_none() || is_measured) && !in_turns
    };
    for found in phases.cells().iter().filter(shared) {
        let spec = &found.spec;
        let known = ways.iter().position(|way| way.sharing == spec.sharing);
        let place = known.unwrap_or_else(|| {
            ways.push(Way {
                sharing: spec.sharing.clone(),
                cells: Vec::new(),
            });
            ways.len() - 1
        });
        for &tenant in &spec.members {
            let cell = cell(names, found, tenant, phases);
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

fn cell(names: &[&str], found: &interference::Cell, tenant: u16, phases: &Phases) -> Option<Cell> {
    let name = |member: u16| names.get(usize::from(member)).map(|name| (*name).to_owned());
    let members = &found.spec.members;
    Some(Cell {
        tenant: name(tenant)?,
        with: members
            .iter()
            .filter(|&&other| other != tenant)
            .filter_map(|&other| name(other))
            .collect(),
        slowdown: phases.slowdown_beside(members, &found.spec.sharing, tenant),
        count: phases
            .sample_of(found, tenant)
            .map_or(0, |sample| sample.distribution.count()),
    })
}
