//! From release to result: the duration of each part of a tenant's response time; the parts add up.
//!
//! The parts are lateness, the wait for a free slot, the stages, a program's own ranges, and what is left: *unattributed*. Nobody
//! measured what that is, so it has no other name. Means add up to the mean response time; quantiles do not, so the slowest
//! 1 % of frames is also divided by means.

use std::borrow::Cow;

use jetlag_stats::quantile::Quantile;

use crate::analysis::gathering::series::Series;
use crate::analysis::gathering::timeline::Timeline;
use crate::analysis::gathering::within::{PLACES, Within};
use crate::analysis::stats::ns_to_ms;
use crate::analysis::summary::waterfall::{Part, Slowest, Waterfall};
use crate::record::{FrameRecord, RangeRecord, Stage};
use crate::units::Nanos;

/// Number of parts but ranges: lateness, wait, nine stages, unattributed.
pub(in crate::analysis) const PARTS: usize = Stage::ALL.len() + 3;

/// Their names, in the order of a frame's response.
pub(in crate::analysis) const NAMES: [&str; PARTS] = [
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
    UNATTRIBUTED_NAME,
    "postprocess",
];

/// What the service time is called that is in no stage and no range.
pub(crate) const UNATTRIBUTED_NAME: &str = "unattributed";

/// Indices of the parts that are not stages.
pub(in crate::analysis) const LATENESS: usize = 0;
pub(in crate::analysis) const WAIT: usize = 1;
const UNATTRIBUTED: usize = PARTS - 2;

