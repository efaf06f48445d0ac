//! Ceilings of a Jetson's GPU from the table of boards, in the power mode that was in force.

use crate::analysis::roofline::{Bandwidth, CEILINGS_SCHEMA, Ceilings, Gathered, Peak, Processor};
use crate::board::identity::Flash;
use crate::board::modules::{self, Caps, Configuration, Module, PowerMode};
use crate::cli::CeilingsOf;
use crate::commands::outcome::WrongUse;
use crate::nearest::nearest;

/// Refuses a board that is not in the table.
///
/// # Errors
/// [`WrongUse`], with the nearest name.
pub(super) fn check(asked: &CeilingsOf) -> Result<(), WrongUse> {
    match &asked.board {
        Some(name) => named(name).map(drop).map_err(WrongUse),
        None => Ok(()),
    }
}

/// The ceilings of the module that was asked for, or else of the run's.
///
/// # Errors
/// A sentence: the module or the mode is not known, or the table has no peaks of it.
pub(super) fn ceilings(asked: &CeilingsOf, gathered: &Gathered) -> Result<Ceilings, String> {
    let told = gathered.manifest.machine.get("module");
    let (module, flash) = match (&asked.board, told) {
        (Some(name), _) => (named(name)?, None),
        (None, Some(tree)) => (of_tree(tree)?, Some(flash_of(tree))),
        (None, None) => return Err(NO_BOARD.to_owned()),
    };
    let is_own = told.is_some_and(|tree| of_tree(tree).is_ok_and(|own| own.name == module.name));
    let configuration = flash
        .or_else(|| told.filter(|_| is_own).map(|tree| flash_of(tree)))
        .and_then(|flash| module.configuration(flash))
        .or_else(|| module.configurations.last())
        .ok_or_else(|| {
            format!(
                "the table of boards has no peaks of {}; measure or give ceilings (--ceilings FILE)",
                module.name
            )
        })?;
    let mode = match (&asked.mode, gathered.power_mode.filter(|_| is_own)) {
        (Some(name), _) => Some(mode_named(configuration, name)?),
        (None, Some(id)) => Some(mode_of(configuration, id)?),
        (None, None) => None,
    };
    at_mode(module, configuration, mode)
}

const NO_BOARD: &str = "this run is of no board in jetlag's table; measure this machine (jetlag ceilings -o FILE) and name the file with --ceilings, or name a module with --board";

fn named(name: &str) -> Result<&'static Module, String> {
    let all = modules::modules();
    let is_it = |module: &&Module| {
        module.name.eq_ignore_ascii_case(name) || module.parts.iter().any(|part| part == name)
    };
    if let Some(module) = all.iter().find(is_it) {
        return Ok(module);
    }
    // A part of a name will do where only one board has it: `AGX Orin 64GB`.
    let asked = name.trim().to_ascii_lowercase();
    let has_it = |module: &&Module| !asked.is_empty() && module.name.to_ascii_lowercase().contains(&asked);
    let names = |modules: &[&Module]| {
        let all: Vec<&str> = modules.iter().map(|module| module.name.as_str()).collect();
        all.join(", ")
    };
    match all.iter().filter(has_it).collect::<Vec<_>>()[..] {
        [module] => Ok(module),
        [] => Err(
            match nearest(name, all.iter().map(|module| module.name.as_str())) {
                Some(meant) => format!("no board is called {name:?}; did you mean {meant:?}?"),
                None => format!(
                    "no board is called {name:?}; known are {}",
                    names(&all.iter().collect::<Vec<_>>())
                ),
            },
        ),
        ref several => Err(format!(
            "several boards are called {name:?}; name one: {}",
            names(several)
        )),
    }
}

/// The module of what a device tree calls it: `p3767-0005-super`.
fn of_tree(tree: &str) -> Result<&'static Module, String> {
    modules::find(&part(tree))
        .ok_or_else(|| format!("the module {tree} is not in jetlag's table of boards; name one with --board, or give ceilings (--ceilings FILE)"))
}

/// `p3767-0005` of `p3767-0005-super`.
pub(in crate::commands) fn part(tree: &str) -> String {
    let part: Vec<&str> = tree.split('-').take(2).collect();
    part.join("-")
}

/// How a module was flashed, by what its device tree calls it.
pub(in crate::commands) fn flash_of(tree: &str) -> Flash {
    match tree.contains("super") {
        true => Flash::Super,
        false => Flash::Plain,
    }
}

