//! From release to result: the duration of each part of a tenant's response time; the parts add up.
//!
//! The parts are lateness, the wait for a free slot, the stages, and *wakeup*: the service time that is in no stage,
//! mostly from the moment the device is done until the waiting thread wakes up. Means add up to the mean response
//! time; quantiles do not, so the slowest 1 % of frames is also divided by means.

use super::quantile::Quantile;
use super::series::Series;
use super::stats::ns_to_ms;
use super::summary::waterfall::{Part, Slowest, Waterfall};
use super::timeline::Timeline;
use crate::record::{FrameRecord, Stage};
use crate::units::Nanos;

/// Number of parts: lateness, wait, nine stages, wakeup.
pub(super) const PARTS: usize = Stage::ALL.len() + 3;

/// Their names, in the order of a frame's response.
pub(super) const NAMES: [&str; PARTS] = [
    "lateness",
    "wait",
    "synchronise",
    "acquire",
    "decode",
    "preprocess",
    "h2d",
    "queue",
    "compute",
    "d2h",
    "wakeup",
    "postprocess",
];

/// Indices of the parts that are not stages.
pub(super) const LATENESS: usize = 0;
pub(super) const WAIT: usize = 1;
const WAKEUP: usize = PARTS - 2;

/// A frame's parts; they add up to its response time, whatever its record says.
#[inline]
pub(super) fn parts_of(frame: &FrameRecord) -> [Option<i64>; PARTS] {
    let [
        synchronise,
        acquire,
        decode,
        preprocess,
        h2d,
        queue,
        compute,
        d2h,
        postprocess,
    ] = frame.stages.map(|stage| stage.map(|took| took.0));
    // Timestamps of a damaged file may be absurd: wrap, so that the parts still add up.
    let staged = frame
        .stages
        .iter()
        .flatten()
        .fold(0i64, |sum, took| sum.wrapping_add(took.0));
    let queueing = frame.started.0.wrapping_sub(frame.released.0);
    let service = frame.finished.0.wrapping_sub(frame.started.0);
    [
        Some(frame.lateness.0),
        Some(queueing.wrapping_sub(frame.lateness.0)),
        synchronise,
        acquire,
        decode,
        preprocess,
        h2d,
        queue,
        compute,
        d2h,
        Some(service.wrapping_sub(staged)),
        postprocess,
    ]
}

/// What is collected of one tenant's completed frames.
#[derive(Debug, Default)]
pub(super) struct WaterfallSeries {
    lateness: Series,
    wait: Series,
    wakeup: Series,
    timeline: Timeline<PARTS>,
}

/// How many durations are kept per frame.
pub(super) const KEPT: u64 = 3;

impl WaterfallSeries {
    /// Adds a completed frame.
    pub(super) fn push(&mut self, frame: &FrameRecord, exact: bool) {
        let parts = parts_of(frame);
        for (series, part) in [
            (&mut self.lateness, LATENESS),
            (&mut self.wait, WAIT),
            (&mut self.wakeup, WAKEUP),
        ] {
            series.push(Nanos(parts[part].unwrap_or(0)), exact);
        }
        self.timeline
            .push(frame.sequence, frame.released, || parts_of(frame));
    }

