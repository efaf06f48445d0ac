use super::*;
use crate::scenario::Sensor;
use crate::source::{Content, Frame, Source as _};

#[test]
fn a_source_yields_the_scenes_in_order_then_ends_or_begins_again() {
    for sensor in [Sensor::Camera, Sensor::Lidar] {
        let mut once = SyntheticSource::open(sensor, 7, 3, false);
        assert_eq!(
            once.timeline()
                .and_then(|timeline| timeline.at(2))
                .map(|time| time.captured),
            Some(crate::units::Nanos::from_millis(200))
        );
        let mut frame = Frame::default();
        for index in 0..3 {
            assert!(once.acquire(&mut frame).unwrap());
            assert_eq!(frame.index, index);
            let scene = World::scene(7, index);
            match &frame.content {
                Content::Image(image) => assert_eq!(image, &scene.render_camera()),
                Content::Points(points) => assert_eq!(points, &scene.sweep()),
                Content::Empty | Content::Set(_) => panic!("no content"),
            }
        }
        assert!(!once.acquire(&mut frame).unwrap());
        let mut always = SyntheticSource::open(sensor, 7, 2, true);
        let order: Vec<u64> = (0..5)
            .map(|_| {
                assert!(always.acquire(&mut frame).unwrap());
                frame.index
            })
            .collect();
        assert_eq!(order, [0, 1, 0, 1, 0]);
    }
}

#[test]
fn a_warm_frame_keeps_its_buffer() {
    let mut source = SyntheticSource::open(Sensor::Lidar, 2, 4, true);
    let mut frame = Frame::default();
    let buffer = |frame: &Frame| match &frame.content {
        Content::Points(cloud) => cloud.points.as_ptr(),
        other => panic!("{other:?}"),
    };
    source.acquire(&mut frame).unwrap();
    let first = buffer(&frame);
    for _ in 0..8 {
        source.acquire(&mut frame).unwrap();
        assert_eq!(buffer(&frame), first);
    }
}

#[test]
fn passing_over_frames_comes_to_the_same_as_fetching_them() {
    let frame_after = |skip: u64, repeats: bool| {
        let mut source = SyntheticSource::open(Sensor::Camera, 7, 3, repeats);
        let mut frame = Frame::default();
        source.acquire(&mut frame).unwrap();
        source.skip(skip).unwrap();
        source.acquire(&mut frame).unwrap().then_some(frame.index)
    };
    for (skip, index) in [(0, 1), (1, 2), (2, 0), (3, 1), (3_000_000_001, 2)] {
        assert_eq!(
            frame_after(skip, true),
            Some(index),
            "repeating, {skip} passed over"
        );
    }
    for (skip, index) in [(0, Some(1)), (1, Some(2)), (2, None), (u64::MAX, None)] {
        assert_eq!(frame_after(skip, false), index, "ending, {skip} passed over");
    }
}
