//! Power modes that a model was fitted on, and whether another one is among them.

use jetlag_record::ModeClocks;
use jetlag_stats::random::SplitMix64;
use serde::{Deserialize, Serialize};

use super::unlike::Reason;
use crate::base::Across;
use crate::dataset::Target;
use crate::error::Unknown;
use crate::features::{CLOCK_NAMES, Device, FeatureSet, numbers};

/// Parts of the modes that are left out together, one after the other.
const FOLDS: usize = 10;

/// A target that is not answered in the power mode that was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unanswered {
    /// The target.
    pub target: Target,
    /// Why not, and what it would need.
    pub why: Unknown,
}

/// The modes of fitted rows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Modes(Vec<ModeClocks>);

impl Modes {
    /// Of the boards of rows; none where some has no known mode.
    pub(super) fn of<'a>(devices: impl Iterator<Item = &'a Device>) -> Self {
        let mut found: Vec<ModeClocks> = Vec::new();
        for device in devices {
            match device.clocks() {
                Some(clocks) if found.contains(&clocks) => {}
                Some(clocks) => found.push(clocks),
                None => return Self::default(),
            }
        }
        Self(found)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether a model with these features sees what differs between the modes.
    pub(super) fn across(&self, features: FeatureSet) -> Across {
        match features {
            FeatureSet::Jetlag if self.0.len() > 1 => Across::Modes,
            FeatureSet::Jetlag | FeatureSet::Perf4sight | FeatureSet::Both => Across::Boards,
        }
    }

    /// Why such a model says nothing of these clocks, if it does not; `is_only` where all fitted boards have them.
    pub(super) fn unknown(&self, features: FeatureSet, clocks: ModeClocks, is_only: bool) -> Option<Unknown> {
        match (self.0.as_slice(), self.across(features)) {
            ([], _) if !is_only => Some(Unknown::NotTold),
            ([fitted], _) if *fitted != clocks => Some(Unknown::OneMode {
                fitted: fitted.to_string(),
            }),
            ([_, _, ..], Across::Boards) => Some(Unknown::Features { modes: self.0.len() }),
            _ => None,
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
            .map(|at| (SplitMix64::stream(seed, at as u64).bits(), at))
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
        let Some(clocks) = device.clocks() else {
            return (true, Vec::new());
        };
        let mut reasons = Vec::new();
        for ((at, found), (what, unit)) in numbers(clocks).into_iter().enumerate().zip(CLOCK_NAMES) {
            let all = || self.0.iter().map(|known| numbers(*known)[at]);
            let (least, most) = (all().fold(f64::MAX, f64::min), all().fold(0.0, f64::max));
            if found < least || found > most {
                reasons.push(Reason::beyond(what, unit, found, [least, most]));
            }
        }
        (self.0.contains(&clocks), reasons)
    }
}
