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
/// A board or mode that is not known, or that has to be said; clocks that cannot be compared with the fitted ones.
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
        if let Some(found) = fitted.iter().find(|device| device.name == *name) {
            return Ok(Some(found.clone()));
        }
        let own: Vec<&str> = modes
            .iter()
            .filter(|(_, mode)| mode.board == *name)
            .map(|(_, mode)| mode.name.as_str())
            .collect();
        return Err(WrongUse(match own.is_empty() {
            true => format!("--board {name}: the model was fitted on {}", known(fitted)),
            false => format!(
                "--board {name}: the model was fitted in its modes {}; say which one is meant with --mode, or another one's clocks with --clocks",
                listed(own.into_iter())
            ),
        }));
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
            let boards = listed(boards.into_iter());
            return Err(WrongUse(match &asked.board {
                Some(name) => {
                    format!("--board {name}: the model was fitted in power modes of the boards {boards}")
                }
                None => format!(
                    "say with --board which board is meant: the model was fitted in power modes of {boards}"
                ),
            }));
        }
    };
    let in_other_mode = |name: &str, clocks| {
        let clocks = with_parts(own.iter().map(|(_, mode)| mode.clocks), clocks)
            .map_err(|why| WrongUse(format!("the clocks {clocks}: {why}")))?;
        Ok(first.in_other_mode(name, clocks))
    };
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

/// Clocks with the multiprocessors that they leave to the fitted modes to tell.
///
/// # Errors
/// A sentence: fitted modes differ in them, or tell none.
fn with_parts(fitted: impl Iterator<Item = ModeClocks>, clocks: ModeClocks) -> Result<ModeClocks, String> {
    let parts: BTreeSet<Option<u32>> = fitted.map(|fitted| fitted.sms).collect();
    let told: Vec<String> = parts.iter().flatten().map(u32::to_string).collect();
    match (parts.contains(&None), told.as_slice(), clocks.sms) {
        (true, [], None) | (false, _, Some(_)) => Ok(clocks),
        (false, [_], None) => Ok(ModeClocks {
            sms: parts.into_iter().flatten().next(),
            ..clocks
        }),
        (false, _, None) => Err(format!(
            "the fitted modes differ in multiprocessors ({}); say with --clocks how many are on, as in {clocks},sms={}",
            told.join(", "),
            told.last().map_or("8", String::as_str)
        )),
        (true, [], Some(_)) => Err(
            "the model was fitted without multiprocessors; leave sms out of --clocks".to_owned(),
        ),
        (true, _, _) => Err(
            "some of the fitted modes tell their multiprocessors and others do not, so another mode cannot be compared with them; \
             give all of them, and fit again"
                .to_owned(),
        ),
    }
}

/// Boards and modes that were fitted, in a sentence.
fn known(fitted: &[Device]) -> String {
    listed(fitted.iter().map(|device| device.name.as_str()))
}

/// Names in a sentence; of many the first. A board's name with its mode has a comma.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 12;
    let names: Vec<&str> = names.collect();
    match names.get(..SHOWN) {
        Some(first) if names.len() > SHOWN => {
            format!("{} and {} more", first.join("; "), names.len() - SHOWN)
        }
        _ => names.join("; "),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiprocessors_that_are_not_told_are_those_of_all_fitted_modes_or_are_asked_for() {
        let clocks = |sms| ModeClocks {
            gpu_mhz: 612.0,
            emc_mhz: 2133.0,
            cpu_mhz: 1190.4,
            cores: 4,
            sms,
        };
        let found = |fitted: &[Option<u32>], asked| {
            with_parts(fitted.iter().map(|sms| clocks(*sms)), clocks(asked)).map(|clocks| clocks.sms)
        };
        assert_eq!(found(&[None, None], None), Ok(None));
        assert_eq!(found(&[Some(8), Some(8)], None), Ok(Some(8)));
        assert_eq!(found(&[Some(4), Some(16)], Some(8)), Ok(Some(8)));
        for (fitted, asked, words) in [
            (vec![Some(4), Some(16)], None, "differ in multiprocessors (4, 16)"),
            (vec![None], Some(8), "leave sms out"),
            (vec![None, Some(8)], Some(8), "others do not"),
            (vec![None, Some(8)], None, "others do not"),
        ] {
            let wrong = found(&fitted, asked).unwrap_err();
            assert!(wrong.contains(words), "{wrong}");
        }
    }
}