/// A frame's parts, of its record alone; they add up to its response time, whatever the record says.
#[inline]
pub(in crate::analysis) fn parts_of(frame: &FrameRecord) -> [Option<i64>; PARTS] {
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
pub(in crate::analysis) struct WaterfallSeries {
    lateness: Series,
    wait: Series,
    unattributed: Series,
    timeline: Timeline<PARTS>,
    ranges: Option<RangeSeries>,
}

/// The same of a program's ranges directly within its batches.
#[derive(Debug, Default)]
struct RangeSeries {
    within: Within,
    took: [Series; PLACES],
    /// Has a row for each row of the other timeline.
    timeline: Timeline<PLACES>,
}

/// How many durations are kept per frame, but those of ranges.
pub(in crate::analysis) const KEPT: u64 = 3;

impl WaterfallSeries {
    /// Of one of so many tenants.
    pub(in crate::analysis) fn of_one_of(tenants: usize) -> Self {
        WaterfallSeries {
            timeline: Timeline::of_one_of(tenants),
            ..WaterfallSeries::default()
        }
    }

    /// The same of a program of somebody else's, whose ranges are parts of its batches.
    pub(in crate::analysis) fn of_ranges(tenants: usize) -> Self {
        WaterfallSeries {
            ranges: Some(RangeSeries {
                timeline: Timeline::of_one_of(tenants),
                ..RangeSeries::default()
            }),
            ..WaterfallSeries::of_one_of(tenants)
        }
    }

    /// Takes in a range, which comes before the frame that it lies in.
    pub(in crate::analysis) fn range(&mut self, range: &RangeRecord) {
        if let Some(ranges) = &mut self.ranges {
            ranges.within.range(range);
        }
    }

    /// Adds a completed frame; returns how many durations were kept of it.
    pub(in crate::analysis) fn push(&mut self, frame: &FrameRecord, exact: bool) -> u64 {
        let mut parts = parts_of(frame);
        let mut kept = KEPT;
        if let Some(ranges) = &mut self.ranges {
            let took = ranges.within.take(frame.sequence);
            for (series, took) in ranges.took.iter_mut().zip(took) {
                let Some(took) = took else { continue };
                series.push(Nanos(took), exact);
                parts[UNATTRIBUTED] = parts[UNATTRIBUTED].map(|left| left.wrapping_sub(took));
                kept += 1;
            }
            ranges.timeline.push(frame.sequence, frame.released, || took);
        }
        for (series, part) in [
            (&mut self.lateness, LATENESS),
            (&mut self.wait, WAIT),
            (&mut self.unattributed, UNATTRIBUTED),
        ] {
            series.push(Nanos(parts[part].unwrap_or(0)), exact);
        }
        self.timeline.push(frame.sequence, frame.released, || parts);
        kept
    }

    /// The waterfall, from each stage's sum and p99.
    pub(in crate::analysis) fn finish(mut self, stages: &[(i128, Option<f64>); 9]) -> Waterfall {
        let count = self.wait.count();
        if count == 0 {
            return Waterfall::default();
        }
        self.timeline.sort();
        let mut ranges = self.ranges.unwrap_or_default();
        ranges.timeline.sort();
        let slowest = slowest(&self.timeline, &ranges.timeline);
        let part = |(series, name, place): (Series, Cow<'static, str>, usize)| {
            let values = self.timeline.values(place);
            whole(series, name, place, &values)
        };
        let mut known: Vec<Known> = [
            (self.lateness, LATENESS),
            (self.wait, WAIT),
            (self.unattributed, UNATTRIBUTED),
        ]
        .map(|(series, place)| part((series, NAMES[place].into(), place)))
        .into();
        let of_stages = (0..PARTS).filter(|place| ![LATENESS, WAIT, UNATTRIBUTED].contains(place));
        known.extend(of_stages.zip(stages).map(|(place, &(sum, p99))| Known {
            name: NAMES[place].into(),
            place,
            sum,
            p99,
        }));
        known.extend(
            ranges
                .took
                .into_iter()
                .enumerate()
                .filter_map(|(number, series)| {
                    let name = ranges.within.name(number, &NAMES);
                    (series.count() > 0).then(|| {
                        let values = ranges.timeline.values(number);
                        whole(series, name.into(), PARTS + number, &values)
                    })
                }),
        );
        // In the order of a response: ranges stand where the time in no stage does, before it.
        known.sort_by_key(|known| match known.place {
            place if place >= PARTS => (UNATTRIBUTED, place),
            UNATTRIBUTED => (UNATTRIBUTED, usize::MAX),
            place => (place, 0),
        });
        let total: i128 = known.iter().map(|known| known.sum).sum();
        let mean = |sum: i128, count: u64| sum as f64 / count as f64;
        let parts: Vec<Part> = known
            .into_iter()
            .filter(|known| known.sum != 0 || known.p99.is_some_and(|ms| ms != 0.0))
            .map(|known| Part {
                mean_ms: ns_to_ms(mean(known.sum, count)),
                share: match total {
                    0 => 0.0,
                    _ => crate::analysis::stats::six_decimals(known.sum as f64 / total as f64),
                },
                p99_ms: known.p99,
                slowest_mean_ms: slowest
                    .as_ref()
                    .map(|(frames, sums)| ns_to_ms(mean(sums[known.place], *frames))),
                part: known.name,
            })
            .collect();
        let largest = parts.iter().max_by(|a, b| a.mean_ms.total_cmp(&b.mean_ms));
        let growth = |part: &Part| part.slowest_mean_ms.map(|slow| slow - part.mean_ms);
        let grows_most = parts
            .iter()
            .filter_map(|part| Some((part.part.clone(), growth(part)?)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        Waterfall {
            largest: largest.map(|part| part.part.clone()),
            slowest: slowest
                .zip(grows_most)
                .map(|((frames, sums), (part, growth_ms))| Slowest {
                    frames,
                    mean_ms: ns_to_ms(mean(sums.iter().sum(), frames)),
                    grows_most: part,
                    growth_ms: crate::analysis::stats::six_decimals(growth_ms),
                }),
            parts,
            // Known once findings are.
            waits_for_processors: false,
        }
    }
}

/// A part of all frames.
struct Known {
    name: Cow<'static, str>,
    /// Among [`NAMES`], and beyond them among a program's ranges.
    place: usize,
    sum: i128,
    p99: Option<f64>,
}

/// A part from its durations and those that are kept in order.
fn whole(series: Series, name: Cow<'static, str>, place: usize, in_order: &[i64]) -> Known {
    let sum = series.sum();
    let times = series.finish();
    let dependence = times.dependence(in_order);
    let [p99] = times.quantiles([Quantile::P99], 0.95, &dependence);
    Known {
        name,
        place,
        sum,
        p99: p99.ok().map(|estimate| estimate.value.as_millis_f64()),
    }
}

/// How many frames are beyond the rank of p99, and the sum of each of their parts; ranges come after [`NAMES`].
fn slowest(timeline: &Timeline<PARTS>, ranges: &Timeline<PLACES>) -> Option<(u64, [i128; PARTS + PLACES])> {
    let rows = || {
        let of_ranges = ranges.rows().map(Some).chain(std::iter::repeat(None));
        timeline.rows().zip(of_ranges)
    };
    let all = |(parts, ranges): ([Option<i64>; PARTS], Option<[Option<i64>; PLACES]>)| {
        let parts = parts.into_iter().chain(ranges.unwrap_or([None; PLACES]));
        parts.map(|part| i128::from(part.unwrap_or(0)))
    };
    let mut responses: Vec<(i128, usize)> = rows().map(|row| all(row).sum()).zip(0..).collect();
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
    let mut sums = [0; PARTS + PLACES];
    for (place, row) in rows().enumerate() {
        if next.next_if_eq(&&place).is_some() {
            for (sum, part) in sums.iter_mut().zip(all(row)) {
                *sum += part;
            }
        }
    }
    (!places.is_empty()).then_some((places.len() as u64, sums))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::analysis::gathering::dependence::Dependence;

    use crate::units::Stamp;

    fn frame(
        sequence: u64,
        lateness: i64,
        wait: i64,
        stages: [Option<i64>; 9],
        unattributed: i64,
    ) -> FrameRecord {
        let released = Stamp(sequence as i64 * 1_000_000);
        let started = released + Nanos(lateness + wait);
        let staged: i64 = stages.iter().flatten().sum();
        FrameRecord {
            sequence,
            started,
            lateness: Nanos(lateness),
            stages: stages.map(|stage| stage.map(Nanos)),
            ..FrameRecord::completed(released, started + Nanos(staged + unattributed))
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
        let part = |name: &str| found.parts.iter().find(|part| part.part == name).unwrap().clone();
        assert_eq!(found.largest.as_deref(), Some("compute"));
        assert_eq!(
            (part("wait").mean_ms, part("wait").slowest_mean_ms),
            (0.04, Some(4.0))
        );
        assert_eq!(
            (part("unattributed").mean_ms, part("unattributed").p99_ms),
            (0.2, Some(0.2))
        );
        assert_eq!(part("lateness").mean_ms, 0.05);
        let slowest = found.slowest.unwrap();
        assert_eq!((&*slowest.grows_most, slowest.growth_ms), ("wait", 3.96));
        assert_eq!((slowest.frames, slowest.mean_ms), (10, 14.25));
        assert!(
            !found.parts.iter().any(|part| part.part == "h2d"),
            "what never occurred is absent"
        );
    }

    /// A program whose batches of 3.45 ms are 3 ms of `body` and 0.3 ms of `extra`, and 2 ms longer each hundredth time, in `extra`.
    #[test]
    fn a_program_s_own_ranges_are_its_parts_and_what_is_in_none_has_no_other_name() {
        let mut gathered = WaterfallSeries::of_ranges(1);
        for batch in 0..1000u64 {
            let begin = batch as i64 * 10_000_000;
            let extra = if batch % 100 == 7 { 2_300_000 } else { 300_000 };
            let ends = [begin + 3_000_000, begin + 3_000_000 + extra];
            let range = |path: &str, from: i64, to: i64, items| RangeRecord {
                tenant: 0,
                track: 0,
                from: Stamp(from),
                to: Stamp(to),
                path: path.to_owned(),
                batch: Some(batch),
                items,
            };
            gathered.range(&range("batch/body", begin, ends[0], None));
            gathered.range(&range("batch/extra", ends[0], ends[1], None));
            gathered.range(&range("batch", begin, ends[1] + 150_000, Some(1)));
            let frame = FrameRecord {
                sequence: batch,
                ..FrameRecord::completed(Stamp(begin), Stamp(ends[1] + 150_000))
            };
            assert_eq!(gathered.push(&frame, true), KEPT + 2);
        }
        let found = gathered.finish(&[(0, None); 9]);
        let means: Vec<(&str, f64)> = found
            .parts
            .iter()
            .map(|part| (&*part.part, part.mean_ms))
            .collect();
        assert_eq!(means, [("body", 3.0), ("extra", 0.32), ("unattributed", 0.15)]);
        assert_eq!(found.largest.as_deref(), Some("body"));
        let slowest = found.slowest.unwrap();
        assert_eq!((&*slowest.grows_most, slowest.mean_ms), ("extra", 5.45));
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
            .prop_map(|(sequence, lateness, wait, stages, unattributed)| {
                frame(sequence, lateness, wait, stages, unattributed)
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
