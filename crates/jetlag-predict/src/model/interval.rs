//! Conformal intervals: residuals of rows that were left out, divided by how uncertain the model was, and their quantile.
//!
//! Rows of one network err alike, so what a new network will bring cannot be read from the number of rows. For other networks
//! each fitted one is left out in turn, and each counts alike. Where the networks suffice for the level (nine for 90 %), it is the
//! quantile of all rows: it then holds for a row of the next network with that probability, and is no wider than that takes. No quantile
//! of fewer networks holds the level whatever their distribution is. There errors are taken for normal ones, of a size that K networks
//! have shown: the root of their mean square, times Student's t with K degrees of freedom. Power modes are left out in the same way.

use jetlag_stats::student::t_quantile;
use serde::{Deserialize, Serialize};

use super::cross::{Trust, Unseen, joined};
use super::unlike::Kin;
use crate::words::many;

/// Fewest networks for an interval of another one: leaving one out must leave two.
pub(super) const LEAST_NETWORKS: usize = 3;
/// Fewest variants and rows for an interval of a fitted network's variant.
pub(super) const LEAST_VARIANTS: usize = 4;
const LEAST_ROWS: usize = 20;
/// Fewest power modes for an interval in another one.
pub(super) const LEAST_MODES: usize = 4;

/// Bounds of a prediction, in its unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Coverage aimed at, 0 to 1.
    pub level: f64,
}

/// Why there is no interval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Withheld {
    /// Too few networks to leave one out.
    #[error(
        "no interval for networks unlike the fitted ones: fitted on {}, and at least {wanted} are needed to see how far off a new one is",
        many(*found, "network")
    )]
    FewNetworks {
        /// In the data.
        found: usize,
        /// The least.
        wanted: usize,
    },
    /// Too few power modes to leave some out.
    #[error(
        "no interval for power modes that were not measured: fitted on {}, and at least {wanted} are needed to see how far off another one is",
        many(*found, "mode")
    )]
    FewModes {
        /// In the data.
        found: usize,
        /// The least.
        wanted: usize,
    },
    /// Too few variants or rows.
    #[error(
        "no interval: fitted on {} of {}, and at least {LEAST_ROWS} rows of {LEAST_VARIANTS} variants are needed",
        many(*rows, "row"), many(*variants, "variant")
    )]
    FewVariants {
        /// In the data.
        variants: usize,
        /// In the data.
        rows: usize,
    },
}

/// Half a width in logarithms is `quantile · (spread + typical)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Width {
    pub(super) quantile: f64,
    pub(super) typical: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Intervals {
    pub(super) near: Result<Width, Withheld>,
    pub(super) far: Result<Width, Withheld>,
    /// For fitted networks in other power modes; None where rows do not differ in modes.
    #[serde(default)]
    pub(super) modes: Option<Result<Width, Withheld>>,
}

impl Intervals {
    /// For a variant of a fitted network or another one, in a mode that was measured or not.
    pub(super) fn of(&self, kin: Kin, is_measured: bool) -> Result<Width, Withheld> {
        match (kin, &self.modes) {
            (Kin::Fitted, None) => self.near.clone(),
            // What holds in other modes is wide enough for those that were measured.
            (Kin::Fitted, Some(modes)) if is_measured => self.near.clone().or_else(|_| modes.clone()),
            (Kin::Fitted, Some(modes)) => modes.clone(),
            (Kin::Other, Some(modes)) if !is_measured => Ok(self.far.clone()?.and(modes.clone()?)),
            (Kin::Other, _) => self.far.clone(),
        }
    }
}

