use super::*;
use crate::scenario::{Sensor as Kind, SetRule};
use crate::source::context::FrameContext;
use crate::source::synthetic::SyntheticSource;

/// Made scenes at 10 Hz for both sensors, with the times of the LiDAR moved.
struct Moved {
    inner: SyntheticSource,
    timeline: Option<Timeline>,
    /// What is known of its frames, in place of what is.
    contexts: Option<Contexts>,
}

impl Moved {
    fn of(kind: Kind, scenes: usize, repeats: bool, times: Option<Vec<i64>>) -> Box<dyn Source> {
        let times = times.map(|times| Timeline::of_captures(times.into_iter().map(Nanos::from_millis)));
        Box::new(Moved {
            inner: SyntheticSource::open(kind, 5, scenes, repeats),
            timeline: times,
            contexts: None,
        })
    }
}

impl Source for Moved {
    fn info(&self) -> SourceInfo {
        self.inner.info()
    }
    fn acquire(&mut self, frame: &mut Frame) -> Result<bool, SourceError> {
        self.inner.acquire(frame)
    }
    fn skip(&mut self, frames: u64) -> Result<(), SourceError> {
        self.inner.skip(frames)
    }
    fn rewind(&mut self) -> Result<(), SourceError> {
        self.inner.rewind()
    }
    fn timeline(&self) -> Option<&Timeline> {
        self.timeline.as_ref()
    }
    fn recorded(&self) -> Option<Recorded<'_>> {
        let known = self.inner.recorded()?;
        let contexts = self.contexts.as_ref().unwrap_or(known.contexts);
        Some(Recorded { contexts, ..known })
    }
}

fn open(
    camera: Option<Vec<i64>>,
    lidar: Option<Vec<i64>>,
    scenes: [usize; 2],
    repeats: bool,
) -> Result<Synchronised, SourceError> {
    Synchronised::open(
        vec![Moved::of(Kind::Camera, scenes[0], repeats, camera)],
        Moved::of(Kind::Lidar, scenes[1], repeats, lidar),
        Rules {
            tolerance: Nanos::from_millis(50),
            queue: 10,
            rule: SetRule::Nearest,
        },
    )
}

fn numbers(source: &mut Synchronised, count: usize) -> Vec<(u64, u64)> {
    let mut frame = Frame::default();
    let mut all = Vec::new();
    for _ in 0..count {
        if !source.acquire(&mut frame).unwrap() {
            break;
        }
        source.decode(&mut frame).unwrap();
        let Content::Set(set) = frame.content() else {
            panic!("no set")
        };
        assert_eq!(frame.index, set.lidar.index);
        let [image] = &set.cameras[..] else {
            panic!("one camera")
        };
        assert!(matches!(image.content(), Content::Image(_)));
        assert!(matches!(set.lidar.content(), Content::Points(_)));
        let (camera, lidar) = (
            image.context.as_ref().unwrap(),
            set.lidar.context.as_ref().unwrap(),
        );
        assert!(Sight::of(lidar, camera).is_some());
        all.push((image.index, set.lidar.index));
    }
    all
}

#[test]
fn sets_have_the_frames_that_belong_together_in_every_lap() {
    let camera = Some(vec![0, 100, 200]);
    let lidar = Some(vec![10, 60, 110, 160, 210]);
    let mut source = open(camera, lidar, [3, 5], true).unwrap();
    let lap = [(0, 0), (1, 1), (2, 3)];
    let lap = match numbers(&mut source, 3) {
        found if found == lap => lap,
        found => [found[0], found[1], found[2]],
    };
    // Whichever sweeps they are, they come again.
    assert_eq!(numbers(&mut source, 6), [lap, lap].concat());
    source.skip(1).unwrap();
    assert_eq!(numbers(&mut source, 3), [lap[1], lap[2], lap[0]]);
    source.skip(4).unwrap();
    assert_eq!(numbers(&mut source, 1), [lap[2]]);
    source.rewind().unwrap();
    assert_eq!(numbers(&mut source, 3), lap);
}

