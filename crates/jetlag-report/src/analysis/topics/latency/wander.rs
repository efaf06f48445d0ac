//! How much a tenant's speed wanders over seconds, beside how much its frames differ within one: the medians of slots of a second,
//! and the sampled signal that goes with them, if one does.
//!
//! A signal and a median that both move slowly agree by chance more often than their number of slots says. So the number is reduced
//! by their own correlation from slot to slot (M. S. Bartlett, *Journal of the Royal Statistical Society* 98, 1935), and a signal is
//! named only where the agreement is beyond chance for as many signals as were looked at, and in the direction in which it could matter.

use jetlag_stats::correlation::{pearson, ranks};
use jetlag_stats::median::median;
use jetlag_stats::moments::{mean, mean_and_variance};
use jetlag_stats::quantile::nearest;
use jetlag_stats::student::t_quantile;

use crate::analysis::gathering::track::{Track, Tracks};
use crate::analysis::stats::six_decimals;
use crate::analysis::summary::{Companion, Wander};
use crate::record::Quantity;
use crate::units::{Nanos, Stamp};

/// Length of a slot; doubled until one has so many frames at the tenant's pace.
const SLOT: Nanos = Nanos(1_000_000_000);
const FRAMES: usize = 8;
/// Slots from which medians show a spread.
const SLOTS: usize = 8;
/// Slots kept at most: of a longer run they are longer.
const MOST_SLOTS: usize = 4096;
/// A smaller variation between slots, as a share of the median, does not matter.
const MATERIAL: f64 = 0.02;
/// Variation between slots, over that within one, from which on it prevails.
const PREVAILS: f64 = 0.5;
/// Signals that are examined; boards have a few dozen.
const MOST_SIGNALS: usize = 256;

/// The frames of one slot.
struct Slot {
    from: Stamp,
    to: Stamp,
    median: f64,
    /// Interquartile range as a standard deviation of a normal distribution.
    spread: f64,
    frames: usize,
}

/// From response times in order, each with its release; `None` where there are too few slots.
pub(in crate::analysis) fn wander(responses: &[(Stamp, i64)], tracks: &Tracks) -> Option<Wander> {
    let slots = slots(responses)?;
    let mut medians: Vec<f64> = slots.iter().map(|slot| slot.median).collect();
    let in_order = medians.clone();
    let typical = median(&mut medians)?;
    // Where the median is, is all that it puts in order.
    medians.sort_by(f64::total_cmp);
    let within = median(&mut slots.iter().map(|slot| slot.spread).collect::<Vec<f64>>())?;
    let frames = median(&mut slots.iter().map(|slot| slot.frames as f64).collect::<Vec<f64>>())?;
    // What medians of so many independent frames would vary by is no wandering.
    let by_chance = within * (std::f64::consts::FRAC_PI_2 / frames).sqrt();
    let between = (mean_and_variance(&in_order)?.1 - by_chance * by_chance)
        .max(0.0)
        .sqrt();
    let quarter = in_order.len().div_ceil(4);
    Some(Wander {
        slot_s: (slots[0].to - slots[0].from).as_secs_f64(),
        slots: in_order.len() as u64,
        low_ms: six_decimals(nearest(&medians, 0.1)?),
        high_ms: six_decimals(nearest(&medians, 0.9)?),
        first_ms: six_decimals(median(&mut in_order[..quarter].to_vec())?),
        last_ms: six_decimals(median(&mut in_order[in_order.len() - quarter..].to_vec())?),
        between: six_decimals(between / typical),
        within: six_decimals(within / typical),
        with: companion(&slots, &in_order, tracks),
    })
}

impl Wander {
    /// Whether it decides how well the tenant's quantiles are known: hundreds of frames in each slot take their own differences out,
    /// and nothing but more slots takes out those of the slots.
    pub(in crate::analysis) fn prevails(&self) -> bool {
        self.between >= MATERIAL && self.between > PREVAILS * self.within
    }
}

