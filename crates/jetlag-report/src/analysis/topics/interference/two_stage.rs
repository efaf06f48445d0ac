//! The share of the time next to a co-runner that a frame loses, by two-stage least squares (instrumental variables).
//!
//! A frame that needs W alone, and loses the share β of the time O during which a co-runner is in service too, is in
//! service for T = W + β O. O depends on W (a longer frame overlaps more, just because it is longer), so the slope of
//! T on O is not β. What it would overlap if frames lasted as long as each other, by when they were due (`schedule`), does
//! not depend on any frame's length: that share Z is the instrument. β is the value for which the rest, T − β
//! O, is uncorrelated with Z. With several kinds of company there is an O, a Z and a β for each, solved jointly.
//!
//! Z depends on the past, which may also predict W: a closed loop starts a frame when the previous one ends, and frames
//! resemble those before them. So Z and T − β O are compared only after the service time of
//! the previous frame, its mean over the last `past::RECENT` frames and a slow trend (a piecewise line) have been
//! regressed out of both. These use only the past and not the whole run, since what follows a frame depends on it. Where releases
//! repeat after some frames, so does Z, and W may do the same: the mean of each place in that cycle is taken off both, too, and
//! what jitter or drift moves is left.
//!
//! The interval holds every β for which the data do not reject that T − β O is unrelated to Z (T. W. Anderson and H.
//! Rubin, *Annals of Mathematical Statistics* 20, 1949): it is also valid for a weak instrument. The variance is made
//! of sums over blocks of consecutive frames, each divided by one less the block's leverage, with Student's t for the
//! effective degrees of freedom of blocks of such different leverage (after R. M. Bell and D. F. McCaffrey, *Survey
//! Methodology* 28, 2002).

mod past;

use jetlag_stats::blocks::{LEAST_BLOCKS, block_length};
use jetlag_stats::linear::{centre, dot, inverted, orthogonal, project_off, subtract};
use jetlag_stats::student::t_quantile;
use past::{beyond, foretell, past};

/// Frames per piece of the piecewise trend, and pieces at most.
const PIECE: usize = 100;
const MOST_PIECES: usize = 12;
/// Iterations in which the time that frames would need alone is re-estimated.
const ROUNDS: usize = 2;
/// Frames per estimated term.
const FRAMES_A_TERM: usize = 10;
/// Smallest standard deviation of the instrument (a share) beyond what the past and the places in the cycle predict.
const LEAST_VARIATION: f64 = 0.02;
/// Smallest effective number of frames behind an estimate (by their weights): with fewer, a few frames decide.
const LEAST_WORTH: f64 = 20.0;
/// Largest t² ÷ F, with F the F statistic of the first stage: with many blocks F is then at least 23.
const MOST_DOUBT: f64 = 1.0 / 6.0;
/// Widest interval that is reported, as a share of the overlap time. Much narrower ones would be chosen by the luck of their own
/// estimate, and hold the truth less often.
const WIDEST: f64 = 1.0;

/// The estimated share of the overlap time that is lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lost {
    pub(super) share: f64,
    pub(super) ci95: [f64; 2],
}

/// Why there is no estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// Too few frames, or too few that differ in their overlap.
    Few,
    /// The instrument does not vary beyond what the past predicts, or not independently of other company.
    Same,
    /// Weak instrument: when frames are due predicts too little of the overlap.
    Weak,
    /// The interval is too wide to be useful.
    Wide,
}

/// The data: frames in order, with a column for each kind of company in `beside` and `first`.
pub(super) struct Frames {
    /// Service time of each frame.
    pub(super) service: Vec<f64>,
    /// Overlap time O, in the unit of `service`.
    pub(super) beside: Vec<Vec<f64>>,
    /// Share that would be covered if frames lasted as long as each other (instrument Z), from 0 to 1.
    pub(super) due: Vec<Vec<f64>>,
    /// Whether a frame has a place in the cycle of releases, for each place.
    pub(super) places: Vec<Vec<f64>>,
}

