//! Whether frames are in one of two clearly different states for many frames at a time: clocks that fall and rise, a program that comes
//! and goes. A run that met the rarer state a few times does not know how often it comes, and so knows no quantile that this decides.

/// Standard deviations within the states by which their means differ, at least. The two halves of a normal distribution differ by 2.7.
const APART: f64 = 4.0;
/// Share of frames that are in the state of most of the five frames around them, at least: else states change from frame to frame.
const LASTS: f64 = 0.97;
/// Frames of a state, at least.
const LEAST: usize = 5;
/// Spells from which on it is known how often they come.
pub const ENOUGH: u32 = 8;
/// The shares of frames that are tried as those of the faster state, before it is settled.
const TRIED: [f64; 9] = [0.05, 0.2, 0.5, 0.8, 0.9, 0.93, 0.95, 0.97, 0.98];
const ROUNDS: usize = 4;

/// The rarer of two states.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spells {
    /// How often it came.
    pub seen: u32,
    /// Its share of the frames.
    pub share: f64,
}

impl Spells {
    /// By how much a share of the run's frames, such as that up to a quantile, differs from run to run because of it: the number of
    /// spells and their lengths vary.
    pub fn scatter(self, share: f64) -> f64 {
        share * self.share * (2.0 / f64::from(self.seen)).sqrt()
    }
}

/// Of durations in order of time; `None` where there are no two states that last.
pub fn spells(in_order: &[i64]) -> Option<Spells> {
    if in_order.len() < 2 * LEAST || in_order.iter().any(|&took| took <= 0) {
        return None;
    }
    let logs: Vec<f64> = in_order.iter().map(|&took| (took as f64).ln()).collect();
    let mut sorted = logs.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let limits = TRIED.iter().filter_map(|share| {
        let mut limit = *sorted.get((share * sorted.len() as f64) as usize)?;
        let mut apart = 0.0;
        for _ in 0..ROUNDS {
            (limit, apart) = divided(&logs, limit)?;
        }
        Some((limit, apart))
    });
    let (limit, apart) = limits.max_by(|a, b| a.1.total_cmp(&b.1))?;
    (apart >= APART).then(|| lasting(&logs, limit)).flatten()
}

/// The middle between the means of what is above a limit and of what is not, and how many standard deviations lie between them.
fn divided(logs: &[f64], limit: f64) -> Option<(f64, f64)> {
    let mut of = [(0.0_f64, 0.0, 0.0); 2];
    for &log in logs {
        let (count, sum, squares) = &mut of[usize::from(log > limit)];
        (*count, *sum, *squares) = (*count + 1.0, *sum + log, *squares + log * log);
    }
    let [fast, slow] = of;
    if fast.0.min(slow.0) < LEAST as f64 {
        return None;
    }
    let (below, above) = (fast.1 / fast.0, slow.1 / slow.0);
    let within = (fast.2 - fast.0 * below * below + slow.2 - slow.0 * above * above).max(0.0);
    let deviation = (within / logs.len() as f64).sqrt();
    Some((
        f64::midpoint(below, above),
        (above - below) / deviation.max(f64::MIN_POSITIVE),
    ))
}

fn lasting(logs: &[f64], limit: f64) -> Option<Spells> {
    let is_slow = |log: &f64| *log > limit;
    let around = logs
        .windows(5)
        .map(|five| five.iter().filter(|log| is_slow(log)).count() >= 3);
    let smooth: Vec<bool> = around.collect();
    let middles = logs.get(2..)?;
    let agree = smooth
        .iter()
        .zip(middles)
        .filter(|(state, log)| **state == is_slow(log));
    if (agree.count() as f64) < LASTS * smooth.len() as f64 {
        return None;
    }
    let slow = smooth.iter().filter(|&&state| state).count();
    let is_rare = 2 * slow <= smooth.len();
    let rare = |state: bool| state == is_rare;
    let begun = smooth
        .windows(2)
        .filter(|pair| !rare(pair[0]) && rare(pair[1]))
        .count();
    let seen = begun + usize::from(smooth.first().is_some_and(|&state| rare(state)));
    let share = slow.min(smooth.len() - slow) as f64 / smooth.len() as f64;
    (seen > 0).then(|| Spells {
        seen: u32::try_from(seen).unwrap_or(u32::MAX),
        share,
    })
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution as _, StandardNormal, StandardUniform};
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::SeedableRng;

    use super::*;

    /// Lognormal frames that are in a slow state for this share of the time, so many frames in a row on average; their logarithms keep
    /// `phi` of the one before.
    fn frames(n: usize, (share, lasts): (f64, f64), phi: f64, sigma: f64, seed: u64) -> Vec<i64> {
        let mut random = Pcg64::seed_from_u64(seed);
        let (mut slow, mut z) = (false, 0.0);
        let next = |_| {
            let uniform: f64 = StandardUniform.sample(&mut random);
            slow = uniform
                < if slow {
                    1.0 - 1.0 / lasts
                } else {
                    share / (1.0 - share) / lasts
                };
            let fresh: f64 = StandardNormal.sample(&mut random);
            z = phi * z + f64::sqrt(1.0 - phi * phi) * fresh;
            (if slow { 1.4e7 } else { 1e7 } * f64::exp(sigma * z)) as i64
        };
        (0..n).map(next).collect()
    }

    #[test]
    fn slow_states_are_counted() {
        let mut runs = 0;
        for seed in 0..50 {
            let Some(found) = spells(&frames(6_000, (0.1, 60.0), 0.0, 0.05, seed)) else {
                continue;
            };
            runs += 1;
            // Ten are expected.
            assert!((2..=22).contains(&found.seen), "{found:?}");
            assert!((0.01..0.3).contains(&found.share), "{found:?}");
        }
        assert!(runs >= 49, "{runs}");
        let mut once = frames(2_000, (0.0, 1.0), 0.0, 0.05, 1);
        once[700..760].iter_mut().for_each(|took| *took = *took * 3 / 2);
        assert_eq!(
            spells(&once),
            Some(Spells {
                seen: 1,
                share: 60.0 / 1_996.0
            })
        );
        let fast_for_once: Vec<i64> = once.iter().map(|took| 100_000_000_000_000 / took).collect();
        assert_eq!(spells(&fast_for_once).map(|found| found.seen), Some(1));
    }

    #[test]
    fn one_state_is_none_however_frames_follow_each_other_and_two_that_alternate_are_none() {
        for seed in 0..50 {
            for (phi, sigma) in [(0.0, 0.2), (0.9, 0.2), (0.97, 0.2), (0.99, 0.3), (0.0, 0.6)] {
                assert_eq!(
                    spells(&frames(2_000, (0.0, 1.0), phi, sigma, seed)),
                    None,
                    "{phi}"
                );
            }
            let alternating = frames(2_000, (0.2, 1.0), 0.0, 0.05, seed);
            assert_eq!(spells(&alternating), None);
        }
        assert_eq!(spells(&[5; 100]), None);
        assert_eq!(spells(&[]), None);
        assert_eq!(spells(&[-1; 100]), None);
    }
}
