//! The clock of a desktop's card, through NVML.
//!
//! NVML has no question for a lock that somebody else set before, so giving back means releasing the lock: the
//! card then follows its load, as it does unless somebody locked it. Persistence mode can be asked, and is put
//! back as it was.

use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::enums::device::GpuLockedClocksSetting;
use nvml_wrapper::error::NvmlError;

use super::ClockError;
use super::state::Card;
use crate::board::Roots;
use crate::telemetry::nvml;

/// The library, and the cards whose highest clock is known; none where there are none. On a board also those that only know
/// whether their driver stays loaded: Thor's NVML need not tell clocks, and jetson_clocks sets persistence mode there.
pub(super) fn plan(roots: &Roots, board: bool) -> Option<(Nvml, Vec<Card>)> {
    let nvml = nvml::open(roots).ok()?;
    let count = nvml.device_count().unwrap_or(0);
    let cards: Vec<Card> = (0..count)
        .filter_map(|index| {
            let device = nvml.device_by_index(index).ok()?;
            // Up to Orin this is not supported, and the kernel's files hold the clock.
            let mhz = device.max_clock_info(Clock::SM).ok();
            let persistence = device.is_in_persistent_mode().ok();
            (mhz.is_some() || (board && persistence.is_some())).then_some(Card {
                index,
                mhz: mhz.unwrap_or(0),
                persistence,
                locked: mhz.is_some(),
            })
        })
        .collect();
    (!cards.is_empty()).then_some((nvml, cards))
}

/// Holds each card at its highest clock; the card itself still slows down when it is too hot. An error comes with the
/// number of cards of which something was set.
pub(super) fn hold(nvml: &Nvml, cards: &[Card]) -> Result<(), (usize, ClockError)> {
    for (position, card) in cards.iter().enumerate() {
        let failed = |touched: usize, error: NvmlError| {
            let (index, problem) = (card.index, problem(&error));
            (touched, ClockError::Card { index, problem })
        };
        let untouched = |error| failed(position, error);
        let mut device = nvml.device_by_index(card.index).map_err(untouched)?;
        let mut touched = position;
        // Without it a lock is forgotten as soon as nobody uses the card.
        if card.persistence == Some(false) {
            device.set_persistent(true).map_err(untouched)?;
            touched += 1;
        }
        let locked = device.set_gpu_locked_clocks(at(card.mhz));
        locked.map_err(|error| failed(touched, error))?;
    }
    Ok(())
}

/// The same on a board, whose GPU the kernel's files hold: each card is left with what was set of it, and what could not be
/// set is returned.
pub(super) fn hold_what_can_be(nvml: &Nvml, cards: &mut [Card]) -> Vec<String> {
    let mut unset = Vec::new();
    for card in cards {
        let index = card.index;
        let mut refused = |what: &str, error: NvmlError| {
            unset.push(format!("{what} of GPU {index} by NVML: {}", problem(&error)));
        };
        let mut device = match nvml.device_by_index(index) {
            Ok(device) => device,
            Err(error) => {
                refused("everything", error);
                (card.persistence, card.locked) = (None, false);
                continue;
            }
        };
        if card.persistence == Some(false)
            && let Err(error) = device.set_persistent(true)
        {
            refused("persistence mode", error);
            card.persistence = None;
        }
        if card.locked
            && let Err(error) = device.set_gpu_locked_clocks(at(card.mhz))
        {
            refused("the clock lock", error);
            card.locked = false;
        }
    }
    unset
}

fn at(mhz: u32) -> GpuLockedClocksSetting {
    GpuLockedClocksSetting::Numeric {
        min_clock_mhz: mhz,
        max_clock_mhz: mhz,
    }
}

/// What a device cannot do it has not done: a run that was killed may have left it to be undone all the same.
fn undone(answer: Result<(), NvmlError>) -> Result<(), NvmlError> {
    match answer {
        Err(NvmlError::NotSupported) => Ok(()),
        answer => answer,
    }
}

/// Releases the locks; what could not be.
pub(super) fn give_back(roots: &Roots, cards: &[Card]) -> Vec<ClockError> {
    if cards.is_empty() {
        return Vec::new();
    }
    let nvml = match nvml::open(roots) {
        Ok(nvml) => nvml,
        Err(why) => {
            return vec![ClockError::Card {
                index: cards[0].index,
                problem: why.to_string(),
            }];
        }
    };
    let mut problems = Vec::new();
    for card in cards {
        let given_back = nvml.device_by_index(card.index).and_then(|mut device| {
            if card.locked {
                undone(device.reset_gpu_locked_clocks())?;
            }
            match card.persistence {
                Some(false) => undone(device.set_persistent(false)),
                _ => Ok(()),
            }
        });
        problems.extend(given_back.err().map(|error| ClockError::Card {
            index: card.index,
            problem: problem(&error),
        }));
    }
    problems
}

fn problem(error: &NvmlError) -> String {
    match error {
        NvmlError::NoPermission => "permission denied; needs root: sudo jetlag …".to_owned(),
        NvmlError::NotSupported => "this card's clock cannot be locked".to_owned(),
        other => other.to_string(),
    }
}
