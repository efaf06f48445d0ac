//! What a tenant's waiting line says about the autocorrelation of its response times, beyond what the run itself shows.
//!
//! A frame that waits for the one before it inherits its delay, so response times in a queue are autocorrelated by
//! construction. A short run can fail to show it: if by luck no long backlog built up, its estimate of τ is too low, and just such
//! a run would print a quantile with an interval that is too narrow. Service times and gaps between releases are far
//! less correlated than their sums, so what they predict is known well even in such a run.
//!
//! The prediction is the heavy-traffic limit of a queue: reflected Brownian motion with a drift of −d per frame (mean gap
//! less mean service) and a variance σ² per frame (of gap and service), whose stationary distribution is exponential (W. Whitt,
//! "Planning queueing simulations for run lengths", *Management Science* 35, 1989). With p the share of frames beyond a quantile,
//! the integrated autocorrelation time of "does not exceed it" is
//!
//! > τ = 2σ² ÷ d² · (1 + p ln p ÷ (1 − p))
//!
//! If the line holds at most a backlog b, the motion has two barriers, and τ is at most what it is there at no drift, where the
//! distribution is uniform: 4/3 · b² ÷ σ² · p (1 − p). Both follow from a diffusion's asymptotic variance
//! 4 ∫ G² ÷ (σ² π), where π is the stationary density and G(x) the integral of the centred indicator times π up to x.
//! The prediction is a floor: the estimate from the run counts if it is larger.
//!
//! Which τ counts in the end is decided in [`dependence`](crate::analysis::gathering::dependence).

use jetlag_stats::moments::Moments;
use jetlag_stats::quantile::Quantile;

use crate::analysis::gathering::timeline::Placed;
use crate::scenario::{Arrival, Overload, Tenant};

/// How a tenant's frames line up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::analysis) struct Line {
    /// Frames in flight at once; 0 where nobody ever waits (a closed loop).
    depth: usize,
    /// Frames that may wait before one is dropped.
    capacity: usize,
}

impl Line {
    /// The line of a tenant as its scenario has it.
    pub(in crate::analysis) fn of(tenant: &Tenant) -> Line {
        let capacity = match tenant.overload {
            Overload::Queue { capacity } => capacity,
            Overload::DropOldest { queue } | Overload::DropNewest { queue } => queue,
        };
        let depth = match tenant.arrival {
            Arrival::Closed => 0,
            _ => tenant.depth,
        };
        Line { depth, capacity }
    }
}

#[cfg(test)]
impl Line {
    /// So many frames in flight, and so many that may wait.
    pub(in crate::analysis) fn test(depth: usize, capacity: usize) -> Line {
        Line { depth, capacity }
    }
}

/// What is known of a series of response times because its frames stood in line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::analysis) struct Waiting {
    /// So many frames wait that response times are taken as autocorrelated, whatever the run shows.
    pub(in crate::analysis) dependent: bool,
    /// 2σ² ÷ d², in frames; at the drift of this run, and at the least drift that its frames allow for.
    unbounded: f64,
    at_most: f64,
    /// 4/3 · b² ÷ σ², in frames.
    bounded: f64,
}

impl Waiting {
    /// Of frames that never wait for each other.
    pub(in crate::analysis) const NONE: Waiting = Waiting {
        dependent: false,
        unbounded: 0.0,
        at_most: 0.0,
        bounded: 0.0,
    };
    /// The share of frames that have to wait from which on they count as dependent. Below it a run of 300 frames shows
    /// intervals that hold the truth as often as they say.
    const SHARE: f64 = 0.1;
    /// The prediction is off by up to a quarter: heavy traffic is a limit.
    const MARGIN: f64 = 1.25;
    /// Standard errors of the drift that are allowed for. A run in which the queue happened to have more room has lower quantiles and a
    /// shorter τ at once: taken at its word, just such runs would show them.
    const ERRORS: f64 = 2.0;
    /// A longer τ leaves nothing that could be shown, and its frames are those of a run that never settles.
    const MOST: f64 = 4096.0;

    /// Of completed frames in order of release, with their response times. Frames of a batch stand in line as one, which is due when
    /// the last of them is: until then they wait for each other, and nobody is busy.
    pub(in crate::analysis) fn of(frames: &[Placed], line: Line) -> Waiting {
        if frames.iter().all(|frame| frame.unit == frame.sequence) {
            return Waiting::in_line(frames, line);
        }
        let units: Vec<Placed> = frames
            .chunk_by(|a, b| a.unit == b.unit)
            .filter_map(as_one)
            .collect();
        let size = frames.len() as f64 / units.len() as f64;
        let line = Line {
            capacity: (line.capacity as f64 / size) as usize,
            ..line
        };
        let of_units = Waiting::in_line(&units, line);
        // The frames of a unit are alike.
        Waiting {
            unbounded: of_units.unbounded * size,
            at_most: of_units.at_most * size,
            bounded: of_units.bounded * size,
            ..of_units
        }
    }

