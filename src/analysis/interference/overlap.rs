//! A tenant's frames against its co-runners' while all ran together: for how much of a frame's service each of them
//! was in service too, and how much slower frames are that met it.
//!
//! The overlap of a frame is a share of its service time and not a time: a long frame meets more of the others for no
//! other reason than that it is long. The cost is the slope of the response time on the overlap with each co-runner,
//! all of them in one regression (ordinary least squares), so that what one does is not laid to another who is often
//! there with it. Frames repeat each other: its variance is made of sums over blocks of consecutive frames (a cluster
//! sandwich), with Student's t for as many blocks.

use serde::Serialize;

use super::bootstrap::block_length;
use super::gather::{Phases, Span};
use crate::analysis::quantile::Quantile;
use crate::analysis::stats::{ns_to_ms, six_decimals};
use crate::analysis::student::t_quantile;
use crate::units::Nanos;

/// Frames of which this share or less meets a co-runner are without it; of the rest or more, beside it.
const CLEAR: f64 = 0.05;
/// Blocks that an interval needs.
const LEAST_BLOCKS: usize = 10;
/// Tenants beyond which a regression would have more to explain than to explain it with.
const MOST_TENANTS: usize = 16;

/// One tenant's frames against one co-runner's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overlap {
    /// Whose frames.
    pub tenant: String,
    /// Against whose.
    pub with: String,
    /// Frames that this is made of.
    pub frames: u64,
    /// Mean share of their service time in which the other was in service, from 0 to 1.
    pub mean_share: f64,
    /// Median response time of frames that hardly met it (5 % of their service or less).
    pub without: Met,
    /// Median response time of frames that it was beside all the time (95 % or more).
    pub beside: Met,
    /// How much longer a frame takes that it is beside all the time than one that it never meets, the other
    /// co-runners being equal; `None` where frames differ too little in their overlap.
    pub cost_ms: Option<f64>,
    /// 95 % interval of `cost_ms`.
    pub cost_ci95: Option<[f64; 2]>,
}

/// Frames of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Met {
    /// How many.
    pub frames: u64,
    /// Their median response time.
    pub p50_ms: Option<f64>,
}

/// Each tenant against each other; nothing where one was alone.
pub(super) fn overlaps(names: &[&str], phases: &Phases) -> Vec<Overlap> {
    let spans = phases.spans();
    let longest = spans
        .of
        .iter()
        .flatten()
        .map(|span| span.finished - span.started)
        .max();
    let present: Vec<usize> = (0..names.len())
        .filter(|&tenant| spans.of.get(tenant).is_some_and(|spans| !spans.is_empty()))
        .collect();
    if present.len() < 2 || present.len() > MOST_TENANTS {
        return Vec::new();
    }
    let mut found = Vec::new();
    for &tenant in &present {
        let seen: Vec<Span> = spans.of[tenant]
            .iter()
            .copied()
            .filter(|span| span.finished > span.started)
            .filter(|span| longest.is_some_and(|longest| spans.sees_all_of(span, longest)))
            .collect();
        let others: Vec<usize> = present.iter().copied().filter(|&other| other != tenant).collect();
        let shares: Vec<Vec<f64>> = others
            .iter()
            .map(|&other| shares(&seen, &spans.of[other]))
            .collect();
        let responses: Vec<i64> = seen.iter().map(|span| span.response.0).collect();
        let costs = slopes(&shares, &responses);
        for ((other, shares), place) in others.into_iter().zip(&shares).zip(0..) {
            let slope = costs.as_ref().and_then(|costs| costs.get(place).copied());
            let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
            found.push(Overlap {
                tenant: names[tenant].to_owned(),
                with: names[other].to_owned(),
                frames: seen.len() as u64,
                mean_share: six_decimals(mean),
                without: met(&seen, shares, |share| share <= CLEAR),
                beside: met(&seen, shares, |share| share >= 1.0 - CLEAR),
                cost_ms: slope.map(|slope| ns_to_ms(slope.value)),
                cost_ci95: slope
                    .map(|slope| [slope.value - slope.half, slope.value + slope.half].map(ns_to_ms)),
            });
        }
    }
    found
}