#[test]
fn a_source_that_ends_ends_after_its_last_set() {
    let mut source = open(Some(vec![0, 100]), Some(vec![20, 120]), [2, 2], false).unwrap();
    assert_eq!(source.info().frames, Some(2));
    assert_eq!(numbers(&mut source, 5), [(0, 0), (1, 1)]);
    let timeline = source.timeline().unwrap();
    let time = timeline.at(0).unwrap();
    assert_eq!((time.came, time.captured), (Nanos::ZERO, Nanos::from_millis(20)));
    assert_eq!(timeline.complete(0), Some(Nanos::from_millis(20)));
}

#[test]
fn frames_without_times_belong_together_by_their_number() {
    let mut source = open(None, None, [2, 2], false).unwrap();
    assert_eq!(numbers(&mut source, 3), [(0, 0), (1, 1)]);
    assert!(source.timeline().is_none());
    let error = open(None, None, [2, 3], false).err().unwrap().to_string();
    assert!(error.contains("not as many frames"), "{error}");
}

#[test]
fn sensors_that_make_no_sets_are_refused_in_a_sentence() {
    let said = |camera: Vec<i64>, lidar: Vec<i64>| {
        let lengths = [camera.len(), lidar.len()];
        open(Some(camera), Some(lidar), lengths, true)
            .err()
            .unwrap()
            .to_string()
    };
    let error = said(vec![0, 100], vec![5_000, 5_100]);
    assert!(error.contains("never at the same time"), "{error}");
    let error = said(vec![0, 200, 400], vec![100, 300, 500]);
    assert!(
        error.contains("at least 100ms apart") || error.contains("100"),
        "{error}"
    );
    assert!(error.contains("raise it"), "{error}");
    let turned = Synchronised::open(
        vec![Moved::of(Kind::Lidar, 1, true, None)],
        Moved::of(Kind::Camera, 1, true, None),
        Rules {
            tolerance: Nanos(1),
            queue: 1,
            rule: SetRule::Nearest,
        },
    );
    let error = turned.err().unwrap().to_string();
    assert!(
        error.contains("name the cameras first and the LiDAR last"),
        "{error}"
    );
}

/// Sets of two scenes, whose sensors are known as far as `camera` and `lidar` leave it.
fn known_as_far_as(
    camera: fn(&FrameContext) -> Contexts,
    lidar: fn(&FrameContext) -> Contexts,
) -> Result<Synchronised, SourceError> {
    let of = |kind, known: fn(&FrameContext) -> Contexts| {
        let inner = SyntheticSource::open(kind, 5, 2, false);
        let whole = inner.recorded().and_then(|all| all.contexts.of(0));
        Box::new(Moved {
            contexts: whole.map(|whole| known(&whole)),
            timeline: None,
            inner,
        })
    };
    let rules = Rules {
        tolerance: Nanos(1),
        queue: 1,
        rule: SetRule::Nearest,
    };
    Synchronised::open(vec![of(Kind::Camera, camera)], of(Kind::Lidar, lidar), rules)
}

#[test]
fn sensors_of_which_no_set_tells_where_they_are_are_refused() {
    let whole = |of: &FrameContext| Contexts::each([of.clone()]);
    let nothing = |_: &FrameContext| Contexts::Unknown;
    let nowhere = |of: &FrameContext| {
        Contexts::each([FrameContext {
            place: None,
            ..of.clone()
        }])
    };
    let at_first = |of: &FrameContext| {
        let later = FrameContext {
            place: None,
            ..of.clone()
        };
        Contexts::each([of.clone(), later])
    };
    assert!(known_as_far_as(whole, whole).is_ok());
    assert!(known_as_far_as(whole, at_first).is_ok());
    for (camera, lidar, words) in [
        (
            nothing as fn(&FrameContext) -> Contexts,
            whole as fn(&FrameContext) -> Contexts,
            "projects",
        ),
        (whole, nothing, "against each other"),
        (nowhere, whole, "against each other"),
    ] {
        let error = known_as_far_as(camera, lidar)
            .err()
            .map(|error| error.to_string());
        let error = error.unwrap_or_default();
        assert!(
            error.contains("no calibration") && error.contains(words),
            "{error}"
        );
    }
}
