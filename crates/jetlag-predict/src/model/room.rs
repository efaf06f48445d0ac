//! Whether a network has room, and what can be said of its memory beyond everything that was measured.
//!
//! Where the board's memory ended the fitted rows, a prediction ends there as well: a larger batch would look as if it took what the
//! board has. Such a peak is withheld. What stays is a lower bound: what must be alive at once, and what the largest batch within the
//! data takes, since a larger one takes no less.

use super::answer::{Fits, Prediction, bounds, verdict};
use super::member::Example;
use super::unlike::Reason;
use super::{Model, TargetModel};
use crate::error::{PredictError, Unknown};
use crate::features::{Device, FeatureSet, Term, TermsOfOne};

impl TargetModel {
    /// Why the prediction of a network larger than all that were fitted says nothing, if it does not.
    ///
    /// # Errors
    /// Those of predicting.
    pub(super) fn unsaid(
        &self,
        said: &Prediction,
        example: &Example<'_>,
        of_one: &TermsOfOne,
        level: f64,
    ) -> Result<Option<Unknown>, PredictError> {
        let Some(Reason::Beyond {
            what,
            unit,
            found,
            most,
            ..
        }) = self.known.larger(&example.terms)
        else {
            return Ok(None);
        };
        if self.features == FeatureSet::Perf4sight {
            return Ok(Some(Unknown::Trees {
                what,
                unit,
                found,
                most,
            }));
        }
        let Some(board_mib) = self.ceiling().filter(|_| said.demand > said.value) else {
            return Ok(None);
        };
        Ok(Some(Unknown::BeyondBoard {
            what,
            unit,
            found,
            most,
            board_mib,
            at_least_mib: self.least(example, of_one, level)?,
        }))
    }

    /// The least memory that a batch beyond the data takes, MiB.
    fn least(&self, example: &Example<'_>, of_one: &TermsOfOne, level: f64) -> Result<f64, PredictError> {
        let alive = example.terms.get(Term::LivePeak) + example.terms.get(Term::Weights);
        // Every size grows with the batch, so those within the data come first.
        let (mut within, mut beyond) = (0, example.batch);
        while beyond - within > 1 {
            let middle = within + (beyond - within) / 2;
            match self.known.larger(&of_one.at(middle)) {
                None => within = middle,
                Some(_) => beyond = middle,
            }
        }
        if within == 0 {
            return Ok(alive);
        }
        let largest = Example {
            terms: of_one.at(within),
            batch: within,
            ..example.clone()
        };
        let said = self.predict(&[&largest], level)?;
        Ok(said
            .first()
            .map_or(alive, |said| alive.max(bounds(said, said.demand).0)))
    }
}

impl Model {
    /// Whether a network has room on a board, by what is said of its memory.
    pub(super) fn room(
        &self,
        of: &TargetModel,
        device: &Device,
        memory: Result<&Prediction, &Unknown>,
    ) -> Option<Fits> {
        let is_fitted = self.facts.devices.iter().any(|known| known.name == device.name);
        let seen = || is_fitted.then(|| of.ceiling()).flatten();
        let limit_mib = device.memory_mib.or_else(seen)?;
        let (demand_mib, is_least, (low, high)) = match memory {
            Ok(said) => (said.demand, false, bounds(said, said.demand)),
            Err(Unknown::BeyondBoard { at_least_mib, .. }) => {
                (*at_least_mib, true, (*at_least_mib, f64::INFINITY))
            }
            Err(_) => return None,
        };
        Some(Fits {
            limit_mib,
            demand_mib,
            is_least,
            verdict: verdict(low, high, limit_mib),
        })
    }
}
