//! The slope of a duration on the size of the input, with its interval.
//!
//! Only what changes from input to input counts: the *fast part* of a size, which is the size less the median of the inputs
//! around it (`fast`). What changes slowly, or at once and for good, changes together with everything else that does. The fast
//! part z is the instrument: the slope is Σ z·y ÷ Σ z·x, of sizes x and durations y beside their slow courses (`course`). A
//! median, because it goes along with a step: a mean would leave half of it on either side, and a clock that falls where sizes
//! rise would look like their cost. z is made of sizes alone, so the slope is right whatever z leaves out of them.
//!
//! The interval comes from blocks of consecutive *inputs*, and not of frames: a frame that is fed a second time is no second
//! input, and says nothing new on what else its content costs. With e the residuals, the sums S of z·e over blocks
//! give the variance Σ S² ÷ (1 − h) ÷ (Σ z·x)², where h is the block's share of Σ z²; Student's t has 1 ÷ Σ h² − 1
//! degrees of freedom, those of blocks of such different weight (after R. M. Bell and D. F. McCaffrey, *Survey
//! Methodology* 28, 2002). A block is at least as long as two autocorrelation times of what inputs add (`blocks`).
//! The variance that follows from that time, Σ a² τ of what inputs add, is taken where it is larger: few blocks underestimate it.

use jetlag_stats::blocks::{LEAST_BLOCKS, block_length, repeats};
use jetlag_stats::linear::dot;
use jetlag_stats::student::t_quantile;

use super::course::{Course, take_off_all};
use super::fast::fast;

/// Distinct inputs that a slope needs: below, there are not as many blocks as an interval needs.
pub(super) const LEAST_INPUTS: u64 = 40;
/// Share of the variance of sizes that their fast part must have.
const LEAST_LEFT: f64 = 0.02;
/// Effective number of blocks, by their weights: with fewer, a few stretches of the recording decide.
const LEAST_WORTH: f64 = 8.0;
/// A block is as long as the window of the fast part, or a part of the inputs where these are few.
const WINDOW: usize = 20;
const MOST_BLOCKS_OF_FEW: usize = 15;

/// One frame: the size of its input, what it took, and the place of its input among all inputs, from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sized {
    pub(super) size: f64,
    pub(super) took: f64,
    pub(super) input: usize,
}

/// A slope, in the units of the frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slope {
    pub(super) slope: f64,
    pub(super) ci95: [f64; 2],
    /// Of the fast part of size and the duration beside its course; `None` where the duration never changes.
    pub(super) correlation: Option<f64>,
}

/// Why there is no slope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Unknown {
    /// Too few distinct inputs, or inputs that resemble those before them; how many it would take.
    Few(u64),
    /// Sizes change only slowly.
    Slow,
    /// The sizes of a few stretches decide.
    Stretches,
}

/// The slope over these frames, in order of time, of `inputs` distinct inputs.
pub(super) fn slope(frames: &[Sized], inputs: usize) -> Result<Slope, Unknown> {
    if (inputs as u64) < LEAST_INPUTS {
        return Err(Unknown::Few(LEAST_INPUTS));
    }
    let n = frames.len();
    let mut courses = vec![Course::over(0..n, n)];
    if inputs < n {
        courses.push(Course::over(frames.iter().map(|frame| frame.input), inputs));
    }
    let beside = |value: &dyn Fn(&Sized) -> f64| {
        let mean = frames.iter().map(value).sum::<f64>() / n as f64;
        let mut series: Vec<f64> = frames.iter().map(|frame| value(frame) - mean).collect();
        let whole = dot(&series, &series);
        take_off_all(&courses, &mut series);
        (series, whole)
    };
    let fast = fast(&sizes_of(frames, inputs));
    let (weights, _) = beside(&|frame| fast[frame.input]);
    let (size, whole) = beside(&|frame| frame.size);
    let (mut left, _) = beside(&|frame| frame.took);
    let (squares, cross) = (dot(&weights, &weights), dot(&weights, &size));
    if squares <= LEAST_LEFT * whole || cross <= 0.5 * squares {
        return Err(Unknown::Slow);
    }
    let slope = dot(&weights, &left) / cross;
    let correlation = dot(&weights, &left) / (squares * dot(&left, &left)).sqrt();
    left.iter_mut()
        .zip(&size)
        .for_each(|(left, size)| *left -= slope * size);
    // What each input adds, and its weight.
    let (mut adds, mut leverages) = (vec![0.0; inputs], vec![0.0; inputs]);
    for ((frame, weight), left) in frames.iter().zip(&weights).zip(&left) {
        adds[frame.input] += weight * left;
        leverages[frame.input] += weight * weight / squares;
    }
    let terms = 1 + courses.last().map_or(0, Course::terms);
    let half = half_width(&adds, &leverages, terms)? / cross;
    Ok(Slope {
        slope,
        ci95: [slope - half, slope + half],
        correlation: correlation.is_finite().then(|| correlation.clamp(-1.0, 1.0)),
    })
}

/// The size of each input.
fn sizes_of(frames: &[Sized], inputs: usize) -> Vec<f64> {
    let mut sizes = vec![0.0; inputs];
    frames.iter().for_each(|frame| sizes[frame.input] = frame.size);
    sizes
}

/// Half the width of the 95 % interval of the sum of what inputs add; `leverages` add up to one.
fn half_width(adds: &[f64], leverages: &[f64], terms: usize) -> Result<f64, Unknown> {
    let n = adds.len();
    let block = block_length(adds).max((n / MOST_BLOCKS_OF_FEW).min(WINDOW));
    if n / block < LEAST_BLOCKS {
        return Err(Unknown::Few((LEAST_BLOCKS * block) as u64));
    }
    let (mut variance, mut squares) = (0.0, 0.0);
    for (adds, leverages) in adds.chunks(block).zip(leverages.chunks(block)) {
        let (sum, leverage) = (adds.iter().sum::<f64>(), leverages.iter().sum::<f64>());
        variance += sum * sum / (1.0 - leverage).max(1e-3);
        squares += leverage * leverage;
    }
    if squares * LEAST_WORTH > 1.0 {
        return Err(Unknown::Stretches);
    }
    let (n, time) = (n as f64, repeats(adds));
    let variance = f64::max(variance, dot(adds, adds) * time);
    let freedom = 1.0 / squares - 1.0;
    // A course takes more off residuals that resemble the ones before.
    let spent = n / f64::max(n - terms as f64 * time, n / 2.0);
    Ok(t_quantile(0.975, freedom) * (variance * spent).sqrt())
}
