//! A tenant's frames by camera, where its source has images of several: each camera's own counts, response times and ages.

use std::collections::BTreeMap;

use crate::analysis::gathering::series::Series;
use crate::analysis::stats::stats;
use crate::analysis::summary::{CameraFrames, Cameras, FrameCounts};
use crate::record::{FrameRecord, Outcome};
use crate::scenario::SourceSpec;

/// What is collected, by camera. There are 255 at most.
#[derive(Debug, Default)]
pub(in crate::analysis) struct ByCamera(BTreeMap<u8, Own>);

#[derive(Debug, Default)]
struct Own {
    frames: FrameCounts,
    response: Series,
    age: Series,
}

/// Of one kept frame, in order of time: its camera, its response time and its age.
pub(in crate::analysis) type Timed = (Option<i64>, Option<i64>, Option<i64>);

impl ByCamera {
    /// Adds a measured frame; returns how many durations were kept of it.
    pub(in crate::analysis) fn push(&mut self, frame: &FrameRecord, exact: bool) -> u64 {
        let Some(camera) = frame.camera else { return 0 };
        let own = self.0.entry(camera).or_default();
        own.frames.note(frame);
        if frame.outcome != Outcome::Completed {
            return 0;
        }
        own.response.push(frame.response(), exact);
        let age = frame.age();
        if let Some(age) = age {
            own.age.push(age, exact);
        }
        1 + u64::from(age.is_some())
    }

    /// The figures of each; `in_order` are the frames that were kept.
    pub(in crate::analysis) fn finish(
        self,
        source: &SourceSpec,
        in_order: impl Iterator<Item = Timed>,
    ) -> Cameras {
        let listed: &[SourceSpec] = match source {
            SourceSpec::Cameras(all) => all,
            _ => &[],
        };
        if self.0.is_empty() {
            return match listed {
                [] | [_] => Cameras::One,
                _ => Cameras::Unknown,
            };
        }
        let mut ordered: BTreeMap<u8, [Vec<i64>; 2]> = BTreeMap::new();
        for (camera, response, age) in in_order {
            let Some(camera) = camera.and_then(|camera| u8::try_from(camera).ok()) else {
                continue;
            };
            let [responses, ages] = ordered.entry(camera).or_default();
            responses.extend(response);
            ages.extend(age);
        }
        let of = |(camera, own): (u8, Own)| {
            let [responses, ages] = ordered.remove(&camera).unwrap_or_default();
            let figures = |series: Series, in_order: &[i64]| {
                let times = series.finish();
                stats(&times, &times.dependence(in_order))
            };
            CameraFrames {
                camera,
                name: listed.get(usize::from(camera)).and_then(SourceSpec::sensor_name),
                offered: own.frames.offered,
                completed: own.frames.completed,
                dropped: own.frames.dropped,
                missed: own.frames.missed,
                response_ms: figures(own.response, &responses),
                age_ms: (own.age.count() > 0).then(|| figures(own.age, &ages)),
            }
        };
        Cameras::Known(self.0.into_iter().map(of).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Stamp;

    fn frame(camera: Option<u8>, at: i64, took: i64) -> FrameRecord {
        FrameRecord {
            camera,
            captured: Some(Stamp(at - 5)),
            ..FrameRecord::completed(Stamp(at), Stamp(at + took))
        }
    }

    #[test]
    fn each_camera_has_the_figures_of_its_own_frames() {
        let mut all = ByCamera::default();
        let mut kept = Vec::new();
        for n in 0..10 {
            let camera = (n % 2) as u8;
            let took = if camera == 0 { 2_000_000 } else { 6_000_000 };
            let frame = frame(Some(camera), n * 100_000_000, took);
            assert_eq!(all.push(&frame, true), 2);
            kept.push((Some(camera.into()), Some(took), Some(took + 5)));
        }
        let mut dropped = frame(Some(1), 2_000_000_000, 0);
        dropped.outcome = Outcome::Dropped;
        assert_eq!(all.push(&dropped, true), 0);
        assert_eq!(all.push(&frame(None, 0, 1), true), 0, "of one sensor");
        let Cameras::Known(found) = all.finish(&SourceSpec::Empty, kept.into_iter()) else {
            panic!("two cameras")
        };
        let told = |at: usize| {
            let of: &CameraFrames = &found[at];
            (
                of.camera,
                of.offered,
                of.completed,
                of.dropped,
                of.missed,
                of.response_ms.max,
            )
        };
        assert_eq!(told(0), (0, 5, 5, 0, 0, Some(2.0)));
        assert_eq!(told(1), (1, 6, 5, 1, 1, Some(6.0)));
        assert_eq!(found[1].name, None);
        assert_eq!(found[0].age_ms.as_ref().map(|age| age.count), Some(5));
    }

    #[test]
    fn where_no_frame_says_its_camera_it_is_unknown_of_a_source_of_several_alone() {
        let finish = |source: &SourceSpec| {
            let mut all = ByCamera::default();
            all.push(&frame(None, 0, 1), true);
            all.finish(source, std::iter::empty())
        };
        let several = SourceSpec::Cameras(vec![SourceSpec::Empty, SourceSpec::Empty]);
        assert_eq!(finish(&several), Cameras::Unknown);
        assert_eq!(finish(&SourceSpec::Empty), Cameras::One);
        assert_eq!(serde_json::to_string(&Cameras::Unknown).unwrap(), "null");
    }
}