fn slots(responses: &[(Stamp, i64)]) -> Option<Vec<Slot>> {
    let (&(first, _), &(last, _)) = (responses.first()?, responses.last()?);
    let all = (last - first).0;
    let mut length = SLOT.0;
    while (responses.len() as f64) * length as f64 / (all.max(1) as f64) < FRAMES as f64
        || all / length > MOST_SLOTS as i64
    {
        length = length.checked_mul(2)?;
    }
    let slot_of = |&(at, _): &(Stamp, i64)| (at - first).0.div_euclid(length);
    let slots: Vec<Slot> = responses
        .chunk_by(|a, b| slot_of(a) == slot_of(b))
        .filter(|frames| frames.len() >= FRAMES / 2)
        .filter_map(|frames| {
            let from = first + Nanos(slot_of(frames.first()?).saturating_mul(length));
            let mut values: Vec<f64> = frames.iter().map(|&(_, ns)| ns as f64 / 1e6).collect();
            let median = median(&mut values)?;
            values.sort_by(f64::total_cmp);
            let quartile = |share: f64| values[((values.len() - 1) as f64 * share) as usize];
            Some(Slot {
                from,
                to: from + Nanos(length),
                median,
                spread: (quartile(0.75) - quartile(0.25)) / 1.349,
                frames: values.len(),
            })
        })
        .collect();
    (slots.len() >= SLOTS).then_some(slots)
}

/// The signal that goes with the medians most closely, if that is beyond chance.
fn companion(slots: &[Slot], medians: &[f64], tracks: &Tracks) -> Option<Companion> {
    let candidates: Vec<(&Track, f64)> = tracks
        .iter()
        .filter_map(|track| Some((track, direction(track)?)))
        .take(MOST_SIGNALS)
        .collect();
    let level = 0.05 / candidates.len().max(1) as f64;
    let agreements = candidates.into_iter().filter_map(|(track, direction)| {
        let read: Vec<(f64, f64)> = slots
            .iter()
            .zip(medians)
            .filter_map(|(slot, &median)| Some((mean_of(track, slot)?, median)))
            .collect();
        let (signal, speed): (Vec<f64>, Vec<f64>) = read.into_iter().unzip();
        let (signal_ranks, speed_ranks) = (ranks(&signal), ranks(&speed));
        let correlation = correlation(&signal_ranks, &speed_ranks)?;
        let together = neighbours(&signal_ranks)? * neighbours(&speed_ranks)?;
        let slots = signal.len() as f64 * (1.0 - together) / (1.0 + together);
        let beyond_chance = slots > 4.0 && {
            let t = correlation
                * direction
                * ((slots - 2.0) / (1.0 - correlation * correlation).max(1e-12)).sqrt();
            t > t_quantile(1.0 - level, slots - 2.0)
        };
        beyond_chance.then(|| Companion {
            source: track.signal.source.clone(),
            signal: track.signal.signal.clone(),
            kind: match track.quantity() {
                Quantity::Clock => "clock",
                _ => "temperature",
            },
            correlation: six_decimals(correlation),
        })
    });
    agreements.max_by(|a, b| a.correlation.abs().total_cmp(&b.correlation.abs()))
}

/// In which direction a signal makes frames slower; `None` for one that is no likely cause.
fn direction(track: &Track) -> Option<f64> {
    match track.quantity() {
        Quantity::Clock => Some(-1.0),
        Quantity::Temperature => Some(1.0),
        _ => None,
    }
}

fn mean_of(track: &Track, slot: &Slot) -> Option<f64> {
    let points = track.within((slot.from, slot.to));
    mean(&points.iter().map(|point| point.value).collect::<Vec<f64>>())
}

/// `None` where one of the two never changes, or too few are known.
fn correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    pearson(a, b).filter(|_| a.len() >= SLOTS)
}

