use super::*;
use crate::backend::Step;

#[test]
fn the_wrong_way_round_and_equal_tensors_are_refused() {
    let of = |name: &str| {
        let reference = crate::scenario::DetectorRef::Builtin(name.to_owned());
        crate::commands::opening::detector(&reference).unwrap()
    };
    let said = |camera: &str, lidar: &str| match fuse(of(camera), 1, of(lidar), Associate::default()) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    };
    assert_eq!(said("camera", "lidar"), "");
    assert!(said("lidar", "camera").contains("the wrong way round"));
    let mut same = of("lidar");
    same.program.host_tensors[0].name = of("camera").program.host_tensors[0].name.clone();
    let error = match fuse(of("camera"), 1, same, Associate::default()) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    };
    assert!(
        error.contains("both detectors of the fusion have a tensor"),
        "{error}"
    );
}

#[test]
fn networks_and_classes_of_both_are_in_one_detector() {
    let of = |name: &str| {
        let reference = crate::scenario::DetectorRef::Builtin(name.to_owned());
        crate::commands::opening::detector(&reference).unwrap()
    };
    let (camera, lidar) = (of("camera"), of("lidar"));
    let engines = camera.program.engines.len() + lidar.program.engines.len();
    let steps = camera.program.steps.len() + lidar.program.steps.len();
    let known: BTreeSet<String> = camera.classes.iter().chain(&lidar.classes).cloned().collect();
    let fused = fuse(camera, 1, lidar, Associate::default()).unwrap();
    assert_eq!(
        (fused.program.engines.len(), fused.program.steps.len()),
        (engines, steps)
    );
    let last = fused.program.steps.iter().filter_map(|step| match step {
        Step::Engine(place) => Some(*place),
        Step::OfCamera { .. } | Step::Host(_) => None,
    });
    assert!(last.eq(0..engines));
    assert_eq!(fused.classes.iter().cloned().collect::<BTreeSet<_>>(), known);
    assert_eq!((fused.input, fused.batch()), (ContentKind::Set, None));
}
