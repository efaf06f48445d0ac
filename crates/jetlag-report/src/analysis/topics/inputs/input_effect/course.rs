//! The slow course of a series, as a piecewise line, taken off by least squares.
//!
//! What changes slowly changes together with everything else that does: clocks, heat, other programs. What is left beside the
//! course changes from frame to frame. The lines are sums of hats, one at each joint, so that each frame is under two
//! of them and the normal equations have three diagonals: the work grows with the frames and not with the joints.

/// Places in a line per piece.
const PIECE: usize = 50;

/// A piecewise line over the places of frames.
#[derive(Clone, Debug)]
pub(super) struct Course {
    /// Of each frame the joint before it, and its part of the way to the next.
    along: Vec<(usize, f64)>,
    /// The diagonal after elimination, and the factors with which it was done.
    pivots: Vec<f64>,
    factors: Vec<f64>,
}

impl Course {
    /// Over frames at these places, of `count` places.
    pub(super) fn over(places: impl Iterator<Item = usize>, count: usize) -> Course {
        let pieces = (count / PIECE).max(1);
        let per_place = pieces as f64 / count.saturating_sub(1).max(1) as f64;
        let along: Vec<(usize, f64)> = places
            .map(|place| {
                let at = place as f64 * per_place;
                let joint = (at as usize).min(pieces - 1);
                (joint, at - joint as f64)
            })
            .collect();
        let mut pivots = vec![0.0; pieces + 1];
        let mut beside = vec![0.0; pieces];
        for &(joint, part) in &along {
            pivots[joint] += (1.0 - part) * (1.0 - part);
            pivots[joint + 1] += part * part;
            beside[joint] += (1.0 - part) * part;
        }
        let whole = pivots.clone();
        let mut factors = vec![0.0; pieces];
        for joint in 0..pieces {
            factors[joint] = quotient(beside[joint], pivots[joint], whole[joint]);
            pivots[joint + 1] -= factors[joint] * beside[joint];
        }
        for (pivot, whole) in pivots.iter_mut().zip(whole) {
            // A joint that no frame tells from its neighbours stays at zero.
            *pivot = if *pivot > 1e-9 * whole { *pivot } else { 0.0 };
        }
        Course {
            along,
            pivots,
            factors,
        }
    }

    /// How many numbers describe it.
    pub(super) fn terms(&self) -> usize {
        self.pivots.len()
    }

    /// Takes the course of a series off.
    pub(super) fn take_off(&self, series: &mut [f64]) {
        let mut heights = vec![0.0; self.pivots.len()];
        for (&(joint, part), value) in self.along.iter().zip(&*series) {
            heights[joint] += (1.0 - part) * value;
            heights[joint + 1] += part * value;
        }
        for joint in 0..self.factors.len() {
            heights[joint + 1] -= self.factors[joint] * heights[joint];
        }
        for joint in (0..heights.len()).rev() {
            let next = heights.get(joint + 1).copied().unwrap_or(0.0);
            let factor = self.factors.get(joint).copied().unwrap_or(0.0);
            heights[joint] = match self.pivots[joint] {
                0.0 => 0.0,
                pivot => heights[joint] / pivot - factor * next,
            };
        }
        for (&(joint, part), value) in self.along.iter().zip(series) {
            *value -= (1.0 - part) * heights[joint] + part * heights[joint + 1];
        }
    }
}

/// The quotient, or zero where the divisor is one but for rounding.
fn quotient(of: f64, by: f64, whole: f64) -> f64 {
    if by > 1e-9 * whole { of / by } else { 0.0 }
}

/// Rounds in which several courses are taken off in turn, at most, and the change that ends them.
const ROUNDS: usize = 40;
const SETTLED: f64 = 1e-8;

/// Takes several courses off at once: in turn, until nothing changes.
pub(super) fn take_off_all(courses: &[Course], series: &mut [f64]) {
    let squares = |series: &[f64]| series.iter().map(|value| value * value).sum::<f64>();
    let mut before = f64::INFINITY;
    for _ in 0..ROUNDS {
        courses.iter().for_each(|course| course.take_off(series));
        let now = squares(series);
        if courses.len() < 2 || before - now <= SETTLED * now {
            return;
        }
        before = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken_off(n: usize, series: impl Fn(f64) -> f64) -> f64 {
        let mut series: Vec<f64> = (0..n).map(|i| series(i as f64 / n as f64)).collect();
        Course::over(0..n, n).take_off(&mut series);
        series.iter().fold(0.0, |most, value| value.abs().max(most))
    }

    #[test]
    fn a_line_and_a_slow_wave_are_taken_off_and_what_goes_to_and_fro_stays() {
        for n in [2, 3, 150, 600, 6_000] {
            assert!(taken_off(n, |at| 5.0 - 3.0 * at) < 1e-9, "{n}");
        }
        assert!(taken_off(6_000, |at| (6.0 * at).sin()) < 1e-3);
        assert!(
            taken_off(600, |at| if ((at * 600.0) as u64).is_multiple_of(2) {
                1.0
            } else {
                -1.0
            }) > 0.9
        );
    }

    #[test]
    fn hardly_anything_is_left_of_what_courses_over_time_and_over_inputs_have_together() {
        let (n, inputs) = (1_000, 250);
        let over_time = |i: usize| if i < 500 { i as f64 } else { 1_000.0 - i as f64 };
        let over_inputs = |i: usize| 3.0 * (i % inputs) as f64;
        let mut series: Vec<f64> = (0..n).map(|i| over_time(i) + over_inputs(i)).collect();
        let courses = [
            Course::over(0..n, n),
            Course::over((0..n).map(|i| i % inputs), inputs),
        ];
        take_off_all(&courses, &mut series);
        let left = series.iter().fold(0.0f64, |most, value| value.abs().max(most));
        assert!(left < 7.5, "{left} of 750");
    }

    #[test]
    fn places_without_frames_and_no_frames_at_all_do_no_harm() {
        let mut series = vec![1.0, 2.0, 4.0];
        Course::over([0, 1, 5_000].into_iter(), 5_001).take_off(&mut series);
        assert!(series.iter().all(|value| value.is_finite()), "{series:?}");
        Course::over(std::iter::empty(), 0).take_off(&mut []);
        assert_eq!(Course::over(0..1, 1).terms(), 2);
    }
}
