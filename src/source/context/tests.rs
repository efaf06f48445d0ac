use proptest::prelude::*;

use super::*;
use crate::source::synthetic::{World, calibration};

fn poses() -> impl Strategy<Value = Pose> {
    let turn = proptest::array::uniform4(-1.0..1.0_f64).prop_filter_map("no turn", Rotation::from_quaternion);
    (proptest::array::uniform3(-500.0..500.0_f64), turn).prop_map(|(translation, rotation)| Pose {
        translation,
        rotation,
    })
}

fn sensor(place: Pose, vehicle: Option<Pose>) -> FrameContext {
    FrameContext {
        sensor: "lidar".into(),
        place: Some(Placed::new("car", place)),
        projection: None,
        vehicle: vehicle.map(|pose| Placed::new("map", pose)),
    }
}

fn near(a: [f64; 3], b: [f64; 3]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6)
}

proptest! {
    #[test]
    fn a_point_of_the_map_is_seen_by_both_sensors_where_each_has_it(
        [here, there, now, then] in [poses(), poses(), poses(), poses()],
        point in proptest::array::uniform3(-99.0..99.0_f64),
    ) {
        let (one, other) = (sensor(here, Some(now)), sensor(there, Some(then)));
        let of = |place: &Pose, vehicle: &Pose| vehicle.after(place).inverse().apply(point);
        let onto = one.onto(&other).unwrap();
        prop_assert!(near(onto.apply(of(&here, &now)), of(&there, &then)));
        prop_assert!(near(other.onto(&one).unwrap().apply(of(&there, &then)), of(&here, &now)));
        // Without the vehicle's way, as if it had stood still.
        let still = sensor(here, None).onto(&other).unwrap();
        prop_assert!(near(still.apply(here.inverse().apply(point)), there.inverse().apply(point)));
    }
}

#[test]
fn sensors_without_a_frame_in_common_are_not_put_together() {
    let one = sensor(Pose::NONE, None);
    let mut other = sensor(Pose::NONE, None);
    other.place = Some(Placed::new("trailer", Pose::NONE));
    assert_eq!(one.onto(&other), None);
    other.place = None;
    assert_eq!(one.onto(&other), None);
    // Two vehicles in one map.
    let mut first = sensor(Pose::NONE, Some(Pose::shift([5.0, 0.0, 0.0])));
    first.place = Some(Placed::new("lorry", Pose::NONE));
    let second = sensor(Pose::NONE, Some(Pose::NONE));
    assert_eq!(
        first.onto(&second).map(|pose| pose.translation),
        Some([5.0, 0.0, 0.0])
    );
}

#[test]
fn a_sensor_on_a_part_that_moves_is_put_together_with_one_that_does_not() {
    let camera = sensor(Pose::shift([1.0, 0.0, 0.0]), Some(Pose::shift([0.0, 2.0, 0.0])));
    let mut lidar = sensor(Pose::shift([0.0, 0.0, 3.0]), None);
    // What the camera's vehicle moves in, the LiDAR is fixed to.
    lidar.place = Some(Placed::new("map", Pose::shift([0.0, 0.0, 3.0])));
    let onto = |one: &FrameContext, other| one.onto(other).map(|pose| pose.translation);
    assert_eq!(onto(&lidar, &camera), Some([-1.0, -2.0, 3.0]));
    assert_eq!(onto(&camera, &lidar), Some([1.0, 2.0, -3.0]));
}

#[test]
fn boxes_project_as_with_kittis_calibration() {
    let theirs = calibration();
    let [x, y, z] = theirs.lidar_to_camera;
    let onto = Pose::from_matrix(&[x, y, z, [0.0, 0.0, 0.0, 1.0]]).unwrap();
    let ours = Projection {
        matrix: theirs.projection.map(|row| [row[0], row[1], row[2]]),
        size: None,
        is_distorted: false,
    };
    let mut compared = 0;
    for object in (0..8).flat_map(|number| World::scene(5, number).observe().objects) {
        let (ours, theirs) = (
            ours.around(&object.place, &onto),
            theirs.project_box(&object.place),
        );
        assert_eq!(ours.is_some(), theirs.is_some());
        if let (Some(ours), Some(theirs)) = (ours, theirs) {
            let apart = [
                ours.x1 - theirs.x1,
                ours.y1 - theirs.y1,
                ours.x2 - theirs.x2,
                ours.y2 - theirs.y2,
            ];
            assert!(
                apart.iter().all(|apart| apart.abs() < 1e-3),
                "{ours:?} {theirs:?}"
            );
            compared += 1;
        }
    }
    assert!(compared > 10, "{compared}");
}

#[test]
fn what_does_not_change_is_kept_once() {
    let still = sensor(Pose::NONE, None);
    assert!(matches!(
        Contexts::each(vec![still.clone(); 3]),
        Contexts::Same(_)
    ));
    assert_eq!(Contexts::each([]), Contexts::Unknown);
    let moving = (0..3).map(|n| sensor(Pose::NONE, Some(Pose::shift([f64::from(n), 0.0, 0.0]))));
    let each = Contexts::each(moving);
    let at = |number| {
        each.of(number)?
            .vehicle
            .as_ref()
            .map(|placed| placed.pose.translation[0])
    };
    assert_eq!([at(0), at(2), at(3)], [Some(0.0), Some(2.0), None]);
}