/// The loss for each kind of company. A kind that hardly varies is treated as part of the baseline, so that it does
/// not prevent the others from being estimated.
pub(super) fn lost(frames: &Frames) -> Vec<Result<Lost, Unknown>> {
    let mut found = vec![Err(Unknown::Same); frames.beside.len()];
    let mut kinds: Vec<usize> = (0..found.len()).collect();
    while !kinds.is_empty() {
        match lost_beside(frames, &kinds) {
            Ok(estimates) => {
                let places = kinds.iter().zip(estimates);
                places.for_each(|(&kind, estimate)| found[kind] = estimate);
                break;
            }
            Err(Useless::All(why)) => {
                kinds.iter().for_each(|&kind| found[kind] = Err(why));
                break;
            }
            Err(Useless::One(place)) => {
                kinds.remove(place);
            }
        }
    }
    found
}

/// Why the equations cannot be solved: not at all, or only without one kind of company.
enum Useless {
    All(Unknown),
    One(usize),
}

fn lost_beside(frames: &Frames, kinds: &[usize]) -> Result<Vec<Result<Lost, Unknown>>, Useless> {
    let n = frames.service.len().saturating_sub(1);
    let mut course = course_of_time(n);
    course.extend(frames.places.iter().map(|place| place[1..].to_vec()));
    let terms = 1 + course.len() + 2 + kinds.len();
    if n < FRAMES_A_TERM * terms {
        return Err(Useless::All(Unknown::Few));
    }
    let beside = || kinds.iter().map(|&kind| &frames.beside[kind]);
    let first = || kinds.iter().map(|&kind| frames.due[kind][1..].to_vec());
    let mut known = course.clone();
    let mut fit = Fit::of(
        frames.service[1..].to_vec(),
        beside().map(|beside| beside[1..].to_vec()).collect(),
        first().collect(),
        &known,
    )?;
    for _ in 0..ROUNDS {
        let mut alone = frames.service.clone();
        for (share, beside) in fit.shares.iter().zip(beside()) {
            subtract(&mut alone, beside, *share);
        }
        let past = past(&alone);
        let foretold = foretell(&alone[1..], &past);
        known.truncate(course.len());
        known.extend(past);
        fit = Fit::of(
            beyond(&frames.service, foretold),
            beside().map(|beside| beyond(beside, foretold)).collect(),
            first().collect(),
            &known,
        )?;
    }
    Ok(fit.intervals(terms))
}

/// A basis for a piecewise line: a hat function at each joint but the first.
fn course_of_time(n: usize) -> Vec<Vec<f64>> {
    let pieces = (n / PIECE).clamp(1, MOST_PIECES);
    let hat = |joint: usize| {
        let place = |i: usize| i as f64 / n as f64 * pieces as f64;
        (0..n)
            .map(|i| (1.0 - (place(i) - joint as f64).abs()).max(0.0))
            .collect()
    };
    (1..=pieces).map(hat).collect()
}

/// The just identified solution, and the inputs of its intervals.
struct Fit {
    shares: Vec<f64>,
    /// Overlap time with each kind of company.
    beside: Vec<Vec<f64>>,
    /// Weights of the frames in each share: combinations of the instruments that are orthogonal to all other company.
    weights: Vec<Vec<f64>>,
    /// The cross products of instruments and regressors.
    cross: Vec<Vec<f64>>,
    /// The residuals.
    left: Vec<f64>,
}

impl Fit {
    /// Fails if an instrument does not vary beyond what is known, or not independently of the others.
    fn of(
        mut service: Vec<f64>,
        mut beside: Vec<Vec<f64>>,
        mut first: Vec<Vec<f64>>,
        known: &[Vec<f64>],
    ) -> Result<Self, Useless> {
        let n = service.len() as f64;
        let basis = orthogonal(known);
        for series in std::iter::once(&mut service).chain(&mut beside).chain(&mut first) {
            centre(series);
            for known in &basis {
                project_off(series, known);
            }
        }
        let varies = |first: &Vec<f64>| (dot(first, first) / n).sqrt() >= LEAST_VARIATION;
        if let Some(place) = first.iter().position(|first| !varies(first)) {
            return Err(Useless::One(place));
        }
        let cross: Vec<Vec<f64>> = first
            .iter()
            .map(|first| beside.iter().map(|beside| dot(first, beside)).collect())
            .collect();
        let weights: Vec<Vec<f64>> = inverted(&cross)
            .ok_or(Useless::All(Unknown::Same))?
            .iter()
            .map(|mix| {
                let mut weights = vec![0.0; service.len()];
                for (part, first) in mix.iter().zip(&first) {
                    subtract(&mut weights, first, -part);
                }
                weights
            })
            .collect();
        let shares: Vec<f64> = weights.iter().map(|weights| dot(weights, &service)).collect();
        let mut left = service;
        for (share, beside) in shares.iter().zip(&beside) {
            subtract(&mut left, beside, *share);
        }
        Ok(Fit {
            shares,
            beside,
            weights,
            cross,
            left,
        })
    }

