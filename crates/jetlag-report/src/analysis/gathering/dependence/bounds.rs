//! The interval that a quantile or a mean has by how much its frames depend on each other, or what the frames lack for one.

use jetlag_stats::quantile::Quantile;
use jetlag_stats::spells::ENOUGH;
use jetlag_stats::student::t_quantile;

use super::{AT, Dependence, Indicator, about};
use crate::analysis::gathering::lack::Lack;

/// Independent frames beyond the quantile that would tell as much as all that are beyond it: below so many nothing is known, up
/// to p95 and beyond it.
const LEAST: (f64, f64) = (0.5, 1.0);
/// Correlation times below which a run says nothing of others. A larger bound is no safer one: the runs that seem longer than they
/// are would be left, and their intervals hold least (docs/measurement.md).
const SHORTEST: f64 = 2.0;
/// Frames from which a mean is about normal, and how many of them must be worth an independent one.
const FOR_MEAN: u64 = 30;
const INDEPENDENT_FOR_MEAN: f64 = 4.0;
/// Degrees of freedom of four quarters.
const QUARTERS: f64 = 3.0;

/// The interval of a quantile: between two ranks, or as much on both sides of the estimate, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::analysis) enum Bounds {
    Ranks(u64, u64),
    Around(f64),
}

impl Indicator {
    /// Whether the run was long enough to say something of others.
    fn settled(&self) -> Result<(), Lack> {
        match self.length {
            Some(length) if length.times < SHORTEST => Err(Lack::Wanders),
            _ => Ok(()),
        }
    }
}

impl Dependence {
    /// The interval of a quantile of `n` frames; else what the frames lack.
    pub(in crate::analysis) fn bounds(
        &self,
        quantile: Quantile,
        n: u64,
        confidence: f64,
    ) -> Result<Bounds, Lack> {
        self.bounds_at_least(quantile, n, confidence, 1.0)
    }

    /// The same where many rows of few frames are judged together: in so few, autocorrelation may be there undetected, and one
    /// row of many shows it. So τ is at least its upper bound.
    pub(in crate::analysis) fn bounds_cautiously(
        &self,
        quantile: Quantile,
        n: u64,
        confidence: f64,
    ) -> Result<Bounds, Lack> {
        let central = self.up_to(quantile).len().max(3);
        let most = self.at[..central].iter().map(|at| at.neighbours.most());
        self.bounds_at_least(quantile, n, confidence, most.fold(1.0, f64::max))
    }

    fn bounds_at_least(
        &self,
        quantile: Quantile,
        n: u64,
        confidence: f64,
        least: f64,
    ) -> Result<Bounds, Lack> {
        // As few frames as independent ones would need are too few in any case.
        if n < quantile.needs() {
            return Err(Lack::Frames(quantile.needs()));
        }
        let (inflation, detected) = self.inflation(quantile, n, confidence);
        let inflation = inflation.max(least);
        if !detected {
            let more = || (quantile.needs_at(confidence) as f64 * inflation).ceil() as u64;
            let ranks = quantile.interval_ranks(n, confidence, inflation);
            return ranks
                .map(|(low, high)| Bounds::Ranks(low, high))
                .ok_or_else(|| Lack::Frames(more()));
        }
        let own = self.own(quantile);
        own.settled()?;
        if let Some(few) = self.spells.filter(|spells| spells.seen < ENOUGH) {
            let share = quantile.share();
            let allowed_for = (share * (1.0 - share) * inflation / n as f64).sqrt();
            if 2.0 * few.scatter(share) > allowed_for {
                return Err(Lack::Spells(few.seen));
            }
        }
        let beyond = self.beyond(quantile, n);
        let (usual, far) = LEAST;
        // Slow frames of a queue come in bursts.
        let is_usual = quantile <= Quantile::P95 && !self.waiting.dependent;
        let least = if is_usual { usual } else { far };
        let ranks = match beyond < least {
            true => Err(Lack::Frames(about(n as f64 * least / beyond))),
            false => quantile
                .dependent_ranks(n, confidence, inflation)
                .map(|(low, high)| Bounds::Ranks(low, high))
                .ok_or_else(|| Lack::Frames(about(2.0 * n as f64))),
        };
        // Of a queue, whose tail comes in bursts, quarters say too little.
        let quarters = own.by_quarters.filter(|_| !self.waiting.dependent).map(|error| {
            let half = t_quantile(f64::midpoint(1.0, confidence), QUARTERS) * error;
            Bounds::Around(half)
        });
        ranks.or_else(|lack| quarters.ok_or(lack))
    }

    /// How many times more the mean of `n` frames varies than that of independent ones, with the factor by which Student's t is wider;
    /// else what the frames lack for an interval of it. A mean follows all of its frames, so the largest τ from the median to p95 counts.
    pub(in crate::analysis) fn inflation_of_mean(&self, n: u64, confidence: f64) -> Result<f64, Lack> {
        if n < FOR_MEAN {
            return Err(Lack::Frames(FOR_MEAN));
        }
        let looked_at = AT.into_iter().filter(|quantile| *quantile <= Quantile::P95);
        let inflation = looked_at.map(|quantile| self.inflation(quantile, n, confidence).0);
        let inflation = inflation.fold(1.0, f64::max);
        if !self.is_detected(Quantile::P95) {
            return Ok(inflation);
        }
        self.own(Quantile::P50).settled()?;
        if let Some(few) = self.spells.filter(|spells| spells.seen < ENOUGH) {
            return Err(Lack::Spells(few.seen));
        }
        let needs = INDEPENDENT_FOR_MEAN * inflation;
        match (n as f64) < needs {
            true => Err(Lack::Frames(about(needs))),
            false => Ok(inflation),
        }
    }
}
