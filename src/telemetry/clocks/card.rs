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

/// The library, and the cards whose highest clock is known; none where there are none.
pub(super) fn plan(roots: &Roots) -> Option<(Nvml, Vec<Card>)> {
    let nvml = nvml::open(roots).ok()?;
    let count = nvml.device_count().unwrap_or(0);
    let cards: Vec<Card> = (0..count)
        .filter_map(|index| {
            let device = nvml.device_by_index(index).ok()?;
            // On a Jetson this is not supported, and the kernel's files hold its clock.
            Some(Card {
                index,
                mhz: device.max_clock_info(Clock::SM).ok()?,
                persistence: device.is_in_persistent_mode().ok(),
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
        let setting = GpuLockedClocksSetting::Numeric {
            min_clock_mhz: card.mhz,
            max_clock_mhz: card.mhz,
        };
        let locked = device.set_gpu_locked_clocks(setting);
        locked.map_err(|error| failed(touched, error))?;
    }
    Ok(())
}

/// Releases the locks; what could not be.
pub(super) fn give_back(roots: &Roots, cards: &[Card]) -> Vec<ClockError> {
    if cards.is_empty() {
        return Vec::new();
    }
    let nvml = match nvml::open(roots) {
        Ok(nvml) => nvml,
        Err(problem) => {
            return vec![ClockError::Card {
                index: cards[0].index,
                problem,
            }];
        }
    };
    let mut problems = Vec::new();
    for card in cards {
        let given_back = nvml.device_by_index(card.index).and_then(|mut device| {
            device.reset_gpu_locked_clocks()?;
            match card.persistence {
                Some(false) => device.set_persistent(false),
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
        NvmlError::NoPermission => "permission denied; it takes root: sudo jetlag …".to_owned(),
        NvmlError::NotSupported => "this card cannot be held".to_owned(),
        other => other.to_string(),
    }
}
