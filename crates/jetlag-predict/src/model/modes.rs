//! Power modes that a model was fitted on, and whether another one is among them.

use jetlag_record::ModeClocks;
use serde::{Deserialize, Serialize};

use super::unlike::Reason;
use crate::base::Across;
use crate::features::{CLOCK_NAMES, Device, numbers};
use crate::random::Random;

/// Parts of the modes that are left out together, one after the other.
const FOLDS: usize = 10;

/// The modes of fitted rows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Modes(Vec<ModeClocks>);

impl Modes {
    /// Of the boards of rows; none where some has no known mode, or all have the same.
    pub(super) fn of<'a>(devices: impl Iterator<Item = &'a Device>) -> Self {
        let mut found: Vec<ModeClocks> = Vec::new();
        for device in devices {
            match device.clocks() {
                Some(clocks) if found.contains(&clocks) => {}
                Some(clocks) => found.push(clocks),
                None => return Self::default(),
            }
        }
        if found.len() < 2 {
            Self::default()
        } else {
            Self(found)
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn across(&self) -> Across {
        if self.0.is_empty() {
            Across::Boards
        } else {
            Across::Modes
        }
    }

    pub(super) fn is_sound(&self) -> bool {
        self.0.iter().all(ModeClocks::is_sound)
    }

    /// The place of each board's mode.
    pub(super) fn places<'a>(&self, devices: impl Iterator<Item = &'a Device>) -> Vec<usize> {
        let place = |device: &Device| {
            let clocks = device.clocks();
            self.0
                .iter()
                .position(|known| Some(*known) == clocks)
                .unwrap_or(0)
        };
        devices.map(place).collect()
    }

    /// The part that each mode belongs to: by chance, since an order by clocks would leave out all modes of one clock together.
    pub(super) fn folds(&self, seed: u64) -> Vec<usize> {
        let mut drawn: Vec<(u64, usize)> = (0..self.0.len())
            .map(|at| (Random::new(seed, at as u64).next(), at))
            .collect();
        drawn.sort_unstable();
        let mut folds = vec![0; self.0.len()];
        for (order, (_, at)) in drawn.into_iter().enumerate() {
            folds[at] = order % FOLDS;
        }
        folds
    }

    /// Whether a board is in a mode that was measured, and clocks beyond those that were.
    pub(super) fn judge(&self, device: &Device) -> (bool, Vec<Reason>) {
        let Some(clocks) = device.clocks().filter(|_| !self.0.is_empty()) else {
            return (true, Vec::new());
        };
        let mut reasons = Vec::new();
        for ((at, found), (what, unit)) in numbers(clocks).into_iter().enumerate().zip(CLOCK_NAMES) {
            let all = || self.0.iter().map(|known| numbers(*known)[at]);
            let (least, most) = (all().fold(f64::MAX, f64::min), all().fold(0.0, f64::max));
            if found < least || found > most {
                reasons.push(Reason::Beyond {
                    what: what.to_owned(),
                    unit: unit.to_owned(),
                    found,
                    least,
                    most,
                });
            }
        }
        (self.0.contains(&clocks), reasons)
    }
}
