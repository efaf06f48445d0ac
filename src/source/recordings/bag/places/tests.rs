use jetlag_bags::message::Header;

use super::*;

fn transform<'a>(parent: &'a str, child: &'a str, at_ms: i64, x: f64) -> TransformStamped<'a> {
    TransformStamped {
        header: Header {
            stamp: Time(at_ms * 1_000_000),
            frame_id: parent,
        },
        child_frame_id: child,
        translation: [x, 0.0, 0.0],
        rotation: [0.0, 0.0, 0.0, 1.0],
    }
}

fn places(fixed: &[TransformStamped<'_>], moving: &[TransformStamped<'_>]) -> Places {
    let mut places = Places::default();
    fixed.iter().for_each(|one| places.add(one, true));
    moving.iter().for_each(|one| places.add(one, false));
    places.sort();
    places
}

fn x(placed: Option<Placed>) -> Option<(String, f64)> {
    placed.map(|placed| (placed.within.to_string(), placed.pose.translation[0]))
}

#[test]
fn a_sensor_is_on_the_vehicle_and_the_vehicle_in_the_map_between_two_poses() {
    let fixed = [
        transform("/mast", "camera", 0, 1.0),
        transform("base_link", "mast", 0, 2.0),
        transform("map", "odom", 0, 100.0),
    ];
    // Not in the order of their times.
    let moving = [
        transform("odom", "base_link", 1000, 20.0),
        transform("odom", "base_link", 0, 10.0),
    ];
    let places = places(&fixed, &moving);
    assert_eq!(x(places.on_vehicle("camera")), Some(("base_link".into(), 3.0)));
    let at = |ms: i64| x(places.at("base_link", Time(ms * 1_000_000)));
    assert_eq!(at(0), Some(("map".into(), 110.0)));
    assert_eq!(at(250), Some(("map".into(), 112.5)));
    assert_eq!(
        at(1100),
        Some(("map".into(), 120.0)),
        "a little later than the last"
    );
    assert_eq!(at(1300), None, "long after the last");
    assert_eq!(at(-300), None);
}

#[test]
fn nothing_is_said_of_frames_that_the_bag_does_not_have() {
    let places = places(&[transform("base_link", "lidar", 0, 1.0)], &[]);
    assert_eq!(x(places.on_vehicle("camera")), None);
    assert_eq!(x(places.on_vehicle("lidar")), Some(("base_link".into(), 1.0)));
    assert_eq!(
        x(places.at("base_link", Time(0))),
        None,
        "the robot's place is not recorded"
    );
}

#[test]
fn a_sensor_that_others_are_mounted_on_is_the_vehicle() {
    let places = places(&[transform("velodyne", "camera_2", 0, 1.0)], &[]);
    assert_eq!(x(places.on_vehicle("velodyne")), Some(("velodyne".into(), 0.0)));
    assert_eq!(x(places.on_vehicle("/camera_2")), Some(("velodyne".into(), 1.0)));
}

#[test]
fn poses_far_apart_say_nothing_of_what_lies_between() {
    let moving = [
        transform("map", "base_link", 0, 0.0),
        transform("map", "base_link", 60_000, 600.0),
    ];
    let places = places(&[], &moving);
    assert_eq!(x(places.at("base_link", Time(30_000_000_000))), None);
    assert_eq!(
        x(places.at("base_link", Time(60_000_000_000))),
        Some(("map".into(), 600.0))
    );
}

#[test]
fn circles_and_numbers_that_are_no_turn_are_left_out() {
    let circle = [transform("a", "b", 0, 1.0), transform("b", "a", 0, 1.0)];
    assert_eq!(x(places(&circle, &[]).on_vehicle("a")), None);
    assert_eq!(x(places(&[], &circle).at("a", Time(0))), None);
    let mut bad = transform("base_link", "lidar", 0, 1.0);
    bad.rotation = [0.0; 4];
    let mut worse = transform("base_link", "camera", 0, f64::NAN);
    worse.rotation = [0.0, 0.0, 0.0, 1.0];
    let places = places(&[bad, worse], &[]);
    assert_eq!(x(places.on_vehicle("lidar")), None);
    assert_eq!(x(places.on_vehicle("camera")), None);
}