    fn in_line(frames: &[Placed], line: Line) -> Waiting {
        let (depth, n) = (line.depth, frames.len());
        if depth == 0 || n <= depth + 1 {
            return Waiting::NONE;
        }
        // A frame waits if all slots are taken when it is released.
        let waits = frames
            .windows(depth + 1)
            .filter(|window| window[depth].released.0 < finished(&window[0]));
        if (waits.count() as f64) < Self::SHARE * (n - depth) as f64 {
            return Waiting::NONE;
        }
        if depth > 1 {
            // It is not known how long one of several frames in flight keeps the next waiting.
            return Waiting {
                dependent: true,
                ..Waiting::NONE
            };
        }
        Waiting::in_heavy_traffic(frames, line.capacity)
    }

    /// Of frames that are worked on one after the other.
    fn in_heavy_traffic(frames: &[Placed], capacity: usize) -> Waiting {
        let mut gaps = Moments::default();
        let mut services = Moments::default();
        for pair in frames.windows(2).filter(|pair| pair[0].is_followed_by(&pair[1])) {
            let [before, frame] = [pair[0], pair[1]];
            if finished(&frame) < finished(&before) {
                // Overtaken: whatever made this file, its frames are not worked on one after the other.
                return Waiting::NONE;
            }
            gaps.add(frame.released.0.saturating_sub(before.released.0) as f64);
            let began = finished(&before).max(frame.released.0);
            services.add(finished(&frame).saturating_sub(began) as f64);
        }
        let variance = gaps.variance() + services.variance();
        let drift = (gaps.mean() - services.mean()).max(0.0);
        let error = (variance / frames.len() as f64).sqrt();
        let least = (drift - Self::ERRORS * error).max(0.0);
        let time = |drift: f64| 2.0 * variance / (drift * drift);
        let backlog = (capacity as f64 + 1.0) * services.mean();
        Waiting {
            dependent: true,
            unbounded: time(drift),
            at_most: time(least),
            bounded: 4.0 / 3.0 * backlog * backlog / variance,
        }
    }

    /// τ of a quantile is taken to be at least this many frames.
    pub(in crate::analysis) fn least(&self, quantile: Quantile) -> f64 {
        let predicted = Self::MARGIN * self.predicted(self.at_most, quantile);
        // No number where neither gaps nor services vary and the line is full: it says nothing then.
        if predicted.is_nan() {
            return 1.0;
        }
        predicted.clamp(1.0, Self::MOST)
    }

    /// τ of a quantile as its queue predicts it; 1 where it predicts nothing.
    pub(in crate::analysis) fn expected(&self, quantile: Quantile) -> f64 {
        let predicted = self.predicted(self.unbounded, quantile);
        if predicted.is_nan() {
            1.0
        } else {
            predicted.clamp(1.0, Self::MOST)
        }
    }

    /// τ of a quantile in heavy traffic, of a line without an end that has this time.
    fn predicted(&self, unbounded: f64, quantile: Quantile) -> f64 {
        let below = quantile.share();
        let beyond = 1.0 - below;
        let unbounded = unbounded * (1.0 + beyond * beyond.ln() / below);
        let bounded = self.bounded * below * beyond;
        unbounded.min(bounded)
    }
}

/// The frames of a batch as one, due when the last of them was.
fn as_one(batch: &[Placed]) -> Option<Placed> {
    let (first, last) = (batch.first()?, batch.last()?);
    let done = batch.iter().map(finished).max()?;
    Some(Placed {
        sequence: first.sequence,
        released: last.released,
        took: done.saturating_sub(last.released.0),
        unit: first.sequence,
    })
}

/// When its result was ready, in nanoseconds.
fn finished(frame: &Placed) -> i64 {
    frame.released.0.saturating_add(frame.took)
}

#[cfg(test)]
mod tests {
    use jetlag_stats::autocorrelation::correlation;
    use rand_distr::{Distribution as _, Exp1, StandardNormal};
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::SeedableRng;

    use super::*;
    use crate::units::Stamp;

    /// Frames one after the other, with so many nanoseconds from release to release and of service.
    fn line(frames: impl Iterator<Item = (i64, i64)>) -> Vec<Placed> {
        let (mut released, mut free) = (0, 0);
        let place = |((gap, service), sequence)| {
            released += gap;
            free = free.max(released) + service;
            Placed {
                sequence,
                released: Stamp(released),
                took: free - released,
                unit: sequence,
            }
        };
        frames.zip(0..).map(place).collect()
    }

    /// A queue with a mean gap of 1 ms, random or not, and a service of `load` ± a fifth of it.
    fn queue(random_gaps: bool, load: f64, n: usize) -> Vec<Placed> {
        let mut random = Pcg64::seed_from_u64(5);
        line((0..n).map(|_| {
            let gap: f64 = if random_gaps {
                Exp1.sample(&mut random)
            } else {
                1.0
            };
            let z: f64 = StandardNormal.sample(&mut random);
            (
                (gap * 1e6) as i64,
                (load * (1.0 + 0.2 * z).max(0.05) * 1e6) as i64,
            )
        }))
    }

    const LONG: usize = 1 << 20;