    fn intervals(&self, terms: usize) -> Vec<Result<Lost, Unknown>> {
        (0..self.shares.len())
            .map(|kind| self.interval(kind, terms))
            .collect()
    }

    fn interval(&self, kind: usize, terms: usize) -> Result<Lost, Unknown> {
        let weights = &self.weights[kind];
        let adds = weights.iter().zip(&self.left);
        let block = block_length(&adds.map(|(weight, left)| weight * left).collect::<Vec<_>>());
        if weights.len().div_ceil(block) < LEAST_BLOCKS.max(2 * (self.shares.len() + 1)) {
            return Err(Unknown::Few);
        }
        let all = dot(weights, weights);
        let fourth: f64 = weights.iter().map(|weight| (weight * weight / all).powi(2)).sum();
        if fourth * LEAST_WORTH > 1.0 {
            return Err(Unknown::Few);
        }
        let unforeseen = self.unforeseen(kind).ok_or(Unknown::Same)?;
        // Variances and covariance of the two sums whose quotient is the share.
        let (mut service, mut both, mut beside, mut squares) = (0.0, 0.0, 0.0, 0.0);
        let parts = weights.chunks(block).zip(self.left.chunks(block));
        for ((weights, left), unforeseen) in parts.zip(unforeseen.chunks(block)) {
            let leverage = dot(weights, weights) / all;
            let weight = 1.0 / (1.0 - leverage).max(1e-3);
            let (s, b) = (dot(weights, left), dot(weights, unforeseen));
            service += weight * s * s;
            both += weight * s * b;
            beside += weight * b * b;
            squares += leverage * leverage;
        }
        let n = weights.len() as f64;
        let freedom = (1.0 / squares - 1.0)
            .min(n / block as f64 - terms as f64)
            .max(1.0);
        let t2 = t_quantile(0.975, freedom).powi(2) * n / (n - terms as f64);
        let certain = 1.0 - t2 * beside;
        if certain < 1.0 - MOST_DOUBT {
            return Err(Unknown::Weak);
        }
        let root = (t2 * t2 * both * both + certain * t2 * service).sqrt();
        let share = self.shares[kind];
        let bound = |root: f64| share + (root - t2 * both) / certain;
        let ci95 = [bound(-root), bound(root)];
        if ci95[1] - ci95[0] > WIDEST {
            return Err(Unknown::Wide);
        }
        Ok(Lost { share, ci95 })
    }

    /// The part of the overlap with one kind of company that neither the other kinds nor its instrument explain.
    fn unforeseen(&self, kind: usize) -> Option<Vec<f64>> {
        let others: Vec<usize> = (0..self.shares.len()).filter(|&other| other != kind).collect();
        let cross: Vec<Vec<f64>> = others
            .iter()
            .map(|&first| others.iter().map(|&beside| self.cross[first][beside]).collect())
            .collect();
        let right: Vec<f64> = others.iter().map(|&first| self.cross[first][kind]).collect();
        let mut left = self.beside[kind].clone();
        for (row, &other) in inverted(&cross)?.iter().zip(&others) {
            subtract(&mut left, &self.beside[other], dot(row, &right));
        }
        project_off(&mut left, &self.weights[kind]);
        Some(left)
    }
}

#[cfg(test)]
mod tests {
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::{Rng, SeedableRng};

    use super::*;

    /// Frames that lose 30 % of their time beside the first co-runner and nothing beside the second, who is often there
    /// with the first. Each frame's own time resembles the one before by `phi`, and who is there at its beginning depends
    /// on that time, as in a closed loop.
    fn made(n: usize, phi: f64, seed: u64) -> Frames {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut uniform = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let mut frames = Frames {
            service: Vec::new(),
            beside: vec![Vec::new(); 2],
            due: vec![Vec::new(); 2],
            places: Vec::new(),
        };
        let mut own = 0.0;
        for _ in 0..n {
            let both = uniform();
            let pushed = if own > 0.0 { 0.3 } else { 0.0 };
            own = phi * own + (uniform() - 0.5) * 6e6;
            let alone = 10e6 + own;
            let mut service = alone;
            for (who, lost) in [0.3, 0.0].into_iter().enumerate() {
                let first = f64::from(u8::from((both + uniform()) / 2.0 + pushed > 0.6));
                // The longer a frame is, the more of the co-runner it meets.
                let beside = first * 5e6 + (alone - 5e6).max(0.0) * uniform();
                service += lost * beside;
                frames.beside[who].push(beside);
                frames.due[who].push(first);
            }
            frames.service.push(service);
        }
        frames
    }

