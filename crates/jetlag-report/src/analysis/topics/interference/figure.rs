//! A figure that is made of quantiles over rounds of turns, and its interval from what the rounds differ by.
//!
//! A quantile is that of the frames of all rounds. How far a round moves it follows from how many of the round's frames lie below it,
//! more or fewer than the quantile says, and from how steep the distribution is there, over the stretch that is open anyway
//! (R. S. Woodruff, *Journal of the American Statistical Association* 47, 1952; for such clusters of frames, C. A. Francisco and
//! W. A. Fuller, *Annals of Statistics* 19, 1991). What rounds move two quantiles alike by cancels in their ratio: that is what
//! neighbouring turns are for. Frames within a round may depend on each other as they like.

use jetlag_stats::linear::centre;
use jetlag_stats::quantile::Quantile;
use jetlag_stats::student::t_quantile;

/// Fewer rounds give no interval: the spread of three says little.
pub(super) const FEWEST: usize = 4;

/// A figure, and how far each round moves it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figure {
    pub(super) value: f64,
    moves: Vec<f64>,
}

impl Figure {
    /// The logarithm of a quantile of durations in nanoseconds, by round; none where it is not above zero.
    pub(super) fn log_quantile(rounds: &[Vec<i64>], quantile: Quantile) -> Option<Figure> {
        let mut all: Vec<i64> = rounds.iter().flatten().copied().collect();
        all.sort_unstable();
        let (count, p) = (all.len() as f64, quantile.share());
        let value = *all.get((quantile.rank(all.len() as u64) as usize).checked_sub(1)?)?;
        let surplus = |round: &Vec<i64>| {
            let below = round.iter().filter(|&&took| took <= value).count();
            (below as f64 - p * round.len() as f64) / count
        };
        let mut surplus: Vec<f64> = rounds.iter().map(surplus).collect();
        centre(&mut surplus);
        // Rounds that happen to agree do not make the distribution a vertical line.
        let least = (p * (1.0 - p) / count).sqrt() / 2.0;
        let open = 2.0 * spread(&surplus).max(least).max(1.0 / count);
        let (low, high) = ((p - open).max(0.0), (p + open).min(1.0));
        let log_at = |share: f64| {
            let place = ((count * share).ceil() as usize).clamp(1, all.len()) - 1;
            all.get(place)
                .filter(|&&took| took > 0)
                .map(|&took| (took as f64).ln())
        };
        let slope = (log_at(high)? - log_at(low)?) / (high - low);
        Some(Figure {
            value: (value as f64).ln(),
            moves: surplus.into_iter().map(|surplus| -slope * surplus).collect(),
        })
    }

    /// A sum of figures of the same rounds, each as many times.
    pub(super) fn sum(terms: &[(f64, &Figure)]) -> Figure {
        let rounds = terms
            .iter()
            .map(|(_, figure)| figure.moves.len())
            .min()
            .unwrap_or(0);
        let moved = |round: usize| {
            terms
                .iter()
                .map(|(times, figure)| times * figure.moves[round])
                .sum()
        };
        Figure {
            value: terms.iter().map(|(times, figure)| times * figure.value).sum(),
            moves: (0..rounds).map(moved).collect(),
        }
    }

    /// So much less.
    pub(super) fn less(self, than: f64) -> Figure {
        Figure {
            value: self.value - than,
            ..self
        }
    }

    /// e to the power of it.
    pub(super) fn exp(&self) -> Figure {
        let value = self.value.exp();
        Figure {
            value,
            moves: self.moves.iter().map(|moved| moved * value).collect(),
        }
    }

    /// The interval of this confidence: Student's t, with one degree of freedom less than rounds; none of too few of them.
    pub(super) fn interval(&self, confidence: f64) -> Option<[f64; 2]> {
        let rounds = self.moves.len();
        let t = (rounds >= FEWEST).then(|| t_quantile(0.5 + confidence / 2.0, (rounds - 1) as f64))?;
        let half = t * spread(&self.moves);
        Some([self.value - half, self.value + half])
    }
}