    #[test]
    fn the_prediction_is_of_the_size_of_what_a_very_long_run_shows() {
        for (random_gaps, load) in [
            (false, 0.93),
            (false, 0.97),
            (true, 0.7),
            (true, 0.85),
            (true, 0.93),
        ] {
            let frames = queue(random_gaps, load, 1_000_000);
            let in_order: Vec<i64> = frames.iter().map(|frame| frame.took).collect();
            let mut values = in_order.clone();
            values.sort_unstable();
            let waiting = Waiting::of(&frames, Line::test(1, LONG));
            for quantile in [Quantile::P50, Quantile::P90, Quantile::P99] {
                let value = values[quantile.rank(values.len() as u64) as usize - 1];
                let shown = correlation(&[&in_order], value).time;
                let predicted = waiting.predicted(waiting.unbounded, quantile);
                println!(
                    "random gaps {random_gaps}, load {load}, {}: predicted {predicted:.1}, shown {shown:.1} frames",
                    quantile.share()
                );
                assert!((0.8..1.25).contains(&(predicted / shown)));
            }
        }
    }

    #[test]
    fn a_short_line_forgets_sooner() {
        let frames = queue(true, 0.93, 100_000);
        let of = |capacity| Waiting::of(&frames, Line::test(1, capacity)).least(Quantile::P50);
        // 1.25 · (3 · 0.93)² ÷ (1 + 0.186²) ÷ 3, and what nothing bounds.
        assert!((3.0..3.25).contains(&of(2)), "{}", of(2));
        assert!(of(LONG) > 100.0, "{}", of(LONG));
    }

    #[test]
    fn frames_that_do_not_wait_say_nothing() {
        let idle = line(std::iter::repeat_n((10, 9), 1000));
        assert_eq!(Waiting::of(&idle, Line::test(1, 2)), Waiting::NONE);
        let closed = Line {
            depth: 0,
            capacity: 2,
        };
        assert_eq!(Waiting::of(&queue(true, 0.93, 1000), closed), Waiting::NONE);
        // One in eleven waits.
        let seldom = line((0..1100).map(|at| if at % 11 == 0 { (10, 12) } else { (10, 5) }));
        assert_eq!(Waiting::of(&seldom, Line::test(1, 2)), Waiting::NONE);
        assert_eq!(Waiting::of(&[], Line::test(1, 2)), Waiting::NONE);
    }

    #[test]
    fn with_several_frames_in_flight_it_is_known_only_that_they_depend() {
        let frames = queue(true, 0.93, 10_000);
        let two = Waiting::of(&frames, Line::test(2, LONG));
        assert!(two.dependent);
        assert_eq!(two.least(Quantile::P99), 1.0);
        // Each lasts 1.5 periods, and with two slots none waits.
        let overlapping: Vec<Placed> = (0..1000)
            .map(|at| Placed {
                sequence: at,
                released: Stamp(at as i64 * 10),
                took: 15,
                unit: at,
            })
            .collect();
        assert_eq!(Waiting::of(&overlapping, Line::test(2, LONG)), Waiting::NONE);
    }

    #[test]
    fn frames_that_overtake_each_other_stand_in_no_line() {
        let mut frames = queue(true, 0.93, 1000);
        let line = Line::test(1, LONG);
        assert!(Waiting::of(&frames, line).dependent);
        frames[500].took = 0;
        assert_eq!(Waiting::of(&frames, line), Waiting::NONE);
    }

    #[test]
    fn stretches_of_a_long_run_are_not_neighbours() {
        let all = queue(false, 0.93, 40_000);
        let some: Vec<Placed> = all
            .iter()
            .filter(|frame| (frame.sequence / 4096).is_multiple_of(4))
            .copied()
            .collect();
        let of = |frames: &[Placed]| Waiting::of(frames, Line::test(1, LONG)).least(Quantile::P50);
        assert!(
            (0.5..2.0).contains(&(of(&some) / of(&all))),
            "{} {}",
            of(&some),
            of(&all)
        );
    }

    #[test]
    fn absurd_stamps_make_no_panic_and_no_nonsense() {
        let at = |sequence, released, took| Placed {
            sequence,
            released: Stamp(released),
            took,
            unit: sequence,
        };
        let frames = [
            at(0, i64::MIN, i64::MAX),
            at(1, i64::MAX, i64::MAX),
            at(2, 0, i64::MIN),
            at(2, 0, 0),
            at(u64::MAX, 0, 0),
        ];
        for n in 0..=frames.len() {
            for depth in 0..4 {
                let waiting = Waiting::of(&frames[..n], Line::test(depth, usize::MAX));
                for quantile in [Quantile::P50, Quantile::P99_9] {
                    assert!(
                        (1.0..=Waiting::MOST).contains(&waiting.least(quantile)),
                        "{waiting:?}"
                    );
                }
            }
        }
        let same = [at(0, 5, 0), at(1, 5, 0), at(2, 5, 0)];
        assert!(Waiting::of(&same, Line::test(1, 0)).least(Quantile::P50) >= 1.0);
    }
}