    #[test]
    fn what_is_lost_is_laid_to_the_co_runner_who_causes_it_as_often_as_the_interval_says() {
        for (phi, n) in [(0.0, 400), (0.7, 1_000)] {
            let (mut held, mut blamed) = (0, 0);
            for seed in 0..300 {
                let found = lost(&made(n, phi, seed));
                let [low, high] = found[0].unwrap().ci95;
                held += u32::from(low <= 0.3 && 0.3 <= high);
                let [low, high] = found[1].unwrap().ci95;
                blamed += u32::from(low > 0.0 || high < 0.0);
            }
            println!("φ {phi}: {held} of 300 hold what is lost, {blamed} blame the other");
            assert!((275..=296).contains(&held), "φ {phi}: {held}");
            assert!(blamed <= 25, "φ {phi}: {blamed}");
        }
    }

    #[test]
    fn what_does_not_vary_is_not_estimated() {
        let frames = made(400, 0.0, 1);
        let with = |first: Vec<Vec<f64>>| {
            let frames = Frames {
                service: frames.service.clone(),
                beside: frames.beside[..first.len()].to_vec(),
                due: first,
                places: Vec::new(),
            };
            lost(&frames)
        };
        let first = &frames.due[0];
        let twice = vec![first.clone(), first.clone()];
        assert_eq!(
            with(twice),
            [Err(Unknown::Same); 2],
            "two that cannot be told apart"
        );
        assert_eq!(with(vec![vec![1.0; 400]]), [Err(Unknown::Same)], "always there");
        let mut twice_only = vec![0.0; 400];
        twice_only[398..].fill(1.0);
        assert_eq!(with(vec![twice_only]), [Err(Unknown::Few)], "two frames decide");
        let course: Vec<f64> = (0..400).map(|i| f64::from(i) / 400.0).collect();
        assert_eq!(
            with(vec![course]),
            [Err(Unknown::Same)],
            "a course of time, as any other cause's"
        );
        assert_eq!(lost(&made(40, 0.0, 1)), [Err(Unknown::Few); 2], "too few");
        assert_eq!(lost(&made(0, 0.0, 1)), [Err(Unknown::Few); 2], "none");
    }

    #[test]
    fn noise_as_an_instrument_says_nothing() {
        let mut frames = made(2_000, 0.0, 3);
        let noise = made(2_000, 0.0, 4);
        frames.due = noise.due;
        for found in lost(&frames) {
            assert!(matches!(found, Err(Unknown::Weak)), "{found:?}");
        }
    }

    #[test]
    fn the_course_of_time_is_a_hat_over_each_joint_but_the_first() {
        assert_eq!(course_of_time(4), [[0.0, 0.25, 0.5, 0.75]]);
        let two = course_of_time(200);
        assert_eq!(two.len(), 2);
        for (at, hats) in [
            (0, [0.0, 0.0]),
            (50, [0.5, 0.0]),
            (100, [1.0, 0.0]),
            (150, [0.5, 0.5]),
        ] {
            assert_eq!([two[0][at], two[1][at]], hats, "{at}");
        }
        assert_eq!(course_of_time(5_000).len(), MOST_PIECES);
    }

    #[test]
    fn company_has_to_vary_by_a_fiftieth_of_the_first_stretch() {
        let of = |deviation: f64| {
            let first: Vec<f64> = (0..400)
                .map(|i| if i % 2 == 0 { deviation } else { -deviation })
                .collect();
            let beside = first.iter().map(|first| 3.0 * first).collect();
            Fit::of(vec![1.0; 400], vec![beside], vec![first], &[])
        };
        assert!(matches!(of(0.015), Err(Useless::One(0))));
        assert!(of(0.025).is_ok());
    }

    /// An equation with one kind of company, whose instrument is the weights themselves.
    fn fit(weights: Vec<f64>, left: Vec<f64>, beside: Vec<f64>) -> Fit {
        Fit {
            shares: vec![0.25],
            beside: vec![beside],
            cross: vec![vec![1.0]],
            weights: vec![weights],
            left,
        }
    }

