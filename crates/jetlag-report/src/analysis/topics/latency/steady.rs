//! Whether a tenant was in a steady state while it was measured: whether the warm-up was long enough, whether its
//! response time drifted or changed its level, and what changed at the same time.
//!
//! Response times are grouped into stretches of consecutive frames, each represented by its median, which the slow
//! frames of every run do not affect. `states` looks for changes of level in these medians. This module decides what
//! the changes mean, by where they are:
//!
//! - a straight line fits the medians as well, at the price of one change: a drift;
//! - all changes are within the first quarter: the tenant had not settled, and the warm-up was too short;
//! - otherwise: shifts, each compared with the clocks and temperatures that were sampled (`signals`).

use jetlag_stats::line::Line;
use jetlag_stats::median::median;
use jetlag_stats::states::states;

use crate::analysis::catalogue::{Limit, SteadyLimit};
use crate::analysis::gathering::track::Tracks;
use crate::analysis::stats::six_decimals;
use crate::analysis::summary::{Shift, Steady};
use crate::analysis::topics::latency::signals::{self, Moment};
use crate::units::{Nanos, Stamp};

/// Stretches that a run is divided into, at most.
const MOST_STRETCHES: usize = 400;
/// Frames per stretch, at least: the median of fewer frames is affected by single slow ones.
const LEAST_FRAMES: usize = 8;
/// A smaller change or drift, as a share of the median, does not matter.
const MATERIAL: f64 = 0.02;
/// A change or drift of at least this share is a finding.
const LIMITING: f64 = 0.05;
/// If all changes lie within this share of the window, the warm-up was too short.
const SETTLING: f64 = 0.25;
/// Shifts reported at most, the largest ones.
const MOST_SHIFTS: usize = 8;

/// Judges the response times of a tenant, in order, each with its release. `own`: what of each does not depend on the frames before it,
/// which is all but the wait for a free slot.
///
/// Where and whether anything changed is found in what frames took by themselves: one long frame makes a backlog that holds up hundreds of
/// others, which looks like a level of its own, and passes. What the change means is told in response times.
pub(in crate::analysis) fn judge(responses: &[(Stamp, i64)], own: &[i64], tracks: &Tracks) -> Steady {
    let frames = LEAST_FRAMES.max(responses.len().div_ceil(MOST_STRETCHES));
    let middle = |values: &mut dyn Iterator<Item = i64>| {
        let mut values: Vec<f64> = values.map(|ns| ns as f64 / 1e6).collect();
        median(&mut values)
    };
    let stretches: Vec<(Stamp, f64)> = responses
        .chunks_exact(frames)
        .filter_map(|chunk| Some((chunk.first()?.0, middle(&mut chunk.iter().map(|&(_, ns)| ns))?)))
        .collect();
    let own_medians = own
        .chunks_exact(frames)
        .filter_map(|chunk| middle(&mut chunk.iter().copied()));
    let mut medians: Vec<f64> = stretches.iter().map(|&(_, ms)| ms).collect();
    let (Some(&(start, _)), Some(&(end, _))) = (responses.first(), responses.last()) else {
        return Steady::default();
    };
    // On a logarithmic scale: relative changes matter, and a queue's long tail weighs less.
    let logarithms: Vec<f64> = own_medians.map(|ms| ms.max(1e-9).ln()).collect();
    let Some(found) = states(&logarithms) else {
        return Steady::default();
    };
    if found.is_line
        && let Some(drift) = drift(&medians)
    {
        return Steady {
            judged: true,
            settled_after_s: Some(0.0),
            drift: Some(drift),
            ..Steady::default()
        };
    }
    let changes = material(&medians, found.changes);
    let last_early = changes
        .iter()
        .all(|&at| at as f64 <= medians.len() as f64 * SETTLING);
    if let Some(&settled) = changes.last()
        && last_early
    {
        let (early, late) = medians.split_at_mut(settled);
        return Steady {
            judged: true,
            settled_after_s: Some(seconds(start, stretches[settled].0)),
            settling: median(early)
                .zip(median(late))
                .map(|(early, late)| six_decimals(early / late - 1.0)),
            ..Steady::default()
        };
    }
    Steady {
        judged: true,
        settled_after_s: Some(0.0),
        shifts: shifts(&stretches, &changes, (start, end), tracks),
        ..Steady::default()
    }
}

