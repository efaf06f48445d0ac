//! The difference of a figure between two sides by its value in each run: neighbouring runs, or as many as there are.

use jetlag_stats::quantile::Quantile;
use jetlag_stats::student::t_quantile;

use super::Effect;

/// Rounds from which on the differences between neighbouring runs have an interval.
const ROUNDS: usize = 4;

/// The same where the n-th runs of both sides are neighbours in time: the mean of the rounds' logarithms of the ratio, with
/// Student's t. A machine that wanders more slowly than a round lasts does not touch it, and frames of a run may depend on each
/// other in any way; but it rests on as few values as there are rounds.
pub(in crate::analysis) fn of_rounds(
    quantile: Quantile,
    [baseline, candidate]: [&[Vec<i64>]; 2],
    confidence: f64,
) -> Option<Effect> {
    let value = |run: &Vec<i64>| {
        let mut values = run.clone();
        values.sort_unstable();
        let enough = quantile.supported_by(values.len() as u64);
        let rank = quantile.rank(values.len() as u64) as usize;
        let value = *values.get(rank.checked_sub(1)?)? as f64;
        (enough && value > 0.0).then_some(value)
    };
    let rounds = baseline.iter().zip(candidate);
    let pairs: Option<Vec<(f64, f64)>> = rounds
        .map(|(a, b)| Some((value(a)?.ln(), value(b)?.ln())))
        .collect();
    let pairs = pairs.filter(|pairs| pairs.len() >= ROUNDS)?;
    let n = pairs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / n;
    let change = mean(|(a, b)| b - a);
    let variance = pairs.iter().map(|(a, b)| (b - a - change).powi(2)).sum::<f64>() / (n - 1.0);
    let half = t_quantile(f64::midpoint(1.0, confidence), n - 1.0) * (variance / n).sqrt();
    Some(Effect {
        baseline: mean(|(a, _)| *a).exp(),
        candidate: mean(|(_, b)| *b).exp(),
        change: change.exp_m1(),
        interval: [(change - half).exp_m1(), (change + half).exp_m1()],
    })
}

/// Compares a figure with one value per run, such as energy per frame, by the logarithms of the runs (Welch's t). The
/// interval is `None` if a side has only one run: its variation is unknown.
pub(in crate::analysis) fn of_runs(
    [baseline, candidate]: [&[f64]; 2],
    confidence: f64,
) -> Option<(f64, f64, f64, Option<[f64; 2]>)> {
    let logs = |values: &[f64]| -> Option<Vec<f64>> {
        let all = values.iter().all(|&value| value > 0.0 && value.is_finite());
        (all && !values.is_empty()).then(|| values.iter().map(|value| value.ln()).collect())
    };
    let (a, b) = (logs(baseline)?, logs(candidate)?);
    let mean = |logs: &[f64]| logs.iter().sum::<f64>() / logs.len() as f64;
    let (mean_a, mean_b) = (mean(&a), mean(&b));
    let change = mean_b - mean_a;
    // Variance of the mean.
    let variance = |logs: &[f64], mean: f64| {
        let n = logs.len() as f64;
        logs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0) / n
    };
    let interval = (a.len() > 1 && b.len() > 1).then(|| {
        let of = |logs: &[f64], mean| (variance(logs, mean), logs.len());
        welch(change, [of(&a, mean_a), of(&b, mean_b)], confidence)
    });
    Some((mean_a.exp(), mean_b.exp(), change.exp_m1(), interval))
}

/// Compares mean rates, each of several stretches of one run; a stretch may be empty. `None` where a side has no rate at all.
pub(in crate::analysis) fn of_rates(
    [baseline, candidate]: [&[f64]; 2],
    confidence: f64,
) -> Option<(f64, [f64; 2])> {
    // The mean, with the variance of its logarithm.
    let side = |rates: &[f64]| {
        let n = rates.len() as f64;
        let mean = rates.iter().sum::<f64>() / n;
        let spread = rates.iter().map(|rate| (rate / mean - 1.0).powi(2)).sum::<f64>() / (n - 1.0) / n;
        (rates.len() > 1 && mean > 0.0 && spread.is_finite()).then_some((mean, (spread, rates.len())))
    };
    let ((before, a), (after, b)) = (side(baseline)?, side(candidate)?);
    Some((
        after / before - 1.0,
        welch((after / before).ln(), [a, b], confidence),
    ))
}