/// How many rounds share the frames beyond a quantile: as many as if each of so many had equally many, and the others none.
pub(super) fn sharing(rounds: &[Vec<i64>], quantile: Quantile) -> f64 {
    let mut all: Vec<i64> = rounds.iter().flatten().copied().collect();
    all.sort_unstable();
    let rank = quantile.rank(all.len() as u64) as usize;
    let Some(&value) = rank.checked_sub(1).and_then(|place| all.get(place)) else {
        return 0.0;
    };
    let beyond = rounds
        .iter()
        .map(|round| round.iter().filter(|&&took| took > value).count() as f64);
    let (sum, squares) = beyond.fold((0.0, 0.0), |(sum, squares), n| (sum + n, squares + n * n));
    // Equal frames have none beyond.
    if squares > 0.0 {
        sum * sum / squares
    } else {
        rounds.len() as f64
    }
}

/// The standard error of a sum of what so many rounds contribute, each with mean zero.
fn spread(moves: &[f64]) -> f64 {
    let n = moves.len() as f64;
    let squares: f64 = moves.iter().map(|moved| moved * moved).sum();
    if n > 1.0 {
        (n / (n - 1.0) * squares).sqrt()
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_two_quantiles_alike_cancels_in_their_ratio() {
        let alone: Vec<Vec<i64>> = (0..6)
            .map(|round| {
                (0..200)
                    .map(|i| (1_000 + (i * 7_919) % 211) * (10 + round))
                    .collect()
            })
            .collect();
        let beside: Vec<Vec<i64>> = alone
            .iter()
            .map(|round| round.iter().map(|took| took * 2).collect())
            .collect();
        for quantile in [Quantile::P50, Quantile::P90] {
            let [alone, beside] =
                [&alone, &beside].map(|rounds| Figure::log_quantile(rounds, quantile).unwrap());
            let [low, high] = alone.interval(0.95).unwrap();
            assert!(high - low > 0.2, "{low} {high}");
            let ratio = Figure::sum(&[(1.0, &beside), (-1.0, &alone)]).exp();
            let [low, high] = ratio.interval(0.95).unwrap();
            assert!(
                (ratio.value - 2.0).abs() < 1e-9 && high - low < 1e-6,
                "{low} {high}"
            );
        }
    }

    #[test]
    fn few_rounds_and_no_time_have_no_interval() {
        let rounds = |n: usize| vec![vec![3, 4, 5, 6]; n];
        let of = |rounds: &[Vec<i64>]| Figure::log_quantile(rounds, Quantile::P50);
        assert_eq!(of(&rounds(3)).unwrap().interval(0.95), None);
        assert!(of(&rounds(4)).unwrap().interval(0.95).is_some());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[vec![0, 0, 0]]), None);
    }

    #[test]
    fn frames_beyond_a_quantile_are_shared_by_the_rounds_that_have_them() {
        let quiet = vec![1; 90];
        let one_slow: Vec<Vec<i64>> = (0..10)
            .map(|round| if round == 0 { vec![9; 90] } else { quiet.clone() })
            .collect();
        assert!((sharing(&one_slow, Quantile::P90) - 1.0).abs() < 1e-9);
        assert!(
            (sharing(&one_slow, Quantile::P99) - 10.0).abs() < 1e-9,
            "none is beyond"
        );
        let rising = |from: i64| (from..from + 90).collect::<Vec<i64>>();
        let all_slow: Vec<Vec<i64>> = (0..10).map(|_| rising(1)).collect();
        assert!((sharing(&all_slow, Quantile::P90) - 10.0).abs() < 1e-9);
        let mut bursts = vec![quiet; 9];
        bursts.push(rising(100));
        assert!(sharing(&bursts, Quantile::P99) < 1.01);
        assert_eq!(sharing(&[], Quantile::P50), 0.0);
    }
}
