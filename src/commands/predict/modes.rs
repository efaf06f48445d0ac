//! The board and the power mode that a question is about: one that was fitted, or another one of the same board.

use std::collections::BTreeSet;

use jetlag_predict::{Device, Mode};

use super::super::held::board;
use super::super::outcome::WrongUse;
use crate::board::mode_clocks;
use crate::board::modules::{self, PowerMode};
use crate::cli::PredictApply;
use crate::record::ModeClocks;
use crate::telemetry::clocks::is_mode;

/// What was asked for; none means the only board that was fitted.
///
/// # Errors
/// A board or mode that is not known, or that has to be said.
pub(super) fn device(fitted: &[Device], asked: &PredictApply) -> Result<Option<Device>, WrongUse> {
    let modes: Vec<(&Device, &Mode)> = fitted
        .iter()
        .filter_map(|device| Some((device, device.mode.as_ref()?)))
        .collect();
    let is_board = |name: &str| asked.board.as_deref().is_none_or(|board| board == name);
    if asked.mode.is_none() && asked.clocks.is_none() {
        let Some(name) = &asked.board else {
            return match modes.len() > 1 {
                true => Err(WrongUse(format!(
                    "the model was fitted in {}: say which one is meant with --mode, or another one's clocks with --clocks",
                    listed(modes.iter().map(|(device, _)| device.name.as_str()))
                ))),
                false => Ok(None),
            };
        };
        let found = fitted.iter().find(|device| device.name == *name).cloned();
        return found.map(Some).ok_or_else(|| {
            WrongUse(format!(
                "--board {name}: the model was fitted on {}",
                listed(fitted.iter().map(|device| device.name.as_str()))
            ))
        });
    }
    let own: Vec<(&Device, &Mode)> = modes
        .iter()
        .copied()
        .filter(|(_, mode)| is_board(&mode.board))
        .collect();
    let boards: BTreeSet<&str> = own.iter().map(|(_, mode)| mode.board.as_str()).collect();
    let first = match (own.first(), boards.len()) {
        (Some((first, _)), 1) => *first,
        (None, _) if modes.is_empty() => {
            return Err(WrongUse(
                "the model was fitted without the clocks of power modes, and cannot tell one from another: sweep `power_mode` on the \
                 board, or name modes in the tables (docs/predict.md), and fit again"
                    .to_owned(),
            ));
        }
        _ => {
            let boards: BTreeSet<&str> = modes.iter().map(|(_, mode)| mode.board.as_str()).collect();
            return Err(WrongUse(format!(
                "say with --board which board is meant: the model was fitted in power modes of {}",
                listed(boards.into_iter())
            )));
        }
    };
    let in_other_mode = |name: &str, clocks| Ok(first.in_other_mode(name, clocks));
    match (&asked.mode, asked.clocks) {
        (_, Some(clocks)) => in_other_mode(&clocks.to_string(), clocks),
        (Some(name), None) => {
            if let Some((device, _)) = own.iter().find(|(_, mode)| is_mode(&mode.name, name)) {
                return Ok(Some((*device).clone()));
            }
            let known = match &first.module {
                Some(module) => clocks(module, name),
                None => Err("the data do not say which module the board has".to_owned()),
            };
            let clocks = known.map_err(|why| {
                WrongUse(format!(
                    "--mode {name} was not measured ({}), and its clocks are not known: {why}. Give them with --clocks",
                    listed(own.iter().map(|(_, mode)| mode.name.as_str()))
                ))
            })?;
            in_other_mode(name, clocks)
        }
        (None, None) => Ok(None),
    }
}

/// Names in a sentence; of many the first.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 12;
    let names: Vec<&str> = names.collect();
    match names.get(..SHOWN) {
        Some(first) if names.len() > SHOWN => {
            format!("{} and {} more", first.join(", "), names.len() - SHOWN)
        }
        _ => names.join(", "),
    }
}

/// The clocks of a power mode that the table knows of the module that a device tree names.
///
/// # Errors
/// A sentence: the module or the mode is not known, or not all of its clocks.
pub(super) fn clocks(tree: &str, mode: &str) -> Result<ModeClocks, String> {
    let module = modules::find(&board::part(tree))
        .ok_or_else(|| format!("the module {tree} is not in jetlag's table of boards"))?;
    let configuration = module.configuration(board::flash_of(tree));
    let modes = configuration.map_or(&[][..], |configuration| &configuration.modes);
    let is_it = |known: &&PowerMode| is_mode(&known.name, mode) || known.id.to_string() == mode;
    let found = modes.iter().find(is_it).ok_or_else(|| {
        let names: Vec<&str> = modes.iter().map(|mode| mode.name.as_str()).collect();
        format!(
            "jetlag's table of boards knows {} of {}, and not {mode}",
            if names.is_empty() {
                "no mode".to_owned()
            } else {
                names.join(", ")
            },
            module.name
        )
    })?;
    let lacks = |what: &str| {
        format!(
            "jetlag's table of boards does not have {what} of {} in {}",
            module.name, found.name
        )
    };
    let caps = found.caps.ok_or_else(|| lacks("the clocks"))?;
    mode_clocks::clocks(&caps, Some(module), configuration).map_err(lacks)
}