impl Width {
    /// Of left-out rows; by group, each group counts alike.
    pub(crate) fn of(unseen: &[Unseen], trust: Trust, level: f64, by_group: bool) -> Option<Self> {
        let said: Vec<(f64, f64, usize)> = unseen
            .iter()
            .map(|row| {
                let (log, spread) = joined(&row.opinions, trust);
                (
                    (libm::log(row.value) - log).abs(),
                    spread,
                    if by_group { row.group } else { 0 },
                )
            })
            .collect();
        let spreads: Vec<f64> = said.iter().map(|(_, spread, _)| *spread).collect();
        // Where trees agree by chance, they are still not certain.
        let typical = crate::score::quantile(&spreads, 0.5)?.max(1e-6);
        let groups = said.iter().map(|(_, _, group)| *group).max()? + 1;
        let mut scores: Vec<Vec<f64>> = vec![Vec::new(); groups];
        for (left, spread, group) in said {
            scores[group].push(left / (spread + typical));
        }
        scores.retain(|own| !own.is_empty());
        let quantile = match by_group {
            false => conformal(scores.into_iter().next()?, level)?,
            true => pooled(&scores, level).unwrap_or_else(|| of_few(&scores, level)),
        };
        Some(Self { quantile, typical })
    }

    /// Wide enough for two causes of error that were seen one by one.
    fn and(self, other: Self) -> Self {
        Self {
            quantile: self.quantile + other.quantile,
            typical: self.typical.max(other.typical),
        }
    }

    /// Whether a read one can be used.
    pub(crate) fn is_sound(self) -> bool {
        [self.quantile, self.typical]
            .into_iter()
            .all(|x| x.is_finite() && x >= 0.0)
    }

    /// Whether the interval around what was said of a row holds its value.
    pub(super) fn holds(self, row: &Unseen, trust: Trust, level: f64) -> bool {
        let (log, spread) = joined(&row.opinions, trust);
        let interval = self.around(log, spread, level);
        (interval.low..=interval.high).contains(&row.value)
    }

    /// The interval around exp(log).
    pub(crate) fn around(self, log: f64, spread: f64, level: f64) -> Interval {
        let half = (self.quantile * (spread + self.typical)).min(20.0);
        Interval {
            low: libm::exp(log - half),
            high: libm::exp(log + half),
            level,
        }
    }
}

/// The ⌈(n + 1) level⌉-th least score (Vovk; Lei et al. 2018); the greatest where that is beyond all.
fn conformal(mut scores: Vec<f64>, level: f64) -> Option<f64> {
    scores.sort_by(f64::total_cmp);
    let place = libm::ceil((scores.len() + 1) as f64 * level) as usize;
    scores.get(place.saturating_sub(1)).or(scores.last()).copied()
}

/// The quantile of all scores, where each group counts alike and the next one as a group that errs without bound: pooled distributions
/// (Dunn, Wasserman, Ramdas 2022). None where groups are too few for the level: nine are needed for 90 %.
fn pooled(groups: &[Vec<f64>], level: f64) -> Option<f64> {
    let wanted = level * (groups.len() + 1) as f64;
    if wanted > groups.len() as f64 {
        return None;
    }
    let mut weighted: Vec<(f64, f64)> = Vec::new();
    for own in groups {
        weighted.extend(own.iter().map(|score| (*score, 1.0 / own.len() as f64)));
    }
    weighted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut mass = 0.0;
    for (score, weight) in &weighted {
        mass += weight;
        // Sums of parts are off by rounding.
        if mass >= wanted - 1e-9 {
            return Some(*score);
        }
    }
    weighted.last().map(|(score, _)| *score)
}

/// What a normal error exceeds as seldom as the level asks, where a few groups have shown how large errors are. The errors of a group
/// are taken for one.
fn of_few(groups: &[Vec<f64>], level: f64) -> f64 {
    let square = |own: &Vec<f64>| own.iter().map(|score| score * score).sum::<f64>() / own.len() as f64;
    let mean = groups.iter().map(square).sum::<f64>() / groups.len() as f64;
    t_quantile(f64::midpoint(1.0, level), groups.len() as f64) * libm::sqrt(mean)
}