fn mode_named<'a>(configuration: &'a Configuration, name: &str) -> Result<&'a PowerMode, String> {
    let is_it = |mode: &&PowerMode| mode.name.eq_ignore_ascii_case(name) || mode.id.to_string() == name;
    configuration.modes.iter().find(is_it).ok_or_else(|| {
        let names: Vec<&str> = configuration.modes.iter().map(|mode| mode.name.as_str()).collect();
        match names.is_empty() {
            true => format!("no power modes of this module are known, and {name:?} was asked for; leave --mode out for its highest clocks"),
            false => format!("no power mode is called {name:?}; known are {}", names.join(", ")),
        }
    })
}

fn mode_of(configuration: &Configuration, id: u32) -> Result<&PowerMode, String> {
    let found = configuration.modes.iter().find(|mode| mode.id == id);
    found.ok_or_else(|| {
        format!("the run was in power mode {id}, which the table of boards does not know; name one with --mode, or give ceilings (--ceilings FILE)")
    })
}

/// Peaks at the highest clocks, scaled by the clocks and multiprocessors that a mode leaves.
///
/// # Errors
/// The table lacks what is needed for that.
fn at_mode(
    module: &Module,
    configuration: &Configuration,
    mode: Option<&PowerMode>,
) -> Result<Ceilings, String> {
    let lacks = |what: &str| {
        format!(
            "the table of boards has no {what} of {}; give ceilings (--ceilings FILE)",
            module.name
        )
    };
    let peaks = configuration.peaks.as_ref().ok_or_else(|| lacks("peaks"))?;
    let (bandwidth, _) = configuration.bandwidth_gb_s.ok_or_else(|| lacks("bandwidth"))?;
    let caps = match mode {
        None => Caps::default(),
        Some(mode) => mode
            .caps
            .ok_or_else(|| lacks(&format!("clocks of the mode {}", mode.name)))?,
    };
    if caps.sms_unknown {
        return Err(lacks("number of multiprocessors in that mode"));
    }
    let part = |cap: Option<f64>, all: Option<f64>, what: &str| match (cap, all) {
        (None, _) => Ok(1.0),
        (Some(cap), Some(all)) if all > 0.0 => Ok((cap / all).min(1.0)),
        (Some(_), _) => Err(lacks(what)),
    };
    let clock = caps.gpu_in_force_mhz.or(caps.gpu_mhz);
    let clocks = part(clock, configuration.gpu_mhz.map(|(mhz, _)| mhz), "clock")?;
    let sms = part(
        caps.sms.map(f64::from),
        module.sms.map(|(sms, _)| f64::from(sms)),
        "number of multiprocessors",
    )?;
    let memory = part(
        caps.emc_mhz,
        configuration.emc_mhz.map(|(mhz, _)| mhz),
        "clock of the memory",
    )?;
    let mut all = vec![("fp32", peaks.fp32_tflops.0), ("fp16", peaks.fp16_tflops.0)];
    let more = [
        ("int8", peaks.int8_tops),
        ("fp8", peaks.fp8_tflops),
        ("fp4", peaks.fp4_tflops),
    ];
    all.extend(more.into_iter().filter_map(|(name, peak)| Some((name, peak?.0))));
    let mut notes = vec![
        "Peaks are of the GPU alone, dense, at the clocks that the mode allows; TensorRT computes fp32 as TF32 on Ampere and later unless told otherwise, which may lie above fp32's roof.".to_owned(),
    ];
    if mode.is_none() {
        notes.push("The power mode is not known: these are the module's highest clocks.".to_owned());
    }
    Ok(Ceilings {
        schema: CEILINGS_SCHEMA,
        name: module.name.clone(),
        processor: Processor::Gpu,
        source: match mode {
            Some(mode) => format!("jetson/boards.ron, mode {}", mode.name),
            None => "jetson/boards.ron, highest clocks".to_owned(),
        },
        peaks: all
            .into_iter()
            .map(|(name, tflops)| Peak {
                precision: name.to_owned(),
                threads: None,
                flops_per_s: tflops * 1e12 * clocks * sms,
                how: "table of boards".to_owned(),
            })
            .collect(),
        bandwidths: vec![Bandwidth {
            name: "memory".to_owned(),
            threads: None,
            bytes_per_s: bandwidth * 1e9 * memory,
            working_set: None,
            how: "table of boards".to_owned(),
        }],
        copies: Vec::new(),
        notes,
    })
}

#[cfg(test)]
mod tests;