/// Share of each span in which any of `others`, in order of start, was in service.
fn shares(spans: &[Span], others: &[Span]) -> Vec<f64> {
    let mut first = 0;
    let mut longest = Nanos::ZERO;
    for other in others {
        longest = longest.max(other.finished - other.started);
    }
    let shares = spans.iter().map(|span| {
        // What began so long before cannot be in service any more, for this span and all after it.
        while others
            .get(first)
            .is_some_and(|other| other.started + longest < span.started)
        {
            first += 1;
        }
        // Stamps of a damaged file may be absurd: their differences need more than 64 bits.
        let (mut covered, mut met) = (span.started, 0i128);
        for other in others[first..]
            .iter()
            .take_while(|other| other.started < span.finished)
        {
            let from = other.started.max(covered);
            let to = other.finished.min(span.finished);
            if to > from {
                met += i128::from(to.0) - i128::from(from.0);
                covered = to;
            }
        }
        met as f64 / (i128::from(span.finished.0) - i128::from(span.started.0)) as f64
    });
    shares.collect()
}

fn met(spans: &[Span], shares: &[f64], kind: impl Fn(f64) -> bool) -> Met {
    let of_kind = spans.iter().zip(shares).filter(|&(_, &share)| kind(share));
    let mut responses: Vec<i64> = of_kind.map(|(span, _)| span.response.0).collect();
    let n = responses.len() as u64;
    let supported = Quantile::P50.supported_by(n);
    Met {
        frames: n,
        p50_ms: supported.then(|| {
            let rank = Quantile::P50.rank(n) as usize;
            *responses.select_nth_unstable(rank - 1).1 as f64 / 1e6
        }),
    }
}

/// A slope in nanoseconds for an overlap from none to whole, and half its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Slope {
    value: f64,
    half: f64,
}

/// The slope of each co-runner; `None` where blocks are too few, or overlaps do not vary enough to tell them apart.
fn slopes(shares: &[Vec<f64>], responses: &[i64]) -> Option<Vec<Slope>> {
    let n = responses.len();
    let block = block_length(responses).max(1);
    let blocks = n / block;
    let terms = shares.len() + 1;
    if blocks < LEAST_BLOCKS.max(2 * terms) {
        return None;
    }
    // Responses and shares around their means: the intercept is then no matter of rounding.
    let mean = responses.iter().map(|&ns| ns as f64).sum::<f64>() / n as f64;
    let y: Vec<f64> = responses.iter().map(|&ns| ns as f64 - mean).collect();
    let means: Vec<f64> = shares.iter().map(|x| x.iter().sum::<f64>() / n as f64).collect();
    let centred = |i: usize| shares.iter().zip(&means).map(move |(x, mean)| x[i] - mean);
    let x: Vec<Vec<f64>> = (0..n).map(|i| centred(i).collect()).collect();
    let k = shares.len();
    let mut normal = vec![vec![0.0; k]; k];
    let mut right = vec![0.0; k];
    for (x, y) in x.iter().zip(&y) {
        for (a, xa) in x.iter().enumerate() {
            right[a] += xa * y;
            normal[a].iter_mut().zip(x).for_each(|(sum, xb)| *sum += xa * xb);
        }
    }
    let inverse = inverted(&normal)?;
    let times = |matrix: &[Vec<f64>], vector: &[f64]| -> Vec<f64> {
        let row = |row: &Vec<f64>| row.iter().zip(vector).map(|(a, b)| a * b).sum();
        matrix.iter().map(row).collect()
    };
    let slope = times(&inverse, &right);
    let mut variance = vec![0.0; k];
    for (x, y) in x.chunks(block).zip(y.chunks(block)) {
        let mut score = vec![0.0; k];
        for (x, y) in x.iter().zip(y) {
            let fitted: f64 = x.iter().zip(&slope).map(|(x, slope)| x * slope).sum();
            score
                .iter_mut()
                .zip(x)
                .for_each(|(score, x)| *score += x * (y - fitted));
        }
        let influence = times(&inverse, &score);
        let squares = variance.iter_mut().zip(influence);
        squares.for_each(|(variance, influence)| *variance += influence * influence);
    }
    // Few blocks make the sandwich too small.
    let blocks = n.div_ceil(block) as f64;
    let small = blocks / (blocks - 1.0) * (n as f64 - 1.0) / (n as f64 - terms as f64);
    let t = t_quantile(0.975, blocks - terms as f64);
    let found = slope.into_iter().zip(variance).map(|(value, variance)| Slope {
        value,
        half: t * (variance * small).sqrt(),
    });
    Some(found.collect())
}