    /// The waterfall, from each stage's sum and p99.
    pub(super) fn finish(mut self, stages: &[(i128, Option<f64>); 9]) -> Waterfall {
        let count = self.wait.count();
        if count == 0 {
            return Waterfall::default();
        }
        self.timeline.sort();
        let p99 = |(series, part): (Series, usize)| {
            let times = series.finish();
            let dependence = times.dependence(&self.timeline.values(part));
            let [p99] = times.quantiles([Quantile::P99], 0.95, &dependence);
            p99.ok().map(|estimate| estimate.value.as_millis_f64())
        };
        let own = [&self.lateness, &self.wait, &self.wakeup].map(Series::sum);
        let [lateness, wait, wakeup] = [
            (self.lateness, LATENESS),
            (self.wait, WAIT),
            (self.wakeup, WAKEUP),
        ]
        .map(p99);
        let mut known = [(0, None); PARTS];
        known[LATENESS] = (own[0], lateness);
        known[WAIT] = (own[1], wait);
        known[WAKEUP] = (own[2], wakeup);
        for (place, &stage) in (0..PARTS)
            .filter(|place| ![LATENESS, WAIT, WAKEUP].contains(place))
            .zip(stages)
        {
            known[place] = stage;
        }
        let total: i128 = known.iter().map(|(sum, _)| sum).sum();
        let mean = |sum: i128, count: u64| sum as f64 / count as f64;
        let slowest = slowest(&self.timeline);
        let occurred = |place: usize| {
            let (sum, p99) = known[place];
            sum != 0 || p99.is_some_and(|ms| ms != 0.0)
        };
        let parts: Vec<Part> = (0..PARTS)
            .filter(|&place| occurred(place))
            .map(|place| {
                let (sum, p99_ms) = known[place];
                Part {
                    part: NAMES[place],
                    mean_ms: ns_to_ms(mean(sum, count)),
                    share: match total {
                        0 => 0.0,
                        _ => super::stats::six_decimals(sum as f64 / total as f64),
                    },
                    p99_ms,
                    slowest_mean_ms: slowest
                        .as_ref()
                        .map(|(frames, sums)| ns_to_ms(mean(sums[place], *frames))),
                }
            })
            .collect();
        let largest = parts.iter().max_by(|a, b| a.mean_ms.total_cmp(&b.mean_ms));
        let growth = |part: &Part| part.slowest_mean_ms.map(|slow| slow - part.mean_ms);
        let grows_most = parts
            .iter()
            .filter_map(|part| Some((part.part, growth(part)?)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        Waterfall {
            largest: largest.map(|part| part.part),
            slowest: slowest
                .zip(grows_most)
                .map(|((frames, sums), (part, growth_ms))| Slowest {
                    frames,
                    mean_ms: ns_to_ms(mean(sums.iter().sum(), frames)),
                    grows_most: part,
                    growth_ms: super::stats::six_decimals(growth_ms),
                }),
            parts,
            // Known once findings are.
            waits_for_processors: false,
        }
    }
}

/// How many frames are beyond the rank of p99, and the sum of each of their parts.
fn slowest(timeline: &Timeline<PARTS>) -> Option<(u64, [i128; PARTS])> {
    let response =
        |parts: [Option<i64>; PARTS]| -> i128 { parts.iter().flatten().map(|&ns| i128::from(ns)).sum() };
    let mut responses: Vec<(i128, usize)> = timeline.rows().map(response).zip(0..).collect();
    let count = responses.len() as u64;
    if !Quantile::P99.supported_by(count) {
        return None;
    }
    let rank = Quantile::P99.rank(count) as usize;
    // Of equals the later are taken: so many frames, and no more.
    let (_, _, beyond) = responses.select_nth_unstable(rank - 1);
    let mut places: Vec<usize> = beyond.iter().map(|&(_, place)| place).collect();
    places.sort_unstable();
    let mut next = places.iter().peekable();
    let mut sums = [0; PARTS];
    for (place, parts) in timeline.rows().enumerate() {
        if next.next_if_eq(&&place).is_some() {
            for (sum, part) in sums.iter_mut().zip(parts) {
                *sum += i128::from(part.unwrap_or(0));
            }
        }
    }
    (!places.is_empty()).then_some((places.len() as u64, sums))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::analysis::dependence::Dependence;

    use crate::units::Stamp;

    fn frame(sequence: u64, lateness: i64, wait: i64, stages: [Option<i64>; 9], wakeup: i64) -> FrameRecord {
        let released = Stamp(sequence as i64 * 1_000_000);
        let started = released + Nanos(lateness + wait);
        let staged: i64 = stages.iter().flatten().sum();
        FrameRecord {
            sequence,
            started,
            lateness: Nanos(lateness),
            stages: stages.map(|stage| stage.map(Nanos)),
            ..FrameRecord::completed(released, started + Nanos(staged + wakeup))
        }
    }

    fn waterfall(frames: &[FrameRecord]) -> Waterfall {
        let mut gathered = WaterfallSeries::default();
        let mut stages: [Series; 9] = Default::default();
        for frame in frames {
            gathered.push(frame, true);
            for (series, took) in stages.iter_mut().zip(frame.stages) {
                took.into_iter().for_each(|took| series.push(took, true));
            }
        }
        let known = stages.map(|series| {
            let sum = series.sum();
            let [p99] = series
                .finish()
                .quantiles([Quantile::P99], 0.95, &Dependence::NONE);
            (sum, p99.ok().map(|estimate| estimate.value.as_millis_f64()))
        });
        gathered.finish(&known)
    }

    const COMPUTE: usize = Stage::Compute as usize;

    #[test]
    fn the_slowest_frames_are_explained_by_the_part_that_grew_and_not_by_the_largest() {
        let frames: Vec<FrameRecord> = (0..1000)
            .map(|n| {
                let mut stages = [None; 9];
                stages[COMPUTE] = Some(10_000_000);
                let wait = if n % 100 == 7 { 4_000_000 } else { 0 };
                frame(n, 50_000, wait, stages, 200_000)
            })
            .collect();
        let found = waterfall(&frames);
        let part = |name: &str| *found.parts.iter().find(|part| part.part == name).unwrap();
        assert_eq!(found.largest, Some("compute"));
        assert_eq!(
            (part("wait").mean_ms, part("wait").slowest_mean_ms),
            (0.04, Some(4.0))
        );
        assert_eq!((part("wakeup").mean_ms, part("wakeup").p99_ms), (0.2, Some(0.2)));
        assert_eq!(part("lateness").mean_ms, 0.05);
        let slowest = found.slowest.unwrap();
        assert_eq!((slowest.grows_most, slowest.growth_ms), ("wait", 3.96));
        assert_eq!((slowest.frames, slowest.mean_ms), (10, 14.25));
        assert!(
            !found.parts.iter().any(|part| part.part == "h2d"),
            "what never occurred is absent"
        );
    }

    #[test]
    fn too_few_frames_have_means_and_no_slowest_hundredth() {
        let frames: Vec<FrameRecord> = (0..100).map(|n| frame(n, 0, 0, [Some(5); 9], 1)).collect();
        let found = waterfall(&frames);
        assert_eq!(found.slowest, None);
        assert!(
            found
                .parts
                .iter()
                .all(|part| part.p99_ms.is_none() && part.slowest_mean_ms.is_none())
        );
        assert_eq!(waterfall(&[]), Waterfall::default());
    }

    fn any_frame() -> impl Strategy<Value = FrameRecord> {
        let stage = proptest::option::of(0i64..50_000_000);
        (
            0u64..5_000,
            -1_000i64..5_000_000,
            -1_000i64..50_000_000,
            proptest::array::uniform9(stage),
            -1_000_000i64..9_000_000,
        )
            .prop_map(|(sequence, lateness, wait, stages, wakeup)| {
                frame(sequence, lateness, wait, stages, wakeup)
            })
    }

    proptest! {
        #[test]
        fn the_parts_of_every_frame_add_up_to_its_response(frame in any_frame()) {
            let sum: i64 = parts_of(&frame).iter().flatten().sum();
            prop_assert_eq!(sum, frame.response().0);
        }

        #[test]
        fn the_means_add_up_to_the_mean_response_to_the_rounding_of_each(
            frames in proptest::collection::vec(any_frame(), 1..900),
        ) {
            let found = waterfall(&frames);
            let total: i128 = frames.iter().map(|frame| i128::from(frame.response().0)).sum();
            let mean_ns = total as f64 / frames.len() as f64;
            let sum_ns = found.parts.iter().map(|part| part.mean_ms * 1e6).sum::<f64>();
            // Each part is rounded to the nearest nanosecond.
            prop_assert!((sum_ns - mean_ns).abs() <= found.parts.len() as f64 / 2.0 + 1e-3, "{} {}", sum_ns, mean_ns);
            if let Some(slowest) = found.slowest {
                let sum = found.parts.iter().filter_map(|part| part.slowest_mean_ms).sum::<f64>();
                prop_assert!((sum - slowest.mean_ms).abs() < 1e-5);
                prop_assert!(slowest.mean_ms * 1e6 >= mean_ns - 1.0);
            }
        }
    }

    #[test]
    fn parts_that_come_to_nothing_have_no_share() {
        // A damaged file: stages that took longer than the frame that they are of.
        let mut stages = [None; 9];
        stages[COMPUTE] = Some(10);
        let found = waterfall(&[frame(0, 5, 0, stages, -15); 3]);
        assert_eq!(found.parts.len(), 3, "{found:?}");
        assert!(found.parts.iter().all(|part| part.share == 0.0), "{found:?}");
    }
}
