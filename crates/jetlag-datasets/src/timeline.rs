//! One time line for every sensor of a selection, so that topics of 10, 12 and 20 Hz stay together however often it is repeated.
//!
//! A sensor's own first and last capture cannot say how long a repetition is: 20 s of 12 Hz and of 20 Hz end at different
//! times, and after a hundred rounds the camera would be seconds ahead of the LiDAR. So the line is drawn over all captures
//! of all channels of the selected scenes, and each channel only finds its place on it.

use jetlag_record::units::Nanos;

/// What stands between two scenes that are put one behind the other: the gap of two keyframes, which nuScenes has at 2 Hz.
pub const SCENE_GAP: Nanos = Nanos::from_millis(500);

/// When the captures of a selection come, whichever channel is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeLine {
    /// The earliest capture of the first scene, over all channels: where every offset counts from. In the dataset's own
    /// time (nuScenes and KITTI raw: since 1970).
    pub origin: Nanos,
    /// The length of one repetition: up to the latest capture of the last scene, and the mean gap of the fastest channel
    /// (of [`SCENE_GAP`] where no channel has two captures).
    pub lap: Nanos,
    /// The scenes, in their order, one behind the other.
    pub scenes: Vec<SceneTime>,
}

/// A scene's place on the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SceneTime {
    /// Its number in the dataset.
    pub scene: usize,
    /// Its earliest capture over all channels, in the dataset's time.
    pub first: Nanos,
    /// Its latest capture over all channels, in the dataset's time.
    pub last: Nanos,
    /// Where `first` lies on the line.
    pub offset: Nanos,
}

/// The captures of one channel in one scene.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) channel: usize,
    pub(crate) first: Nanos,
    pub(crate) last: Nanos,
    pub(crate) count: u64,
}

impl TimeLine {
    /// Of scenes with the spans of all their channels; scenes without captures are left out. `None` where nothing is left.
    pub(crate) fn new(scenes: impl IntoIterator<Item = (usize, Vec<Span>)>) -> Option<Self> {
        let mut placed: Vec<SceneTime> = Vec::new();
        let mut gaps: std::collections::BTreeMap<usize, (Nanos, u64)> = std::collections::BTreeMap::new();
        let mut end = Nanos::ZERO;
        for (scene, spans) in scenes {
            let (Some(first), Some(last)) = (
                spans.iter().map(|span| span.first).min(),
                spans.iter().map(|span| span.last).max(),
            ) else {
                continue;
            };
            let offset = match placed.is_empty() {
                true => Nanos::ZERO,
                false => end + SCENE_GAP,
            };
            placed.push(SceneTime {
                scene,
                first,
                last,
                offset,
            });
            end = offset + (last - first);
            for span in spans {
                let (length, count) = gaps.entry(span.channel).or_default();
                *length += span.last - span.first;
                *count += span.count.saturating_sub(1);
            }
        }
        let fastest = gaps
            .values()
            .filter(|(length, count)| *count > 0 && length.0 > 0)
            .map(|(length, count)| Nanos((length.0 as u64 / count).max(1) as i64)) // Above zero and below its length.
            .min()
            .unwrap_or(SCENE_GAP);
        Some(TimeLine {
            origin: placed.first()?.first,
            lap: end + fastest,
            scenes: placed,
        })
    }

    /// Where a capture of a scene lies on the line; `None` for a scene that is not on it.
    pub fn offset(&self, scene: usize, captured: Nanos) -> Option<Nanos> {
        let place = self.scenes.iter().find(|place| place.scene == scene)?;
        Some(place.offset + (captured - place.first))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn span(channel: usize, first_ms: i64, last_ms: i64, count: u64) -> Span {
        Span {
            channel,
            first: Nanos::from_millis(first_ms),
            last: Nanos::from_millis(last_ms),
            count,
        }
    }

    #[test]
    fn a_lap_reaches_the_latest_capture_and_one_gap_of_the_fastest_channel() {
        let line = TimeLine::new([(
            3,
            vec![span(0, 10, 1910, 20), span(1, 0, 1950, 40), span(2, 30, 1913, 24)],
        )])
        .unwrap();
        assert_eq!(line.origin, Nanos::ZERO);
        assert_eq!(line.lap, Nanos::from_millis(2000));
        assert_eq!(
            line.offset(3, Nanos::from_millis(10)),
            Some(Nanos::from_millis(10))
        );
        assert_eq!(line.offset(0, Nanos::ZERO), None);
    }

    #[test]
    fn time_between_scenes_is_cut_to_half_a_second() {
        let line = TimeLine::new([
            (1, vec![span(0, 5000, 6000, 11)]),
            (0, vec![]),
            (4, vec![span(0, 90_000, 91_000, 11)]),
        ])
        .unwrap();
        assert_eq!(line.origin, Nanos::from_millis(5000));
        assert_eq!(
            line.offset(4, Nanos::from_millis(90_000)),
            Some(Nanos::from_millis(1500))
        );
        assert_eq!(line.lap, Nanos::from_millis(2600));
    }

    #[test]
    fn one_capture_has_a_lap_too() {
        let line = TimeLine::new([(0, vec![span(0, 7, 7, 1)])]).unwrap();
        assert_eq!(line.lap, SCENE_GAP);
        assert_eq!(TimeLine::new([(0, vec![])]), None);
    }

    proptest! {
        #[test]
        fn offsets_rise_from_zero_and_stay_within_the_lap(
            scenes in proptest::collection::vec(proptest::collection::vec((any::<i64>(), any::<i64>(), 1..50_u64), 0..4), 0..5)
        ) {
            let spans = scenes.iter().enumerate().map(|(scene, spans)| {
                let spans = spans.iter().enumerate().map(|(channel, (a, b, count))| Span {
                    channel, first: Nanos(*a.min(b)), last: Nanos(*a.max(b)), count: *count,
                });
                (scene, spans.collect::<Vec<_>>())
            });
            if let Some(line) = TimeLine::new(spans) {
                prop_assert!(line.lap.0 > 0);
                for place in &line.scenes {
                    prop_assert!(place.offset.0 >= 0 && place.offset <= line.lap);
                    prop_assert!(line.offset(place.scene, place.last).unwrap() <= line.lap);
                }
            }
        }
    }
}