/// Why intervals of fitted networks are withheld, if they are.
pub(super) fn few_variants(variants: usize, rows: usize) -> Option<Withheld> {
    (variants < LEAST_VARIANTS || rows < LEAST_ROWS).then_some(Withheld::FewVariants { variants, rows })
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::print_stdout,
        reason = "figures of docs/evidence/predict.md are printed with --nocapture"
    )]

    use super::*;
    use crate::features::FeatureSet;
    use crate::model::Opinion;
    use jetlag_stats::random::SplitMix64;

    #[test]
    fn groups_count_alike_and_too_few_have_no_common_quantile() {
        // One large group that errs much, and nine small ones: its share is a tenth of all.
        let mut groups = vec![vec![1.0, 2.0]; 9];
        groups.push((0..1000).map(|_| 50.0).collect());
        assert_eq!(pooled(&groups, 0.8), Some(2.0));
        assert_eq!(pooled(&groups, 0.9), Some(50.0));
        assert_eq!(pooled(&groups[..8], 0.9), None);
        assert_eq!(pooled(&groups[..9], 0.9), Some(2.0));
    }

    /// Rows of networks that err by a bias of their own and by chance; `of` of them, with their numbers for groups.
    fn networks(random: &mut SplitMix64, of: usize) -> Vec<Unseen> {
        let mut normal = || (0..12).map(|_| f64::from(random.unit_f32())).sum::<f64>() - 6.0;
        let mut rows = Vec::new();
        for group in 0..of {
            let bias = 0.15 * normal();
            rows.extend((0..20).map(|_| Unseen {
                opinions: vec![Opinion {
                    log_base: 0.0,
                    correction: 0.0,
                    spread: 0.1,
                    excess: 1.0,
                    is_of_sums: false,
                }],
                value: libm::exp(bias + 0.07 * normal()),
                group,
                kin: Kin::Other,
            }));
        }
        rows
    }

    #[test]
    fn intervals_of_any_number_of_networks_hold_for_the_next() {
        let trust = Trust {
            features: FeatureSet::Jetlag,
            shrink: 0.0,
        };
        let mut random = SplitMix64::stream(1, 1);
        for count in [3, 4, 6, 8, 9, 12, 30] {
            let (mut held, mut all) = (0, 0);
            for _ in 0..600 {
                let width = Width::of(&networks(&mut random, count), trust, 0.9, true).unwrap();
                let next = networks(&mut random, 1);
                held += next.iter().filter(|row| width.holds(row, trust, 0.9)).count();
                all += next.len();
            }
            let share = f64::from(held as u32) / f64::from(all as u32);
            // From nine on no distribution is assumed, which is paid for with width where they are few.
            let most = if (9..30).contains(&count) { 0.98 } else { 0.95 };
            println!("{count} networks: {share}");
            assert!((0.87..most).contains(&share), "{count} networks: {share}");
        }
    }

    #[test]
    fn few_groups_make_a_wide_interval_and_each_counts_alike() {
        // One group that errs by 2 and one by 0, whatever their rows: the root of the mean square is √2.
        let few = of_few(&[vec![2.0; 100], vec![0.0]], 0.9);
        assert!((few - 2.920 * 2.0_f64.sqrt()).abs() < 1e-3, "{few}");
        assert!(of_few(&[vec![1.0], vec![1.0], vec![1.0]], 0.9) > of_few(&vec![vec![1.0]; 8], 0.9));
    }

    #[test]
    fn the_conformal_quantile_is_one_of_the_scores() {
        let scores = || (1..=9).map(f64::from).collect::<Vec<f64>>();
        assert_eq!(conformal(scores(), 0.9), Some(9.0));
        assert_eq!(conformal(scores(), 0.5), Some(5.0));
        assert_eq!(conformal(scores(), 0.99), Some(9.0));
        assert_eq!(conformal(Vec::new(), 0.9), None);
    }
}
