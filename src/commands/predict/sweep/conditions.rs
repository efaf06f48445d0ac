//! What runs have in common besides their networks. A model knows the layers, the batch and one board: what else differs between runs
//! would be taken for chance.

use std::collections::{BTreeMap, BTreeSet};

use jetlag_predict::{Device, Mode};
use jetlag_sweep::table::Row;
use jetlag_sweep::{Setting, Table};

use super::super::super::outcome::WrongUse;
use super::runs::{Run, RunMode};

/// Fields of a scenario that change neither a network's time nor its memory.
const NOTHING: [&str; 6] = ["seed", "duration", "warmup", "name", "expect", "watchdog"];
/// The setting that models know by its clocks, which are in the manifest.
const POWER_MODE: &str = "power_mode";

/// Whether a path sets a tenant's network, or what it is fed.
pub(super) fn is_network(path: &str) -> bool {
    let mut parts = path.split('.');
    parts.next() == Some("tenants") && matches!(parts.nth(1), Some("detector" | "network"))
}

/// The runs of a table that have these values.
///
/// # Errors
/// A text that is no `PATH=VALUE`, an axis that the sweep does not have, a value that no run has.
pub(super) fn chosen<'t>(table: &'t Table, only: &[String]) -> Result<Vec<&'t Row>, WrongUse> {
    let mut rows: Vec<&Row> = table.rows.iter().collect();
    for text in only {
        let Some(Setting { path, value }) = Setting::parse(text) else {
            return Err(WrongUse(format!(
                "--where {text}: write an axis and its value, such as tenants.camera.backend=Cpu()"
            )));
        };
        table.axis(&path).map_err(WrongUse::because)?;
        let values: BTreeSet<&str> = table.rows.iter().filter_map(|row| row.setting(&path)).collect();
        if !values.contains(value.as_str()) {
            let values: Vec<&str> = values.into_iter().collect();
            return Err(WrongUse(format!(
                "--where {text}: no run has that value; the runs have {}",
                values.join(", ")
            )));
        }
        rows.retain(|row| row.setting(&path) == Some(value.as_str()));
    }
    if rows.is_empty() && !only.is_empty() {
        return Err(WrongUse(format!(
            "no run has all of {}; leave one of them out",
            only.join(" ")
        )));
    }
    Ok(rows)
}

/// The board of all runs, in each of its power modes, and which of these each run was in.
///
/// # Errors
/// They differ in their board, in a setting that no model knows, or in power modes of which not all clocks are known.
pub(super) fn devices(runs: &[Run<'_>]) -> Result<(Vec<Device>, Vec<usize>), WrongUse> {
    let known = |setting: &&Setting| {
        !is_network(&setting.path) && setting.path != POWER_MODE && !NOTHING.contains(&setting.path.as_str())
    };
    let paths: BTreeSet<&str> = runs
        .iter()
        .flat_map(|run| run.row.settings.iter().filter(known))
        .map(|setting| setting.path.as_str())
        .collect();
    for path in paths {
        let of = |run: &Run<'_>| run.row.setting(path).unwrap_or("as in the base").to_owned();
        let all: Vec<String> = runs.iter().map(of).collect::<BTreeSet<_>>().into_iter().collect();
        if let [first, _, ..] = &all[..] {
            return Err(WrongUse(format!(
                "the runs differ in {path} ({}), which no model knows: it would take the difference for chance. Fit a model for each, with \
                 --where '{path}={first}'",
                all.join(", ")
            )));
        }
    }
    let boards: BTreeSet<&str> = runs.iter().map(|run| run.board.as_str()).collect();
    let all: Vec<&str> = boards.into_iter().collect();
    let [board] = all[..] else {
        return Err(WrongUse(format!(
            "the runs are of several boards or backends ({}); a model of a sweep is of one: sweep each into a folder of its own",
            all.join("; ")
        )));
    };
    let mut modes: Vec<Option<&RunMode>> = Vec::new();
    let mut places = Vec::with_capacity(runs.len());
    for run in runs {
        let mode = run.mode.as_ref();
        let place = modes.iter().position(|known| *known == mode);
        places.push(place.unwrap_or_else(|| {
            modes.push(mode);
            modes.len() - 1
        }));
    }
    let module = runs.iter().find_map(|run| run.module.clone());
    let several = modes.len() > 1;
    let devices: Result<Vec<Device>, WrongUse> = modes
        .into_iter()
        .map(|mode| in_mode(board, mode, several))
        .collect();
    // The least of what runs say: the kernel's part of the memory, and so the rest, differs from start to start.
    let memories = runs.iter().filter_map(|run| run.memory_mib);
    let memory_mib = memories.reduce(f64::min);
    let with_facts = |device: Device| Device {
        module: module.clone(),
        memory_mib,
        ..device
    };
    Ok((devices?.into_iter().map(with_facts).collect(), places))
}

/// A board in one of its modes. One mode needs no clocks; several are told apart by them.
fn in_mode(board: &str, mode: Option<&RunMode>, several: bool) -> Result<Device, WrongUse> {
    let Some(mode) = mode else {
        return match several {
            true => Err(WrongUse(
                "some runs say their power mode and some do not: choose those of one with --where 'power_mode=NAME', or sweep again"
                    .to_owned(),
            )),
            false => Ok(Device::unknown(board)),
        };
    };
    match &mode.clocks {
        Ok(clocks) => Ok(Device::in_mode(Mode {
            board: board.to_owned(),
            name: mode.name.clone(),
            clocks: *clocks,
        })),
        Err(_) if !several => Ok(Device::unknown(&format!("{board}, {}", mode.name))),
        Err(why) => Err(WrongUse(format!(
            "the runs are in several power modes, and the clocks of {} are not known: {why}. Fit a model for each, with --where \
             'power_mode={}'",
            mode.name, mode.name
        ))),
    }
}

/// What limits the figures of these runs, in a sentence.
pub(super) fn findings(runs: &[Run<'_>]) -> Option<String> {
    let mut codes: BTreeMap<&str, usize> = BTreeMap::new();
    for run in runs {
        let own: BTreeSet<&str> = run.row.findings.iter().map(String::as_str).collect();
        for code in own {
            *codes.entry(code).or_default() += 1;
        }
    }
    let said: Vec<String> = codes
        .iter()
        .map(|(code, runs)| format!("{code} {runs}"))
        .collect();
    (!said.is_empty()).then(|| {
        format!(
            "Findings of the {} runs that are used, which may limit what is fitted: {}",
            runs.len(),
            said.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::is_network;

    #[test]
    fn a_tenants_detector_and_its_fields_are_its_network() {
        assert!(is_network("tenants.camera.detector"));
        assert!(is_network("tenants.0.detector.shapes"));
        assert!(is_network("tenants.camera.network"));
        assert!(!is_network("tenants.camera.backend"));
        assert!(!is_network("tenants.detector"));
        assert!(!is_network("duration"));
    }
}