/// The correlation of each value with the next one, not below zero.
fn neighbours(values: &[f64]) -> Option<f64> {
    let (_, later) = values.split_first()?;
    Some(correlation(&values[..later.len()], later).unwrap_or(0.0).max(0.0))
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution as _, StandardNormal};
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::SeedableRng;

    use super::*;
    use crate::record::{Measurand, Part, SampleRecord, SignalRecord};

    fn drawn(random: &mut Pcg64) -> f64 {
        StandardNormal.sample(random)
    }

    /// 60 s at 100 Hz around 3.4 ms: a speed that forgets in `memory` seconds with this deviation, and frames that differ by 3 %.
    fn run(deviation: f64, memory: f64, seed: u64) -> (Vec<(Stamp, i64)>, Vec<f64>) {
        let mut random = Pcg64::seed_from_u64(seed);
        let keep = f64::exp(-0.01 / memory);
        let mut speed = drawn(&mut random);
        let mut speeds = Vec::new();
        let frames = (0..6_000i64).map(|frame| {
            speed = keep * speed + (1.0 - keep * keep).sqrt() * drawn(&mut random);
            speeds.push(speed);
            let ms = 3.4 * (deviation * speed + 0.03 * drawn(&mut random)).exp();
            (Stamp(frame * 10_000_000), (ms * 1e6) as i64)
        });
        (frames.collect(), speeds)
    }

    fn clock(values: impl Iterator<Item = f64>) -> Tracks {
        let mut tracks = Tracks::default();
        tracks.signal(&SignalRecord {
            source: "nvml".to_owned(),
            signal: "gpu".to_owned(),
            measurand: Measurand {
                quantity: Quantity::Clock,
                part: Part::Gpu(None),
            },
            ..SignalRecord::default()
        });
        for (value, at) in values.zip(0i64..) {
            tracks.sample(&SampleRecord {
                at: Stamp(at * 100_000_000),
                source: "nvml".to_owned(),
                signal: "gpu".to_owned(),
                value: Some(value),
                unit: "mhz".to_owned(),
            });
        }
        tracks.finish()
    }

    #[test]
    fn a_machine_that_wanders_is_told_from_frames_that_differ() {
        for seed in 0..20 {
            let (steady, _) = run(0.0, 2.0, seed);
            let found = wander(&steady, &Tracks::default()).unwrap();
            assert!(!found.prevails() && found.between < 0.01, "{found:?}");
            let (wandering, _) = run(0.12, 2.0, seed);
            let found = wander(&wandering, &Tracks::default()).unwrap();
            assert!(found.prevails(), "{found:?}");
            assert!(found.high_ms > found.low_ms * 1.05, "{found:?}");
            let (low, high) = (
                found.first_ms.min(found.last_ms),
                found.first_ms.max(found.last_ms),
            );
            assert!(found.low_ms <= high && found.high_ms >= low, "{found:?}");
        }
    }

    #[test]
    fn a_clock_that_goes_with_the_speed_is_named_and_one_that_wanders_by_itself_is_not() {
        let (mut named, mut falsely) = (0, 0);
        for seed in 0..100 {
            let (frames, speeds) = run(0.1, 2.0, seed);
            let with = clock(speeds.iter().step_by(10).map(|speed| 1500.0 - 100.0 * speed));
            named += u32::from(wander(&frames, &with).unwrap().with.is_some());
            let (_, others) = run(0.1, 2.0, seed + 1_000);
            let without = clock(others.iter().step_by(10).map(|speed| 1500.0 - 100.0 * speed));
            falsely += u32::from(wander(&frames, &without).unwrap().with.is_some());
        }
        assert!(named >= 95, "{named} of 100");
        assert!(falsely <= 8, "{falsely} of 100");
    }

    #[test]
    fn few_slots_absurd_stamps_and_nothing_say_nothing() {
        let none = |frames: &[(Stamp, i64)]| assert!(wander(frames, &Tracks::default()).is_none());
        none(&[]);
        none(&[(Stamp(0), 1)]);
        none(&[(Stamp(i64::MIN), 1), (Stamp(i64::MAX), 2)]);
        let short: Vec<(Stamp, i64)> = (0..700).map(|i| (Stamp(i * 10_000_000), 1_000)).collect();
        none(&short);
    }
}