    /// Whole numbers without a pattern that four frames in a row would show.
    fn mixed(n: usize, times: i32, of: i32, less: i32) -> impl Iterator<Item = f64> {
        (0..n as i32).map(move |i| f64::from((times * i) % of - less))
    }

    #[test]
    fn an_interval_is_that_of_a_reference() {
        let of = |n: usize, noise: f64| {
            let weights: Vec<f64> = mixed(n, 7, 11, 5).map(|w| w / 100.0).collect();
            let squares = dot(&weights, &weights);
            let left = mixed(n, 5, 13, 6).map(|left| noise * left / 10.0).collect();
            let beside = mixed(n, 3, 7, 3)
                .zip(&weights)
                .map(|(b, w)| b / 4.0 + w / squares);
            let beside = beside.collect();
            fit(weights, left, beside).interval(0, 3)
        };
        // Ten blocks of four frames: with h the share of a block in Σ w², S and B its sums of w × left and of w × what of
        // the time beside is without w, V = Σ (S, B)(S, B)' / (1 − h) and t² = stats.t.ppf(0.975, min(1/Σ h² − 1, 10 − 3))²
        // × 40/37, the ends are 0.25 + the roots of (1 − t² V_BB) d² + 2 t² V_SB d − t² V_SS (numpy.roots).
        let found = of(40, 1.0).unwrap();
        let [low, high] = found.ci95;
        assert!(
            (low - 0.096_673_229_793_8).abs() < 1e-9 && (high - 0.466_966_082_287_3).abs() < 1e-9,
            "{found:?}"
        );
        assert_eq!(found.share, 0.25);
        assert_eq!(of(40, 4.0), Err(Unknown::Wide));
        assert_eq!(of(36, 1.0), Err(Unknown::Few), "nine blocks");
    }

    #[test]
    fn each_kind_of_company_needs_two_blocks_more() {
        let n = 44;
        let turns: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let unit = |row: usize| (0..5).map(|column| f64::from(u8::from(row == column))).collect();
        let fit = Fit {
            shares: vec![0.0; 5],
            beside: (2..7).map(|of| mixed(n, 3, of, 1).collect()).collect(),
            weights: vec![turns; 5],
            cross: (0..5).map(unit).collect(),
            left: vec![0.01; n],
        };
        // Eleven blocks of four frames, where five kinds need twelve.
        assert_eq!(fit.interval(0, 3), Err(Unknown::Few));
    }

    #[test]
    fn blocks_are_as_long_as_what_frames_add_repeats_itself_and_not_as_their_parts_do() {
        // Weight × left is small and alternates in the first half, and is one in the second; their sum and their quotient
        // alternate all through.
        let weights: Vec<f64> = (0..200).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let left = |i: usize| if i < 100 { 1e-3 } else { weights[i] };
        let left: Vec<f64> = (0..200).map(left).collect();
        let beside = weights.iter().map(|w| w / 200.0).collect();
        assert_eq!(fit(weights, left, beside).interval(0, 3), Err(Unknown::Few));
    }

    #[test]
    fn twenty_frames_of_equal_weight_are_enough_to_decide() {
        let of = |count: usize| {
            let weight = |i: usize| {
                if i.is_multiple_of(2) && i / 2 < count {
                    0.7
                } else {
                    0.0
                }
            };
            let weights: Vec<f64> = (0..40).map(weight).collect();
            let squares = dot(&weights, &weights);
            let beside = weights.iter().map(|w| w / squares).collect();
            let left = mixed(40, 5, 13, 6).map(|left| left / 1e3).collect();
            fit(weights, left, beside).interval(0, 3)
        };
        assert!(of(20).is_ok(), "{:?}", of(20));
        assert_eq!(of(19), Err(Unknown::Few));
    }

    #[test]
    fn ten_frames_for_each_term_are_enough() {
        let of = |n: usize| {
            let mut frames = made(n + 1, 0.0, 1);
            frames.beside.truncate(1);
            frames.due.truncate(1);
            lost(&frames)[0]
        };
        // A constant, a course of time in one piece, two of the past and one kind of company: five terms.
        assert!(of(50).is_ok(), "{:?}", of(50));
        assert_eq!(of(49), Err(Unknown::Few));
    }
}