/// The inverse by Gauss and Jordan, with pivots; `None` where a row is all but made of the others.
fn inverted(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    /// Of the diagonal, what must be left of a column that others explain; and of a share, what must vary at all.
    const LEAST: f64 = 1e-6;
    let k = matrix.len();
    let mut left = matrix.to_vec();
    let mut right: Vec<Vec<f64>> = (0..k)
        .map(|row| (0..k).map(|column| f64::from(u8::from(row == column))).collect())
        .collect();
    for column in 0..k {
        let pivot = (column..k).max_by(|&a, &b| left[a][column].abs().total_cmp(&left[b][column].abs()))?;
        let scale = matrix[column][column].abs().max(1e-9);
        if left[pivot][column].abs() < LEAST * scale || matrix[column][column] < LEAST {
            return None;
        }
        left.swap(column, pivot);
        right.swap(column, pivot);
        let by = left[column][column];
        for value in left[column].iter_mut().chain(right[column].iter_mut()) {
            *value /= by;
        }
        for row in (0..k).filter(|&row| row != column) {
            let factor = left[row][column];
            for other in 0..k {
                let (l, r) = (left[column][other], right[column][other]);
                left[row][other] -= factor * l;
                right[row][other] -= factor * r;
            }
        }
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::{Rng, SeedableRng};

    use super::*;
    use crate::units::Stamp;

    fn span(started: i64, finished: i64) -> Span {
        Span {
            started: Stamp(started),
            finished: Stamp(finished),
            response: Nanos(finished - started),
        }
    }

    #[test]
    fn shares_count_what_overlaps_once_and_no_more() {
        let others = [span(0, 10), span(5, 12), span(20, 30), span(100, 101)];
        let of = [
            span(0, 20),
            span(12, 20),
            span(21, 25),
            span(95, 105),
            span(200, 210),
        ];
        assert_eq!(shares(&of, &others), [0.6, 0.0, 1.0, 0.1, 0.0]);
    }

    #[test]
    fn a_long_other_that_began_long_before_is_met() {
        let others = [span(0, 1_000), span(10, 11)];
        assert_eq!(shares(&[span(500, 600), span(990, 1_010)], &others), [1.0, 0.5]);
    }

    /// Frames of two co-runners with known costs, and noise of the first order.
    fn made(n: usize, phi: f64, seed: u64) -> (Vec<Vec<f64>>, Vec<i64>) {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut uniform = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let mut noise = 0.0;
        let (mut a, mut b, mut y) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..n {
            let both = uniform();
            // The two are often there together.
            let (x1, x2) = ((both + uniform()) / 2.0, (both + uniform()) / 2.0);
            noise = phi * noise + (uniform() - 0.5) * 1e6;
            y.push((10e6 + 3e6 * x1 + noise) as i64);
            a.push(x1);
            b.push(x2);
        }
        (vec![a, b], y)
    }

    #[test]
    fn a_cost_is_laid_to_the_co_runner_who_causes_it_as_often_as_the_interval_says() {
        for (phi, n) in [(0.0, 400), (0.7, 2000)] {
            let (mut held, mut blamed) = (0, 0);
            for seed in 0..300 {
                let (shares, responses) = made(n, phi, seed);
                let found = slopes(&shares, &responses).unwrap();
                held += u32::from((found[0].value - 3e6).abs() <= found[0].half);
                blamed += u32::from(found[1].value.abs() > found[1].half);
            }
            println!("φ {phi}: {held} of 300 hold the cost, {blamed} blame the other");
            assert!((273..=297).contains(&held), "φ {phi}: {held}");
            assert!(blamed <= 27, "φ {phi}: {blamed}");
        }
    }

    #[test]
    fn what_does_not_vary_has_no_cost() {
        let (shares, responses) = made(400, 0.0, 1);
        let twice = vec![shares[0].clone(), shares[0].clone()];
        assert_eq!(slopes(&twice, &responses), None, "two that cannot be told apart");
        assert_eq!(slopes(&[vec![1.0; 400]], &responses), None, "always there");
        assert_eq!(slopes(&shares, &responses[..20]), None, "too few");
    }
}