/// The changes whose relative size matters.
fn material(medians: &[f64], mut changes: Vec<usize>) -> Vec<usize> {
    loop {
        let sides = level_of_each(medians, &changes);
        let small = sides
            .windows(2)
            .map(|pair| (pair[1] / pair[0] - 1.0).abs())
            .enumerate()
            .filter(|&(_, change)| change < MATERIAL || !change.is_finite())
            .min_by(|a, b| a.1.total_cmp(&b.1));
        match small {
            // The two stretches are merged into one, which has another level.
            Some((which, _)) => drop(changes.remove(which)),
            None => return changes,
        }
    }
}

/// The median of each stretch between changes.
fn level_of_each(medians: &[f64], changes: &[usize]) -> Vec<f64> {
    let starts = std::iter::once(0).chain(changes.iter().copied());
    let ends = changes.iter().copied().chain([medians.len()]);
    starts
        .zip(ends)
        .filter_map(|(start, end)| median(&mut medians[start..end].to_vec()))
        .collect()
}

/// The relative change from the start of the straight line to its end, if that matters.
fn drift(medians: &[f64]) -> Option<f64> {
    let Line { mean, rise, .. } = Line::through(medians);
    // Response times cannot follow a line that starts or ends at or below zero.
    let start = mean - rise / 2.0;
    if start <= 0.0 || start + rise <= 0.0 {
        return None;
    }
    let drift = rise / start;
    (drift.abs() >= MATERIAL).then(|| six_decimals(drift))
}

fn shifts(
    stretches: &[(Stamp, f64)],
    changes: &[usize],
    (start, end): (Stamp, Stamp),
    tracks: &Tracks,
) -> Vec<Shift> {
    let medians: Vec<f64> = stretches.iter().map(|&(_, ms)| ms).collect();
    let levels = level_of_each(&medians, changes);
    let stamp = |at: usize| stretches.get(at).map_or(end, |&(stamp, _)| stamp);
    // The position of a change is known to one stretch.
    let blur = Nanos((end - start).0 / stretches.len().max(1) as i64);
    let moments: Vec<Moment> = changes
        .iter()
        .zip(levels.windows(2))
        .enumerate()
        .map(|(which, (&at, pair))| Moment {
            from: which
                .checked_sub(1)
                .map_or(start, |before| stamp(changes[before])),
            at: stamp(at),
            to: changes.get(which + 1).map_or(end, |&next| stamp(next)),
            blur,
            slower: pair[1] > pair[0],
        })
        .collect();
    let mut shifts: Vec<Shift> = moments
        .iter()
        .zip(levels.windows(2))
        .zip(signals::changed(tracks, &moments, (start, end)))
        .map(|((moment, pair), with)| Shift {
            at_s: seconds(start, moment.at),
            before_ms: six_decimals(pair[0]),
            after_ms: six_decimals(pair[1]),
            change: six_decimals(pair[1] / pair[0] - 1.0),
            with,
        })
        .collect();
    shifts.sort_by(|a, b| b.change.abs().total_cmp(&a.change.abs()));
    shifts.truncate(MOST_SHIFTS);
    shifts.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    shifts
}

fn seconds(from: Stamp, to: Stamp) -> f64 {
    ((to - from).as_secs_f64() * 1e3).round() / 1e3
}