/// The interval of a ratio, from its logarithm and from the variance and number of values of each side.
fn welch(change: f64, [(va, na), (vb, nb)]: [(f64, usize); 2], confidence: f64) -> [f64; 2] {
    let sum = va + vb;
    let parts = va * va / (na as f64 - 1.0) + vb * vb / (nb as f64 - 1.0);
    let freedom = if parts > 0.0 { sum * sum / parts } else { 1.0 };
    let half = t_quantile(f64::midpoint(1.0, confidence), freedom) * sum.sqrt();
    [(change - half).exp_m1(), (change + half).exp_m1()]
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::SeedableRng;

    use super::*;

    #[test]
    fn one_run_a_side_has_no_interval_of_energy() {
        let (a, b, change, interval) = of_runs([&[10.0], &[11.0]], 0.95).unwrap();
        assert!((a - 10.0).abs() < 1e-9 && (b - 11.0).abs() < 1e-9 && (change - 0.1).abs() < 1e-9);
        assert_eq!(interval, None);
        let (.., interval) = of_runs([&[10.0, 10.1, 9.9], &[11.0, 11.1, 10.9]], 0.95).unwrap();
        let [low, high] = interval.unwrap();
        assert!(low > 0.05 && high < 0.15, "{low} {high}");
        assert_eq!(of_runs([&[], &[1.0]], 0.95), None);
        assert_eq!(of_runs([&[f64::NAN], &[1.0]], 0.95), None);
    }

    #[test]
    fn rounds_of_neighbours_hold_a_known_change_on_a_machine_that_wanders() {
        let (mut held, mut false_alarms) = (0, 0);
        for seed in 0..400 {
            let mut random = Pcg64::seed_from_u64(seed);
            let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
            let mut speed = 0.0;
            let (mut a, mut b, mut same) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..8 {
                speed += 0.1 * normal();
                let mut run = |slower: f64| -> Vec<i64> {
                    let level = speed + 0.02 * normal();
                    let frame = |_| (9e6 * slower * (level + 0.1 * normal()).exp()) as i64;
                    (0..200).map(frame).collect()
                };
                a.push(run(1.0));
                b.push(run(1.1));
                same.push(run(1.0));
            }
            let found = of_rounds(Quantile::P50, [&a, &b], 0.95).unwrap().interval;
            held += u32::from(found[0] <= 0.1 && 0.1 <= found[1]);
            let found = of_rounds(Quantile::P50, [&a, &same], 0.95).unwrap().interval;
            false_alarms += u32::from(found[0] > 0.0 || found[1] < 0.0);
        }
        println!("held {held}, false alarms {false_alarms} of 400");
        assert!((367..=396).contains(&held), "{held} of 400");
        assert!(false_alarms <= 33, "{false_alarms} of 400");
        assert_eq!(
            of_rounds(Quantile::P50, [&[vec![5; 20]], &[vec![6; 20]]], 0.95),
            None
        );
    }

    #[test]
    fn the_interval_of_a_figure_of_runs_is_that_of_scipy() {
        // scipy.stats.ttest_ind(log b, log a, equal_var=False).confidence_interval()
        let a = [10.0, 10.1, 9.9, 10.2];
        let b = [11.0, 11.5, 10.8];
        let (of_a, of_b, change, interval) = of_runs([&a, &b], 0.95).unwrap();
        let [low, high] = interval.unwrap();
        for (found, known) in [
            (of_a, 10.049378065577068),
            (of_b, 11.096127209934096),
            (change, 11.096127209934096 / 10.049378065577068 - 1.0),
            (low, 0.028582067),
            (high, 0.185292487),
        ] {
            assert!((found - known).abs() < 1e-7, "{found}, {known}");
        }
    }

    #[test]
    fn a_figure_of_runs_needs_two_of_each_side_and_values_that_have_a_ratio() {
        for (a, b) in [(&[10.0][..], &[11.0, 11.1][..]), (&[10.0, 10.1], &[11.0])] {
            assert_eq!(of_runs([a, b], 0.95).unwrap().3, None, "{a:?} {b:?}");
        }
        for wrong in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            assert_eq!(of_runs([&[10.0, wrong], &[11.0, 11.1]], 0.95), None, "{wrong}");
        }
    }
}