/// The finding about an unsteady tenant, at most one.
pub(in crate::analysis) fn limit(tenant: &str, steady: &Steady, warmup: Option<Nanos>) -> Option<Limit> {
    let (settled, settling) = (steady.settled_after_s, steady.settling);
    let not_settled = settled
        .zip(settling)
        .map(|(after_s, change)| SteadyLimit::NotSettled {
            after_s,
            change,
            warmup,
        });
    let largest = |a: &&Shift, b: &&Shift| a.change.abs().total_cmp(&b.change.abs());
    let shift = steady.shifts.iter().max_by(largest);
    let limiting = |change: Option<f64>| change.is_some_and(|change| change.abs() >= LIMITING);
    let limit = not_settled
        .filter(|_| limiting(settling))
        .or_else(|| {
            steady
                .drift
                .filter(|_| limiting(steady.drift))
                .map(|change| SteadyLimit::Drift { change })
        })
        .or_else(|| {
            shift
                .filter(|shift| limiting(Some(shift.change)))
                .map(|shift| SteadyLimit::Shift {
                    largest: shift.clone(),
                    shifts: steady.shifts.len(),
                })
        })?;
    Some(Limit::Steady {
        tenant: tenant.to_owned(),
        limit,
    })
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, LogNormal, Pareto};
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::SeedableRng;
    use serde_json::json;

    use super::*;
    use crate::analysis::finding::Finding;
    use crate::record::SampleRecord;

    const MS: i64 = 1_000_000;

    /// Of frames that did not wait for each other.
    fn judge(responses: &[(Stamp, i64)], tracks: &Tracks) -> Steady {
        let own: Vec<i64> = responses.iter().map(|&(_, ns)| ns).collect();
        super::judge(responses, &own, tracks)
    }

    /// 30 s at 30 Hz of lognormal response times around `level(share of the run)` milliseconds.
    fn run(seed: u64, level: impl Fn(f64) -> f64) -> Vec<(Stamp, i64)> {
        let mut random = Pcg64::seed_from_u64(seed);
        let scatter = LogNormal::new(0.0, 0.15).unwrap();
        (0..900)
            .map(|i| {
                let ms = level(i as f64 / 900.0) * scatter.sample(&mut random);
                (Stamp(i * 33 * MS), (ms * 1e6) as i64)
            })
            .collect()
    }

    fn clock(mhz: impl Fn(i64) -> f64) -> Tracks {
        let mut signals = Tracks::default();
        for i in 0..300 {
            signals.sample(&SampleRecord {
                at: Stamp(i * 100 * MS),
                source: "gpu".to_owned(),
                signal: "gpu_frequency".to_owned(),
                value: Some(mhz(i)),
                unit: "mhz".to_owned(),
            });
        }
        signals
    }

    #[test]
    fn a_steady_tenant_is_called_so() {
        let mut alarms = 0;
        for seed in 0..200 {
            let steady = judge(&run(seed, |_| 9.0), &Tracks::default());
            assert!(steady.judged);
            let calm =
                steady.settled_after_s == Some(0.0) && steady.drift.is_none() && steady.shifts.is_empty();
            alarms += usize::from(!calm);
        }
        assert!(alarms <= 4, "{alarms} of 200");
    }

    #[test]
    fn a_warm_up_that_went_on_is_told_with_its_end() {
        for seed in 0..20 {
            let steady = judge(
                &run(seed, |x| if x < 0.15 { 12.0 } else { 9.0 }),
                &Tracks::default(),
            );
            let settled = steady.settled_after_s.unwrap();
            assert!((settled - 4.5).abs() < 1.0, "{settled}");
            assert!(
                (steady.settling.unwrap() - 0.33).abs() < 0.08,
                "{:?}",
                steady.settling
            );
            assert!(steady.shifts.is_empty());
        }
    }

    #[test]
    fn a_clock_that_falls_is_named_beside_the_shift_that_came_with_it() {
        let signals = clock(|i| if i < 150 { 1300.0 } else { 900.0 });
        for seed in 0..20 {
            let steady = judge(&run(seed, |x| if x < 0.5 { 9.0 } else { 12.0 }), &signals);
            let [shift] = &steady.shifts[..] else {
                panic!("{steady:?}")
            };
            assert!((shift.at_s - 14.9).abs() < 1.0, "{shift:?}");
            assert!((shift.change - 0.33).abs() < 0.08);
            assert_eq!(shift.with[0].signal, "gpu_frequency");
            assert_eq!((shift.with[0].before, shift.with[0].after), (1300.0, 900.0));
        }
    }

    #[test]
    fn a_clock_that_stays_is_not_blamed() {
        let steady = judge(
            &run(1, |x| if x < 0.5 { 9.0 } else { 12.0 }),
            &clock(|i| 1300.0 + (i % 3) as f64),
        );
        assert!(steady.shifts[0].with.is_empty());
    }

    #[test]
    fn a_slow_rise_is_a_drift_and_no_row_of_shifts() {
        for seed in 0..20 {
            let steady = judge(&run(seed, |x| 9.0 * (1.0 + 0.3 * x)), &Tracks::default());
            let drift = steady.drift.unwrap();
            assert!((drift - 0.3).abs() < 0.08, "seed {seed}: {steady:?}");
            assert!(steady.shifts.is_empty());
        }
    }

    #[test]
    fn a_drift_is_the_change_over_the_start_and_nothing_falls_by_more_than_all_of_it() {
        let falls = judge(&run(3, |x| 20.0 - 8.0 * x), &Tracks::default());
        let drift = falls.drift.unwrap();
        assert!((drift + 0.4).abs() < 0.05, "{falls:?}");
        let found = Finding::from(limit("camera", &falls, Some(Nanos::ZERO)).unwrap());
        assert_eq!(found.facts["change"].as_f64(), Some(drift));
        // Most of it at the start: a straight line through it ends below nothing, and is not told.
        for seed in 0..20 {
            let steep = judge(&run(seed, |x| 1.0 + 40.0 * (-6.0 * x).exp()), &Tracks::default());
            assert!(steep.drift.is_none_or(|drift| drift > -1.0), "{steep:?}");
        }
    }

    /// Frames one after the other, due each 33 ms: their response times, and what each took.
    fn in_line(service: impl Iterator<Item = i64>) -> (Vec<(Stamp, i64)>, Vec<i64>) {
        let mut free = 0;
        let each = service.zip(0..).map(|(took, i)| {
            let released = i * 33 * MS;
            free = released.max(free) + took;
            ((Stamp(released), free - released), took)
        });
        each.unzip()
    }

    #[test]
    fn backlogs_that_come_and_go_are_no_change_and_a_slower_machine_in_a_queue_is_one() {
        let is_calm =
            |steady: &Steady| steady.shifts.is_empty() && steady.drift.is_none() && steady.settling.is_none();
        let (mut by_responses, mut alarms, mut found) = (0, 0, 0);
        for seed in 0..100 {
            // At a load of 0.7, and one frame in thousands takes as long as a hundred.
            let frames = Pareto::new(12.6, 2.2)
                .unwrap()
                .sample_iter(Pcg64::seed_from_u64(seed))
                .take(600);
            let took: Vec<i64> = frames.map(|ms| (ms * 1e6) as i64).collect();
            let (responses, own) = in_line(took.iter().copied());
            by_responses += usize::from(!is_calm(&judge(&responses, &Tracks::default())));
            alarms += usize::from(!is_calm(&super::judge(&responses, &own, &Tracks::default())));
            let slower = took
                .iter()
                .enumerate()
                .map(|(i, &took)| if i < 300 { took } else { took * 14 / 10 });
            let (responses, own) = in_line(slower);
            found += usize::from(!is_calm(&super::judge(&responses, &own, &Tracks::default())));
        }
        assert!(
            by_responses >= 8,
            "the test has no queues that mislead: {by_responses}"
        );
        assert!(alarms <= 2, "{alarms} of 100");
        assert!(found >= 80, "{found} of 100");
    }

    #[test]
    fn too_few_frames_say_nothing() {
        assert!(!judge(&run(1, |_| 9.0)[..100], &Tracks::default()).judged);
        assert_eq!(judge(&[], &Tracks::default()), Steady::default());
    }

    #[test]
    fn a_shift_is_told_with_what_changed_beside_it_in_its_own_unit() {
        let beside = |unit: &str, before: f64, after: f64| {
            let mut signals = Tracks::default();
            for i in 0..300 {
                signals.sample(&SampleRecord {
                    at: Stamp(i * 99 * MS),
                    source: "gpu".to_owned(),
                    signal: "sensor".to_owned(),
                    value: Some(if i < 150 { before } else { after } + (i % 5) as f64 * 0.01),
                    unit: unit.to_owned(),
                });
            }
            let steady = judge(&run(3, |x| if x < 0.5 { 9.0 } else { 13.0 }), &signals);
            Finding::from(limit("camera", &steady, Some(Nanos::from_secs(1))).unwrap())
        };
        for (unit, before, after) in [("mhz", 1300.0, 900.0), ("c", 50.0, 60.0)] {
            let found = beside(unit, before, after);
            assert_eq!(found.code, "latency-shift", "{found:?}");
            let with = &found.facts["with"][0];
            assert_eq!((&with["signal"], &with["unit"]), (&json!("sensor"), &json!(unit)));
            let median = |at: &str| with[at].as_f64().map(f64::round);
            assert_eq!((median("before"), median("after")), (Some(before), Some(after)));
        }
        assert_eq!(beside("percent", 50.0, 60.0).facts["with"], json!([]));
    }

    #[test]
    fn a_line_that_starts_or_ends_below_nothing_is_no_drift() {
        // The lines of least squares go from −2 to 6 and from 6 to −2, and from 2 to 6.
        assert_eq!(drift(&[0.0, 0.0, 0.0, 0.0, 10.0]), None);
        assert_eq!(drift(&[10.0, 0.0, 0.0, 0.0, 0.0]), None);
        assert_eq!(drift(&[2.0, 3.0, 4.0, 5.0, 6.0]), Some(2.0));
        assert_eq!(drift(&[6.0, 5.0, 4.0, 3.0, 2.0]), Some(-0.666_667));
        assert_eq!(drift(&[100.0, 100.5, 101.0]), None, "one percent");
    }

    #[test]
    fn a_change_is_known_no_more_exactly_than_a_stretch_is_long() {
        // Two changes in a minute: within an eightieth of it, each is told with a signal that changed then.
        let told = |number: i64| {
            let length = 60_000 * MS / number;
            let level = |n: i64| match n * 3 / number {
                1 => 12.0,
                _ => 9.0,
            };
            let stretches: Vec<(Stamp, f64)> = (0..number).map(|n| (Stamp(n * length), level(n))).collect();
            let changes = [number / 3, 2 * number / 3].map(|at| at as usize);
            let mut signals = Tracks::default();
            for i in 0..600 {
                signals.sample(&SampleRecord {
                    at: Stamp(i * 100 * MS),
                    source: "gpu".to_owned(),
                    signal: "gpu_frequency".to_owned(),
                    value: Some(if i < 200 { 1300.0 } else { 900.0 } + (i % 3) as f64),
                    unit: "mhz".to_owned(),
                });
            }
            let found = shifts(&stretches, &changes, (Stamp(0), Stamp(60_000 * MS)), &signals);
            assert_eq!(found.len(), 2);
            assert_eq!(
                (found[0].before_ms, found[0].after_ms, found[0].at_s),
                (9.0, 12.0, 20.0)
            );
            assert_eq!(
                (found[1].before_ms, found[1].after_ms, found[1].at_s),
                (12.0, 9.0, 40.0)
            );
            assert!(found[1].with.is_empty());
            found[0].with.len()
        };
        assert_eq!((told(60), told(120)), (0, 1));
    }

    #[test]
    fn from_a_twentieth_on_what_did_not_last_limits_the_figures() {
        let shift = |change: f64| Steady {
            shifts: vec![Shift {
                at_s: 12.0,
                before_ms: 10.0,
                after_ms: 10.0 * (1.0 + change),
                change,
                with: Vec::new(),
            }],
            ..Steady::default()
        };
        let settling = |settling: f64| Steady {
            settled_after_s: Some(2.5),
            settling: Some(settling),
            ..Steady::default()
        };
        let drift = |drift: f64| Steady {
            drift: Some(drift),
            ..Steady::default()
        };
        let found = |steady: &Steady| {
            limit("camera", steady, Some(Nanos::from_secs(1)))
                .map(Finding::from)
                .map(|found| (found.code, found.facts["change"].clone()))
        };
        for of in [shift(0.03), shift(-0.049), settling(0.049), drift(-0.049)] {
            assert_eq!(found(&of), None, "{of:?}");
        }
        for (of, code, change) in [
            (shift(0.05), "latency-shift", 0.05),
            (settling(0.333), "not-settled", 0.333),
            (settling(-0.1), "not-settled", -0.1),
            (drift(0.3), "drift", 0.3),
            (drift(-0.05), "drift", -0.05),
        ] {
            assert_eq!(found(&of), Some((code.to_owned(), json!(change))));
        }
        // Of a program there is no scenario that could be set.
        let found = Finding::from(limit("app", &settling(0.333), None).unwrap());
        assert_eq!(
            (&found.facts["after_s"], &found.facts["warmup_s"]),
            (&json!(2.5), &json!(null))
        );
    }
}
